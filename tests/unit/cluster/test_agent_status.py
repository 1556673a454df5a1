import pytest
from hypothesis import given
from hypothesis import strategies as st

from fmarl.cluster.agent_status import StatusTable, default_quorum
from fmarl.errors import BadInput

AGENTS = 5


def make_table(**changes: int) -> StatusTable:
    return StatusTable(**{"num_agents": AGENTS, "quorum": 3, "max_retries": 2, **changes})


def codes(table: StatusTable) -> list[str]:
    """What happened since this was last asked."""
    seen = [event["code"] for event in table.events]
    table.events.clear()
    return seen


def test_at_first_everybody_is_present():
    table = make_table()
    assert table.present == (0, 1, 2, 3, 4) and table.absent == {} and table.to_replace == ()
    assert table.has_quorum and table.events == []


def test_an_agent_that_dies_is_away_until_it_is_replaced_and_the_period_is_over():
    table = make_table()
    table.lose(3, "AGENT_LOST", "killed by signal 9")
    assert table.present == (0, 1, 2, 4) and table.to_replace == (3,)
    assert table.absent == {3: "AGENT_LOST"}

    table.mark_replaced(3)
    assert table.present == (0, 1, 2, 4) and table.to_replace == ()

    table.commit()
    assert table.present == (0, 1, 2, 3, 4)
    assert table.events == [
        {"code": "AGENT_LOST", "agent": 3, "detail": "killed by signal 9"},
        {"code": "AGENT_REPLACED", "agent": 3},
    ]


def test_a_dead_agent_that_nobody_replaces_stays_away():
    table = make_table()
    table.lose(3, "AGENT_LOST")
    table.commit()
    assert 3 not in table.present and table.to_replace == (3,)


def test_a_new_process_can_die_in_the_same_period():
    table = make_table()
    table.lose(3, "AGENT_LOST")
    table.mark_replaced(3)
    table.lose(3, "AGENT_LOST")
    table.commit()
    assert table.to_replace == (3,)


def test_a_late_agent_is_back_in_the_period_after_it_is_heard_of():
    table = make_table()
    table.mark_late(1)
    table.commit()
    assert table.present == (0, 2, 3, 4) and table.absent == {1: "AGENT_LATE"}

    table.mark_returned(1)
    assert 1 not in table.present

    table.commit()
    assert 1 in table.present
    assert codes(table) == ["AGENT_LATE", "AGENT_RETURNED"]


def test_a_late_agent_that_dies_is_replaced_at_once():
    table = make_table(max_periods_late=3)
    table.mark_late(1)
    table.lose(1, "AGENT_LOST")
    assert table.to_replace == (1,) and table.absent == {1: "AGENT_LOST"}


def test_the_dead_do_not_return_without_a_new_process():
    table = make_table()
    table.lose(1, "AGENT_LOST")
    table.mark_returned(1)
    table.commit()
    assert table.to_replace == (1,) and codes(table) == ["AGENT_LOST"]


def test_a_late_agent_is_replaced_after_so_many_periods_without_it():
    table = make_table(max_periods_late=3)
    table.mark_late(1)
    waited = 1
    while not table.to_replace:
        table.commit()
        waited += 1
    assert table.to_replace == (1,) and waited == 3

    table.mark_replaced(1)
    table.commit()
    assert 1 in table.present


def test_patience_begins_again_with_the_next_delay():
    table = make_table(max_periods_late=2)
    for _ in range(3):
        table.mark_late(1)
        assert table.to_replace == ()
        table.mark_returned(1)
        table.commit()


def test_a_refused_agent_is_asked_again_in_the_next_period():
    table = make_table()
    table.refuse(2, "NONFINITE", "parameters[3] is nan")
    assert 2 not in table.present and table.to_replace == ()

    table.commit()
    assert 2 in table.present
    assert table.events == [
        {"code": "NONFINITE", "agent": 2, "detail": "parameters[3] is nan", "strikes": 1}
    ]


def test_refused_in_so_many_periods_in_a_row_an_agent_is_quarantined_for_good():
    table = make_table(max_strikes=3)
    for _ in range(3):
        assert 2 in table.present
        table.refuse(2, "NONFINITE")
        table.commit()
    assert codes(table) == ["NONFINITE"] * 3 + ["AGENT_QUARANTINED"]

    for move in (table.mark_replaced, table.mark_returned, table.mark_late):
        move(2)
    table.lose(2, "AGENT_LOST")
    table.refuse(2, "NONFINITE")
    assert table.abandon()
    table.commit()
    assert 2 not in table.present and 2 not in table.to_replace
    assert codes(table) == ["PERIOD_ABANDONED"]


