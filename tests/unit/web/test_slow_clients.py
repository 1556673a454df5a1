"""Who is cut off: the dead, not the slow."""

from dataclasses import dataclass

from fmarl.web.slow_clients import Patience


@dataclass(eq=False)
class Connection:
    waiting: int
    aborted: bool = False

    def get_write_buffer_size(self) -> int:
        return self.waiting

    def abort(self) -> None:
        self.aborted = True


def test_who_takes_nothing_for_so_long_is_cut_off():
    patience, dead = Patience(10.0), Connection(100)
    assert [patience.look([dead], now) for now in (0.0, 5.0, 9.0)] == [[], [], []]
    assert patience.look([dead], 10.0) == [dead]


def test_who_takes_a_little_is_not():
    patience, slow = Patience(10.0), Connection(1000)
    for now in range(0, 100, 5):
        slow.waiting -= 1
        assert patience.look([slow], float(now)) == []


def test_who_has_nothing_waiting_is_not_however_long():
    patience, idle = Patience(10.0), Connection(0)
    assert [patience.look([idle], now) for now in (0.0, 50.0, 100.0)] == [[], [], []]


def test_patience_starts_again_when_all_was_taken():
    patience, viewer = Patience(10.0), Connection(100)
    patience.look([viewer], 0.0)
    viewer.waiting = 0
    patience.look([viewer], 5.0)
    viewer.waiting = 100
    assert patience.look([viewer], 12.0) == []
    assert patience.look([viewer], 22.0) == [viewer]
