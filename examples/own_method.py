"""A method of your own in ten lines: no virtual agent, only gossip on a ring before every step."""

import tempfile

import numpy as np

import fmarl
from fmarl.federation.recipes import METHODS, MethodConfig, Recipe, Team
from fmarl.topology import metropolis_weights, ring


def gossip(config: MethodConfig, team: Team) -> fmarl.Method:
    """Neighbours mix their gradients; nobody ever averages parameters."""
    return fmarl.make_method(
        team.num_agents,
        learning_rate=config.learning_rate,
        mixing=metropolis_weights(ring(team.num_agents), config.consensus_rounds),
        groups=np.arange(team.num_agents),  # each in a group of its own
    )


METHODS["gossip"] = Recipe(uses=("consensus_rounds",), make=gossip)

if __name__ == "__main__":
    experiment = fmarl.Experiment(
        world="toy-bumpy",
        set=("num_agents=5", "targets=0.8"),
        together=MethodConfig(method="gossip", consensus_rounds=2, learning_rate=1e-2),
        num_epochs=6,
        steps_per_update=50,
    )
    with tempfile.TemporaryDirectory() as folder:
        run = fmarl.train(experiment, f"{folder}/gossip")
    print(f"{run.update_count} updates without a virtual agent, parameters {run.digest[:12]}")
