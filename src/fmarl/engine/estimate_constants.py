"""The constants of the bounds, estimated from the folder of a finished run.

The theory speaks of θ ← θ − η g, where g is ∇F plus noise. So the run must have learned by plain
SGD in one pass: then the pseudo-gradient is the gradient of the slot. ∇F is what gradient norms are
measured by, the gradient on the run's sample set with the ratio π_θ/π_θold at 1.

Two things about this F are not as in a textbook. The critic that judges a slot moves with θ, so
∇F's Jacobian is not quite symmetric: L is its largest *singular* value, and differences of F are
integrals of ∇F along a straight line. And F has no lowest value: with advantages of mean 0, moving
all of a Gaussian policy's means changes the loss linearly, so on samples that stay the same it can
fall for ever. The gap is therefore not taken to F_inf, but to the lowest that the run came to.
"""

from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from fmarl.algorithms.algorithm import Algorithm, Transitions
from fmarl.engine.compiled import keep_compiled_programs
from fmarl.engine.experiment import Experiment
from fmarl.engine.sample_set import read_samples
from fmarl.errors import require
from fmarl.federation.run_labels import PLAIN_DESCENT, flat_settings
from fmarl.records.checkpoint import read_checkpoint
from fmarl.records.run_folder import read_run
from fmarl.rollout.seeds import derived_seed
from fmarl.settings_io import from_plain, to_plain
from fmarl.worlds.registry import make_world

Row = Float[Array, " parameter"]
Gradients = Float[Array, "slot agent parameter"]

NUM_POINTS = 5
"""Points on the way from θ̄_0 to θ̄_K at which everything is estimated, both ends among them. On
Figure Eight, 5 give the gap to 1 % of what 33 give."""
POWER_ROUNDS = 12
"""Rounds of power iteration. On Figure Eight 5 are enough for six digits."""


class Constants(NamedTuple):
    """What the bounds need to know of a loss, as far as one run has seen it. β is taken as 0."""

    smoothness: float
    """L: the largest singular value of ∇F's Jacobian at any of the points. What lies off the way is
    not seen, so this errs low: a bound from it is too small if anything, its condition too mild."""
    gradient_noise: float
    """σ²: mean of ‖g_i − ∇F‖² over agents and the run's own kept slots, at the worst of the points.
    It includes that the run's slots are other data than the sample set. The theory assumes that
    slots err independently, which this can not see: as agents learn, their data drifts."""
    noise_correlation: float
    """c: share of the noise that agents have in common, as they do on one road; 0 to 1."""
    initial_gap: float
    """ΔF: F(θ̄_0) minus the lowest F at the points. The proofs use F_inf only as something below
    F(θ̄_K), so this is enough for them, and errs low."""
    initial_gradient_norm: float
    """ψ2: ‖∇F(θ̄_0)‖²."""
    final_gradient_norm: float
    """‖∇F(θ̄_K)‖²."""


def estimate_constants(folder: Path) -> Constants:
    """Constants of the bounds from a finished run that was measured on samples."""
    traces = read_traces(folder)
    keep_compiled_programs()
    gradients, stretch = _compiled(traces.algorithm)
    points = points_between(traces.start, traces.end)
    slopes = [gradients(row, traces.samples).mean(axis=(0, 1)) for row in points]
    noises = [
        noise_around(gradients(row, traces.own), slope)
        for row, slope in zip(points, slopes, strict=True)
    ]
    of_agent, of_mean = (max(parts) for parts in zip(*noises, strict=True))
    norms = [float(jnp.sum(slope**2)) for slope in slopes]
    return Constants(
        smoothness=max(float(stretch(row, traces.samples)) for row in points),
        gradient_noise=of_agent,
        noise_correlation=shared_part(of_agent, of_mean, traces.own.reward.shape[-1]),
        initial_gap=way_down(np.stack(slopes), np.asarray(traces.end - traces.start)),
        initial_gradient_norm=norms[0],
        final_gradient_norm=norms[-1],
    )


class Traces(NamedTuple):
    """What a run has left that says something of its loss."""

    algorithm: Algorithm
    start: Row
    """θ̄_0, made again from the seed."""
    end: Row
    """θ̄_K, from the last checkpoint."""
    samples: Transitions
    """The sample set that F is made of."""
    own: Transitions
    """The run's own kept slots."""


def read_traces(folder: Path) -> Traces:
    """Read a run's folder; `BadInput` if the theory does not speak of such a run."""
    description = read_run(folder)
    experiment = from_plain(Experiment, description["experiment"], f"{folder}/run.json")
    _require_plain_descent(experiment)
    with make_world(experiment.world, **experiment.maker.options) as world:
        spec = world.spec
    algorithm = experiment.make_algorithm(spec)
    saved = read_checkpoint(folder, description["run_id"])
    done, total = saved.update_count, experiment.total_updates(spec)
    require(done == total, f"{folder} with {done} of {total} updates", "all", "Resume it first.")
    rows = jnp.asarray(saved.arrays["state.parameters"])
    parameters, _ = algorithm.init(jax.random.key(derived_seed(experiment.seed, "parameters")))
    return Traces(
        algorithm=algorithm,
        start=ravel_pytree(parameters)[0],
        end=rows.mean(axis=0),
        samples=read_samples(Path(experiment.samples), spec, len(rows)),
        own=read_samples(folder, spec, len(rows)),
    )


