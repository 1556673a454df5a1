import numpy as np
import pytest

from fmarl.errors import BadInput
from fmarl.rollout.policy import POLICIES, Policy, bind, clipped, gumbel, slot_noise
from fmarl.rollout.policy_check import check_policy, random_parameters
from unit.rollout.tiny_world import TinyWorld

SPEC = TinyWorld("tiny").spec
DISCRETE = TinyWorld("tiny", is_discrete=True, num_actions=3).spec
FITTING = [(kind, SPEC) for kind in POLICIES] + [
    (kind, DISCRETE) for kind in POLICIES if "squashed" not in kind
]


def policy_for(kind, spec, activation="tanh"):
    heads = POLICIES[kind].heads
    parameters = random_parameters(spec, (8,), heads=heads) if heads else None
    return Policy(kind, parameters, activation)


def one_agent_by_hand(parameters, agent, observation, bend):
    values = observation[agent].astype(np.float64)
    for layer, (weights, biases) in enumerate(
        zip(parameters.weights, parameters.biases, strict=True)
    ):
        values = values @ weights[agent].astype(np.float64) + biases[agent]
        if layer < len(parameters.weights) - 1:
            values = bend(values)
    return values


@pytest.mark.parametrize(
    ("word", "bend"), [("tanh", np.tanh), ("relu", lambda x: np.maximum(x, 0))]
)
def test_a_batched_network_is_each_agents_own_network(word, bend):
    rng = np.random.default_rng(1)
    parameters = random_parameters(SPEC, (8, 5), seed=3)
    parameters = parameters._replace(
        biases=tuple(rng.standard_normal(b.shape, np.float32) for b in parameters.biases),
        log_std=rng.standard_normal((3, 2), np.float32),
    )
    observation, noise = rng.random((3, 4), np.float32), rng.standard_normal((3, 2), np.float32)

    action = bind(Policy("sampled", parameters, word), SPEC)(observation, noise)

    for agent in range(3):
        mean = one_agent_by_hand(parameters, agent, observation, bend)
        expected = mean + np.exp(parameters.log_std[agent]) * noise[agent]
        np.testing.assert_allclose(action[agent], expected, rtol=1e-5, atol=1e-5)
    assert action.dtype == np.float32


def test_gumbel_noise_draws_choices_with_their_softmax_probabilities():
    parameters = random_parameters(DISCRETE, (), seed=5)
    observation = np.random.default_rng(2).random((3, 4), np.float32)
    act = bind(Policy("sampled", parameters), DISCRETE)
    noise = slot_noise(Policy("sampled"), DISCRETE, np.random.default_rng(3), 20_000)
    counts = np.zeros((3, 3))
    for row in noise:
        counts[np.arange(3), act(observation, row)[:, 0].astype(int)] += 1

    for agent in range(3):
        logits = one_agent_by_hand(parameters, agent, observation, None)
        share = np.exp(logits) / np.exp(logits).sum()
        np.testing.assert_allclose(counts[agent] / 20_000, share, atol=0.02)  # 5 sigma


def test_gumbel_of_zero_is_finite():
    assert np.isfinite(gumbel(np.array([0, 1 - 2**-24], np.float32))).all()


def test_a_squashed_action_is_the_tanh_of_a_gaussian_whose_width_the_network_gives():
    rng = np.random.default_rng(4)
    parameters = random_parameters(SPEC, (8,), seed=3, heads=2)
    parameters.biases[-1][:, 2:] = 1.2  # wide enough for the widths to matter
    observation, noise = rng.random((3, 4), np.float32), rng.standard_normal((3, 2), np.float32)

    action = bind(Policy("squashed", parameters), SPEC)(observation, noise)

    for agent in range(3):
        mean, width = np.split(one_agent_by_hand(parameters, agent, observation, np.tanh), 2)
        log_std = -20 + (np.tanh(width) + 1) / 2 * 22
        expected = np.tanh(mean + np.exp(log_std) * noise[agent])
        np.testing.assert_allclose(action[agent], expected, rtol=1e-5, atol=1e-5)
    assert action.dtype == np.float32 and np.abs(action).max() < 1


