"""Rollouts with real processes, undisturbed or refused; disturbed ones are in `tests/e2e`."""

import os
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fmarl.child_process import children_named
from fmarl.errors import BadInput
from fmarl.rollout.batch import SlotRequest, batch_of, batch_reply, empty_batch, epoch_start
from fmarl.rollout.play import play_slot, restore, start
from fmarl.rollout.policy import Policy
from fmarl.rollout.policy_check import random_parameters
from fmarl.rollout.pool import WorldPool
from fmarl.rollout.protocol import WorldMaker
from fmarl.rollout.restarts import RestartPolicy, WorldFailed
from fmarl.user_code import UserCodeFailed
from fmarl.wire import Garbled
from fmarl.worlds.registry import make_world
from python_path import python_path
from unit.rollout.tiny_world import TinyWorld

CARE = RestartPolicy(environment={"PYTHONPATH": python_path()})
SPEC = TinyWorld("tiny").spec
POLICY = Policy("sampled", random_parameters(SPEC, (8, 8)))


def maker(**options):
    return WorldMaker("tiny", options, "unit.rollout.tiny_world:make")


def in_this_process(index, slots, steps, policy=POLICY, **options):
    player = start(TinyWorld("tiny", **options), 4, index)
    return [play_slot(player, policy, slot, steps).digest() for slot in range(slots)]


def test_two_worlds_at_once_give_what_one_after_another_gives():
    with WorldPool([maker(), maker(epoch_steps=17)], run_seed=4, restarts=CARE) as rollout:
        slots = [[batch.digest() for batch in rollout.play(POLICY, 30)] for _ in range(5)]
        assert rollout.events == []
    first, second = zip(*slots, strict=True)
    assert list(first) == in_this_process(0, 5, 30)
    assert list(second) == in_this_process(1, 5, 30, epoch_steps=17)


def test_each_world_may_have_its_own_policy_and_its_own_shapes():
    discrete = TinyWorld("tiny", is_discrete=True, num_actions=3, num_agents=5)
    other = Policy("sampled", random_parameters(discrete.spec, (4,)), "relu")
    options = {"is_discrete": True, "num_actions": 3, "num_agents": 5}
    with WorldPool([maker(), maker(**options)], run_seed=4, restarts=CARE) as rollout:
        assert rollout.specs == [SPEC, discrete.spec]
        digests = [batch.digest() for batch in rollout.play([POLICY, other], 30)]
    assert digests[0] == in_this_process(0, 1, 30)[0]
    assert digests[1] == in_this_process(1, 1, 30, other, **options)[0]


def test_a_resumed_rollout_goes_on_as_if_it_had_never_stopped():
    makers = [maker(), maker()]
    with WorldPool(makers, run_seed=4, restarts=CARE) as rollout:
        for _ in range(3):
            rollout.play(POLICY, 30)
        slot, snapshots = rollout.slot, rollout.snapshots
        expected = [batch.digest() for batch in rollout.play(POLICY, 30)]
    with WorldPool(makers, run_seed=4, restarts=CARE) as resumed:
        resumed.restore(snapshots, slot)
        assert [batch.digest() for batch in resumed.play(POLICY, 30)] == expected
        resumed.restore(snapshots, slot)  # and back again, in the same processes
        assert [batch.digest() for batch in resumed.play(POLICY, 30)] == expected
        resumed.restore([epoch_start(SPEC, 5)] * 2, 0)
        assert [batch.epoch for batch in resumed.play(POLICY, 5)] == [5, 5]


def test_worlds_played_until_over_give_one_epoch_after_another_even_when_killed_between():
    world, expected = TinyWorld("tiny"), []
    for epoch in range(4):
        player = restore(world, 4, 0, epoch_start(SPEC, epoch))
        expected.append(play_slot(player, POLICY, epoch, 50, until_over=True))
    with WorldPool([maker(), maker(epoch_steps=17)], run_seed=4, restarts=CARE) as rollout:
        found = []
        for epoch in range(4):
            if epoch == 2:
                pid = rollout.pids[0]
                assert pid is not None
                os.kill(pid, 9)
            found.append(rollout.play(POLICY, 50, until_over=True))
        assert [event.code for event in rollout.events] == ["WORLD_CRASHED", "WORLD_RESTORED"]
    assert [batches[0].digest() for batches in found] == [batch.digest() for batch in expected]
    assert len({len(batch.over) for batch in expected}) > 1  # they stop where their epochs do
    for epoch, batches in enumerate(found):
        for batch in batches:
            assert (batch.epoch, batch.step) == (epoch, 0)
            assert batch.over.sum() == 1 and batch.over[-1]


