"""Who drives: the rows of `Driver` for a world's vehicles, and the speed factors that SUMO draws.

SUMO draws a factor per vehicle while it reads the traffic, with a generator seeded by the epoch's
seed. The same generator here gives the same factors: docs/sumo-rules.md, section 11.
"""

from collections.abc import Iterator
from math import ceil, floor, log, sqrt
from typing import Any

import numpy as np
from jaxtyping import Float

from fmarl.worlds.sumo.figure_eight import FigureEight
from fmarl.worlds.sumo.vehicles import VehicleType
from fmarl.worlds.traffic.car_following import krauss_stop_speed, speed_after
from fmarl.worlds.traffic.crossing import VISIBILITY
from fmarl.worlds.traffic.records import Driver, rows

EMERGENCY_DECEL = 9.0
"""m/s², SUMO's for passenger cars."""
IMPATIENCE = 0.5
LEAST_FACTOR, MOST_FACTOR = 0.2, 2.0
"""SUMO draws again what lies outside: normc(1, deviation, 0.2, 2)."""
SAFE, ACCEL, DECEL, RIGHT_OF_WAY, IGNORES_FOES = 1, 2, 4, 8, 32
"""Parts of a speed mode."""


def make_drivers(options: FigureEight) -> Any:
    """A driver for every vehicle, without the speed factors."""
    drivers = rows(Driver, options.num_vehicles)
    for number, driver in enumerate(drivers):
        learns = number in options.learning_vehicles()
        obeys = learns and options.controlled
        _set_type(driver, options.learner_type if learns else options.human_type, options)
        _set_mode(driver, options.learner_speed_mode if obeys else options.human_speed_mode)
    names = [f"vehicle_{number}" for number in range(options.num_vehicles)]
    drivers.name_rank = np.argsort(np.argsort(names))
    drivers.place_needed = drivers.length + drivers.min_gap
    drivers.closing = 2.0 * np.sqrt(drivers.accel * drivers.decel)
    return drivers


def set_speed_factors(drivers: Any, limit: float, factors: Float[np.ndarray, " vehicle"]) -> None:
    """What follows from how fast everybody wants to drive; none is faster than its type."""
    wanted = np.minimum(drivers.top_speed, limit * factors)
    drivers.wanted_speed = wanted
    drivers.secure_gap = np.maximum(0.0, wanted * drivers.headway + wanted**2 / drivers.closing)


def speed_factors(
    deviations: Float[np.ndarray, " vehicle"], seed: int
) -> Float[np.ndarray, " vehicle"]:
    """SUMO's own draws, of all vehicles in the order of their names' numbers.

    >>> speed_factors(np.full(3, 0.1), seed=0)
    array([1.1163, 1.0484, 1.03  ])
    """
    uniforms = _uniforms(seed)
    return np.array([_factor(float(deviation), uniforms) for deviation in deviations])


def _uniforms(seed: int) -> Iterator[float]:
    """RandHelper::rand: the Mersenne twister of C++, seeded as NumPy's old generator was."""
    twister = np.random.MT19937()
    twister._legacy_seeding(seed)  # type: ignore[attr-defined]
    while True:
        yield twister.random_raw() / 4294967296.0


def _factor(deviation: float, uniforms: Iterator[float]) -> float:
    """Distribution_Parameterized::sample, rounded to four decimals."""
    if deviation <= 0:
        return 1.0
    factor = 1.0 + deviation * _normal(uniforms)
    while not LEAST_FACTOR <= factor <= MOST_FACTOR:
        factor = 1.0 + deviation * _normal(uniforms)
    return floor(factor * 10_000 + 0.5) / 10_000


def _normal(uniforms: Iterator[float]) -> float:
    """RandHelper::randNorm: the polar method, with a logarithm that is alike on all machines."""
    first = square = 0.0
    while not 0 < square < 1:
        first, second = next(uniforms) * 2.0 - 1, next(uniforms) * 2.0 - 1
        square = first * first + second * second
    logarithm = ceil(log(square) * 1e14) / 1e14
    return first * sqrt(-2 * logarithm / square)


def _set_type(driver: Any, kind: VehicleType, options: FigureEight) -> None:
    """A type as SUMO reads it from the traffic that we write, with six digits."""
    driver.accel, driver.decel = _written(kind.accel), _written(kind.decel)
    driver.headway, driver.min_gap = _written(kind.headway_seconds), _written(kind.min_gap)
    driver.length, driver.top_speed = _written(kind.length), _written(options.speed_limit)
    driver.emergency_decel = max(EMERGENCY_DECEL, driver.decel)
    driver.impatience = IMPATIENCE
    stop = krauss_stop_speed(driver.decel, VISIBILITY, 0.0)
    driver.careful_arrival = speed_after(driver.accel, driver.top_speed, VISIBILITY, stop)


def _set_mode(driver: Any, mode: int) -> None:
    driver.keeps_safe, driver.keeps_accel = bool(mode & SAFE), bool(mode & ACCEL)
    driver.keeps_decel, driver.yields = bool(mode & DECEL), bool(mode & RIGHT_OF_WAY)
    driver.heeds_foes = not mode & IGNORES_FOES


def _written(number: float) -> float:
    return float(f"{number:g}")
