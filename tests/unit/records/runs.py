"""Small runs to do harm to."""

from pathlib import Path
from typing import Any

import numpy as np

from fmarl.records.checkpoint import read_checkpoint, write_checkpoint
from fmarl.records.run_description import describe_run
from fmarl.records.run_folder import create_run


def make_run(folder: Path) -> str:
    """Return the run's id."""
    description = describe_run({"world": "tiny"}, {"run": 0}, ["fmarl", "train"])
    create_run(folder, description)
    return description["run_id"]


def state(update_count: int) -> dict[str, np.ndarray]:
    random = np.random.default_rng(update_count)
    return {
        "parameters": random.normal(size=(3, 40)).astype(np.float32),
        "actions": random.normal(size=(update_count, 3)).astype(np.float32),
        "update_count": np.array(update_count, np.int32),
    }


def facts(update_count: int) -> dict[str, Any]:
    return {"position": 100 * update_count, "pending": [{"loss": 0.25}], "digest": "ab"}


def write(folder: Path, *update_counts: int) -> None:
    for update_count in update_counts:
        write_checkpoint(folder, update_count, state(update_count), facts(update_count))


def assert_same(arrays: dict[str, np.ndarray], expected: dict[str, np.ndarray]) -> None:
    assert arrays.keys() == expected.keys()
    for name, array in arrays.items():
        assert array.dtype == expected[name].dtype
        np.testing.assert_array_equal(array, expected[name], err_msg=name, strict=True)


def assert_good(folder: Path, run_id: str, allowed: set[int]) -> None:
    """The checkpoint that loads is one of these, and every bit of it is as it was written."""
    found = read_checkpoint(folder, run_id)
    assert found.update_count in allowed
    assert_same(found.arrays, state(found.update_count))
    assert found.facts == facts(found.update_count)


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}
