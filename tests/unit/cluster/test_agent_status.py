import pytest
from hypothesis import given
from hypothesis import strategies as st

from fmarl.cluster.agent_status import Roll, default_quorum
from fmarl.errors import BadInput

AGENTS = 5


def make_roll(**changes: int) -> Roll:
    return Roll(**{"num_agents": AGENTS, "quorum": 3, "max_retries": 2, **changes})


def codes(roll: Roll) -> list[str]:
    """What happened since this was last asked."""
    seen = [event["code"] for event in roll.events]
    roll.events.clear()
    return seen


def test_at_first_everybody_is_present():
    roll = make_roll()
    assert roll.present == (0, 1, 2, 3, 4) and roll.away == {} and roll.to_replace == ()
    assert roll.has_quorum and roll.events == []


def test_an_agent_that_dies_is_away_until_it_is_replaced_and_the_period_is_over():
    roll = make_roll()
    roll.lose(3, "AGENT_LOST", "killed by signal 9")
    assert roll.present == (0, 1, 2, 4) and roll.to_replace == (3,)
    assert roll.away == {3: "AGENT_LOST"}

    roll.replaced(3)
    assert roll.present == (0, 1, 2, 4) and roll.to_replace == ()

    roll.commit()
    assert roll.present == (0, 1, 2, 3, 4)
    assert roll.events == [
        {"code": "AGENT_LOST", "agent": 3, "detail": "killed by signal 9"},
        {"code": "AGENT_REPLACED", "agent": 3},
    ]


def test_a_dead_agent_that_nobody_replaces_stays_away():
    roll = make_roll()
    roll.lose(3, "AGENT_LOST")
    roll.commit()
    assert 3 not in roll.present and roll.to_replace == (3,)


def test_a_new_process_can_die_in_the_same_period():
    roll = make_roll()
    roll.lose(3, "AGENT_LOST")
    roll.replaced(3)
    roll.lose(3, "AGENT_LOST")
    roll.commit()
    assert roll.to_replace == (3,)


def test_a_late_agent_is_back_in_the_period_after_it_is_heard_of():
    roll = make_roll()
    roll.late(1)
    roll.commit()
    assert roll.present == (0, 2, 3, 4) and roll.away == {1: "AGENT_LATE"}

    roll.returns(1)
    assert 1 not in roll.present

    roll.commit()
    assert 1 in roll.present
    assert codes(roll) == ["AGENT_LATE", "AGENT_RETURNED"]


def test_a_late_agent_that_dies_is_replaced_at_once():
    roll = make_roll(patience=3)
    roll.late(1)
    roll.lose(1, "AGENT_LOST")
    assert roll.to_replace == (1,) and roll.away == {1: "AGENT_LOST"}


def test_the_dead_do_not_return_without_a_new_process():
    roll = make_roll()
    roll.lose(1, "AGENT_LOST")
    roll.returns(1)
    roll.commit()
    assert roll.to_replace == (1,) and codes(roll) == ["AGENT_LOST"]


def test_a_late_agent_is_replaced_after_so_many_periods_without_it():
    roll = make_roll(patience=3)
    roll.late(1)
    waited = 1
    while not roll.to_replace:
        roll.commit()
        waited += 1
    assert roll.to_replace == (1,) and waited == 3

    roll.replaced(1)
    roll.commit()
    assert 1 in roll.present


def test_patience_begins_again_with_the_next_delay():
    roll = make_roll(patience=2)
    for _ in range(3):
        roll.late(1)
        assert roll.to_replace == ()
        roll.returns(1)
        roll.commit()


def test_a_refused_agent_is_asked_again_in_the_next_period():
    roll = make_roll()
    roll.refuse(2, "NONFINITE", "parameters[3] is nan")
    assert 2 not in roll.present and roll.to_replace == ()

    roll.commit()
    assert 2 in roll.present
    assert roll.events == [
        {"code": "NONFINITE", "agent": 2, "detail": "parameters[3] is nan", "strikes": 1}
    ]


def test_refused_in_so_many_periods_in_a_row_an_agent_is_quarantined_for_good():
    roll = make_roll(strikes_allowed=3)
    for _ in range(3):
        assert 2 in roll.present
        roll.refuse(2, "NONFINITE")
        roll.commit()
    assert codes(roll) == ["NONFINITE"] * 3 + ["AGENT_QUARANTINED"]

    for move in (roll.replaced, roll.returns, roll.late):
        move(2)
    roll.lose(2, "AGENT_LOST")
    roll.refuse(2, "NONFINITE")
    assert roll.abandon()
    roll.commit()
    assert 2 not in roll.present and 2 not in roll.to_replace
    assert codes(roll) == ["PERIOD_ABANDONED"]


