"""What an agent sends when it misbehaves: one entry for each word of a plan about uploads.

Unless the digest is what is wrong, it fits the arrays: so each word meets the check that it is
meant for, not one before it.
"""

from collections.abc import Callable

import numpy as np

from fmarl.cluster.faults.plan import Fault, claimed
from fmarl.cluster.inbox import PARAMETERS, Upload, digest_of


def tampered(upload: Upload, fault: Fault, previous: Upload | None = None) -> list[Upload]:
    """What the agent sends instead of its upload, in this order.

    `previous` is what it sent in the period before, which `stale` sends again. Words that are not
    about what is sent leave it as it is.
    """
    if fault.word in ROWS:
        return [_with_arrays(upload, {PARAMETERS: ROWS[fault.word](upload.arrays[PARAMETERS])})]
    match fault.word:
        case "extra-key":
            return [_with_arrays(upload, {"more": np.zeros(1, np.float32)})]
        case "missing-key":
            others = {name: array for name, array in upload.arrays.items() if name != PARAMETERS}
            return [upload._replace(arrays=others, digest=digest_of(others))]
        case "bad-digest":
            negative = {**upload.arrays, PARAMETERS: -upload.arrays[PARAMETERS]}
            return [upload._replace(arrays=negative)]
        case "claim":
            return [upload._replace(local_updates=claimed(fault.do))]
        case "duplicate":
            return [upload, upload]
        case "stale":
            return [previous or upload._replace(period=upload.period - 1), upload]
        case "other-run":
            return [upload._replace(run_id=f"not {upload.run_id}"), upload]
        case _:
            return [upload]


def _with_arrays(upload: Upload, arrays: dict[str, np.ndarray]) -> Upload:
    """The upload with these arrays in place of, or beside, its own."""
    both = {**upload.arrays, **arrays}
    return upload._replace(arrays=both, digest=digest_of(both))


def _with_last(row: np.ndarray, number: float) -> np.ndarray:
    """The row with another number at its end, where a check that stops early does not look."""
    changed = row.copy()
    changed[-1] = number
    return changed


ROWS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "nan": lambda row: _with_last(row, np.nan),
    "infinity": lambda row: _with_last(row, np.inf),
    "wrong-shape": lambda row: np.append(row, row[-1:]),
    "broadcast-shape": lambda row: row[:1].reshape(()),  # a sum would take it for every number
    "float64": lambda row: row.astype(np.float64),
}
"""What becomes of the row of parameters."""
