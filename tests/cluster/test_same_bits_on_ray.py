"""Runs on Ray end with the parameters that older versions gave them."""

import pytest

from golden.small_runs import EXPECTED, in_own_process

pytestmark = pytest.mark.cluster

NAMES = (
    "method-decay",
    "method-decay-consensus",
    "method-delayed",
    "tac-periodic",
    "hierarchy",
    "median-attack",
)


def test_the_same_seeds_give_the_same_parameters_on_ray_as_in_older_versions():
    assert in_own_process("--ray", *NAMES) == {name: EXPECTED[name] for name in NAMES}
