"""A method of your own: in every period a random half of the agents learns and is averaged.

From the command line, in this folder:
fmarl train toy-bumpy --set num_agents=6 --method own_method:random_half --set-method share=0.5
"""

import tempfile

import numpy as np

import fmarl


def make(config: fmarl.MethodConfig, team: fmarl.Team, *, share: float = 0.5) -> fmarl.Method:
    """Those drawn make τ updates and are averaged; the others rest, and take the average over."""
    present = max(1, round(share * team.num_agents))
    chance = np.random.default_rng(team.seed).random((team.periods, team.num_agents))
    drawn = chance.argsort(axis=1).argsort(axis=1) < present  # one row for each period
    return fmarl.make_method(
        team.num_agents,
        learning_rate=config.learning_rate,
        sync_period=config.sync_period,
        local_updates=drawn * config.sync_period,
        counted=drawn.astype(float),
        renormalise=True,
    )


# A method that uses settings beside the learning rate says which; others are then refused.
random_half = fmarl.Recipe(uses=("sync_period",), make=make)

if __name__ == "__main__":
    experiment = fmarl.Experiment(
        world="toy-bumpy",
        set=("num_agents=6", "epoch_steps=100"),
        together=fmarl.MethodConfig(
            method="own_method:random_half",
            set_method=("share=0.5",),
            sync_period=3,
            learning_rate=1e-2,
        ),
        num_epochs=6,
        steps_per_update=50,
    )
    with tempfile.TemporaryDirectory() as folder:
        run = fmarl.train(experiment, f"{folder}/run")
        run = fmarl.resume(f"{folder}/run", num_epochs=8)  # it is found again by its word
    print(f"{run.update_count} updates by three of six agents, parameters {run.digest[:12]}")
