"""What tells runs apart in the list: never two equal lines, and no more words than needed."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from fmarl.federation.run_labels import label_of
from fmarl.web.run_differences import LONGEST_WORD, Difference, differences_of

FIRL = {"world": "merge", "seed": 0, "together": {"method": "periodic", "sync_period": 15}}
EIGHT = {**FIRL, "world": "figure-eight"}


def told(*runs: dict[str, Any], folders: Sequence[str] = "abcdefgh") -> list[Difference]:
    paths = [Path("runs") / folder for folder in folders[: len(runs)]]
    return list(differences_of(dict(zip(paths, runs, strict=True))).values())


def test_one_run_needs_no_more_words():
    assert told(FIRL) == [Difference("", [], "")]
    assert told() == []


def test_seeds_need_no_more_words_than_their_seed():
    assert told(FIRL, {**FIRL, "seed": 1}) == [Difference("", [], "")] * 2


def test_worlds_are_named_as_soon_as_there_are_two():
    irl = {**EIGHT, "together": {"method": "independent"}}
    assert [found.world for found in told(FIRL, irl)] == ["merge", "figure-eight"]
    assert [found.settings for found in told(FIRL, EIGHT)] == [[], []]


def test_settings_are_named_that_differ_among_runs_of_one_label():
    slow, fast = ({**FIRL, "learning_rate": rate} for rate in (1e-4, 3e-4))
    assert [found.settings for found in told(slow, fast)] == [["η=0.0001"], ["η=0.0003"]]


def test_of_a_world_s_options_only_those_are_named_that_differ():
    short = {**FIRL, "set": ["num_agents=3", "epoch_steps=40"]}
    long = {**FIRL, "set": ["num_agents=3", "epoch_steps=90"]}
    assert [found.settings for found in told(short, long)] == [
        ["epoch_steps=40"],
        ["epoch_steps=90"],
    ]


def test_runs_of_equal_settings_and_seed_are_told_apart_by_their_folder():
    found = told(FIRL, FIRL, EIGHT, folders=["x/run", "y/run", "z"])
    assert [one.folder for one in found] == ["x/run", "y/run", ""]


def test_a_value_that_is_long_is_cut_and_then_the_folder_tells():
    edges = "0-1,1-2,2-3,3-4,4-5,5-6,6-7,7-8,8-9,9-10"
    graphs = [
        {**FIRL, "together": {"method": "consensus", "sync_period": 15, "graph": graph}}
        for graph in (edges, f"{edges},0-10")
    ]
    found = told(*graphs)
    assert all(len(word) <= LONGEST_WORD for one in found for word in one.settings)
    assert [one.folder for one in found] == ["a", "b"]


@given(
    st.lists(
        st.fixed_dictionaries(
            {
                "world": st.sampled_from(["merge", "figure-eight"]),
                "seed": st.integers(0, 1),
                "learning_rate": st.sampled_from([1e-4, 1e-3, None]),
                "set": st.sampled_from([[], ["epoch_steps=300"], ["x" * 40 + "1"], ["x" * 41]]),
                "together": st.fixed_dictionaries(
                    {
                        "method": st.sampled_from(["periodic", "independent", "unheard of"]),
                        "sync_period": st.sampled_from([1, 15]),
                    }
                ),
            }
        ),
        max_size=8,
    )
)
def test_no_two_runs_look_the_same(runs: list[dict[str, Any]]):
    lines = [
        (label_of(run), run["seed"], found.world, *found.settings, found.folder)
        for run, found in zip(runs, told(*runs), strict=True)
    ]
    assert len(set(lines)) == len(lines)
