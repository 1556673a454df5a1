"""One update for every method: its limits, who moves, who stands still, and what is not finite."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fmarl.federation.delayed import InFlight, delayed_update
from fmarl.federation.make_method import make_method
from fmarl.federation.recipes import MethodConfig, make_from_config
from fmarl.federation.stages import make_stages
from fmarl.federation.update import federated_update, neighbours
from fmarl.reproduce import paper
from fmarl.theory import exponential_decay
from fmarl.topology import complete, constant_weights, ring
from oracles.slots import simulate_late_slots, simulate_slots
from unit.federation import toy_learner
from unit.federation.toy_learner import rows_of, run

START = np.array([1.5, -0.7, 0.3])
AGENTS = 4
RATE = 0.1


def _noise(slots: int, agents: int = AGENTS) -> np.ndarray:
    return np.random.default_rng(5).normal(size=(slots, agents, 3))


def _method(**parts):
    return make_method(parts.pop("num_agents", AGENTS), learning_rate=RATE, **parts)


def test_without_decay_and_rounds_every_method_is_periodic_averaging_bit_for_bit():
    periodic = rows_of(run(_method(sync_period=3), START, _noise(7)))
    config = {"learning_rate": RATE, "sync_period": 3}
    for other in (
        MethodConfig(method="decay", decay_rate=1.0, **config),
        MethodConfig(method="consensus", consensus_rounds=0, **config),
        MethodConfig(method="decay-consensus", decay_rate=1.0, consensus_rounds=0, **config),
        MethodConfig(method="variation-aware", **config),
    ):
        method = make_from_config(other, AGENTS, periods=3, seed=0)
        assert np.array_equal(rows_of(run(method, START, _noise(7))), periodic), other.method


def test_a_period_of_one_slot_is_synchronous_learning():
    rows = rows_of(run(_method(), START, _noise(5)))
    theta = START.copy()
    for slot, own in enumerate(_noise(5)):
        theta = theta - RATE * np.mean(toy_learner.bumpy_gradient(theta) + own, axis=0)  # Eq. (4)
        np.testing.assert_allclose(rows[slot], np.tile(theta, (AGENTS, 1)), atol=1e-5)


def test_mixing_with_everybody_equally_is_synchronous_learning_within_every_period():
    everybody = constant_weights(complete(AGENTS), 1 / AGENTS, 1)
    mixed = rows_of(run(_method(sync_period=5, mixing=everybody), START, _noise(8)))
    np.testing.assert_allclose(mixed, rows_of(run(_method(), START, _noise(8))), atol=1e-5)


def test_independent_agents_never_hear_of_each_other():
    method = make_from_config(MethodConfig(method="independent", learning_rate=RATE), AGENTS, 1, 0)
    together = rows_of(run(method, START, _noise(20)))
    alone = make_method(1, learning_rate=RATE)
    for agent in range(AGENTS):
        single = rows_of(run(alone, START, _noise(20)[:, agent : agent + 1]))
        assert np.array_equal(together[:, agent], single[:, 0])


def test_after_an_average_all_agents_hold_the_same_bits():
    states = run(_method(num_agents=7, sync_period=4), START, _noise(12, 7))
    for update in (3, 7, 11):
        rows = np.asarray(states[update].parameters)
        assert (rows == rows[0]).all()
    assert np.ptp(states[5].parameters, axis=0).min() > 0


def test_averaging_equal_rows_changes_no_bit():
    """Else thousands of averages would let the parameters creep."""
    still = np.zeros((6, AGENTS, 3))
    method = make_method(AGENTS, learning_rate=1e-30)
    rows = rows_of(run(method, START, still))
    assert np.array_equal(rows[-1], np.tile(START, (AGENTS, 1)).astype(np.float32))


def test_the_mean_moves_by_the_accumulated_gradients():
    """The paper's two forms of the virtual agent, Eq. (11): the same thing under plain steps."""
    method = _method(sync_period=4, local_updates=np.array([4, 3, 2, 1]))
    noise = _noise(4)
    states = [toy_learner.begin(method, START), *run(method, START, noise)]
    accumulated = np.zeros(3)
    for slot in range(4):
        rows = np.asarray(states[slot].parameters, float)
        for agent in range(AGENTS):
            if [4, 3, 2, 1][agent] > slot:
                accumulated += toy_learner.bumpy_gradient(rows[agent]) + noise[slot, agent]
    expected = START - RATE / AGENTS * accumulated
    np.testing.assert_allclose(states[4].parameters[0], expected, atol=1e-5)


def test_an_idle_agent_s_optimiser_stands_still():
    method = _method(sync_period=4, local_updates=np.array([4, 1, 1, 1]))
    states = run(method, START, _noise(4), adam=True)
    assert states[3].memory.count.tolist() == [4, 1, 1, 1]
    first, last = states[0].memory.mu, states[3].memory.mu
    assert np.array_equal(first[1:], last[1:])
    assert not np.array_equal(first[0], last[0])


