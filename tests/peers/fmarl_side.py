"""fmarl's side of the comparison: a run as any user would make it, then what its folder holds."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import fmarl
from fmarl.engine.evaluate_run import saved_policy
from fmarl.engine.sample_set import read_samples
from fmarl.records.checkpoint import read_checkpoint
from fmarl.records.run_folder import read_run
from fmarl.rollout.policy import Policy, bind, clipped
from fmarl.settings_io import to_plain
from fmarl.worlds.world import WorldSpec
from peers.score import Act, Trained
from peers.tasks import Task

ALGORITHMS = {fmarl.PPOConfig: "ppo", fmarl.TRPOConfig: "trpo", fmarl.TACConfig: "tac"}


def settings(task: Task) -> dict[str, Any]:
    """All that we are told but the seed, plain enough for a file."""
    return {name: one for name, one in to_plain(experiment(task, 0)).items() if name != "seed"}


def experiment(task: Task, seed: int) -> fmarl.Experiment:
    """One agent alone, tested by nobody while it learns; all its slots are kept.

    The whole run is one epoch of our world, for the other side knows no epochs.
    """
    algorithm = ALGORITHMS[type(task.learning)]
    learning: dict[str, Any] = {algorithm: task.learning}
    return fmarl.Experiment(
        world=f"gym:{task.env_id}",
        set=(f"epoch_steps={task.steps}",),
        algorithm=algorithm,
        together=fmarl.MethodConfig(method="synchronous", learning_rate=task.learning_rate),
        agent=task.agent,
        **learning,
        seed=seed,
        num_epochs=1,
        steps_per_update=task.steps_per_update,
        test_every=0,
        sample_slots=task.steps // task.steps_per_update,
    )


def train(task: Task, seed: int) -> Trained:
    """Train one agent alone, through workers, checkpoints and all."""
    with TemporaryDirectory() as parent:
        run = fmarl.train(experiment(task, seed), Path(parent) / "run")
        if not run.finished:
            raise KeyboardInterrupt  # a signal stopped it: there is no score yet
        with run.experiment.maker.make() as world:
            spec = world.spec
        saved = read_checkpoint(run.folder, read_run(run.folder)["run_id"])
        policy = saved_policy(saved, run.experiment, spec)
        return Trained(_act(policy, spec), _training_return(run.folder, spec))


def _act(policy: Policy, spec: WorldSpec) -> Act:
    bound, no_noise = bind(policy, spec), np.zeros((1, spec.num_actions), np.float32)

    def act(observation: np.ndarray) -> Any:
        action = clipped(bound(observation[None], no_noise), spec)[0]
        return int(action[0]) if spec.is_discrete else action

    return act


def _training_return(folder: Path, spec: WorldSpec) -> float:
    """From the slots that the run kept, which are all.

    An episode that ends with the last step is left out: it may only have been cut off there.
    """
    kept = read_samples(folder, spec, agents=1)
    reward, ended = np.asarray(kept.reward).ravel(), np.asarray(kept.ended).ravel()
    ends = np.flatnonzero(ended[:-1])
    return float(reward[: ends[-1] + 1].sum() / len(ends))
