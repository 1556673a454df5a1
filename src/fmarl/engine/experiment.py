"""An experiment: everything that decides how a run goes, in one frozen tree of settings.

The command line is made from it, `run.json` holds it, and two runs of equal experiments end with
the same bits. Nothing is looked up elsewhere, and nothing is filled in later.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Annotated, Any

import tyro

from fmarl.algorithms.agent_config import AgentConfig
from fmarl.algorithms.algorithm import Algorithm
from fmarl.algorithms.ppo import PPOConfig, make_ppo
from fmarl.algorithms.tac import TACConfig, make_tac
from fmarl.algorithms.trpo import TRPOConfig, make_trpo
from fmarl.errors import BadInput, require
from fmarl.federation.method import Method
from fmarl.federation.recipes import METHODS, MethodConfig, make_from_config
from fmarl.rollout.protocol import WorldMaker
from fmarl.rollout.seeds import MAX_RUN_SEED, derived_seed
from fmarl.settings_io import parse_changes, to_plain
from fmarl.worlds.world import WorldSpec

ALGORITHMS: dict[str, Callable[..., Algorithm]] = {
    "ppo": make_ppo,
    "trpo": make_trpo,
    "tac": make_tac,
}
"""From the word of the command line to a function that makes the algorithm."""

WORLD_FACTORY = "fmarl.worlds.registry:make_world"

# Its fields are flags without a prefix.
_flat = tyro.conf.arg(name="")


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """A world, how agents learn alone, how they learn together, and for how long."""

    world: tyro.conf.Positional[str] = "figure-eight"
    """figure-eight, merge, toy-quadratic, toy-bumpy, gym:ID or pettingzoo:MODULE."""
    set: tuple[str, ...] = ()
    """Options of the world, such as speed_limit=30 human_type.accel=2.6 preset=flow."""
    num_worlds: int = 1
    """Copies of the world, each with its own traffic; the agents of all learn together."""
    algorithm: str = "ppo"
    """How one agent learns: ppo, trpo or tac."""
    together: Annotated[MethodConfig, _flat] = field(default_factory=MethodConfig)
    """How agents learn together."""
    agent: Annotated[AgentConfig, _flat] = field(default_factory=AgentConfig)
    """What an agent is made of."""
    ppo: PPOConfig = field(default_factory=PPOConfig)
    """Settings of PPO."""
    trpo: TRPOConfig = field(default_factory=TRPOConfig)
    """Settings of TRPO."""
    tac: TACConfig = field(default_factory=TACConfig)
    """Settings of the Tsallis actor-critic."""
    anneal: tyro.conf.FlagCreatePairsOff[bool] = False
    """Let the learning rate fall linearly to zero over the run."""
    seed: int = 0
    """Everything random derives from it: networks, traffic, noise, what a method draws."""
    num_epochs: int = 500
    """U: epochs of training."""
    steps_per_update: int = 250
    """P: steps of the world per update."""
    test_every: int = 10
    """Epochs between two tests; 0 for none."""
    test_repetitions: int = 5
    """Epochs played in a test, without chance in the actions."""
    baseline: bool = True
    """On roads: before anything is learned, let SUMO drive the test epochs, to compare with."""
    sample_slots: int = 8
    """Slots that are kept as samples, spread over the run: what gradient norms are measured on."""
    samples: str = ""
    """Folder of a run whose samples the gradient norm is measured on; empty for no measurement."""
    max_bad_updates: int = 10
    """Slots in a row in which some agent's step is not finite, before the run gives up."""

    def __post_init__(self) -> None:
        _check_numbers(self)
        known = ", ".join(ALGORITHMS)
        require(
            self.algorithm in ALGORITHMS, f"algorithm {self.algorithm!r:.40}", known, "Use ppo."
        )
        known, word = ", ".join(METHODS), self.together.method
        require(word in METHODS, f"method {word!r:.40}", f"one of {known}", "Choose one.")
        parse_changes(self.set)
        _refuse_unused(self)

    @property
    def maker(self) -> WorldMaker:
        """How workers make the world."""
        return WorldMaker(self.world, parse_changes(self.set), WORLD_FACTORY)

    def updates_per_epoch(self, spec: WorldSpec) -> int:
        """T / P: slots in an epoch."""
        steps = self.steps_per_update
        require(
            spec.epoch_steps % steps == 0,
            f"steps_per_update = {steps} in epochs of {spec.epoch_steps} steps",
            "a divisor, so that an epoch holds whole updates",
            f"Use {_divisor_near(spec.epoch_steps, steps)}.",
        )
        return spec.epoch_steps // steps

    def total_updates(self, spec: WorldSpec) -> int:
        """K: slots of the whole run."""
        return self.num_epochs * self.updates_per_epoch(spec)

    def make_algorithm(self, spec: WorldSpec) -> Algorithm:
        """How one agent of this world learns."""
        shapes = (spec.observation_size, spec.num_actions, spec.is_discrete)
        return _algorithm(self.algorithm, getattr(self, self.algorithm), self.agent, *shapes)

    def make_method(self, spec: WorldSpec) -> Method:
        """How the agents of all worlds learn together."""
        periods = -(-self.total_updates(spec) // max(self.together.sync_period, 1))
        agents = spec.num_agents * self.num_worlds
        seed = derived_seed(self.seed, "method")
        return make_from_config(self.together, agents, periods, seed, self.num_worlds)


@cache
def _algorithm(
    word: str,
    config: Any,
    agent: AgentConfig,
    observation_size: int,
    num_actions: int,
    is_discrete: bool,
) -> Algorithm:
    """One algorithm for equal settings, so that runs in one process share what is compiled."""
    return ALGORITHMS[word](
        config,
        agent,
        observation_size=observation_size,
        num_actions=num_actions,
        is_discrete=is_discrete,
    )


def describe_experiment(experiment: Experiment) -> dict[str, Any]:
    """The experiment as plain data, without the settings of algorithms that it does not use.

    They are all defaults, and a later version with other defaults must still read it.
    """
    unused = [word for word in ALGORITHMS if word != experiment.algorithm]
    plain = to_plain(experiment)
    return {name: value for name, value in plain.items() if name not in unused}


_RANGES: dict[str, tuple[int, int]] = {
    "num_worlds": (1, 1000),
    "seed": (0, MAX_RUN_SEED),
    "num_epochs": (1, 10**9),
    "steps_per_update": (1, 10**6),
    "test_every": (0, 10**9),
    "test_repetitions": (1, 1000),
    "sample_slots": (0, 1000),
    "max_bad_updates": (1, 10**9),
}


def _check_numbers(experiment: Experiment) -> None:
    for name, (smallest, largest) in _RANGES.items():
        value = getattr(experiment, name)
        allowed = f"{smallest} <= {name} <= {largest}"
        require(smallest <= value <= largest, f"{name} = {value}", allowed, "Change it.")


def _refuse_unused(experiment: Experiment) -> None:
    """Settings of an algorithm that is not used would silently do nothing."""
    for word in ALGORITHMS:
        config: Any = getattr(experiment, word)
        changed = [
            part.name for part in fields(config) if getattr(config, part.name) != part.default
        ]
        if word != experiment.algorithm and changed:
            raise BadInput(
                f"{word}.{changed[0]} = {getattr(config, changed[0])} is not used: the algorithm "
                f"is {experiment.algorithm}. Add --algorithm {word}, or leave it out."
            )


def _divisor_near(whole: int, wanted: int) -> int:
    divisors = [part for part in range(1, whole + 1) if whole % part == 0]
    return min(divisors, key=lambda part: abs(part - wanted))
