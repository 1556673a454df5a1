"""Runs are called what the paper calls them, and repetitions are known from their settings."""

import subprocess
import sys
from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fmarl.engine.experiment import Experiment, describe_experiment
from fmarl.federation.recipes import METHODS, MethodConfig
from fmarl.federation.run_labels import (
    differences,
    distinct_labels,
    flat_settings,
    group_of,
    label_of,
)

together = st.fixed_dictionaries(
    {
        "method": st.sampled_from(sorted(METHODS)),
        "learning_rate": st.sampled_from([1e-4, 1e-3]),
        "sync_period": st.integers(1, 3),
        "local_updates": st.sampled_from(["all", "1-3", "drawn:1-2"]),
        "graph": st.sampled_from(["ring", "0-1,1-2,2-3,3-4,4-5"]),
    }
)
settings = st.fixed_dictionaries(
    {
        "world": st.sampled_from(["merge", "figure-eight"]),
        "set": st.sampled_from([[], ["speed_limit=30"]]),
        "together": together,
        "seed": st.integers(0, 1),
    },
    optional={"samples": st.just("elsewhere"), "anneal": st.booleans()},
)


def _label(**config) -> str:
    return label_of(describe_experiment(Experiment(together=MethodConfig(**config))))


@pytest.mark.parametrize(
    ("config", "label"),
    [
        ({"method": "independent"}, "IRL"),
        ({"method": "synchronous"}, "FIRL τ=1"),
        ({"method": "periodic"}, "FIRL τ=15"),
        ({"method": "variation-aware", "local_updates": "1-15"}, "FIRL τ=1∼15"),
        ({"local_updates": "drawn:1-15"}, "FIRL τ=1∼15 drawn"),
        ({"step_seconds": "1,2"}, "FIRL τ=15 by step times"),
        ({"method": "decay"}, "FIRL_D τ=15 λ=0.92"),
        ({"method": "decay", "decay_weights": "1,0.5", "sync_period": 2}, "FIRL_D τ=2 D=1,0.5"),
        ({"method": "consensus"}, "FIRL_C τ=15 E=1 ring"),
        (
            {"method": "consensus", "weights": "chebyshev", "consensus_rounds": 2},
            "FIRL_C τ=15 E=2 ring chebyshev",
        ),
        ({"method": "consensus", "graph": "0-1,1-2,2-3,3-0"}, "FIRL_C τ=15 E=1 own graph"),
        ({"method": "decay-consensus"}, "FIRL_DC τ=15 λ=0.92 E=1 ring"),
        ({"method": "delayed"}, "FIRL_syn delay=12"),
        ({"method": "delayed-adoption"}, "FIRL_asy delay=12"),
        ({"participation": 0.5}, "FIRL τ=15 participation=0.5"),
        ({"hierarchy": 5}, "FIRL τ=15 q=5"),
        ({"aggregate": "median"}, "FIRL τ=15 median"),
        (
            {"aggregate": "krum", "tolerated": 2, "attack": "sign-flip:2:10"},
            "FIRL τ=15 krum f=2 attack=sign-flip:2:10",
        ),
    ],
)
def test_a_run_is_called_what_the_paper_calls_it(config, label):
    assert _label(**config) == label


def test_every_method_of_the_paper_has_a_name():
    assert all(recipe.label for recipe in METHODS.values())


def test_a_run_of_another_version_still_has_a_label():
    assert label_of({}) == "run"
    assert label_of({"together": {"method": "periodic"}}) == "FIRL"
    assert label_of({"together": {"method": "telepathy", "sync_period": 3}}) == "telepathy"


@given(st.lists(settings, min_size=1, max_size=6))
def test_groups_never_share_a_label(found):
    groups = {group_of(one): one for one in found}
    labels = distinct_labels(list(groups.values()))
    assert len(set(labels)) == len(groups)
    for label, one in zip(labels, groups.values(), strict=True):
        assert label.startswith(label_of(one))


def test_a_label_that_is_alone_says_no_more_than_it_must():
    merge, eight = {"world": "merge"}, {"world": "figure-eight"}
    irl, firl = ({"together": {"method": word}} for word in ("independent", "synchronous"))
    assert distinct_labels([{**merge, **irl}, {**eight, **firl}]) == ["IRL", "FIRL τ=1"]
    assert distinct_labels([{**merge, **irl}, {**eight, **irl}]) == [
        "IRL merge",
        "IRL figure-eight",
    ]


@given(settings, st.integers(2, 9))
def test_only_seed_and_samples_leave_a_group_the_same(one, seed):
    assert group_of({**one, "seed": seed, "samples": "there"}) == group_of(one)
    assert group_of(dict(reversed(one.items()))) == group_of(one)
    assert group_of({**one, "num_epochs": 7}) != group_of(one)


def test_flat_settings_are_the_flags_of_the_command_line():
    flat = flat_settings(describe_experiment(Experiment(algorithm="trpo")))
    used = {"learning_rate", "method", *METHODS["periodic"].uses}
    assert {field.name for field in fields(MethodConfig)} & flat.keys() == used
    assert flat["discount"] == 0.9
    assert any(name.startswith("trpo.") for name in flat)
    assert not any(isinstance(value, dict) for value in flat.values())


def test_differences_have_a_value_for_everyone():
    found = differences([{"a": 1, "b": 2}, {"a": 1, "b": 3, "c": 4}])
    assert found == {"b": [2, 3], "c": [None, 4]}


@pytest.mark.parametrize("module", ["fmarl.federation.run_labels", "fmarl.report.bound_curve"])
def test_what_the_live_page_takes_from_here_loads_neither_jax_nor_matplotlib(module):
    code = f"import sys, {module}; print(*{{'jax', 'matplotlib'}} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
