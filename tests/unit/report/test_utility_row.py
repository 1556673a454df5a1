"""What a run's own lines add up to."""

import math

import pytest

from fmarl.report.run_scores import utility_row

START = {"kind": "start", "expected_gradient_norm": 10.0}
COUNTS = {"uploads": 4, "updates": 100, "exchanges": 1000, "mixings": 1000}


def _epoch(norm: float | None, count: int = 1) -> dict:
    norms = {"expected_gradient_norm": norm, "gradient_norms_measured": count} if norm else {}
    return {"kind": "epoch", **norms, **COUNTS}


def test_every_average_counts_once_however_many_an_epoch_holds():
    found = utility_row([START, _epoch(6.0, 3), _epoch(None), _epoch(2.0, 1)])
    assert found is not None
    assert found.gradient_norm == pytest.approx((3 * 6 + 2) / 4)
    assert found.initial_gradient_norm == 10


def test_the_cost_is_what_was_counted_at_the_paper_s_prices():
    found = utility_row([START, _epoch(5.0)])
    assert found is not None
    assert found.cost == pytest.approx(4 * 1 + 100 * 1e-4 + 1000 * 1e-3 + 1000 * 1e-4)
    assert found.utility == pytest.approx(5 / found.cost)


def test_a_run_that_removed_no_error_has_no_utility():
    found = utility_row([START, _epoch(11.0)])
    assert found is not None
    assert found.utility == -math.inf


def test_a_start_without_a_finite_norm_leaves_nothing_to_say():
    assert utility_row([{**START, "expected_gradient_norm": None}, _epoch(5.0)]) is None
    assert utility_row([_epoch(5.0)]) is None


def test_a_run_without_samples_has_nothing_to_say():
    assert utility_row([{"kind": "start"}, _epoch(None)]) is None
