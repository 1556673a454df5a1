from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fmarl.errors import BadInput
from fmarl.rollout.batch import Batch, Snapshot, empty_batch, epoch_start
from fmarl.rollout.play import noise_generator, play_slot, restore, start
from fmarl.rollout.policy import POLICIES, Policy
from fmarl.rollout.policy_check import random_parameters
from fmarl.rollout.seeds import epoch_seed, sequence
from unit.rollout.tiny_world import TinyWorld


def slot_generator(run_seed, world, slot):
    return noise_generator(sequence(run_seed, "noise", world), slot)


def policy_for(world, kind="sampled"):
    heads = max(POLICIES[kind].heads, 1)
    return Policy(kind, random_parameters(world.spec, (8, 8), seed=2, heads=heads))


def by_hand(world, policy, run_seed, index, steps):
    """Slot 0, written without any of the code under test but its seeds and the network."""
    noise = slot_generator(run_seed, index, 0).standard_normal((steps, 3, 2), np.float32)
    parameters, epoch, rows = policy.parameters, 0, []
    observation = world.reset(epoch_seed(run_seed, index, 0))
    for time in range(steps):
        values = observation
        for layer in range(3):
            values = np.vecmat(values, parameters.weights[layer]) + parameters.biases[layer]
            values = np.tanh(values) if layer < 2 else values
        action = values + np.exp(parameters.log_std) * noise[time]
        step = world.step(np.clip(action, -1, 1))
        rows.append((observation, step.successor, action, *step[2:]))
        observation = step.observation
        if step.over:
            epoch += 1
            observation = world.reset(epoch_seed(run_seed, index, epoch))
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    arrays = dict(zip(Batch._fields, [*columns, observation], strict=False))
    return Batch(**arrays, epoch=0, step=0)


def test_a_slot_is_what_a_hand_written_loop_plays():
    world = TinyWorld("tiny")
    policy = policy_for(world)

    batch = play_slot(start(world, run_seed=5, index=1), policy, slot=0, steps=200)

    assert batch.over.sum() >= 3 and batch.terminated.any() and batch.truncated.any()
    assert not batch.present.all() and (np.abs(batch.action) > 1).any()
    expected = by_hand(TinyWorld("tiny"), policy, 5, 1, 200)
    for name, array in batch.arrays.items():
        np.testing.assert_array_equal(array, expected.arrays[name], err_msg=name)
    assert batch.digest() == expected.digest()


@pytest.mark.parametrize("is_discrete", [False, True])
def test_slots_in_a_row_are_one_long_play(is_discrete):
    """A greedy policy, for noise belongs to slots."""
    world = TinyWorld("tiny", is_discrete=is_discrete)
    policy = policy_for(world, "greedy")
    long = play_slot(start(world, 5), policy, 0, 120)
    player = start(TinyWorld("tiny", is_discrete=is_discrete), 5)
    parts = [play_slot(player, policy, slot, steps) for slot, steps in enumerate((50, 1, 40, 29))]
    for name in set(long.arrays) - {"next_observation"}:
        together = np.concatenate([part.arrays[name] for part in parts])
        np.testing.assert_array_equal(together, long.arrays[name], err_msg=name)
    np.testing.assert_array_equal(parts[-1].next_observation, long.next_observation)
    ends = np.flatnonzero(long.over)
    assert [part.epoch for part in parts] == [(ends < begun).sum() for begun in (0, 50, 51, 91)]


@pytest.mark.parametrize(
    ("kind", "is_discrete"),
    [
        (kind, is_discrete)
        for kind, entry in POLICIES.items()
        for is_discrete in (False, True)
        if entry.heads < 2 or not is_discrete  # two heads are for numbers only
    ],
)
def test_a_slot_depends_on_nothing_but_seeds_policy_and_start(kind, is_discrete):
    def play(run_seed, index, slot):
        world = TinyWorld("tiny", is_discrete=is_discrete)
        return play_slot(start(world, run_seed, index), policy_for(world, kind), slot, 60).digest()

    assert play(1, 0, 0) == play(1, 0, 0)
    assert len({play(1, 0, 0), play(2, 0, 0), play(1, 1, 0)}) == 3
    assert (play(1, 0, 0) != play(1, 0, 1)) == (kind in ("sampled", "squashed", "random"))


@given(before=st.integers(0, 130), after=st.integers(1, 60), is_discrete=st.booleans())
@settings(max_examples=60)
def test_a_world_restored_at_any_step_goes_on_bit_for_bit(before, after, is_discrete):
    world, other = (TinyWorld("tiny", is_discrete=is_discrete) for _ in range(2))
    policy, player = policy_for(world), start(world, 9)
    if before:
        play_slot(player, policy, 0, before)
    snapshot = Snapshot(*player.snapshot)  # what a checkpoint would hold

    restored = restore(other, 9, 0, snapshot)

    assert restored.snapshot.digest == player.snapshot.digest
    first, second = (play_slot(one, policy, 1, after) for one in (player, restored))
    assert first.digest() == second.digest()


