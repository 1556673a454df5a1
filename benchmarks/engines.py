"""What learning on a Ray cluster costs, beside bare Ray and beside one process. Run: make bench.

| part | beside what |
|---|---|
| the end of a period, and one exchange of gradients | bare actors that pass as much on |
| periods of 7, 70 and 350 agents in a toy world | the same in one process |
| periods on Figure Eight | the same in one process |

Both sides take turns in this one run, and medians and their ratios are printed, because the
machines are shared. CPU says where a period's time goes; agents compute at the same time where
there are cores, so it may be more than the period took.
"""

import os
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import jax
import numpy as np
from _figures import in_turns, parser

os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", ".")  # Ray would write between our lines
import ray

from fmarl.cluster.actor_pool import ActorPool
from fmarl.cluster.agent_actor import FinalState
from fmarl.cluster.connect import joined
from fmarl.cluster.inbox import PARAMETERS, AttemptId, ExpectedUploads
from fmarl.cluster.membership import VIRTUAL, Membership
from fmarl.cluster.ray_engine import RayEngine
from fmarl.cluster.run_context import RunContext, own_code
from fmarl.cluster.settings import ClusterSettings
from fmarl.cluster.state import Arrays, CommittedState
from fmarl.engine.compiled import learning_keys, make_program
from fmarl.engine.engine import NOBODY, EngineState, Schedule
from fmarl.engine.experiment import Experiment, describe_experiment
from fmarl.engine.train import Training
from fmarl.federation.recipes import MethodConfig
from fmarl.federation.update import neighbours

GOAL = 1.5
RUN_ID = "benchmark"


class Sizes(NamedTuple):
    """How much is measured."""

    agents: int
    """Of the round trips."""
    warm_up: int
    turns: int
    toys: dict[int, tuple[int, int]]
    """Agents in all: those that share a process, and periods that are measured."""
    roads: tuple[dict[str, Any], ...]
    """Methods on Figure Eight."""
    road_agents: int
    """Those that share a process."""
    road_periods: int


PERIODIC: dict[str, Any] = {}
CONSENSUS = {"method": "consensus", "graph": "ring"}
SIZES = Sizes(
    agents=7,
    warm_up=10,
    turns=100,
    toys={7: (1, 20), 70: (10, 5), 350: (50, 2)},
    roads=(PERIODIC, CONSENSUS),
    road_agents=1,
    road_periods=3,
)
SMOKE = Sizes(
    agents=3,
    warm_up=0,
    turns=1,
    toys={3: (3, 1)},
    roads=(),
    road_agents=7,
    road_periods=1,
)


def toy(agents: int) -> Experiment:
    """Five slots a period in a world that costs little; an agent has about 9,000 parameters."""
    return Experiment(
        world="toy-quadratic",
        set=(f"num_agents={agents}", "targets=0.5", "epoch_steps=100"),
        together=MethodConfig(method="consensus", sync_period=5, graph="ring"),
        steps_per_update=20,
        test_every=0,
        sample_slots=0,
    )


def road(**together: Any) -> Experiment:
    """The paper's Figure Eight, without what is no part of its slots."""
    return Experiment(
        together=MethodConfig(**together), test_every=0, sample_slots=0, baseline=False
    )


