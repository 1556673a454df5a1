"""The part of a report on runs about how agents learn together: who averages, mixes and waits."""

from collections.abc import Sequence

import numpy as np

from fmarl.federation.method import Method
from fmarl.report.format import NOTHING, number
from fmarl.report.mpl_style import Figure
from fmarl.report.page import Block, Paragraph, Picture, Section, Table
from fmarl.report.run_figures import links_of
from fmarl.report.run_set import Group
from fmarl.topology import algebraic_connectivity, disagreement_left, from_edges

MOST_LISTED = 12
"""Agents up to which the τ_i of each are written down."""
HEADER = ["method", "agents m", "averaging", "local updates τ_i", "decay D"]
ALIGN = "lrlllrrrr"
SHOWN = "Who exchanges gradients with whom: the first round, of the first seed."
MIXING = ["links", "rounds E", "μ2", "disagreement left"]


def together_section(groups: Sequence[Group], figure: Figure | None) -> Section:
    """What each method came to, drawn numbers and all."""
    known = [(group, group.first.method) for group in groups if group.first.method]
    has_mixing = figure is not None
    rows = [
        [
            group.label,
            str(method.num_agents),
            _averaging(method) + _rule(method) + _byzantine(method),
            _local_updates(method),
            _decay(method),
            *(_mixing_cells(group, method) if has_mixing else []),
        ]
        for group, method in known
    ]
    header = [*HEADER, *(MIXING if has_mixing else [])]
    blocks: list[Block] = (
        [Table(header, rows, _caption(has_mixing), ALIGN[: len(header)])] if rows else []
    )
    if figure is not None:
        words = "Agents on a circle, with a line between each two that exchange gradients."
        blocks.insert(0, Picture(figure, SHOWN, words))
    if len(known) < len(groups):
        blocks.append(Paragraph("Runs of earlier versions did not write down their method."))
    return Section("How agents learn together", "together", blocks)


def mixing_groups(groups: Sequence[Group]) -> list[Group]:
    """Those whose agents have neighbours."""
    return [group for group in groups if links_of(group.first)]


def _caption(has_mixing: bool) -> str:
    words = "D is the trust in a gradient from the first to the last slot of a period."
    mixing = (
        " μ2 is the graph’s algebraic connectivity; “disagreement left” is the largest share of "
        "the agents’ disagreement that all E rounds leave."
    )
    return words + mixing * has_mixing


def _averaging(method: Method) -> str:
    if method.averages == "none":
        return "never"
    if method.uplink_delay or method.downlink_delay:
        delays = f"{method.uplink_delay} slots up, {method.downlink_delay} down"
        adoption = f", adopted every {method.adopt_every}" if method.adopt_every > 1 else ""
        return f"every slot, late by {delays}{adoption}"
    often = f"every {method.sync_period} updates" if method.sync_period > 1 else "always"
    if method.edge_agents.any():
        edges, turns = len(np.unique(method.edge_agents)), len(method.groups)
        return f"{often} in {edges} groups, all every {turns} periods"
    return often + {"some": " of those present", "groups": " in groups"}.get(method.averages, "")


def _rule(method: Method) -> str:
    if method.aggregate == "mean":
        return ""
    return f", {method.aggregate}" + (f" (f = {method.tolerated})" if method.tolerated else "")


def _byzantine(method: Method) -> str:
    """Who lies, and how."""
    if method.attack is None:
        return ""
    noise, factor = float(method.attack.noise), float(method.attack.factor)
    lie = f"noise of size {noise:g}" if noise > 0 else f"{factor:g} times what is found"
    attackers = np.flatnonzero(method.attack.attackers).tolist()
    who = ", ".join(map(str, attackers[:MOST_LISTED]))
    more = " …" if len(attackers) > MOST_LISTED else ""
    return f"; agents {who}{more} send {lie}"


def _local_updates(method: Method) -> str:
    table = method.local_updates
    if table.min() == table.max():
        return str(table.min())
    if len(table) == 1 and table.size <= MOST_LISTED:
        return ", ".join(map(str, table[0].tolist()))
    drawn = "anew each period: " if len(table) > 1 else ""
    return f"{drawn}{table.min()}–{table.max()}, mean {table.mean():.1f}"


def _decay(method: Method) -> str:
    trust = method.decay
    return "none" if trust.min() == 1 else f"{number(trust[0])} to {number(trust[-1])}"


def _mixing_cells(group: Group, method: Method) -> list[str]:
    links = links_of(group.first)
    if not links:
        return [NOTHING] * len(MIXING)
    return [
        str(len(links)),
        str(method.consensus_rounds),
        number(algebraic_connectivity(from_edges(method.num_agents, links)), 5),
        number(disagreement_left(method.mixing)),
    ]
