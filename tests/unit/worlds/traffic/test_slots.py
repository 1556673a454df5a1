"""Slots that the exact road plays with the networks in one call: the same slot as step by step."""

import numpy as np
import pytest

from fmarl.errors import BadInput
from fmarl.rollout.play import play_slot, restore, start
from fmarl.rollout.policy import Policy, forward
from fmarl.rollout.policy_check import random_parameters
from fmarl.worlds.sumo import figure_eight
from fmarl.worlds.traffic.world import ExactFigureEight
from fmarl.worlds.world import PlaysNetworks

pytest.importorskip("numba")


def make(**options) -> ExactFigureEight:
    world = figure_eight.make(simulator="exact", **options)
    assert isinstance(world, ExactFigureEight)
    return world


def policy_of(
    world: ExactFigureEight, *, kind: str = "sampled", activation: str = "tanh"
) -> Policy:
    return Policy(kind, random_parameters(world.spec), activation)


@pytest.mark.parametrize("options", [{}, {"preset": "flow"}, {"controlled": False}], ids=str)
def test_the_actions_of_a_slot_lead_step_by_step_to_the_same_bits(options):
    with make(epoch_steps=130, **options) as world, make(epoch_steps=130, **options) as other:
        assert isinstance(world, PlaysNetworks)
        player = start(world, run_seed=4)
        batch = play_slot(player, policy_of(world), 0, 100)
        replayed = restore(other, 4, 0, player.snapshot)
        np.testing.assert_array_equal(replayed.observation, batch.next_observation)
        np.testing.assert_array_equal(batch.observation[1:], batch.successor[:-1])
        assert batch.present.all()
        more = play_slot(player, policy_of(world), 1, 100)  # over the end of the epoch
        again = play_slot(replayed, policy_of(world), 1, 100)
        assert more.digest() == again.digest()
        assert np.flatnonzero(more.over).tolist() == [29]
        assert more.truncated[29].all()


@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_actions_are_those_of_the_numpy_networks_to_six_digits(activation):
    with make() as world:
        policy = policy_of(world, kind="greedy", activation=activation)
        batch = play_slot(start(world, run_seed=0), policy, 0, 60)
        assert policy.parameters is not None
        outputs = forward(policy.parameters, activation)
        expected = np.array([outputs(seen) for seen in batch.observation])
        np.testing.assert_allclose(batch.action, expected, rtol=0, atol=3e-6)


def test_a_slot_with_frames_has_the_same_bits_as_one_without():
    with make() as one, make() as other:
        policy = policy_of(one)
        plain = play_slot(start(one, run_seed=2), policy, 0, 40)
        drawn = play_slot(start(other, run_seed=2), policy, 0, 40, frames=True)
        assert drawn.frames is not None
        assert drawn.frames.shape == (40, 14, 3)
        assert drawn._replace(frames=None).digest() == plain.digest()


def test_a_crash_ends_the_epoch_in_the_middle_of_a_slot():
    with make(learner_speed_mode=0, max_accel=3.0) as world:
        policy = policy_of(world)
        assert policy.parameters is not None
        full = tuple(np.ones_like(biases) for biases in policy.parameters.biases)
        policy = Policy("greedy", policy.parameters._replace(biases=full))
        batch = play_slot(start(world, run_seed=0), policy, 0, 250)
        crash = int(np.flatnonzero(batch.over)[0])
        assert batch.terminated[crash].all()
        assert not batch.reward[crash].any()
        assert batch.reward[crash - 1].all()
        short = play_slot(start(world, run_seed=0), policy, 0, 250, until_over=True)
        assert len(short.reward) == crash + 1


def test_parameters_that_are_no_numbers_are_refused():
    with make() as world:
        policy = policy_of(world)
        assert policy.parameters is not None
        policy.parameters.weights[0][2, 0, 0] = np.nan
        with pytest.raises(BadInput, match="agent 2"):
            play_slot(start(world, run_seed=0), policy, 0, 10)
