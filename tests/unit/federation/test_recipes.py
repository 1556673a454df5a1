"""Recipes: what each word makes, and that a setting nobody uses is refused."""

import json
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from fmarl.cli.bounds_setting import Setting
from fmarl.errors import BadInput
from fmarl.federation.aggregation import aggregate_rows
from fmarl.federation.ledger import Ledger, MessageSizes, after_slot, bytes_sent, empty_ledger
from fmarl.federation.method import Method
from fmarl.federation.method_file import describe_method, read_method
from fmarl.federation.method_theory import expected_overheads, plan_of
from fmarl.federation.missing_agents import of_those_who_learn, without
from fmarl.federation.recipes import METHODS, MethodConfig, make_from_config


def _make(agents: int = 7, periods: int = 50, seed: int = 0, worlds: int = 1, **words: Any):
    return make_from_config(MethodConfig(**words), agents, periods, seed, worlds)


@pytest.mark.parametrize("word", METHODS)
def test_every_method_can_be_made_from_its_word_alone(word):
    method = _make(method=word)
    assert method.num_agents == 7
    assert float(method.learning_rate) == 1e-4


def test_the_issue_s_command_makes_the_decayed_method():
    method = _make(method="decay", sync_period=15, local_updates="1-15", decay_rate=0.92)
    assert method.local_updates.tolist() == [[15, 13, 11, 9, 7, 5, 3]]
    np.testing.assert_allclose(method.decay, 0.92 ** (np.arange(15) / 2))


def test_decay_may_be_any_list_that_never_rises():
    method = _make(method="decay", sync_period=3, decay_weights="1,0.5,0.5")
    assert method.decay.tolist() == [1, 0.5, 0.5]
    with pytest.raises(BadInput, match="never rises"):
        _make(method="decay", sync_period=3, decay_weights="1,0.5,0.6")
    with pytest.raises(BadInput, match="one for each of τ = 3"):
        _make(method="decay", sync_period=3, decay_weights="1,0.5")


def test_step_times_give_the_local_updates_of_equation_6():
    method = _make(3, method="variation-aware", sync_period=3, step_seconds="0.3,0.9,0.7")
    assert method.local_updates.tolist() == [[3, 1, 1]]


def test_an_agent_too_slow_for_any_update_is_left_out_of_m_by_one_rule():
    words: dict[str, Any] = {"sync_period": 3, "step_seconds": "1,9,1"}
    method = _make(3, method="consensus", graph="complete", **words)
    assert method.local_updates.tolist() == [[3, 0, 3]]
    # Trained: the average is that of the two others, and nobody mixes with it.
    rows = jnp.array([[-3.0], [0.0], [-1.0]])
    assert aggregate_rows(method, 0, rows).tolist() == [[-2.0], [-2.0], [-2.0]]
    assert method.mixing[0, 1].tolist() == [0, 1, 0]
    # Billed: two uploads in a period, and what the closed form says.
    ledger = empty_ledger(3)
    for slot in range(3):
        ledger = after_slot(ledger, method, slot)
    expected = expected_overheads(method, 3)
    assert expected is not None
    assert ledger.totals() | expected._asdict() == ledger.totals()
    assert ledger.uploads.tolist() == [1, 0, 1]
    # Bounded: as two agents are, by `fmarl bounds` too; and read back from its file.
    plan = plan_of(method, 30)
    assert plan.num_agents == 2
    setting = Setting(num_agents=3, graph="complete", **words).plan()
    assert np.array_equal(setting.mixing, plan.mixing)
    learners, mixing = of_those_who_learn(method.local_updates[0], method.mixing)
    assert learners.tolist() == [3, 3]
    np.testing.assert_allclose(mixing.sum(axis=-1), 1)
    again = read_method(json.loads(json.dumps(describe_method(method, 30, 3))))
    assert np.array_equal(again.counted, method.counted)
    assert again.averages == method.averages == "all"


def test_drawn_local_updates_differ_by_period_and_repeat_by_seed():
    words: dict[str, Any] = {"method": "periodic", "local_updates": "drawn:2-15"}
    method = _make(**words)
    assert method.local_updates.shape == (50, 7)
    assert set(method.local_updates.ravel()) == set(range(2, 16))
    assert np.array_equal(method.local_updates, _make(**words).local_updates)
    assert not np.array_equal(method.local_updates, _make(seed=1, **words).local_updates)


def test_partial_participation_leaves_the_same_number_out_of_every_period():
    method = _make(method="periodic", participation=0.5)
    assert ((method.local_updates > 0).sum(axis=1) == 4).all()
    assert method.averages == "all"
    assert not method.renormalise
    left_out = _make(method="periodic", participation=0.5, missing="renormalise")
    assert np.array_equal(left_out.counted[3] > 0, left_out.local_updates[3] > 0)
    assert left_out.renormalise


