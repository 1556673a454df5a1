"""What the virtual agent takes: one sound upload from each agent that is awaited, nothing else.

`Inbox.receive` answers everything with a verdict and never raises. Values are used only once their
type is exactly right: a subclass, or an object that pretends, may run code of its own.

The first upload from an awaited agent in the right run, period, attempt and from the right base
decides on that agent, for better or worse, until the next collection; so the outcome does not
depend on when somebody looks. Whatever is addressed elsewhere decides nothing.
"""

from collections.abc import Mapping
from typing import NamedTuple, TypeGuard

import numpy as np

from fmarl.cluster.upload import PARAMETERS, Upload, digest_of

ACCEPTED = "ACCEPTED"
DUPLICATE = "DUPLICATE"
"""The agent was decided on already; the first upload counts, even if this one differs."""
STALE = "STALE"
"""From another run, period or attempt, or started from other parameters."""
NOT_EXPECTED = "NOT_EXPECTED"
"""From an agent that is away, or that there is none of."""
BAD_CLAIM = "BAD_CLAIM"
"""It says it learned another number of times than the schedule does."""
BAD_PAYLOAD = "BAD_PAYLOAD"
"""Not an upload, or one whose arrays are not those that belong there."""
NONFINITE = "NONFINITE"
"""A number among its arrays is NaN or infinite; all of it is refused."""

_HEAD = {
    "run_id": str,
    "period": int,
    "attempt": int,
    "agent": int,
    "base": str,
    "sequence": int,
    "digest": str,
}
_LARGEST_SHOWN = 10**15  # Python itself refuses to write out a number of thousands of digits
_name_of = type.__dict__["__name__"].__get__  # a class may have a __name__ of its own making


class Verdict(NamedTuple):
    """What became of an upload: a code from above, and the reason in words."""

    code: str
    detail: str = ""


class Expected(NamedTuple):
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
    pattern: dict[str, tuple[int, ...]]
    """Name and shape of every array; all are float32."""


class Inbox:
    """Uploads of one attempt of one period. `expect` opens it, and forgets the attempt before."""

    def __init__(self) -> None:
        self._expected: Expected | None = None
        self._decided: dict[int, tuple[Verdict, Upload]] = {}

    def expect(self, expected: Expected) -> None:
        """Collect for this attempt from now on."""
        self._expected, self._decided = expected, {}

    def receive(self, upload: object) -> Verdict:
        """Take an upload, or say why not."""
        if not _is_upload(upload):
            return Verdict(BAD_PAYLOAD, f"{_shown(upload)} is not an upload")
        if self._expected is None:
            return Verdict(STALE, "nothing is collected")
        verdict = (
            _wrong_head(upload)
            or _addressed_elsewhere(upload, self._expected)
            or self._again(upload)
            or _other_base(upload, self._expected)
        )
        if verdict is None:
            verdict = _judged(upload, self._expected)
            self._decided[upload.agent] = (verdict, upload)
        return verdict

    @property
    def accepted(self) -> dict[int, dict[str, np.ndarray]]:
        """Arrays of the uploads that were taken, in the order of the agents."""
        decided = sorted(self._decided.items())
        return {
            agent: upload.arrays for agent, (verdict, upload) in decided if verdict.code == ACCEPTED
        }

    @property
    def refused(self) -> dict[int, Verdict]:
        """Agents that sent what can not be used, in their order, and what was wrong."""
        decided = sorted(self._decided.items())
        return {agent: verdict for agent, (verdict, _) in decided if verdict.code != ACCEPTED}

    @property
    def missing(self) -> list[int]:
        """Agents of which nothing was taken, the refused ones among them."""
        awaited = frozenset() if self._expected is None else self._expected.present
        return sorted(awaited - self.accepted.keys())

    def outliers(
        self, starts: Mapping[int, np.ndarray] | None = None, factor: float = 5.0
    ) -> list[int]:
        """Agents whose parameters went more than `factor` times the median way.

        The way is from the agent's row in `starts`, or from zero. Those that stayed where they were
        do not count in the median: an idle half would make it zero, and everybody else stand out.
        """
        starts = starts or {}
        ways = {
            agent: _distance(arrays[PARAMETERS], starts.get(agent))
            for agent, arrays in self.accepted.items()
        }
        moved = [way for way in ways.values() if way > 0]
        if not moved:
            return []
        limit = factor * float(np.median(moved))
        return [agent for agent, way in ways.items() if way > limit]

    def _again(self, upload: Upload) -> Verdict | None:
        if upload.agent not in self._decided:
            return None
        _, first = self._decided[upload.agent]
        same = (upload.sequence, upload.digest) == (first.sequence, first.digest)
        what = "the same upload again" if same else "another upload after the first"
        return Verdict(DUPLICATE, f"agent {upload.agent}: {what}")


