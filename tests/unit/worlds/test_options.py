import pytest

from fmarl.errors import BadInput
from fmarl.worlds.options import changed, parse_changes
from fmarl.worlds.registry import FAMILIES, WORLDS, make_world
from fmarl.worlds.sumo.figure_eight import FigureEight
from fmarl.worlds.sumo.vehicles import FlowDriver


def test_words_change_fields_of_nested_records_too():
    words = ["speed_limit=30", "human_type.accel=2.6", "learners=[0,2]", "human_driver.noise=0"]
    options = changed(FigureEight(), parse_changes(words))
    assert options.speed_limit == 30.0
    assert options.human_type.accel == 2.6
    assert options.learner_type.accel == 1.5
    assert options.learners == (0, 2)
    assert options.human_driver == FlowDriver(noise=0.0)


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
    ],
)
def test_a_bad_word_gets_one_line(word, named):
    with pytest.raises(BadInput) as error:
        changed(FigureEight(), parse_changes([word]))
    assert named in str(error.value)


def test_every_word_makes_a_world_of_its_name():
    options = {"toy-quadratic": {"num_agents": 2}, "toy-bumpy": {"num_agents": 2}}
    for word in WORLDS:
        with make_world(word, **options.get(word, {})) as world:
            assert world.spec.name == word


def test_worlds_of_others_are_made_by_their_names():
    assert set(FAMILIES) == {"gym", "pettingzoo"}
    with make_world("gym:CartPole-v1", num_agents=2) as world:
        assert (world.spec.num_agents, world.spec.is_discrete) == (2, True)


@pytest.mark.parametrize(("word", "named"), [("figure-eigth", "figure-eight"), ("moon:x", "gym:")])
def test_an_unknown_word_gets_a_hint(word, named):
    with pytest.raises(BadInput, match=named):
        make_world(word)
