"""The sums as the proofs write them: loops over agents and slots, slow and easy to check.

Nothing here imports fmarl. Agents, slots and periods are plain numbers, so that exact fractions
can be used wherever the formula is rational.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import floor
from typing import Any, NamedTuple

Number = Any  # Fraction, int or float: the formulas are the same
Matrix = Sequence[Sequence[Number]]


class Setting(NamedTuple):
    """One run in plain numbers. `mixed` is what all rounds do together, W_E … W_1."""

    local_updates: Sequence[int]
    decay: Sequence[Number]
    mixed: Matrix
    disagreement_left: Number = 1
    learning_rate: Number = Fraction(1, 100)
    total_updates: Number = 1
    smoothness: Number = 1
    noise: Number = 1
    slope: Number = 0
    gap: Number = 0
    common: Number = 0
    """c: share of the noise that is common to all agents."""

    @property
    def agents(self) -> range:
        """Return 0 … m−1."""
        return range(len(self.local_updates))

    @property
    def slots(self) -> range:
        """Return 0 … τ−1."""
        return range(len(self.decay))

    def active(self, slot: int) -> list[int]:
        """S_y: agents with τ_i > y."""
        return [i for i in self.agents if self.local_updates[i] > slot]


def identity(size: int) -> list[list[int]]:
    """No neighbour exchange at all."""
    return [[int(i == j) for j in range(size)] for i in range(size)]


# The paper's own sums.


def printed_terms(setting: Setting, drift_factor: Number) -> Number:
    """ψ1 = 2ΔF/(ηK) + ηLσ²/m + η²L²σ² · factor, the shape of all printed bounds."""
    step = setting.learning_rate * setting.smoothness
    first = 2 * setting.gap / (setting.learning_rate * setting.total_updates)
    return (
        first
        + step * setting.noise / len(setting.local_updates)
        + step**2 * setting.noise * drift_factor
    )


def variation_factor(local_updates: Sequence[int], sync_period: int) -> Fraction:
    """App. C: (2/(mτ)) Σ_i Σ_{j=1}^{τ} min(τ_i, j)."""
    total = sum(min(tau, j) for tau in local_updates for j in range(1, sync_period + 1))
    return Fraction(2 * total, len(local_updates) * sync_period)


def decay_factor(setting: Setting) -> Number:
    """App. D: (2/(mτ)) Σ_i Σ_{j=1}^{τ} Z(min(j, τ_i)) with Z(n) = Σ_{y<n} D_y²."""
    period = len(setting.decay)
    total = sum(
        _squares_before(setting.decay, min(j, tau))
        for tau in setting.local_updates
        for j in range(1, period + 1)
    )
    return 2 * total / (len(setting.local_updates) * period)


def uniform_decay_factor(decay: Sequence[Number]) -> Number:
    """App. E: the same with one agent for every τ_i in 1 … τ, each with chance 1/τ."""
    period = len(decay)
    everyone = Setting(range(1, period + 1), decay, identity(period))
    return decay_factor(everyone)


def corollary_bracket(rate: Fraction, sync_period: int) -> Fraction:
    """Eq. (22), the printed quotient: τ/(1−λ) − 2λ/(1−λ)² + λ(1+λ)(1−λ^τ)/(τ(1−λ)³)."""
    left = 1 - rate
    third = rate * (1 + rate) * (1 - rate**sync_period) / (sync_period * left**3)
    return sync_period / left - 2 * rate / left**2 + third


def _squares_before(decay: Sequence[Number], slot: int) -> Number:
    return sum(decay[y] ** 2 for y in range(slot))


# The corrected sums.


def average_weight(setting: Setting) -> Number:
    """A = (1/(mτ)) Σ_y Σ_{i active} D_y."""
    total = sum(setting.decay[y] for y in setting.slots for _ in setting.active(y))
    return total / (len(setting.local_updates) * len(setting.decay))


def average_squared_weight(setting: Setting) -> Number:
    """B = (1/(mτ)) Σ_y Σ_{i active} D_y²."""
    total = sum(setting.decay[y] ** 2 for y in setting.slots for _ in setting.active(y))
    return total / (len(setting.local_updates) * len(setting.decay))


def simple_pairs(setting: Setting) -> Number:
    """H = ρ^(2E) (1/m) Σ_i Σ_{j=0}^{τ−1} D_j Z(min(j, τ_i))."""
    total = sum(
        setting.decay[j] * _squares_before(setting.decay, min(j, tau))
        for tau in setting.local_updates
        for j in setting.slots
    )
    return setting.disagreement_left**2 * total / len(setting.local_updates)


def sharp_pairs(setting: Setting) -> Number:
    """H# = (1/m) Σ_j D_j Σ_{q<j} D_q² Σ_{i∈S_j} Var(Σ_{l∈S_q} (Π_il − 1/m) noise_l)."""
    size = len(setting.local_updates)
    total = 0
    for j in setting.slots:
        for q in range(j):
            for i in setting.active(j):
                seen = _noise_seen(setting, i, setting.active(q), Fraction(1, size))
                total += setting.decay[j] * setting.decay[q] ** 2 * seen
    return total / size


def _noise_seen(setting: Setting, i: int, senders: list[int], mean: Fraction) -> Number:
    """(1−c) Σ_l (Π_il − mean)² + c (Σ_l (Π_il − mean))²: what agent i gets of unit noise."""
    alone = sum((setting.mixed[i][sender] - mean) ** 2 for sender in senders)
    together = sum(setting.mixed[i][sender] - mean for sender in senders) ** 2
    return (1 - setting.common) * alone + setting.common * together


