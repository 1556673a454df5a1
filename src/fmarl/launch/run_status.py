"""From the lines that a run writes to the row that is shown of it."""

import math
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from fmarl.cli.progress import Row


class Follower:
    """Where a run stands, by the lines it has written; how fast it goes, by this clock."""

    def __init__(
        self, name: str, num_epochs: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.row = Row(name=name, epoch=0, num_epochs=num_epochs, state="starting")
        self._clock = clock
        self._began: tuple[float, int] | None = None

    def take(self, line: dict[str, Any]) -> None:
        """Take in a line of metrics."""
        if line["kind"] in ("start", "baseline"):
            return
        epoch = line["epoch"]
        self._began = self._began or (self._clock(), epoch)
        changes = {"epoch": epoch, "state": "training", "seconds_left": self._seconds_left(epoch)}
        if line["kind"] == "test":
            changes["test_rewards"] = (*self.row.test_rewards, _number(line["mean"]))
        else:
            names = ("train_reward", "bytes_sent")
            changes |= {name: line[name] for name in names if name in line}
            changes["gradient_norm"] = _gradient_norm(line)
        self.row = replace(self.row, **changes)

    def say(self, state: str) -> None:
        """Show another state, such as `done`; there is then nothing to wait for."""
        self.row = replace(self.row, state=state, seconds_left=None)

    def _seconds_left(self, epoch: int) -> float | None:
        assert self._began is not None
        since, first = self._began
        if epoch <= first:
            return None
        return (self._clock() - since) / (epoch - first) * (self.row.num_epochs - epoch)


def _number(value: float | None) -> float:
    """Lines hold null where there was no number."""
    return math.nan if value is None else value


def _gradient_norm(line: dict[str, Any]) -> float | None:
    """On the sample set if the run has one, else of the agents' own gradients; both squared."""
    if "expected_gradient_norm" in line:
        return line["expected_gradient_norm"]
    return line["gradient_norm"] ** 2 if "gradient_norm" in line else None
