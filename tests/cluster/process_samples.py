"""What processes hold while a run goes on: memory and open files."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from cluster.engines import SYNC_PERIOD
from fmarl.records.jsonl import read_lines
from fmarl.records.run_folder import RunFolder

SAMPLE_PERIODS = 10
WARM_UP_PERIODS = 100
"""Of a process's life, in which it still takes what it needs."""
LEAST_SAMPLES = 20
"""Without so many after that, nothing is said of a process."""


class Sample(NamedTuple):
    """What a process held when a period was over."""

    who: str
    pid: int
    period: int
    mebibytes: float
    files: int


class ProcessMonitor:
    """Samples the processes of a run every few periods. A listener of `resume`."""

    def __init__(self, folder: Path) -> None:
        self._events = RunFolder(folder).events
        self._pids = {"driver": "self"}
        self._read_to = 0
        self.samples: list[Sample] = []
        self.gradient_norm = 0.0

    def __call__(self, line: dict[str, Any]) -> None:
        """Called with each line of metrics."""
        self.gradient_norm = line.get("gradient_norm", 0.0)
        period, slot = divmod(line["update_count"], SYNC_PERIOD)
        if slot == 0 and period % SAMPLE_PERIODS == 0:
            self._read_events()
            self.samples += [_sample(who, pid, period) for who, pid in self._pids.items()]

    def _read_events(self) -> None:
        lines = read_lines(self._events, self._read_to)
        self._read_to = lines.position
        for event in lines.records:
            if event["code"] == "ACTOR_STARTED":
                self._pids[_name(event)] = str(event["pid"])


def _name(event: dict[str, Any]) -> str:
    if "agents" in event:
        return f"agent {event['agents'][0]}"
    return "world" if "world" in event else "virtual agent"


def _sample(who: str, pid: str, period: int) -> Sample:
    home = Path("/proc", pid)
    status = dict(
        line.split(":", 1) for line in (home / "status").read_text().splitlines() if ":" in line
    )
    mebibytes = int(status["VmRSS"].split()[0]) / 1024
    return Sample(who, int(status["Pid"]), period, mebibytes, len(list((home / "fd").iterdir())))


class ProcessTrend(NamedTuple):
    """A process that lived long, after its warm-up."""

    who: str
    periods: int
    mebibytes: float
    """In the end."""
    growth: float
    """MiB in 1,000 periods, by least squares."""
    files: tuple[int, int]
    """Early and late."""


def trends(samples: Sequence[Sample]) -> list[ProcessTrend]:
    """The processes of which there are samples enough."""
    found = []
    for process in dict.fromkeys((sample.who, sample.pid) for sample in samples):
        own = [sample for sample in samples if (sample.who, sample.pid) == process]
        settled = [one for one in own if one.period >= own[0].period + WARM_UP_PERIODS]
        if len(settled) >= LEAST_SAMPLES:
            found.append(_trend(settled))
    return found


def _trend(samples: Sequence[Sample]) -> ProcessTrend:
    at, held = ([getattr(one, name) for one in samples] for name in ("period", "mebibytes"))
    files = [sample.files for sample in samples]
    quarter = len(files) // 4
    return ProcessTrend(
        who=samples[0].who,
        periods=at[-1] - at[0],
        mebibytes=held[-1],
        growth=1000 * float(np.polyfit(at, held, 1)[0]),
        files=(int(np.median(files[:quarter])), int(np.median(files[-quarter:]))),
    )
