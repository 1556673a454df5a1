"""`fmarl bounds --paper-table`: Table IV beside what our formulas give for its inputs."""

from fmarl.cli.output import print_json, print_lines, print_table
from fmarl.reproduce.table4 import RecomputedRow, recompute_table

COLUMNS = [
    "method",
    "setting",
    "uploads",
    "updates",
    "exchanges",
    "cost ψ0",
    "norm (paper)",
    "utility",
    "utility (paper)",
    "agrees",
]


def show_paper_table(*, as_json: bool) -> int:
    """Print it; exit code 1 unless every row agrees."""
    rows = recompute_table()
    agreeing = sum(row.agrees for row in rows)
    if as_json:
        print_json([_facts(row) for row in rows])
    else:
        print_table("Table IV, recomputed from its own inputs", COLUMNS, map(_cells, rows))
        print_lines(f"{agreeing} of {len(rows)} rows agree with the paper in overheads and utility")
    return 0 if agreeing == len(rows) else 1


def _cells(row: RecomputedRow) -> list[object]:
    counted, printed = row.counted, row.row
    return [
        printed.method,
        printed.label,
        *(f"{count:g}" for count in (counted.uploads, counted.updates, counted.exchanges)),
        f"{row.cost:.2f}",
        f"{printed.gradient_norm:.4f}",
        f"{row.utility:.4f}",
        f"{printed.utility:.4f}",
        row.agrees,
    ]


def _facts(row: RecomputedRow) -> dict[str, object]:
    counted = {name: float(count) for name, count in row.counted._asdict().items()}
    recomputed = {"overheads": counted, "resource_cost": row.cost, "utility": row.utility}
    return {"paper": row.row._asdict(), "recomputed": recomputed, "agrees": row.agrees}
