"""Hours of random input; run: python tests/trial/random_trial.py --minutes 180 --seed 1.

Each trial is a command with random words, flags and values, run as a user would in a folder of good
and damaged runs; some are stopped by a signal, some killed, some write to a closed pipe. Reported:
a traceback of ours, an unexpected exit code, something made by a command that refused, a process
that is left over, a signal that is not heard. A trial is a function of seed and number: `--only N`
plays one again.
"""

import argparse
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))

from trial.damage import DAMAGES, damaged_copy, files_of
from trial.scratch import contents, fill

VALUES = (
    *("0", "1", "-1", "2", "3", "1.5", "1e3", "1e300", "nan", "inf", "99999999999", "9" * 30, ""),
    *(" ", "x", "None", "true", "ε", "a,b", "1,2,3", "1-3", "--", "-", "=", "a=b", "/", ".", ".."),
    *(
        "nosuch",
        "file",
        "empty",
        "full",
        "fifo",
        "loop",
        "huge.json",
        "bad.toml",
        "runs",
        "damaged",
    ),
    *("runs/good", "/dev/zero", "/dev/null", "/proc/self/mem", "figure-eight", "toy-quadratic"),
    *(
        "my_worlds:Steady",
        "my_worlds:broken",
        "my_worlds:nosuch",
        "my_worlds:number",
        "gym:Taxi-v3",
    ),
    *("periodic", "consensus", "decay", "ring", "star", "ppo", "trpo", "tac", "num_agents=2"),
)
STARTS = (
    *("train toy-quadratic --steps-per-update 50 --num-epochs 3", "train toy-bumpy", "train"),
    *("train my_worlds:Steady --num-epochs 2", "train toy-quadratic --steps-per-update 50"),
    *("resume runs/good", "resume damaged", "resume", "evaluate runs/good --repetitions 2"),
    *(
        "evaluate damaged",
        "evaluate",
        "runs",
        "runs damaged",
        "report",
        "report runs",
        "watch runs",
    ),
    *(
        "report damaged",
        "watch damaged --port 0",
        "bounds",
        "bounds --graph ring",
        "bounds --truth",
    ),
    *("topology", "topology ring", "world toy-quadratic", "world", "doctor", "reproduce", "demo"),
    *("reproduce table4 --plan", "demo --no-page --num-epochs 1", "", "runs --json", "train merge"),
)
OURS = re.compile(r'File "[^"]*/fmarl/(?!.*\bmy_worlds)')
CODES = {0, 2, 3, 4, 5, 6, 7, 1}
"""1 is a user's own bug, with the user's own traceback."""
HEARD_SECONDS, LONGEST = 6.0, 90.0
MARK = "FMARL_TRIAL"


class Trial(NamedTuple):
    """One command, and what is done to it."""

    words: list[str]
    damage: tuple[str, str]
    stop: int
    """Signal that is sent, or 0."""
    after: float
    """Seconds until then."""
    closes_pipe: bool


def flags_of(command: str) -> list[str]:
    """All flags that a command has."""
    said = subprocess.run([*FMARL, command, "--help"], capture_output=True, text=True, check=True)
    return sorted(set(re.findall(r"--[a-z][a-z0-9.-]+", said.stdout)))


FMARL = [sys.executable, "-m", "fmarl"]


def draw(chance: random.Random, flags: dict[str, list[str]], files: list[str]) -> Trial:
    """A trial by chance."""
    words = chance.choice(STARTS).split()
    for _ in range(chance.choice((0, 1, 1, 2, 3))):
        known = flags.get(words[0] if words else "", ["--json"])
        words += [chance.choice(known), chance.choice(VALUES)][: chance.choice((1, 2, 2, 2))]
    if chance.random() < 0.1:
        words.append(chance.choice(VALUES))
    stop = chance.choice((0, 0, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL))
    damage = (chance.choice(files), chance.choice(list(DAMAGES)))
    return Trial(words, damage, stop, chance.uniform(0.5, 8), chance.random() < 0.15)


