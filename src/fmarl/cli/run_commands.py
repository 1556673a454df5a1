"""What commands that train share: their flags, and how runs are trained and shown."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from fmarl.child_process import show_in_ps
from fmarl.cli.output import Flag, own_command, print_json, print_lines
from fmarl.cli.progress import ProgressDisplay
from fmarl.cluster.faults.file import read_faults
from fmarl.cluster.faults.injector import FaultInjector
from fmarl.cluster.faults.plan import FaultPlan
from fmarl.cluster.ray_engine import RayEngine
from fmarl.cluster.settings import ClusterSettings
from fmarl.engine.engine import LocalEngine, MakeEngine
from fmarl.engine.experiment import Experiment
from fmarl.engine.run import Run, finished_run, read_experiment, resume
from fmarl.errors import BadInput, require
from fmarl.launch.exit_codes import RUN_ERRORS, report_error
from fmarl.launch.launcher import EngineName, open_launcher, require_launcher
from fmarl.launch.queue import run_all
from fmarl.launch.run_status import StatusTracker
from fmarl.records.jsonl import read_lines
from fmarl.records.run_folder import RunFolder
from fmarl.report.run_scores import utility_row

RAY_ONLY = ("deadline", "quorum", "agents_per_actor")


@dataclass(frozen=True, kw_only=True)
class RunFlags:
    """Where runs train, and what is shown of them."""

    jobs: int = 0
    """Runs to train at once, each on its own core; 0 for one per core."""
    engine: EngineName = "in-process"
    """Where to train: in-process (on this machine) or ray (over a cluster; docs/cluster.md). One
    run is spread over it; of several, each trains on a core of it."""
    address: str | None = None
    """Of the Ray cluster, as host:port; without it, engine ray uses this machine's cores."""
    deadline: float = 60.0
    """Seconds after which a period goes on without agents that are not heard of (ray)."""
    quorum: int = 0
    """Agents without whom a period does not count; 0 for half of them (ray)."""
    agents_per_actor: int = 1
    """Agents that share a process (ray)."""
    faults: Path | None = None
    """TOML or JSON file of what is to go wrong, and when (docs/cluster.md)."""
    quiet: Flag = False
    """Show nothing."""
    json: Flag = False
    """Show one JSON object per test, and one at the end."""

    def check(self, num_runs: int) -> None:
        """Refuse what can not be, before anything is made."""
        require_launcher(self.engine, self.address, self.jobs)
        changed = [name for name in RAY_ONLY if getattr(self, name) != getattr(RunFlags, name)]
        require(
            self.engine == "ray" or not changed,
            f"{'/'.join(changed)} with engine in-process",
            "with engine ray only",
            "Add --engine ray, or leave it out.",
        )
        alone = num_runs == 1 or not (changed or self.faults)
        what = f"{'/'.join(changed) or 'faults'} for {num_runs} runs"
        require(alone, what, "for one run at a time", "Leave it out, or train one run.")
        self._cluster_settings()

    def train(self, folders: Sequence[Path], *, force: bool = False) -> int:
        """Train runs whose folders have been made, one in this process or several in their own."""
        folders = [folder for folder in folders if not self._is_finished(folder)]
        if not folders:
            return 0
        experiments = [read_experiment(folder) for folder in folders]
        with ProgressDisplay(quiet=self.quiet, as_json=self.json) as progress:
            if len(folders) == 1:
                return self._train_one(folders[0], experiments[0], progress, force)
            with open_launcher(self.engine, self.address, jobs=self.jobs, force=force) as launcher:
                code = run_all(folders, progress.update, launcher)
        if not self.quiet and not self.json:
            print_lines(*_next_step(folders, code))
        return code

    def _train_one(
        self, folder: Path, experiment: Experiment, progress: ProgressDisplay, force: bool
    ) -> int:
        tracker = StatusTracker(folder.name, experiment.num_epochs, experiment.world)
        progress.update(tracker.status)

        def listen(line: dict) -> None:
            tracker.add_line(line)
            progress.update(tracker.status)

        show_in_ps(folder.name)
        try:
            run = resume(folder, listen=listen, force=force, make_engine=self._make_engine())
        except RUN_ERRORS as problem:
            return report_error(problem)
        tracker.end("done" if run.finished else "stopped")
        progress.update(tracker.status)
        self._show(run, *_result(run), *_next_step([folder], run.exit_code))
        return run.exit_code

    def _is_finished(self, folder: Path) -> bool:
        """Whether there is nothing left to train; it is then shown as it is."""
        run = finished_run(folder)
        if run is not None:
            done = f"{run.update_count} of {run.total_updates} updates"
            self._show(run, f"{folder} is finished already: {done}, parameters {run.digest[:16]}")
        return run is not None

    def _show(self, run: Run, *lines: str) -> None:
        if self.json:
            facts = {"folder": str(run.folder), "update_count": run.update_count}
            facts = {**facts, "digest": run.digest, "finished": run.finished}
            print_json(facts, indent=None)
        elif not self.quiet:
            print_lines(*lines)

    def _make_engine(self) -> MakeEngine:
        if self.engine == "in-process":
            return partial(LocalEngine, absent=self._fault_plan().absent)
        return partial(RayEngine, settings=self._cluster_settings())

    def _cluster_settings(self) -> ClusterSettings:
        return ClusterSettings(
            address=self.address,
            deadline_seconds=self.deadline,
            quorum=self.quorum,
            agents_per_actor=self.agents_per_actor,
            faults=FaultInjector(self._fault_plan()),
        )

    def _fault_plan(self) -> FaultPlan:
        if self.faults is None:
            return FaultPlan()
        plan = read_faults(self.faults)
        for number, fault in enumerate(plan.faults, 1):
            if self.engine == "in-process" and fault.word != "away":
                raise BadInput(
                    f"{self.faults}, fault {number}: {fault.do} is not allowed: in one process "
                    "agents can only be away. Add --engine ray."
                )
        return plan


def _result(run: Run) -> list[str]:
    """How far the run has come and, if it was measured on samples, what it found and cost."""
    done = f"{run.update_count} of {run.total_updates} updates"
    lines = [f"{run.folder}: {done}, parameters {run.digest[:16]}"]
    found = utility_row(read_lines(RunFolder(run.folder).metrics).records)
    if found is not None:
        lines.append(
            f"gradient norm {found.initial_gradient_norm:.4g} at the start (ψ2), "
            f"{found.gradient_norm:.4g} on average (ψ1); "
            f"cost {found.cost:.6g} (ψ0); utility {found.utility:.4g}"
        )
    return lines


def _next_step(folders: Sequence[Path], code: int) -> list[str]:
    names = " ".join(shlex.quote(str(folder)) for folder in folders)
    if code > 128:
        return [f"stopped; go on with: {own_command()} resume {names}"]
    return [f"next: {own_command()} evaluate {names}"] if code == 0 else []
