"""Constants estimated from a run, against dense matrices and plain sums."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

from fmarl.algorithms.agent_config import AgentConfig
from fmarl.algorithms.ppo import PPOConfig
from fmarl.engine import run_writer as writer
from fmarl.engine.estimate_constants import (
    Traces,
    estimate_constants,
    gradients_of,
    largest_stretch,
    noise_around,
    points_between,
    read_traces,
    shared_part,
    way_down,
)
from fmarl.engine.experiment import Experiment
from fmarl.engine.run import begin, train
from fmarl.errors import BadInput
from fmarl.federation.recipes import MethodConfig
from fmarl.records.jsonl import read_lines
from fmarl.report.bound_curve import CONSTANTS
from fmarl.theory import Problem
from unit.engine.small_experiments import toy


def _plain(**changes) -> Experiment:
    """Twelve slots of plain SGD in one pass, as the theory has it."""
    agent = AgentConfig(hidden=(4,), optimiser="sgd")
    common = {"agent": agent, "ppo": PPOConfig(passes=1), "num_epochs": 6, "test_every": 0}
    return toy(**(common | changes))


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run with large steps, measured on the samples of another; its worlds have a bumpy cost."""
    folder = tmp_path_factory.mktemp("runs")
    samples = train(_plain(seed=100), folder / "samples").folder
    large = MethodConfig(sync_period=3, learning_rate=0.1)
    return train(_plain(samples=str(samples), together=large), folder / "run")


@pytest.fixture(scope="module")
def traces(run):
    return read_traces(run.folder)


@pytest.fixture(scope="module")
def constants(run):
    return estimate_constants(run.folder)


@pytest.fixture(scope="module")
def gradient(traces) -> Callable[[jax.Array], jax.Array]:
    """∇F by the plainest way: slot by slot and agent by agent."""
    return jax.jit(partial(_gradient, traces))


def _gradient(traces: Traces, row: jax.Array) -> jax.Array:
    parameters, memory = traces.algorithm.init(jax.random.key(0))
    point = ravel_pytree(parameters)[1](row)
    slots, _, agents = traces.samples.reward.shape
    found = []
    for slot in range(slots):
        for agent in range(agents):
            own = jax.tree.map(lambda part, at=(slot, agent): part[at[0], :, at[1]], traces.samples)
            found.append(traces.algorithm.gradient(point, memory, own, jax.random.key(0)))
    return jnp.stack([ravel_pytree(one)[0] for one in found]).mean(axis=0)


def test_the_stretch_is_the_largest_singular_value_also_where_no_eigenvalue_is_as_large():
    shear = jnp.asarray([[1.0, 3.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, -2.0]])
    found = largest_stretch(lambda x: shear @ x, jnp.zeros(3), jnp.ones(3))
    assert float(found) == pytest.approx(np.linalg.norm(shear, ord=2), rel=1e-5)
    assert float(found) > np.abs(np.linalg.eigvals(shear)).max()


def test_the_stretch_of_a_gradient_is_the_curvature_at_the_point_whatever_its_sign():
    field = jax.grad(lambda x: jnp.sum(jnp.cos(x) * jnp.asarray([1.0, 5.0, 2.0])))
    found = largest_stretch(field, jnp.asarray([0.0, 0.5, 0.0]), jnp.ones(3))
    assert float(found) == pytest.approx(5 * np.cos(0.5), rel=1e-5)


def test_a_field_that_never_changes_has_no_stretch():
    assert float(largest_stretch(lambda x: 0 * x + 1, jnp.zeros(2), jnp.ones(2))) == 0


def test_noise_is_the_mean_square_over_slots_and_agents():
    rng = np.random.default_rng(0)
    gradients, expected = rng.normal(size=(4, 3, 5)), rng.normal(size=5)
    of_agent, of_mean = noise_around(
        jnp.asarray(gradients, jnp.float32), jnp.asarray(expected, jnp.float32)
    )
    rows = [gradients[slot, agent] for slot in range(4) for agent in range(3)]
    assert of_agent == pytest.approx(sum(np.sum((row - expected) ** 2) for row in rows) / 12)
    means = [(one[0] + one[1] + one[2]) / 3 for one in gradients]
    assert of_mean == pytest.approx(sum(np.sum((mean - expected) ** 2) for mean in means) / 4)


