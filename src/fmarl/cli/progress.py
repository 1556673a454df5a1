"""How runs show themselves while they train: a live table on a terminal, lines anywhere else.

What is shown is a pure function of statuses; `ProgressDisplay` only decides where and when. It is
closed by its `with`, which gives the terminal back as it was, whatever ended the training.
"""

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from queue import SimpleQueue
from threading import Thread
from typing import Any, Literal

from rich.console import Console, ConsoleOptions, RenderableType
from rich.constrain import Constrain
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from fmarl.cli import output
from fmarl.launch.run_status import RunStatus
from fmarl.records.score import score_text
from fmarl.records.strict_json import plain
from fmarl.report.format import size
from fmarl.report.sparkline import sparkline

Mode = Literal["live", "lines", "json", "nothing"]

NARROWEST, WIDEST = 80, 140
"""Columns: a narrower terminal gets lines instead of the table, and no table is wider."""
OTHER_LINES = 3
"""Lines of a terminal that are not rows of the table: heads, count of hidden runs, cursor."""
NO_NUMBER = "–"


@dataclass(frozen=True)
class SparklineCell:
    """A sparkline as wide as the place it is put in."""

    values: tuple[float, ...]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        yield Text("" if options.ascii_only else sparkline(self.values, options.max_width))


class ProgressDisplay:
    """Shows the runs of a batch from the first `update` to the end of its `with`.

    On a terminal it is a table that is drawn again and again; where there is none, one line per
    test, or per tenth of a run that has no tests; as JSON, one object per line and test.
    """

    def __init__(
        self,
        *,
        quiet: bool = False,
        as_json: bool = False,
        console: Console | None = None,
    ) -> None:
        self._console = output.console() if console is None else console
        self._mode = mode_for(self._console, quiet=quiet, as_json=as_json)
        self._rows: dict[str, RunStatus] = {}
        self._recent: list[str] = []
        self._is_over = False
        # Written by a thread, for a reader that does not read must not hold the training up.
        self._lines: SimpleQueue[str | None] = SimpleQueue()
        self._writer = Thread(target=self._write_lines, daemon=True)
        self._live = Live(console=self._console, get_renderable=self._view)

    def update(self, status: RunStatus) -> None:
        known = self._rows.get(status.name, replace(status, epoch=0, test_rewards=()))
        is_tested = len(status.test_rewards) > len(known.test_rewards)
        # Made anew, not changed: the table is drawn by another thread.
        self._rows = {**self._rows, status.name: status}
        self._recent = [*(name for name in self._recent if name != status.name), status.name]
        if self._mode == "lines" and (is_tested or _tenths(status) > _tenths(known)):
            self._lines.put(line(status))
        elif self._mode == "json" and is_tested:
            self._lines.put(json.dumps(facts(status)))

    def __enter__(self) -> "ProgressDisplay":
        self._writer.start()
        if self._mode == "live":
            try:
                self._live.start(refresh=True)
            except BaseException:  # Ctrl-C may come when the cursor is hidden already
                self._close()
                raise
        return self

    def __exit__(self, *problem: object) -> None:
        if self._mode == "live":
            self._close()
        self._lines.put(None)
        self._writer.join()

    def _write_lines(self) -> None:
        while (text := self._lines.get()) is not None:
            self._console.out(text, highlight=False)

    def _close(self) -> None:
        self._is_over = True
        try:
            self._live.stop()
        finally:  # a second Ctrl-C may have come in the midst of it
            self._console.show_cursor(True)

    def _view(self) -> RenderableType:
        """All rows when it is over; before, those that fit, of the runs that moved last."""
        rows, room = self._rows, max(self._console.height - OTHER_LINES, 1)
        shown = self._recent if self._is_over else self._recent[-room:]
        return table([rows[name] for name in rows if name in shown], len(rows))


def _tenths(status: RunStatus) -> int:
    """How much of a run is done that has no tests to tell of."""
    return 0 if status.test_rewards else 10 * status.epoch // max(status.num_epochs, 1)


