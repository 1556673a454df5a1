import pytest

from fmarl.errors import BadInput
from fmarl.worlds.registry import FAMILIES, WORLDS, make_world


def test_every_word_makes_a_world_of_its_name():
    options = {"toy-quadratic": {"num_agents": 2}, "toy-bumpy": {"num_agents": 2}}
    for word in WORLDS:
        with make_world(word, **options.get(word, {})) as world:
            assert world.spec.name == word


def test_worlds_of_others_are_made_by_their_names():
    assert set(FAMILIES) == {"gym", "pettingzoo"}
    with make_world("gym:CartPole-v1", num_agents=2) as world:
        assert (world.spec.num_agents, world.spec.is_discrete) == (2, True)


@pytest.mark.parametrize(("word", "named"), [("figure-eigth", "figure-eight"), ("moon-x", "gym:")])
def test_an_unknown_word_gets_a_hint(word, named):
    with pytest.raises(BadInput, match=named):
        make_world(word)
