"""The folder in which the trial's commands run: good runs, and everything that is not one."""

import os
from pathlib import Path

from fmarl import Experiment, train
from fmarl.engine.run import begin

TINY = Experiment(
    world="toy-quadratic",
    set=("num_agents=3", "epoch_steps=20"),
    steps_per_update=10,
    num_epochs=2,
    test_every=1,
    test_repetitions=1,
)
WORLDS = """
import gymnasium
import numpy as np


class Steady(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)
    action_space = gymnasium.spaces.Box(-1, 1, (1,), np.float32)

    def reset(self, *, seed=None, options=None):
        return np.zeros(2, np.float32), {}

    def step(self, action):
        return np.zeros(2, np.float32), 0.0, False, False, {}


def number():
    return 5


def broken():
    raise KeyError("my own mistake")
"""


def fill(folder: Path) -> None:
    """Put in place what the lines of `inputs.txt` name."""
    train(TINY, folder / "runs" / "good")
    train(TINY, folder / "runs" / "other")
    begin(TINY, folder / "runs" / "untrained")
    (folder / "file").write_text("just text\n")
    (folder / "empty").mkdir()
    (folder / "full").mkdir()
    (folder / "full" / "precious.txt").write_text("mine\n")
    (folder / "bad.json").write_text('{"smoothness": ')
    (folder / "bad.toml").write_text("= 3\n")
    (folder / "list.json").write_text("[1, 2, 3]")
    (folder / "nested.json").write_text("[" * 5000)
    (folder / "unknown.toml").write_text("sync_perod = 3\n")
    (folder / "binary.toml").write_bytes(bytes(range(256)))
    (folder / "my_worlds.py").write_text(WORLDS)
    with (folder / "huge.json").open("wb") as file:
        file.truncate(1 << 33)  # a hole: it takes no room on the disk
    os.mkfifo(folder / "fifo")
    (folder / "loop").symlink_to("loop")


def contents(folder: Path) -> dict[str, tuple[int, int]]:
    """Everything below a folder, with size and time: equal if nothing was made, lost or written."""
    found = {}
    for path in folder.rglob("*"):
        state = path.lstat()
        own = (0, 0) if path.is_dir() else (state.st_size, state.st_mtime_ns)
        found[str(path.relative_to(folder))] = own
    return found