def test_a_world_that_does_not_repeat_itself_is_found_out():
    world = TinyWorld("tiny")
    player = start(world, 9)
    play_slot(player, policy_for(world), 0, 10)
    wrong = player.snapshot._replace(digest="0" * 64)
    with pytest.raises(BadInput, match="tiny did not repeat itself: epoch 0 differs after 10"):
        restore(TinyWorld("tiny"), 9, 0, wrong)
    with pytest.raises(BadInput, match="did not repeat itself"):
        restore(TinyWorld("tiny", epoch_steps=5), 9, 0, player.snapshot)


def test_a_world_may_reuse_its_arrays():
    class Reusing(TinyWorld):
        def reset(self, seed):
            self.room = super().reset(seed)
            return self.room

        def step(self, action):
            step = super().step(action)
            self.room[:] = step.observation
            return step._replace(observation=self.room)

    digests = []
    for kind in (TinyWorld, Reusing):
        player = start(kind("tiny"), 9)
        policy = policy_for(player.world)
        digests.append([play_slot(player, policy, slot, 30).digest() for slot in range(4)])
    assert digests[0] == digests[1]


class Drawn(TinyWorld):
    """A world with a picture of one to four things, in an array that it uses again."""

    room = np.zeros((4, 3), np.float32)

    def frame(self) -> Any:
        self.room[:, :] = self.state[0, :3]
        return self.room[: 1 + self.time % 4]


def test_frames_show_each_step_before_any_reset_and_nothing_where_there_was_less():
    world = Drawn("tiny")
    player = start(world, run_seed=5)

    batch = play_slot(player, policy_for(world), slot=0, steps=100, frames=True)

    assert batch.frames is not None and batch.frames.shape == (100, 4, 3) and batch.over.any()
    following, begun = [*batch.observation[1:], batch.next_observation], 0
    for time, frame in enumerate(batch.frames):
        count = 1 + (time + 1 - begun) % 4
        shown = (batch.successor[time] if batch.over[time] else following[time])[0, :3]
        np.testing.assert_array_equal(frame[:count], [shown] * count)
        assert np.isnan(frame[count:]).all()
        begun = time + 1 if batch.over[time] else begun


@pytest.mark.parametrize("until_over", [False, True])
def test_asking_for_frames_changes_nothing_else(until_over):
    def play(kind, frames):
        player = start(kind("tiny"), 5)
        policy = policy_for(player.world)
        return play_slot(player, policy, 0, 100, until_over=until_over, frames=frames)

    plain, drawn, bare = play(Drawn, False), play(Drawn, True), play(TinyWorld, True)
    assert plain.frames is None and "frames" not in plain.arrays
    assert drawn._replace(frames=None).digest() == plain.digest() != drawn.digest()
    assert bare.frames is not None and bare.frames.shape == (len(bare.over), 0, 3)


def test_a_slot_until_over_is_the_begin_of_an_ordinary_one():
    world = TinyWorld("tiny")
    policy = policy_for(world)
    whole = play_slot(start(world, 5), policy, 0, 100)
    player = start(world, 5)
    batch = play_slot(player, policy, 0, 100, until_over=True)
    steps = int(np.flatnonzero(whole.over)[0]) + 1

    assert len(batch.over) == steps < 100
    for name in set(batch.arrays) - {"next_observation"}:
        np.testing.assert_array_equal(batch.arrays[name], whole.arrays[name][:steps], err_msg=name)
    assert (player.snapshot.epoch, len(player.snapshot.actions), player.snapshot.digest) == (
        1,
        0,
        "",
    )
    following = restore(world, 5, 0, player.snapshot)
    np.testing.assert_array_equal(following.observation, whole.observation[steps])


def test_a_slot_until_over_that_does_not_get_there_is_an_ordinary_one():
    digests = []
    for until_over in (False, True):
        player = start(TinyWorld("tiny"), 5)
        policy = policy_for(player.world)
        parts = [play_slot(player, policy, slot, 2, until_over=until_over) for slot in range(2)]
        assert not any(part.over.any() for part in parts)
        digests.append([part.digest() for part in parts] + [player.snapshot.digest])
    assert digests[0] == digests[1]


def test_mean_reward_counts_only_those_who_were_there():
    batch = empty_batch(TinyWorld("tiny").spec, 2)
    assert batch.mean_reward == 0
    batch.reward[:] = [[1, 2, 100], [3, 100, 100]]
    batch.present[:] = [[True, True, False], [True, False, False]]
    assert batch.mean_reward == 2


def test_a_digest_feels_every_bit():
    world = TinyWorld("tiny")
    batch = play_slot(start(world, 9), policy_for(world), 0, 20)
    digests = {batch.digest(), batch._replace(epoch=1).digest(), batch._replace(step=1).digest()}
    for name, array in batch.arrays.items():
        changed = array.copy()
        changed.view(np.uint8).ravel()[-1] ^= 1
        digests.add(batch._replace(**{name: changed}).digest())
    assert len(digests) == 3 + len(batch.arrays)


def test_an_epochs_start_is_a_snapshot_without_actions():
    world = TinyWorld("tiny")
    at_three = restore(world, 9, 0, epoch_start(world.spec, 3))
    expected = TinyWorld("tiny").reset(epoch_seed(9, 0, 3))
    np.testing.assert_array_equal(at_three.observation, expected)
