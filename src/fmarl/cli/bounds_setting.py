"""Settings of `fmarl bounds` in words, as flags and files give them, and varied along an axis.

Each becomes a problem and a plan, which `theory` speaks of.
"""

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from fmarl.errors import BadInput, require
from fmarl.federation.missing_agents import of_those_who_learn
from fmarl.federation.parse import read_local_updates, read_mixing, refuse_ignored
from fmarl.settings_io import read_file, with_changes
from fmarl.theory import Plan, Problem, count_updates, exponential_decay, make_plan
from fmarl.topology import graph_from_text, largest_contracting_step, paper_step_problem

Axis = Literal["sync_period", "decay_rate", "consensus_rounds", "consensus_step", "num_agents"]
"""What a plot can vary."""

MOST_SETTINGS = 10_000
LARGEST = {"num_agents": 1_000, "sync_period": 10_000, "consensus_rounds": 1_000}
"""Sizes of arrays, so that a slip of the finger does not fill the memory."""
LARGEST_NUMBER = 10**12


@dataclass(frozen=True, kw_only=True)
class Setting:
    """A method and the problem it is used on. The defaults are the paper's Table III."""

    name: str = ""
    """What to call it in tables."""
    num_agents: int = 7
    """m: how many agents learn."""
    sync_period: int = 15
    """τ: updates between two averagings."""
    local_updates: str = "all"
    """τ_i: all (every agent makes τ updates), a range such as 1-15 (spread evenly over the
    agents), or a list such as 15,13,11,9,7,5,3."""
    step_seconds: str = ""
    """Mean time of one update per agent, such as 1,1.2,2.5; gives τ_i by the paper's Eq. (6)."""
    decay_rate: float = 1.0
    """λ: how fast trust in later local updates decays; 1 is no decay."""
    graph: str = "none"
    """Who exchanges gradients with whom: none, ring, path, star, complete, nearest:K, regular:D,
    geometric:R, best:EDGES, paper-13, paper-16, an edge list 0-1,1-2, or a file."""
    weights: str = "paper"
    """How neighbours are weighted: paper, optimal, metropolis, chebyshev or fdla."""
    consensus_step: float = 0.1
    """ε: step of the paper's weights."""
    consensus_rounds: int = 1
    """E: exchanges before each update (with a graph)."""
    learning_rate: float = 1e-4
    """η: step size of every agent."""
    num_epochs: int = 500
    """U: epochs of training."""
    epoch_steps: int = 1500
    """T: environment steps per epoch."""
    steps_per_update: int = 250
    """P: environment steps per update."""
    smoothness: float = 200.0
    """L: Lipschitz constant of the gradient. The paper states none; this is an example."""
    gradient_noise: float = 2000.0
    """σ²: variance of a minibatch gradient. An example, as L."""
    gradient_noise_slope: float = float(Problem.gradient_noise_slope)
    """β: growth of that variance with the squared gradient."""
    noise_correlation: float = float(Problem.noise_correlation)
    """c: share of the noise that all agents have in common (corrected bounds only)."""
    initial_gap: float = float(Problem.initial_gap)
    """ΔF: loss at the start minus the lowest loss."""
    initial_gradient_norm: float = float(Problem.initial_gradient_norm)
    """ψ2: squared gradient norm at the start."""
    upload_cost: float = float(Problem.upload_cost)
    """C1: price of one exchange with the virtual agent."""
    update_cost: float = float(Problem.update_cost)
    """C2: price of one local update."""
    exchange_cost: float = float(Problem.exchange_cost)
    """W1: price of one gradient sent to a neighbour."""
    mixing_cost: float = float(Problem.mixing_cost)
    """W2: price of mixing one received gradient."""
    seed: int = 0
    """Seed of random graphs."""

    def problem(self) -> Problem:
        return Problem(**{field.name: getattr(self, field.name) for field in fields(Problem)})

    def plan(self) -> Plan:
        """The method. Raises `BadInput` on the first thing that can not be."""
        self._require_sizes()
        refuse_ignored(self)
        require(
            self.steps_per_update > 0 and self.epoch_steps % self.steps_per_update == 0,
            f"epoch_steps = {self.epoch_steps} with steps_per_update = {self.steps_per_update}",
            "T is a multiple of P",
            "Change one of them so that an epoch holds whole updates.",
        )
        agents, mixing = self.num_agents, np.empty((0, self.num_agents, self.num_agents))
        if self.graph != "none":
            step, rounds = self.consensus_step, self.consensus_rounds
            mixing = read_mixing(self.graph, self.weights, step, rounds, agents, self.seed)
        updates = read_local_updates(
            self.local_updates, self.step_seconds, agents, self.sync_period
        )
        updates, mixing = of_those_who_learn(updates, mixing)
        return make_plan(
            sync_period=self.sync_period,
            local_updates=updates,
            decay=exponential_decay(self.decay_rate, self.sync_period),
            mixing=mixing,
            learning_rate=self.learning_rate,
            total_updates=count_updates(
                num_epochs=self.num_epochs,
                epoch_steps=self.epoch_steps,
                steps_per_update=self.steps_per_update,
            ),
        )

    def title(self) -> str:
        """Its name, or the words that make it differ from plain periodic averaging."""
        if self.name:
            return self.name
        varied = self.step_seconds or self.local_updates
        parts = [f"τ={self.sync_period}" if varied == "all" else f"τ_i={varied}"]
        parts += [f"λ={self.decay_rate:g}"] if self.decay_rate != 1 else []
        parts += [f"{self.graph} E={self.consensus_rounds}"] if self.graph != "none" else []
        return " ".join(parts)

    def warning(self) -> str | None:
        """What works but is outside the range that the paper's own text allows."""
        if self.graph == "none" or self.weights != "paper":
            return None
        graph = graph_from_text(self.graph, self.num_agents, seed=self.seed)
        return paper_step_problem(graph, self.consensus_step)

    def _require_sizes(self) -> None:
        for name in (field.name for field in fields(self) if field.type is int):
            value = getattr(self, name)
            smallest = 0 if name in ("seed", "consensus_rounds") else 1
            largest = LARGEST.get(name, LARGEST_NUMBER)
            require(
                smallest <= value <= largest,
                f"{name} = {value}",
                f"{smallest} <= {name} <= {largest}",
                "Give a number in that range.",
            )


