"""Who is cut off: the dead, not the slow."""

from asyncio import WriteTransport

from fmarl.web.server import StallTimer


class Connection(WriteTransport):
    def __init__(self, waiting: int) -> None:
        super().__init__()
        self.waiting = waiting

    def get_write_buffer_size(self) -> int:
        return self.waiting


def test_who_takes_nothing_for_so_long_is_cut_off():
    timer, dead = StallTimer(10.0), Connection(100)
    assert [timer.stalled([dead], now) for now in (0.0, 5.0, 9.0)] == [[], [], []]
    assert timer.stalled([dead], 10.0) == [dead]


def test_who_takes_a_little_is_not():
    timer, slow = StallTimer(10.0), Connection(1000)
    for now in range(0, 100, 5):
        slow.waiting -= 1
        assert timer.stalled([slow], float(now)) == []


def test_who_has_nothing_waiting_is_not_however_long():
    timer, idle = StallTimer(10.0), Connection(0)
    assert [timer.stalled([idle], now) for now in (0.0, 50.0, 100.0)] == [[], [], []]


def test_the_time_starts_again_when_all_was_taken():
    timer, viewer = StallTimer(10.0), Connection(100)
    timer.stalled([viewer], 0.0)
    viewer.waiting = 0
    timer.stalled([viewer], 5.0)
    viewer.waiting = 100
    assert timer.stalled([viewer], 12.0) == []
    assert timer.stalled([viewer], 22.0) == [viewer]
