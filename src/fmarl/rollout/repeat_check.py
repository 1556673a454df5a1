"""Does a world repeat itself? Its first epoch is begun again, here and in another process.

A run that is killed is resumed by playing its epoch again. A world that then does something else
could never be resumed, and that should be known before hours are spent on it.
"""

import time

import numpy as np

from fmarl.errors import BadInput
from fmarl.rollout.batch import Batch, epoch_start
from fmarl.rollout.policy import Policy
from fmarl.rollout.pool import WorldPool
from fmarl.rollout.protocol import WorldMaker

FIRST_STEPS = 5
"""Steps by which the world's speed is judged."""
MOST_STEPS = 300
PLAY_SECONDS = 0.3
"""What one of the plays may take, about; slow worlds are played for fewer steps."""


def require_repeats(pool: WorldPool, maker: WorldMaker, run_seed: int) -> None:
    """Raise `BadInput` if the pool's world differs when it is played again.

    In the same process, where a world may remember what it should not, and in another one.
    """
    first = play_beginning(pool)
    steps = len(first.over)
    _require_same(first, _play(pool, steps), "", maker.word)
    with WorldPool([maker], run_seed=run_seed, role="check") as other:
        _require_same(first, _play(other, steps), " in another process", maker.word)


def play_beginning(pool: WorldPool) -> Batch:
    """The first steps of a world's first epoch, as many as little time allows."""
    begun = time.monotonic()
    batch = _play(pool, FIRST_STEPS)
    seconds = (time.monotonic() - begun) / len(batch.over)
    steps = min(int(PLAY_SECONDS / seconds), MOST_STEPS)
    return _play(pool, steps) if steps > FIRST_STEPS else batch


def _play(pool: WorldPool, steps: int) -> Batch:
    pool.restore([epoch_start(pool.specs[0])], slot=0)
    [batch] = pool.play(Policy("random"), steps, until_over=True)
    return batch


def _require_same(first: Batch, second: Batch, where: str, word: str) -> None:
    difference = _first_difference(first, second)
    if difference:
        raise BadInput(
            f"world {word} does not repeat itself: {difference} when it is played again with the "
            f"same seed{where}. A run of it that is killed could not be resumed to the same bits. "
            "Let reset(seed) decide all that is random in it, or add --no-resume-promise."
        )


def _first_difference(first: Batch, second: Batch) -> str:
    """Which of the arrays differs at which step; empty if none does."""
    if len(first.over) != len(second.over):
        return f"the epoch has {len(second.over)} steps, not {len(first.over)},"
    for step in range(len(first.over)):
        for name, array in first.arrays.items():
            other = second.arrays[name]
            if len(array) == len(first.over) and not np.array_equal(array[step], other[step]):
                return f"{name} differs at step {step}"
    return ""
