"""An experiment: everything that decides how a run goes, in one frozen tree of settings.

The command line is made from it, `run.json` holds it, and two runs of equal experiments end with
the same bits. Nothing is looked up elsewhere, and nothing is filled in later.
"""

from dataclasses import dataclass, field, fields, replace
from typing import Annotated, Any

import tyro

from fmarl.algorithms.agent_config import AgentConfig
from fmarl.algorithms.algorithm import Algorithm
from fmarl.algorithms.ppo import PPOConfig
from fmarl.algorithms.registry import ALGORITHMS, make_algorithm, own_config, require_algorithm
from fmarl.algorithms.tac import TACConfig
from fmarl.algorithms.trpo import TRPOConfig
from fmarl.errors import BadInput, require
from fmarl.federation.method import Method
from fmarl.federation.method_file import method_from_text, method_to_text
from fmarl.federation.recipes import (
    MethodConfig,
    make_from_config,
    require_agents,
    require_method,
)
from fmarl.rollout.protocol import WorldMaker
from fmarl.rollout.seeds import MAX_RUN_SEED, derived_seed
from fmarl.settings_io import parse_changes, to_plain
from fmarl.worlds.world import WorldSpec

WORLD_FACTORY = "fmarl.worlds.registry:make_world"
GIVEN = "given"
"""The word of a method that was made in Python, and is in the experiment as a whole."""

# Its fields are flags without a prefix.
_flat = tyro.conf.arg(name="")


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """A world, how agents learn alone, how they learn together, and for how long."""

    world: tyro.conf.Positional[str] = "figure-eight"
    """figure-eight, merge, toy-quadratic, toy-bumpy, gym:ID, pettingzoo:MODULE, or one of your own,
    MODULE:NAME."""
    set: tuple[str, ...] = ()
    """Options of the world, such as speed_limit=30 human_type.accel=2.6 preset=flow."""
    num_worlds: int = 1
    """Copies of the world, each with its own traffic; the agents of all learn together."""
    algorithm: str = "ppo"
    """How one agent learns: ppo, trpo, tac, or one of your own, MODULE:NAME."""
    set_algorithm: tuple[str, ...] = ()
    """Settings of an algorithm of your own, such as entropy_weight=0.01."""
    together: Annotated[MethodConfig, _flat] = field(default_factory=MethodConfig)
    """How agents learn together."""
    method_record: Annotated[str, tyro.conf.Suppress] = ""
    """The method that was made in Python, as JSON, with method `given` (`with_method`)."""
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
    test_on: str = ""
    """figure-eight: the simulator of tests, sumo or exact, such as sumo for what is trained with
    simulator=exact; empty for the same."""
    baseline: bool = True
    """On roads: before anything is learned, let SUMO drive the test epochs, to compare with."""
    sample_slots: int = 8
    """Slots that are kept as samples, spread over the run: what gradient norms are measured on."""
    samples: str = ""
    """Folder of a run whose samples the gradient norm is measured on; empty for no measurement."""
    max_bad_updates: int = 10
    """Slots in a row in which some agent's step is not finite, before the run gives up."""
    resume_promise: bool = True
    """Refuse a world that does not repeat itself: a run of it that is killed can not be resumed to
    the same bits. Without the promise, a resumed run begins its epoch anew."""

    def __post_init__(self) -> None:
        _check_numbers(self)
        require_algorithm(self.algorithm)
        if (self.together.method == GIVEN) != bool(self.method_record):
            raise BadInput("method given is for Python: fmarl.train(experiment, method=METHOD).")
        if not self.method_record:
            require_method(self.together.method)
        if self.test_on:
            require(
                self.test_on in ("sumo", "exact") and self.world == "figure-eight",
                f"test_on = {self.test_on!r:.20} in {self.world}",
                "sumo or exact, in figure-eight",
                "Leave it out.",
            )
        for changes in (self.set, self.set_algorithm, self.together.set_method):
            parse_changes(changes)
        _refuse_unused(self)

    @property
    def maker(self) -> WorldMaker:
        """How workers make the world."""
        options = parse_changes(self.set)
        return WorldMaker(self.world, options, WORLD_FACTORY, self.resume_promise)

    @property
    def test_maker(self) -> WorldMaker:
        """How the worlds of tests are made."""
        maker, simulator = self.maker, {"simulator": self.test_on} if self.test_on else {}
        return maker._replace(options={**maker.options, **simulator})

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
        if self.algorithm in ALGORITHMS:
            config = getattr(self, self.algorithm)
        else:
            config = own_config(self.algorithm, self.set_algorithm)
        return make_algorithm(self.algorithm, config, self.agent, *shapes)

    def make_method(self, spec: WorldSpec) -> Method:
        """How the agents of all worlds learn together."""
        return self.method_of(spec.num_agents * self.num_worlds, self.total_updates(spec))

    def method_of(self, num_agents: int, total_updates: int) -> Method:
        """The method for so many agents in all, over so many slots."""
        if self.method_record:
            method = method_from_text(self.method_record)
            require_agents(method, num_agents)
            return method
        periods = -(-total_updates // max(self.together.sync_period, 1))
        seed = derived_seed(self.seed, "method")
        return make_from_config(self.together, num_agents, periods, seed, self.num_worlds)


def with_method(experiment: Experiment, method: Method) -> Experiment:
    """The experiment with a method that was made in Python; it is recorded as a whole."""
    rest = replace(experiment.together, method=MethodConfig.method)
    what = "settings of learning together beside a method"
    require(rest == MethodConfig(), what, "one of the two", "Leave `together` out.")
    together = MethodConfig(
        method=GIVEN,
        learning_rate=float(method.learning_rate),
        sync_period=int(method.sync_period),
    )
    return replace(experiment, together=together, method_record=method_to_text(method))


def describe_experiment(experiment: Experiment) -> dict[str, Any]:
    """The experiment as plain data, without the settings of algorithms that it does not use.

    They are all defaults, and a later version with other defaults must still read it.
    """
    unused = [word for word in ALGORITHMS if word != experiment.algorithm]
    later = ("set_algorithm", "method_record", "test_on")  # as before there were these settings
    unused += [name for name in later if not getattr(experiment, name)]
    if experiment.resume_promise:  # as before there was this setting
        unused.append("resume_promise")
    plain = to_plain(experiment)
    if not experiment.together.set_method:
        del plain["together"]["set_method"]
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
        fix = f"Use {min(max(value, smallest), largest)}."
        require(smallest <= value <= largest, f"{name} = {value}", allowed, fix)


def _refuse_unused(experiment: Experiment) -> None:
    """Settings of an algorithm that is not used would silently do nothing."""
    if experiment.set_algorithm and experiment.algorithm in ALGORITHMS:
        raise BadInput(
            f"set_algorithm = {' '.join(experiment.set_algorithm)!r:.60} is not used: it is for "
            f"algorithms of your own. Settings of {experiment.algorithm} are flags such as "
            f"--{experiment.algorithm}.{fields(getattr(experiment, experiment.algorithm))[0].name}."
        )
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
