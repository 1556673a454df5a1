"""A run and its folder: begin it, train it, go on with it."""

import os
import shlex
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from fmarl.child_process import children_named
from fmarl.engine.engine import LocalEngine, MakeEngine
from fmarl.engine.experiment import Experiment, describe_experiment, with_method
from fmarl.engine.extend_run import extend
from fmarl.engine.plugin_sources import changed_plugins, describe_plugins
from fmarl.engine.run_writer import Listener, RunWriter
from fmarl.engine.signals import Stop
from fmarl.engine.train import Training, parameters_digest, run_all
from fmarl.errors import BadInput, EngineFailed
from fmarl.federation.method import Method
from fmarl.federation.parse import refuse_ignored
from fmarl.records.atomic_files import DiskTrouble
from fmarl.records.checkpoint import NoGoodCheckpoint, read_checkpoint
from fmarl.records.events import EventCode
from fmarl.records.jsonl import last_record
from fmarl.records.lock import hold
from fmarl.records.run_description import describe_run, installed_versions
from fmarl.records.run_folder import RunFolder, create_named_run, create_run, read_run
from fmarl.records.run_list import is_complete
from fmarl.settings_io import from_plain

RUNS = Path("runs")
"""Where runs go that are given no folder."""


class Run(NamedTuple):
    """A run as it was left."""

    folder: Path
    experiment: Experiment
    update_count: int
    """k: slots learned."""
    total_updates: int
    """K: slots that the experiment has."""
    digest: str
    """sha256 of all agents' parameters."""
    exit_code: int
    """0, or 128 plus the number of the signal that stopped it."""

    @property
    def finished(self) -> bool:
        """Whether all slots are done."""
        return self.update_count == self.total_updates


def begin(
    experiment: Experiment,
    folder: Path | str | None = None,
    *,
    command_line: Sequence[str] | None = None,
) -> Path:
    """Make the folder of a run that has not begun yet, and return it."""
    refuse_ignored(experiment.together)
    if experiment.samples:  # it must be found from any folder
        experiment = replace(experiment, samples=os.path.abspath(experiment.samples))
    words = sys.argv if command_line is None else command_line
    description = describe_run(describe_experiment(experiment), {"run": experiment.seed}, words)
    if plugins := describe_plugins(experiment):
        description["plugins"] = plugins
    if folder is None:
        method, seed = experiment.together.method, experiment.seed
        return create_named_run(RUNS, description, experiment.world, method, seed)
    create_run(Path(folder), description)
    return Path(folder)


def silence(line: dict[str, Any]) -> None:
    """Listen to nothing."""


def train(
    experiment: Experiment,
    folder: Path | str | None = None,
    *,
    method: Method | None = None,
    listen: Listener = silence,
    command_line: Sequence[str] | None = None,
) -> Run:
    """Train an experiment in a new folder, to its end or until a signal stops it.

    With a `method` from `make_method`, agents learn together by that. If it can not even begin, no
    folder stays.
    """
    if method is not None:
        experiment = with_method(experiment, method)
    path = begin(experiment, folder, command_line=command_line)
    try:
        return resume(path, listen=listen)
    except Exception:
        remove_unbegun([path])
        raise


def remove_unbegun(folders: Sequence[Path]) -> None:
    """Take away runs' folders that have just been made, if nothing was measured in any of them.

    Else those that have not begun are waiting for their turn, and can be resumed.
    """
    if not any(last_record(RunFolder(folder).metrics) for folder in folders):
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)


def resume(
    folder: Path | str,
    *,
    listen: Listener = silence,
    num_epochs: int | None = None,
    force: bool = False,
    make_engine: MakeEngine = LocalEngine,
) -> Run:
    """Continue a run from its last checkpoint; it ends as if never interrupted.

    With `num_epochs`, it ends as if it had been begun with so many; refused where it could not.
    With `force`, also under other versions of what can change its numbers. Engines can be changed
    between two stretches of a run.
    """
    path = Path(folder)
    if num_epochs is not None:
        if not force:
            require_same_versions(path, read_run(path)["versions"])
        extend(path, num_epochs)
    description = read_run(path)
    experiment, run_id = experiment_of(description), description["run_id"]
    with ExitStack() as stack:
        notes = stack.enter_context(hold(path))
        finished = finished_run(path)
        if finished is not None:
            return finished
        if not force:
            require_same_versions(path, description["versions"])
        writer = stack.enter_context(RunWriter(path, run_id, listen, experiment.world))
        writer.notes(notes)
        for line in changed_plugins(experiment, description):
            writer.event(EventCode.PLUGIN_CHANGED, detail=line)
        stop = stack.enter_context(Stop())
        stack.enter_context(_failures_written(writer))
        stack.enter_context(children_named(str(path)))
        training = stack.enter_context(Training(experiment, make_engine, run_id))
        training.restore(writer.restore(training.state()))
        if "extended" in description:
            writer.method(training.schedule)
        with _bad_input_fails():
            run_all(training, writer, stop)
        code = stop.exit_code if stop.requested else 0
        done, total = training.update_count, training.schedule.total_updates
        return Run(path, experiment, done, total, training.digest(), code)


def finished_run(folder: Path) -> Run | None:
    """A run that has nothing left to do, from its folder alone; None if it has, or is damaged."""
    description, last = read_run(folder), last_record(RunFolder(folder).metrics)
    if not is_complete(last, description["experiment"]):
        return None
    try:
        saved = read_checkpoint(folder, description["run_id"])
    except NoGoodCheckpoint:
        return None
    count = saved.update_count
    if count != last["update_count"]:
        return None
    digest = parameters_digest(saved.arrays["state.parameters"])
    return Run(folder, experiment_of(description), count, count, digest, 0)


@contextmanager
def _failures_written(writer: RunWriter) -> Iterator[None]:
    """Whatever ends a run, but for signals and bad input, is written down with its reason."""
    try:
        yield
    except BadInput:
        raise
    except DiskTrouble as problem:
        writer.failed(problem)
        again = f"fmarl resume {shlex.quote(str(writer.path))}"
        raise DiskTrouble(f"{problem}. Make room on that disk, then go on with: {again}") from None
    except Exception as problem:
        writer.failed(problem)
        raise


@contextmanager
def _bad_input_fails() -> Iterator[None]:
    """A run that has begun is not bad input any more: its world, say, gave a reward of NaN."""
    try:
        yield
    except BadInput as problem:
        raise EngineFailed(str(problem)) from None


def experiment_of(description: dict[str, Any], where: str = "run.json") -> Experiment:
    """The experiment that a run's description holds."""
    return from_plain(Experiment, description["experiment"], where)


def read_experiment(folder: Path) -> Experiment:
    """The experiment of a run's folder."""
    return experiment_of(read_run(folder), f"{folder}/run.json")


def require_same_versions(folder: Path, versions: dict[str, str]) -> None:
    """Other versions may give other bits, and a resumed run promises the same ones."""
    now = installed_versions()
    for name, before in versions.items():
        if name not in ("python", "fmarl") and now.get(name) != before:
            raise BadInput(
                f"{folder} was made with {name} {before}, and here is {now.get(name)}: it would "
                "not end with the same bits. Install that version, or add --force."
            )