def test_a_period_with_a_sound_upload_clears_the_strikes():
    table = make_table(max_strikes=2)
    for _ in range(4):
        table.refuse(2, "BAD_PAYLOAD")
        table.commit()
        assert 2 in table.present
        table.commit()


def test_strikes_outlive_a_period_that_the_agent_was_not_in():
    table = make_table(max_strikes=2)
    table.refuse(2, "BAD_PAYLOAD")
    table.commit()
    table.lose(2, "AGENT_LOST")
    table.mark_replaced(2)
    table.commit()
    table.refuse(2, "BAD_PAYLOAD")
    assert codes(table)[-1] == "AGENT_QUARANTINED"


def test_a_period_gives_one_strike_however_often_it_is_tried():
    table = make_table(max_strikes=2)
    for _ in range(2):
        table.refuse(2, "BAD_PAYLOAD")
        assert table.abandon()
    assert 2 in table.present

    table.refuse(2, "BAD_PAYLOAD")
    table.commit()
    table.refuse(2, "BAD_PAYLOAD")
    assert codes(table)[-1] == "AGENT_QUARANTINED"


def test_below_quorum_all_who_can_are_asked_again_and_then_the_run_is_over():
    table = make_table(quorum=4, max_retries=2)
    for retry in (1, 2):
        table.lose(0, "AGENT_LOST")
        table.refuse(1, "NONFINITE")
        table.mark_late(2)
        assert not table.has_quorum
        table.mark_replaced(0)

        assert table.abandon()
        assert table.present == (0, 1, 3, 4)  # whoever is late can not be asked
        abandoned = next(one for one in table.events if one["code"] == "PERIOD_ABANDONED")
        assert abandoned["retries"] == retry and abandoned["away"] == [0, 1, 2]
        table.events.clear()

    table.lose(0, "AGENT_LOST")
    assert not table.abandon()
    assert table.absent == {0: "AGENT_LOST", 2: "AGENT_LATE"}
    assert codes(table) == ["AGENT_LOST", "QUORUM_LOST"]


def test_a_committed_period_gives_the_retries_back():
    table = make_table(max_retries=1)
    for _ in range(3):
        assert table.abandon()
        table.commit()


def test_without_retries_the_first_loss_of_quorum_is_the_last():
    assert not make_table(max_retries=0).abandon()


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"num_agents": 0}, "num_agents = 0"),
        ({"quorum": 0}, "quorum = 0 is not allowed: 1 to 5"),
        ({"quorum": 6}, "quorum = 6"),
        ({"max_retries": -1}, "max_retries = -1"),
        ({"max_strikes": 0}, "max_strikes = 0"),
        ({"max_periods_late": 0}, "max_periods_late = 0"),
    ],
)
def test_settings_that_make_no_sense_are_refused(changes, part):
    with pytest.raises(BadInput, match=part):
        make_table(**changes)


@given(st.integers(1, 1000))
def test_the_default_quorum_is_the_fewest_that_are_half(num_agents):
    quorum = default_quorum(num_agents)
    assert 2 * quorum >= num_agents > 2 * (quorum - 1)


MOVES = ("lose", "mark_late", "refuse", "mark_replaced", "mark_returned", "commit", "abandon")
moves = st.lists(st.tuples(st.sampled_from(MOVES), st.integers(0, AGENTS - 1)), max_size=40)


def make_move(table: StatusTable, move: str, agent: int) -> None:
    """One move; some take a code, some no agent."""
    if move in ("commit", "abandon"):
        getattr(table, move)()
    else:
        getattr(table, move)(agent, *(["CODE"] if move in ("lose", "refuse") else []))


@given(moves)
def test_nobody_comes_back_within_an_attempt_and_everybody_is_somewhere(played):
    table = make_table(max_retries=40)
    for move, agent in played:
        before = set(table.present)
        make_move(table, move, agent)

        now = set(table.present)
        assert now | table.absent.keys() == set(range(AGENTS)) and not now & table.absent.keys()
        assert set(table.to_replace) <= table.absent.keys()
        assert all(table.absent.values())
        if move in ("commit", "abandon"):
            assert before <= now
        else:
            assert before - {agent} <= now <= before


@given(moves)
def test_whoever_is_not_quarantined_is_back_after_replacement_and_a_commit(played):
    table = make_table(max_retries=40)
    for move, agent in played:
        make_move(table, move, agent)
    barred = {one["agent"] for one in table.events if one["code"] == "AGENT_QUARANTINED"}

    for agent in range(AGENTS):
        table.mark_replaced(agent)
    table.commit()

    assert set(table.present) == set(range(AGENTS)) - barred
