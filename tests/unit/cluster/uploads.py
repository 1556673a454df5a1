"""A period that is collected, and uploads that belong to it."""

from typing import Any

import numpy as np

from fmarl.cluster.inbox import PARAMETERS, ExpectedUploads, Upload, digest_of, make_upload

AGENTS = 4
LOCAL_UPDATES = (2, 3, 0, 2)
SHAPES = {PARAMETERS: (5,), "shared": (2, 3)}


def start_of(agent: int, period: int = 5) -> np.ndarray:
    """Parameters that an agent starts a period from."""
    return np.full(5, period + agent / 8, np.float32)


def expected(**changes: Any) -> ExpectedUploads:
    """Attempt 0 of period 5, with everybody present."""
    bases = tuple(base_of(agent, changes.get("period", 5)) for agent in range(AGENTS))
    usual = ExpectedUploads(
        "a run", 5, 0, frozenset(range(AGENTS)), bases, LOCAL_UPDATES, dict(SHAPES)
    )
    return usual._replace(**changes)


def base_of(agent: int, period: int = 5) -> str:
    """The digest of what an agent starts a period from."""
    return digest_of({PARAMETERS: start_of(agent, period)})


def upload(agent: int = 0, *, period: int = 5, attempt: int = 0) -> Upload:
    """What an honest agent sends; no two agents, periods or attempts send the same numbers."""
    rng = np.random.default_rng((agent, period, attempt))
    return make_upload(
        run_id="a run",
        period=period,
        attempt=attempt,
        agent=agent,
        base=base_of(agent, period),
        local_updates=LOCAL_UPDATES[agent],
        sequence=10 * period + attempt,
        arrays={
            PARAMETERS: start_of(agent, period) + rng.standard_normal(5, np.float32),
            "shared": rng.standard_normal((2, 3), np.float32),
        },
    )


def with_arrays(sent: Upload, **arrays: Any) -> Upload:
    """An upload with other arrays, and the digest of those."""
    both = {**sent.arrays, **arrays}
    return sent._replace(arrays=both, digest=digest_of(both))
