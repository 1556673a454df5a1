"""Resume a run, and be killed by SIGKILL at a named point of a given slot: no clean-up at all.

python killed_run.py FOLDER POINT SLOT
"""

import os
import signal
import sys
from collections.abc import Callable

from fmarl.engine import run_writer
from fmarl.engine.engine import LocalEngine
from fmarl.engine.run import resume
from fmarl.records import checkpoint
from fmarl.rollout import supervisor

POINTS = ("before-play", "in-play", "after-learning", "in-checkpoint", "after-checkpoint")


def die(*given: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def before(owner: object, name: str, due: Callable[..., bool]) -> None:
    """Die instead of calling a function, when it is due."""
    original = getattr(owner, name)
    setattr(owner, name, lambda *given: die() if due(*given) else original(*given))


def after(owner: object, name: str, due: Callable[..., bool]) -> None:
    """Die as soon as a function has done its work."""
    original = getattr(owner, name)

    def called(*given: object) -> object:
        result = original(*given)
        if due(*given):
            die()
        return result

    setattr(owner, name, called)


def arm(point: str, slot: int) -> None:
    """Set the trap. A checkpoint is due after every epoch, so that the traps for it are reached."""
    run_writer.CHECKPOINT_SECONDS = 0.0
    if point == "before-play":
        before(LocalEngine, "play", lambda engine: engine._pool.slot == slot)
    elif point == "in-play":  # all worlds have been asked and are at work
        before(
            supervisor.WorldSupervisor,
            "answer",
            lambda world: world.slot == slot,
        )
    elif point == "after-learning":
        after(LocalEngine, "learn", lambda engine, update_count, *_: update_count == slot)
    elif point == "in-checkpoint":  # the arrays are on disk, the sidecar that commits them is not
        name = f"{slot:09}.json"
        before(checkpoint, "publish", lambda path: path.name == name)
    else:
        after(
            run_writer.RunWriter, "save", lambda run, state: int(state.learned.update_count) == slot
        )


if __name__ == "__main__":
    folder, point, slot = sys.argv[1:]
    arm(point, int(slot))
    resume(folder)
