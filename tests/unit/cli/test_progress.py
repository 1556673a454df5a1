"""What running training shows: rendered in memory, into pipes, and on a real pseudo-terminal."""

import fcntl
import io
import json
import math
import os
import pty
import re
import subprocess
import sys
import termios
import textwrap
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace

import pytest
from rich.console import Console

from fmarl.cli.progress import ProgressDisplay, duration, facts, line, mode_for, size, table
from fmarl.launch.run_status import RunStatus

HIDE, SHOW = "\x1b[?25l", "\x1b[?25h"
TERMINAL = {"TERM": "xterm-256color"}

ROWS = [
    RunStatus(
        name="FIRL τ=15",
        epoch=30,
        num_epochs=500,
        test_rewards=(0.05, 0.1, 0.143),
        train_reward=0.12,
        gradient_norm=2.1,
        bytes_sent=1_200_000,
        seconds_left=180.0,
    ),
    RunStatus(
        name="FIRL_C E=1 seed 3",
        epoch=100_000,
        num_epochs=100_000,
        test_rewards=(-1234.5678,) * 90,
        train_reward=-99_999.0,
        gradient_norm=1.2345e-12,
        bytes_sent=999_949_999,
        seconds_left=5399.0,
        state="done",
    ),
    RunStatus(name="IRL", epoch=0, num_epochs=500, state="waiting"),
]
NUMBERS = ["30/500", "0.143", "2.1", "1.2 MB", "3 min", "0/500", "0 B"]
NUMBERS += ["100000/100000", "-1234.6", "1.23e-12", "999.9 MB", "90 min"]


def rendered(rows, width, **kwargs):
    console = Console(width=width, file=io.StringIO(), color_system=None, _environ={})
    with console.capture() as captured:
        console.print(table(rows, **kwargs))
    return captured.get()


@pytest.mark.parametrize("width", [80, 140, 300])
def test_a_table_shows_every_number_whole(width):
    text = rendered(ROWS, width)
    assert [number for number in NUMBERS if number not in text] == []
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= min(width, 140)
    assert all(word in text for word in ("NAS", "|∇F|²", "▁", "█", "training", "waiting", "E=1"))


def test_bar_and_curve_take_the_room_that_is_left():
    narrow, wide = (rendered(ROWS[1:2], width) for width in (80, 140))
    assert wide.count("━") > narrow.count("━") >= 6 and wide.count("▄") > narrow.count("▄") >= 6


def test_hidden_runs_are_counted():
    assert "and 2 more" in rendered(ROWS[:1], 80, num_runs=3)
    assert "more" not in rendered(ROWS, 80, num_runs=3)


def test_a_name_is_never_taken_for_markup():
    name = "[red]:smile:[/]"
    assert name in rendered([RunStatus(name=name, epoch=1, num_epochs=2)], 140)


def test_a_line_says_what_is_known_and_nothing_else():
    assert line(ROWS[0]) == (
        "FIRL τ=15  epoch 30/500  NAS 0.143 (train 0.120)  |∇F|² 2.1  sent 1.2 MB  about 3 min left"
    )
    alone = RunStatus(
        name="",
        epoch=1,
        num_epochs=2,
        measure="reward",
        test_rewards=(math.nan,),
        gradient_norm=math.inf,
    )
    assert line(alone) == "epoch 1/2  reward –  sent 0 B"


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (999_949, "999.9 kB"),
        (999_950, "1.0 MB"),
        (3 * 10**12, "3.0 TB"),
        (5 * 10**18, "5000.0 PB"),
    ],
)
def test_a_size_has_at_most_three_digits_before_its_point_while_there_are_units(count, words):
    assert size(count) == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.0, "0 s"),
        (89.4, "89 s"),
        (90.0, "2 min"),
        (5399.0, "90 min"),
        (5400.0, "1.5 h"),
        (129_599.0, "36.0 h"),
        (129_600.0, "1.5 d"),
        (-1.0, "–"),
        (math.nan, "–"),
        (math.inf, "–"),
    ],
)
def test_a_duration_is_as_exact_as_one_cares_to_know(seconds, words):
    assert duration(seconds) == words


