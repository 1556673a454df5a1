"""What is kept of a run: its curves, counts and hashes, in one line; and the folder of these lines.

A folder holds results of one version of the code and of its libraries, and says of which
(`about.json`). More runs can be added to it by that version only; any version can draw it.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from fmarl.engine.experiment import Experiment, describe_experiment
from fmarl.errors import BadInput, require
from fmarl.records.atomic_files import DiskTrouble, write_durably
from fmarl.records.jsonl import LineWriter, read_lines
from fmarl.records.lock import hold
from fmarl.records.run_description import installed_versions
from fmarl.records.run_folder import RunFolder
from fmarl.report.run_reader import COUNTS
from fmarl.report.run_scores import UtilityRow, utility_row
from fmarl.reproduce.bound_runs import bound_facts, is_bound_run
from fmarl.reproduce.result_keys import code_fingerprint, key_of
from fmarl.reproduce.study import Study

SCHEMA = 1
HARMLESS = ("python", "fmarl")
"""Versions that may differ: the code's own hash says more."""
DIGITS = 6
"""Of rewards and norms: far below what differs between seeds."""


class Result(NamedTuple):
    """One run, as figures, tables and claims see it."""

    key: str
    seed: int
    failed: str
    """Why the run ended before its time; empty if it did not. Its last test then stands for the
    tests that are missing."""
    epochs: Float[np.ndarray, " test"]
    rewards: Float[np.ndarray, "test repetition"]
    uploads: Int[np.ndarray, " test"]
    """Ledger at the time of each test."""
    exchanges: Int[np.ndarray, " test"]
    totals: Mapping[str, int]
    """The whole ledger at the end, and the bytes sent."""
    measured: UtilityRow | None
    """Gradient norms and utility, if the run had a sample set."""
    facts: Mapping[str, Any]
    """Everything else that was kept."""

    @property
    def curve(self) -> Float[np.ndarray, " test"]:
        """Mean reward of each test: NAS."""
        return self.rewards.mean(axis=1)


class ResultsFolder(NamedTuple):
    """Where the results of a study lie."""

    path: Path

    @property
    def about(self) -> Path:
        return self.path / "about.json"

    @property
    def lines(self) -> Path:
        return self.path / "runs.jsonl"

    @property
    def work(self) -> Path:
        """Folders of runs that are under way; the one with the sample set stays."""
        return self.path / "work"

    def has_samples(self, key: str) -> bool:
        """Whether the sample set of a run is whole; no key asks for none."""
        slots = RunFolder(self.work / key).samples.glob("*.safetensors")
        return not key or len(list(slots)) == Experiment.sample_slots


def read_results(folder: Path) -> dict[str, Result]:
    """All results of a folder by key; none if there is no such folder."""
    place = ResultsFolder(folder)
    records = read_lines(place.lines).records
    try:
        return {record["key"]: result_of(record) for record in records}
    except (KeyError, TypeError, ValueError) as error:
        raise BadInput(
            f"{place.lines} is not a file of results: {error!r:.60}. Put it back, or use --out."
        ) from None


def read_about(folder: Path) -> dict[str, Any]:
    """Which code and libraries made the results of a folder; empty if there are none."""
    try:
        return json.loads(ResultsFolder(folder).about.read_text())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        where = ResultsFolder(folder).about
        raise BadInput(f"{where} can not be read: {error}. Put it back, or use --out.") from None


def what_runs_here(study: Study) -> dict[str, Any]:
    """The study, the code and the libraries that would make results now."""
    return {
        "schema": SCHEMA,
        "profile": study.profile,
        "variant": study.variant,
        "code": code_fingerprint(),
        "versions": installed_versions(),
    }


