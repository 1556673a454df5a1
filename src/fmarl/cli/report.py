"""`fmarl report`: one page on any runs, or on the results of a reproduction, from their folders."""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path

import tyro

from fmarl.cli.output import Flag, console, print_json, print_lines, print_table
from fmarl.errors import BadInput, require
from fmarl.records.atomic_files import DiskTrouble, write_durably
from fmarl.records.checkpoint import NoGoodCheckpoint
from fmarl.records.run_folder import RunFolder
from fmarl.records.strict_json import seal
from fmarl.report.bound_curve import read_constants, why_no_bound
from fmarl.report.csv_tables import group_facts
from fmarl.report.format import size, with_interval
from fmarl.report.managed_folder import require_place_for_report, write_files
from fmarl.report.results_section import SIGNS, reached_cell, seeds_cell
from fmarl.report.run_reader import RecordedRun
from fmarl.report.run_report import RunReport
from fmarl.report.run_scores import measure_of
from fmarl.report.run_set import read_run_set, require_known
from fmarl.reproduce.claims import CLAIMS
from fmarl.reproduce.report_page import write_report
from fmarl.reproduce.results import ResultsFolder, read_about
from fmarl.reproduce.study_results import Evidence, read_evidence

RESULTS = Path("results/paper")
"""What is reported on if nothing is named."""
TO_SUMO = "epochs to SUMO’s"
LEAST = ("closed form", "sent", TO_SUMO, "mean")
"""Columns that a narrow terminal does without, the first of them first."""


@dataclass(frozen=True, kw_only=True)
class Report:
    """Write one page with every figure and table of runs that are there.

    Trains nothing. The same runs give the same page, bit for bit.
    """

    runs: tyro.conf.Positional[tuple[Path, ...]] = (RESULTS,)
    """Runs, or folders that hold runs; or a folder that `fmarl reproduce` has written to, and
    after it others, with other choices, whose verdicts are shown beside its own."""
    out: Path | None = None
    """Folder for report.html, figures/ and tables; without it, `report` beside the runs, or the
    folder of the results."""
    against: str = ""
    """Label of the runs that all others are compared with, such as "FIRL τ=15"; without it, those
    that come first."""
    quiet: Flag = False
    """Print nothing."""
    json: Flag = False
    """Print the table, or the verdicts on the paper's claims, as JSON."""

    def run(self) -> int:
        require(bool(self.runs), "no runs", "one or more", "Name a run, or a folder of runs.")
        return self._on_results(*self.runs) if _are_results(self.runs) else self._on_runs()

    def _on_results(self, folder: Path, *others: Path) -> int:
        what = f"--against {self.against!r:.60} for results of a reproduction"
        require(not self.against, what, "--against for runs", "Leave it out.")
        names = [one.name for one in self.runs]
        twice = f"folders of the names {', '.join(names):.80}"
        require(len({*names}) == len(names), twice, "another name for each", "Rename one.")
        if self.out is not None and self.out.resolve() != folder.resolve():
            require_place_for_report(self.out)
        evidence = read_evidence(folder)
        beside = {one.name: read_evidence(one) for one in others}
        path = write_report(evidence, read_about(folder), self.out or folder, beside)
        say_what_holds(evidence, path, beside, quiet=self.quiet, as_json=self.json)
        return 0

    def _on_runs(self) -> int:
        found = read_run_set(self.runs)
        require_known(found.groups, self.against)
        here, parent = Path.cwd(), found.parent
        shorter = parent.relative_to(here) if parent.is_relative_to(here) else parent
        out = self.out or shorter / "report"
        require_place_for_report(out)  # before minutes of estimating
        hushed = self.quiet or self.json
        constants = estimated(found.runs, show=not hushed)
        report = RunReport(runs=found, against=self.against, constants=constants)
        with nullcontext() if hushed else console().status("drawing"):
            write_files(out, report.files())
        self._say(report, out / "report.html")
        return 0

    def _say(self, report: RunReport, path: Path) -> None:
        found = report.runs
        if self.json:
            groups = [group_facts(row) for row in report.scores]
            unused = [one._asdict() for one in found.unused]
            facts = {"report": str(path), "runs": len(found.runs), "groups": groups}
            print_json({**facts, "unused": unused})
        elif not self.quiet:
            print_table(*_main_columns(report), least=LEAST)
            print_lines(*(f"not used: {one.name}: {one.why}" for one in found.unused))
            print_lines(f"Report: {path}")


