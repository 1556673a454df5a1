"""Whatever is done to workers, the batches are those of an undisturbed run, bit for bit."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import pytest

from fmarl.rollout.play import play_slot, start
from fmarl.rollout.policy import Policy
from fmarl.rollout.policy_check import random_parameters
from fmarl.rollout.pool import WorldPool
from fmarl.rollout.protocol import WorldMaker
from fmarl.rollout.restarts import RestartPolicy
from python_path import python_path
from unit.rollout.tiny_world import TinyWorld

POLICY = Policy("sampled", random_parameters(TinyWorld("tiny").spec, (8, 8)))
STEPS = 30


def restarts(**changes):
    return RestartPolicy(environment={"PYTHONPATH": python_path()}, **changes)


def maker(**options):
    return WorldMaker("tiny", options, "unit.rollout.tiny_world:make")


def undisturbed(slots, index=0):
    player = start(TinyWorld("tiny"), 4, index)
    return [play_slot(player, POLICY, slot, STEPS).digest() for slot in range(slots)]


def codes(rollout):
    return [event.code for event in rollout.events]


def wait_until(holds, seconds=30.0):
    """Fail if it never comes true."""
    begun = time.monotonic()
    while not holds():
        assert time.monotonic() - begun < seconds, "waited in vain"
        time.sleep(0.01)


def test_twenty_kills_at_random_moments_change_nothing():
    """Two worlds, so that one is always lost while the other plays on."""
    moments = np.random.default_rng(11).uniform(0, 0.07, 20)
    makers = [maker(spin_seconds=0.002), maker(spin_seconds=0.001)]
    with WorldPool(makers, run_seed=4, restarts=restarts()) as rollout:
        digests = []
        for slot, moment in enumerate(moments):
            victim = rollout.pids[slot % 2]
            killer = threading.Timer(moment, os.kill, (victim, signal.SIGKILL))
            killer.start()
            digests.append([batch.digest() for batch in rollout.play(POLICY, STEPS)])
            killer.join()
        digests.append([batch.digest() for batch in rollout.play(POLICY, STEPS)])
        found = codes(rollout)
    assert digests == [list(pair) for pair in zip(undisturbed(21), undisturbed(21, 1), strict=True)]
    assert found.count("WORLD_CRASHED") == found.count("WORLD_RESTORED") == 20


@pytest.mark.parametrize(
    ("trouble", "word"),
    [
        ("abort", "was killed by SIGABRT: Fatal Python error: Aborted"),
        ("segfault", "was killed by SIGSEGV: Fatal Python error: Segmentation fault"),
        ("garbage", "answered garbage: bytes that begin with b'HTTP"),
        ("oversized", "answered garbage: bytes that begin with b'FMW1"),
        ("close pipe", "was killed by SIGKILL"),
        ("bug", "failed: ZeroDivisionError: integer division or modulo by zero ("),
    ],
)
def test_a_world_that_breaks_once_is_restored_and_changes_nothing(trouble, word, tmp_path):
    once = maker(trouble=trouble, trouble_step=45, flag=str(tmp_path / "once"))
    with WorldPool([once], run_seed=4, restarts=restarts()) as rollout:
        digests = [rollout.play(POLICY, STEPS)[0].digest() for _ in range(3)]
        crashed, restored = rollout.events
    assert digests == undisturbed(3)
    assert crashed[:3] == ("WORLD_CRASHED", 0, 1) and crashed.detail.startswith(word)
    assert restored[:3] == ("WORLD_RESTORED", 0, 1) and "steps replayed" in restored.detail


def test_a_stopped_process_counts_as_hung_and_changes_nothing():
    with WorldPool(
        [maker(), maker()], run_seed=4, restarts=restarts(timeout_seconds=3.0)
    ) as rollout:
        digests = [[batch.digest() for batch in rollout.play(POLICY, STEPS)]]
        pid = rollout.pids[0]
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)
        digests += [[batch.digest() for batch in rollout.play(POLICY, STEPS)] for _ in range(2)]
        assert codes(rollout) == ["WORLD_HUNG", "WORLD_RESTORED"]
        assert not Path(f"/proc/{pid}").exists()
    assert digests == [list(pair) for pair in zip(undisturbed(3), undisturbed(3, 1), strict=True)]


def test_a_world_that_sleeps_in_a_step_is_woken_by_a_restart(tmp_path):
    sleepy = maker(trouble="sleep", trouble_step=45, flag=str(tmp_path / "once"))
    with WorldPool([sleepy], run_seed=4, restarts=restarts(timeout_seconds=3.0)) as rollout:
        digests = [rollout.play(POLICY, STEPS)[0].digest() for _ in range(3)]
        assert codes(rollout) == ["WORLD_HUNG", "WORLD_RESTORED"]
    assert digests == undisturbed(3)


def test_a_world_killed_again_while_it_is_being_restored_still_comes_back():
    """A killer that strikes every 0.15 s: in starts, in replays and in slots."""
    done = threading.Event()
    with WorldPool(
        [maker(spin_seconds=0.001)], run_seed=4, restarts=restarts(max_restarts=20)
    ) as rollout:

        def strike():
            for _ in range(8):
                pid = rollout.pids[0]
                if pid is not None:
                    with suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                time.sleep(0.15)
            done.set()

        killer = threading.Thread(target=strike)
        digests = [rollout.play(POLICY, STEPS)[0].digest()]
        killer.start()
        while not done.is_set() or len(digests) < 4:
            digests.append(rollout.play(POLICY, STEPS)[0].digest())
        killer.join()
        assert codes(rollout).count("WORLD_CRASHED") >= 3
    assert digests == undisturbed(len(digests))


def test_what_a_killed_worker_had_started_is_ended_too(monkeypatch, tmp_path):
    monkeypatch.setenv("FMARL_TEST_MARK", str(tmp_path))
    with WorldPool([maker(helper=True)], run_seed=4, restarts=restarts()) as rollout:
        wait_until(lambda: len(processes_with(str(tmp_path))) == 2)
        [worker], first = rollout.pids, set(processes_with(str(tmp_path)))
        assert worker is not None and worker in first
        os.kill(worker, signal.SIGKILL)
        assert rollout.play(POLICY, STEPS)[0].digest() == undisturbed(1)[0]
        wait_until(lambda: len(processes_with(str(tmp_path))) == 2)
        assert not first & set(processes_with(str(tmp_path)))
    assert processes_with(str(tmp_path)) == []


TIED_TO_PARENT = textwrap.dedent(
    """
    import fcntl, sys, time
    if sys.argv[2] == "thread":
        del fcntl.F_SETSIG
    from fmarl.child_process import die_with_parent
    die_with_parent(int(sys.argv[1]))
    print("ready", flush=True)
    time.sleep(60)
    """
)


@pytest.mark.parametrize("means", ["kernel", "thread"])
def test_a_worker_dies_with_its_lifeline_wherever_it_runs(means):
    """The thread is for systems whose kernel does not do it."""
    lifeline, ours = os.pipe()
    child = subprocess.Popen(
        [sys.executable, "-c", TIED_TO_PARENT, str(lifeline), means],
        stdout=subprocess.PIPE,
        pass_fds=(lifeline,),
        start_new_session=True,
    )
    os.close(lifeline)
    with child:
        assert child.stdout is not None and child.stdout.readline() == b"ready\n"
        os.close(ours)
        assert child.wait(timeout=30) == -signal.SIGKILL


PARENT = textwrap.dedent(
    """
    import os, signal, sys
    from fmarl.rollout.policy import Policy
    from fmarl.rollout.restarts import RestartPolicy
    from fmarl.rollout.protocol import WorldMaker
    from fmarl.rollout.pool import WorldPool

    signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs inherit it ignored
    spin = float(sys.argv[1])
    options = {"spin_seconds": spin, "helper": True}
    makers = [WorldMaker("tiny", options, "unit.rollout.tiny_world:make")] * 2
    with WorldPool(makers, run_seed=4) as rollout:
        print(*rollout.pids, flush=True)
        while True:
            rollout.play(Policy("random"), 50)
            if spin == 0:
                input()
    """
)


@contextmanager
def run_of_two_workers(spin, mark):
    """Yield a run in another process, and its workers; it is ended whatever the test finds."""
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, str(spin)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": python_path(), "TMPDIR": mark, "FMARL_TEST_MARK": mark},
        start_new_session=True,
        text=True,
    ) as run:
        try:
            assert run.stdout is not None
            yield run, [int(word) for word in run.stdout.readline().split()]
        finally:
            run.kill()


def processes_with(mark):
    """All living processes that inherited the mark, wherever they are now attached."""
    wanted, found = f"FMARL_TEST_MARK={mark}".encode(), []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if wanted in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
        except OSError:
            continue  # it ended while we looked, or belongs to another user
    return found


@pytest.mark.parametrize("spin", [0, 0.01, 5], ids=["idle", "in a slot", "in a long step"])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_no_worker_and_nothing_it_started_outlives_its_run(number, spin, tmp_path):
    mark = str(tmp_path)
    with run_of_two_workers(spin, mark) as (run, pids):
        # The run, two workers, a helper of each; a process just begun shows its mark a bit later.
        wait_until(lambda: len(processes_with(mark)) == 5)
        assert len(pids) == 2 and set(pids) < set(processes_with(mark))
        if number == signal.SIGKILL:
            os.kill(pids[0], signal.SIGSTOP)  # not even a stopped one
        time.sleep(0.05)

        os.killpg(run.pid, number)

        run.wait(timeout=30)
        wait_until(lambda: not processes_with(mark))


def test_ctrl_c_does_not_reach_the_workers():
    with WorldPool([maker()], run_seed=4, restarts=restarts()) as rollout:
        pid = rollout.pids[0]
        assert pid is not None and os.getpgid(pid) == pid != os.getpgrp()
        os.kill(pid, signal.SIGINT)
        digests = [rollout.play(POLICY, STEPS)[0].digest() for _ in range(2)]
        assert digests == undisturbed(2) and rollout.events == [] and rollout.pids == [pid]


def test_an_interrupted_slot_is_abandoned_and_can_be_played_again():
    def interrupt(*_):
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGALRM, interrupt)
    try:
        with WorldPool([maker(spin_seconds=0.005)], run_seed=4, restarts=restarts()) as rollout:
            first = rollout.play(POLICY, STEPS)[0].digest()
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            with pytest.raises(KeyboardInterrupt):
                rollout.play(POLICY, STEPS)
            assert rollout.slot == 1 and rollout.pids == [None]
            assert [first, rollout.play(POLICY, STEPS)[0].digest()] == undisturbed(2)
            assert rollout.events == []
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
