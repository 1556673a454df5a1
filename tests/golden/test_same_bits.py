"""What older versions have trained ends the same today, bit for bit."""

import json
import shutil
from pathlib import Path

import pytest

from golden.small_runs import EXPECTED, in_own_process

OLD_RUNS = Path(__file__).parent / "old_runs"
STOPPED = json.loads((OLD_RUNS / "expected.json").read_text())
"""Runs that commit f54381c stopped half way, and how it ended them itself."""
QUICK = ("method-decay-consensus", "method-delayed", "trpo-periodic", "hierarchy", "drawn")


@pytest.mark.parametrize("name", STOPPED)
def test_a_run_that_an_older_version_stopped_ends_as_that_version_ended_it(name, tmp_path):
    folder = shutil.copytree(OLD_RUNS / name, tmp_path / name)

    ended = in_own_process("resume", str(folder))

    expected = STOPPED[name]
    assert ended == {"update_count": expected["total_updates"], "digest": expected["digest"]}


def test_the_same_seeds_give_the_same_parameters_as_in_older_versions():
    assert in_own_process(*QUICK) == {name: EXPECTED[name] for name in QUICK}


@pytest.mark.long
def test_so_do_all_methods_and_algorithms():
    rest = [name for name in EXPECTED if name not in QUICK]
    assert in_own_process(*rest) == {name: EXPECTED[name] for name in rest}
