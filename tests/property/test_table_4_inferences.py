"""What the digits of Table IV decide, and what they leave open."""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import networkx
import numpy as np
import pytest

from fmarl import topology
from fmarl.reproduce.paper import FAST_TO_SLOW, INITIAL_GRADIENT_NORM, TABLE_4
from fmarl.theory import (
    Problem,
    make_plan,
    normalised_utility,
    printed,
    utility,
)


@pytest.mark.parametrize(
    ("label", "total", "lowest", "multisets"),
    [("10-15", 95, 10, 23), ("5-15", 81, 5, 280), ("1-15", 63, 1, 1242)],
)
def test_table_4_fixes_only_the_sum_of_the_local_updates(label, total, lowest, multisets):
    row = next(row for row in TABLE_4 if row.label == "τ=" + label.replace("-", "∼"))

    possible = list(_multisets(total, lowest))

    assert row.updates == 3000 // 15 * total
    assert len(possible) == multisets
    assert FAST_TO_SLOW[label] in possible


def test_table_4_one_to_fifteen_has_a_single_arithmetic_progression():
    even = [
        found
        for found in _multisets(63, 1)
        if len({high - low for high, low in pairwise(found)}) == 1
    ]

    assert even == [(15, 13, 11, 9, 7, 5, 3)]


def test_table_4_one_rule_gives_all_three_sets_of_local_updates():
    slopes = {"1-15": Fraction(2), "5-15": Fraction(5, 4), "10-15": Fraction(5, 8)}

    for label, slope in slopes.items():
        rule = tuple(15 - int(agent * slope) for agent in range(7))
        assert rule == FAST_TO_SLOW[label]


def _multisets(total: int, lowest: int, most: int = 15, size: int = 7) -> Iterator[tuple]:
    """Falling tuples of `size` numbers from `lowest` up to `most`, starting with `most`."""
    if size == 1:
        if total == most:
            yield (most,)
        return
    for following in range(lowest, most + 1):
        for rest in _multisets(total - most, lowest, following, size - 1):
            yield (most, *rest)


def test_table_4_utilities_pin_the_initial_gradient_norm():
    cost = np.array([row.uploads + 1e-4 * row.updates + 1.1e-3 * row.exchanges for row in TABLE_4])
    norm = np.array([row.gradient_norm for row in TABLE_4])
    worst, best = 0, 8  # utilities 0 and 1 by construction

    def difference(row: int) -> tuple[float, float]:
        """U_row − U_worst = constant + slope·ψ2."""
        constant = norm[worst] / cost[worst] - norm[row] / cost[row]
        return constant, 1 / cost[row] - 1 / cost[worst]

    span = difference(best)
    intervals = []
    for row in set(range(13)) - {worst, best}:
        own, printed_value = difference(row), TABLE_4[row].utility
        ends = [
            (level * span[0] - own[0]) / (own[1] - level * span[1])
            for level in (printed_value - 5e-5, printed_value + 5e-5)
        ]
        intervals.append(sorted(ends))

    low, high = max(ends[0] for ends in intervals), min(ends[1] for ends in intervals)
    assert (low, high) == (pytest.approx(33.5330, abs=1e-4), pytest.approx(33.5359, abs=1e-4))
    assert low < INITIAL_GRADIENT_NORM < high


@pytest.mark.parametrize(
    ("costs", "all_rows_agree"),
    [((1e-4, 1.1e-3), True), ((1e-4, 1.0e-3), False), ((0.0, 1.1e-3), False)],
    ids=["as stated", "mixing left out", "computation left out"],
)
def test_table_4_utilities_are_min_max_normalised_with_all_costs(costs, all_rows_agree):
    computed = normalised_utility(_table_utilities(*costs))

    agree = np.abs(computed - [row.utility for row in TABLE_4]) < 5.5e-5

    assert bool(agree.all()) == all_rows_agree


def test_table_4_utilities_are_not_quotients_by_the_best():
    values = _table_utilities(1e-4, 1.1e-3)

    off = np.abs(values / values.max() - [row.utility for row in TABLE_4])

    assert off.max() > 0.05


def _table_utilities(update_cost: float, exchange_cost: float) -> np.ndarray:
    return np.array(
        [
            float(
                utility(
                    INITIAL_GRADIENT_NORM,
                    row.gradient_norm,
                    row.uploads + update_cost * row.updates + exchange_cost * row.exchanges,
                )
            )
            for row in TABLE_4
        ]
    )


@pytest.mark.parametrize(
    ("links", "connectivity", "found"), [(13, 1.4384, [1047, 1081]), (16, 2.5188, [1221])]
)
def test_table_4_exchanges_and_connectivity_leave_two_graphs_and_one(links, connectivity, found):
    assert {26, 32} >= {row.exchanges // 3000 // row.consensus_rounds for row in TABLE_4[9:]}

    atlas = [
        number
        for number, graph in enumerate(networkx.graph_atlas_g())
        if len(graph) == 7
        and graph.number_of_edges() == links
        and networkx.is_connected(graph)
        and _connectivity(graph) == pytest.approx(connectivity, abs=5e-5)
    ]

    assert atlas == found


@pytest.mark.parametrize(
    ("number", "graph"),
    [(1081, topology.paper_13()), (1047, topology.paper_13_other()), (1221, topology.paper_16())],
)
def test_the_shipped_graphs_are_those_of_the_atlas(number, graph):
    atlas = networkx.graph_atlas(number)

    assert networkx.is_isomorphic(atlas, topology.to_networkx(graph))


def test_the_text_about_neighbours_contradicts_the_printed_connectivity():
    atlas = [graph for graph in networkx.graph_atlas_g() if len(graph) == 7]
    thirteen = [
        _connectivity(graph)
        for graph in atlas
        if graph.number_of_edges() == 13 and {d for _, d in graph.degree} <= {3, 4}
    ]
    sixteen = [
        _connectivity(graph)
        for graph in atlas
        if graph.number_of_edges() == 16 and {d for _, d in graph.degree} <= {4, 5, 6}
    ]

    assert min(thirteen) == pytest.approx(2.1206, abs=5e-5)  # "3∼4 connections": not 1.4384
    assert min(sixteen) >= 3.0 - 1e-9  # "4∼6 connections": not 2.5188


def _connectivity(graph: networkx.Graph) -> float:
    laplacian = networkx.laplacian_matrix(graph).toarray().astype(float)
    return float(np.linalg.eigvalsh(laplacian)[1])


def test_table_4_contradicts_the_bound_it_is_said_to_confirm():
    norm = {row.label: row.gradient_norm for row in TABLE_4}
    problem = Problem(smoothness=1.0, gradient_noise=1.0)
    busy = make_plan(sync_period=15, num_agents=7, learning_rate=0.01)
    varied = replace(busy, local_updates=np.array(FAST_TO_SLOW["10-15"]))

    bound = [printed.variation_bound(problem, plan).total for plan in (varied, busy)]

    assert bound[0] < bound[1]
    assert norm["τ=10∼15"] > norm["τ=15"]
