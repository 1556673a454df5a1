"""The methods of the paper, and ours, by name: each a few lines that return a record.

A method of your own is such a function too, in a file of your own (docs/extending.md).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from fmarl.errors import BadInput, did_you_mean, require
from fmarl.federation.make_method import TOLERATING, check_method, make_method
from fmarl.federation.method import Method
from fmarl.federation.missing_agents import cut_links
from fmarl.federation.parse import read_attack, read_local_updates, read_mixing, read_range
from fmarl.plugins import METHOD, call, is_plugin, load, offered, require_result
from fmarl.settings_io import parse_changes
from fmarl.theory import exponential_decay
from fmarl.theory.plan import require_sync_period
from fmarl.user_code import own_code

MOST_DRAWN = 10**7
"""Numbers that are drawn for a whole run at its start."""


@dataclass(frozen=True, kw_only=True)
class MethodConfig:
    """How agents learn together, in words. Each method uses some of these and refuses the rest."""

    method: str = "periodic"
    """independent (IRL), synchronous, periodic (FIRL), variation-aware, decay (FIRL_D), consensus
    (FIRL_C), decay-consensus, delayed (FIRL_syn), delayed-adoption (FIRL_asy), or one of your own,
    MODULE:NAME."""
    set_method: tuple[str, ...] = ()
    """Options of a method of your own, such as share=0.5."""
    learning_rate: float = 1e-4
    """η: step size of every agent."""
    sync_period: int = 15
    """τ: updates between two averagings."""
    local_updates: str = "all"
    """τ_i: all (every agent makes τ updates), a range such as 1-15 (spread evenly over the agents),
    a list such as 15,13,11,9,7,5,3, or drawn:1-15 (drawn anew for each agent and period)."""
    step_seconds: str = ""
    """Mean time of one update per agent, such as 1,1.2,2.5; gives τ_i by the paper's Eq. (6). One
    that finishes no update in a period is left out of m."""
    decay_rate: float = 0.92
    """λ: how fast trust in later local updates decays; 1 is no decay."""
    decay_weights: str = ""
    """D: a list of weights for the slots of a period instead of λ, such as 1,0.8,0.5."""
    graph: str = "ring"
    """Who exchanges gradients with whom: ring, path, star, complete, nearest:K, regular:D,
    geometric:R, best:EDGES, paper-13, paper-16, an edge list 0-1,1-2, or a file."""
    weights: str = "paper"
    """How neighbours are weighted: paper, optimal, metropolis, chebyshev or fdla."""
    consensus_step: float = 0.1
    """ε: step of the paper's weights."""
    consensus_rounds: int = 1
    """E: exchanges before each update."""
    participation: float = 1.0
    """Share of the agents that take part in a period; they are drawn anew for each."""
    missing: str = "zero"
    """What an absent agent counts as in the average: zero (a step of zero, divided by m all the
    same) or renormalise (left out)."""
    delay_slots: int = 12
    """Slots that each message takes, with the delayed methods; 12 are the paper's 2 epochs."""
    hierarchy: int = 0
    """q: an edge virtual agent in each world averages its agents every period, and a root averages
    all every q periods; 0 for one virtual agent."""
    aggregate: str = "mean"
    """What the virtual agent makes of its agents: mean, or against Byzantine agents median,
    trimmed, centred-clip or krum."""
    tolerated: int = 1
    """f: bad agents that trimmed and krum withstand."""
    attack: str = ""
    """The last F agents lie: sign-flip:F, sign-flip:F:10 (and ten times as far), scale:F:100 or
    noise:F:1.0 (standard deviation)."""


def make_from_config(
    config: MethodConfig, num_agents: int, periods: int, seed: int, num_worlds: int = 1
) -> Method:
    """The method that a config describes; `periods` and `seed` matter where something is drawn.

    Agents are divided evenly over the worlds, those of the first world first.

    >>> config = MethodConfig(method="decay", local_updates="1-15")
    >>> make_from_config(config, num_agents=7, periods=200, seed=0).local_updates.tolist()
    [[15, 13, 11, 9, 7, 5, 3]]
    """
    require_method(config.method)
    require_sync_period(config.sync_period)
    team = Team(num_agents, max(periods, 1), seed, num_worlds)
    if config.method not in METHODS:
        return _make_own(config, team)
    recipe = METHODS[config.method]
    _refuse_unused(config, recipe)
    return recipe.make(config, team)


def require_method(word: str) -> None:
    """Refuse a word that no method has; one of a user's own is not looked for yet."""
    if word not in METHODS and not is_plugin(word, METHOD):
        known = ", ".join([*METHODS, *offered(METHOD)])
        hint = did_you_mean(word, METHODS, "Choose one.")
        raise BadInput(
            f"method {word!r:.40} is not allowed: one of {known}, or MODULE:NAME. {hint}"
        )


