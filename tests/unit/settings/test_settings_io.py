"""Settings to plain data and back, and mistakes in them: all at once, in one line."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fmarl.engine.experiment import Experiment
from fmarl.engine.profiles import PROFILES
from fmarl.errors import BadInput
from fmarl.settings_io import from_plain, parse_changes, to_plain, with_changes
from fmarl.worlds.sumo.figure_eight import FigureEight
from fmarl.worlds.sumo.merge_options import Merge
from fmarl.worlds.sumo.vehicles import FlowDriver
from unit.engine.small_experiments import toy


@pytest.mark.parametrize("experiment", [*PROFILES.values(), toy()], ids=[*PROFILES, "toy"])
def test_an_experiment_survives_json_unchanged(experiment):
    assert from_plain(Experiment, json.loads(json.dumps(to_plain(experiment)))) == experiment


def test_what_is_not_given_keeps_its_default():
    assert from_plain(Experiment, {"seed": 4}) == Experiment(seed=4)


def test_all_mistakes_are_named_at_once_with_where_and_the_nearest_name():
    given = {"seeed": 1, "agent": {"discont": 0.5, "hidden": [1.5]}, "num_epochs": "ten"}
    with pytest.raises(BadInput) as problem:
        from_plain(Experiment, given, "my.json")
    line = str(problem.value)
    assert "my.json: unknown setting 'seeed'. Did you mean seed?" in line
    assert "my.json: unknown setting 'discont' in agent. Did you mean discount?" in line
    assert "my.json: agent.hidden = [1.5] is not a list, each a whole number" in line
    assert "my.json: num_epochs = 'ten' is not a whole number" in line
    assert "\n" not in line


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"agent": {"discount": 2.0}}, "0 <= discount < 1"),
        ({"seed": -1}, "0 <= seed"),
        ({"seed": True}, "is not a whole number"),
        ({"anneal": 1}, "is not true or false"),
        ({"together": 3}, "is not a table"),
        ({"together": {"learning_rate": 10**400}}, "is not a number"),
        ({"algorithm": "dqn"}, "ppo, trpo, tac"),
        ({"together": {"method": "fedavg"}}, "one of independent"),
        ({"tac": {"batch_size": 3}}, "tac.batch_size = 3 is not used"),
        ([], "is not a table"),
    ],
)
def test_a_value_that_can_not_be_is_refused(given, line):
    with pytest.raises(BadInput, match=line):
        from_plain(Experiment, given)


_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)


@given(
    name=st.sampled_from(sorted(to_plain(Experiment()))),
    value=_values,
    inner=st.sampled_from(["learning_rate", "method", "hidden", "clip_range", "entropic_index"]),
)
def test_no_value_of_any_kind_ends_in_anything_but_an_experiment_or_one_line(name, value, inner):
    for plain in ({name: value}, {name: {inner: value}}):
        try:
            experiment = from_plain(Experiment, plain)
        except BadInput as problem:
            assert "\n" not in str(problem).replace(repr(value), "")
        else:
            assert isinstance(experiment, Experiment)


def test_words_change_fields_of_nested_records_too():
    words = ["speed_limit=30", "human_type.accel=2.6", "learners=[0,2]", "human_driver.noise=0"]
    options = with_changes(FigureEight(), parse_changes(words))
    assert options.speed_limit == 30.0
    assert options.human_type.accel == 2.6
    assert options.learner_type.accel == 1.5
    assert options.learners == (0, 2)
    assert options.human_driver == FlowDriver(noise=0.0)
    assert with_changes(options, {"learners": None}).learners is None


def test_lists_within_a_list_are_read_too():
    places = with_changes(Merge(), parse_changes(['start_places=[["left", 3]]'])).start_places
    assert places == (("left", 3.0),)
    with pytest.raises(BadInput, match="start_places"):
        with_changes(Merge(), {"start_places": [["left"]]})


def test_a_word_within_a_value_that_is_set_is_refused():
    with pytest.raises(BadInput, match="human_type is set"):
        parse_changes(["human_type=3", "human_type.accel=2"])


@pytest.mark.parametrize(
    ("word", "named"),
    [
        ("speed_limit", "name=value"),
        ("=3", "name=value"),
        ("speed=3", "Did you mean speed_limit?"),
        ("speed_limit=fast", "speed_limit = 'fast'"),
        ("human_type.wheels=3", "'wheels'"),
        ("human_type=3", "human_type = 3"),
        ("controlled=3", "controlled = 3"),
        ("state=relativ", "state = 'relativ' is not one of absolute, relative"),
        ("learners=[0.5]", "learners = [0.5] is not a list, each a whole number"),
    ],
)
def test_a_bad_option_gets_one_line(word, named):
    with pytest.raises(BadInput) as error:
        with_changes(FigureEight(), parse_changes([word]))
    assert named in str(error.value)
