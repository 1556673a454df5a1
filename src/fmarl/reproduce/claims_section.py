"""The parts of the report that say what holds, and whether that depends on what was chosen."""

from collections.abc import Callable, Mapping, Sequence

from fmarl.report.format import NOTHING, number, with_interval
from fmarl.report.page import (
    Block,
    Details,
    Paragraph,
    Picture,
    Section,
    Table,
    Text,
    VerdictBadge,
    table_of,
)
from fmarl.reproduce import figures as drawings
from fmarl.reproduce.claims import CLAIMS
from fmarl.reproduce.measures import MEASURES, Measure
from fmarl.reproduce.step_section import StepRow, line_through, step_rows
from fmarl.reproduce.study import VARIANTS
from fmarl.reproduce.study_results import Evidence
from fmarl.reproduce.tuning import areas_by_step, best_steps, step_symbol, tunable
from fmarl.reproduce.verdicts import LEAST_SEEDS, Claim, Verdict, together, weakest

EFFECT_DIGITS = 2
"""A third digit of a difference would be noise."""
LEAST_SHARE = 0.1
"""Of what is negligible: the digits of smaller effects are not shown."""

RULE = (
    "An effect is the mean difference between two methods on the "
    "same seeds, with its 95 % interval (Student's); positive is as claimed. It is supported if "
    "the whole interval is positive and the effect is not negligible, not supported if the whole "
    "interval lies below what is negligible, and undecided else, or with fewer than "
    f"{LEAST_SEEDS} seeds. A claim is supported if all its comparisons are, and not supported if "
    "one is not. Intervals are not widened for the number of comparisons. What was known when "
    "these rules were written is said in docs/reproduction.md."
)

TWICE = (
    "Decay, fewer local updates and even τ act partly as a smaller step. So every claim is decided "
    "twice: at the paper's η for all methods, and with each method at its own best η, chosen on "
    "seeds that are not reported (under TRPO, whose step is the same at every η, its best bound on "
    "the KL divergence of a step). Claim 15 is about plain SGD, at η = 1e-4 and at 1e-2, with "
    "which it learns, and at which its bound is proved for few methods: the others have no seeds "
    "there."
)

WORST = (
    "Beside each verdict stands the comparison that speaks most against the claim; all of them are "
    "below the table."
)

OTHER_CHOICES = (
    "Claims that were decided again with other choices, at one η for all methods (claim 15 aside). "
    "These runs may have fewer epochs than those above, and other code made them; each column "
    "compares its own runs with each other."
)
DOUBTS = "What they are there for, and what to add to “fmarl reproduce table4” to make them again."
AREAS = (
    "Mean NAS to epoch 100, choice by choice. [95 % intervals over seeds] The last line has what a "
    "tenth of a step more brings, by a straight line through the methods, and their correlation "
    "with it."
)


def claims_section(evidence: Evidence) -> Section:
    """All claims in one table, and all comparisons behind them."""
    fixed = {claim.number: evidence.verdicts(claim) for claim in CLAIMS}
    tuned = {claim.number: evidence.verdicts(claim, tuned=True) for claim in CLAIMS}
    columns: dict[str, Callable[[Claim], Text]] = {
        "The paper says": lambda claim: f"{claim.number}. {claim.says}",
        "where": lambda claim: claim.where,
        "at its η": lambda claim: decision(fixed[claim.number]),
        "each at its best η": lambda claim: decision(tuned[claim.number]),
    }
    rate = f"η = {evidence.study.choices.learning_rate:g}"
    return Section(
        "What holds",
        "claims",
        [
            Paragraph(RULE),
            Paragraph(TWICE),
            table_of(
                columns, CLAIMS, f"The paper's claims, decided by these runs ({rate}). {WORST}"
            ),
            _details("Every comparison at the paper's η", fixed),
            _details("Every comparison with each method at its own best η", tuned),
            *_steps(evidence),
        ],
    )


def decision(verdicts: Sequence[Verdict]) -> Text:
    """A verdict, and the comparison that speaks most against the claim."""
    word = together(verdicts)
    if word == "not run yet" or word == "it is about η itself":
        return word
    return [VerdictBadge(word), f" {effect_of(weakest(verdicts))}"]


def effect_of(verdict: Verdict) -> str:
    """How much better what should be better is, and by which measure."""
    return f"{_written(verdict)} in {_measure(verdict).label}"


def _written(verdict: Verdict) -> str:
    return with_interval(verdict.effect, EFFECT_DIGITS, LEAST_SHARE * _measure(verdict).negligible)


def _measure(verdict: Verdict) -> Measure:
    return MEASURES[verdict.comparison.measure]