def test_a_period_with_a_sound_upload_clears_the_strikes():
    roll = make_roll(strikes_allowed=2)
    for _ in range(4):
        roll.refuse(2, "BAD_PAYLOAD")
        roll.commit()
        assert 2 in roll.present
        roll.commit()


def test_strikes_outlive_a_period_that_the_agent_was_not_in():
    roll = make_roll(strikes_allowed=2)
    roll.refuse(2, "BAD_PAYLOAD")
    roll.commit()
    roll.lose(2, "AGENT_LOST")
    roll.replaced(2)
    roll.commit()
    roll.refuse(2, "BAD_PAYLOAD")
    assert codes(roll)[-1] == "AGENT_QUARANTINED"


def test_a_period_gives_one_strike_however_often_it_is_tried():
    roll = make_roll(strikes_allowed=2)
    for _ in range(2):
        roll.refuse(2, "BAD_PAYLOAD")
        assert roll.abandon()
    assert 2 in roll.present

    roll.refuse(2, "BAD_PAYLOAD")
    roll.commit()
    roll.refuse(2, "BAD_PAYLOAD")
    assert codes(roll)[-1] == "AGENT_QUARANTINED"


def test_below_quorum_all_who_can_are_asked_again_and_then_the_run_is_over():
    roll = make_roll(quorum=4, max_retries=2)
    for retry in (1, 2):
        roll.lose(0, "AGENT_LOST")
        roll.refuse(1, "NONFINITE")
        roll.late(2)
        assert not roll.has_quorum
        roll.replaced(0)

        assert roll.abandon()
        assert roll.present == (0, 1, 3, 4)  # whoever is late can not be asked
        abandoned = next(one for one in roll.events if one["code"] == "PERIOD_ABANDONED")
        assert abandoned["retries"] == retry and abandoned["away"] == [0, 1, 2]
        roll.events.clear()

    roll.lose(0, "AGENT_LOST")
    assert not roll.abandon()
    assert roll.away == {0: "AGENT_LOST", 2: "AGENT_LATE"}
    assert codes(roll) == ["AGENT_LOST", "QUORUM_LOST"]


def test_a_committed_period_gives_the_retries_back():
    roll = make_roll(max_retries=1)
    for _ in range(3):
        assert roll.abandon()
        roll.commit()


def test_without_retries_the_first_loss_of_quorum_is_the_last():
    assert not make_roll(max_retries=0).abandon()


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"num_agents": 0}, "num_agents = 0"),
        ({"quorum": 0}, "quorum = 0 is not allowed: 1 to 5"),
        ({"quorum": 6}, "quorum = 6"),
        ({"max_retries": -1}, "max_retries = -1"),
        ({"strikes_allowed": 0}, "strikes_allowed = 0"),
        ({"patience": 0}, "patience = 0"),
    ],
)
def test_settings_that_make_no_sense_are_refused(changes, part):
    with pytest.raises(BadInput, match=part):
        make_roll(**changes)


@given(st.integers(1, 1000))
def test_the_default_quorum_is_the_fewest_that_are_half(num_agents):
    quorum = default_quorum(num_agents)
    assert 2 * quorum >= num_agents > 2 * (quorum - 1)


MOVES = ("lose", "late", "refuse", "replaced", "returns", "commit", "abandon")
moves = st.lists(st.tuples(st.sampled_from(MOVES), st.integers(0, AGENTS - 1)), max_size=40)


def make_move(roll: Roll, move: str, agent: int) -> None:
    """One move; some take a code, some no agent."""
    if move in ("commit", "abandon"):
        getattr(roll, move)()
    else:
        getattr(roll, move)(agent, *(["CODE"] if move in ("lose", "refuse") else []))


@given(moves)
def test_nobody_comes_back_within_an_attempt_and_everybody_is_somewhere(played):
    roll = make_roll(max_retries=40)
    for move, agent in played:
        before = set(roll.present)
        make_move(roll, move, agent)

        now = set(roll.present)
        assert now | roll.away.keys() == set(range(AGENTS)) and not now & roll.away.keys()
        assert set(roll.to_replace) <= roll.away.keys()
        assert all(roll.away.values())
        if move in ("commit", "abandon"):
            assert before <= now
        else:
            assert before - {agent} <= now <= before


@given(moves)
def test_whoever_is_not_quarantined_is_back_after_replacement_and_a_commit(played):
    roll = make_roll(max_retries=40)
    for move, agent in played:
        make_move(roll, move, agent)
    barred = {one["agent"] for one in roll.events if one["code"] == "AGENT_QUARANTINED"}

    for agent in range(AGENTS):
        roll.replaced(agent)
    roll.commit()

    assert set(roll.present) == set(range(AGENTS)) - barred
