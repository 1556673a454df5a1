"""Settings to plain data and back, and mistakes in them: all at once, in one line."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fmarl.engine.experiment import Experiment
from fmarl.engine.profiles import PROFILES
from fmarl.errors import BadInput
from fmarl.settings_io import differences, from_plain, to_plain
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
    assert "my.json.agent: unknown setting 'discont'. Did you mean discount?" in line
    assert "my.json.agent.hidden = [1.5] is not a list of int" in line
    assert "my.json.num_epochs = 'ten' is not a int" in line
    assert "\n" not in line


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"agent": {"discount": 2.0}}, "0 <= discount < 1"),
        ({"seed": -1}, "0 <= seed"),
        ({"seed": True}, "is not a int"),
        ({"anneal": 1}, "is not a bool"),
        ({"together": 3}, "is not a table"),
        ({"together": {"learning_rate": 10**400}}, "is not a float"),
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


def test_differences_are_named_by_their_path():
    one, other = to_plain(toy()), to_plain(toy(seed=2))
    other["agent"]["discount"] = 0.5
    assert differences(one, other) == ["agent.discount", "seed"]