def _details(summary: str, verdicts: dict[int, list[Verdict]]) -> Details:
    """A table of all comparisons, and their effects drawn measure by measure."""
    numbered = [(number, verdict) for number, found in verdicts.items() for verdict in found]
    columns: dict[str, Callable[[tuple[int, Verdict]], Text]] = {
        "claim": lambda one: str(one[0]),
        "better": lambda one: one[1].comparison.better,
        "than": lambda one: one[1].comparison.worse,
        "by": lambda one: _measure(one[1]).label,
        "effect": lambda one: _written(one[1]),
        "P(better)": lambda one: with_interval(one[1].improvement, EFFECT_DIGITS),
        "negligible": lambda one: f"{_measure(one[1]).negligible:g}",
        "seeds": lambda one: str(one[1].seeds),
        "verdict": lambda one: [VerdictBadge(one[1].word)],
    }
    caption = (
        "Effects with their 95 % intervals (Student's); positive is as the paper claims. "
        "P(better): how often a run of the first beats a run of the second, with a bootstrap "
        "interval."
    )
    table = table_of(columns, numbered, caption, "llllrrrrl")
    return Details(summary, [table, *_forests([verdict for _, verdict in numbered])])


def _forests(verdicts: Sequence[Verdict]) -> list[Block]:
    pictures: list[Block] = []
    for name, measure in MEASURES.items():
        known = [one for one in verdicts if one.comparison.measure == name and one.seeds > 1]
        if known:
            alternative = f"Effects by {measure.label}; the table above has the same numbers."
            caption = f"By {measure.label}; less than {measure.negligible:g} is negligible."
            pictures.append(Picture(drawings.forest(known, name), caption, alternative))
    return pictures


def _steps(evidence: Evidence) -> list[Block]:
    """How well each method did with each step, and which was chosen for it."""
    by_symbol: dict[str, list[str]] = {}
    for name, experiment in tunable(evidence.study).items():
        by_symbol.setdefault(step_symbol(experiment), []).append(name)
    return [_step_table(evidence, symbol, names) for symbol, names in by_symbol.items()]


def _step_table(evidence: Evidence, symbol: str, names: Sequence[str]) -> Table:
    study, results = evidence.study, evidence.results
    best, areas = best_steps(study, results), areas_by_step(study, results)
    rows: list[list[Text]] = [
        [name, *(number(area) for area in areas[name].values()), f"{best[name] or NOTHING}"]
        for name in names
    ]
    header = ["method", *(f"{symbol} = {step:g}" for step in areas[names[0]]), f"best {symbol}"]
    seeds = ", ".join(map(str, study.length.tuning_seeds))
    caption = (
        f"Mean NAS over runs of {study.length.tuned_epochs} epochs (in Merge "
        f"{study.length.merge_tuned_epochs}) on seeds {seeds}, by which each method's {symbol} is "
        "chosen."
    )
    return Table(header, rows, caption, "l" + "r" * (len(header) - 1))


def variants_section(evidence: Evidence, others: Mapping[str, Evidence]) -> Section:
    """Verdicts beside each other: of these runs, and of others by the name of their folder."""
    columns = {evidence.study.name: evidence, **others}
    rows: list[list[Text]] = [
        [
            f"{claim.number}. {claim.says}",
            *(decision(one.verdicts(claim)) for one in columns.values()),
        ]
        for claim in CLAIMS
        if any(verdict.seeds for one in others.values() for verdict in one.verdicts(claim))
    ]
    found = {name: step_rows(one) for name, one in columns.items()}
    doubts: dict[str, Callable[[str], str]] = {
        "results": lambda name: name,
        "the doubt": lambda name: VARIANTS[others[name].study.variant].doubt,
        "made with": lambda name: "--profile {0.profile} --variant {0.variant}".format(
            others[name].study
        ),
        "runs": lambda name: str(len(others[name].results)),
    }
    return Section(
        "Do claims depend on our choices?",
        "variants",
        [
            Paragraph(OTHER_CHOICES),
            table_of(doubts, others, DOUBTS, "lllr"),
            Table(["The paper says", *columns], rows, "Verdicts at one η, choice by choice."),
            Table(["method", *columns], area_rows(found), AREAS, "l" + "r" * len(columns)),
        ],
    )


def area_rows(found: Mapping[str, Sequence[StepRow]]) -> list[list[Text]]:
    """How well every method learns under each column's choices, and what longer steps bring it."""
    names = dict.fromkeys(row.name for rows in found.values() for row in rows)
    scores = [{row.name: with_interval(row.fixed) for row in rows} for rows in found.values()]
    return [
        *([name, *(one.get(name, NOTHING) for one in scores)] for name in names),
        ["a tenth of a step", *map(_rise, found.values())],
    ]


def _rise(rows: Sequence[StepRow]) -> str:
    line = line_through([row.share for row in rows], [row.fixed for row in rows])
    slope, correlation = round(line.slope / 10, 4), round(line.correlation, 2)
    return f"{number(slope, 2)} ({number(correlation, 2)})"
