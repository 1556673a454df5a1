"""A run in progress: its worlds, its compiled program, and what it has learned so far.

`train.py` conducts; this file holds what must be closed again, and knows how to do each thing once.
"""

import hashlib
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import numpy as np

from fmarl.algorithms.algorithm import Acting, Algorithm, Transitions
from fmarl.engine.acting import Policy, PolicyParameters
from fmarl.engine.batch import Batch
from fmarl.engine.examine import Examination, Examiner
from fmarl.engine.experiment import Experiment
from fmarl.engine.program import Slot, keep_compiled_programs, make_program
from fmarl.engine.rollout import Rollout
from fmarl.engine.samples import read_samples
from fmarl.engine.saving import Memory
from fmarl.engine.seeds import derived_seed
from fmarl.federation.ledger import after_slot, bytes_sent, empty_ledger
from fmarl.federation.recorded import describe_method
from fmarl.worlds.named import ROADS

MOST_LISTED = 100
"""Agents up to which a line of metrics has the counts of each."""


class Session:
    """Everything that a run needs in memory. Use it in a `with`."""

    def __init__(self, experiment: Experiment) -> None:
        self.experiment = experiment
        with ExitStack() as opening:  # what fails half-way closes what is open
            makers = [experiment.maker] * experiment.num_worlds
            self.rollout = opening.enter_context(Rollout(makers, run_seed=experiment.seed))
            self.spec = self.rollout.specs[0]
            self.schedule = experiment.schedule(self.spec)
            self.method = experiment.make_method(self.spec)
            self.algorithm = experiment.make_algorithm(self.spec)
            self._examiner = opening.enter_context(
                Examiner(experiment.maker, experiment.seed, experiment.test_repetitions)
            )
            self._begin()
            self._closing = opening.pop_all()

    def _begin(self) -> None:
        keep_compiled_programs()
        self._samples = self._read_samples()
        self.program = make_program(self.algorithm, self.method.num_agents)
        self._key = jax.random.key(derived_seed(self.experiment.seed, "learning"))
        first = jax.random.key(derived_seed(self.experiment.seed, "parameters"))
        self.state = self.program.init(self.method, first)
        self.ledger = empty_ledger(self.method.num_agents)
        self.pending: list[dict[str, float]] = []
        self.bad_updates = 0

    @property
    def update_count(self) -> int:
        """k: slots learned so far."""
        return self.rollout.slot

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

    def play(self) -> list[Batch]:
        """Let all agents act for one slot."""
        steps = self.experiment.steps_per_update
        if self.update_count < self.algorithm.random_updates:
            return self.rollout.play(Policy("random"), steps)
        acting = self.program.acting(self.state)
        return self.rollout.play(self._policies(self.algorithm.explores, acting), steps)

    def learn(self, batches: Sequence[Batch], transitions: Transitions) -> list[int]:
        """Update all agents from their slots; returns those whose step was not finite."""
        count = self.update_count - 1  # the slot just played
        method = self._at_rate(count)
        self.state, slot = self.program.update(method, self.state, transitions, self._key)
        self.ledger = after_slot(self.ledger, self.method, count)
        self.pending.append(self._measured(slot, batches))
        bad = np.flatnonzero(slot.bad_agents).tolist()
        self.bad_updates = self.bad_updates + 1 if bad else 0
        return bad

    @property
    def synchronised(self) -> bool:
        """Whether the last slot ended a period, so that the virtual agent has new parameters."""
        return self.update_count % int(self.method.sync_period) == 0

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
        names = sorted({name for slot in self.pending for name in slot})
        measured = sum("expected_gradient_norm" in slot for slot in self.pending)
        means = {
            name: _mean([slot[name] for slot in self.pending if name in slot]) for name in names
        }
        self.pending = []
        return {
            "kind": "epoch",
            "epoch": self.epoch,
            "update_count": self.update_count,
            **means,
            **({"gradient_norms_measured": measured} if measured else {}),
            **self.ledger.totals(),
            "bytes_sent": bytes_sent(self.ledger, self.program.sizes),
            **({"ledger": self.ledger.of_each()} if self.method.num_agents <= MOST_LISTED else {}),
        }

    def method_record(self) -> dict[str, Any]:
        """The method, for whoever looks at the run."""
        return describe_method(self.method, *self.schedule)

    def examine(self) -> Examination:
        """Play the test epochs with the average parameters and without chance."""
        acting = self.program.mean_acting(self.method, self.state)
        policy = self._policies(self.algorithm.exploits, acting)[0]
        return self._examiner.examine(policy, frames=True)

    def examine_baseline(self) -> Examination | None:
        """Let SUMO drive the same test epochs; None where it can not or is not wanted."""
        experiment = self.experiment
        if not experiment.baseline or experiment.world not in ROADS:
            return None
        maker = experiment.maker
        alone = maker._replace(options={**maker.options, "controlled": False})
        with Examiner(alone, experiment.seed, experiment.test_repetitions) as examiner:
            return examiner.examine(Policy("random"))

    def at_rest(self) -> Memory:
        """Everything that a checkpoint must hold."""
        snapshots = self.rollout.snapshots
        return Memory(self.state, self.ledger, snapshots, self.pending, self.bad_updates)

    def go_on_from(self, memory: Memory) -> None:
        """Stand where a checkpoint was written."""
        self.state, self.ledger = memory.state, memory.ledger
        self.pending, self.bad_updates = list(memory.pending), memory.bad_updates
        self.rollout.restore(memory.snapshots, int(memory.state.update_count))

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

    def _policies(self, kind: str, acting: Acting) -> list[Policy]:
        return policies_of(self.algorithm, kind, acting, self.spec.num_agents)

    def _read_samples(self) -> Transitions | None:
        source = self.experiment.samples
        return read_samples(Path(source), self.spec, self.method.num_agents) if source else None

    def _measured(self, slot: Slot, batches: Sequence[Batch]) -> dict[str, float]:
        """The numbers of a slot; what is not finite is left out, for JSON can not hold it."""
        numbers = {name: float(value) for name, value in jax.device_get(slot.metrics).items()}
        numbers["train_reward"] = float(np.mean([batch.mean_reward for batch in batches]))
        norm = self.gradient_norm() if self.synchronised else None
        if norm is not None:
            numbers["expected_gradient_norm"] = norm
        return {name: value for name, value in numbers.items() if np.isfinite(value)}

    def _at_rate(self, count: int) -> Any:
        """The method, with its learning rate where annealing has brought it."""
        if not self.experiment.anneal:
            return self.method
        left = 1 - count / self.schedule.total_updates
        rate = np.asarray(float(self.method.learning_rate) * left)
        return eqx.tree_at(lambda method: method.learning_rate, self.method, rate)


def policies_of(algorithm: Algorithm, kind: str, acting: Acting, agents: int) -> list[Policy]:
    """One policy per world of so many agents, from the rows of all."""
    rows: Any = jax.device_get(acting)
    worlds = [slice(start, start + agents) for start in range(0, len(rows.log_std), agents)]
    return [
        Policy(
            kind,
            PolicyParameters(
                tuple(layer[own] for layer in rows.weights),
                tuple(layer[own] for layer in rows.biases),
                rows.log_std[own],
            ),
            algorithm.activation,
        )
        for own in worlds
    ]


def _mean(values: list[float]) -> float:
    return float(np.mean(values))
