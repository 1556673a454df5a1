"""`fmarl demo`: four ways of learning together, side by side on real SUMO, in about two minutes."""

import sys
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fmarl import __version__
from fmarl.cli.output import Flag, own_command, print_json, print_lines, print_table
from fmarl.cli.progress import ProgressDisplay
from fmarl.cli.report import Report
from fmarl.engine.experiment import Experiment
from fmarl.engine.run import begin, read_experiment
from fmarl.errors import require
from fmarl.federation.recipes import MethodConfig
from fmarl.federation.run_labels import label_of
from fmarl.launch.launcher import require_launcher
from fmarl.launch.on_this_machine import LocalLauncher
from fmarl.launch.queue import run_all
from fmarl.records.jsonl import last_record
from fmarl.records.run_folder import RunFolder
from fmarl.report.format import size
from fmarl.report.run_reader import RecordedRun, read_recorded_run
from fmarl.report.run_scores import baseline, epochs_to_baseline, final, last_counts, utility_row
from fmarl.web.server import PageProcess

INTRODUCTION = f"fmarl {__version__}: seven vehicles learn to drive a figure eight, in four ways"
LEARNING_RATE = 3e-4
"""Three times the paper's, so that there is something to see in two minutes."""
SAMPLES = "samples"
"""A short run with τ = 1, on whose slots the gradient norms of the others are measured."""
SAMPLE_SHARE = 8
"""It is so many times shorter than they are."""
METHODS = {
    "irl": MethodConfig(method="independent", learning_rate=LEARNING_RATE),
    "firl": MethodConfig(method="periodic", learning_rate=LEARNING_RATE),
    "firl-d": MethodConfig(method="decay", local_updates="1-15", learning_rate=LEARNING_RATE),
    "firl-c": MethodConfig(method="consensus", graph="paper-13", learning_rate=LEARNING_RATE),
}
"""By the names of their folders."""


@dataclass(frozen=True, kw_only=True)
class Demo:
    """See agents learn: four methods on the Figure Eight road, and a page to watch them on."""

    out: Path = Path("runs/demo")
    """Folder of the runs. A demo that was stopped goes on; after one that is done, the next gets a
    folder of its own beside it."""
    num_epochs: int = 100
    """Epochs of each run."""
    jobs: int = 0
    """Runs to train at once, each on its own core; 0 for one per core."""
    no_page: Flag = False
    """Serve no page."""
    json: Flag = False
    """Print the table as JSON, and nothing else."""

    def run(self) -> int:
        require(self.num_epochs >= 1, f"num_epochs = {self.num_epochs}", "1 or more", "Use 100.")
        require_launcher("in-process", None, self.jobs)
        place = _place(self.out)
        _begin_all(place, self.num_epochs)
        with ExitStack() as stack:
            page = None if self.no_page else stack.enter_context(PageProcess([place]))
            if not self.json:
                lines = [f"runs: {place}"]
                if page is not None:
                    lines += [f"page: {page.address}  (open it: vehicles move while they learn)"]
                print_lines(INTRODUCTION, *lines)
            with LocalLauncher(jobs=self.jobs) as launcher:
                code = self._train(place, [SAMPLES], launcher)
                code = code or self._train(place, METHODS, launcher)
            if code:
                if not self.json:
                    print_lines(f"stopped; go on with: {own_command()} demo --out {place}")
                return code
            self._print_results(place)
            if page is not None and sys.stdout.isatty() and not self.json:
                print_lines(f"The page stays at {page.address} until you press Ctrl-C.")
                try:
                    page.wait()
                except KeyboardInterrupt:
                    print_lines("")
        return 0

    def _train(self, place: Path, names: Iterable[str], launcher: LocalLauncher) -> int:
        """Train those of the runs that are not done yet; 0, or how it ended."""
        folders = [place / name for name in names if not _is_done(place / name)]
        with ProgressDisplay(quiet=self.json) as progress:
            return run_all(folders, progress.update, launcher)

    def _print_results(self, place: Path) -> None:
        runs = [read_recorded_run(place / name, name) for name in METHODS]
        rows = [_row(run) for run in runs]
        if self.json:
            print_json({"folder": str(place), "sumo": baseline(runs[0]), "methods": rows})
            return
        title = f"After {self.num_epochs} epochs; SUMO's own drivers reach {baseline(runs[0]):.3f}"
        least = ("utility", "sent", "epochs to SUMO's")
        print_table(title, list(rows[0]), [list(row.values()) for row in rows], least=least)
        report = place / "report"
        Report(runs=tuple(run.folder for run in runs), out=report, quiet=True).run()
        print_lines(
            f"One seed, so nothing is decided. Report: {report / 'report.html'}",
            f"Next: {own_command()} watch {place}",
            f"      {own_command()} train figure-eight --method consensus --graph ring --watch",
        )


def _place(out: Path) -> Path:
    """The folder itself, or the first one beside it that holds no demo that is done."""
    number, place = 2, out
    while all(_is_done(place / name) for name in (SAMPLES, *METHODS)):
        place, number = out.with_name(f"{out.name}-{number}"), number + 1
    return place


def _begin_all(place: Path, num_epochs: int) -> None:
    """Make the runs that are not there yet, so that the page shows all from the start."""
    base = Experiment(num_epochs=num_epochs, test_every=5, test_repetitions=1)
    synchronous = MethodConfig(method="synchronous", learning_rate=LEARNING_RATE)
    short = max(num_epochs // SAMPLE_SHARE, 2)
    wanted = {SAMPLES: replace(base, together=synchronous, num_epochs=short)}
    for name, together in METHODS.items():
        # Nobody holds the mean of agents that learn alone, so its gradient says nothing.
        source = "" if name == "irl" else str((place / SAMPLES).absolute())
        wanted[name] = replace(base, together=together, samples=source)
    for name, experiment in wanted.items():
        if not RunFolder(place / name).description.exists():
            begin(experiment, place / name)


def _is_done(folder: Path) -> bool:
    if not RunFolder(folder).description.exists():
        return False
    return last_record(RunFolder(folder).metrics).get("epoch") == read_experiment(folder).num_epochs


def _row(run: RecordedRun) -> dict[str, Any]:
    found = utility_row(run.lines)
    return {
        "method": label_of(run.settings),
        "NAS": final(run),
        "epochs to SUMO's": epochs_to_baseline(run),
        "sent": size(last_counts(run)["bytes_sent"]),
        "utility": found.utility if found else None,
    }
