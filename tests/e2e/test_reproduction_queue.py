"""A reproduction whose runs diverge: they count, and what can not be run is said."""

from pathlib import Path

import pytest

from fmarl.launch.on_this_machine import LocalLauncher
from fmarl.reproduce.methods import sample_run
from fmarl.reproduce.results import read_results
from fmarl.reproduce.run_plan import Task
from fmarl.reproduce.run_queue import ReproductionQueue
from fmarl.reproduce.study import LENGTHS, Choices, Study

HOPELESS = Choices(optimiser="sgd", learning_rate=1e30)
SHORT = LENGTHS["smoke"]._replace(num_epochs=3, test_every=3)


@pytest.fixture(scope="module")
def diverged(tmp_path_factory) -> tuple[Study, Path, int]:
    study = Study("smoke", "standard", SHORT, HOPELESS)
    folder = tmp_path_factory.mktemp("hopeless")
    with LocalLauncher() as launcher:
        return study, folder, ReproductionQueue(study, ["fig4"], folder).run(launcher)


def test_a_run_that_diverged_is_kept_as_failed(diverged):
    study, folder, _ = diverged
    found = read_results(folder)[Task("", sample_run(study)).key]
    assert found.failed == "diverged"
    assert found.epochs.tolist() == [0.0, 3.0]
    assert found.rewards[0].tolist() == found.rewards[1].tolist()


def test_runs_that_wait_for_its_samples_are_missing_and_the_code_says_so(diverged):
    _study, folder, code = diverged
    assert code == 4
    kept = [one.facts["experiment"]["set"] for one in read_results(folder).values()]
    assert len(kept) == 2  # the sample set, and SUMO, which needs none
    assert ["preset=zju", "controlled=false"] in kept