@contextmanager
def adding_to(folder: Path, about: Mapping[str, Any]) -> Iterator[LineWriter]:
    """Open a folder for more results; refused if other code made those that it has."""
    place = ResultsFolder(folder)
    try:
        place.work.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"{folder} can not be made: {error.strerror}. Use another --out.") from None
    with hold(folder):
        before = read_about(folder)
        require_same_code(folder, before, about)
        if not before:
            write_durably(place.about, json.dumps(about, indent=1).encode() + b"\n")
        writer = LineWriter(place.lines)
        try:
            yield writer
        finally:
            writer.close()


def require_same_code(folder: Path, before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Refuse to mix results of different code, libraries, profiles or variants."""
    if not before:
        return
    for name, there in _what_must_agree(before).items():
        here = _what_must_agree(now).get(name)
        require(
            there == here,
            f"adding results of {name} {here} to {folder}, which has those of {there},",
            "one of each in a folder",
            f"Use another --out; fmarl report {folder} shows what is there.",
        )


def _what_must_agree(about: Mapping[str, Any]) -> dict[str, str]:
    names = ("profile", "variant", "code")
    libraries = {name: v for name, v in about["versions"].items() if name not in HARMLESS}
    return {**{name: about[name] for name in names}, **libraries}


def keep(writer: LineWriter, record: Mapping[str, Any]) -> Result:
    """Add a run to the results, and wait until it is on the disk."""
    writer.append(record)
    writer.sync()
    return result_of(record)


def summary(experiment: Experiment, folder: Path, failed: str = "") -> dict[str, Any]:
    """What is kept of a run that has ended, from its folder."""
    metrics = RunFolder(folder).metrics
    lines = read_lines(metrics).records
    tests = [line for line in lines if line["kind"] == "test"]
    epochs = {line["epoch"]: line for line in lines if line["kind"] == "epoch"}
    if not tests or not epochs:
        raise DiskTrouble(f"{metrics} has no tests, though its run has ended")
    found = utility_row(lines)
    has_bound = not failed and is_bound_run(experiment)
    nothing = {"uploads": 0, "exchanges": 0}
    at_tests = [epochs.get(line["epoch"], nothing) for line in tests]
    last = epochs[max(epochs)]
    return {
        "key": key_of(experiment),
        "experiment": describe_experiment(experiment),
        "failed": failed,
        "epochs": [line["epoch"] for line in tests],
        "rewards": [[_short(value) for value in line["rewards"]] for line in tests],
        "crashed": [sum(line["crashed"]) for line in tests],
        "uploads": [line["uploads"] for line in at_tests],
        "exchanges": [line["exchanges"] for line in at_tests],
        "totals": {name: last[name] for name in (*COUNTS, "bytes_sent")},
        "measured": None if found is None else [_short(value) for value in found],
        "gradient_norms": [_short(line.get("expected_gradient_norm")) for line in at_tests],
        "bound": bound_facts(experiment, folder, found.gradient_norm)
        if found and has_bound
        else None,
        "metrics_sha256": hashlib.sha256(metrics.read_bytes()).hexdigest(),
    }


def _short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.{DIGITS}g}")


def result_of(record: Mapping[str, Any]) -> Result:
    """A line of results, read; what a failed run has not lived to see is as it last was."""
    found, epochs = record["measured"], _due_epochs(record)
    missing = len(epochs) - len(record["epochs"])

    def whole(name: str) -> Any:
        return record[name] + record[name][-1:] * missing

    return Result(
        key=record["key"],
        seed=record["experiment"]["seed"],
        failed=record["failed"],
        epochs=np.array(epochs, dtype=float),
        rewards=np.array(whole("rewards"), dtype=float),
        uploads=np.array(whole("uploads")),
        exchanges=np.array(whole("exchanges")),
        totals=record["totals"],
        measured=None if found is None else UtilityRow(*found),
        facts=record,
    )


def _due_epochs(record: Mapping[str, Any]) -> list[int]:
    """Epochs after which tests were due, whether or not the run lived to see them."""
    experiment = record["experiment"]
    due = {*range(0, experiment["num_epochs"], experiment["test_every"]), experiment["num_epochs"]}
    return sorted(due)