def play(trial: Trial, scratch: Path, mark: str) -> list[str]:
    """What is wrong with how a command behaved."""
    before = contents(scratch)
    closing, said = os.pipe()
    process = subprocess.Popen(
        FMARL + trial.words,
        cwd=scratch,
        stdin=subprocess.DEVNULL,
        stdout=said if trial.closes_pipe else subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        env={**os.environ, MARK: mark},
        start_new_session=True,
    )
    os.close(said)
    os.close(closing)
    out, err, late = _wait(process, trial)
    wrong = [f"did not end {HEARD_SECONDS:g} s after signal {trial.stop}"] if late else []
    if "Traceback" in out + err and OURS.search(out + err):
        wrong.append("a traceback of ours")
    if process.returncode not in CODES and process.returncode not in _signalled(trial.stop):
        wrong.append(f"exit code {process.returncode}")
    if process.returncode == 2 and contents(scratch) != before:
        wrong.append(f"made or changed {sorted(_differs(before, contents(scratch)))[:3]}")
    if left := _left_over(mark):
        wrong.append(f"left running: {left}")
    return [f"{one}\n{(out + err)[-3000:]}" for one in wrong]


def _wait(process: subprocess.Popen[str], trial: Trial) -> tuple[str, str, bool]:
    """Let it run until its signal, or to its end; a command without end is stopped."""
    try:
        return *_texts(process.communicate(timeout=trial.after if trial.stop else LONGEST)), False
    except subprocess.TimeoutExpired:
        process.send_signal(trial.stop or signal.SIGTERM)
    try:
        return *_texts(process.communicate(timeout=HEARD_SECONDS)), False
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return *_texts(process.communicate()), True


def _texts(texts: tuple[str | None, str | None]) -> tuple[str, str]:
    return texts[0] or "", texts[1] or ""


def _signalled(number: int) -> set[int]:
    ends = {128 + each for each in (number, signal.SIGTERM)}
    return {*ends, -number, -signal.SIGTERM}


def _differs(before: dict, after: dict) -> set[str]:
    return {name for name in {*before, *after} if before.get(name) != after.get(name)}


def _left_over(mark: str) -> list[str]:
    """Processes that a command has started and that are still there after 3 seconds."""
    deadline = time.monotonic() + 3
    while (found := _marked(mark)) and time.monotonic() < deadline:
        time.sleep(0.1)
    for number in found:
        os.kill(int(number), signal.SIGKILL)
    return list(found.values())


def _marked(mark: str) -> dict[str, str]:
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if f"{MARK}={mark}".encode() in (folder / "environ").read_bytes().split(b"\0"):
                words = (folder / "cmdline").read_bytes().replace(b"\0", b" ")
                found[folder.name] = words.decode(errors="replace")[:120]
        except OSError:
            continue
    return found


def main() -> int:
    """Play until the time is over; the exit code is 1 if anything was found."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--minutes", type=float, default=1.0)
    words.add_argument("--seed", type=int, default=0)
    words.add_argument("--only", type=int)
    options = words.parse_args()
    with tempfile.TemporaryDirectory() as home:
        pattern = Path(home) / "pattern"
        pattern.mkdir()
        fill(pattern)
        return _play_all(options, Path(home), pattern)


def _play_all(options: argparse.Namespace, home: Path, pattern: Path) -> int:
    commands = {start.split()[0] for start in STARTS if start}
    flags = {command: flags_of(command) for command in sorted(commands)}
    files, end = files_of(pattern / "runs" / "good"), time.monotonic() + 60 * options.minutes
    number, bad = options.only or 0, 0
    while time.monotonic() < end:
        chance = random.Random(f"{options.seed} {number}")
        trial, scratch = draw(chance, flags, files), home / "scratch"
        shutil.copytree(
            pattern, scratch, symlinks=True, ignore=shutil.ignore_patterns("fifo", "huge*")
        )
        os.mkfifo(scratch / "fifo")
        damaged_copy(pattern / "runs" / "good", scratch / "damaged", *trial.damage, number)
        found = play(trial, scratch, f"{os.getpid()}-{options.seed}-{number}")
        shutil.rmtree(scratch, ignore_errors=True)
        for problem in found:
            bad += 1
            sys.stdout.write(f"seed {options.seed}, trial {number}: {trial}\n{problem}\n\n")
            sys.stdout.flush()
        if options.only is not None:
            break
        number += 1
    sys.stdout.write(f"seed {options.seed}: {number} trials, {bad} problems\n")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
