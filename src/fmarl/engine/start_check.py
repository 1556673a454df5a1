"""Can a run begin? Everything that can be known before its folder is made."""

from pathlib import Path

from fmarl.engine.experiment import Experiment
from fmarl.engine.sample_set import read_samples
from fmarl.rollout.pool import WorldPool
from fmarl.rollout.repeat_check import play_beginning, require_repeats


def check_start(experiment: Experiment) -> list[str]:
    """Refuse what can not be; lines about what can be, but was hardly meant.

    The world is made and played in a process of its own, as in training: whatever the code of a
    user's environment does there, it is told as in training.
    """
    maker, seed = experiment.maker, experiment.seed
    with WorldPool([maker], run_seed=seed, role="check") as pool:
        [spec] = pool.specs
        experiment.make_algorithm(spec)
        method = experiment.make_method(spec)
        if experiment.samples:
            read_samples(Path(experiment.samples), spec, method.num_agents)
        if experiment.resume_promise:
            require_repeats(pool, maker, seed)
        else:
            play_beginning(pool)
    return _warnings(experiment, experiment.total_updates(spec), int(method.sync_period))


def _warnings(experiment: Experiment, updates: int, period: int) -> list[str]:
    together = experiment.together
    if together.method == "independent":  # whose period only says when something is measured
        return []
    if updates < period:
        return [
            f"the run has {updates} updates and sync_period = {period}: agents never average. "
            f"Use --sync-period {updates} or less, or more --num-epochs."
        ]
    if updates < period * together.hierarchy:
        return [
            f"the run has {updates} updates and its root averages every {together.hierarchy} "
            f"periods of {period}: it never does. Use a shorter period, or more --num-epochs."
        ]
    return []
