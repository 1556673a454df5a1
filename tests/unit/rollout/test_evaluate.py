"""Tests of policies in real processes; this module also makes two odd worlds for them."""

import os
from typing import Any

import numpy as np
import pytest

from fmarl.errors import BadInput
from fmarl.rollout import evaluate as evaluate
from fmarl.rollout.evaluate import Epoch, Evaluator, first_returns, has_crashed, mean_reward
from fmarl.rollout.play import noise_generator
from fmarl.rollout.policy import Policy, bind, clipped
from fmarl.rollout.policy_check import random_parameters
from fmarl.rollout.protocol import WorldMaker
from fmarl.rollout.restarts import RestartPolicy
from fmarl.rollout.seeds import derived_seed, epoch_seed, sequence
from fmarl.worlds.registry import make_world
from python_path import python_path
from unit.rollout.tiny_world import TinyWorld

CARE = RestartPolicy(environment={"PYTHONPATH": python_path()})
ROADS = "fmarl.worlds.registry:make_world"
SPEC = TinyWorld("tiny").spec
POLICY = Policy("sampled", random_parameters(SPEC, (8, 8)))


def slot_generator(run_seed, world, slot):
    return noise_generator(sequence(run_seed, "noise", world), slot)


class Drawn(TinyWorld):
    """With a picture of more and more things."""

    def frame(self) -> Any:
        return np.full((self.time, 3), self.state[0, 0], np.float32)


class Endless(TinyWorld):
    """Whose epochs do not end when they should."""

    def step(self, action):
        return super().step(action)._replace(over=False)


def make_drawn(word, **options):
    return Drawn(word, **options)


def make_endless(word, **options):
    return Endless(word, **options)


def evaluator(maker="tiny_world:make", repetitions=5, run_seed=4, **options):
    made = WorldMaker("tiny", options, f"unit.rollout.{maker}")
    return Evaluator(made, run_seed, repetitions, CARE)


