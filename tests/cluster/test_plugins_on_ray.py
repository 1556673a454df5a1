"""The user's own method, algorithm and world in the actors of a cluster."""

import shutil
import sys

import pytest

from cluster.engines import in_one_process, on_ray
from unit.plugins.own_code import EXAMPLES, own_experiment

pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("cluster")]


@pytest.fixture(autouse=True)
def in_a_folder_with_own_code(tmp_path, monkeypatch):
    """Ray's processes were started elsewhere: only the run tells them of this folder."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name in ("own_method", "own_algorithm", "own_world"):
        shutil.copy(EXAMPLES / f"{name}.py", tmp_path)
        sys.modules.pop(name, None)
    monkeypatch.chdir(tmp_path)


def test_plugins_give_the_same_bits_on_ray(tmp_path):
    here = in_one_process(tmp_path / "here", own_experiment())
    assert on_ray(tmp_path / "ray", own_experiment()).digest == here.digest
