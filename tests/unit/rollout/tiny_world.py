"""A world for tests: chaotic, so that one wrong bit is soon everywhere, and troubled on request.

Agents are logistic maps pushed by their actions. One agent may be absent, one restarts alone,
epochs end early when the crowd comes close to 1. Trouble happens at a given step of the process,
once only if a flag file is named: whoever finds the file has already had the trouble.
"""

import ctypes
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from fmarl.errors import require
from fmarl.worlds.world import Step, WorldSpec


class TinyWorld:
    def __init__(
        self,
        word,
        *,
        num_agents=3,
        observation_size=4,
        num_actions=2,
        is_discrete=False,
        epoch_steps=40,
        spin_seconds=0.0,
        trouble="",
        trouble_step=0,
        flag="",
        memory="",
        helper=False,
    ):
        self.spec = WorldSpec(
            name=word,
            num_agents=num_agents,
            observation_size=observation_size,
            num_actions=num_actions,
            is_discrete=is_discrete,
            epoch_steps=epoch_steps,
        )
        self.spin_seconds, self.trouble, self.trouble_step = spin_seconds, trouble, trouble_step
        self.flag, self.memory, self.steps, self.resets = flag, memory, 0, 0
        self.helper = subprocess.Popen(["sleep", "60"]) if helper else None

    def reset(self, seed):
        self.rng = np.random.default_rng(seed)
        shape = (self.spec.num_agents, self.spec.observation_size)
        self.state = self.rng.uniform(0.1, 0.9, shape)
        if self.memory == "of resets":  # breaks the law on purpose: another reset, another world
            self.resets += 1
            self.state[0, 3] = 0.2 + self.resets / 20_000
        elif self.memory:  # the same: another process, another world
            # A small interval of starts, on which three steps of the map are one to one.
            self.state[0, 3] = 0.2 + os.getpid() % 997 / 20_000
        self.time = 0
        return self.state.astype(np.float32)

    def step(self, action):
        require(bool(np.isfinite(action).all()), "an action of nan", "finite numbers", "Mend it.")
        assert action.dtype == np.float32 and np.abs(action).max() <= max(1, self.spec.num_actions)
        self._maybe_trouble()
        self._spin()
        self.time += 1
        push = 0.05 * action.sum(axis=1, keepdims=True, dtype=np.float64) / self.spec.num_actions
        self.state = np.clip(3.8 * self.state * (1 - self.state) + push, 0.01, 0.99)
        successor = self.state.astype(np.float32)
        crashed = bool(self.state.mean() > 0.8)
        late = self.time >= self.spec.epoch_steps
        alone = (self.state[:, 0] > 0.97) & (not crashed) & (not late)
        self.state[alone] = self.rng.uniform(0.1, 0.9, (alone.sum(), self.spec.observation_size))
        present = self.state[:, 1] > 0.05
        return Step(
            observation=self.state.astype(np.float32),
            successor=successor,
            reward=np.where(present, self.state.sum(axis=1), 0).astype(np.float32),
            present=present,
            terminated=alone | crashed,
            truncated=np.full(self.spec.num_agents, late and not crashed),
            over=crashed or late,
        )

    def _spin(self):
        until = time.monotonic() + self.spin_seconds
        while time.monotonic() < until:
            pass

    def _maybe_trouble(self):
        self.steps += 1
        if self.steps - 1 != self.trouble_step or not self.trouble:
            return
        if self.flag:
            if Path(self.flag).exists():
                return
            Path(self.flag).touch()
        TROUBLES[self.trouble]()

    def frame(self):
        return None

    def close(self):
        if self.helper is not None:
            self.helper.kill()
            self.helper.wait()

    def __enter__(self):
        return self

    def __exit__(self, *problem):
        self.close()


def _segfault():
    ctypes.string_at(0)


def _garbage():
    os.write(int(sys.argv[2]), b"HTTP/1.1 200 OK\r\n" * 10)
    time.sleep(60)


def _oversized():
    os.write(int(sys.argv[2]), b"FMW1" + b"\xff" * 12)
    time.sleep(60)


def _close_pipe():
    os.closerange(3, 100)
    time.sleep(60)


def _bug():
    print("about to divide")  # noqa: T201 — a world that prints must do no harm
    _ = 1 // 0


def _refuse():
    require(False, "throttle = 2", "-1 <= throttle <= 1", "Ease off.")


TROUBLES = {
    "abort": os.abort,
    "segfault": _segfault,
    "garbage": _garbage,
    "oversized": _oversized,
    "close pipe": _close_pipe,
    "bug": _bug,
    "refuse": _refuse,
    "exit": lambda: sys.exit("enough"),
    "sleep": lambda: time.sleep(60),
}


def make(word, **options):
    return TinyWorld(word, **options)


def make_missing(word, **options):
    require(False, "SUMO", "an installed libsumo", "Run `pip install fmarl`.")
