"""Methods as step sizes: who masks or decays steps less far at the same η.

Of Table IV's methods this explains most (docs/reproduction.md), so it has a variant of its own, in
which η makes up for it (`choices`), and a part of the report (`step_section`).
"""

from dataclasses import replace

import numpy as np

from fmarl.federation.recipes import MethodConfig, make_from_config
from fmarl.reproduce import paper

PERIODS = 200
"""Of the paper's K = 3000 updates and τ = 15; they matter only where τ_i are drawn."""


def step_share(together: MethodConfig) -> float:
    """How far agents step together in a slot, as a share of a full step: (1/τ) Σ_y D_y a_y.

    Symbols: D_y decay, a_y share of agents that are active in slot y of a period.

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
