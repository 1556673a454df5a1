"""The part of the report that says what holds: every claim, its verdict, its effect."""

from collections.abc import Sequence

from fmarl.report.format import NOTHING, number, with_interval
from fmarl.report.page import Block, Details, Paragraph, Picture, Section, Table, Text
from fmarl.report.page import Verdict as Badge
from fmarl.report.statistics import Interval
from fmarl.reproduce import figures as drawings
from fmarl.reproduce.claims import CLAIMS, Claim
from fmarl.reproduce.measures import MEASURES, Measure
from fmarl.reproduce.study_results import Evidence
from fmarl.reproduce.tuning import areas_by_step, best_steps, step_symbol, tunable
from fmarl.reproduce.verdicts import LEAST_SEEDS, Verdict, together, weakest

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


def claims_section(evidence: Evidence) -> Section:
    """All claims in one table, and all comparisons behind them."""
    fixed = {claim.number: evidence.verdicts(claim) for claim in CLAIMS}
    tuned = {claim.number: evidence.verdicts(claim, tuned=True) for claim in CLAIMS}
    rows = [_row(claim, fixed[claim.number], tuned[claim.number]) for claim in CLAIMS]
    header = ["The paper says", "where", "at its η", "each at its best η"]
    rate = f"η = {evidence.study.choices.learning_rate:g}"
    return Section(
        "What holds",
        "claims",
        [
            Paragraph(RULE),
            Paragraph(TWICE),
            Table(header, rows, f"The paper's claims, decided by these runs ({rate}). {WORST}"),
            _details("Every comparison at the paper's η", fixed),
            _details("Every comparison with each method at its own best η", tuned),
            *_steps(evidence),
        ],
    )


def _row(claim: Claim, fixed: Sequence[Verdict], tuned: Sequence[Verdict]) -> list[Text]:
    says = f"{claim.number}. {claim.says}"
    return [says, claim.where, decision(fixed), decision(tuned)]


def decision(verdicts: Sequence[Verdict]) -> Text:
    """A verdict, and the comparison that speaks most against the claim."""
    word = together(verdicts)
    if word == "not run yet" or word == "it is about η itself":
        return word
    return [Badge(word), f" {effect_of(weakest(verdicts))}"]


def effect_of(verdict: Verdict) -> str:
    """How much better what should be better is, and by which measure."""
    measure = MEASURES[verdict.comparison.measure]
    return f"{_written(verdict.effect, measure)} in {measure.label}"


def _written(effect: Interval, measure: Measure) -> str:
    return with_interval(effect, EFFECT_DIGITS, LEAST_SHARE * measure.negligible)


def _details(summary: str, verdicts: dict[int, list[Verdict]]) -> Details:
    """A table of all comparisons, and their effects drawn measure by measure."""
    rows: list[Sequence[Text]] = [
        _comparison_row(number, verdict) for number, found in verdicts.items() for verdict in found
    ]
    header = ["claim", "better", "than", "by", "effect", "bootstrap", "P(better)", "negligible"]
    caption = (
        "Effects with their 95 % intervals, by Student and by the bootstrap; positive is as the "
        "paper claims. P(better): how often a run of the first beats a run of the second."
    )
    blocks: list[Block] = [Table([*header, "seeds", "verdict"], rows, caption, "llllrrrrrl")]
    return Details(
        summary, blocks + _forests([one for found in verdicts.values() for one in found])
    )


def _comparison_row(number: int, verdict: Verdict) -> list[Text]:
    comparison, measure = verdict.comparison, MEASURES[verdict.comparison.measure]
    return [
        str(number),
        comparison.better,
        comparison.worse,
        measure.label,
        _written(verdict.effect, measure),
        _written(verdict.resampled, measure),
        with_interval(verdict.improvement, EFFECT_DIGITS),
        f"{measure.negligible:g}",
        str(verdict.seeds),
        [Badge(verdict.word)],
    ]


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
    methods = tunable(evidence.study)
    by_symbol: dict[str, list[str]] = {}
    for name, experiment in methods.items():
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
