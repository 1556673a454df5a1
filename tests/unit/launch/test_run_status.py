"""From a run's lines to the row that is shown of it."""

import math

from fmarl.launch.run_status import Follower


class Clock:
    """Time that passes when it is told to."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def _follower() -> tuple[Follower, Clock]:
    clock = Clock()
    return Follower("brisk-otter", num_epochs=20, clock=clock), clock


def test_lines_become_where_the_run_stands():
    follower, clock = _follower()
    follower.take({"kind": "start", "epoch": 0})
    follower.take({"kind": "test", "epoch": 0, "mean": 0.1})
    clock.now += 10
    follower.take({"kind": "epoch", "epoch": 5, "train_reward": 0.2, "bytes_sent": 7})
    follower.take({"kind": "test", "epoch": 5, "mean": 0.3})
    row = follower.row
    assert (row.epoch, row.train_reward, row.bytes_sent) == (5, 0.2, 7)
    assert row.test_rewards == (0.1, 0.3)
    assert row.state == "training"


def test_the_time_left_is_that_of_the_epochs_left_at_the_speed_so_far():
    follower, clock = _follower()
    follower.take({"kind": "test", "epoch": 10, "mean": 0.1})  # it was resumed there
    assert follower.row.seconds_left is None
    clock.now += 8
    follower.take({"kind": "epoch", "epoch": 14})
    assert follower.row.seconds_left == 12


def test_the_norm_on_samples_is_shown_before_the_agents_own():
    follower, _ = _follower()
    follower.take({"kind": "epoch", "epoch": 1, "gradient_norm": 3.0})
    assert follower.row.gradient_norm == 9
    both = {"expected_gradient_norm": 2.0, "gradient_norm": 3.0}
    follower.take({"kind": "epoch", "epoch": 2, **both})
    assert follower.row.gradient_norm == 2


def test_a_test_without_a_number_is_shown_as_none():
    follower, _ = _follower()
    follower.take({"kind": "test", "epoch": 0, "mean": None})
    assert math.isnan(follower.row.test_rewards[0])


def test_a_run_that_is_over_is_not_waited_for():
    follower, clock = _follower()
    follower.take({"kind": "epoch", "epoch": 1})
    clock.now += 1
    follower.take({"kind": "epoch", "epoch": 2})
    follower.say("done")
    assert (follower.row.state, follower.row.seconds_left) == ("done", None)
