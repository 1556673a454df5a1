"""The faults of a run as data: what goes wrong, in which period, where, to which process.

A plan is a TOML or JSON file with a list of faults:

    [[faults]]
    do = "kill"          # one of WORDS
    agent = 3            # or world = 0, or virtual = true, or conductor = true
    period = 5           # counted from 0, as slots, rounds of mixing and attempts are
    slot = 7             # within the period; without it, at the period's start
    exchange = 1         # round of mixing in that slot
    attempt = 0          # of the period (0 if not given), or "every"
    point = "mid-collect"   # of the virtual agent and the driver (`conductor`), which know no slots

Faults fire at steps of the run, never by the clock, so a plan gives the same run every time. A plan
is plain data, sent to the process that has to fail; mistakes are found before anything starts.
"""

from typing import Any, NamedTuple

from fmarl.errors import require

PERIOD, STEP, SIMULATOR, UPLOAD = "period", "step", "simulator", "upload"
"""What a word is about: a whole period, a step of it, a world's simulator, an upload."""

WORDS = {
    "away": PERIOD,  # it does not take part: τ_i = 0. The oracle of the others, on every engine
    "kill": STEP,  # SIGKILL
    "stop": STEP,  # SIGSTOP
    "abort": STEP,
    "kill-simulator": SIMULATOR,  # SIGKILL to the process of a world's SUMO
    "nan": UPLOAD,
    "infinity": UPLOAD,
    "wrong-shape": UPLOAD,
    "broadcast-shape": UPLOAD,
    "float64": UPLOAD,
    "extra-key": UPLOAD,
    "missing-key": UPLOAD,
    "bad-digest": UPLOAD,
    "claim": UPLOAD,  # claim:N says τ_i = N, which may be no whole number at all
    "duplicate": UPLOAD,
    "stale": UPLOAD,  # the upload of the period before, then its own
    "other-run": UPLOAD,  # an upload of another run, then its own
    "stop-before-upload": UPLOAD,  # SIGSTOP; if it is continued, its upload is late
    "kill-after-upload": UPLOAD,
}
CLAIM = "claim"
PLACES = {
    PERIOD: {"agent": ()},
    STEP: {
        "agent": ("attempt", "slot", "exchange"),
        "world": ("attempt", "slot"),
        "virtual": ("attempt", "point"),
        "conductor": ("attempt", "point"),
    },
    SIMULATOR: {"world": ("attempt", "slot")},
    UPLOAD: {"agent": ("attempt",)},
}
"""Which targets a word can have, and what says where in the period."""
POINTS = ("before-collect", "mid-collect", "after-aggregate")
"""Steps of the end of a period."""


class Fault(NamedTuple):
    """One thing that goes wrong, with exactly one target."""

    do: str
    period: int
    agent: int | None = None
    world: int | None = None
    virtual: bool = False
    conductor: bool = False
    slot: int | None = None
    exchange: int | None = None
    attempt: int | None = 0
    """None: every attempt of the period."""
    point: str | None = None

    @property
    def word(self) -> str:
        """What happens, without its number: `claim` for claim:7."""
        return self.do.partition(":")[0]

    @property
    def about(self) -> str:
        """PERIOD, STEP, SIMULATOR or UPLOAD."""
        return WORDS[self.word]


class FaultPlan(NamedTuple):
    """All faults of a run, in the order of their file."""

    faults: tuple[Fault, ...] = ()
    source: str = "faults"

    def of(self, **target: Any) -> "FaultPlan":
        """Faults of one process: `agent=3`, `world=0`, `virtual=True` or `conductor=True`."""
        [(name, value)] = target.items()
        return FaultPlan(tuple(one for one in self.faults if getattr(one, name) == value))

    def absent(self, period: int) -> frozenset[int]:
        """Agents that do not take part in a period."""
        return frozenset(
            fault.agent
            for fault in self.faults
            if fault.word == "away" and fault.period == period and fault.agent is not None
        )

    def check(self, num_agents: int, num_worlds: int) -> None:
        """Raise `BadInput` where the plan names an agent or world there is none of, or all."""
        gone: dict[int, set[int]] = {}
        for number, fault in enumerate(self.faults, 1):
            where = f"{self.source}, fault {number}"
            _check_number(where, "agent", fault.agent, num_agents)
            _check_number(where, "world", fault.world, num_worlds)
            if fault.word == "away" and fault.agent is not None:
                gone.setdefault(fault.period, set()).add(fault.agent)
                require(
                    len(gone[fault.period]) < num_agents,
                    f"{where}: all agents away in period {fault.period}",
                    f"{num_agents - 1} at the most",
                    "Let one take part.",
                )


def claimed(do: str) -> int | float:
    """The number of claim:N.

    >>> claimed("claim:-1"), claimed("claim:1e300"), claimed("claim:nan")
    (-1, 1e+300, nan)
    """
    text = do.partition(":")[2]
    try:
        return int(text)
    except ValueError:
        return float(text)


def _check_number(where: str, name: str, number: int | None, count: int) -> None:
    require(
        number is None or number < count,
        f"{where}: {name} = {number}",
        f"0 to {count - 1}",
        f"There are {count}, counted from 0.",
    )