def mode_for(console: Console, *, quiet: bool, as_json: bool) -> Mode:
    """How to show: a table needs a terminal that can move its cursor and is wide enough.

    Colours forced onto a pipe (`FORCE_COLOR`) make no terminal of it.
    """
    if quiet:
        return "nothing"
    if as_json:
        return "json"
    can_redraw = console.is_interactive and console.file.isatty()
    return "live" if can_redraw and console.width >= NARROWEST else "lines"


def table(rows: Sequence[RunStatus], num_runs: int | None = None) -> RenderableType:
    """A row per run; bar and curve take the room that numbers leave. `num_runs` counts all."""
    hidden = (len(rows) if num_runs is None else num_runs) - len(rows)
    caption = f"and {hidden} more" if hidden > 0 else None
    grid = Table(box=None, expand=True, padding=(0, 1, 0, 0), pad_edge=False, caption=caption)
    grid.caption_justify = "left"
    grid.add_column("run", overflow="fold")
    grid.add_column("epoch", justify="right", no_wrap=True)
    grid.add_column("", ratio=1, width=6)
    measures = {status.measure for status in rows}
    score = "score" if len(measures) > 1 else "".join(measures)
    grid.add_column(score, justify="right", no_wrap=True)
    grid.add_column("tests", ratio=1, width=6)
    for head in ("|∇F|²", "sent", "left"):
        grid.add_column(head, justify="right", no_wrap=True)
    grid.add_column("state", overflow="fold")
    for status in rows:
        grid.add_row(
            Text(status.name),
            f"{status.epoch}/{status.num_epochs}",
            ProgressBar(total=max(status.num_epochs, 1), completed=status.epoch),
            score_text(status.test_reward),
            SparklineCell(status.test_rewards),
            _short(status.gradient_norm),
            size(status.bytes_sent),
            duration(status.seconds_left),
            Text(status.state),
        )
    return Constrain(grid, WIDEST)


def line(status: RunStatus) -> str:
    """One run in one line, leaving out what is not known.

    >>> line(RunStatus(name="", epoch=30, num_epochs=500, test_rewards=(0.1,), bytes_sent=12_000))
    'epoch 30/500  NAS 0.100  sent 12.0 kB'
    """
    test, train = (score_text(value) for value in (status.test_reward, status.train_reward))
    is_comparable = train != NO_NUMBER and status.measure != "return"  # of a step, not an episode
    gradient, left = _short(status.gradient_norm), duration(status.seconds_left)
    parts = [
        status.name,
        f"epoch {status.epoch}/{status.num_epochs}",
        f"{status.measure} {test}" + (f" (train {train})" if is_comparable else ""),
        f"|∇F|² {gradient}" if gradient != NO_NUMBER else "",
        f"sent {size(status.bytes_sent)}",
        f"about {left} left" if left != NO_NUMBER else "",
    ]
    return "  ".join(part for part in parts if part)


def facts(status: RunStatus) -> dict[str, Any]:
    """One run for JSON, with its newest test; what is not a finite number becomes null."""
    values = {**vars(status), "test_reward": status.test_reward}
    del values["test_rewards"]
    return plain(values)


def duration(seconds: float | None) -> str:
    """A time to wait, as exact as one cares to know it.

    >>> duration(45.2), duration(200.0), duration(9000.0), duration(400_000.0), duration(None)
    ('45 s', '3 min', '2.5 h', '4.6 d', '–')
    """
    if seconds is None or not 0 <= seconds < math.inf:
        return NO_NUMBER
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 90 * 60:
        return f"{seconds / 60:.0f} min"
    hours = seconds / 3600
    return f"{hours:.1f} h" if hours < 36 else f"{hours / 24:.1f} d"


def _short(value: float | None) -> str:
    return NO_NUMBER if value is None or not math.isfinite(value) else f"{value:.3g}"
