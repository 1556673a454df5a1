import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fmarl.federation.ledger import after_slot, empty_ledger
from fmarl.federation.make_method import make_method
from fmarl.federation.method import Method
from fmarl.federation.method_file import describe_method, read_method
from fmarl.federation.method_theory import expected_overheads, why_unbounded
from fmarl.federation.recipes import METHODS, MethodConfig, make_from_config
from fmarl.topology import chebyshev_weights, ring


def recorded(method: Method):
    return read_method(describe_method(method, 60, 6))


@pytest.mark.parametrize("word", METHODS)
def test_a_method_that_was_written_down_mixes_and_counts_as_it_did(word):
    method = make_from_config(MethodConfig(method=word), num_agents=5, periods=4, seed=0)
    again = recorded(method)
    np.testing.assert_allclose(again.mixing, method.mixing, atol=1e-15)
    assert again.local_updates.tolist() == method.local_updates.tolist()
    bounded = word not in ("independent", "delayed", "delayed-adoption")
    assert (why_unbounded(again) is None) == bounded
    assert again.averages == ("none" if word == "independent" else "all")


@pytest.mark.parametrize("word", METHODS)
def test_a_method_that_is_read_back_is_written_down_in_the_same_words(word):
    method = make_from_config(MethodConfig(method=word), num_agents=5, periods=4, seed=0)
    facts = describe_method(method, 60, 6)
    assert describe_method(read_method(facts), 60, 6) == facts


def test_rounds_of_different_weights_stay_apart():
    mixing = chebyshev_weights(ring(6), 3)
    again = recorded(make_method(6, sync_period=2, mixing=mixing))
    np.testing.assert_allclose(again.mixing, mixing, atol=1e-15)


@given(
    local_updates=st.lists(st.integers(1, 7), min_size=2, max_size=2),
    slots=st.integers(0, 40),
    rounds=st.integers(0, 2),
    alone=st.booleans(),
)
def test_the_closed_form_is_what_the_ledger_counts_after_any_slot(
    local_updates, slots, rounds, alone
):
    method = make_method(
        3,
        sync_period=7,
        local_updates=np.array([7, *local_updates]),
        mixing=np.tile(np.array([[0.8, 0.2, 0], [0.2, 0.6, 0.2], [0, 0.2, 0.8]]), (rounds, 1, 1)),
        groups=np.arange(3) if alone else None,
    )
    ledger = empty_ledger(3)
    for count in range(slots):
        ledger = after_slot(ledger, method, count)
    expected = expected_overheads(recorded(method), slots)
    assert expected is not None
    totals = ledger.totals()
    assert expected._asdict() == {name: totals[name] for name in expected._fields}


def _recorded_from(num_worlds: int = 1, **words):
    config = MethodConfig(**words)
    return recorded(make_from_config(config, 6, periods=4, seed=0, num_worlds=num_worlds))


def test_a_hierarchy_is_written_down_with_its_groups():
    again = _recorded_from(num_worlds=2, hierarchy=2)
    assert again.averages == "groups"
    assert again.groups.tolist() == [[0, 0, 0, 1, 1, 1], [0] * 6]
    assert again.edge_agents.tolist() == [0, 0, 0, 1, 1, 1]
    assert why_unbounded(again)
    assert expected_overheads(again, 30) is None


def test_those_who_are_left_out_make_an_average_of_some():
    assert _recorded_from(participation=0.5, missing="renormalise").averages == "some"
    unequal = make_method(3, counted=np.array([1.0, 2.0, 3.0]))
    assert (unequal.averages, recorded(unequal).averages) == ("some", "some")


def test_attackers_and_robust_rules_are_written_down_and_have_no_bound():
    honest = _recorded_from()
    assert (honest.attack, honest.aggregate, why_unbounded(honest)) == (None, "mean", None)
    lied = _recorded_from(attack="scale:2:100")
    assert lied.attack is not None
    assert np.flatnonzero(lied.attack.attackers).tolist() == [4, 5]
    assert (float(lied.attack.factor), float(lied.attack.noise)) == (100.0, 0.0)
    assert "honest agents" in str(why_unbounded(lied))
    noisy = _recorded_from(attack="noise:1:2.5")
    assert noisy.attack is not None
    assert np.flatnonzero(noisy.attack.attackers).tolist() == [5]
    assert float(noisy.attack.noise) == 2.5
    robust = _recorded_from(aggregate="trimmed", tolerated=2)
    assert (robust.aggregate, robust.tolerated) == ("trimmed", 2)
    assert "about means" in str(why_unbounded(robust))
    assert expected_overheads(robust, 30) == expected_overheads(honest, 30)


def test_a_method_of_an_earlier_version_can_be_read():
    facts = describe_method(make_method(3), 60, 6)
    for name in ("groups", "edge_agents", "aggregate", "tolerated"):
        del facts[name]
    again = read_method(facts)
    assert (again.averages, again.aggregate, again.attack) == ("all", "mean", None)
    del facts["averages"]
    with pytest.raises(KeyError, match="averages"):
        read_method(facts)


def test_what_comes_and_goes_or_is_late_has_no_closed_form():
    away = MethodConfig(method="periodic", participation=0.5)
    for config in (away, MethodConfig(method="delayed")):
        method = make_from_config(config, num_agents=4, periods=3, seed=0)
        assert expected_overheads(recorded(method), 10) is None
