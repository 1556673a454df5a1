"""What is told of runs in numbers, against numbers worked out by hand."""

import math
from dataclasses import replace
from pathlib import Path

import pytest

from fmarl.report.group_scores import CountRange, compare, score
from fmarl.report.run_reader import RecordedRun, read_recorded_run
from fmarl.report.run_scores import (
    as_calculated,
    cost_of,
    final,
    last_counts,
    learning_curve,
    measure_of,
)
from fmarl.report.run_set import Group, read_run_set
from unit.report.small_runs import RISING, road, seeds, shifted, write_run


def _run(folder: Path, *rewards: float | None, **facts) -> RecordedRun:
    experiment = facts.pop("experiment", road(num_epochs=len(rewards) - 1))
    return read_recorded_run(write_run(folder, experiment, rewards, **facts), "it")


def _group(parent: Path, method: str, values, **changes) -> Group:
    [group] = read_run_set([seeds(parent, method, values, **changes)]).groups
    return group


def test_the_end_of_a_run_is_the_last_tenth_of_its_tests(tmp_path):
    many = [0.0] * 19 + [0.4, 0.6]
    assert final(_run(tmp_path / "many", *many)) == pytest.approx(0.5)
    assert final(_run(tmp_path / "few", 0.1, 0.9, 0.2)) == 0.2


def test_a_test_that_found_no_number_is_left_out(tmp_path):
    run = _run(tmp_path / "run", 0.1, None, 0.3)
    assert learning_curve(run).epochs.tolist() == [0, 2]
    assert score(Group("", [run])).area.value == pytest.approx(0.2)


def test_a_run_without_tests_has_no_end_and_no_area(tmp_path):
    found = score(Group("", [_run(tmp_path / "run", None, None)]))
    assert math.isnan(found.final.value) and math.isnan(found.area.value)
    assert found.reached is None


def test_runs_that_never_reach_sumo_count_as_later_than_all(tmp_path):
    fast, slow, never = (0.3, 0.3, 0.3), RISING, (0.1, 0.1, 0.1)
    reached = score(_group(tmp_path, "periodic", [never, slow, fast])).reached
    assert reached == (2, 2, 3)
    reached = score(_group(tmp_path / "worse", "periodic", [never, never, fast])).reached
    assert reached == (math.inf, 1, 3)
    reached = score(_group(tmp_path / "two", "periodic", [never, fast])).reached
    assert reached == (math.inf, 1, 2)


@pytest.mark.parametrize("method", ["independent", "synchronous", "periodic", "consensus"])
def test_what_the_ledger_counts_is_the_closed_form(tmp_path, method):
    run = _run(tmp_path / "run", *RISING, experiment=road(method))
    assert as_calculated(run) is True
    last = dict(last_counts(run))
    last["mixings"] += 1
    wrong = replace(run, lines=[*run.lines, last])
    assert as_calculated(wrong) is False


def test_a_method_without_closed_form_is_neither_right_nor_wrong(tmp_path):
    run = _run(tmp_path / "run", *RISING, experiment=road("delayed"))
    assert as_calculated(run) is None
    assert score(Group("", [run])).agrees is None
    assert as_calculated(replace(run, method=None)) is None


def test_counts_are_ranges_where_runs_have_not_come_equally_far(tmp_path):
    found = score(_group(tmp_path, "synchronous", [RISING, RISING[:2]]))
    assert found.counts["uploads"] == CountRange(42, 84)
    assert found.bytes_sent == CountRange(2 * 42 * 400, 2 * 84 * 400)
    assert found.group.unfinished == 1


def test_the_cost_is_everything_counted_at_its_price(tmp_path):
    run = _run(tmp_path / "run", *RISING, experiment=road("consensus"))
    last = last_counts(run)
    assert last["exchanges"] == 12 * 14
    assert cost_of(last) == pytest.approx(84 * 1e-4 + 168 * 1e-3 + 168 * 1e-4)


def test_collisions_are_counted_over_all_test_epochs(tmp_path):
    found = score(Group("", [_run(tmp_path / "run", *RISING, crashed=True)]))
    assert (found.ended_early, found.test_epochs) == (3, 6)


def test_games_of_others_are_judged_by_what_an_episode_brings(tmp_path):
    for world, measure, end in (
        ("gym:CartPole-v1", "return", 3.0),
        ("pettingzoo:x", "return", 3.0),
        ("toy-bumpy", "reward", 0.3),
        ("merge", "NAS", 0.3),
    ):
        run = _run(tmp_path / world, *RISING, experiment=road(world=world), baseline=None)
        assert (measure_of(run), final(run)) == (measure, pytest.approx(end))


def test_utility_is_told_where_the_gradient_was_measured(tmp_path):
    experiment = road("synchronous", num_epochs=1)
    run = _run(tmp_path / "run", 0.1, 0.2, experiment=experiment, norms=[9.0, *[3.0] * 6])
    found = score(Group("", [run]))
    assert found.initial_gradient_norm.value == 9
    assert found.gradient_norm.value == 3
    assert found.utility.value == pytest.approx(6 / cost_of(last_counts(run)))
    unmeasured = _run(tmp_path / "other", 0.1, 0.2)
    assert math.isnan(score(Group("", [unmeasured])).utility.value)


def test_groups_are_compared_on_the_seeds_that_both_have(tmp_path):
    firl = _group(tmp_path / "firl", "periodic", [(0, 0, end) for end in (0.3, 0.4, 0.6, 0.9)])
    irl = _group(tmp_path / "irl", "independent", [(0, 0, end) for end in (0.2, 0.2, 0.3)])
    found = compare(firl, irl)
    assert found.seeds == [0, 1, 2] and found.enough
    assert found.final.value == pytest.approx(0.2)
    assert found.final.low < 0.2 < found.final.high
    assert found.chance.value == pytest.approx(8.5 / 9)


def test_two_seeds_give_a_difference_without_an_interval(tmp_path):
    firl = _group(tmp_path / "firl", "periodic", [RISING] * 2)
    irl = _group(tmp_path / "irl", "independent", [(0.0, 0.0, 0.0)] * 3)
    found = compare(firl, irl)
    assert not found.enough
    assert found.final.value == pytest.approx(0.3)
    assert math.isnan(found.final.low) and math.isnan(found.chance.low)


def test_without_common_seeds_nothing_is_compared(tmp_path):
    write_run(tmp_path / "a", road(seed=1))
    write_run(tmp_path / "b", shifted(road(seed=2), learning_rate=1e-3))
    one, other = read_run_set([tmp_path]).groups
    found = compare(one, other)
    assert found.seeds == [] and math.isnan(found.final.value)


def test_a_run_that_is_not_finished_is_not_compared_unless_it_diverged(tmp_path):
    firl = _group(tmp_path / "firl", "periodic", [RISING, RISING[:2], RISING[:2]])
    firl.runs[2] = replace(firl.runs[2], state="diverged")
    irl = _group(tmp_path / "irl", "independent", [RISING] * 3)
    found = compare(firl, irl)
    assert found.seeds == [0, 2]
    assert found.final.value == pytest.approx((0 - 0.1) / 2)