class Ours:
    """Agents and the virtual agent as the engine starts them, without a world."""

    def __init__(self, experiment: Experiment, agents: int) -> None:
        with experiment.maker.make() as world:
            spec = world.spec
        self.agents = range(agents)
        context = RunContext(RUN_ID, describe_experiment(experiment), spec, own_code())
        self._pool = ActorPool(context, ClusterSettings())
        self._pool.num_agents = agents
        Membership(self._pool, agents, ClusterSettings())
        self._schedule = Schedule(experiment, spec)
        program = make_program(experiment.make_algorithm(spec), agents)
        state = program.init(self._schedule.method, learning_keys(experiment.seed)[1])
        self._committed = CommittedState(program, EngineState(state, []))
        self._attempt = AttemptId(0, 0)
        self._arrays = self._committed.starts([0], shared=True)[0]
        self.acting = self._pool.fetch([self._load_state(agent) for agent in self.agents])[0]
        self._steps = [self._arrays[PARAMETERS]] * agents

    def end_period(self) -> tuple[FinalState, list[Arrays]]:
        """Upload, average, and begin the next period; everything that the driver does then."""
        end = self._committed.update_count + self._schedule.sync_period
        given = (self._attempt, end, True)
        called = [
            self._pool.call_agent(agent, "upload_state", given, None, returns=2)
            for agent in self.agents
        ]
        final = self._pool.fetch([own for _, own in called])
        uploads = [upload for upload, _ in called]
        given = (self._attempt, self._expected(), NOBODY, end, {}, None, *uploads)
        [result] = self._pool.fetch([self._pool.call(VIRTUAL, "collect", *given)])
        assert result.averages is not None, result.receipts
        states = {agent: own.state for agent, own in enumerate(final)}
        self._committed.commit(end, states, result, [])
        self._attempt = AttemptId(self._attempt.period + 1, 0)
        self._pool.fetch([self._begin_period(agent) for agent in self.agents])
        return final[0], result.averages

    def exchange(self) -> None:
        """One round in which every agent mixes in what its two neighbours found."""
        method, count = self._schedule.method, self._committed.update_count
        steps = []
        for agent in self.agents:
            whose = neighbours(method.mixing[0, agent], agent)
            rows = [self._steps[other] for other in whose]
            given = (self._attempt, count, 0, False, False)
            steps.append(self._pool.call_agent(agent, "mix", given, *rows, returns=2)[0])
        wait_for(steps)
        self._steps = steps

    def close(self) -> None:
        """End the actors."""
        self._pool.close()

    def _load_state(self, agent: int) -> Any:
        given = (self._attempt, NOBODY, self._committed.agents[agent])
        return self._pool.call_agent(agent, "load_state", given)

    def _begin_period(self, agent: int) -> Any:
        given = (self._attempt, NOBODY, self._committed.average_of(agent))
        return self._pool.call_agent(agent, "begin_period", given)

    def _expected(self) -> ExpectedUploads:
        turns = self._schedule.method.local_updates
        return ExpectedUploads(
            run_id=RUN_ID,
            period=self._attempt.period,
            attempt=self._attempt.attempt,
            present=frozenset(self.agents),
            bases=self._committed.bases(),
            local_updates=tuple(turns[self._attempt.period % len(turns)].tolist()),
            shapes={name: row.shape for name, row in self._arrays.items()},
        )


class Answer:
    """An actor that answers with what it was given, and does nothing."""

    def __init__(self, **answers: Any) -> None:
        self._answers = answers

    def answer(self, what: str, *given: Any) -> Any:
        """Call it a hand-over, an average, whatever."""
        return self._answers[what]


class Bare:
    """The same messages between bare actors, whose arrays are as large as ours."""

    def __init__(self, ours: Ours) -> None:
        final, averages = ours.end_period()
        average = _as_large(averages[0])
        step, own = _as_large(final.state.row), _as_large(final)
        answers = {"end": (average, own), "begin": _as_large(ours.acting), "mix": (step, None)}
        actor: Any = ray.remote(num_cpus=0)(Answer)
        self._agents = [actor.remote(**answers) for _ in ours.agents]
        self._virtual = actor.remote(collect=[average.copy() for _ in ours.agents])
        self._steps: list[Any] = [step] * len(ours.agents)

    def end_period(self) -> None:
        """Two messages up, one down, for each agent."""
        asked = [agent.answer.options(num_returns=2).remote("end") for agent in self._agents]
        ray.get([own for _, own in asked])
        averages = ray.get(self._virtual.answer.remote("collect", *[up for up, _ in asked]))
        pairs = zip(self._agents, averages, strict=True)
        ray.get([agent.answer.remote("begin", average) for agent, average in pairs])

    def exchange(self) -> None:
        """Each agent's array to two others."""
        steps = []
        for number, agent in enumerate(self._agents):
            rows = [self._steps[(number + off) % len(self._agents)] for off in (-1, 0, 1)]
            steps.append(agent.answer.options(num_returns=2).remote("mix", *rows)[0])
        wait_for(steps)
        self._steps = steps

    def close(self) -> None:
        """End the actors."""
        for actor in (*self._agents, self._virtual):
            ray.kill(actor)


def wait_for(references: Sequence[Any]) -> None:
    """Wait until all is there; nothing is fetched."""
    ray.wait(list(references), num_returns=len(references), fetch_local=False)


