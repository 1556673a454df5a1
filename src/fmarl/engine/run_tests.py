"""What is measured of a run beside its training: test epochs, and the norm of the gradient."""

from pathlib import Path

from fmarl.algorithms.algorithm import Algorithm, Transitions
from fmarl.engine.compiled import learning_keys, make_program
from fmarl.engine.engine import policies_of
from fmarl.engine.experiment import Experiment
from fmarl.engine.sample_set import read_samples
from fmarl.federation.method import Method
from fmarl.federation.update import TrainState
from fmarl.rollout.evaluate import Evaluation, Evaluator
from fmarl.rollout.policy import Policy
from fmarl.worlds.registry import ROADS
from fmarl.worlds.world import WorldSpec


class RunTests:
    """The tests of one run, with a world of their own. Use it in a `with`."""

    def __init__(
        self, experiment: Experiment, method: Method, algorithm: Algorithm, spec: WorldSpec
    ) -> None:
        self._experiment, self._method, self._algorithm = experiment, method, algorithm
        self._program = make_program(algorithm, method.num_agents)
        self._key, _ = learning_keys(experiment.seed)
        self._samples: Transitions | None = None
        if experiment.samples:
            self._samples = read_samples(Path(experiment.samples), spec, method.num_agents)
        maker, repetitions = experiment.test_maker, experiment.test_repetitions
        self._evaluator = Evaluator(maker, experiment.seed, repetitions)

    @property
    def measures_norms(self) -> bool:
        """Whether the run has a sample set to measure gradients on."""
        return self._samples is not None

    def measure(self, state: TrainState) -> dict[str, float]:
        """‖∇F(θ̄)‖² on the sample set, by its name in metrics; nothing without a set."""
        if self._samples is None:
            return {}
        norm = self._program.gradient_norm(state, self._samples, self._key)
        return {"expected_gradient_norm": float(norm)}

    def evaluate(self, state: TrainState) -> Evaluation:
        """Play the test epochs with the average parameters and without chance."""
        acting = self._program.mean_acting(self._method, state)
        [spec], kind = self._evaluator.pool.specs, self._algorithm.exploits
        policy = policies_of(self._algorithm, kind, acting, spec.num_agents)[0]
        return self._evaluator.evaluate(policy, frames=True)

    def evaluate_baseline(self) -> Evaluation | None:
        """Let SUMO drive the same test epochs; None where it can not or is not wanted."""
        experiment = self._experiment
        if not experiment.baseline or experiment.world not in ROADS:
            return None
        maker = experiment.test_maker
        alone = maker._replace(options={**maker.options, "controlled": False})
        with Evaluator(alone, experiment.seed, experiment.test_repetitions) as evaluator:
            return evaluator.evaluate(Policy("random"))

    def __enter__(self) -> "RunTests":
        return self

    def __exit__(self, *problem: object) -> None:
        self._evaluator.close()
