"""Several worlds played at once, one process each: one message out and one back per slot.

    with WorldPool([maker], run_seed=1) as pool:
        [batch] = pool.play(Policy("random"), steps=250)

Whatever happens to a worker, the batches are those of an undisturbed run, bit for bit; what
happened is in `events`.
"""

from collections.abc import Sequence

import numpy as np

from fmarl.closeable import Closeable
from fmarl.errors import BadInput, require
from fmarl.rollout.batch import Batch, SlotRequest, Snapshot
from fmarl.rollout.policy import Policy
from fmarl.rollout.policy_check import check_policy
from fmarl.rollout.protocol import WorldMaker
from fmarl.rollout.restarts import RestartPolicy, WorldEvent
from fmarl.rollout.supervisor import WorldSupervisor
from fmarl.worlds.world import WorldSpec

DEFAULT_RESTARTS = RestartPolicy()


class WorldPool(Closeable):
    """The worlds of a run, in a fixed order. Use it in a `with`."""

    slot: int = 0
    """Index of the slot to be played next; noise derives from it."""

    def __init__(
        self,
        makers: Sequence[WorldMaker],
        *,
        run_seed: int,
        restarts: RestartPolicy = DEFAULT_RESTARTS,
        first_world: int = 0,
        role: str = "world",
    ) -> None:
        self.events: list[WorldEvent] = []
        """What went wrong and was put right, in order."""
        self._worlds = [
            WorldSupervisor(maker, run_seed, index, restarts, self.events, role)
            for index, maker in enumerate(makers, first_world)
        ]
        self._closed = False
        self._fitting: set[tuple[object, WorldSpec]] = set()
        self._ask_all([None] * len(makers))

    @property
    def specs(self) -> list[WorldSpec]:
        """Shapes of each world."""
        return [world.spec for world in self._worlds]

    @property
    def pids(self) -> list[int | None]:
        """Process of each world; None where one is to be started again before the next slot."""
        return [world.pid for world in self._worlds]

    @property
    def snapshots(self) -> list[Snapshot]:
        """Where each world stands: with `slot`, all that a checkpoint needs to keep of worlds."""
        return [world.snapshot for world in self._worlds if world.snapshot is not None]

    def play(
        self,
        policy: Policy | Sequence[Policy],
        steps: int,
        *,
        until_over: bool = False,
        frames: bool = False,
    ) -> list[Batch]:
        """Play one slot in every world, with one policy for all or one for each.

        With `until_over` a world stops with its epoch if that ends within the slot, and begins the
        next one when it is played again. With `frames` the batches show what there was to see.

        All or nothing: if this raises (`BadInput` of a world, `WorldFailed`, Ctrl-C), no world has
        moved, and `play` can be called again.
        """
        policies = [policy] * len(self._worlds) if isinstance(policy, Policy) else list(policy)
        self._check(policies, steps)
        requests = [SlotRequest(one, self.slot, steps, until_over, frames) for one in policies]
        batches = [batch for batch in self._ask_all(requests) if batch is not None]
        for world, batch in zip(self._worlds, batches, strict=True):
            world.keep(batch)
        self.slot += 1
        return batches

    def restore(self, snapshots: Sequence[Snapshot], slot: int) -> None:
        """Put every world where it stood when a checkpoint was written, or at an epoch's start."""
        require(
            len(snapshots) == len(self._worlds),
            f"{len(snapshots)} snapshots for {len(self._worlds)} worlds",
            "one for each",
            "Resume with as many worlds as the run had.",
        )
        for world, snapshot in zip(self._worlds, snapshots, strict=True):
            _check_snapshot(snapshot, world.spec)
            world.move_to(snapshot)
        self._ask_all([None] * len(self._worlds))
        self.slot = slot

    def close(self) -> None:
        """End all workers; harmless when called twice."""
        self._closed = True
        for world in self._worlds:
            world.request_stop()
        for world in self._worlds:
            world.close()

    def _ask_all(self, requests: Sequence[SlotRequest | None]) -> list[Batch | None]:
        """Ask all, then hear all. After any failure no worker is left where we do not know it."""
        if self._closed:
            raise BadInput("a closed pool is not allowed: use inside its `with`. Make a new one.")
        try:
            for world, request in zip(self._worlds, requests, strict=True):
                world.ask(request)
            return [world.answer() for world in self._worlds]
        except BaseException:
            for world in self._worlds:
                world.kill()
            raise

    def _check(self, policies: list[Policy], steps: int) -> None:
        """Shapes are checked when they are new, numbers always."""
        count = len(self._worlds)
        if steps < 1:
            raise BadInput(f"a slot of {steps} steps is not allowed: 1 step or more. Use 250.")
        if len(policies) != count:
            raise BadInput(
                f"{len(policies)} policies for {count} worlds: give one for all or each."
            )
        for policy, world in zip(policies, self._worlds, strict=True):
            if (policy.form, world.spec) not in self._fitting or not policy.is_finite:
                check_policy(policy, world.spec)
                self._fitting.add((policy.form, world.spec))


def _check_snapshot(snapshot: Snapshot, spec: WorldSpec) -> None:
    actions = snapshot.actions
    holds = actions.dtype == np.float32 and actions.shape[1:] == (spec.num_agents, spec.action_size)
    what = f"a snapshot of {actions.dtype}{list(actions.shape)}"
    allowed = f"float32[steps, {spec.num_agents}, {spec.action_size}] for {spec.name}"
    require(holds, what, allowed, "Resume the run in the world it was started in.")
