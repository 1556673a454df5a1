"""How far methods step: counted slot by slot, made equal by a variant, told by the report."""

import math

import numpy as np
import pytest

from fmarl.federation.recipes import MethodConfig
from fmarl.report.page import Table
from fmarl.report.statistics import Interval
from fmarl.reproduce import paper
from fmarl.reproduce.figures import figure_steps
from fmarl.reproduce.methods import step_share, table_methods, with_full_steps
from fmarl.reproduce.paper import TAU_1, TAU_10, TAU_15
from fmarl.reproduce.step_section import found, line_through, step_rows, step_section
from fmarl.reproduce.study import make_study
from fmarl.reproduce.study_results import Evidence
from unit.reproduce.made_up import STUDY, evidence, few_methods

METHODS = table_methods(make_study("paper"))


def _counted(row: paper.TableRow) -> float:
    """Steps of all agents in a period, one by one."""
    taken = [
        row.decay_rate ** (slot / 2) for updates in row.local_updates for slot in range(updates)
    ]
    return sum(taken) / (paper.NUM_AGENTS * row.sync_period)


@pytest.mark.parametrize("row", paper.TABLE_4, ids=lambda row: row.name)
def test_the_share_of_full_steps_is_what_agents_take_one_by_one(row: paper.TableRow):
    assert step_share(METHODS[row.name].together) == pytest.approx(_counted(row))


def test_updates_that_are_drawn_are_counted_on_average():
    drawn = MethodConfig(sync_period=15, local_updates="drawn:1-15")
    assert step_share(drawn) == pytest.approx(8 / 15, abs=0.01)


def test_with_full_steps_a_method_moves_as_far_as_plain_averaging():
    decayed = MethodConfig(method="decay", sync_period=15, local_updates="1-15", decay_rate=0.92)
    made_up_for = with_full_steps(decayed)
    assert made_up_for.learning_rate * step_share(made_up_for) == pytest.approx(1e-4)
    assert with_full_steps(MethodConfig(sync_period=15)).learning_rate == 1e-4


def test_the_variant_changes_the_rate_of_methods_that_step_less_and_nothing_else():
    for name, one in table_methods(make_study("paper", "equal-steps")).items():
        usual = METHODS[name].together
        assert one.together == with_full_steps(usual)
        assert (one.together == usual) == (step_share(usual) == 1)


def test_a_line_needs_three_methods_that_step_differently():
    flat, unknown = Interval(1.0, 0.0, 2.0), Interval(math.nan, math.nan, math.nan)
    for shares, intervals in (([0.5, 1.0], [flat] * 2), ([1.0] * 3, [flat] * 3)):
        assert math.isnan(line_through(shares, intervals).slope)
    assert math.isnan(line_through([0.5, 0.6, 1.0], [flat, flat, unknown]).slope)
    assert line_through([0.5, 0.6, 1.0], [flat] * 3).slope == 0


def test_methods_that_do_as_well_as_they_step_far_lie_on_a_line():
    heights = {name: 0.2 * step_share(one.together) for name, one in METHODS.items()}
    rows = step_rows(few_methods(heights))
    line = line_through([row.share for row in rows], [row.fixed for row in rows])
    assert line.slope == pytest.approx(0.2, abs=0.002)
    assert line.correlation == pytest.approx(1.0, abs=1e-2)
    assert "rises by 0.020 in mean NAS per tenth of a step" in found(rows)


def test_only_methods_that_were_run_are_in_the_section():
    some = few_methods({TAU_1: 0.2, TAU_10: 0.2, TAU_15: 0.2})
    [table] = [
        one for one in step_section(some, figure_steps(some)).blocks if isinstance(one, Table)
    ]
    assert [row[0] for row in table.rows] == [TAU_1, TAU_10, TAU_15]
    assert "rises by – in mean NAS" in found(step_rows(some))


def test_no_point_hides_another():
    [fixed, _] = figure_steps(evidence(lambda task: 0.2)).axes
    places = np.concatenate([line.get_xdata() for line in fixed.lines]).tolist()
    assert len(set(places)) == len(places) == len(paper.TABLE_4)


def test_a_single_run_is_drawn_too():
    only = next(iter(few_methods({TAU_1: 0.2}).results.items()))
    [fixed, _] = figure_steps(Evidence(STUDY, dict([only]))).axes
    low, high = fixed.get_ylim()
    assert low < 0.2 < high