def by_hand(world, run_seed, epoch, piece_steps):
    """An epoch in a plain loop: its rewards of each step, and whether it ended for good."""
    seed, pieces = derived_seed(run_seed, "test"), -(-world.spec.epoch_steps // piece_steps)
    slots = [slot_generator(seed, 0, epoch * pieces + piece) for piece in range(pieces)]
    shape = (piece_steps, 3, 2)
    noise = np.concatenate([slot.standard_normal(shape, np.float32) for slot in slots])
    act, rewards = bind(POLICY, world.spec), []
    observation = world.reset(epoch_seed(seed, 0, epoch))
    while True:
        step = world.step(clipped(act(observation, noise[len(rewards)]), world.spec))
        observation = step.observation
        rewards.append(step.reward[step.present].mean(dtype=np.float64))
        if step.over:
            return rewards, bool(step.terminated.all())


@pytest.mark.parametrize("piece_steps", [7, 250])
def test_an_examination_is_what_a_hand_written_loop_finds(piece_steps, monkeypatch):
    monkeypatch.setattr(evaluate, "PIECE_STEPS", piece_steps)
    with evaluator() as tests:
        found = tests.evaluate(POLICY)

    epochs = [by_hand(TinyWorld("tiny"), 4, epoch, piece_steps) for epoch in range(5)]
    assert found.steps == [len(rewards) for rewards, _ in epochs]
    assert found.crashed == [crashed for _, crashed in epochs]
    assert len(set(found.crashed)) == 2  # else the next line would prove less
    expected = [sum(rewards) / (40 if crashed else len(rewards)) for rewards, crashed in epochs]
    np.testing.assert_allclose(found.rewards, expected, rtol=1e-6)
    assert found.mean == pytest.approx(np.mean(expected), rel=1e-6)
    assert found.frames is None and len(found.returns) == 3


def test_every_examination_plays_the_same_epochs_whatever_was_examined_before():
    with evaluator() as tests:
        first = tests.evaluate(POLICY)
        other = tests.evaluate(Policy("random"))
        assert tests.evaluate(POLICY) == first
    with evaluator(repetitions=3) as resumed:
        shorter = resumed.evaluate(POLICY)
    assert shorter.rewards == first.rewards[:3] and other.rewards != first.rewards
    with evaluator(run_seed=5) as elsewhere:
        assert not set(elsewhere.evaluate(POLICY).rewards) & set(first.rewards)


def test_a_killed_world_changes_no_examination(tmp_path):
    with evaluator("test_evaluate:make_drawn") as calm:
        expected = calm.evaluate(POLICY, frames=True)
    trouble = {"trouble": "abort", "trouble_step": 30, "flag": str(tmp_path / "once")}
    with evaluator("test_evaluate:make_drawn", **trouble) as troubled:
        found = [troubled.evaluate(POLICY, frames=True)]
        [pid] = troubled.pool.pids
        assert pid is not None
        os.kill(pid, 9)
        found.append(troubled.evaluate(POLICY, frames=True))
        assert [event.code for event in troubled.pool.events].count("WORLD_CRASHED") == 2
    for one in found:
        np.testing.assert_array_equal(one.frames, expected.frames)
        assert one._replace(frames=None) == expected._replace(frames=None)


def test_frames_are_those_of_the_first_epoch_through_all_its_pieces(monkeypatch):
    monkeypatch.setattr(evaluate, "PIECE_STEPS", 7)
    with evaluator("test_evaluate:make_drawn") as tests:
        found = tests.evaluate(POLICY, frames=True)
    steps = found.steps[0]
    assert found.frames is not None and found.frames.shape == (steps, steps, 3) and steps > 7
    counts = (~np.isnan(found.frames[:, :, 0])).sum(axis=1)
    np.testing.assert_array_equal(counts, np.arange(1, steps + 1))
    with evaluator() as plain:
        assert plain.evaluate(POLICY, frames=True).frames is None


def epoch_of(rewards, *, ended="", present=None):
    """Agents by columns; `ended` says how the last step ended for all."""
    reward = np.array(rewards, np.float32)
    here = np.ones(reward.shape, bool) if present is None else np.array(present, bool)
    last = (np.arange(len(reward)) == len(reward) - 1)[:, None] & here
    never = np.zeros(reward.shape, bool)
    return Epoch(
        reward,
        here,
        last if ended == "terminated" else never,
        last if ended == "truncated" else never,
    )


def test_the_steps_that_a_crash_takes_away_count_as_zeros():
    fast = epoch_of([[0.5, 0.5], [0.5, 0.5], [0, 0]], ended="terminated")
    slow = epoch_of([[0.2, 0.2]] * 10, ended="truncated")
    assert has_crashed(fast, 10) and not has_crashed(slow, 10)
    assert mean_reward(fast, 10) == pytest.approx(0.1)
    assert mean_reward(slow, 10) == pytest.approx(0.2)


def test_an_epoch_that_is_cut_off_early_or_ends_in_its_last_step_is_not_crashed():
    early = epoch_of([[1.0], [3.0]], ended="truncated")
    late = epoch_of([[1.0], [3.0]], ended="terminated")
    assert not has_crashed(early, 10) and mean_reward(early, 10) == 2
    assert not has_crashed(late, 2) and mean_reward(late, 2) == 2


def test_a_crash_that_no_agent_was_there_to_see_is_a_crash():
    epoch = epoch_of([[1.0], [0.0]], present=[[True], [False]], ended="terminated")
    assert has_crashed(epoch, 5)
    assert mean_reward(epoch, 5) == pytest.approx(1 / 4)  # the step of the crash says nothing


def test_absent_agents_and_empty_steps_count_for_nothing():
    present = [[True, False], [False, False], [True, True]]
    epoch = epoch_of([[4.0, 9.0], [9.0, 9.0], [1.0, 3.0]], present=present, ended="truncated")
    assert mean_reward(epoch, 3) == 3
    nobody = epoch_of([[9.0]], present=[[False]], ended="truncated")
    assert mean_reward(nobody, 1) == 0


def test_only_the_first_episode_of_each_agent_counts_for_its_return():
    columns = [[1.0, 1.0, 9.0, 5.0], [2.0, 2.0, 9.0, 0.0], [4.0, 100.0, 9.0, 7.0]]
    present = [[True, True, False, False], [True, True, False, True], [True, True, False, True]]
    epoch = epoch_of(columns, present=present, ended="truncated")
    epoch.terminated[1, 1] = True
    np.testing.assert_array_equal(first_returns(epoch), [7, 3, np.nan, 7])


def test_copies_of_cartpole_are_marked_by_their_first_episodes():
    maker = WorldMaker("gym:CartPole-v1", {"num_agents": 2, "epoch_steps": 60}, ROADS)
    with Evaluator(maker, 3, repetitions=2) as tests:
        found = tests.evaluate(Policy("constant"))
    lengths = []
    with make_world("gym:CartPole-v1", num_agents=2, epoch_steps=60) as world:
        for epoch in range(2):
            world.reset(epoch_seed(derived_seed(3, "test"), 0, epoch))
            ends = [world.step(np.ones((2, 1), np.float32)).terminated for _ in range(60)]
            lengths.append(np.argmax(ends, axis=0) + 1)  # a reward of 1 per step
    assert found.returns == np.mean(lengths, axis=0).tolist()
    assert found.steps == [60, 60] and found.rewards == [1, 1] and found.crashed == [False, False]


def test_a_crash_on_a_real_road_ends_its_epoch_and_its_frames():
    reckless = WorldMaker("figure-eight", {"learner_speed_mode": 0}, ROADS)
    with Evaluator(reckless, 1, repetitions=2) as tests:
        found = tests.evaluate(Policy("constant"), frames=True)
    assert found.crashed == [True, True] and max(found.steps) < 1500
    assert found.frames is not None and found.frames.shape == (found.steps[0], 14, 3)
    assert np.isfinite(found.frames).all()
    returned = np.mean(found.rewards) * 1500
    np.testing.assert_allclose(found.returns, [returned] * 7)


def test_wrong_use_and_worlds_that_do_not_end_are_refused_in_one_line():
    with pytest.raises(BadInput, match="repetitions = 0"):
        evaluator(repetitions=0)
    with evaluator("test_evaluate:make_endless") as tests:
        with pytest.raises(BadInput, match="tiny going on after 250 steps") as refusal:
            tests.evaluate(POLICY)
        assert "\n" not in str(refusal.value)
        with pytest.raises(BadInput):
            tests.evaluate(Policy("sampled"))
    with pytest.raises(BadInput, match="closed"):
        tests.evaluate(POLICY)
