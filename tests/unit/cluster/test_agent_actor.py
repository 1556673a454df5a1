"""An agent by itself, without a cluster: it does what is asked now, and nothing that was before."""

import numpy as np
import pytest

from fmarl.cluster.agent_actor import Agent, AgentActor
from fmarl.cluster.faults.injector import NO_FAULTS
from fmarl.cluster.inbox import PARAMETERS, AttemptId, StaleAttempt, digest_of
from fmarl.cluster.run_context import RunContext, own_code
from fmarl.cluster.state import agents_of
from fmarl.engine.compiled import learning_keys, make_program
from fmarl.engine.engine import NOBODY
from fmarl.engine.experiment import Experiment, describe_experiment
from fmarl.errors import BadInput
from fmarl.federation.recipes import MethodConfig
from fmarl.rollout.batch import columns_of, empty_batch
from fmarl.worlds.world import WorldSpec

SPEC = WorldSpec(name="x", num_agents=2, observation_size=3, num_actions=1, epoch_steps=40)
EXPERIMENT = Experiment(
    steps_per_update=20, num_epochs=4, together=MethodConfig(method="periodic", sync_period=4)
)
CONTEXT = RunContext("a run", describe_experiment(EXPERIMENT), SPEC, own_code())
NOW, LATER = AttemptId(0, 0), AttemptId(0, 1)


@pytest.fixture(scope="module")
def own():
    program = make_program(EXPERIMENT.make_algorithm(SPEC), 2)
    method = EXPERIMENT.make_method(SPEC)
    return agents_of(program.init(method, learning_keys(0)[1]))[1]


@pytest.fixture
def agent(own):
    agent = Agent(1, CONTEXT)
    agent.load_state(NOW, NOBODY, own)
    return agent


def _transitions():
    columns = columns_of([empty_batch(SPEC, 20)])
    observation = np.random.default_rng(1).normal(size=(20, 3)).astype(np.float32)
    present = np.ones(20, bool)
    return {name: column[:, 1] for name, column in columns.items()} | {
        "observation": observation,
        "present": present,
        "reward": observation[:, 0],
    }


def test_a_slot_moves_it_and_tells_what_it_acts_with(agent, own):
    found, acting, shown = agent.learn(NOW, 0, True, True, _transitions())
    assert found.active and found.finite
    assert not np.array_equal(shown.row, own.row)
    assert all(layer.dtype == np.float32 for layer in acting.weights)


def test_a_try_that_was_given_up_is_refused_and_leaves_no_trace(agent, own):
    agent.learn(NOW, 0, True, False, _transitions())
    agent.load_state(LATER, NOBODY, own)
    with pytest.raises(StaleAttempt):
        agent.learn(NOW, 1, True, False, _transitions())
    [upload], final = agent.upload_state(LATER, 4, True, None)
    assert np.array_equal(final.state.row, own.row)
    assert upload.base == digest_of({PARAMETERS: own.row})


def test_the_same_slot_gives_the_same_bits_again(agent, own):
    _, _, first = agent.learn(NOW, 0, True, True, _transitions())
    agent.load_state(LATER, NOBODY, own)
    _, _, again = agent.learn(LATER, 0, True, True, _transitions())
    assert np.array_equal(first.row, again.row)


def test_it_claims_what_the_schedule_says_and_nothing_while_it_is_absent(agent, own):
    [upload], _ = agent.upload_state(NOW, 4, True, None)
    assert upload.local_updates == 4
    agent.load_state(LATER, frozenset({1}), own)
    [upload], _ = agent.upload_state(LATER, 4, True, None)
    assert upload.local_updates == 0


def test_with_other_code_it_does_not_start():
    code = {**own_code(), "sources": "0123"}
    with pytest.raises(BadInput, match=r"sources is .* and 0123 where the run is conducted"):
        Agent(0, CONTEXT._replace(code=code))


def test_agents_of_one_actor_do_not_mix_up(own):
    actor = AgentActor(CONTEXT, {0: NO_FAULTS, 1: NO_FAULTS})
    for agent in (0, 1):
        actor.call((agent, "load_state", (NOW, NOBODY, own)))
    _, _, moved = actor.call((0, "learn", (NOW, 0, True, True)), _transitions())
    [upload], _ = actor.call((1, "upload_state", (NOW, 4, True)), None)
    assert upload.agent == 1
    assert np.array_equal(upload.arrays[PARAMETERS], own.row)
    assert not np.array_equal(moved.row, own.row)


def test_an_agent_is_sent_as_arrays_only(agent, own):
    """Equinox would keep every record that is unpickled, with its arrays, for ever."""
    agent.learn(NOW, 0, True, False, _transitions())
    _, final = agent.upload_state(NOW, 4, True, None)
    sent = final.state
    assert {type(array) for array in (sent.row, *sent.memory)} <= {np.ndarray, np.int32}
    assert len(sent.memory) == len(own.memory) > 0
