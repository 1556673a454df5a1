"""Training: start reading here.

A run is a number of slots. In each, the agents act in their worlds, learn from what they saw and,
when their period is over, average. Everything else is counting, testing and writing down.
"""

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np

from fmarl.closeable import Closeable
from fmarl.engine.compiled import make_program
from fmarl.engine.engine import (
    EngineState,
    LocalEngine,
    MakeEngine,
    Needs,
    Schedule,
    SlotResult,
)
from fmarl.engine.experiment import Experiment
from fmarl.engine.run_state import RunState
from fmarl.engine.run_tests import RunTests
from fmarl.engine.run_writer import RunWriter
from fmarl.engine.sample_set import keep_slot, slots_to_keep
from fmarl.engine.signals import Stop
from fmarl.errors import BadInput, EngineFailed
from fmarl.federation.ledger import Ledger, after_slot, empty_ledger
from fmarl.federation.update import TrainState
from fmarl.records.events import EventCode
from fmarl.user_code import UserCodeFailed


class Diverged(RuntimeError):  # noqa: N818 — it reads as what happened
    """A run whose agents find no finite steps any more; its last good state was saved."""


def run_all(training: "Training", writer: RunWriter, stop: Stop) -> None:
    """The loop of training: slot after slot, to the end or until a signal comes."""
    writer.events(training.engine.events())
    if writer.is_blank:
        writer.method(training.schedule)
        measured = training.tests.measure(training.learned)
        writer.start(training.learned, training.program.sizes, measured)
        _test_baseline(training, writer)
        _test(training, writer)
    elif training.finished and not writer.ends_with_test:  # it was made shorter since it began
        _test(training, writer)
    while not training.finished and not stop.requested:
        epochs_before = training.epoch
        for slot in _advance(training, writer):
            _write_slot(training, writer, slot)
        if training.epoch > epochs_before and writer.save_due:
            writer.save(training.state())
    writer.save(training.state())
    if stop.requested:
        writer.event(EventCode.STOPPED, update_count=training.update_count, signal=stop.signal)


def _advance(training: "Training", writer: RunWriter) -> Iterator[SlotResult]:
    """The next slots; if they can not be had, what was learned before them is saved."""
    try:
        return training.advance()
    except (EngineFailed, UserCodeFailed, BadInput):
        writer.events(training.engine.events())
        writer.save(training.state())
        raise


def _write_slot(training: "Training", writer: RunWriter, slot: SlotResult) -> None:
    if slot.transitions is not None and slot.update_count - 1 in training.kept_slots:
        keep_slot(writer.path, slot.update_count - 1, slot.transitions)
    events = training.engine.events()
    if events or slot.bad_agents:
        _write_trouble(training, writer, slot.bad_agents, events)
    if training.epoch_ended:
        pending = training.take_measurements()
        writer.epoch(
            training.epoch, slot.update_count, pending, training.ledger(), training.program.sizes
        )
        if training.is_tested(training.epoch, training.finished):
            _test(training, writer)


def _write_trouble(
    training: "Training",
    writer: RunWriter,
    bad_agents: list[int],
    events: Sequence[dict[str, Any]],
) -> None:
    """Write down lost worlds and steps; give up when too many slots in a row were bad."""
    writer.events(events)
    if bad_agents:
        writer.event(EventCode.NONFINITE, update_count=training.update_count, agents=bad_agents)
    if training.bad_updates > training.experiment.max_bad_updates:
        writer.save(training.state())
        raise Diverged(
            f"agents {bad_agents} found no finite step in {training.bad_updates} slots in a row: "
            f"learning_rate = {training.experiment.together.learning_rate:g} may be too large. The "
            f"last good parameters are saved in {writer.path}."
        )


def _test_baseline(training: "Training", writer: RunWriter) -> None:
    result = training.tests.evaluate_baseline() if training.experiment.test_every else None
    if result is not None:
        writer.baseline(result)


def _test(training: "Training", writer: RunWriter) -> None:
    if training.experiment.test_every:
        writer.test(
            training.epoch, training.update_count, training.tests.evaluate(training.learned)
        )


