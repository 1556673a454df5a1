"""`fmarl report`: one page on the results of a reproduction, from what is in their folder."""

from dataclasses import dataclass
from pathlib import Path

import tyro

from fmarl.cli.output import Flag, print_json, print_lines, print_table
from fmarl.errors import require
from fmarl.reproduce.claims import CLAIMS, Claim, together, weakest
from fmarl.reproduce.document import write_report
from fmarl.reproduce.evidence import Evidence
from fmarl.reproduce.results import read_about, read_results
from fmarl.reproduce.study import Study, make_study


@dataclass(frozen=True, kw_only=True)
class Report:
    """Write a page with every figure, table and claim from results that are there.

    Trains nothing. The same results give the same page, bit for bit.
    """

    results: tyro.conf.Positional[Path] = Path("results/paper")
    """Folder that `fmarl reproduce` has written to."""
    out: Path | None = None
    """Folder for report.html and figures/; without it, the folder of the results."""
    quiet: Flag = False
    """Print nothing."""
    json: Flag = False
    """Print the verdicts as JSON."""

    def run(self) -> int:
        """Read, decide, draw, write."""
        about = read_about(self.results)
        require(
            bool(about),
            f"{self.results}",
            "a folder with results",
            "Name one, or make one: fmarl reproduce.",
        )
        study = make_study(about["profile"], about["variant"])
        place = self.out or self.results
        return report_on(study, self.results, place, quiet=self.quiet, as_json=self.json)


def report_on(study: Study, folder: Path, out: Path, *, quiet: bool, as_json: bool) -> int:
    """Write the report of a study and print what it says of every claim."""
    evidence = Evidence(study, read_results(folder))
    path = write_report(evidence, read_about(folder), out)
    rows = [
        (claim.number, claim.says, *(_word(evidence, claim, tuned) for tuned in (False, True)))
        for claim in CLAIMS
    ]
    if as_json:
        names = ("claim", "says", "fixed", "tuned")
        facts = [dict(zip(names, row, strict=True)) for row in rows]
        print_json({"report": str(path), "runs": len(evidence.results), "claims": facts})
    elif not quiet:
        columns = ["", "the paper says", "at its η", "each at its best η"]
        print_table("Claims", columns, rows)
        print_lines(f"Report: {path}")
    return 0


def _word(evidence: Evidence, claim: Claim, tuned: bool) -> str:
    verdicts = evidence.verdicts(claim, tuned=tuned)
    return together(verdicts) if weakest(verdicts) else "–"