def _is_upload(upload: object) -> TypeGuard[Upload]:
    return type(upload) is Upload and len(upload) == len(Upload._fields)


def _wrong_head(upload: Upload) -> Verdict | None:
    for name, kind in _HEAD.items():
        value = getattr(upload, name)
        if type(value) is not kind:
            return Verdict(BAD_PAYLOAD, f"{name} is {_shown(value)}, not a {kind.__name__}")
    return None


def _addressed_elsewhere(upload: Upload, expected: Expected) -> Verdict | None:
    for name in ("run_id", "period", "attempt"):
        stated, awaited = getattr(upload, name), getattr(expected, name)
        if stated != awaited:
            return Verdict(STALE, f"{name} {_shown(stated)} where {_shown(awaited)} is collected")
    if upload.agent not in expected.present:
        return Verdict(NOT_EXPECTED, f"agent {_shown(upload.agent)} is not asked in this attempt")
    return None


def _other_base(upload: Upload, expected: Expected) -> Verdict | None:
    if upload.base == expected.bases[upload.agent]:
        return None
    return Verdict(STALE, f"agent {upload.agent} started from other parameters")


def _judged(upload: Upload, expected: Expected) -> Verdict:
    """The verdict on what is in an upload that came to the right place."""
    awaited = expected.local_updates[upload.agent]
    claimed = upload.local_updates
    if type(claimed) is not int or claimed != awaited:
        return Verdict(BAD_CLAIM, f"claims {_shown(claimed)} updates where {awaited} were due")
    problem = _wrong_arrays(upload.arrays, expected.pattern)
    if problem is None and digest_of(upload.arrays) != upload.digest:
        problem = "the arrays are not those of the digest"
    if problem is not None:
        return Verdict(BAD_PAYLOAD, problem)
    problem = _first_not_finite(upload.arrays)
    return Verdict(ACCEPTED) if problem is None else Verdict(NONFINITE, problem)


def _wrong_arrays(arrays: object, pattern: Mapping[str, tuple[int, ...]]) -> str | None:
    if type(arrays) is not dict or any(type(name) is not str for name in arrays):
        return "it holds no dictionary of arrays by name"
    if arrays.keys() != pattern.keys():
        return f"it holds {_listed(arrays)} where {_listed(pattern)} belong"
    for name, shape in pattern.items():
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


def _distance(row: np.ndarray, start: np.ndarray | None) -> float:
    way = row.astype(np.float64)  # squares of float32 overflow
    return float(np.linalg.norm(way if start is None else way - start))


def _listed(names: Mapping[str, object]) -> str:
    return f"{', '.join(sorted(names)) or 'nothing':.80}"


def _shown(value: object) -> str:
    """A value in a few words; only of kinds whose own code can not be anybody's."""
    if type(value) is str:
        return repr(value[:40])
    if type(value) is float or (type(value) is int and abs(value) < _LARGEST_SHOWN):
        return repr(value)
    return f"a {_name_of(type(value))}"
