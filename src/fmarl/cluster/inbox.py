"""What agents upload once a period, and which uploads the virtual agent accepts.

Nothing in an upload is believed. The inbox knows the run, the period, the attempt, where each agent
started and how often it learns; an upload repeats them only so that one that is late, duplicated or
from elsewhere can be told from the expected one. `Inbox.receive` answers everything with a receipt
and never raises. Values are used only once their type is exactly right: a subclass, or an object
that pretends, may run code of its own.

The first upload from an expected agent in the right run, period, attempt and from the right base
decides on that agent, for better or worse, until the next attempt; so the result does not depend
on when somebody looks. An upload that is addressed elsewhere decides nothing.
"""

import hashlib
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from fmarl.records.events import EventCode

PARAMETERS = "parameters"
"""The array that every upload holds: the agent's row of parameters."""

ACCEPTED = "ACCEPTED"

_LARGEST_SHOWN = 10**15  # Python itself refuses to write out a number of thousands of digits
_name_of = type.__dict__["__name__"].__get__  # a class may have a __name__ of its own making


class AttemptId(NamedTuple):
    """Which attempt of which period a call belongs to; later ones are larger."""

    period: int
    attempt: int


class StaleAttempt(RuntimeError):  # noqa: N818 — it reads as what happened
    """A call of an attempt that was given up: nobody waits for its answer."""


class Upload(NamedTuple):
    """One agent's part in one period. Make it with `make_upload`, which fills in the digest."""

    run_id: str
    period: int
    attempt: int
    """How often this period was begun before, abandoned attempts included: no number comes twice in
    a period, or an upload still in flight from an earlier attempt could pass for this one's."""
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


_HEADER_TYPES = {
    "run_id": str,
    "period": int,
    "attempt": int,
    "agent": int,
    "base": str,
    "sequence": int,
    "digest": str,
}


def make_upload(*, arrays: dict[str, np.ndarray], **header: Any) -> Upload:
    """An upload with the digest of its arrays."""
    return Upload(**header, arrays=arrays, digest=digest_of(arrays))


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


class Receipt(NamedTuple):
    """What became of an upload: ACCEPTED or the code of an event, and the reason in words."""

    code: str
    detail: str = ""


class ExpectedUploads(NamedTuple):
    """The uploads that one attempt of a period awaits. Entry i of a tuple is about agent i."""

    run_id: str
    period: int
    attempt: int
    present: frozenset[int]
    """Agents that are asked for an upload; one with τ_i = 0 too, for mixing may have moved it."""
    bases: tuple[str, ...]
    """`digest_of` the parameters that each agent starts from."""
    local_updates: tuple[int, ...]
    """τ_i in this period."""
    shapes: dict[str, tuple[int, ...]]
    """Of every array, by name; all are float32."""


class Inbox:
    """Uploads of one attempt of one period. `expect` opens it, and forgets the attempt before."""

    def __init__(self) -> None:
        self._expected: ExpectedUploads | None = None
        self._decided: dict[int, tuple[Receipt, Upload]] = {}

    def expect(self, expected: ExpectedUploads) -> None:
        self._expected, self._decided = expected, {}

    def receive(self, upload: object) -> Receipt:
        if type(upload) is not Upload or len(upload) != len(Upload._fields):
            return Receipt(EventCode.BAD_PAYLOAD, f"{_shown(upload)} is not an upload")
        if self._expected is None:
            return Receipt(EventCode.STALE, "nothing is collected")
        receipt = (
            _check_header(upload)
            or _check_address(upload, self._expected)
            or self._check_first(upload)
            or _check_base(upload, self._expected)
        )
        if receipt is None:
            receipt = _check_content(upload, self._expected)
            self._decided[upload.agent] = (receipt, upload)
        return receipt

    @property
    def accepted(self) -> dict[int, dict[str, np.ndarray]]:
        """Arrays of the accepted uploads, in the order of the agents."""
        decided = sorted(self._decided.items())
        return {
            agent: upload.arrays for agent, (receipt, upload) in decided if receipt.code == ACCEPTED
        }

    @property
    def refused(self) -> dict[int, Receipt]:
        """Agents whose upload can not be used, in their order, and what was wrong."""
        decided = sorted(self._decided.items())
        return {agent: receipt for agent, (receipt, _) in decided if receipt.code != ACCEPTED}

    @property
    def missing(self) -> list[int]:
        """Agents of which nothing was accepted, the refused ones among them."""
        awaited = frozenset() if self._expected is None else self._expected.present
        return sorted(awaited - self.accepted.keys())

    def outliers(
        self, starts: Mapping[int, np.ndarray] | None = None, factor: float = 5.0
    ) -> list[int]:
        """Agents whose parameters moved more than `factor` times the median distance.

        The distance is from the agent's row in `starts`, or from zero. Those that did not move do
        not count in the median: an idle half would make it zero, and everybody else stand out.
        """
        starts, distances = starts or {}, {}
        for agent, arrays in self.accepted.items():
            row = arrays[PARAMETERS].astype(np.float64)  # squares of float32 overflow
            distances[agent] = float(np.linalg.norm(row - starts.get(agent, 0.0)))
        moved = [distance for distance in distances.values() if distance > 0]
        if not moved:
            return []
        limit = factor * float(np.median(moved))
        return [agent for agent, distance in distances.items() if distance > limit]

    def _check_first(self, upload: Upload) -> Receipt | None:
        if upload.agent not in self._decided:
            return None
        _, first = self._decided[upload.agent]
        same = (upload.sequence, upload.digest) == (first.sequence, first.digest)
        what = "the same upload again" if same else "another upload after the first"
        return Receipt(EventCode.DUPLICATE, f"agent {upload.agent}: {what}")