@pytest.mark.parametrize("common", [0.0, 0.3, 1.0])
def test_the_shared_part_is_the_correlation_that_the_noise_was_made_with(common):
    rng = np.random.default_rng(1)
    shared, alone = rng.normal(size=(4000, 1, 3)), rng.normal(size=(4000, 5, 3))
    noise = np.sqrt(common) * shared + np.sqrt(1 - common) * alone
    sizes = noise_around(jnp.asarray(noise, jnp.float32), jnp.zeros(3))
    assert shared_part(*sizes, num_agents=5) == pytest.approx(common, abs=0.02)


def test_agents_that_cancel_each_other_share_nothing_and_one_alone_has_nobody_to_share_with():
    assert shared_part(of_agent=1.0, of_mean=0.0, num_agents=4) == 0
    assert shared_part(of_agent=1.0, of_mean=1.0, num_agents=1) == 0


def test_the_way_down_counts_to_the_lowest_point_and_never_below_zero():
    places = np.linspace(-3, 1, 9)[:, None]
    assert way_down(2 * places, np.array([4.0])) == pytest.approx(9)  # x² from −3 to 1: 9 to 0
    assert way_down(-2 * places[::-1] + 8, np.array([4.0])) == 0


def test_the_smoothness_of_a_run_is_the_largest_singular_value_of_a_dense_jacobian(
    constants, traces, gradient
):
    jacobian = jax.jit(jax.jacfwd(gradient))
    norms = [
        np.linalg.norm(jacobian(row), ord=2) for row in points_between(traces.start, traces.end)
    ]
    assert constants.smoothness == pytest.approx(max(norms), rel=1e-3)


def test_the_gap_of_a_run_is_the_integral_of_its_gradient_to_the_lowest_point(
    constants, traces, gradient
):
    way = traces.end - traces.start
    shares = np.linspace(0, 1, 65, dtype=np.float32)
    slopes = np.array([gradient(traces.start + share * way) @ way for share in shares])
    falls = -np.cumsum((slopes[1:] + slopes[:-1]) / 2) / 64
    assert falls.max() > 0.01
    assert constants.initial_gap == pytest.approx(falls.max(), rel=0.02)


def test_the_noise_of_a_run_is_that_of_its_own_slots_around_the_sample_set_s_gradient(
    constants, traces, gradient
):
    own = jax.jit(partial(gradients_of, traces.algorithm))
    points = points_between(traces.start, traces.end)
    sizes = [noise_around(own(row, traces.own), gradient(row)) for row in points]
    of_agent, of_mean = np.max(sizes, axis=0)
    assert constants.gradient_noise == pytest.approx(of_agent, rel=1e-3)
    blended = of_agent * (1 + 2 * constants.noise_correlation) / 3
    assert blended == pytest.approx(of_mean, rel=1e-3)


def test_the_gradient_norms_at_both_ends_are_those_that_the_run_wrote_down(run, constants):
    lines = read_lines(run.folder / "metrics.jsonl").records
    assert constants.initial_gradient_norm == pytest.approx(
        lines[0]["expected_gradient_norm"], rel=1e-4
    )
    # An epoch has two slots, and the twelfth slot is the only one of the last that averaged.
    assert lines[-1]["gradient_norms_measured"] == 1
    assert constants.final_gradient_norm == pytest.approx(
        lines[-1]["expected_gradient_norm"], rel=1e-4
    )


def test_the_problem_has_the_constants_and_the_paper_s_prices(constants):
    problem = Problem(**{name: getattr(constants, name) for name in CONSTANTS})
    assert problem.smoothness == constants.smoothness
    assert problem.noise_correlation == constants.noise_correlation
    assert (problem.gradient_noise_slope, problem.upload_cost) == (0, 1)


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"agent": AgentConfig(hidden=(4,))}, "optimiser = adam is not allowed: sgd"),
        ({"ppo": PPOConfig(passes=4)}, "ppo.passes = 4 is not allowed: 1"),
        ({"anneal": True}, "anneal = True is not allowed: False"),
        ({"samples": ""}, "Train with --samples"),
    ],
)
def test_a_run_that_the_theory_does_not_speak_of_is_refused(run, changes, complaint, tmp_path):
    other = begin(replace(run.experiment, **changes), tmp_path / "other")
    with pytest.raises(BadInput, match=complaint):
        estimate_constants(other)


def test_a_run_that_is_not_finished_is_refused(run, tmp_path, monkeypatch):
    monkeypatch.setattr(writer, "CHECKPOINT_SECONDS", 0.0)  # one after every epoch
    other = train(run.experiment, tmp_path / "other")
    for file in (other.folder / "checkpoints").glob("000000012*"):
        file.unlink()
    with pytest.raises(BadInput, match="10 of 12 updates"):
        estimate_constants(other.folder)