def test_frames_of_a_road_come_back_bit_for_bit_even_from_a_killed_worker():
    options = {"epoch_steps": 100, "warm_up_steps": 150}
    policy = Policy("random")
    with make_world("merge", **options) as world:
        player = start(world, 4)
        expected = [play_slot(player, policy, slot, 60, frames=True) for slot in range(2)]
    road = WorldMaker("merge", options, "fmarl.worlds.registry:make_world")
    with WorldPool([road], run_seed=4) as rollout:
        found = rollout.play(policy, 60, frames=True)
        pid = rollout.pids[0]
        assert pid is not None
        os.kill(pid, 9)
        found += rollout.play(policy, 60, frames=True)
        plain = rollout.play(policy, 60)[0]
    assert [batch.digest() for batch in found] == [batch.digest() for batch in expected]
    for batch in expected:
        assert batch.frames is not None and np.isnan(batch.frames).any()  # vehicles come and go
    assert plain.frames is None


def answers_to_a_slot_of_five_steps():
    whole, short = empty_batch(SPEC, 5), empty_batch(SPEC, 3)
    stopped = short._replace(over=np.array([False, False, True]))
    drawn = np.zeros((5, 2, 3), np.float32)
    return {
        "whole": (whole, {"": True, "until_over": True, "frames": False}),
        "short": (short, {"": False, "until_over": False}),
        "stopped": (stopped, {"": False, "until_over": True}),
        "empty": (empty_batch(SPEC, 0), {"": False, "until_over": False}),
        "long": (empty_batch(SPEC, 6), {"": False, "until_over": False}),
        "drawn": (whole._replace(frames=drawn), {"": False, "frames": True}),
        "nothing drawn": (whole._replace(frames=drawn[:, :0]), {"frames": True}),
        "half drawn": (whole._replace(frames=drawn[:4]), {"frames": False}),
        "drawn flat": (whole._replace(frames=drawn[:, 0]), {"frames": False}),
        "drawn in truth values": (whole._replace(frames=drawn > 0), {"frames": False}),
        "drawn in a row": (whole._replace(frames=drawn.ravel()), {"frames": False}),
        "without ends": (whole._replace(over=drawn), {"": False, "until_over": False}),
    }


@pytest.mark.parametrize("name", answers_to_a_slot_of_five_steps())
def test_an_answer_is_taken_only_if_it_is_what_was_asked_for(name):
    batch, verdicts = answers_to_a_slot_of_five_steps()[name]
    for wish, fits in verdicts.items():
        asked = SlotRequest(POLICY, 0, 5, **({wish: True} if wish else {}))
        answer = (batch_reply(batch), SPEC, asked, epoch_start(SPEC))
        if fits:
            assert batch_of(*answer).digest() == batch.digest()
        else:
            with pytest.raises(Garbled):
                batch_of(*answer)


def test_a_worker_never_loads_jax_or_what_draws_and_reports():
    with WorldPool([maker()], run_seed=4, restarts=CARE) as rollout:
        rollout.play(POLICY, 5)
        libraries = Path(f"/proc/{rollout.pids[0]}/maps").read_text()
    assert "/numpy/" in libraries
    assert not any(f"/{name}/" in libraries for name in ("jaxlib", "matplotlib", "scipy"))


def test_a_refusing_world_refuses_in_one_line_and_is_not_restarted(tmp_path):
    flag = str(tmp_path / "once")
    troubled = maker(trouble="refuse", trouble_step=33, flag=flag)
    with WorldPool([maker(), troubled], run_seed=4, restarts=CARE) as rollout:
        rollout.play(POLICY, 30)
        with pytest.raises(BadInput) as refusal:
            rollout.play(POLICY, 30)
        assert str(refusal.value) == "throttle = 2 is not allowed: -1 <= throttle <= 1. Ease off."
        assert rollout.events == [] and rollout.slot == 1
        batches = rollout.play(POLICY, 30)  # all or nothing: both worlds play slot 1 again
    assert [batch.digest() for batch in batches] == [in_this_process(i, 2, 30)[1] for i in (0, 1)]


def test_a_world_that_can_not_be_made_says_why():
    missing = WorldMaker("tiny", {}, "unit.rollout.tiny_world:make_missing")
    with pytest.raises(BadInput, match=r"^SUMO is not allowed: an installed libsumo"):
        WorldPool([maker(), missing], run_seed=4, restarts=CARE)


def test_a_world_that_always_dies_ends_in_one_clear_error():
    restarts = replace(CARE, max_restarts=1)
    with WorldPool(
        [maker(trouble="abort", trouble_step=3)], run_seed=4, restarts=restarts
    ) as rollout:
        with pytest.raises(WorldFailed) as failure:
            rollout.play(POLICY, 30)
        codes = [event.code for event in rollout.events]
    assert codes == ["WORLD_CRASHED", "WORLD_RESTORED", "WORLD_CRASHED"]
    assert str(failure.value) == (
        "world 0 (tiny) was lost 2 times in a row in slot 0; the last time it was killed by "
        "SIGABRT: Fatal Python error: Aborted."
    )


