"""How far a run has come, from the lines that it writes."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from fmarl.records.score import measure_in, score_in


@dataclass(frozen=True, kw_only=True)
class RunStatus:
    """One run of several, as it is shown."""

    name: str
    """Unique among them; may be empty for a run that is alone."""
    epoch: int
    num_epochs: int
    measure: str = "NAS"
    """What its tests measure."""
    test_rewards: tuple[float, ...] = ()
    """What every test so far has found by that measure, the newest last."""
    train_reward: float | None = None
    """Mean reward of the last epoch of training."""
    gradient_norm: float | None = None
    """‖∇F(θ̄)‖², squared as in the paper."""
    bytes_sent: int = 0
    """By all agents together, to the virtual agent and to neighbours."""
    seconds_left: float | None = None
    """Estimate; None where there is none yet."""
    state: str = "training"

    @property
    def test_reward(self) -> float | None:
        return self.test_rewards[-1] if self.test_rewards else None


class StatusTracker:
    """Keeps a run's status up to date; how fast the run is, by this clock."""

    def __init__(
        self, name: str, num_epochs: int, world: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._world, measure = world, measure_in(world)
        self.status = RunStatus(
            name=name, epoch=0, num_epochs=num_epochs, measure=measure, state="starting"
        )
        self._clock = clock
        self._first: tuple[float, int] | None = None
        """Time and epoch of the first line."""

    def add_line(self, line: dict[str, Any]) -> None:
        if line["kind"] in ("start", "baseline"):
            return
        epoch = line["epoch"]
        changes = {"epoch": epoch, "state": "training", "seconds_left": self._seconds_left(epoch)}
        if line["kind"] == "test":
            score = score_in(line, self._world)
            changes["test_rewards"] = (*self.status.test_rewards, score)
        else:
            names = ("train_reward", "bytes_sent")
            changes |= {name: line[name] for name in names if name in line}
            changes["gradient_norm"] = _gradient_norm(line)
        self.status = replace(self.status, **changes)

    def end(self, state: str) -> None:
        """Set the last state, such as `done`; there is then nothing to wait for."""
        self.status = replace(self.status, state=state, seconds_left=None)

    def _seconds_left(self, epoch: int) -> float | None:
        now = self._clock()
        self._first = self._first or (now, epoch)
        since, first = self._first
        if epoch <= first:
            return None
        return (now - since) / (epoch - first) * (self.status.num_epochs - epoch)


def _gradient_norm(line: dict[str, Any]) -> float | None:
    """On the sample set if the run has one, else of the agents' own gradients; both squared."""
    if "expected_gradient_norm" in line:
        return line["expected_gradient_norm"]
    return line["gradient_norm"] ** 2 if "gradient_norm" in line else None
