import numpy as np
import pytest

from fmarl.reproduce import paper
from fmarl.reproduce.table4 import plan_of, recompute_table
from fmarl.topology import algebraic_connectivity, graph_from_text


def test_thirteen_of_thirteen_overheads_and_utilities_are_the_papers():
    rows = recompute_table()
    assert len(rows) == 13
    for row in rows:
        printed = (row.row.uploads, row.row.updates, row.row.exchanges)
        assert printed == (row.counted.uploads, row.counted.updates, row.counted.exchanges)
        assert f"{row.utility:.4f}" == f"{row.row.utility:.4f}"
        assert row.agrees


def test_a_row_with_another_utility_does_not_agree():
    wrong = list(paper.TABLE_4)
    wrong[1] = wrong[1]._replace(utility=0.5735)
    assert [row.agrees for row in recompute_table(tuple(wrong))].count(False) == 1


def test_the_other_13_edge_graph_gives_the_same_table():
    other = tuple(
        row._replace(graph="paper-13-other") if row.graph == "paper-13" else row
        for row in paper.TABLE_4
    )
    assert all(row.agrees for row in recompute_table(other))


@pytest.mark.parametrize(
    ("graph", "connectivity"),
    [("paper-13", 1.4384), ("paper-13-other", 1.4384), ("paper-16", 2.5188)],
)
def test_the_graphs_have_the_printed_connectivity(graph, connectivity):
    assert algebraic_connectivity(graph_from_text(graph, 7)) == pytest.approx(
        connectivity, abs=5e-5
    )


def test_the_plans_have_the_rows_decay_and_rounds():
    decayed, mixed = plan_of(paper.TABLE_4[8]), plan_of(paper.TABLE_4[11])
    assert decayed.decay[2] == pytest.approx(0.92)
    assert mixed.consensus_rounds == 2
    assert np.all(mixed.local_updates == 15)
