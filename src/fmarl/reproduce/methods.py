"""The methods of the paper's figures and tables as experiments, under the names they have there."""

from dataclasses import replace
from functools import cache

import numpy as np

from fmarl.algorithms.agent_config import AgentConfig
from fmarl.algorithms.ppo import PPOConfig
from fmarl.engine.experiment import Experiment
from fmarl.federation.recipes import MethodConfig, make_from_config
from fmarl.reproduce import paper
from fmarl.reproduce.paper import TableRow
from fmarl.reproduce.result_keys import key_of
from fmarl.reproduce.study import LOCAL_UPDATES, Study

PERIODS = 200
"""Of the paper's K = 3000 updates and τ = 15; they matter only where τ_i are drawn."""

Experiments = dict[str, Experiment]
"""From a name to an experiment whose seed is still to be set."""


@cache
def table_methods(study: Study) -> Experiments:
    """The 13 methods of Table IV, measured on the sample set."""
    return {row.name: _measured(study, _together(study, row)) for row in paper.TABLE_4}


def federated_or_not(study: Study) -> Experiments:
    """What Fig. 4 adds to them: no federation, and federation over slow links."""
    choices = study.choices
    late = {"delay_slots": choices.delay_slots, "learning_rate": choices.learning_rate}
    return {
        paper.IRL: _measured(
            study, MethodConfig(method="independent", learning_rate=choices.learning_rate)
        ),
        paper.SYN: _measured(study, MethodConfig(method="delayed", **late)),
        paper.ASY: _measured(study, MethodConfig(method="delayed-adoption", **late)),
    }


def sample_run(study: Study) -> Experiment:
    """The run with τ = 1 whose slots are the sample set of all others."""
    return replace(
        _on_figure_eight(study, _together(study, paper.TABLE_4[0])),
        seed=study.choices.sample_seed,
    )


def baseline(study: Study, world: str = "figure-eight") -> Experiment:
    """The test epochs of a seed with every vehicle driven by SUMO; nothing can be learned in it."""
    return replace(
        _on_figure_eight(study, MethodConfig()),
        world=world,
        set=(f"preset={study.choices.preset}", "controlled=false"),
        num_epochs=1,
        test_every=1,
        sample_slots=0,
    )


def in_merge(study: Study) -> Experiments:
    """Fig. 6 d, e and f: three algorithms, without and with consensus along the road."""
    kinds = [(algorithm, mixed) for algorithm in ("ppo", "trpo", "tac") for mixed in (False, True)]
    return {
        name: _in_merge(study, *kind) for name, kind in zip(paper.MERGE_NAMES, kinds, strict=True)
    }


def at_rate(experiment: Experiment, learning_rate: float) -> Experiment:
    """The same experiment with another η."""
    together = replace(experiment.together, learning_rate=learning_rate)
    return replace(experiment, together=together)


def on_seed(experiment: Experiment, seed: int) -> Experiment:
    """The same experiment with a seed."""
    return replace(experiment, seed=seed)


def step_share(together: MethodConfig) -> float:
    """How far agents step together in a slot, as a share of a full step: (1/τ) Σ_y D_y a_y.

    Symbols: D_y decay, a_y share of agents that are active in slot y of a period. Of Table IV's
    methods it explains most of how they differ (docs/reproduction.md).

    >>> step_share(MethodConfig(sync_period=2, local_updates="2,2,2,2,2,2,1"))
    0.9285714285714286
    """
    method = make_from_config(together, paper.NUM_AGENTS, PERIODS, seed=0)
    slots = np.arange(int(method.sync_period))
    active = method.local_updates[..., None] > slots
    return float((active * method.decay[slots]).mean())


def with_full_steps(together: MethodConfig) -> MethodConfig:
    """The same method with an η at which it steps as far as one that masks and decays nothing."""
    return replace(together, learning_rate=together.learning_rate / step_share(together))


def _together(study: Study, row: TableRow) -> MethodConfig:
    """A row's method in words."""
    config = _as_printed(study, row)
    return with_full_steps(config) if study.choices.equal_steps else config


def _as_printed(study: Study, row: TableRow) -> MethodConfig:
    choices = study.choices
    config = MethodConfig(
        learning_rate=choices.learning_rate,
        sync_period=row.sync_period,
        local_updates=_local_updates(study, row),
    )
    if row.decay_rate < 1:
        return replace(config, method="decay", decay_rate=row.decay_rate)
    if row.graph is None:
        return config
    graph = choices.graph_13 if row.graph == "paper-13" else row.graph
    return replace(
        config,
        method="consensus",
        graph=graph,
        consensus_step=paper.CONSENSUS_STEP,
        consensus_rounds=row.consensus_rounds,
    )


def _local_updates(study: Study, row: TableRow) -> str:
    for name, updates in paper.FAST_TO_SLOW.items():
        if updates == row.local_updates:
            return LOCAL_UPDATES[study.choices.local_updates][name]
    return "all"


def _measured(study: Study, together: MethodConfig) -> Experiment:
    """On Figure Eight, with ‖∇F(θ̄)‖² measured on the sample set; its own slots are not kept."""
    experiment = _on_figure_eight(study, together)
    return replace(experiment, samples=key_of(sample_run(study)), sample_slots=0)


def _on_figure_eight(study: Study, together: MethodConfig) -> Experiment:
    choices, length = study.choices, study.length
    return Experiment(
        world="figure-eight",
        set=(f"preset={choices.preset}",),
        together=together,
        agent=AgentConfig(
            hidden=choices.hidden, discount=choices.discount, optimiser=choices.optimiser
        ),
        ppo=PPOConfig(normalise_advantages=choices.normalise_advantages),
        num_epochs=length.num_epochs,
        steps_per_update=paper.STEPS_PER_UPDATE,
        test_every=length.test_every,
        test_repetitions=length.test_repetitions,
        baseline=False,  # it is a run of its own, once for all methods
    )


def _in_merge(study: Study, algorithm: str, consensus: bool) -> Experiment:
    rate = study.choices.learning_rate
    plain = MethodConfig(learning_rate=rate, sync_period=paper.SYNC_PERIOD)
    mixed = replace(plain, method="consensus", graph="path", consensus_step=paper.CONSENSUS_STEP)
    own = PPOConfig(normalise_advantages=study.choices.normalise_advantages)
    return replace(
        _on_figure_eight(study, mixed if consensus else plain),
        world="merge",
        algorithm=algorithm,
        ppo=own if algorithm == "ppo" else PPOConfig(),
        num_epochs=study.length.merge_epochs,
        sample_slots=0,
    )