def points_between(start: Row, end: Row) -> list[Row]:
    """Points at equal distances on the straight way, both ends included."""
    shares = np.linspace(0, 1, NUM_POINTS, dtype=np.float32)
    return [start + share * (end - start) for share in shares]


def largest_stretch(
    field: Callable[[Row], Row], point: Row, direction: Row, rounds: int = POWER_ROUNDS
) -> Float[Array, ""]:
    """How much faster than the point the field can change: its Jacobian's largest singular value.

    By power iteration on JᵀJ, which also converges where J is not symmetric; from below.
    """
    _, push = jax.linearize(field, point)
    pull = jax.linear_transpose(push, point)

    def turn(direction: Row, _: None) -> tuple[Row, Float[Array, ""]]:
        pushed = push(direction)
        [pulled] = pull(pushed)
        return _unit(pulled), jnp.linalg.norm(pushed)

    _, stretches = jax.lax.scan(turn, _unit(direction), None, length=rounds)
    return stretches[-1]


def noise_around(gradients: Gradients, expected: Row) -> tuple[float, float]:
    """How far one agent's gradient, and the mean of all agents', lie from ∇F: mean squares."""
    off = gradients - expected[None, None]
    of_agent, of_mean = (jnp.sum(part**2, axis=-1).mean() for part in (off, off.mean(axis=1)))
    return float(of_agent), float(of_mean)


def shared_part(of_agent: float, of_mean: float, num_agents: int) -> float:
    """Correlation c from the noise of one agent, σ², and of their mean, σ²(1 + (m − 1)c)/m.

    >>> shared_part(of_agent=4.0, of_mean=1.0, num_agents=4)
    0.0
    """
    if num_agents == 1 or of_agent == 0:
        return 0.0
    common = (num_agents * of_mean / of_agent - 1) / (num_agents - 1)
    return min(max(common, 0.0), 1.0)


def way_down(
    slopes: Float[np.ndarray, "point parameter"], way: Float[np.ndarray, " parameter"]
) -> float:
    """How far below its first value a function comes on a straight way, by the trapezoid rule.

    >>> way_down(np.array([[-2.0], [0.0], [2.0]]), np.array([2.0]))  # x² from −1 to 1
    1.0
    """
    along = slopes.astype(float) @ way.astype(float)
    steps = (along[1:] + along[:-1]) / (2 * (len(along) - 1))
    return max(0.0, -float(np.cumsum(steps).min()))


@cache
def _compiled(
    algorithm: Algorithm,
) -> tuple[Callable[[Row, Transitions], Gradients], Callable[[Row, Transitions], Float[Array, ""]]]:
    """Gradients and the largest stretch, compiled once for all runs of an algorithm."""
    gradients = partial(gradients_of, algorithm)

    def stretch(point: Row, samples: Transitions) -> Float[Array, ""]:
        direction = jax.random.normal(jax.random.key(0), point.shape)
        field = lambda row: gradients(row, samples).mean(axis=(0, 1))  # noqa: E731
        return largest_stretch(field, point, direction)

    return jax.jit(gradients), jax.jit(stretch)


def gradients_of(algorithm: Algorithm, row: Row, slots: Transitions) -> Gradients:
    """The gradient of every agent in every slot, all at the same parameters.

    Paper: Eq. (3).  g(θ; ξ) = (1/|ξ|) Σ_{φ ∈ ξ} ∇L(θ; φ)
    """
    key = jax.random.key(0)  # algorithms draw nothing in a whole slot's gradient
    blank, memory = algorithm.init(key)
    _, restore = ravel_pytree(blank)

    def gradient(transitions: Transitions) -> Row:
        return ravel_pytree(algorithm.gradient(restore(row), memory, transitions, key))[0]

    return jax.lax.map(jax.vmap(gradient, in_axes=1), slots)


def _require_plain_descent(experiment: Experiment) -> None:
    """The theory is about one gradient step per slot on a loss that stays the same."""
    given = flat_settings(to_plain(experiment))
    for name, wanted in PLAIN_DESCENT.items():
        fix = "Bounds are about plain SGD: train such a run."
        require(given[name] == wanted, f"{name} = {given[name]}", f"{wanted}", fix)
    measured = bool(experiment.samples)
    require(measured, "a run without samples", "one that was measured", "Train with --samples.")


def _unit(vector: Row) -> Row:
    return vector / jnp.maximum(jnp.linalg.norm(vector), 1e-30)
