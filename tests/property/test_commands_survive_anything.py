"""Whatever is typed or read: an answer or one line, exit code 0 or 2, never a traceback."""

import contextlib
import io
import json
from itertools import chain

from hypothesis import given, settings
from hypothesis import strategies as st

from fmarl.cli import main

VALUES = [
    "0",
    "1",
    "3",
    "7",
    "15",
    "-1",
    "0.5",
    "1e-4",
    "0.92",
    "nan",
    "inf",
    "-inf",
    "1e999",
    "1e-320",
]
VALUES += [
    "",
    " ",
    "x",
    "None",
    "true",
    "1-15",
    "15-1",
    "15,3",
    "0.1,0.2",
    "9" * 30,
    "\x00",
    "ε",
    "--",
]
GRAPHS = [
    "ring",
    "path",
    "star",
    "complete",
    "nearest:4",
    "nearest:x",
    "regular:3",
    "geometric:0.9",
]
GRAPHS += [
    "best:8",
    "best:99",
    "paper-13",
    "paper-16",
    "0-1,1-2",
    "0-0",
    "0-1,1-0",
    "/",
    "/etc/passwd",
]
FLAGS = [
    "--num-agents",
    "--sync-period",
    "--local-updates",
    "--step-seconds",
    "--decay-rate",
    "--weights",
    "--consensus-step",
    "--consensus-rounds",
    "--learning-rate",
    "--num-epochs",
    "--epoch-steps",
    "--steps-per-update",
    "--smoothness",
    "--gradient-noise",
    "--gradient-noise-slope",
    "--noise-correlation",
    "--initial-gap",
    "--upload-cost",
    "--seed",
    "--settings",
]

value = st.sampled_from(VALUES) | st.sampled_from(GRAPHS) | st.text(max_size=6)
option = st.tuples(st.sampled_from(FLAGS), value).map(list)
graph = st.sampled_from(GRAPHS).map(lambda word: ["--graph", word])
bounds = st.lists(option | graph, max_size=4).map(lambda parts: ["bounds", *chain(*parts)])
topology = st.tuples(st.sampled_from(GRAPHS) | value, st.lists(option, max_size=2)).map(
    lambda parts: ["topology", parts[0], *chain(*parts[1])]
)
words = bounds | topology | st.lists(value, max_size=3)


def assert_survived(code: int, said: str) -> None:
    assert code in (0, 2)
    lines = said.splitlines()
    assert all(line.startswith("fmarl: ") for line in lines), said
    assert "Traceback" not in said
    if code == 2:
        assert sum(not line.startswith("fmarl: warning: ") for line in lines) == 1, said


def run(arguments: list[str]) -> tuple[int, str]:
    """Exit code and standard error of a command, run in this process with shape checks on."""
    said = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
        try:
            code = main(arguments)
        except SystemExit as stop:  # --help
            code = int(stop.code or 0)
    return code, said.getvalue()


@settings(max_examples=150)
@given(arguments=words)
def test_mutated_flags_never_show_a_traceback(arguments):
    assert_survived(*run(arguments))


VALID = json.dumps({"smoothness": 50, "settings": [{"graph": "ring"}, {"local_updates": "1-15"}]})
cut = st.tuples(st.integers(0, len(VALID)), st.integers(0, 4), st.binary(max_size=4))


@settings(max_examples=100)
@given(cuts=st.lists(cut, min_size=1, max_size=3))
def test_mutated_files_never_show_a_traceback(cuts, tmp_path_factory):
    content = VALID.encode()
    for start, length, inserted in cuts:
        content = content[:start] + inserted + content[start + length :]
    file = tmp_path_factory.mktemp("mutated") / "settings.json"
    file.write_bytes(content)
    assert_survived(*run(["bounds", "--settings", str(file)]))


@settings(max_examples=60)
@given(content=st.binary(max_size=60) | st.text("0123456789-, \n#x[]", max_size=40).map(str.encode))
def test_mutated_graph_files_never_show_a_traceback(content, tmp_path_factory):
    file = tmp_path_factory.mktemp("mutated") / "graph.txt"
    file.write_bytes(content)
    assert_survived(*run(["topology", str(file)]))