def test_an_agent_that_is_away_is_not_billed_for_an_upload():
    method = _make(method="periodic", participation=0.5, sync_period=2)
    ledger = empty_ledger(7)
    for count in range(2):
        ledger = after_slot(ledger, method, count)
    assert ledger.uploads.sum() == 4
    assert ledger.downloads.sum() == 7
    assert np.array_equal(ledger.uploads, (method.local_updates[0] > 0).astype(int))


def test_independent_agents_pay_for_no_message():
    ledger = after_slot(empty_ledger(7), _make(method="independent", sync_period=1), 0)
    assert ledger.totals() == {
        "uploads": 0,
        "downloads": 0,
        "updates": 7,
        "exchanges": 0,
        "mixings": 0,
        "relays": 0,
    }


@pytest.mark.parametrize("word", [word for word in METHODS if "hierarchy" in METHODS[word].uses])
def test_a_hierarchy_averages_each_world_every_period_and_all_every_q(word):
    method = _make(6, worlds=3, method=word, hierarchy=3)
    worlds = [0, 0, 1, 1, 2, 2]
    assert method.groups.tolist() == [worlds, worlds, [0] * 6]
    assert method.edge_agents.tolist() == worlds
    assert (method.counted == 1).all()


def _after_periods(method: Method, periods: int) -> Ledger:
    ledger = empty_ledger(method.num_agents)
    for count in range(periods * int(method.sync_period)):
        ledger = after_slot(ledger, method, count)
    return ledger


def test_edges_send_on_to_the_root_when_it_meets():
    method = _make(6, worlds=3, sync_period=2, hierarchy=3)
    ledger = _after_periods(method, 7)
    assert ledger.uploads.tolist() == ledger.downloads.tolist() == [7] * 6
    assert ledger.relays.tolist() == [4, 4, 4, 0, 0, 0]  # the root has met twice: up and down
    sizes = MessageSizes(upload=100, exchange=80)
    assert bytes_sent(ledger, sizes) == 100 * (2 * 42 + 12)


def test_an_edge_whose_agents_are_all_away_has_nothing_to_send_on():
    method = without(_make(6, worlds=3, sync_period=2, hierarchy=1), [2, 3])
    assert _after_periods(method, 1).relays.tolist() == [2, 1, 2, 0, 0, 0]


def test_without_a_hierarchy_nothing_is_sent_on():
    assert _after_periods(_make(6, worlds=3), 2).relays.sum() == 0


def test_slow_adoption_saves_downloads_not_uploads():
    method = _make(method="delayed-adoption", delay_slots=3)
    ledger = empty_ledger(7)
    for count in range(9):
        ledger = after_slot(ledger, method, count)
    assert (ledger.totals()["uploads"], ledger.totals()["downloads"]) == (63, 21)


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ({"method": "periodic", "decay_rate": 0.9}, "not used by method periodic: decay, decay-"),
        ({"method": "synchronous", "sync_period": 3}, "sync_period = 3 is not used"),
        ({"method": "perodic"}, "is not allowed"),
        ({"method": "periodic", "participation": 0.0}, "0 < participation"),
        ({"method": "periodic", "missing": "skip"}, "zero or renormalise"),
        ({"method": "periodic", "local_updates": "drawn:0-15"}, "1 <= fewest"),
        ({"method": "periodic", "local_updates": "1-20"}, "each from 0 to sync_period"),
        ({"method": "periodic", "local_updates": "1,2"}, "one for each of num_agents = 7"),
        ({"method": "decay", "decay_weights": "one"}, "numbers only"),
        ({"method": "decay", "decay_rate": 1.5}, "0 < decay_rate <= 1"),
        ({"method": "consensus", "consensus_step": 5.0}, "consensus_step"),
        ({"method": "consensus", "consensus_rounds": -1}, "0 to 1000"),
        ({"method": "consensus", "graph": "0-1"}, "a connected graph"),
        ({"method": "delayed", "delay_slots": -1}, "0 to 10000 slots"),
        ({"method": "periodic", "learning_rate": 0.0}, "learning_rate"),
        ({"method": "periodic", "learning_rate": float("nan")}, "learning_rate"),
        ({"method": "periodic", "sync_period": 0}, "1 <= sync_period"),
        ({"method": "periodic", "hierarchy": 5}, "several worlds, an edge virtual agent for each"),
        ({"method": "periodic", "hierarchy": -1}, "0 to 1000 periods"),
        ({"method": "synchronous", "hierarchy": 5}, "not used by method synchronous"),
        ({"method": "independent", "attack": "scale:1:9"}, "not used by method independent"),
    ],
)
def test_what_can_not_be_is_refused_in_one_line(words, line):
    with pytest.raises(BadInput, match=line) as problem:
        _make(**words)
    assert "\n" not in str(problem.value)


@pytest.mark.parametrize(
    "words", [{"method": "delayed"}, {"method": "independent"}, {"local_updates": "drawn:1-15"}]
)
def test_methods_that_no_bound_covers_say_so(words):
    with pytest.raises(BadInput, match="has no bound"):
        plan_of(_make(**words), 100)
