"""The same experiment on both engines, with faults on one and absences on the other."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from fmarl.cluster.faults.plan import Fault, FaultPlan
from fmarl.cluster.ray_engine import RayEngine
from fmarl.cluster.settings import ClusterSettings
from fmarl.engine.engine import LocalEngine, MakeEngine
from fmarl.engine.experiment import Experiment
from fmarl.engine.train import begin, resume
from fmarl.federation.recipes import MethodConfig
from fmarl.records.jsonl import read_lines
from fmarl.records.run_folder import RunFolder

SYNC_PERIOD = 4


class Ended(NamedTuple):
    """A run as it ended."""

    digest: str
    metrics: list[dict[str, Any]]
    events: list[dict[str, Any]]

    @property
    def codes(self) -> list[str]:
        """What happened, apart from what always does."""
        return [event["code"] for event in self.events if event["code"] != "ACTOR_STARTED"]


def toy(agents: int = 3, worlds: int = 1, algorithm: str = "ppo", **together: Any) -> Experiment:
    """Ten slots of a world that costs nothing: two periods and a half of four slots."""
    method = {"method": "periodic", "sync_period": SYNC_PERIOD, "learning_rate": 0.01, **together}
    if method["method"] in ("synchronous", "delayed", "delayed-adoption"):
        del method["sync_period"]
    return Experiment(
        world="toy-bumpy",
        set=(f"num_agents={agents}", "epoch_steps=40"),
        num_worlds=worlds,
        algorithm=algorithm,
        steps_per_update=20,
        num_epochs=5,
        test_every=2,
        test_repetitions=1,
        sample_slots=3,
        together=MethodConfig(**method),
    )


def longer(experiment: Experiment, periods: int) -> Experiment:
    """The same for so many periods."""
    slots = periods * SYNC_PERIOD
    return Experiment(**{**vars(experiment), "num_epochs": slots // 2, "test_every": 0})


def in_one_process(
    folder: Path,
    experiment: Experiment,
    away: Callable[[int], frozenset[int]] | dict[int, set[int]] | None = None,
) -> Ended:
    """The oracle: the run in this process, with agents away in some periods."""
    if isinstance(away, dict):
        absent = {period: frozenset(agents) for period, agents in away.items()}
        away = lambda period: absent.get(period, frozenset())  # noqa: E731
    make_engine = LocalEngine if away is None else partial(LocalEngine, absent=away)
    return _ended(begin(experiment, folder), make_engine)


def on_ray(folder: Path, experiment: Experiment, *faults: Fault, **settings: Any) -> Ended:
    """The run on the cluster."""
    return go_on_on_ray(begin(experiment, folder), *faults, **settings)


def go_on_on_ray(folder: Path, *faults: Fault, **settings: Any) -> Ended:
    """A run that was begun, on the cluster."""
    made = ClusterSettings(plan=FaultPlan(tuple(faults)), **settings)
    return _ended(folder, partial(RayEngine, settings=made))


def absences(events: list[dict[str, Any]], sync_period: int = SYNC_PERIOD) -> dict[int, set[int]]:
    """Who was away in which period, from what a run has written down."""
    away: dict[int, set[int]] = {}
    for event in events:
        if event["code"] == "RESUMED":  # what came after the checkpoint was played again
            first = event["update_count"] // sync_period
            away = {period: agents for period, agents in away.items() if period < first}
        elif event["code"] == "PERIOD_WITHOUT":
            away[event["period"]] = set(event["agents"])
    return away


def _ended(folder: Path, make_engine: MakeEngine) -> Ended:
    run = resume(folder, make_engine=make_engine)
    paths = RunFolder(folder)
    return Ended(run.digest, read_lines(paths.metrics).records, read_lines(paths.events).records)