def _are_results(paths: Sequence[Path]) -> bool:
    """Whether this is about reproductions; `BadInput` if it is about runs as well."""
    results = [path for path in paths if ResultsFolder(path).about.exists()]
    mixed = bool(results) and len(results) < len(paths)
    what = f"results of a reproduction ({results[0]}) among other folders" if mixed else ""
    require(not mixed, what, "runs, or folders of results", "Report on them one by one.")
    return bool(results)


def estimated(runs: Sequence[RecordedRun], *, show: bool) -> dict[str, Mapping[str, float] | str]:
    """Constants of the bounds, of runs that have none yet and that the theory speaks of.

    They are kept in the runs' folders, where the live page finds them. What can not be estimated
    has a reason instead.
    """
    missing = [run for run in runs if not why_no_bound(run) and read_constants(run) is None]
    found: dict[str, Mapping[str, float] | str] = {}
    for place, run in enumerate(missing, start=1):
        words = f"estimating the constants of {run.name} ({place} of {len(missing)})"
        with console().status(words) if show else nullcontext():
            found[run.name] = _estimate(run)
    return found


def _estimate(run: RecordedRun) -> Mapping[str, float] | str:
    from fmarl.engine.estimate_constants import estimate_constants

    try:
        constants = estimate_constants(run.folder)._asdict()
    except (BadInput, NoGoodCheckpoint) as problem:
        return f"Its constants can not be estimated: {problem}"
    with suppress(DiskTrouble):  # a folder that may only be read is fine: next time it takes long
        write_durably(RunFolder(run.folder).constants, seal(constants))
    return constants


def _main_columns(report: RunReport) -> tuple[str, list[str], list[list[str]]]:
    several = len(report.runs.scenes) > 1
    columns = ["method", *(["world"] if several else []), "seeds", "at the end", "mean"]
    to_sumo = any(row.reached for row in report.scores)
    rows = [
        [
            row.group.label,
            *([row.group.scene] if several else []),
            seeds_cell(row),
            f"{with_interval(row.final)} {measure_of(row.group.first)}",
            with_interval(row.area),
            *([reached_cell(row.reached)] if to_sumo else []),
            size(row.bytes_sent.high),
            SIGNS[row.agrees],
        ]
        for row in report.scores
    ]
    title = "Tests: [95 % interval from 3 seeds on, or lowest and highest of 2]"
    return title, [*columns, *([TO_SUMO] if to_sumo else []), "sent", "closed form"], rows


def say_what_holds(
    evidence: Evidence,
    path: Path,
    others: Mapping[str, Evidence],
    *,
    quiet: bool,
    as_json: bool,
) -> None:
    """Print what a report says of every claim, beside what others say with other choices."""
    rows = [
        (
            claim.number,
            claim.says,
            *evidence.decisions(claim),
            *(one.decisions(claim)[0] for one in others.values()),
        )
        for claim in CLAIMS
    ]
    if as_json:
        names = ("claim", "says", "fixed", "tuned", *others)
        facts = [dict(zip(names, row, strict=True)) for row in rows]
        print_json({"report": str(path), "runs": len(evidence.results), "claims": facts})
    elif not quiet:
        columns = ["", "the paper says", "at its η", "each at its best η", *others]
        print_table("Claims", columns, rows)
        print_lines(f"Report: {path}")
