"""One slot of play: what happens inside a worker, written so that it needs no process.

A slot has exactly P transitions. It goes on where the last one stopped; when an epoch is over, the
world is reset at once with the next epoch's seed and the slot goes on. Only tests of a policy ask
for something else: a slot that stops with its epoch, and frames.
"""

from dataclasses import dataclass

import numpy as np

from fmarl.errors import BadInput
from fmarl.rollout.batch import (
    Batch,
    Snapshot,
    advance,
    empty_batch,
    epoch_start,
    observation_digest,
    shortened,
    stacked,
)
from fmarl.rollout.policy import Policy, bind, clipped, slot_noise
from fmarl.rollout.seeds import epoch_seed, slot_generator
from fmarl.worlds.world import Step, World


@dataclass
class Player:
    """A world in use: who it is for the seeds, where it stands, and what to act on next."""

    world: World
    run_seed: int
    index: int
    """Number of this world among those of the run."""
    snapshot: Snapshot
    observation: np.ndarray


def start(world: World, run_seed: int, index: int = 0) -> Player:
    """Begin the first epoch."""
    return restore(world, run_seed, index, epoch_start(world.spec))


def restore(world: World, run_seed: int, index: int, snapshot: Snapshot) -> Player:
    """Lead a world back to where a snapshot was taken, by playing its epoch again.

    Raises `BadInput` if the world shows something else there than it did before.
    """
    observation = world.reset(epoch_seed(run_seed, index, snapshot.epoch))
    for action in clipped(snapshot.actions, world.spec):
        step = world.step(action)
        observation = step.observation
        if step.over:
            raise _differs(world, snapshot)
    digest = observation_digest(observation)
    if snapshot.digest not in ("", digest):
        raise _differs(world, snapshot)
    return Player(world, run_seed, index, snapshot._replace(digest=digest), observation.copy())


def play_slot(
    player: Player,
    policy: Policy,
    slot: int,
    steps: int,
    *,
    until_over: bool = False,
    frames: bool = False,
) -> Batch:
    """Play a slot and remember where it led; bit for bit a function of seeds, policy and start.

    With `until_over` it stops with the epoch, if that ends within the slot, and the next one is not
    begun: `restore` the snapshot before playing on. With `frames` the world is drawn in every step.
    """
    world, spec = player.world, player.world.spec
    noise = slot_noise(policy, spec, slot_generator(player.run_seed, player.index, slot), steps)
    act = bind(policy, spec)
    batch = empty_batch(spec, steps, player.snapshot.epoch, len(player.snapshot.actions))
    epoch, observation, pictures = batch.epoch, player.observation, []
    for time in range(steps):
        batch.observation[time] = observation  # before the step, for a world may reuse its arrays
        batch.action[time] = action = act(observation, noise[time])
        step = world.step(clipped(action, spec))
        _write(batch, time, step)
        observation = step.observation
        if frames:
            pictures.append(_picture(world))
        if step.over:
            batch.over[time] = True
            if until_over:
                batch = shortened(batch, time + 1)
                break
            epoch += 1
            observation = world.reset(epoch_seed(player.run_seed, player.index, epoch))
    batch.next_observation[:] = player.observation = observation.copy()
    player.snapshot = advance(player.snapshot, batch, until_over=until_over)
    return batch._replace(frames=stacked(pictures)) if frames else batch


def _write(batch: Batch, time: int, step: Step) -> None:
    batch.successor[time] = step.successor
    batch.reward[time] = step.reward
    batch.present[time] = step.present
    batch.terminated[time] = step.terminated
    batch.truncated[time] = step.truncated


def _picture(world: World) -> np.ndarray:
    """What there is to draw now; no rows if nothing."""
    frame = world.frame()
    return np.zeros((0, 3), np.float32) if frame is None else frame.copy()


def _differs(world: World, snapshot: Snapshot) -> BadInput:
    return BadInput(
        f"world {world.spec.name} did not repeat itself: epoch {snapshot.epoch} differs after "
        f"{len(snapshot.actions)} steps. A world must be deterministic; was its version changed?"
    )