def _make_own(config: MethodConfig, team: "Team") -> Method:
    """A method of the user's own, from a function or a recipe; its options are keywords."""
    with own_code(f"method {config.method}"):
        found = load(config.method, METHOD)
        recipe = found if isinstance(found, Recipe) else Recipe((), found)
        _refuse_unused(config, recipe._replace(uses=(*recipe.uses, "set_method")))
        options = parse_changes(config.set_method)
        method = call(config.method, METHOD, recipe.make, config, team, **options)
    require_result(config.method, METHOD, isinstance(method, Method), method)
    check_method(method)
    require_agents(method, team.num_agents)
    return method


def require_agents(method: Method, num_agents: int) -> None:
    """Refuse a method that was made for another number of agents."""
    what = f"a method of {method.num_agents} agents in a world of {num_agents}"
    require(method.num_agents == num_agents, what, "as many", "Make it for that many agents.")


class Team(NamedTuple):
    """What a recipe is told beside its config: for whom the method is."""

    num_agents: int
    periods: int
    """Periods of the whole run, for what is drawn anew in each."""
    seed: int
    num_worlds: int = 1
    """Worlds that the agents are divided over, evenly and in order."""


class Recipe(NamedTuple):
    """A method by name: which settings it uses beside the learning rate, and how it is made."""

    uses: tuple[str, ...]
    make: Callable[[MethodConfig, Team], Method]
    label: str = ""
    """What the paper calls it; empty for its word."""


def _independent(config: MethodConfig, team: Team) -> Method:
    """IRL: nobody tells anybody anything. The period only says when something is measured."""
    return make_method(
        team.num_agents,
        learning_rate=config.learning_rate,
        sync_period=config.sync_period,
        groups=np.arange(team.num_agents),
    )


def _synchronous(config: MethodConfig, team: Team) -> Method:
    """Average after every update: τ = 1."""
    return make_method(team.num_agents, **_aggregated(config, team))


def _periodic(
    config: MethodConfig, team: Team, *, decays: bool = False, mixes: bool = False
) -> Method:
    """FIRL, variation-aware if the τ_i differ: the virtual agent averages every τ slots.

    FIRL_D decays: later local updates count less. FIRL_C mixes: neighbours mix their gradients
    before every step. FIRL_DC (ours) does both.
    """
    updates = _local_updates(config, team)
    idle = np.asarray(updates.max(axis=0) == 0)
    return make_method(
        team.num_agents,
        decay=_decay(config) if decays else None,
        mixing=cut_links(_mixing(config, team), idle) if mixes else None,
        **_averaged(config, team, updates),
    )


def _delayed(config: MethodConfig, team: Team, *, adopts_at_once: bool = True) -> Method:
    """FIRL_syn: both links are late; the virtual agent and the agents step in every slot.

    FIRL_asy is late as well, and agents adopt parameters only once per delay.
    """
    return make_method(
        team.num_agents,
        **_aggregated(config, team),
        uplink_delay=config.delay_slots,
        downlink_delay=config.delay_slots,
        adopt_every=1 if adopts_at_once else max(config.delay_slots, 1),
    )


_PERIOD = ("sync_period",)
_ROBUST = ("aggregate", "tolerated", "attack")
_VARIED = (
    *_PERIOD,
    *("local_updates", "step_seconds", "participation", "missing", "hierarchy"),
    *_ROBUST,
)
_DECAY = ("decay_rate", "decay_weights")
_GRAPH = ("graph", "weights", "consensus_step", "consensus_rounds")

METHODS: dict[str, Recipe] = {
    "independent": Recipe(_PERIOD, _independent, "IRL"),
    "synchronous": Recipe(_ROBUST, _synchronous, "FIRL"),
    "periodic": Recipe(_VARIED, _periodic, "FIRL"),
    "variation-aware": Recipe(_VARIED, _periodic, "FIRL"),
    "decay": Recipe((*_VARIED, *_DECAY), partial(_periodic, decays=True), "FIRL_D"),
    "consensus": Recipe((*_VARIED, *_GRAPH), partial(_periodic, mixes=True), "FIRL_C"),
    "decay-consensus": Recipe(
        (*_VARIED, *_DECAY, *_GRAPH), partial(_periodic, decays=True, mixes=True), "FIRL_DC"
    ),
    "delayed": Recipe(("delay_slots", *_ROBUST), _delayed, "FIRL_syn"),
    "delayed-adoption": Recipe(
        ("delay_slots", *_ROBUST), partial(_delayed, adopts_at_once=False), "FIRL_asy"
    ),
}
"""From the word of the command line to a recipe; FIRL_DC, decay and consensus at once, is ours."""


def _averaged(
    config: MethodConfig, team: Team, updates: Int[np.ndarray, "period agent"]
) -> dict[str, Any]:
    """Parts that all methods with a virtual agent and a period have in common.

    An agent whose τ_i is always 0 is left out of m; one that is absent for a period is missing.
    """
    words = ("zero", "renormalise")
    require(config.missing in words, f"missing = {config.missing!r}", " or ".join(words), "Choose.")
    present, renormalise = _present(config, team), config.missing == "renormalise"
    counted = (updates > 0) & present if renormalise else updates.any(axis=0)
    return {
        "sync_period": config.sync_period,
        "local_updates": np.where(present, updates, 0),
        "counted": counted.astype(float),
        "renormalise": renormalise,
        **_aggregated(config, team),
        **_levels(config, team),
    }


