"""The methods of the paper's figures and tables as experiments, under the names they have there."""

from dataclasses import replace
from functools import cache

from fmarl.algorithms.agent_config import AgentConfig
from fmarl.algorithms.ppo import PPOConfig
from fmarl.engine.experiment import Experiment
from fmarl.federation.recipes import MethodConfig
from fmarl.reproduce import paper
from fmarl.reproduce.open_choices import LOCAL_UPDATES
from fmarl.reproduce.paper import TableRow
from fmarl.reproduce.result_keys import key_of
from fmarl.reproduce.steps import with_full_steps
from fmarl.reproduce.study import Study

IRL, SYN, ASY = "IRL", "FIRL_syn", "FIRL_asy"
SUMO = "SUMO"
"""All vehicles driven by SUMO: what the paper calls the optimal baseline."""

Experiments = dict[str, Experiment]
"""From a name to an experiment whose seed is still to be set."""


def name_of(row: TableRow) -> str:
    """How a row of Table IV is called everywhere.

    >>> name_of(paper.TABLE_4[8])
    'FIRL_D τ=1∼15 λ=0.92'
    """
    return f"{row.method} {row.label}"


TABLE_NAMES = tuple(name_of(row) for row in paper.TABLE_4)
TAU_1, TAU_10, TAU_15, TAU_10_15, TAU_5_15, TAU_1_15 = TABLE_NAMES[:6]
DECAY_98, DECAY_95, DECAY_92 = TABLE_NAMES[6:9]
CONSENSUS, CONSENSUS_DENSE, CONSENSUS_TWICE, CONSENSUS_1_15 = TABLE_NAMES[9:]


def table_methods(study: Study) -> Experiments:
    """The 13 methods of Table IV, measured on the sample set."""
    return {name_of(row): _measured(study, _together(study, row)) for row in paper.TABLE_4}


def federated_or_not(study: Study) -> Experiments:
    """What Fig. 4 adds to them: no federation, and federation over slow links."""
    choices = study.choices
    late = {"delay_slots": choices.delay_slots, "learning_rate": choices.learning_rate}
    return {
        IRL: _measured(
            study, MethodConfig(method="independent", learning_rate=choices.learning_rate)
        ),
        SYN: _measured(study, MethodConfig(method="delayed", **late)),
        ASY: _measured(study, MethodConfig(method="delayed-adoption", **late)),
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
    return {
        f"Merge {algorithm.upper()} {label}": _in_merge(study, algorithm, label == "FIRL_C")
        for algorithm in ("ppo", "trpo", "tac")
        for label in ("FIRL", "FIRL_C")
    }


def at_rate(experiment: Experiment, learning_rate: float) -> Experiment:
    """The same experiment with another η."""
    together = replace(experiment.together, learning_rate=learning_rate)
    return replace(experiment, together=together)


def on_seed(experiment: Experiment, seed: int) -> Experiment:
    """The same experiment with a seed."""
    return replace(experiment, seed=seed)


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
    return replace(experiment, samples=_sample_key(study), sample_slots=0)


@cache
def _sample_key(study: Study) -> str:
    return key_of(sample_run(study))


def _on_figure_eight(study: Study, together: MethodConfig) -> Experiment:
    choices, length = study.choices, study.length
    return Experiment(
        world="figure-eight",
        set=(f"preset={choices.preset}",),
        together=together,
        agent=_agent(study),
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


def _agent(study: Study) -> AgentConfig:
    choices = study.choices
    return AgentConfig(
        hidden=choices.hidden, discount=choices.discount, optimiser=choices.optimiser
    )
