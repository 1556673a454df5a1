"""`fmarl reproduce`: run the paper's experiments, as many as are missing, and report on them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import tyro

from fmarl.cli.output import Flag, console, print_json, print_lines, print_text
from fmarl.cli.progress import ProgressDisplay, duration
from fmarl.cli.report import say_what_holds
from fmarl.engine.experiment import Experiment
from fmarl.errors import BadInput
from fmarl.launch.launcher import EngineName, Launcher, open_launcher, require_launcher
from fmarl.launch.run_status import RunStatus
from fmarl.records.atomic_files import DiskTrouble
from fmarl.records.score import score_text
from fmarl.reproduce.report_page import write_report
from fmarl.reproduce.results import (
    ResultsFolder,
    read_about,
    read_results,
    require_same_code,
    what_runs_here,
)
from fmarl.reproduce.run_plan import parts_of, still_to_run, wall_seconds
from fmarl.reproduce.run_queue import ReproductionQueue
from fmarl.reproduce.study import Study, make_study
from fmarl.reproduce.study_results import Evidence


@dataclass(frozen=True, kw_only=True)
class Reproduce:
    """Make the paper's figures and tables again on real SUMO, with a verdict on every claim.

    Runs that are there already are used; stop it with Ctrl-C at any time, and go on with the same
    command.
    """

    part: tyro.conf.Positional[str] = "all"
    """fig4, fig5, fig6, fig7, table4 or all."""
    profile: str = "quick"
    """quick (rough; about 15 minutes on 2 cores), paper (the whole schedule; hours), short (150
    epochs on 5 seeds, to compare variants) or smoke (a few epochs of everything: does it run
    here?)."""
    seeds: int | None = None
    """Seeds of every method, instead of the profile's number."""
    variant: str = "standard"
    """Other choices where the paper leaves them open: sgd, printed, rate-1e-3, equal-steps,
    discount-0.99, other-graph, even-updates, drawn-updates or flow."""
    jobs: int = 0
    """Runs to train at once, each on its own core; 0 for one per core."""
    engine: EngineName = "in-process"
    """Where to train: in processes of this machine, or over a Ray cluster (docs/cluster.md)."""
    address: str | None = None
    """Of the Ray cluster, as host:port; without it, engine ray uses this machine's cores."""
    out: Path | None = None
    """Folder of the results; without it, results/ and the names of profile and variant."""
    plan: Flag = False
    """Only say what would be run, and how long it would take."""
    keep_runs: Flag = False
    """Keep the folders of finished runs (some 5 MB each) beside their results."""
    quiet: Flag = False
    """Show nothing."""
    json: Flag = False
    """Print what is planned and found as JSON."""

    def run(self) -> int:
        require_launcher(self.engine, self.address, self.jobs)
        try:
            return self._run()
        except DiskTrouble as problem:
            raise BadInput(f"{problem}. Make room and call the same command again.") from None

    def _run(self) -> int:
        study = make_study(self.profile, self.variant, self.seeds)
        parts, folder = parts_of(self.part), self.out or Path("results") / study.name
        results = read_results(folder)
        todo = still_to_run(study, parts, results, ResultsFolder(folder))
        if todo:
            require_same_code(folder, read_about(folder), what_runs_here(study))
        # No cluster is joined for nothing.
        engine, address = (self.engine, self.address) if todo else ("in-process", None)
        with open_launcher(engine, address, jobs=self.jobs) as launcher:
            self._show_plan(len(results), todo, folder, len(launcher))
            if self.plan:
                return 0
            if todo and (code := self._train(study, parts, folder, launcher)):
                if not self.quiet and not self.json:
                    print_lines("stopped; go on with the same command. What is done is kept.")
                return code
        evidence = Evidence(study, read_results(folder))
        path = write_report(evidence, read_about(folder), folder)
        say_what_holds(evidence, path, {}, quiet=self.quiet, as_json=self.json)
        return 0

    def _train(self, study: Study, parts: list[str], folder: Path, launcher: Launcher) -> int:
        """A table of the runs on a terminal; elsewhere, a line for each that ends."""
        quiet = self.quiet or self.json
        live = console().is_terminal and not quiet
        with ProgressDisplay(quiet=not live) as progress:
            queue = ReproductionQueue(
                study,
                parts,
                folder,
                keep_runs=self.keep_runs,
                show=progress.update,
                ended=None if live or quiet else _print_end,
            )
            return queue.run(launcher)

    def _show_plan(self, there: int, todo: Sequence[Experiment], folder: Path, cores: int) -> None:
        seconds = wall_seconds(todo, cores)
        if self.json and self.plan:
            print_json({"there": there, "missing": len(todo), "seconds": seconds})
        elif not self.quiet and not self.json:
            time = f"take about {duration(seconds)} on {cores} cores"
            rest = f"{len(todo)} are missing and {time}" if todo else "none is missing"
            print_text(f"{folder} has {there} runs; {rest}.")


def _print_end(name: str, status: RunStatus, seconds_left: float) -> None:
    score = (
        f"{status.measure} {score_text(status.test_reward)}"
        if status.test_reward is not None
        else ""
    )
    print_lines(f"{name}  {score}  {status.state}; about {duration(seconds_left)} left")