def _aggregated(config: MethodConfig, team: Team) -> dict:
    """Parts that all methods with a virtual agent have in common: what it makes of what is sent."""
    asks = config.aggregate in TOLERATING
    if config.tolerated != MethodConfig.tolerated and not asks:
        raise BadInput(
            f"tolerated = {config.tolerated} is not used by aggregate {config.aggregate:.40}: "
            f"{' and '.join(TOLERATING)} use it. Choose one of these, or leave it out."
        )
    return {
        "learning_rate": config.learning_rate,
        "aggregate": config.aggregate,
        "tolerated": config.tolerated if asks else 0,
        "attack": read_attack(config.attack, team.num_agents),
    }


def _levels(config: MethodConfig, team: Team) -> dict:
    """One virtual agent, or one at the edge of each world and a root that meets every q periods."""
    turns = config.hierarchy
    require(0 <= turns <= 1000, f"hierarchy = {turns}", "0 to 1000 periods", "Use 5, say.")
    if turns == 0:
        return {}
    require(
        team.num_worlds >= 2,
        f"hierarchy = {turns} with one world",
        "several worlds, an edge virtual agent for each",
        "Set num_worlds to 2 or more, or leave the hierarchy out.",
    )
    worlds = np.arange(team.num_agents) * team.num_worlds // team.num_agents
    groups = np.tile(worlds, (turns, 1))
    groups[-1] = 0
    return {"groups": groups, "edge_agents": worlds}


def _local_updates(config: MethodConfig, team: Team) -> Int[np.ndarray, "period agent"]:
    """τ_i for one period, or for each if something is drawn."""
    if config.local_updates.startswith("drawn:"):
        fewest, most = read_range(config.local_updates.removeprefix("drawn:"))
        require(
            1 <= fewest <= most <= config.sync_period,
            f"local updates drawn from {fewest}-{most}",
            f"1 <= fewest <= most <= sync_period = {config.sync_period}",
            "Write drawn:1-15.",
        )
        return _generator(team, "local updates").integers(fewest, most + 1, _drawn_shape(team))
    text, seconds = config.local_updates, config.step_seconds
    return read_local_updates(text, seconds, team.num_agents, config.sync_period)[None]


def _present(config: MethodConfig, team: Team) -> Bool[np.ndarray, "period agent"]:
    """Who takes part in a period; one row if always all do."""
    share = config.participation
    require(0 < share <= 1, f"participation = {share}", "0 < participation <= 1", "Use 1 for all.")
    if share == 1:
        return np.ones((1, team.num_agents), np.bool_)
    order = _generator(team, "participation").random(_drawn_shape(team)).argsort(axis=1)
    return order < math.ceil(share * team.num_agents)


def _drawn_shape(team: Team) -> tuple[int, int]:
    """Of what is drawn for all periods at once, so not for any number of them."""
    drawn = team.periods * team.num_agents
    what = f"to draw for {team.periods} periods of {team.num_agents} agents"
    require(drawn <= MOST_DRAWN, what, f"{MOST_DRAWN} draws", "Use fewer epochs.")
    return team.periods, team.num_agents


def _decay(config: MethodConfig) -> Float[np.ndarray, " slot"]:
    if not config.decay_weights:
        return exponential_decay(config.decay_rate, config.sync_period)
    try:
        weights = np.array([float(word) for word in config.decay_weights.split(",")])
    except ValueError:
        given = config.decay_weights
        raise BadInput(f"decay_weights = {given!r:.40}: numbers only. Write 1,0.8,0.5.") from None
    require(
        len(weights) == config.sync_period,
        f"{len(weights)} decay weights",
        f"one for each of τ = {config.sync_period} slots",
        "Change the list or the sync period.",
    )
    return weights


def _mixing(config: MethodConfig, team: Team) -> Float[np.ndarray, "round agent agent"]:
    rounds = config.consensus_rounds
    require(
        0 <= rounds <= 1000, f"consensus_rounds = {rounds}", "0 to 1000", "The paper has 1 and 2."
    )
    step, agents = config.consensus_step, team.num_agents
    return read_mixing(config.graph, config.weights, step, rounds, agents, team.seed)


def _refuse_unused(config: MethodConfig, recipe: Recipe) -> None:
    """A setting that would be ignored is a mistake: say so, and who would use it."""
    for field in fields(config):
        given = getattr(config, field.name)
        unused = field.name not in (*recipe.uses, "method", "learning_rate")
        if unused and given != field.default:
            users = [word for word, other in METHODS.items() if field.name in other.uses]
            if config.method not in METHODS:
                users = [f"a fmarl.Recipe(uses=({field.name!r},), make=…)"]
            raise BadInput(
                f"{field.name} = {given} is not used by method {config.method}: "
                f"{', '.join(users) or 'methods of your own'} use it. Choose one of these, or "
                "leave it out."
            )


def _generator(team: Team, purpose: str) -> np.random.Generator:
    """Chance by purpose: what is drawn for one thing does not move what is drawn for another."""
    return np.random.default_rng([team.seed, *purpose.encode()])