def _check_header(upload: Upload) -> Receipt | None:
    for name, kind in _HEADER_TYPES.items():
        value = getattr(upload, name)
        if type(value) is not kind:
            return Receipt(
                EventCode.BAD_PAYLOAD, f"{name} is {_shown(value)}, not a {kind.__name__}"
            )
    return None


def _check_address(upload: Upload, expected: ExpectedUploads) -> Receipt | None:
    for name in ("run_id", "period", "attempt"):
        stated, awaited = getattr(upload, name), getattr(expected, name)
        if stated != awaited:
            return Receipt(
                EventCode.STALE, f"{name} {_shown(stated)} where {_shown(awaited)} is collected"
            )
    if upload.agent not in expected.present:
        return Receipt(
            EventCode.NOT_EXPECTED, f"agent {_shown(upload.agent)} is not asked in this attempt"
        )
    return None


def _check_base(upload: Upload, expected: ExpectedUploads) -> Receipt | None:
    if upload.base == expected.bases[upload.agent]:
        return None
    return Receipt(EventCode.STALE, f"agent {upload.agent} started from other parameters")


def _check_content(upload: Upload, expected: ExpectedUploads) -> Receipt:
    awaited = expected.local_updates[upload.agent]
    claimed = upload.local_updates
    if type(claimed) is not int or claimed != awaited:
        return Receipt(
            EventCode.BAD_CLAIM, f"claims {_shown(claimed)} updates where {awaited} were due"
        )
    problem = _wrong_arrays(upload.arrays, expected.shapes)
    if problem is None and digest_of(upload.arrays) != upload.digest:
        problem = "the arrays are not those of the digest"
    if problem is not None:
        return Receipt(EventCode.BAD_PAYLOAD, problem)
    problem = _first_not_finite(upload.arrays)
    return Receipt(ACCEPTED) if problem is None else Receipt(EventCode.NONFINITE, problem)


def _wrong_arrays(arrays: object, shapes: Mapping[str, tuple[int, ...]]) -> str | None:
    if type(arrays) is not dict or any(type(name) is not str for name in arrays):
        return "it holds no dictionary of arrays by name"
    if arrays.keys() != shapes.keys():
        return f"it holds {_listed(arrays)} where {_listed(shapes)} belong"
    for name, shape in shapes.items():
        array = arrays[name]
        if type(array) is not np.ndarray or array.dtype != np.dtype(np.float32):
            return f"{name} is no array of float32 in this machine's byte order"
        if array.shape != tuple(shape):
            return f"{name} has shape {array.shape} where {tuple(shape)} belongs"
    return None


def _first_not_finite(arrays: Mapping[str, np.ndarray]) -> str | None:
    for name, array in arrays.items():
        wrong = np.argwhere(~np.isfinite(array))
        if len(wrong):
            return f"{name}{wrong[0].tolist()} is {array[tuple(wrong[0])]}"
    return None


def _listed(names: Mapping[str, object]) -> str:
    return f"{', '.join(sorted(names)) or 'nothing':.80}"


def _shown(value: object) -> str:
    """A value in a few words; only of types whose own code can not be anybody's."""
    if type(value) is str:
        return repr(value[:40])
    if type(value) is float or (type(value) is int and abs(value) < _LARGEST_SHOWN):
        return repr(value)
    return f"a {_name_of(type(value))}"