def _as_large(tree: Any) -> np.ndarray:
    """One array with as many bytes as a tree of arrays."""
    size = sum(np.asarray(leaf).nbytes for leaf in jax.tree.leaves(tree))
    return np.zeros(size // 4, np.float32)


def show_round_trips(agents: int, warm_up: int, turns: int) -> None:
    """Our messages beside as many bare ones."""
    ours = Ours(toy(agents), agents)
    bare = Bare(ours)
    print(f"round trips of {agents} agents, ms, medians of {turns} turns each")
    print(f"{'':28}{'ours':>8}{'bare':>8}{'ratio':>8}")
    try:
        for name in ("end_period", "exchange"):
            pair = getattr(ours, name), getattr(bare, name)
            mine, theirs = in_turns(*pair, turns, warm_up)
            shown = f"{1e3 * mine:8.2f}{1e3 * theirs:8.2f}{mine / theirs:8.2f}"
            print(f"  {name.replace('_', ' '):26}{shown}  (at most {GOAL:g} wanted)")
    finally:
        ours.close()
        bare.close()


class Spent(NamedTuple):
    """What a period took: milliseconds, and CPU milliseconds by who used them."""

    wall: float
    cpu: dict[str, float]


PARTS = ("agents", "world", "virtual", "here", "Ray")
"""Who uses CPU; `here` is this process: it learns for all agents, or drives the actors."""


def show_periods(name: str, experiment: Experiment, per_actor: int, periods: int) -> None:
    """Periods in one process and on the cluster, in turns."""
    settings = ClusterSettings(agents_per_actor=per_actor)
    on_ray = partial(RayEngine, settings=settings)
    here, rays = os.getpid(), children(os.getpid())
    with Training(experiment) as alone, Training(experiment, on_ray, RUN_ID) as together:
        sides = (
            (alone, {"here": [here], "world": [*children(here) - rays]}),
            (together, {"here": [here], "Ray": [*rays], **actors(together)}),
        )
        spent: list[list[Spent]] = [[], []]
        for _ in range(1 + periods):
            for (training, processes), found in zip(sides, spent, strict=True):
                found.append(period_of(training, processes))
        same = alone.digest() == together.digest()
        units = alone.schedule.sync_period * alone.schedule.method.num_agents
    one, other = (middle(found[1:]) for found in spent)
    show(f"{name}, in process", one, units)
    show(f"{name}, on Ray", other, units)
    bits = "the same bits" if same else "other bits: many at once round differently"
    print(f"    on Ray to in process: {other.wall / one.wall:.2f}; {bits}")


def actors(training: Training) -> dict[str, list[int]]:
    """Processes of a run on the cluster, by part; a world has one of its own."""
    found: dict[str, list[int]] = {"agents": [], "world": [], "virtual": []}
    for event in training.engine.events():
        [part] = found.keys() & event.keys()
        found[part] += [event["pid"], *children(event["pid"])]
    return found


def middle(found: Sequence[Spent]) -> Spent:
    """The median of each figure."""
    cpu = {part: median(one.cpu[part] for one in found) for part in found[0].cpu}
    return Spent(median(one.wall for one in found), cpu)


def show(name: str, spent: Spent, units: int) -> None:
    """One line of the table."""
    cpu = "".join(f"{spent.cpu[part]:9.0f}" if part in spent.cpu else f"{'':9}" for part in PARTS)
    print(f"  {name:34}{spent.wall:10.0f}{1e3 * spent.wall / units:13.0f}{cpu}")


def period_of(training: Training, processes: dict[str, list[int]]) -> Spent:
    """Train for one period."""
    end = training.schedule.period_end(training.update_count)
    before = {part: cpu_seconds(pids) for part, pids in processes.items()}
    begun = time.perf_counter()
    while training.update_count < end:
        list(training.advance())
    wall = time.perf_counter() - begun
    cpu = {part: 1e3 * (cpu_seconds(pids) - before[part]) for part, pids in processes.items()}
    return Spent(1e3 * wall, cpu)


def cpu_seconds(pids: Sequence[int]) -> float:
    """What processes have used, from the clock that clock_getcpuclockid(3) names."""
    return sum(time.clock_gettime((~pid << 3) | 2) for pid in pids)


def children(pid: int) -> set[int]:
    """Processes that a process has started."""
    lists = [path.read_text().split() for path in Path(f"/proc/{pid}/task").glob("*/children")]
    return {int(child) for some in lists for child in some}


def main() -> None:
    """Measure and print."""
    sizes = SMOKE if parser(__doc__ or "").parse_args().smoke else SIZES
    with joined(None):
        show_round_trips(sizes.agents, sizes.warm_up, sizes.turns)
        print(f"\n{'periods, medians':36}{'ms':>10}{'µs per agent':>13}   CPU ms")
        print(f"{'':36}{'':10}{'and slot':>13}" + "".join(f"{part:>9}" for part in PARTS))
        for agents, (per_actor, periods) in sizes.toys.items():
            show_periods(f"{agents} agents, {per_actor} a process", toy(agents), per_actor, periods)
        for method in sizes.roads:
            name = f"Figure Eight, {method.get('method', 'periodic')}"
            show_periods(name, road(**method), sizes.road_agents, sizes.road_periods)


if __name__ == "__main__":
    main()
