"""What an agent sends to the virtual agent once a period: arrays, and all that says whose and when.

Nothing here is believed. The inbox knows the run, the period, the attempt, where each agent started
and how often it learns; an upload repeats them only so that one that is late, doubled or from
elsewhere can be told from the one that is awaited.
"""

import hashlib
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

PARAMETERS = "parameters"
"""The array that every upload holds: the agent's row of parameters."""


class Upload(NamedTuple):
    """One agent's part in one period. Make it with `make_upload`, which fills in the digest."""

    run_id: str
    period: int
    attempt: int
    """How often this period was begun before, abandoned tries included: no number comes twice in a
    period, or what an earlier attempt left on its way could pass for what is awaited now."""
    agent: int
    base: str
    """`digest_of` the parameters that the agent started the period from."""
    local_updates: int
    """τ_i as the agent claims it. It is compared with the schedule and never used."""
    sequence: int
    """Counts what the agent has sent: the same message again has the same number."""
    arrays: dict[str, np.ndarray]
    digest: str
    """`digest_of` the arrays."""


def make_upload(
    *,
    run_id: str,
    period: int,
    attempt: int,
    agent: int,
    base: str,
    local_updates: int,
    sequence: int,
    arrays: dict[str, np.ndarray],
) -> Upload:
    """An upload with the digest of its arrays."""
    return Upload(
        run_id, period, attempt, agent, base, local_updates, sequence, arrays, digest_of(arrays)
    )


def digest_of(arrays: Mapping[str, np.ndarray]) -> str:
    """The sha256 of arrays: names, dtypes, shapes and every bit, whatever order they come in.

    >>> digest_of({"parameters": np.zeros(2, np.float32)})[:12]
    '6ace5e2799ae'
    """
    whole = hashlib.sha256()
    for name in sorted(arrays):
        array = arrays[name]
        whole.update(f"{name!r} {array.dtype.str} {array.shape}\n".encode())
        whole.update(array.tobytes())
    return whole.hexdigest()
