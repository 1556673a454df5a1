"""What a run has learned, played again: from its folder alone."""

from collections.abc import Callable
from pathlib import Path

import jax

from fmarl.child_process import children_named
from fmarl.engine.compiled import make_program
from fmarl.engine.engine import policies_of
from fmarl.engine.experiment import Experiment
from fmarl.engine.run_state import RunState, from_arrays
from fmarl.federation.ledger import empty_ledger
from fmarl.records.checkpoint import Checkpoint, read_checkpoint
from fmarl.records.run_folder import read_run
from fmarl.rollout.evaluate import Evaluation, Evaluator
from fmarl.rollout.policy import Policy
from fmarl.worlds.world import WorldSpec


def evaluate_run(
    folder: Path,
    experiment: Experiment,
    repetitions: int,
    seed: int,
    *,
    frames: bool = False,
    played: Callable[[int], None] = lambda epochs: None,
) -> Evaluation:
    """Test the parameters of a run's newest checkpoint on epochs that derive from a seed."""
    saved = read_checkpoint(folder, read_run(folder)["run_id"])
    maker = experiment.test_maker
    with children_named(str(folder)), Evaluator(maker, seed, repetitions) as evaluator:
        policy = saved_policy(saved, experiment, evaluator.pool.specs[0])
        return evaluator.evaluate(policy, frames=frames, played=played)


def saved_policy(saved: Checkpoint, experiment: Experiment, spec: WorldSpec) -> Policy:
    """What agents of the first world act with in tests, from a checkpoint of a run."""
    method, algorithm = experiment.make_method(spec), experiment.make_algorithm(spec)
    program = make_program(algorithm, method.num_agents)
    blank = program.init(method, jax.random.key(0))
    nothing = RunState(blank, empty_ledger(method.num_agents), [], [], 0)
    state = from_arrays(nothing, saved.arrays, saved.facts["memory"]).learned
    acting = program.mean_acting(method, state)
    return policies_of(algorithm, algorithm.exploits, acting, spec.num_agents)[0]
