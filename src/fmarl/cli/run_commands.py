"""How commands that train go about it: show the run, end it well, and say what to do next."""

import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from fmarl.cli.engine_flags import HERE, Where
from fmarl.cli.exit_codes import EXIT_CODES
from fmarl.cli.output import own_command, print_json_line, print_lines
from fmarl.cli.progress import Progress
from fmarl.engine.experiment import Experiment
from fmarl.engine.train import Run, resume
from fmarl.launch.base import open_places
from fmarl.launch.queue import run_batch
from fmarl.launch.run_status import Follower
from fmarl.records.jsonl import read_lines
from fmarl.records.run_folder import RunFolder, read_run
from fmarl.report.utility_row import measured
from fmarl.settings_io import from_plain
from fmarl.worlds.registry import ROADS


def go_on(
    folders: Sequence[Path],
    *,
    jobs: int,
    quiet: bool,
    as_json: bool,
    force: bool = False,
    where: Where = HERE,
) -> int:
    """Train runs that have been begun, one in this process or several in their own."""
    experiments = [read_experiment_of(folder) for folder in folders]
    measure = "NAS" if experiments[0].world in ROADS else "reward"
    places = open_places(where.engine, where.address, jobs=jobs, force=force)
    with Progress(quiet=quiet, as_json=as_json, measure=measure) as progress:
        if len(folders) == 1:
            return _alone(folders[0], experiments[0], progress, quiet, as_json, force, where)
        followers = [
            Follower(folder.name, experiment.num_epochs)
            for folder, experiment in zip(folders, experiments, strict=True)
        ]
        with places as room:
            code = run_batch(folders, followers, progress.update, room)
    _say_next(folders, code, quiet, as_json)
    return code


@contextmanager
def watching(folders: Sequence[Path]) -> Iterator[None]:
    """Serve the page beside what trains, and say where it is; results keep standard output."""
    from fmarl.web.server import PageBeside

    with PageBeside(folders) as page:
        sys.stderr.write(f"page: {page.address}\n")
        yield
    names = " ".join(shlex.quote(str(folder)) for folder in folders)
    sys.stderr.write(f"the page is closed; see it again with: {own_command()} watch {names}\n")


def read_experiment_of(folder: Path) -> Experiment:
    """The experiment of a run's folder."""
    return from_plain(Experiment, read_run(folder)["experiment"], f"{folder}/run.json")


def _alone(
    folder: Path,
    experiment: Experiment,
    progress: Progress,
    quiet: bool,
    as_json: bool,
    force: bool,
    where: Where,
) -> int:
    follower = Follower(folder.name, experiment.num_epochs)
    progress.update(follower.row)

    def listen(line: dict) -> None:
        follower.take(line)
        progress.update(follower.row)

    try:
        run = resume(folder, listen=listen, force=force, make_engine=where.make_engine())
    except tuple(EXIT_CODES) as problem:
        sys.stderr.write(f"fmarl: {problem}\n")
        return EXIT_CODES[type(problem)]
    follower.say("done" if run.finished else "stopped")
    progress.update(follower.row)
    _say_end(run, quiet, as_json)
    return run.exit_code


def _say_end(run: Run, quiet: bool, as_json: bool) -> None:
    if as_json:
        facts = {"folder": str(run.folder), "update_count": run.update_count, "digest": run.digest}
        print_json_line({**facts, "finished": run.finished})
    elif not quiet:
        done = f"{run.update_count} of {run.total_updates} updates"
        print_lines(f"{run.folder}: {done}, parameters {run.digest[:16]}", *_worth(run.folder))
        _say_next([run.folder], run.exit_code, quiet, as_json)


def _worth(folder: Path) -> list[str]:
    """What the run has measured and cost, if it was measured on samples."""
    found = measured(read_lines(RunFolder(folder).metrics).records)
    if found is None:
        return []
    return [
        f"gradient norm {found.initial_gradient_norm:.4g} at the start (ψ2), "
        f"{found.gradient_norm:.4g} on average (ψ1); "
        f"cost {found.cost:.6g} (ψ0); utility {found.utility:.4g}"
    ]


def _say_next(folders: Sequence[Path], code: int, quiet: bool, as_json: bool) -> None:
    if quiet or as_json:
        return
    names = " ".join(shlex.quote(str(folder)) for folder in folders)
    if code > 128:
        print_lines(f"stopped; go on with: {own_command()} resume {names}")
    elif code == 0:
        print_lines(f"next: {own_command()} evaluate {names}")