def test_facts_are_strict_json_with_the_newest_test():
    odd = RunStatus(
        name="x", epoch=1, num_epochs=2, test_rewards=(1.0, math.nan), train_reward=math.inf
    )
    assert json.loads(json.dumps(facts(odd), allow_nan=False))["train_reward"] is None
    assert facts(odd)["test_reward"] is None and facts(ROWS[0])["test_reward"] == 0.143
    assert "test_rewards" not in facts(odd)


def in_a_pipe(rows: Sequence[RunStatus], **kwargs) -> str:
    """What ends up in a pipe when all of these come in turn."""
    pipe = io.StringIO()
    with ProgressDisplay(console=Console(file=pipe, width=40, _environ={}), **kwargs) as progress:
        for row in rows:
            progress.update(row)
    return pipe.getvalue()


def shown(**kwargs) -> str:
    """Two runs of twelve epochs, with a test in every fourth."""
    rows = [
        RunStatus(
            name=name, epoch=epoch, num_epochs=12, test_rewards=(0.1, 0.2, 0.3)[: epoch // 4 + 1]
        )
        for epoch in range(12)
        for name in ("one", "two")
    ]
    return in_a_pipe(rows, **kwargs)


def test_without_a_terminal_there_is_one_unbroken_line_per_test():
    lines = shown().splitlines()
    assert [text.split()[:3] for text in lines] == [
        [name, "epoch", f"{epoch}/12"] for epoch in (0, 4, 8) for name in ("one", "two")
    ]
    assert lines[-1] == "two  epoch 8/12  NAS 0.300  sent 0 B" and "\x1b" not in shown()


def test_a_run_without_tests_has_a_line_for_every_tenth_of_it():
    rows = [RunStatus(name="", epoch=epoch, num_epochs=40, train_reward=0.1) for epoch in range(41)]
    lines = in_a_pipe(rows).splitlines()
    assert lines == [
        f"epoch {epoch}/40  NAS – (train 0.100)  sent 0 B" for epoch in range(4, 41, 4)
    ]
    assert in_a_pipe(rows, as_json=True) == ""


def test_json_is_one_object_per_test_and_quiet_is_nothing():
    found = [json.loads(text) for text in shown(as_json=True).splitlines()]
    assert [(one["name"], one["epoch"]) for one in found][:3] == [
        ("one", 0),
        ("two", 0),
        ("one", 4),
    ]
    assert len(found) == 6 and shown(quiet=True) == shown(quiet=True, as_json=True) == ""


@contextmanager
def terminal(columns=100, lines=24):
    """Both ends of a pseudo-terminal: ours, and the one that a program writes to."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (lines, columns))
    with open(ours, "rb", buffering=0) as screen, open(theirs, "w") as tty:
        yield screen, tty


def all_seen(screen):
    """What came to the screen until nobody wrote to it any more."""
    seen = b""
    try:
        while some := screen.read(4096):
            seen += some
    except OSError:  # how Linux says that the other end is closed
        pass
    return seen.decode()


@pytest.mark.parametrize(
    ("environment", "columns", "mode"),
    [
        (TERMINAL, 80, "live"),
        ({**TERMINAL, "NO_COLOR": "1"}, 80, "live"),
        (TERMINAL, 79, "lines"),
        ({"TERM": "dumb"}, 80, "lines"),
    ],
)
def test_a_table_wants_a_terminal_that_can_draw_and_is_wide_enough(environment, columns, mode):
    with terminal(columns) as (_, tty):
        console = Console(file=tty, _environ=environment, width=columns)
        assert mode_for(console, quiet=False, as_json=False) == mode
        assert mode_for(console, quiet=False, as_json=True) == "json"
        assert mode_for(console, quiet=True, as_json=False) == "nothing"


def test_colours_forced_onto_a_pipe_do_not_make_it_a_terminal():
    console = Console(file=io.StringIO(), _environ={**TERMINAL, "FORCE_COLOR": "1"})
    assert console.is_terminal and mode_for(console, quiet=False, as_json=False) == "lines"
    with ProgressDisplay(console=console) as progress:
        progress.update(ROWS[0])
    assert isinstance(console.file, io.StringIO)
    assert console.file.getvalue() == line(ROWS[0]) + "\n"


PROGRAM = textwrap.dedent(
    """
    import os, signal, sys
    from fmarl.cli.progress import ProgressDisplay
    from fmarl.launch.run_status import RunStatus

    signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs inherit it ignored
    ends = {
        "return": lambda: None,
        "error": lambda: 1 / 0,
        "exit": lambda: sys.exit(3),
        "ctrl-c": lambda: os.kill(os.getpid(), signal.SIGINT),
    }
    with ProgressDisplay() as progress:
        for number in range(int(sys.argv[2])):
            name = f"run {number}"
            progress.update(RunStatus(name=name, epoch=1, num_epochs=2, test_rewards=(0.143,)))
        progress._live.refresh()  # rather than wait for a quarter of a second
        print("said in between")
        ends[sys.argv[1]]()
    print("said afterwards")
    """
)


def on_a_terminal(end, runs=1, **environment):
    """Everything that a program shows on a terminal until it ends, and its exit code."""
    inherited = {
        name: os.environ[name] for name in ("PATH", "HOME", "PYTHONPATH") if name in os.environ
    }
    with terminal() as (screen, tty):
        child = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, end, str(runs)],
            stdin=tty,
            stdout=tty,
            stderr=tty,
            env={**inherited, **TERMINAL, **environment},
        )
        tty.close()  # so that the child is the last writer, and reading ends with it
        return all_seen(screen), child.wait(timeout=30)


@pytest.mark.parametrize(
    ("end", "code", "last_words"),
    [
        ("return", 0, "said afterwards"),
        ("error", 1, "ZeroDivisionError"),
        ("exit", 3, ""),
        ("ctrl-c", -2, "KeyboardInterrupt"),
    ],
)
def test_the_terminal_is_given_back_whatever_ends_the_training(end, code, last_words):
    seen, exit_code = on_a_terminal(end)
    assert exit_code == code
    assert "0.143" in seen and "said in between" in seen
    assert 0 <= seen.find(HIDE) < seen.rfind(SHOW)
    assert HIDE not in seen[seen.rfind(SHOW) :]
    assert last_words in seen[seen.find(SHOW) :]


@pytest.mark.parametrize("moment", ["refresh", "stop"])
def test_ctrl_c_while_the_table_begins_or_ends_still_gives_the_cursor_back(moment, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    with terminal() as (screen, tty):
        progress = ProgressDisplay(console=Console(file=tty, _environ=TERMINAL))
        monkeypatch.setattr(sys, "stdout", sys.stdout)  # an interrupted table leaves its own there
        with monkeypatch.context() as patch:
            patch.setattr(progress._live, moment, interrupted)
            with pytest.raises(KeyboardInterrupt), progress:
                progress.update(ROWS[0])
        tty.write("interrupted")
        progress._live.stop()
        tty.close()
        seen, _, _ = all_seen(screen).partition("interrupted")
    assert 0 <= seen.find(HIDE) < seen.rfind(SHOW)
    assert HIDE not in seen[seen.rfind(SHOW) :]


def test_no_color_is_honoured_on_a_terminal():
    colour = re.compile(r"\x1b\[(\d+;)*(3[0-8]|4[0-8]|9[0-7]|10[0-7])[;m]")
    assert colour.search(on_a_terminal("return")[0])
    plain, _ = on_a_terminal("return", NO_COLOR="1")
    assert HIDE in plain and not colour.search(plain)


def test_a_dumb_terminal_sees_no_escape_codes():
    seen, code = on_a_terminal("return", TERM="dumb")
    assert code == 0 and "\x1b" not in seen and "run 0  epoch 1/2  NAS 0.143" in seen


def test_more_runs_than_lines_are_all_shown_at_the_end():
    seen, _ = on_a_terminal("return", runs=40)
    assert "and 19 more" in seen  # of 24 lines, 21 are rows
    final = seen[seen.rfind("tests") :]
    assert all(f"run {number} " in final for number in range(40))
    assert "more" not in final


def test_a_reader_that_does_not_read_holds_nothing_up():
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
    with (
        ThreadPoolExecutor() as pool,
        os.fdopen(reader) as read,
        os.fdopen(writer, "w") as written,
    ):
        with ProgressDisplay(console=Console(file=written, width=140)) as progress:
            for count in range(1000):
                progress.update(replace(ROWS[0], test_rewards=(0.1,) * (count + 1)))
            seen = pool.submit(read.readlines)
        written.close()
        assert len(seen.result()) == 1000
