"""Runs for reports: real folders by the real writers, with numbers that a test chooses."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from fmarl.algorithms.agent_config import AgentConfig
from fmarl.algorithms.ppo import PPOConfig
from fmarl.engine.experiment import Experiment, describe_experiment
from fmarl.federation.ledger import MessageSizes, after_slot, bytes_sent, empty_ledger
from fmarl.federation.method import Method
from fmarl.federation.method_file import describe_method
from fmarl.federation.recipes import MethodConfig, make_from_config
from fmarl.records.jsonl import LineWriter
from fmarl.records.run_description import describe_run
from fmarl.records.run_folder import RunFolder, create_run
from fmarl.records.strict_json import seal

NUM_AGENTS = 7
SLOTS = 6
"""Per epoch, as in the paper."""
EPOCHS = 5
"""Of runs that are measured."""
SIZES = MessageSizes(upload=400, exchange=400)

RISING = (0.1, 0.2, 0.3)


def road(method: str = "periodic", seed: int = 0, **changes: Any) -> Experiment:
    """Two epochs on Figure Eight with a test after each; nothing is ever played."""
    together = MethodConfig(method=method, **changes.pop("together", {}))
    settings = {"num_epochs": 2, "test_every": 1, "test_repetitions": 2, **changes}
    return Experiment(together=together, seed=seed, **settings)


def plain(method: str = "periodic", **together: Any) -> Experiment:
    """Plain SGD in one pass, said to be measured: what the theory speaks of."""
    agent, ppo = AgentConfig(optimiser="sgd"), PPOConfig(passes=1)
    changes = {"agent": agent, "ppo": ppo, "samples": "there", "num_epochs": EPOCHS}
    return road(method, together=together, **changes)


def write_run(
    folder: Path,
    experiment: Experiment,
    rewards: Sequence[float | None] = RISING,
    *,
    baseline: float | None = 0.25,
    norms: Sequence[float] = (),
    crashed: bool = False,
    started: str = "2026-11-16T05:00:00+00:00",
) -> Path:
    """A run whose tests found these rewards: before any learning, and after each epoch.

    With `norms`, those are measured at the start and at every averaging.
    """
    description = describe_run(describe_experiment(experiment), {"run": experiment.seed})
    words = ["/usr/bin/fmarl", "train", experiment.world, "--out", "my runs/x"]
    create_run(folder, {**description, "started": started, "command_line": words})
    lines = make_lines(experiment, rewards, norms, crashed)
    if baseline is not None:
        beginning = {"kind": "baseline", "epoch": 0, "update_count": 0}
        lines.insert(1, {**beginning, "mean": baseline, "rewards": [baseline, baseline]})
    with LineWriter(RunFolder(folder).metrics) as writer:
        for line in lines:
            writer.append(line)
    RunFolder(folder).method.write_bytes(seal(_method_facts(experiment)))
    return folder


def make_lines(
    experiment: Experiment,
    rewards: Sequence[float | None],
    norms: Sequence[float] = (),
    crashed: bool = False,
) -> list[dict[str, Any]]:
    """Metrics as a run writes them; the ledger counts what the method would do."""
    method = _method(experiment)
    start = {"kind": "start", "epoch": 0, "update_count": 0, "num_agents": NUM_AGENTS}
    first = {"expected_gradient_norm": norms[0]} if norms else {}
    lines: list[dict[str, Any]] = [{**start, **first}, _test(0, rewards[0], crashed)]
    ledger, left = empty_ledger(NUM_AGENTS), list(norms[1:])
    for epoch, reward in enumerate(rewards[1:], start=1):
        here: list[float] = []
        for slot in range((epoch - 1) * SLOTS, epoch * SLOTS):
            ledger = after_slot(ledger, method, slot)
            if left and (slot + 1) % int(method.sync_period) == 0:
                here.append(left.pop(0))
        measured = {
            "expected_gradient_norm": sum(here) / max(len(here), 1),
            "gradient_norms_measured": len(here),
        }
        counts = {**ledger.totals(), "bytes_sent": bytes_sent(ledger, SIZES)}
        line = {"kind": "epoch", "epoch": epoch, "update_count": epoch * SLOTS, **counts}
        lines += [{**line, **(measured if here else {})}, _test(epoch, reward, crashed)]
    return lines


def seeds(
    parent: Path, method: str, values: Sequence[Sequence[float | None]], **changes: Any
) -> Path:
    """A folder of runs that differ in nothing but the seed, which counts from 0."""
    for seed, rewards in enumerate(values):
        write_run(parent / f"seed-{seed}", road(method, seed, **changes), rewards)
    return parent


def shifted(experiment: Experiment, **changes: Any) -> Experiment:
    """The same with other settings of learning together."""
    return replace(experiment, together=replace(experiment.together, **changes))


def _test(epoch: int, reward: float | None, crashed: bool) -> dict[str, Any]:
    line = {"kind": "test", "epoch": epoch, "update_count": epoch * SLOTS, "mean": reward}
    return {
        **line,
        "rewards": [reward, reward],
        "steps": [1500, 1500],
        "crashed": [crashed, False],
        "returns": [None if reward is None else 10 * reward] * NUM_AGENTS,
    }


def _method(experiment: Experiment) -> Method:
    return make_from_config(experiment.together, NUM_AGENTS, 1, 0, experiment.num_worlds)


def _method_facts(experiment: Experiment) -> dict[str, Any]:
    method = _method(experiment)
    return describe_method(method, experiment.num_epochs * SLOTS, SLOTS)
