import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fmarl.cluster.faults.file import read_faults
from fmarl.cluster.faults.injector import due
from fmarl.cluster.faults.plan import PERIOD, STEP, UPLOAD, WORDS, Fault, FaultPlan
from fmarl.cluster.inbox import AttemptId
from fmarl.errors import BadInput

EXAMPLE = """
[[faults]]
do = "kill"
agent = 3
period = 5
slot = 7
exchange = 1

[[faults]]
do = "claim:1e300"
agent = 2
period = 4
attempt = "every"

[[faults]]
do = "abort"
world = 0
period = 1
slot = 0

[[faults]]
do = "kill"
virtual = true
period = 2
point = "after-aggregate"
attempt = 1

[[faults]]
do = "kill"
conductor = true
period = 3
point = "before-collect"

[[faults]]
do = "away"
agent = 6
period = 5
"""
FAULTS = (
    Fault("kill", period=5, agent=3, slot=7, exchange=1),
    Fault("claim:1e300", period=4, agent=2, attempt=None),
    Fault("abort", period=1, world=0, slot=0),
    Fault("kill", period=2, virtual=True, point="after-aggregate", attempt=1),
    Fault("kill", period=3, conductor=True, point="before-collect"),
    Fault("away", period=5, agent=6),
)


def read(folder: Path, text: str, name: str = "plan.toml") -> FaultPlan:
    (folder / name).write_text(text, encoding="utf-8")
    return read_faults(folder / name)


def test_a_plan_is_read_as_it_stands(tmp_path):
    plan = read(tmp_path, EXAMPLE)
    assert plan.faults == FAULTS and plan.source.endswith("plan.toml")
    plan.check(num_agents=7, num_worlds=1)


def test_json_says_the_same(tmp_path):
    text = '{"faults": [{"do": "nan", "agent": 2, "period": 4}]}'
    assert read(tmp_path, text, "plan.json").faults == (Fault("nan", period=4, agent=2),)


def test_a_plan_may_hold_no_fault(tmp_path):
    assert read(tmp_path, "faults = []").faults == ()


def test_everybody_finds_their_own_faults():
    plan = FaultPlan(FAULTS)
    assert plan.of(agent=3).faults == FAULTS[:1] and plan.of(agent=0).faults == ()
    assert plan.of(world=0).faults == FAULTS[2:3] and plan.of(world=1).faults == ()
    assert plan.of(virtual=True).faults == FAULTS[3:4]
    assert plan.of(conductor=True).faults == FAULTS[4:5]
    assert plan.absent(5) == {6} and plan.absent(4) == frozenset()


def test_a_plan_is_data_that_can_be_sent():
    plan = FaultPlan(FAULTS, "plan.toml")
    assert pickle.loads(pickle.dumps(plan)) == plan


def test_a_fault_fires_at_its_own_step_only():
    kill = Fault("kill", period=5, agent=3, slot=7, exchange=1)
    steps = [
        (period, attempt, slot, exchange)
        for period in range(7)
        for attempt in range(3)
        for slot in (None, *range(9))
        for exchange in (None, 0, 1)
        if due([kill], AttemptId(period, attempt), slot=slot, exchange=exchange)
    ]
    assert steps == [(5, 0, 7, 1)]


def test_a_fault_of_every_attempt_fires_in_each():
    nan = Fault("nan", period=5, agent=3, attempt=None)
    assert all(due([nan], AttemptId(5, attempt)) == [nan] for attempt in range(5))
    assert due([nan], AttemptId(6, 0)) == []


def test_a_point_is_a_step_of_its_own():
    kill = Fault("kill", period=2, virtual=True, point="mid-collect")
    now = AttemptId(2, 0)
    assert due([kill], now, point="mid-collect") == [kill]
    assert due([kill], now, point="after-aggregate") == due([kill], now) == []


def test_words_say_what_they_are_about():
    assert Fault("away", period=0, agent=0).about == PERIOD
    assert Fault("stop", period=0, agent=0).about == STEP
    assert Fault("claim:3", period=0, agent=0).about == UPLOAD


MISTAKES = {
    'do = "kill-simulator"\nagent = 1\nperiod = 0': "kill-simulator of agent is not allowed",
    'do = "kil"\nagent = 1\nperiod = 0': "do = 'kil' is unknown. Did you mean kill?",
    'do = "zzz"\nagent = 1\nperiod = 0': "Known: away, kill",
    "do = 7\nagent = 1\nperiod = 0": "do = 7 is unknown",
    'do = "kill:3"\nagent = 1\nperiod = 0': "do = 'kill:3' is not allowed: kill.",
    'do = "claim"\nagent = 1\nperiod = 0': "do = 'claim' is not allowed: claim:N",
    'do = "claim:two"\nagent = 1\nperiod = 0': "do = 'claim:two' is not allowed: claim:N",
    "agent = 1\nperiod = 0": "has no do",
    'do = "kill"\nagent = 1': "has no period",
    'do = "kill"\nagnet = 1\nperiod = 0': "unknown setting 'agnet'. Did you mean agent?",
    'do = "kill"\nagent = -1\nperiod = 0': "agent = -1 is not allowed: a whole number",
    'do = "kill"\nagent = 1.0\nperiod = 0': "agent = 1.0 is not allowed",
    'do = "kill"\nagent = true\nperiod = 0': "agent = True is not allowed",
    'do = "kill"\nagent = "3"\nperiod = 0': "agent = '3' is not allowed",
    'do = "kill"\nagent = 1\nperiod = 9999999999': "period = 9999999999 is not allowed",
    'do = "kill"\nagent = 1\nperiod = nan': "period = nan is not allowed",
    'do = "kill"\nagent = 1\nperiod = "every"': "period = 'every' is not allowed",
    'do = "kill"\nagent = 1\nperiod = 0\nattempt = "all"': "attempt = 'all' is not allowed",
    'do = "kill"\nvirtual = false\nperiod = 0': "virtual = False is not allowed: true",
    'do = "kill"\nperiod = 0': "kill of nobody",
    'do = "kill"\nagent = 1\nworld = 1\nperiod = 0': "kill of agent and world",
    'do = "nan"\nworld = 0\nperiod = 0': "nan of world is not allowed: one of agent",
    'do = "away"\nvirtual = true\nperiod = 0': "away of virtual",
    'do = "away"\nagent = 1\nperiod = 0\nslot = 3': "slot with away of agent",
    'do = "away"\nagent = 1\nperiod = 0\nattempt = 1': "attempt with away of agent",
    'do = "nan"\nagent = 1\nperiod = 0\nslot = 3': "slot with nan of agent",
    'do = "kill"\nworld = 1\nperiod = 0\nslot = 0\nexchange = 0': "exchange with kill of world",
    'do = "kill"\nagent = 1\nperiod = 0\npoint = "mid-collect"': "point with kill of agent",
    'do = "kill"\nvirtual = true\nperiod = 0\nslot = 1': "slot with kill of virtual",
    'do = "kill"\nvirtual = true\nperiod = 0': "has no point",
    'do = "kill"\nvirtual = true\nperiod = 0\npoint = "now"': "point = 'now' is not allowed",
    'do = "kill"\nagent = 1\nperiod = 0\nexchange = 1': "has no slot",
}


