"""Robust averages written from their papers, coordinate by coordinate and pair by pair."""

import itertools
import statistics

import numpy as np


def slow_median(rows: np.ndarray) -> np.ndarray:
    """The middle number, or half way between the middle two."""
    return np.array([statistics.median(column.tolist()) for column in rows.T])


def slow_trimmed(rows: np.ndarray, tolerated: int) -> np.ndarray:
    """Drop the lowest and the highest one after another, then take the mean."""
    means = []
    for column in rows.T:
        left = column.tolist()
        for _ in range(tolerated):
            left.remove(min(left))
            left.remove(max(left))
        means.append(statistics.fmean(left))
    return np.array(means)


def slow_krum(rows: np.ndarray, tolerated: int) -> int:
    """Which agent's closest m − f − 2 others, of all sets of others, are closest."""
    agents = range(len(rows))
    scores = []
    for own in agents:
        distances = [
            float(np.sum((rows[own] - rows[other]) ** 2)) for other in agents if other != own
        ]
        chosen = itertools.combinations(distances, len(rows) - tolerated - 2)
        scores.append(min(sum(some) for some in chosen))
    return int(np.argmin(scores))


def slow_centred_clip(rows: np.ndarray, iterations: int) -> np.ndarray:
    """Pull in what lies farther than the median distance, take the mean, and again."""
    centre = slow_median(rows)
    radius = statistics.median([float(np.linalg.norm(row - centre)) for row in rows])
    for _ in range(iterations):
        moves = []
        for row in rows:
            length = float(np.linalg.norm(row - centre))
            moves.append((row - centre) * (1 if length <= radius else radius / length))
        centre = centre + np.mean(moves, axis=0)
    return centre
