"""How vehicles drive: SUMO's types and Flow's noisy human. Nothing here talks to SUMO.

A speed mode says which of SUMO's checks a vehicle keeps, as the sum of 1 (safe speed), 2
(acceleration), 4 (deceleration), 8 (right of way) and 16 (red lights). 1 brakes for who is ahead
but does not yield at a crossing: brakes are forced, and a collision is possible. 31, all of them,
is SUMO's own driver.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from fmarl.errors import require_positive


@dataclass(frozen=True, kw_only=True)
class VehicleType:
    """SUMO's parameters of a vehicle, driven by its intelligent-driver model unless commanded."""

    accel: float = 1.5
    """m/s². With IDM the safe speed *is* the IDM speed, so no action accelerates faster."""
    decel: float = 1.5
    """m/s², comfortable."""
    min_gap: float = 2.5
    """Metres kept to the one ahead when standing."""
    headway_seconds: float = 1.0
    """Time gap that the driver keeps."""
    speed_deviation: float = 0.1
    """Spread of drivers' wishes around the limit; it is what makes seeds differ."""
    length: float = 5.0
    car_following: str = "IDM"

    def to_xml(self, name: str, speed_limit: float) -> str:
        """The element of a route file."""
        require_positive(accel=self.accel, decel=self.decel, length=self.length)
        return (
            f'<vType id="{name}" carFollowModel="{self.car_following}" accel="{self.accel:g}" '
            f'decel="{self.decel:g}" sigma="0.5" tau="{self.headway_seconds:g}" '
            f'minGap="{self.min_gap:g}" maxSpeed="{speed_limit:g}" speedFactor="1" '
            f'speedDev="{self.speed_deviation:g}" impatience="0.5" length="{self.length:g}" '
            'lcStrategic="-1"/>'
        )


@dataclass(frozen=True, kw_only=True)
class FlowDriver:
    """Flow's own intelligent-driver model with noise, for comparison with its numbers."""

    wanted_speed: float = 20.0
    accel: float = 1.5
    decel: float = 1.5
    headway_seconds: float = 1.0
    standing_gap: float = 2.0
    exponent: float = 4.0
    noise: float = 0.2
    """Standard deviation of the acceleration's noise, times the root of the step."""

    def acceleration(
        self,
        speed: Float[np.ndarray, " vehicle"],
        speed_ahead: Float[np.ndarray, " vehicle"],
        gap: Float[np.ndarray, " vehicle"],
    ) -> Float[np.ndarray, " vehicle"]:
        """What each driver does now.

        a [1 − (v/v0)^δ − (s*/s)²],  s* = s0 + max(0, vT + v(v − v_ahead)/(2√(ab)))
        """
        closing = speed * (speed - speed_ahead) / (2 * np.sqrt(self.accel * self.decel))
        wanted_gap = self.standing_gap + np.maximum(0.0, speed * self.headway_seconds + closing)
        crowding = np.square(wanted_gap / np.where(np.abs(gap) < 1e-3, 1e-3, gap))
        return self.accel * (1 - (speed / self.wanted_speed) ** self.exponent - crowding)