def _shared(setting: Setting, size: int) -> Number:
    """Variance of a mean of `size` agents' noise, over that of one agent."""
    return ((1 - setting.common) * size + setting.common * size**2) / size**2


def synchronised_pairs(setting: Setting) -> Number:
    """(1/m) Σ_i Σ_{j<τ_i} D_j Z(j)."""
    total = sum(
        setting.decay[j] * _squares_before(setting.decay, j)
        for tau in setting.local_updates
        for j in range(tau)
    )
    return total / len(setting.local_updates)


def weighted_total(
    setting: Setting, pairs: Callable[[Setting], Number], noise_times: int = 1
) -> Number:
    """(1/A)[2ΔF/(ηK) + n(ηLσ²/m)B + (2η²L²σ²/τ) pairs]: bounds (W), (W sharp) and (S)."""
    step = setting.learning_rate * setting.smoothness
    first = 2 * setting.gap / (setting.learning_rate * setting.total_updates)
    variance = step * setting.noise / len(setting.local_updates) * average_squared_weight(setting)
    drift = 2 * step**2 * setting.noise / len(setting.decay) * pairs(setting)
    return (first + noise_times * variance + drift) / average_weight(setting)


def normalised_total(setting: Setting) -> Number:
    """Bound (N) with decay and mixing; its average is weighted by D_y."""
    step = setting.learning_rate * setting.smoothness
    weight = sum(setting.decay)
    first = 2 * setting.gap * len(setting.decay)
    first = first / (setting.learning_rate * setting.total_updates)
    variance = drift = 0
    for j in setting.slots:
        now = setting.active(j)
        variance += step * setting.noise * setting.decay[j] ** 2 * _shared(setting, len(now))
        for q in range(j):
            then = setting.active(q)
            pairs = sum(_noise_seen(setting, i, then, Fraction(1, len(then))) for i in now)
            drift += setting.decay[j] / len(now) * setting.decay[q] ** 2 * pairs
    return (first + variance + 2 * step**2 * setting.noise * drift) / weight


# The conditions on the step: not positive where the step is admissible.


def printed_condition(setting: Setting, relaxed: Number = 1) -> Number:
    """Eq. (14), or what consensus leaves of its drift part."""
    step, period = setting.learning_rate * setting.smoothness, len(setting.decay)
    drift = 2 * step**2 * period * setting.slope + step**2 * period * (period + 1)
    return step * (setting.slope / len(setting.local_updates) + 1) - 1 + relaxed * drift


def weighted_condition(setting: Setting) -> Number:
    """The sum over later slots j of 2ρ²(β + j), before it is closed to (τ−1)(2β+τ)."""
    step = setting.learning_rate * setting.smoothness
    later = sum(2 * (setting.slope + j) for j in setting.slots if j > 0)
    drift = step**2 * setting.disagreement_left**2 * later
    return step * (setting.slope * _shared(setting, len(setting.local_updates)) + 1) - 1 + drift


def synchronised_condition(setting: Setting) -> Number:
    """2ηL(β/m + Σ_y a_y D_y) + η²L² Σ_j 2(β + j) − 1."""
    step = setting.learning_rate * setting.smoothness
    length = len(setting.decay) * average_weight(setting)
    later = sum(2 * (setting.slope + j) for j in setting.slots if j > 0)
    start = setting.slope * _shared(setting, len(setting.local_updates)) + length
    return 2 * step * start + step**2 * later - 1


def normalised_condition(setting: Setting) -> Number:
    """The worst slot q of ηL(β/m_q + 1) + 2η²L² Σ_{y>q} (m_q/m_y)(β + y) κ_qy − 1."""
    step = setting.learning_rate * setting.smoothness
    worst = None
    for q in setting.slots:
        then = setting.active(q)
        value = step * (setting.slope * _shared(setting, len(then)) + 1) - 1
        for y in range(q + 1, len(setting.decay)):
            now = setting.active(y)
            kept = [sum(setting.mixed[i][sender] for sender in then) for i in now]
            leak = 1 + sum((1 - share) ** 2 for share in kept) / len(then)
            value += 2 * step**2 * len(then) / len(now) * (setting.slope + y) * leak
        worst = value if worst is None else max(worst, value)
    return worst


# Counting.


def updates_in_period(fastest: Fraction, own: Fraction, sync_period: int) -> int:
    """Eq. (6): how often `own` fits into the time of τ steps of the fastest, by trying."""
    count = 0
    while (count + 1) * own <= sync_period * fastest:
        count += 1
    return count


def float_updates_in_period(fastest: float, own: float, sync_period: int) -> int:
    """Eq. (6) typed in as it stands, in floating point."""
    return floor(sync_period * fastest / own)


def messages_per_period(
    local_updates: Sequence[int], neighbours: Sequence[Sequence[set[int]]]
) -> int:
    """Gradients sent in one period when an agent stays silent until it has something to say."""
    sent = 0
    for slot in range(max(local_updates)):
        speakers = {i for i, tau in enumerate(local_updates) if tau > slot}
        for linked in neighbours:  # round after round, each with its own links
            sent += sum(len(linked[i]) for i in speakers)
            speakers |= {other for i in speakers for other in linked[i]}
    return sent


def contraction(eigenvalues: Sequence[float], step: float) -> float:
    """‖P − J‖ for P = I − ε La: the largest |1 − ε μ_i| over i >= 2."""
    return max(abs(1 - step * value) for value in sorted(eigenvalues)[1:])
