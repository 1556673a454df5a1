"""How far the exact road and SUMO agree: both are played side by side, with the same actions.

Nothing is corrected on the way. As long as every vehicle-step before was equal to the last bit, a
step is also a test of one step from SUMO's own state.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from fmarl.worlds.sumo.figure_eight import PRESETS, FigureEight, FigureEightWorld
from fmarl.worlds.traffic.lanes import (
    MAJOR_CROSSING,
    MAJOR_ENTRY,
    MINOR_CROSSING,
    MINOR_ENTRY,
)
from fmarl.worlds.traffic.world import ExactFigureEight

Act = Callable[[np.random.Generator, int, np.ndarray], np.ndarray]
"""The next action, from chance, the time, and what agents see."""

REGIONS = ("free", "following", "before minor", "before major", "on the crossing")
NEAR = 30.0
"""Metres to the next vehicle up to which one is said to follow it."""
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
STOPPED = 0.1
HOLD = 20
"""Steps for which a held action is kept."""


def _full(random: np.random.Generator, time: int, seen: np.ndarray) -> np.ndarray:
    return np.ones((len(seen), 1), np.float32)


def _random(random: np.random.Generator, time: int, seen: np.ndarray) -> np.ndarray:
    return random.uniform(-1, 1, (len(seen), 1)).astype(np.float32)


def _held(random: np.random.Generator, time: int, seen: np.ndarray) -> np.ndarray:
    return _random(np.random.default_rng(time // HOLD), time, seen)


def _careful(random: np.random.Generator, time: int, seen: np.ndarray) -> np.ndarray:
    """Far from full throttle: towards a speed that falls with the gap ahead."""
    gap, speed = (seen[:, 2] - seen[:, 0]) % 1.0, seen[:, 1]
    return np.clip(4 * gap - 2 * speed, -1, 0.5)[:, None].astype(np.float32)


def _waves(random: np.random.Generator, time: int, seen: np.ndarray) -> np.ndarray:
    """Stop and go: every agent brakes and accelerates in its own rhythm."""
    rhythm = np.sin(time / (15 + 5 * np.arange(len(seen))))
    return rhythm[:, None].astype(np.float32)


POLICIES: dict[str, Act | None] = {
    "all SUMO": None,
    "full throttle": _full,
    "random": _random,
    "held for 2 s": _held,
    "careful": _careful,
    "stop and go": _waves,
}
"""None leaves learners alone."""


class Course(NamedTuple):
    """An epoch on both roads."""

    speeds: Float[np.ndarray, "road time vehicle"]
    """SUMO's, then ours."""
    gaps: Float[np.ndarray, "road time vehicle"]
    regions: Int[np.ndarray, "time vehicle"]
    crashed: tuple[bool, bool]
    kind: str
    """SUMO's word for its crash: collision (rear end) or junction; empty without one."""


class Agreement(NamedTuple):
    """How far the epochs of one policy agree."""

    preset: str
    policy: str
    vehicle_steps: int
    equal: int
    """Of those, with the same speed to the last bit."""
    largest: float
    """Largest difference of speeds in m/s."""
    per_region: tuple[int, ...]
    nas: tuple[float, float]
    worst_nas: float
    """Largest relative difference of an epoch's NAS."""
    worst_quantile: float
    """Largest relative difference of quantiles of speeds and gaps."""
    stops: tuple[int, int]


class CrashAgreement(NamedTuple):
    """Crashes on SUMO, and what the exact road made of the same epochs."""

    kind: str
    on_sumo: int
    same_step: int
    missed: int
    invented: int
    states: int
    """Vehicle-steps in these epochs."""


def agreements(seeds: range, steps: int = 1500) -> Iterator[Agreement]:
    """One for each preset and policy."""
    for preset, options in PRESETS.items():
        for name, act in POLICIES.items():
            chosen = replace(options, epoch_steps=steps, controlled=act is not None)
            courses = list(_courses(chosen, act or _full, seeds))
            yield _agreement(preset, name, courses, options.speed_limit)


def crash_agreements(seeds: range, steps: int = 600) -> list[CrashAgreement]:
    """Epochs with speed modes in which vehicles crash, by the kind of crash.

    Learners that see nothing (0) hit others from behind; if nobody minds the others on the crossing
    (33), they meet there.
    """
    found: dict[str, list[Course]] = {"": [], "collision": [], "junction": []}
    blind = FigureEight(learner_speed_mode=0, epoch_steps=steps)
    unheeding = FigureEight(learner_speed_mode=33, human_speed_mode=33, epoch_steps=steps)
    for options, act in ((blind, _waves), (unheeding, _full)):
        for course in _courses(options, act, seeds):
            found[course.kind].append(course)
    return [_crashes(kind or "none", courses) for kind, courses in found.items()]