class Training(Closeable):
    """A run in memory: its engine, what it has counted, and its tests. Use it in a `with`."""

    update_count = 0
    """k: slots learned so far."""
    bad_updates = 0
    """Slots in a row in which some agent's step was not finite."""

    def __init__(
        self, experiment: Experiment, make_engine: MakeEngine = LocalEngine, run_id: str = ""
    ) -> None:
        self.experiment = experiment
        with ExitStack() as opening:  # what fails half-way closes what is open
            self.engine = make_engine(experiment, run_id)
            opening.callback(self.engine.close)
            self.spec = self.engine.spec
            self.schedule = Schedule(experiment, self.spec)
            self.algorithm = experiment.make_algorithm(self.spec)
            self.program = make_program(self.algorithm, self.schedule.method.num_agents)
            self.tests = opening.enter_context(
                RunTests(experiment, self.schedule.method, self.algorithm, self.spec)
            )
            self.engine.start(self.algorithm, self.schedule)
            self._closing = opening.pop_all()
        self.kept_slots = slots_to_keep(self.schedule.total_updates, experiment.sample_slots)
        """Indices of the slots that are kept as samples."""
        self._learned: TrainState | None = None
        self._ledger = empty_ledger(self.schedule.method.num_agents)
        self._unbilled: list[tuple[int, frozenset[int]]] = []
        self._pending: list[dict[str, float]] = []

    @property
    def learned(self) -> TrainState:
        """What agents have learned after the slot that was last taken."""
        return self.engine.state().learned if self._learned is None else self._learned

    @property
    def epoch(self) -> int:
        """Epochs' worth of slots that are done."""
        return self.update_count // self.schedule.updates_per_epoch

    @property
    def epoch_ended(self) -> bool:
        """Whether the last slot was the last of an epoch's worth."""
        return self.update_count % self.schedule.updates_per_epoch == 0

    @property
    def finished(self) -> bool:
        """Whether all K slots are done."""
        return self.update_count >= self.schedule.total_updates

    def advance(self) -> Iterator[SlotResult]:
        """Act and learn for as many slots as count together; each is counted as it is taken."""
        needs = Needs(lambda count: count - 1 in self.kept_slots, self._needs_state)
        return map(self._count, self.engine.advance(needs))

    def _count(self, slot: SlotResult) -> SlotResult:
        self._unbilled.append((self.update_count, slot.absent))
        self.update_count, self._learned = slot.update_count, slot.state
        measured = dict(slot.metrics)
        if self.schedule.ends_period(self.update_count):
            measured |= self.tests.measure(self.learned)
        # What is not finite is left out, for JSON can not hold it.
        self._pending.append({name: one for name, one in measured.items() if np.isfinite(one)})
        self.bad_updates = self.bad_updates + 1 if slot.bad_agents else 0
        return slot

    def _needs_state(self, update_count: int) -> bool:
        """Whether something will be asked of the state after so many slots."""
        epoch, rest = divmod(update_count, self.schedule.updates_per_epoch)
        finished = update_count == self.schedule.total_updates
        tested = rest == 0 and self.is_tested(epoch, finished)
        measured = self.tests.measures_norms and self.schedule.ends_period(update_count)
        return finished or tested or measured

    def is_tested(self, epoch: int, finished: bool) -> bool:
        """Whether a test follows an epoch."""
        every = self.experiment.test_every
        return every > 0 and (epoch % every == 0 or finished)

    def ledger(self) -> Ledger:
        """What was sent until now: slots are billed when somebody asks for the bill."""
        for update_count, absent in self._unbilled:
            method = self.schedule.at(update_count, absent)
            self._ledger = after_slot(self._ledger, method, update_count)
        self._unbilled.clear()
        return self._ledger

    def take_measurements(self) -> list[dict[str, float]]:
        """What was measured in the slots since this was last asked."""
        pending, self._pending = self._pending, []
        return pending

    def state(self) -> RunState:
        """Everything that a checkpoint must hold; only when all slots of an advance are taken."""
        learned, snapshots = self.engine.state()
        return RunState(learned, self.ledger(), snapshots, self._pending, self.bad_updates)

    def restore(self, state: RunState) -> None:
        """Continue from where a checkpoint was written."""
        self._learned, self._ledger = state.learned, state.ledger
        self._pending, self.bad_updates = list(state.pending), state.bad_updates
        self.update_count = int(state.learned.update_count)
        self.engine.restore(EngineState(state.learned, state.snapshots))

    def digest(self) -> str:
        """The sha256 of all agents' parameters, bit for bit."""
        return parameters_digest(self.engine.state().learned.parameters)

    def close(self) -> None:
        self._closing.close()


def parameters_digest(parameters: Any) -> str:
    """The sha256 of parameters, bit for bit."""
    return hashlib.sha256(np.asarray(parameters).tobytes()).hexdigest()
