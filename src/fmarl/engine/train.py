"""Training: start reading here.

A run is a number of slots. In each, the agents act in their worlds, learn from what they saw and,
when their period is over, average. Everything else is writing down.
"""

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

from fmarl.engine.engine import EngineFailed, MakeEngine, SlotResult
from fmarl.engine.experiment import Experiment, describe_experiment
from fmarl.engine.local_engine import LocalEngine
from fmarl.engine.run_writer import Listener, RunWriter
from fmarl.engine.sample_set import keep_slot
from fmarl.engine.session import Session
from fmarl.engine.signals import Stop
from fmarl.errors import BadInput
from fmarl.records.lock import hold
from fmarl.records.run_description import describe_run, installed_versions
from fmarl.records.run_folder import create_named_run, create_run, read_run
from fmarl.settings_io import from_plain

RUNS = Path("runs")
"""Where runs go that are given no folder."""


class Diverged(RuntimeError):  # noqa: N818 — it reads as what happened
    """A run whose agents find no finite steps any more; its last good state was saved."""


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


def silence(line: dict[str, Any]) -> None:
    """Listen to nothing."""


def train(
    experiment: Experiment,
    folder: Path | str | None = None,
    *,
    listen: Listener = silence,
    command_line: Sequence[str] | None = None,
) -> Run:
    """Train an experiment in a new folder, to its end or until a signal stops it."""
    return resume(begin(experiment, folder, command_line=command_line), listen=listen)


def begin(
    experiment: Experiment,
    folder: Path | str | None = None,
    *,
    command_line: Sequence[str] | None = None,
) -> Path:
    """Make the folder of a run that has not begun yet, and return it."""
    words = sys.argv if command_line is None else command_line
    description = describe_run(describe_experiment(experiment), {"run": experiment.seed}, words)
    if folder is None:
        method, seed = experiment.together.method, experiment.seed
        return create_named_run(RUNS, description, experiment.world, method, seed)
    create_run(Path(folder), description)
    return Path(folder)


def resume(
    folder: Path | str,
    *,
    listen: Listener = silence,
    force: bool = False,
    make_engine: MakeEngine = LocalEngine,
) -> Run:
    """Go on with a run where its last checkpoint stands; it ends as if never interrupted.

    With `force`, also under other versions of what can change its numbers. Engines can be changed
    between two stretches of a run.
    """
    path = Path(folder)
    description = read_run(path)
    if not force:
        _require_same_versions(path, description["versions"])
    experiment = from_plain(Experiment, description["experiment"], "run.json")
    with ExitStack() as stack:
        notes = stack.enter_context(hold(path))
        writer = stack.enter_context(RunWriter(path, description["run_id"], listen))
        writer.notes(notes)
        stop = stack.enter_context(Stop())
        session = stack.enter_context(Session(experiment, make_engine))
        session.restore(writer.restore(session.at_rest()))
        _go_on(session, writer, stop)
        total = session.course.total_updates
        digest, code = session.digest(), stop.exit_code if stop.requested else 0
        return Run(path, experiment, session.update_count, total, digest, code)


def _go_on(session: Session, writer: RunWriter, stop: Stop) -> None:
    """The loop of training."""
    writer.events(session.engine.events())
    if writer.is_blank:
        writer.method(session.method_record())
        writer.record(session.start_record())
        _test_baseline(session, writer)
        _test(session, writer)
    while not session.finished and not stop.requested:
        epochs_before = session.epoch
        try:
            for slot in session.advance():
                _write_slot(session, writer, slot)
        except EngineFailed:
            writer.events(session.engine.events())
            writer.save(session.at_rest())
            raise
        if session.epoch > epochs_before and writer.save_due:
            writer.save(session.at_rest())
    writer.save(session.at_rest())
    if stop.requested:
        writer.event("STOPPED", update_count=session.update_count, signal=stop.signal)


def _write_slot(session: Session, writer: RunWriter, slot: SlotResult) -> None:
    if slot.transitions is not None and slot.update_count - 1 in session.kept_slots:
        keep_slot(writer.path, slot.update_count - 1, slot.transitions)
    _note_trouble(session, writer, slot.bad_agents)
    if session.epoch_ended:
        _write_epoch(session, writer)


def _write_epoch(session: Session, writer: RunWriter) -> None:
    writer.record(session.epoch_record())
    if session.is_tested(session.epoch, session.finished):
        _test(session, writer)


def _test_baseline(session: Session, writer: RunWriter) -> None:
    result = session.evaluate_baseline() if session.experiment.test_every else None
    if result is not None:
        writer.baseline(result)


def _test(session: Session, writer: RunWriter) -> None:
    if session.experiment.test_every:
        writer.test(session.epoch, session.update_count, session.evaluate())


def _note_trouble(session: Session, writer: RunWriter, bad_agents: list[int]) -> None:
    """Write down lost worlds and steps; give up when too many slots in a row were bad."""
    writer.events(session.engine.events())
    if bad_agents:
        writer.event("NONFINITE", update_count=session.update_count, agents=bad_agents)
    if session.bad_updates > session.experiment.max_bad_updates:
        writer.save(session.at_rest())
        raise Diverged(
            f"agents {bad_agents} found no finite step in {session.bad_updates} slots in a row: "
            f"learning_rate = {session.experiment.together.learning_rate:g} may be too large. The "
            f"last good parameters are saved in {writer.path}."
        )


def _require_same_versions(folder: Path, versions: dict[str, str]) -> None:
    """Other versions may give other bits, and a resumed run promises the same ones."""
    now = installed_versions()
    for name, before in versions.items():
        if name not in ("python", "fmarl") and now.get(name) != before:
            raise BadInput(
                f"{folder} was made with {name} {before}, and here is {now.get(name)}: it would "
                "not end with the same bits. Install that version, or add --force."
            )