@pytest.mark.parametrize(("kind", "spec"), FITTING)
def test_every_policy_is_pure_and_acts_within_what_its_world_allows(kind, spec):
    policy = policy_for(kind, spec)
    check_policy(policy, spec)
    noise = slot_noise(policy, spec, np.random.default_rng(0), 50)
    observation = np.random.default_rng(1).random((3, 4), np.float32)
    kept = observation.copy()
    act = bind(policy, spec)
    actions = [act(observation, row).copy() for row in noise]
    again = [act(observation, row) for row in noise]

    np.testing.assert_array_equal(actions, again)
    np.testing.assert_array_equal(observation, kept)
    for action in actions:
        assert action.shape == (3, spec.action_size) and action.dtype == np.float32
        played = clipped(action, spec)
        low, high = (0, spec.num_actions - 1) if spec.is_discrete else (-1, 1)
        assert played.min() >= low and played.max() <= high


def test_greedy_is_the_mean_or_the_likeliest_choice():
    observation = np.random.default_rng(1).random((3, 4), np.float32)
    for spec in (SPEC, DISCRETE):
        parameters = random_parameters(spec, (8,))
        zero = np.zeros((3, spec.num_actions), np.float32)
        greedy = bind(Policy("greedy", parameters), spec)(observation, zero)
        sampled = bind(Policy("sampled", parameters), spec)
        np.testing.assert_array_equal(greedy, sampled(observation, zero))


def test_squashed_greedy_is_the_tanh_of_the_mean_and_only_squashed_is_left_to_chance():
    observation = np.random.default_rng(1).random((3, 4), np.float32)
    drawn = {}
    for kind in ("squashed", "squashed-greedy"):
        policy = policy_for(kind, SPEC)
        noise = slot_noise(policy, SPEC, np.random.default_rng(0), 1)[0]
        drawn[kind] = bind(policy, SPEC)(observation, noise)
    parameters = policy_for("squashed", SPEC).parameters
    mean = [one_agent_by_hand(parameters, agent, observation, np.tanh)[:2] for agent in range(3)]
    np.testing.assert_allclose(drawn["squashed-greedy"], np.tanh(mean), rtol=1e-5, atol=1e-6)
    assert (drawn["squashed"] != drawn["squashed-greedy"]).all()


def test_raw_actions_are_kept_and_only_the_world_sees_them_clipped():
    raw = np.array([[-3, 0.5], [1.5, 1], [0, 0]], np.float32)
    np.testing.assert_array_equal(clipped(raw, SPEC), [[-1, 0.5], [1, 1], [0, 0]])
    assert raw[0, 0] == -3


def test_constant_is_full_throttle():
    noise = np.zeros((3, 3), np.float32)
    observation = np.zeros((3, 4), np.float32)
    assert (bind(Policy("constant"), SPEC)(observation, noise) == 1).all()
    assert (bind(Policy("constant"), DISCRETE)(observation, noise) == 2).all()


def broken_policies():
    good, wide_heads = random_parameters(SPEC, (8,)), random_parameters(SPEC, (8,), heads=2)
    nan = good.weights[0].copy()
    nan[0, 0, 0] = np.nan
    wide = tuple(w.astype(np.float64) for w in good.weights)
    return {
        "word": (Policy("sampeld", good), "policy 'sampeld'"),
        "activation": (Policy("sampled", good, "sine"), "activation 'sine'"),
        "no network": (Policy("sampled"), "without parameters"),
        "other world": (Policy("sampled", random_parameters(DISCRETE, (8,))), "for tiny: 3 agents"),
        "nan": (Policy("greedy", good._replace(weights=(nan, good.weights[1]))), "finite float32"),
        "float64": (Policy("greedy", good._replace(weights=wide)), "finite float32"),
        "no layer": (Policy("greedy", good._replace(weights=(), biases=())), "3 agents, 4 inputs"),
        "no widths": (Policy("squashed", good), "4 inputs, 4 outputs"),
        "useless widths": (Policy("sampled", wide_heads), "4 inputs, 2 outputs"),
        "no squashed network": (Policy("squashed-greedy"), "without parameters"),
    }


@pytest.mark.parametrize("name", broken_policies())
def test_a_policy_that_can_not_act_is_refused_in_one_line(name):
    policy, expected = broken_policies()[name]
    with pytest.raises(BadInput, match=expected) as refusal:
        check_policy(policy, SPEC)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("kind", ["squashed", "squashed-greedy"])
def test_a_squashed_policy_is_refused_in_a_world_of_choices(kind):
    policy = Policy(kind, random_parameters(DISCRETE, (8,), heads=2))
    with pytest.raises(BadInput, match=rf"'{kind}' for tiny .* Use sampled or greedy") as refusal:
        check_policy(policy, DISCRETE)
    assert "\n" not in str(refusal.value)
