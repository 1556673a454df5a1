"""What a run has learned, played again: from its folder alone."""

from pathlib import Path

import jax

from fmarl.engine.compiled import make_program
from fmarl.engine.engine import policies_of
from fmarl.engine.experiment import Experiment
from fmarl.engine.run_state import RunState, from_arrays
from fmarl.federation.ledger import empty_ledger
from fmarl.records.checkpoint import read_checkpoint
from fmarl.records.run_folder import read_run
from fmarl.rollout.evaluate import Evaluation, Evaluator


def evaluate_run(
    folder: Path, experiment: Experiment, repetitions: int, seed: int, *, frames: bool = False
) -> Evaluation:
    """Test the parameters of a run's newest checkpoint on epochs that derive from a seed."""
    saved = read_checkpoint(folder, read_run(folder)["run_id"])
    with Evaluator(experiment.maker, seed, repetitions) as evaluator:
        [spec] = evaluator.pool.specs
        method, algorithm = experiment.make_method(spec), experiment.make_algorithm(spec)
        program = make_program(algorithm, method.num_agents)
        blank = program.init(method, jax.random.key(0))
        nothing = RunState(blank, empty_ledger(method.num_agents), [], [], 0)
        state = from_arrays(nothing, saved.arrays, saved.facts["memory"]).learned
        acting = program.mean_acting(method, state)
        policy = policies_of(algorithm, algorithm.exploits, acting, spec.num_agents)[0]
        return evaluator.evaluate(policy, frames=frames)
