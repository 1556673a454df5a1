"""The compiled part of a run: what it measures, what it sends, and that methods share it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

from fmarl.algorithms.algorithm import Transitions
from fmarl.engine.compiled import expected_gradient_norm, make_program
from fmarl.engine.engine import transitions_of
from fmarl.engine.experiment import Experiment
from fmarl.federation.make_method import make_method
from fmarl.rollout.batch import empty_batch
from fmarl.worlds.world import WorldSpec
from unit.engine.small_experiments import toy

SPEC = WorldSpec(name="any", num_agents=3, observation_size=2, num_actions=1, epoch_steps=40)


def _transitions(slots: int, agents: int, steps: int = 6) -> Transitions:
    """A made-up sample set: slots, time, agents."""
    rng = np.random.default_rng(0)
    shape = (slots, steps, agents)
    rows = lambda *more: jnp.asarray(rng.normal(size=(*shape, *more)), jnp.float32)  # noqa: E731
    nothing = jnp.zeros(shape, bool)
    return Transitions(rows(2), rows(2), rows(1), rows(), ~nothing, nothing, nothing)


def test_the_expected_gradient_norm_is_that_of_the_mean_gradient_over_all_samples():
    """By hand: every slot and every agent's share at the mean parameters, averaged, squared."""
    algorithm = toy().make_algorithm(SPEC)
    program = make_program(algorithm, 3)
    state = program.init(make_method(3), jax.random.key(1))
    apart = jnp.asarray([[0.0], [0.3], [-0.1]])
    rows = state.parameters + apart
    samples = _transitions(slots=2, agents=3)

    parameters, memory = algorithm.init(jax.random.key(1))
    _, restore = ravel_pytree(parameters)
    mean = restore(rows.mean(axis=0))

    def gradient(slot: int, agent: int) -> np.ndarray:
        own = jax.tree.map(lambda array: array[slot, :, agent], samples)
        found = algorithm.gradient(mean, memory, own, jax.random.key(0))
        return np.asarray(ravel_pytree(found)[0])

    gradients = [gradient(slot, agent) for slot in range(2) for agent in range(3)]
    by_hand = float(np.sum(np.square(np.mean(gradients, axis=0))))

    moved = type(state)(rows, state.memory, state.update_count, state.mail)
    found = expected_gradient_norm(algorithm, restore, moved, samples, jax.random.key(0))
    assert float(found) == pytest.approx(by_hand, rel=1e-4)
    assert float(program.gradient_norm(moved, samples, jax.random.key(0))) == pytest.approx(
        by_hand, rel=1e-4
    )


def test_all_agents_start_from_the_same_parameters():
    program = make_program(toy().make_algorithm(SPEC), 3)
    rows = np.asarray(program.init(make_method(3), jax.random.key(1)).parameters)
    assert (rows == rows[0]).all()


@pytest.mark.parametrize(("algorithm", "shared"), [("ppo", 0), ("trpo", 0), ("tac", 33)])
def test_an_upload_holds_what_an_average_needs_and_an_exchange_one_gradient(algorithm, shared):
    """With one hidden layer of 8 and two inputs, TAC's target network has 2·8+8+8+1 numbers."""
    small = Experiment(algorithm=algorithm, agent=toy().agent)
    program = make_program(small.make_algorithm(SPEC), 3)
    state = program.init(make_method(3), jax.random.key(0))
    size = state.parameters.shape[1]
    assert program.sizes.exchange == 4 * size
    assert program.sizes.upload == 4 * (size + shared)


def test_runs_of_equal_settings_share_what_is_compiled():
    one, other = toy(seed=1), toy(seed=2)
    assert one.make_algorithm(SPEC) is other.make_algorithm(SPEC)
    assert make_program(one.make_algorithm(SPEC), 3) is make_program(other.make_algorithm(SPEC), 3)


def test_slots_of_several_worlds_become_agents_side_by_side():
    spec = WorldSpec(name="any", num_agents=2, observation_size=1, num_actions=1, epoch_steps=4)
    one, other = empty_batch(spec, 3), empty_batch(spec, 3)
    one.truncated[0, 1] = other.terminated[1, 0] = True
    other.over[2] = True
    other.reward[:] = 5
    together = transitions_of([one, other])
    assert isinstance(together, Transitions)
    assert together.reward.tolist() == [[0, 0, 5, 5]] * 3
    assert together.terminated.tolist() == [[False] * 4, [False, False, True, False], [False] * 4]
    ended = [[False, True, False, False], [False, False, True, False], [False, False, True, True]]
    assert together.ended.tolist() == ended