def _courses(options: FigureEight, act: Act, seeds: range) -> Iterator[Course]:
    with FigureEightWorld(options) as sumo, ExactFigureEight(options) as exact:
        for seed in seeds:
            yield _course(sumo, exact, act, seed)


def _course(sumo: FigureEightWorld, exact: ExactFigureEight, act: Act, seed: int) -> Course:
    seen, _ = sumo.reset(seed), exact.reset(seed)
    random, rows, over, time = np.random.default_rng(seed), [], False, 0
    theirs = ours = None
    while not over:
        action = act(random, time, seen)
        regions = _regions(exact)
        theirs, ours = sumo.step(action), exact.step(action)
        seen, over, time = theirs.observation, theirs.over or ours.over, time + 1
        places = np.array([sumo._places, exact.places]) * exact.loop_length
        rows.append((np.array([sumo._speeds, exact.speeds]), _gaps(places, exact), regions))
    assert theirs is not None and ours is not None
    speeds, gaps, regions = (np.array(column) for column in zip(*rows, strict=True))
    crashed = bool(theirs.terminated.all()), bool(ours.terminated.all())
    kinds = [one.type for one in sumo._session.api.simulation.getCollisions()]
    return Course(
        speeds.swapaxes(0, 1), gaps.swapaxes(0, 1), regions, crashed, kinds[0] if kinds else ""
    )


def _gaps(
    places: Float[np.ndarray, "road vehicle"], exact: ExactFigureEight
) -> Float[np.ndarray, "road vehicle"]:
    """Metres from front to front to the next vehicle."""
    return (np.roll(places, -1, axis=1) - places) % exact.loop_length


def _regions(exact: ExactFigureEight) -> Int[np.ndarray, " vehicle"]:
    """Where every vehicle is, as index of `REGIONS`."""
    places = exact.places[None] * exact.loop_length
    near, lanes = _gaps(places, exact)[0] < NEAR, exact.lanes
    crossing = np.isin(lanes, (MAJOR_CROSSING, MINOR_CROSSING))
    where = [crossing, lanes == MAJOR_ENTRY, lanes == MINOR_ENTRY, near]
    return np.select(where, [4, 3, 2, 1], 0)


def _agreement(preset: str, policy: str, courses: list[Course], limit: float) -> Agreement:
    sumo, ours = (np.concatenate([one.speeds[road] for one in courses]) for road in (0, 1))
    regions = np.concatenate([one.regions for one in courses]).ravel()
    nas = np.array([one.speeds.mean(axis=(1, 2)) / limit for one in courses])
    return Agreement(
        preset=preset,
        policy=policy,
        vehicle_steps=sumo.size,
        equal=int((sumo == ours).sum()),
        largest=float(np.abs(sumo - ours).max()),
        per_region=tuple(np.bincount(regions, minlength=len(REGIONS)).tolist()),
        nas=(float(nas[:, 0].mean()), float(nas[:, 1].mean())),
        worst_nas=float((np.abs(nas[:, 1] - nas[:, 0]) / nas[:, 0]).max()),
        worst_quantile=_worst_quantile(courses),
        stops=(_stops(courses, 0), _stops(courses, 1)),
    )


def _worst_quantile(courses: list[Course]) -> float:
    worst = 0.0
    for name in ("speeds", "gaps"):
        both = np.concatenate([getattr(one, name) for one in courses], axis=1).reshape(2, -1)
        theirs, ours = np.quantile(both, QUANTILES, axis=1).T
        worst = max(worst, float((np.abs(ours - theirs) / np.maximum(theirs, 1e-3)).max()))
    return worst


def _stops(courses: list[Course], road: int) -> int:
    """How often a vehicle that moved stands in the next step."""
    stands = [one.speeds[road] < STOPPED for one in courses]
    return sum(int((~rows[:-1] & rows[1:]).sum()) for rows in stands)


def _crashes(kind: str, courses: list[Course]) -> CrashAgreement:
    pairs = [one.crashed for one in courses]
    return CrashAgreement(
        kind=kind,
        on_sumo=sum(theirs for theirs, _ in pairs),
        same_step=sum(theirs and ours for theirs, ours in pairs),
        missed=sum(theirs and not ours for theirs, ours in pairs),
        invented=sum(ours and not theirs for theirs, ours in pairs),
        states=sum(one.regions.size for one in courses),
    )
