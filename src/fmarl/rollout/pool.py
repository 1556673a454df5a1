"""Several worlds played at once, one process each: one message out and one back per slot.

    with WorldPool([maker], run_seed=1) as rollout:
        [batch] = rollout.play(Policy("random"), steps=250)

Whatever happens to a worker, the batches are those of an undisturbed run, bit for bit; what
happened is in `events`.
"""

from collections.abc import Sequence

import numpy as np

from fmarl.errors import require
from fmarl.rollout.batch import Batch, Snapshot
from fmarl.rollout.policy import Policy, check_policy
from fmarl.rollout.protocol import WorldMaker, play_request
from fmarl.rollout.supervisor import Event, RestartPolicy, Wanted, WorldSupervisor
from fmarl.worlds.world import WorldSpec

DEFAULT_RESTARTS = RestartPolicy()


class WorldPool:
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
    ) -> None:
        self.events: list[Event] = []
        """What went wrong and was put right, in order."""
        self._worlds = [
            WorldSupervisor(maker, run_seed, index, restarts, self.events)
            for index, maker in enumerate(makers, first_world)
        ]
        self._closed = False
        self._together(None)

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
        require(steps >= 1, f"a slot of {steps} steps", "1 step or more", "Use 250, for example.")
        policies = [policy] * len(self._worlds) if isinstance(policy, Policy) else list(policy)
        self._check(policies)
        ways = {"until_over": until_over, "frames": frames}
        requests = [play_request(one, self.slot, steps, **ways) for one in policies]
        wanted = [Wanted(self.slot, steps, request=request, **ways) for request in requests]
        batches = self._together(wanted)
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
            world.stand_at(snapshot)
        self._together(None)
        self.slot = slot

    def modules(self) -> list[list[str]]:
        """Names of the modules that each worker has loaded: JAX must not be among them."""
        self._require_open()
        return [world.modules() for world in self._worlds]

    def close(self) -> None:
        """End all workers; harmless when called twice."""
        self._closed = True
        for world in self._worlds:
            world.request_stop()
        for world in self._worlds:
            world.close()

    def __enter__(self) -> "WorldPool":
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    def _together(self, wanted: list[Wanted] | None) -> list[Batch]:
        """Ask all, then hear all. After any failure no worker is left where we do not know it."""
        self._require_open()
        try:
            for place, world in enumerate(self._worlds):
                world.ask(wanted[place] if wanted else None)
            answers = [world.answer() for world in self._worlds]
        except BaseException:
            for world in self._worlds:
                world.kill()
            raise
        return [batch for batch in answers if batch is not None]

    def _check(self, policies: list[Policy]) -> None:
        count = len(self._worlds)
        what, fix = f"{len(policies)} policies for {count} worlds", "Give one for all to share."
        require(len(policies) == count, what, "one for all or one for each", fix)
        for policy, world in zip(policies, self._worlds, strict=True):
            check_policy(policy, world.spec)

    def _require_open(self) -> None:
        require(not self._closed, "a closed rollout", "use inside its `with`", "Make a new one.")


def _check_snapshot(snapshot: Snapshot, spec: WorldSpec) -> None:
    actions = snapshot.actions
    holds = actions.dtype == np.float32 and actions.shape[1:] == (spec.num_agents, spec.action_size)
    what = f"a snapshot of {actions.dtype}{list(actions.shape)}"
    allowed = f"float32[steps, {spec.num_agents}, {spec.action_size}] for {spec.name}"
    require(holds, what, allowed, "Resume the run in the world it was started in.")