@pytest.mark.parametrize(
    ("trouble", "line"),
    [
        ("bug", "ZeroDivisionError: integer division or modulo by zero ("),
        ("exit", "SystemExit: enough ("),
        ("sleep", "Hung: no answer in 1 s ("),
    ],
)
def test_a_bug_of_the_world_is_told_with_its_own_traceback_when_it_comes_again(trouble, line):
    restarts = replace(CARE, max_restarts=3, timeout_seconds=1.0)
    troubled = maker(trouble=trouble, trouble_step=3)
    with WorldPool([maker(), troubled], run_seed=4, restarts=restarts) as rollout:
        with pytest.raises(UserCodeFailed) as failed:
            rollout.play(POLICY, 30)
        codes = [event.code for event in rollout.events]
    assert len(codes) == 3 and codes[1] == "WORLD_RESTORED"
    failure = failed.value.failure
    assert failure.line.startswith(line) and "tiny_world.py:" in failure.place
    assert "in _maybe_trouble" in failure.traceback and "src/fmarl" not in failure.traceback
    assert failed.value.report.startswith("world tiny in slot 0 failed; this is its own error:\n")


def test_a_bug_in_a_world_that_does_not_repeat_itself_is_still_told_as_that():
    troubled = maker(trouble="bug", trouble_step=6, memory="own")
    with WorldPool([troubled], run_seed=4, restarts=CARE) as rollout:
        rollout.play(POLICY, 3)
        with pytest.raises(UserCodeFailed, match="ZeroDivisionError"):
            rollout.play(POLICY, 30)


def test_a_world_that_need_not_repeat_itself_begins_its_epoch_again():
    lax = maker(memory="own")._replace(repeats=False)
    with WorldPool([lax], run_seed=4, restarts=CARE) as rollout:
        rollout.play(POLICY, 3)
        [pid] = rollout.pids
        assert pid is not None
        os.kill(pid, 9)
        [batch] = rollout.play(POLICY, 3)
        assert (batch.epoch, batch.step) == (0, 0)
        assert len(rollout.snapshots[0].actions) == 3


def test_a_worker_can_be_told_apart_by_the_name_of_its_run():
    with children_named("runs/brisk-otter"):
        pool = WorldPool([maker(), maker()], run_seed=4, restarts=CARE)
    with pool:
        words = [Path(f"/proc/{pid}/cmdline").read_text().split("\0") for pid in pool.pids]
    assert [one[-2] for one in words] == ["runs/brisk-otter/world-0", "runs/brisk-otter/world-1"]


def test_a_world_that_is_not_deterministic_is_found_out_at_its_restoration():
    with WorldPool([maker(memory="own")], run_seed=4, restarts=CARE) as rollout:
        rollout.play(POLICY, 3)
        pid = rollout.pids[0]
        assert pid is not None
        os.kill(pid, 9)
        with pytest.raises(BadInput, match="tiny did not repeat itself"):
            rollout.play(POLICY, 3)


def test_wrong_use_is_refused_before_a_worker_hears_of_it():
    rollout = WorldPool([maker()], run_seed=4, restarts=CARE)
    wrong = epoch_start(TinyWorld("tiny", num_agents=9).spec)
    with rollout:
        for use in (
            lambda: rollout.play(POLICY, 0),
            lambda: rollout.play([POLICY, POLICY], 3),
            lambda: rollout.play(Policy("sampled"), 3),
            lambda: rollout.restore([], 0),
            lambda: rollout.restore([wrong], 0),
        ):
            with pytest.raises(BadInput):
                use()
        assert rollout.play(POLICY, 3)[0].digest() == in_this_process(0, 1, 3)[0]
    rollout.close()
    with pytest.raises(BadInput, match="closed"):
        rollout.play(POLICY, 3)


def test_starting_and_stopping_leaves_no_descriptor_no_directory_and_no_process(
    tmp_path, monkeypatch
):
    def held():
        return sorted(os.listdir("/proc/self/fd"))

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with WorldPool([maker()], run_seed=4, restarts=CARE):
        before = held()
        assert len(os.listdir(tmp_path)) == 1
    after_one = held()
    pids = []
    for _ in range(6):
        with WorldPool([maker()], run_seed=4, restarts=CARE) as rollout:
            rollout.play(POLICY, 5)
            pids += rollout.pids
        rollout.close()
    assert os.listdir(tmp_path) == []
    assert held() == after_one and len(after_one) < len(before)
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)


def test_arrays_of_a_batch_can_be_written_and_are_not_shared():
    with WorldPool([maker()], run_seed=4, restarts=CARE) as rollout:
        first, second = (rollout.play(POLICY, 10)[0] for _ in range(2))
        kept = second.digest()
        first.reward[:] = 7
        assert np.all(first.reward == 7) and second.digest() == kept