def test_an_idle_agent_without_neighbours_does_not_move_even_under_adam():
    method = _method(sync_period=4, local_updates=np.array([4, 1, 1, 1]))
    rows = rows_of(run(method, START, _noise(3), adam=True))
    assert np.array_equal(rows[0, 1:], rows[2, 1:])


def test_idle_agents_apply_what_their_neighbours_found():
    method = _method(
        sync_period=4,
        local_updates=np.array([4, 1, 1, 1]),
        mixing=constant_weights(ring(AGENTS), 0.25, 1),
    )
    rows = rows_of(run(method, START, _noise(3)))
    assert not np.array_equal(rows[0, 1], rows[2, 1])


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_step_that_is_not_finite_counts_as_none(value):
    method = _method(sync_period=3, mixing=constant_weights(ring(AGENTS), 0.2, 2))
    noise = _noise(6)
    spoiled = noise.copy()
    spoiled[1, 2, 0] = value
    expected = simulate_slots(method, START, noise, bad={(1, 2)})
    states = run(method, START, spoiled)
    np.testing.assert_allclose(rows_of(states), expected, atol=1e-5)
    assert np.isfinite(rows_of(states)).all()
    assert states[-1].memory.tolist() == [6, 6, 5, 6]


def test_a_step_too_large_for_the_numbers_counts_as_none():
    method = make_method(AGENTS, learning_rate=1e38, groups=np.arange(AGENTS))
    noise = np.zeros((1, AGENTS, 3))
    noise[0, 2] = 1e30
    rows = rows_of(run(method, START, noise))
    assert np.isfinite(rows).all()
    assert np.array_equal(rows[0, 2], START.astype(np.float32))


@pytest.mark.parametrize(("up", "down", "adopt"), [(2, 3, 1), (0, 2, 1), (3, 0, 1), (2, 2, 4)])
def test_slow_post_is_delayed_gradient_descent(up, down, adopt):
    method = _method(uplink_delay=up, downlink_delay=down, adopt_every=adopt)
    rows = rows_of(run(method, START, _noise(15)))
    np.testing.assert_allclose(rows, simulate_late_slots(method, START, _noise(15)), atol=1e-5)


def test_post_without_delay_is_synchronous_learning():
    """Eq. (4), though by way of the virtual agent's own parameters."""
    method, rows = _method(), jnp.tile(jnp.asarray(START, jnp.float32), (AGENTS, 1))
    steps = jnp.asarray(_noise(1)[0], jnp.float32)
    mail = InFlight(rows, jnp.zeros((0, *rows.shape)), jnp.zeros((0, *rows.shape)))
    held, mail = jax.jit(delayed_update)(method, mail, rows, steps, jnp.zeros((), jnp.int32))
    np.testing.assert_allclose(held[0], START - RATE * _noise(1)[0].mean(axis=0), atol=1e-6)
    assert np.array_equal(held, mail.virtual)


def test_rows_of_table_iv_of_the_same_shapes_share_their_compiled_programs():
    stages, shapes = make_stages(toy_learner.PLAIN), set()
    for row in paper.TABLE_4:
        method = make_method(
            7,
            sync_period=row.sync_period,
            local_updates=np.array(row.local_updates),
            decay=exponential_decay(row.decay_rate, row.sync_period),
            mixing=toy_mixing(row),
        )
        state = toy_learner.begin(method, START)
        slot = np.zeros((1, 7, 3), np.float32)
        federated_update(method, stages, state, slot, jax.random.key(0))
        shapes.add((row.sync_period, row.consensus_rounds))
    assert stages.learn._cache_size() == len(shapes) == 5  # type: ignore[attr-defined]


def toy_mixing(row: paper.TableRow) -> np.ndarray | None:
    from fmarl.topology import graph_from_text

    if row.graph is None:
        return None
    return constant_weights(graph_from_text(row.graph, 7), 0.1, row.consensus_rounds)


def test_mix_gives_an_agent_alone_the_row_that_it_has_among_all():
    """As on a cluster: it knows its own row and its neighbours' only."""
    mixing = constant_weights(ring(5), 0.2, 1)
    method, stages = make_method(5, mixing=mixing), toy_learner.PLAIN_STAGES
    rows = np.random.default_rng(3).normal(size=(5, 9)).astype(np.float32)
    together = stages.mix_all(method, jnp.asarray(rows))
    for agent in range(5):
        whose = neighbours(mixing[0, agent], agent)
        assert whose == sorted({(agent - 1) % 5, agent, (agent + 1) % 5})
        alone = stages.mix(mixing[0, agent, whose], rows[whose])
        np.testing.assert_allclose(alone, together[agent], rtol=1e-6)
