import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from fmarl.errors import BadInput
from fmarl.worlds.check import check_world
from fmarl.worlds.registry import make_world
from fmarl.worlds.remote import RemoteWorld

OPTIONS = {"num_agents": 3, "targets": [0.0, 1.0, 2.0], "reward_noise": 0.5, "epoch_steps": 20}


def test_a_remote_world_keeps_all_promises():
    check_world(lambda: RemoteWorld("toy-quadratic", **OPTIONS), steps=30)


def test_a_remote_world_gives_the_bits_of_a_near_one():
    action = np.full((3, 1), 0.25, dtype=np.float32)
    with (
        RemoteWorld("toy-quadratic", **OPTIONS) as far,
        make_world("toy-quadratic", **OPTIONS) as near,
    ):
        assert far.spec == near.spec
        assert np.array_equal(far.reset(5), near.reset(5))
        for _ in range(20):
            for one, two in zip(far.step(action), near.step(action), strict=True):
                assert np.array_equal(one, two)
        assert far.frame() is None


def test_two_roads_run_side_by_side_and_see_the_same():
    with RemoteWorld("figure-eight") as one, RemoteWorld("figure-eight") as two:
        assert np.array_equal(one.reset(1), two.reset(1))
        action = np.ones((7, 1), dtype=np.float32)
        assert np.array_equal(one.step(action).observation, two.step(action).observation)
        frame = one.frame()
        assert frame is not None
        assert frame.shape == (14, 3)


def test_what_the_child_refuses_reaches_the_caller_as_one_line():
    with pytest.raises(BadInput, match="moon"):
        RemoteWorld("moon")
    with RemoteWorld("toy-quadratic", **OPTIONS) as world:
        world.reset(0)
        with pytest.raises(BadInput, match="finite"):
            world.step(np.full((3, 1), np.nan, dtype=np.float32))
        assert not world.step(np.zeros((3, 1), dtype=np.float32)).over


def test_a_killed_child_is_an_error_and_not_a_hang():
    with RemoteWorld("toy-quadratic", **OPTIONS) as world:
        world.reset(0)
        os.kill(world._child.process.pid, signal.SIGKILL)
        with pytest.raises(RuntimeError, match="ended with code -9"):
            world.step(np.zeros((3, 1), dtype=np.float32))


def test_a_closed_world_leaves_no_process_and_can_not_be_used():
    world = RemoteWorld("toy-quadratic", **OPTIONS)
    world.close()
    world.close()
    assert world._child.process.returncode == 0
    with pytest.raises(BadInput, match="closed"):
        world.reset(0)


def test_a_child_does_not_outlive_its_parent():
    code = "from fmarl.worlds.remote import RemoteWorld; import os, signal;"
    code += "w = RemoteWorld('toy-quadratic', num_agents=2); print(w._child.pid, flush=True);"
    code += "os.kill(os.getpid(), signal.SIGKILL)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    child, deadline = int(done.stdout), time.monotonic() + 10
    while os.path.exists(f"/proc/{child}") and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not os.path.exists(f"/proc/{child}")
