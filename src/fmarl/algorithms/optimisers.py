"""Any optimiser of Optax, without its learning rate: the federation multiplies by η itself."""

from functools import partial

import jax
import optax

from fmarl.algorithms.algorithm import Tree
from fmarl.errors import BadInput

PLAIN: dict[str, optax.GradientTransformation] = {
    "sgd": optax.identity(),
    "momentum": optax.trace(decay=0.9),
    # 1e-5 as in the reference implementations of PPO. One vector costs less than many small leaves.
    "adam": optax.flatten(optax.scale_by_adam(eps=1e-5)),
}
"""Words whose meaning is fixed here; every other word w means `optax.scale_by_w()`."""


def optimiser(word: str, max_gradient_norm: float = 0.0) -> optax.GradientTransformation:
    """Turn gradients into directions g, so that θ ← θ − η g is a step of the named optimiser.

    With a `max_gradient_norm` above zero, longer gradients are shortened to it first.

    >>> import jax.numpy as jnp
    >>> rule = optimiser("sgd", max_gradient_norm=1.0)
    >>> direction, _ = rule.update(jnp.array([3.0, 4.0]), rule.init(jnp.zeros(2)))
    >>> [round(float(part), 3) for part in direction]
    [0.6, 0.8]
    """
    rule = _rule(word)
    if max_gradient_norm > 0:
        rule = optax.chain(optax.clip_by_global_norm(max_gradient_norm), rule)
    return optax.GradientTransformation(rule.init, partial(_update, rule))


def _update(
    rule: optax.GradientTransformation, updates: Tree, state: Tree, params: Tree = None
) -> tuple[Tree, Tree]:
    """Optax raises floats to whole numbers, which our tests' strict promotion forbids."""
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        return rule.update(updates, state, params)


def _rule(word: str) -> optax.GradientTransformation:
    if word in PLAIN:
        return PLAIN[word]
    try:
        return getattr(optax, f"scale_by_{word}")()
    except (AttributeError, TypeError):  # unknown, or one that can not do without arguments
        known = ", ".join([*PLAIN, "rms, lion, yogi, radam, amsgrad"])
        raise BadInput(
            f"optimiser {word!r:.40} is not known: {known} and other optax.scale_by_… words. "
            "Use adam."
        ) from None
