"""The stages of a slot as compiled programs, and what agents share of their memories."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from fmarl.federation.aggregation import aggregate_rows
from fmarl.federation.delayed import delayed_update
from fmarl.federation.method import Method
from fmarl.federation.row_ops import Rows, combine_rows, flat_rows, like_rows
from fmarl.federation.update import LocalLearner, Stages, learn, mix, move


def make_stages(learner: LocalLearner) -> Stages:
    """The stages of an algorithm's slots, compiled when first called."""
    return Stages(
        learn=jax.jit(partial(learn, learner), donate_argnums=3),
        learn_all=jax.jit(
            jax.vmap(partial(learn, learner), in_axes=(None, 0, 0, 0, 1, None, None)),
            donate_argnums=3,
        ),
        mix=jax.jit(mix),
        mix_all=jax.jit(_mix_all),
        move=jax.jit(move),
        average=jax.jit(aggregate_rows),
        shared=jax.jit(partial(shared_rows, learner)),
        adopt=jax.jit(partial(adopted, learner), donate_argnums=0),
        deliver=jax.jit(delayed_update),
    )


def shared_rows(learner: LocalLearner, memories: Any) -> Rows | None:
    """What is averaged of memories, one row per agent."""
    shared = _shared(learner, memories)
    return flat_rows(shared) if shared else None


def adopted(learner: LocalLearner, memories: Any, rows: Rows | None) -> Any:
    """Memories in which the rows that `shared_rows` gave are replaced by these."""
    if rows is None:
        return memories
    averaged = iter(like_rows(_shared(learner, memories), rows))
    return learner.merge_memory(memories, lambda tree: next(averaged))


def _shared(learner: LocalLearner, memories: Any) -> list[Any]:
    """The parts of memories that an average would be taken of."""
    shared: list[Any] = []
    learner.merge_memory(memories, lambda tree: shared.append(tree) or tree)
    return shared


def _mix_all(method: Method, rows: Rows) -> Rows:
    return jax.lax.fori_loop(
        0,
        len(method.mixing),
        lambda round_, rows: combine_rows(jnp.asarray(method.mixing)[round_], rows),
        rows,
    )
