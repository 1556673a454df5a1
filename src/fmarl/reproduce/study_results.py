"""The runs of a study, found by the names that figures and claims use."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from fmarl.report.statistics import Interval, seed_interval
from fmarl.reproduce import paper
from fmarl.reproduce.bound_runs import BOUND_RATES, bound_experiments, bound_name
from fmarl.reproduce.claims import BOUND_OF, MEASURED
from fmarl.reproduce.measures import MEASURES
from fmarl.reproduce.methods import on_seed
from fmarl.reproduce.result_keys import key_of
from fmarl.reproduce.results import Result, read_about, read_results
from fmarl.reproduce.run_plan import named_experiments, seeds_of
from fmarl.reproduce.study import Study, make_study
from fmarl.reproduce.tuning import TUNED, tuned_experiments
from fmarl.reproduce.verdicts import Claim, Verdict, decide, together


class Evidence:
    """What is known: all runs of a study that are there."""

    def __init__(self, study: Study, results: Mapping[str, Result]) -> None:
        self.study, self.results = study, results
        self._experiments = {
            **named_experiments(study),
            **bound_experiments(study),
            **tuned_experiments(study, results),
        }
        self._found: dict[str, dict[int, Result]] = {}
        self._verdicts: dict[tuple[Claim, bool], list[Verdict]] = {}

    def runs(self, name: str) -> dict[int, Result]:
        """The runs of a method by seed; those of the seeds that are to be reported."""
        experiment = self._experiments.get(name)
        if experiment and name not in self._found:
            keys = {seed: key_of(on_seed(experiment, seed)) for seed in seeds_of(self.study, name)}
            there = {seed: key for seed, key in keys.items() if key in self.results}
            self._found[name] = {seed: self.results[key] for seed, key in there.items()}
        return self._found.get(name, {})

    def level(self, world: str = "figure-eight") -> float:
        """NAS that SUMO's own drivers reach; not a number if it was not measured."""
        values = self.sumo(world)
        return float(np.mean(values)) if values else float("nan")

    def sumo(self, world: str = "figure-eight") -> list[float]:
        """The same by seed: the tests of a run that obeys nobody, before it has learned."""
        name = paper.SUMO if world == "figure-eight" else paper.MERGE_SUMO
        return [float(result.curve[0]) for result in self.runs(name).values()]

    def scores(self, name: str, measure: str) -> dict[int, float]:
        """One number per seed."""
        score, level = MEASURES[measure].score, self.level()
        return {seed: score(result, level) for seed, result in self.runs(name).items()}

    def interval(self, name: str, measure: str) -> Interval:
        """Their mean, with its interval over seeds."""
        return seed_interval(list(self.scores(name, measure).values()))

    def margins(self, name: str, rate: float) -> dict[int, float]:
        """How far bounds lie above what was measured at this η; what was measured is the zero."""
        if name == MEASURED:
            return dict.fromkeys(range(self.study.length.bound_seeds), 0.0)
        return self.scores(bound_name(name.removeprefix(BOUND_OF), rate), "bound")

    def verdicts(self, claim: Claim, *, tuned: bool = False) -> list[Verdict]:
        """What the runs say to each comparison of a claim; nothing where it does not apply."""
        if (claim, tuned) not in self._verdicts:
            self._verdicts[claim, tuned] = self._decide(claim, tuned=tuned)
        return self._verdicts[claim, tuned]

    def _decide(self, claim: Claim, *, tuned: bool) -> list[Verdict]:
        if tuned and claim.is_about_rates:
            return []
        prefix, rate = (TUNED, BOUND_RATES[-1]) if tuned else ("", BOUND_RATES[0])

        def found(name: str, measure: str) -> dict[int, float]:
            is_bound = measure == "bound"
            return self.margins(name, rate) if is_bound else self.scores(prefix + name, measure)

        return [decide(comparison, found) for comparison in claim.comparisons]

    def decisions(self, claim: Claim) -> list[str]:
        """What becomes of a claim: at the paper's η, and with each method at its own best η."""
        return [together(self.verdicts(claim, tuned=tuned)) for tuned in (False, True)]


def read_evidence(folder: Path) -> Evidence:
    """All results of a folder, as a study of the profile and variant that it was made with."""
    about = read_about(folder)
    return Evidence(make_study(about["profile"], about["variant"]), read_results(folder))
