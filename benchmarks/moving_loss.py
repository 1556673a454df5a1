"""Is there one loss F that agents descend? Squared gradients at the end of a run. Run: make bench.

The bounds are about one loss. Ours is that on a sample set, which is fixed before; what agents see
changes as they learn. So runs that claim 15 is about (τ = 1, plain SGD) are trained again, and the
last parameters are held against the sample set, and against what the run's own agents saw in its
first and in its last quarter. One loss would give equal numbers. `--seeds N` repeats more often.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import jax.numpy as jnp
from _figures import parser

from fmarl.engine.estimate_constants import Gradients, gradients_of, read_traces
from fmarl.engine.experiment import Experiment
from fmarl.engine.run import train
from fmarl.report.format import with_interval
from fmarl.report.statistics import mean_interval
from fmarl.reproduce.bound_runs import bound_experiments, bound_name
from fmarl.reproduce.methods import on_seed
from fmarl.reproduce.paper import TAU_1
from fmarl.reproduce.study import make_study

RATES = (1e-4, 1e-2)
"""One at which the corrected bound holds, and one at which it does not."""
QUARTER = 10
"""Slots that are kept of each quarter of a run."""
SMOKE_QUARTER, SMOKE_EPOCHS = 2, 2
HEADER = ["η", "on the sample set", "on its own first quarter", "on its own last quarter"]


def squared_gradients(experiment: Experiment, folder: Path) -> list[float]:
    """Train a run, and look at its last average with three pairs of eyes."""
    quarter = experiment.sample_slots // 4
    traces = read_traces(train(experiment, folder).folder)
    samples = gradients_of(traces.algorithm, traces.end, traces.samples)
    own = gradients_of(traces.algorithm, traces.end, traces.own)
    return [_squared(samples), _squared(own[:quarter]), _squared(own[-quarter:])]


def _squared(gradients: Gradients) -> float:
    """Square of the expected gradient: products of different slots, so that their noise is out."""
    slots = gradients.mean(axis=1)
    products = slots @ slots.T
    pairs = len(slots) * (len(slots) - 1)
    return float((products.sum() - jnp.trace(products)) / pairs)


def rows(
    rates: Sequence[float], seeds: Sequence[int], folder: Path, smoke: bool
) -> Iterator[list[str]]:
    """A row for each learning rate: means with 95 % intervals over the seeds."""
    study = make_study("paper")
    for rate in rates:
        bound_run = bound_experiments(study)[bound_name(TAU_1, rate)]
        plain = replace(bound_run, sample_slots=4 * QUARTER, samples="")
        if smoke:
            shorter = {"num_epochs": SMOKE_EPOCHS, "sample_slots": 4 * SMOKE_QUARTER}
            plain = replace(plain, **shorter, test_every=0, baseline=False)
        source = on_seed(plain, study.choices.sample_seed)
        wanted = replace(plain, samples=str(train(source, folder / f"{rate:g}-samples").folder))
        found = [
            squared_gradients(on_seed(wanted, seed), folder / f"{rate:g}-{seed}") for seed in seeds
        ]
        columns = zip(*found, strict=True)
        yield [f"{rate:g}", *(with_interval(mean_interval(list(one)), 2) for one in columns)]


def main() -> None:
    """Train everything and print the table of docs/reproduction.md."""
    words = parser(__doc__ or "")
    words.add_argument("--seeds", type=int, default=1)
    options = words.parse_args()
    rates = RATES[:1] if options.smoke else RATES
    seeds = range(options.seeds)
    print(f"‖∇F(θ̄_K)‖², mean and 95 % interval over {len(seeds)} seeds\n")
    print(f"| {' | '.join(HEADER)} |\n|{'---:|' * len(HEADER)}")
    with TemporaryDirectory() as folder:
        for row in rows(rates, seeds, Path(folder), options.smoke):
            print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
