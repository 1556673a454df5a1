"""A run in progress: its engine, what it has counted and measured so far, and its tests.

`train.py` conducts; this file holds what must be closed again, and knows how to do each thing once.
"""

import hashlib
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from fmarl.algorithms.algorithm import Transitions
from fmarl.engine.compiled import make_program
from fmarl.engine.course import Course
from fmarl.engine.engine import EngineState, MakeEngine, SlotResult, Wanted
from fmarl.engine.experiment import Experiment
from fmarl.engine.local_engine import LocalEngine, learning_keys, policies_of
from fmarl.engine.run_state import Memory
from fmarl.engine.sample_set import read_samples, slots_to_keep
from fmarl.federation.ledger import after_slot, bytes_sent, empty_ledger
from fmarl.federation.recorded import describe_method
from fmarl.federation.update import TrainState
from fmarl.rollout.evaluate import Evaluation, Evaluator
from fmarl.rollout.policy import Policy
from fmarl.worlds.registry import ROADS

MOST_LISTED = 100
"""Agents up to which a line of metrics has the counts of each."""


class Session:
    """Everything that a run needs in memory. Use it in a `with`."""

    update_count = 0
    """k: slots learned so far."""
    bad_updates: int
    """Slots in a row in which some agent's step was not finite."""

    def __init__(self, experiment: Experiment, make_engine: MakeEngine = LocalEngine) -> None:
        self.experiment = experiment
        with ExitStack() as opening:  # what fails half-way closes what is open
            self.engine = make_engine(experiment)
            opening.callback(self.engine.close)
            self.spec = self.engine.spec
            self.course = Course(experiment, self.spec)
            self.method = self.course.method
            self.algorithm = experiment.make_algorithm(self.spec)
            self.program = make_program(self.algorithm, self.method.num_agents)
            self._samples = self._read_samples()
            self._evaluator = opening.enter_context(
                Evaluator(experiment.maker, experiment.seed, experiment.test_repetitions)
            )
            self.engine.start(self.algorithm, self.course)
            self._closing = opening.pop_all()
        self.kept_slots = slots_to_keep(self.course.total_updates, experiment.sample_slots)
        """Indices of the slots that are kept as samples."""
        self._key, _ = learning_keys(experiment.seed)
        self._state: TrainState | None = None
        self._ledger = empty_ledger(self.method.num_agents)
        self._pending: list[dict[str, float]] = []
        self.bad_updates = 0

    @property
    def state(self) -> TrainState:
        """What agents have learned after the slot that was last taken."""
        return self.engine.at_rest().state if self._state is None else self._state

    @property
    def epoch(self) -> int:
        """Epochs' worth of slots that are done."""
        return self.update_count // self.course.updates_per_epoch

    @property
    def epoch_ended(self) -> bool:
        """Whether the last slot was the last of an epoch's worth."""
        return self.update_count % self.course.updates_per_epoch == 0

    @property
    def finished(self) -> bool:
        """Whether all K slots are done."""
        return self.update_count >= self.course.total_updates

    def advance(self) -> Iterator[SlotResult]:
        """Act and learn for as many slots as count together; each is counted as it is taken."""
        wanted = Wanted(lambda count: count - 1 in self.kept_slots, self._needs_state)
        for slot in self.engine.advance(wanted):
            self._count(slot)
            yield slot

    def _count(self, slot: SlotResult) -> None:
        """Take a slot into the books."""
        method = self.course.at(self.update_count, slot.away)
        self._ledger = after_slot(self._ledger, method, self.update_count)
        self.update_count, self._state = slot.update_count, slot.state
        norm = self.gradient_norm() if self.course.ends_period(self.update_count) else None
        measured = {**slot.metrics, **({} if norm is None else {"expected_gradient_norm": norm})}
        # What is not finite is left out, for JSON can not hold it.
        finite = {name: value for name, value in measured.items() if np.isfinite(value)}
        self._pending.append(finite)
        self.bad_updates = self.bad_updates + 1 if slot.bad_agents else 0

    def _needs_state(self, update_count: int) -> bool:
        """Whether something will be asked of the state after so many slots."""
        epoch, rest = divmod(update_count, self.course.updates_per_epoch)
        finished = update_count == self.course.total_updates
        tested = rest == 0 and self.is_tested(epoch, finished)
        measured = self._samples is not None and self.course.ends_period(update_count)
        return finished or tested or measured

    def is_tested(self, epoch: int, finished: bool) -> bool:
        """Whether a test follows an epoch."""
        every = self.experiment.test_every
        return every > 0 and (epoch % every == 0 or finished)

    def gradient_norm(self) -> float | None:
        """‖∇F(θ̄)‖² on the sample set; None without one."""
        if self._samples is None:
            return None
        return float(self.program.gradient_norm(self.state, self._samples, self._key))

    def start_record(self) -> dict[str, Any]:
        """What there is to say before anything is learned; the gradient norm is the paper's ψ2."""
        norm = self.gradient_norm()
        return {
            "kind": "start",
            "epoch": 0,
            "update_count": 0,
            "num_agents": self.method.num_agents,
            "num_parameters": self.state.parameters.shape[1],
            "upload_bytes": self.program.sizes.upload,
            "exchange_bytes": self.program.sizes.exchange,
            **({} if norm is None else {"expected_gradient_norm": norm}),
        }

    def epoch_record(self) -> dict[str, Any]:
        """What there is to say of the slots since the last epoch ended, and forget them."""
        names = sorted({name for slot in self._pending for name in slot})
        measured = sum("expected_gradient_norm" in slot for slot in self._pending)
        means = {
            name: _mean([slot[name] for slot in self._pending if name in slot]) for name in names
        }
        self._pending = []
        return {
            "kind": "epoch",
            "epoch": self.epoch,
            "update_count": self.update_count,
            **means,
            **({"gradient_norms_measured": measured} if measured else {}),
            **self._ledger.totals(),
            "bytes_sent": bytes_sent(self._ledger, self.program.sizes),
            **({"ledger": self._ledger.of_each()} if self.method.num_agents <= MOST_LISTED else {}),
        }

    def method_record(self) -> dict[str, Any]:
        """The method, for whoever looks at the run."""
        return describe_method(
            self.method, self.course.total_updates, self.course.updates_per_epoch
        )

    def evaluate(self) -> Evaluation:
        """Play the test epochs with the average parameters and without chance."""
        acting = self.program.mean_acting(self.method, self.state)
        kind, agents = self.algorithm.exploits, self.spec.num_agents
        policy = policies_of(self.algorithm, kind, acting, agents)[0]
        return self._evaluator.evaluate(policy, frames=True)

    def evaluate_baseline(self) -> Evaluation | None:
        """Let SUMO drive the same test epochs; None where it can not or is not wanted."""
        experiment = self.experiment
        if not experiment.baseline or experiment.world not in ROADS:
            return None
        maker = experiment.maker
        alone = maker._replace(options={**maker.options, "controlled": False})
        with Evaluator(alone, experiment.seed, experiment.test_repetitions) as evaluator:
            return evaluator.evaluate(Policy("random"))

    def at_rest(self) -> Memory:
        """Everything that a checkpoint must hold; only when all slots of an advance are taken."""
        rest = self.engine.at_rest()
        return Memory(rest.state, self._ledger, rest.snapshots, self._pending, self.bad_updates)

    def restore(self, memory: Memory) -> None:
        """Stand where a checkpoint was written."""
        self._state, self._ledger = memory.state, memory.ledger
        self._pending, self.bad_updates = list(memory.pending), memory.bad_updates
        self.update_count = int(memory.state.update_count)
        self.engine.restore(EngineState(memory.state, memory.snapshots))

    def digest(self) -> str:
        """The sha256 of all agents' parameters, bit for bit."""
        return hashlib.sha256(np.asarray(self.state.parameters).tobytes()).hexdigest()

    def close(self) -> None:
        """End the workers."""
        self._closing.close()

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    def _read_samples(self) -> Transitions | None:
        source = self.experiment.samples
        return read_samples(Path(source), self.spec, self.method.num_agents) if source else None


def _mean(values: list[float]) -> float:
    return float(np.mean(values))
