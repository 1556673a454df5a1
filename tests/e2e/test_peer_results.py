"""What the comparison with Stable-Baselines3 is made of, and what it found; needs no torch."""

import json
from dataclasses import replace

import pytest

import fmarl
from peers import fmarl_side
from peers.results import RESULTS, SIDES, compared_tasks, judge, read
from peers.sb3_settings import settings
from peers.score import make_environment
from peers.tasks import TASKS
from peers.write_docs import PAGE, updated_page


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("name", compared_tasks())
def test_every_run_of_a_compared_task_is_in_the_results(name, side):
    assert [run.seed for run in read(name).of(side)] == list(range(TASKS[name].num_seeds))


@pytest.mark.parametrize("name", compared_tasks())
def test_the_results_were_found_with_the_settings_of_the_task(name):
    recorded = json.loads((RESULTS / f"{name}.json").read_text())["theirs"]
    task = TASKS[name]
    assert recorded["settings"] == settings(task)
    assert (recorded["environment"], recorded["steps"]) == (task.env_id, task.steps)


def test_no_task_says_that_we_are_worse():
    assert [name for name in compared_tasks() if not read(name).verdict.passed] == []


def test_the_page_shows_settings_and_results():
    page = PAGE.read_text()
    assert page == updated_page(page), "run PYTHONPATH=tests python -m peers.write_docs"


def test_a_side_that_scores_lower_in_every_run_is_worse():
    theirs = [100.0 + seed for seed in range(10)]
    assert judge(theirs, theirs, solved=None).passed
    assert not judge([score - 20 for score in theirs], theirs, solved=None).passed


def test_a_tie_below_what_counts_as_solved_is_not_enough():
    scores = [400.0] * 10
    assert judge(scores, scores, solved=400.0).passed
    assert not judge(scores, scores, solved=475.0).passed


@pytest.mark.parametrize(("name", "least", "most"), [("cartpole", 8, 100), ("pendulum", -2000, 0)])
def test_our_side_hands_over_a_policy_and_what_its_run_earned(name, least, most):
    """Of two slots nothing is learned: a pole falls after some tens of steps."""
    learning = fmarl.PPOConfig(passes=1)  # compiles soonest
    task = replace(TASKS[f"{name}-ppo"], steps=800, steps_per_update=400, learning=learning)
    trained = fmarl_side.train(task, seed=0)
    env = make_environment(task.env_id)
    observation, _ = env.reset(seed=0)
    assert env.action_space.contains(trained.act(observation))
    assert least <= trained.training_return <= most