@pytest.mark.parametrize(("entry", "part"), MISTAKES.items(), ids=range(len(MISTAKES)))
def test_a_mistake_is_named_with_its_file_and_number(tmp_path, entry, part):
    fine = '[[faults]]\ndo = "kill"\nagent = 1\nperiod = 0\n'
    with pytest.raises(BadInput) as problem:
        read(tmp_path, f"{fine}[[faults]]\n{entry}")
    message = str(problem.value)
    assert f"{tmp_path / 'plan.toml'}, fault 2" in message and part in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("name", "content", "part"),
    [
        ("plan.toml", b"", "lists no faults"),
        ("plan.toml", b"faults = 3", "lists no faults"),
        ("plan.toml", b"faults = [3]", "fault 1: 3 is not a table"),
        ("plan.toml", b"fault = []", "unknown setting 'fault'. Did you mean faults?"),
        ("plan.toml", b"faults = [", "not valid TOML"),
        ("plan.toml", b"\xff", "not UTF-8"),
        ("plan.toml", b"faults = " + b"[" * 3000, "not valid TOML"),
        ("plan.toml", b"faults = [{period = 0x" + b"f" * 5000 + b"}]", "not valid TOML: Exceeds"),
        ("plan.json", b"[]", "[] is not a table"),
        ("plan.json", b'{"faults": [], "faults": []}', "a name stands twice"),
        ("plan.json", b'{"faults": [NaN]}', "NaN is not a number"),
        ("plan.yaml", b"faults: []", "a name that ends in .json or .toml"),
        ("plan.toml", b"#" * 5_000_001, "more than 5000000 bytes"),
    ],
    ids=range(13),
)
def test_a_file_that_holds_no_plan_is_refused_in_one_line(tmp_path, name, content, part):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(BadInput) as problem:
        read_faults(tmp_path / name)
    assert part in str(problem.value) and "\n" not in str(problem.value)


@pytest.mark.parametrize("name", ["missing.toml", "folder.toml", "a\0b.toml"])
def test_a_file_that_can_not_be_read_is_refused_in_one_line(tmp_path, name):
    (tmp_path / "folder.toml").mkdir()
    with pytest.raises(BadInput, match="can not be read"):
        read_faults(tmp_path / name)


@pytest.mark.parametrize(
    ("fault", "part"),
    [
        (Fault("kill", period=0, agent=7), "plan.toml, fault 2: agent = 7 is not allowed: 0 to 6"),
        (Fault("kill", period=0, world=2), "plan.toml, fault 2: world = 2 is not allowed: 0 to 1"),
    ],
)
def test_a_plan_about_somebody_that_there_is_none_of_is_refused(fault, part):
    plan = FaultPlan((Fault("kill", period=0, agent=6), fault), "plan.toml")
    with pytest.raises(BadInput, match=part):
        plan.check(num_agents=7, num_worlds=2)


def test_somebody_must_take_part_in_every_period():
    away = [Fault("away", period=3, agent=agent) for agent in (0, 1, 1, 2)]
    FaultPlan(tuple(away[:3])).check(num_agents=3, num_worlds=1)
    with pytest.raises(BadInput, match="fault 4: all agents away in period 3"):
        FaultPlan(tuple(away)).check(num_agents=3, num_worlds=1)


values = st.one_of(
    st.sampled_from([*WORDS, "claim:2", "every", "mid-collect"]),
    st.integers(-2, 9),
    st.booleans(),
    st.floats(allow_nan=False, allow_infinity=False),
)
names = st.sampled_from([*Fault._fields, "agents"])


@given(entry=st.dictionaries(names, values, max_size=6))
def test_any_entry_is_a_sound_fault_or_one_line(entry, tmp_path_factory):
    lines = [f"{name} = {_toml(value)}" for name, value in entry.items()]
    folder = tmp_path_factory.mktemp("plan")
    try:
        (fault,) = read(folder, "\n".join(["[[faults]]", *lines])).faults
    except BadInput as problem:
        assert "\n" not in str(problem)
        return
    assert fault.word in WORDS
    targets = (fault.agent is not None, fault.world is not None, fault.virtual, fault.conductor)
    assert sum(targets) == 1


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else repr(value)
