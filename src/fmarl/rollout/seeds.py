"""Everything random derives from one run seed, split by a named purpose and by indices.

A value depends on its own names and numbers only, never on what was drawn before it: worlds may
be played in any order, in any process, again after a crash, and the bits are the same.
"""

import zlib

import numpy as np

from fmarl.errors import require

MAX_RUN_SEED = 2**63 - 1
MAX_INDEX = 2**32 - 1


def sequence(run_seed: int, purpose: str, *indices: int) -> np.random.SeedSequence:
    """Return the source of chance for one purpose, such as `noise` of world 3 in slot 7.

    Purpose and indices become the spawn key, one 32-bit word each, so no two keys can run together.

    >>> sequence(1, "noise", 3, 7).generate_state(1) == sequence(1, "noise", 3, 7).generate_state(1)
    array([ True])
    """
    allowed = f"0 <= run_seed <= {MAX_RUN_SEED}"
    require(0 <= run_seed <= MAX_RUN_SEED, f"run_seed = {run_seed}", allowed, "Use 1, for example.")
    in_range = all(0 <= index <= MAX_INDEX for index in indices)
    allowed = f"whole numbers from 0 to {MAX_INDEX}"
    require(in_range, f"indices {indices} of a seed", allowed, "Count from 0.")
    return np.random.SeedSequence(run_seed, spawn_key=(zlib.crc32(purpose.encode()), *indices))


def derived_seed(run_seed: int, purpose: str, *indices: int) -> int:
    """Return a seed of 31 bits (SUMO takes no more) for a purpose, such as a run of tests.

    >>> 0 <= derived_seed(1, "test", 4) < 2**31
    True
    """
    return int(sequence(run_seed, purpose, *indices).generate_state(1)[0]) >> 1


def epoch_seed(run_seed: int, world: int, epoch: int) -> int:
    """Return the seed that a world's epoch begins with; epochs count from 0 within each world."""
    return derived_seed(run_seed, "epoch", world, epoch)
