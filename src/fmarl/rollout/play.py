"""What a worker does: it plays slots in its world, with the policies that it is sent.

A slot has exactly P transitions. It continues where the last one stopped; when an epoch is over,
the world is reset at once with the next epoch's seed and the slot continues. Only tests of a policy
ask for something else: a slot that stops with its epoch, and frames.

`python -m fmarl.rollout.play` is the worker process, which never loads JAX (`supervisor.py` starts
it); `play_slot` needs no process.
"""

import socket
from contextlib import ExitStack, suppress
from dataclasses import dataclass

import numpy as np

from fmarl import wire
from fmarl.child_process import connection_to_parent
from fmarl.errors import BadInput
from fmarl.rollout.batch import (
    Batch,
    SlotRequest,
    Snapshot,
    advance,
    batch_reply,
    empty_batch,
    epoch_start,
    observation_digest,
    shortened,
    stacked,
)
from fmarl.rollout.policy import Policy, clipped, slot_noise
from fmarl.rollout.protocol import WorldMaker, ready_reply, snapshot_of
from fmarl.rollout.seeds import epoch_seed, sequence
from fmarl.rollout.stretch import stretches
from fmarl.user_code import failure_of
from fmarl.wire import Message
from fmarl.worlds.world import World


@dataclass
class Player:
    """A world in use: who it is for the seeds, where it stands, and what to act on next."""

    world: World
    run_seed: int
    index: int
    """Number of this world among those of the run."""
    snapshot: Snapshot
    observation: np.ndarray
    repeats: bool = True
    """As in `WorldMaker`."""

    def __post_init__(self) -> None:
        self.noise = sequence(self.run_seed, "noise", self.index)


def noise_generator(noise: np.random.SeedSequence, slot: int) -> np.random.Generator:
    """Chance in the actions of one slot of a world, whatever was drawn before it."""
    seed = np.random.SeedSequence(noise.entropy, spawn_key=(*noise.spawn_key, slot))
    return np.random.Generator(np.random.PCG64DXSM(seed))


def start(world: World, run_seed: int, index: int = 0) -> Player:
    """Begin the first epoch."""
    return restore(world, run_seed, index, epoch_start(world.spec))


def restore(
    world: World, run_seed: int, index: int, snapshot: Snapshot, *, repeats: bool = True
) -> Player:
    """Lead a world back to where a snapshot was taken, by playing its epoch again.

    If the world shows something else there than it did before: raises `BadInput`, or begins the
    epoch anew if it need not repeat itself.
    """
    seed = epoch_seed(run_seed, index, snapshot.epoch)
    observation = _replay(world, seed, snapshot)
    if observation is None:
        if repeats:
            raise _differs(world, snapshot)
        snapshot = epoch_start(world.spec, snapshot.epoch)
        observation = world.reset(seed)
    snapshot = snapshot._replace(digest=observation_digest(observation))
    return Player(world, run_seed, index, snapshot, observation.copy(), repeats)


def _replay(world: World, seed: int, snapshot: Snapshot) -> np.ndarray | None:
    """The observation after a snapshot's actions; None if it is not what it was."""
    observation = world.reset(seed)
    for action in clipped(snapshot.actions, world.spec):
        step = world.step(action)
        observation = step.observation
        if step.over:
            return None
    same = snapshot.digest in ("", observation_digest(observation))
    return observation if same else None


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
    noise = slot_noise(policy, spec, noise_generator(player.noise, slot), steps)
    play = stretches(world, policy, noise)
    batch = empty_batch(spec, steps, player.snapshot.epoch, len(player.snapshot.actions))
    epoch, observation, pictures = batch.epoch, player.observation, []
    time = 0
    while time < steps:
        played, step = play(batch, time, 1 if frames else steps - time, observation)
        time, observation = time + played, step.observation
        if frames:
            pictures.append(_picture(world))
        if step.over:
            batch.over[time - 1] = True
            if until_over:
                batch = shortened(batch, time)
                break
            epoch += 1
            observation = world.reset(epoch_seed(player.run_seed, player.index, epoch))
    batch.next_observation[:] = player.observation = observation.copy()
    player.snapshot = advance(player.snapshot, batch, until_over=until_over)
    return batch._replace(frames=stacked(pictures)) if frames else batch


def serve(connection: socket.socket) -> None:
    """Do as asked until the other side closes, or the world refuses or fails."""
    player, reply = None, None
    with ExitStack() as closing:
        while reply is None or reply.kind not in ("refused", "failed"):
            request = wire.receive(connection)
            if request is None:
                return
            try:
                if player is None:
                    player = _make(request, closing)
                player, reply = answer(player, request)
            except BadInput as problem:
                reply = Message("refused", {"line": str(problem)}, {})
            except (Exception, SystemExit) as problem:  # whatever the world's own code raises
                reply = Message("failed", failure_of(problem)._asdict(), {})
            wire.send(connection, reply)


def _make(request: Message, closing: ExitStack) -> Player:
    """The world that the first request names; `answer` then puts it in its place."""
    maker, run_seed, index = (request.facts[name] for name in ("maker", "run_seed", "index"))
    maker = WorldMaker(**maker)
    world = closing.enter_context(maker.make())
    nowhere, unseen = epoch_start(world.spec), np.zeros(0, np.float32)
    return Player(world, run_seed, index, nowhere, unseen, maker.repeats)


def answer(player: Player, request: Message) -> tuple[Player, Message]:
    """Do as asked: the player as it is then, and what to reply."""
    if request.kind == "play":
        return player, batch_reply(play_slot(player, **SlotRequest.of(request)._asdict()))
    world = player.world
    snapshot = snapshot_of(request) or epoch_start(world.spec)
    player = restore(world, player.run_seed, player.index, snapshot, repeats=player.repeats)
    return player, ready_reply(world.spec, len(player.snapshot.actions))


def _picture(world: World) -> np.ndarray:
    """What there is to draw now; no rows if nothing."""
    frame = world.frame()
    return np.zeros((0, 3), np.float32) if frame is None else frame.copy()


def _differs(world: World, snapshot: Snapshot) -> BadInput:
    return BadInput(
        f"world {world.spec.name} did not repeat itself: epoch {snapshot.epoch} differs after "
        f"{len(snapshot.actions)} steps. A world must be deterministic; was its version changed?"
    )


def main() -> None:
    """Serve the run that started this process."""
    with suppress(ConnectionError):  # the run is gone
        serve(connection_to_parent())


if __name__ == "__main__":
    main()
