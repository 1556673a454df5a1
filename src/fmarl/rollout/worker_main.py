"""The worker process: `python -m fmarl.rollout.worker_main SOCKET LIFELINE`.

It answers requests on a socket until the socket closes. It never loads JAX, and it can not
outlive the run that started it: see `die_with_parent`.
"""

import fcntl
import os
import select
import signal
import socket
import sys
import threading
from contextlib import suppress

from fmarl import wire
from fmarl.errors import BadInput
from fmarl.rollout import protocol
from fmarl.rollout.batch import epoch_start
from fmarl.rollout.play import Player, play_slot, restore
from fmarl.wire import Message
from fmarl.worlds.world import World


def main() -> None:
    """Serve one run."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the run, which then ends us
    ours, lifeline = int(sys.argv[1]), int(sys.argv[2])
    for descriptor in (ours, lifeline):
        os.set_inheritable(descriptor, False)
    die_with_parent(lifeline)
    # A copy: the original stays open to the very end, so the run hears of our end, not our leaving.
    connection = socket.socket(fileno=os.dup(ours))
    with suppress(ConnectionError):
        try:
            serve(connection)
        except BadInput as problem:
            wire.send(connection, Message("refused", {"line": str(problem)}, {}))


def serve(connection: socket.socket) -> None:
    """Make the world that the first request names, then play until the other side closes."""
    request = wire.receive(connection)
    if request is None:
        return
    with protocol.WorldMaker(**request.facts["maker"]).make() as world:
        run_seed, index = request.facts["run_seed"], request.facts["index"]
        player = _standing(world, run_seed, index, request)
        wire.send(connection, protocol.ready_reply(world.spec))
        while (request := wire.receive(connection)) is not None:
            player, reply = _answer(player, request)
            wire.send(connection, reply)


def die_with_parent(lifeline: int) -> None:
    """Die, with all our children, as soon as the other end of a pipe closes: the run is gone.

    On Linux the kernel kills the process group itself, even while it is stopped or busy in native
    code. (PR_SET_PDEATHSIG would fire when merely the *thread* that started us ends.)
    """
    if hasattr(fcntl, "F_SETSIG"):
        fcntl.fcntl(lifeline, fcntl.F_SETOWN, -os.getpgrp())
        fcntl.fcntl(lifeline, fcntl.F_SETSIG, signal.SIGKILL)
        flags = fcntl.fcntl(lifeline, fcntl.F_GETFL)
        fcntl.fcntl(lifeline, fcntl.F_SETFL, flags | os.O_ASYNC)
        if select.select([lifeline], [], [], 0)[0]:  # it had closed before we asked
            os.killpg(0, signal.SIGKILL)
    else:
        threading.Thread(target=_die_with, args=(lifeline,), daemon=True).start()


def _die_with(lifeline: int) -> None:
    os.read(lifeline, 1)
    os.killpg(0, signal.SIGKILL)


def _answer(player: Player, request: Message) -> tuple[Player, Message]:
    facts = request.facts
    if request.kind == "play":
        wishes = {name: facts[name] for name in ("slot", "steps", "until_over", "frames")}
        batch = play_slot(player, protocol.policy_of(request), **wishes)
        return player, protocol.batch_reply(batch)
    if request.kind == "restore":
        player = _standing(player.world, player.run_seed, player.index, request)
        return player, protocol.ready_reply(player.world.spec)
    return player, Message("modules", {"names": sorted(sys.modules)}, {})


def _standing(world: World, run_seed: int, index: int, request: Message) -> Player:
    snapshot = protocol.snapshot_of(request) or epoch_start(world.spec)
    return restore(world, run_seed, index, snapshot)


if __name__ == "__main__":
    main()
