"""From a run's lines to the status that is shown of it."""

import math

from fmarl.launch.run_status import StatusTracker


class Clock:
    """Time that passes when it is told to."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def _tracker() -> tuple[StatusTracker, Clock]:
    clock = Clock()
    return StatusTracker("brisk-otter", 20, "figure-eight", clock), clock


def test_lines_become_the_status_of_the_run():
    tracker, clock = _tracker()
    tracker.add_line({"kind": "start", "epoch": 0})
    tracker.add_line({"kind": "test", "epoch": 0, "mean": 0.1})
    clock.now += 10
    tracker.add_line({"kind": "epoch", "epoch": 5, "train_reward": 0.2, "bytes_sent": 7})
    tracker.add_line({"kind": "test", "epoch": 5, "mean": 0.3})
    status = tracker.status
    assert (status.epoch, status.train_reward, status.bytes_sent) == (5, 0.2, 7)
    assert status.test_rewards == (0.1, 0.3)
    assert status.state == "training"


def test_the_time_left_is_that_of_the_epochs_left_at_the_speed_so_far():
    tracker, clock = _tracker()
    tracker.add_line({"kind": "test", "epoch": 10, "mean": 0.1})  # it was resumed there
    assert tracker.status.seconds_left is None
    clock.now += 8
    tracker.add_line({"kind": "epoch", "epoch": 14})
    assert tracker.status.seconds_left == 12


def test_the_norm_on_samples_is_shown_before_the_agents_own():
    tracker, _ = _tracker()
    tracker.add_line({"kind": "epoch", "epoch": 1, "gradient_norm": 3.0})
    assert tracker.status.gradient_norm == 9
    both = {"expected_gradient_norm": 2.0, "gradient_norm": 3.0}
    tracker.add_line({"kind": "epoch", "epoch": 2, **both})
    assert tracker.status.gradient_norm == 2


def test_a_test_without_a_number_is_shown_as_none():
    tracker, _ = _tracker()
    tracker.add_line({"kind": "test", "epoch": 0, "mean": None})
    assert math.isnan(tracker.status.test_rewards[0])


def test_a_run_that_is_over_is_not_waited_for():
    tracker, clock = _tracker()
    tracker.add_line({"kind": "epoch", "epoch": 1})
    clock.now += 1
    tracker.add_line({"kind": "epoch", "epoch": 2})
    tracker.end("done")
    assert (tracker.status.state, tracker.status.seconds_left) == ("done", None)


def test_a_game_is_scored_by_what_an_episode_brings():
    tracker = StatusTracker("brisk-otter", 20, "gym:CartPole-v1")
    for epoch, found in ((0, 11.0), (10, 500.0)):
        tracker.add_line({"kind": "test", "epoch": epoch, "mean": 1.0, "returns": [found, found]})
    assert (tracker.status.measure, tracker.status.test_rewards) == ("return", (11.0, 500.0))
