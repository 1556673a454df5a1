"""The same experiment on both engines, with faults on one and absences on the other."""

from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from fmarl.cluster.faults.injector import FaultInjector
from fmarl.cluster.faults.plan import Fault, FaultPlan
from fmarl.cluster.ray_engine import RayEngine
from fmarl.cluster.settings import ClusterSettings
from fmarl.engine.engine import LocalEngine, MakeEngine
from fmarl.engine.experiment import Experiment
from fmarl.engine.run import begin, resume, silence
from fmarl.engine.run_writer import Listener
from fmarl.federation.recipes import MethodConfig
from fmarl.records.jsonl import read_lines
from fmarl.records.run_folder import RunFolder

SYNC_PERIOD = 4
DEADLINE_SECONDS = 300.0
"""Dead processes are noticed at once whatever it is, but new ones may take long to start on a busy
machine, and a period must not go on without them where a test counts them."""


class FinishedRun(NamedTuple):
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
    absent: dict[int, set[int]] | None = None,
) -> FinishedRun:
    """The oracle: the run in this process, with agents absent in some periods."""

    def absent_in(period: int) -> frozenset[int]:
        return frozenset((absent or {}).get(period, ()))

    return _finished(begin(experiment, folder), partial(LocalEngine, absent=absent_in))


def on_ray(folder: Path, experiment: Experiment, *faults: Fault, **settings: Any) -> FinishedRun:
    """The run on the cluster."""
    return resume_on_ray(begin(experiment, folder), *faults, **settings)


def resume_on_ray(
    folder: Path, *faults: Fault, listen: Listener = silence, **settings: Any
) -> FinishedRun:
    """A run that was begun, on the cluster."""
    injector = FaultInjector(FaultPlan(tuple(faults)))
    made = ClusterSettings(**{"deadline_seconds": DEADLINE_SECONDS, **settings, "faults": injector})
    return _finished(folder, partial(RayEngine, settings=made), listen)


def absences(events: list[dict[str, Any]], sync_period: int = SYNC_PERIOD) -> dict[int, set[int]]:
    """Who was absent in which period, from what a run has written down."""
    absent: dict[int, set[int]] = {}
    for event in events:
        if event["code"] == "RESUMED":  # what came after the checkpoint was played again
            first = event["update_count"] // sync_period
            absent = {period: agents for period, agents in absent.items() if period < first}
        elif event["code"] == "PERIOD_WITHOUT":
            absent[event["period"]] = set(event["agents"])
    return absent


def _finished(folder: Path, make_engine: MakeEngine, listen: Listener = silence) -> FinishedRun:
    run = resume(folder, listen=listen, make_engine=make_engine)
    paths = RunFolder(folder)
    return FinishedRun(
        run.digest, read_lines(paths.metrics).records, read_lines(paths.events).records
    )