def read_settings(path: Path, base: Setting) -> list[Setting]:
    """The settings of a file, on top of those given as flags.

    A file is one table of values; under `settings` it may list further tables, each a setting of
    its own that starts from the values above them. A bare JSON list is such a list.
    """
    content = read_file(path)
    listed = content if isinstance(content, list) else None
    if isinstance(content, dict):
        listed = content.pop("settings", None)
    start = base if listed is content else with_changes(base, content, str(path))
    if listed is None:
        return [start]
    require(
        isinstance(listed, list),
        f"settings = {listed!r:.40} in {path}",
        "a list of tables",
        "In TOML write [[settings]] before each.",
    )
    count = f"{len(listed)} settings in {path}"
    require(1 <= len(listed) <= MOST_SETTINGS, count, f"1 to {MOST_SETTINGS}", "Split the file.")
    return [
        with_changes(start, entry, f"{path}, setting {number}")
        for number, entry in enumerate(listed, 1)
    ]


def axis_values(setting: Setting, axis: Axis) -> Iterable[Any]:
    """Where a plot of this setting along an axis has its points."""
    if axis in ("consensus_rounds", "consensus_step"):
        given = f"--against {axis} without a graph"
        require(setting.graph != "none", given, "a graph", "Add --graph ring.")
    if axis == "sync_period":
        return range(1, max(30, 2 * setting.sync_period) + 1)
    if axis == "num_agents":
        return range(3, max(30, 2 * setting.num_agents) + 1)
    if axis == "consensus_rounds":
        return range(max(10, 2 * setting.consensus_rounds) + 1)
    if axis == "decay_rate":
        return np.linspace(0.5, 1, 51).tolist()
    graph = graph_from_text(setting.graph, setting.num_agents, seed=setting.seed)
    return (largest_contracting_step(graph) * np.linspace(0.01, 0.99, 50)).tolist()


def vary(setting: Setting, axis: Axis, value: Any) -> Setting:
    """The setting with another value of one of its numbers."""
    if axis == "sync_period":
        return replace(setting, sync_period=value, local_updates=_rescaled(setting, value))
    if axis == "num_agents":
        require(
            not setting.step_seconds and "," not in setting.local_updates,
            "--against num_agents with one entry per agent",
            "local updates for any number of agents",
            "Use all, or a range such as 1-15.",
        )
    return replace(setting, **{axis: value})


def _rescaled(setting: Setting, period: int) -> str:
    """A range of τ_i keeps its shape as the period changes; a list fixes the period."""
    if setting.step_seconds or setting.local_updates == "all":
        return setting.local_updates
    if "," in setting.local_updates or "-" not in setting.local_updates:
        raise BadInput(
            f"--against sync_period with local_updates = {setting.local_updates} is not allowed: "
            "a list fixes the period. Use all, or a range such as 1-15."
        )
    fewest = int(setting.local_updates.split("-")[0])
    return f"{max(1, round(fewest * period / setting.sync_period))}-{period}"
