"""The table of event codes is whole: no code is written that it lacks, and it has no other."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import fmarl
from fmarl.records.events import EventCode

SOURCE = Path(fmarl.__file__).parent
WRITERS = {"event", "note", "_note", "_tell", "lose", "refuse", "Note", "Event", "Verdict"}
"""Functions and classes that take a code."""
CODE = re.compile(r"[A-Z]+(_[A-Z]+)*")
ANSWERS = {"ACCEPTED"}
"""Codes of the virtual agent's answers that are no events."""


def codes_in(tree: ast.AST) -> Iterator[str]:
    """Codes that a file names; `*` stands for what is put in when it runs."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and _name(node.value) == "EventCode":
            yield node.attr
        elif isinstance(node, ast.Call) and _name(node.func) in WRITERS:
            for given in node.args:
                yield from _written(given)
        elif isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and key.value == "code":
                    yield from _written(value)
        elif isinstance(node, ast.Assign) and _is_constant_of_its_name(node):
            yield from _written(node.value)


def _is_constant_of_its_name(node: ast.Assign) -> bool:
    [target, *_] = node.targets
    return isinstance(node.value, ast.Constant) and _name(target) == node.value.value


def _name(node: ast.AST) -> str:
    return getattr(node, "id", getattr(node, "attr", ""))


def _written(node: ast.AST) -> Iterator[str]:
    """A text that looks like a code, or the parts of one."""
    parts = node.values if isinstance(node, ast.JoinedStr) else [node]
    text = "".join(str(part.value) if isinstance(part, ast.Constant) else "*" for part in parts)
    if CODE.fullmatch(text.replace("*", "X")) and text != "*":
        yield text


def all_codes() -> set[str]:
    files = [path for path in SOURCE.rglob("*.py") if path != SOURCE / "records" / "events.py"]
    found = {code for path in files for code in codes_in(ast.parse(path.read_text()))}
    return found - ANSWERS - {"LOCK", "IRL", "SUMO"}


def test_every_code_that_is_written_is_in_the_table_and_every_other_way_round():
    patterns = {code: re.compile(code.replace("*", "[A-Z]+")) for code in all_codes()}
    table = set(map(str, EventCode))
    unknown = {code for code, one in patterns.items() if not any(map(one.fullmatch, table))}
    unused = {code for code in table if not any(one.fullmatch(code) for one in patterns.values())}
    assert (unknown, unused) == (set(), set())


def test_codes_are_found_however_they_are_written():
    text = 'note("A_B", x="NO")\none.event(EventCode.C)\n{"code": "D", "e": "E"}\nF = "F"\n'
    text += 'self._tell(f"{who}_LOST")\nG = "H"\n'
    assert set(codes_in(ast.parse(text))) == {"A_B", "C", "D", "F", "*_LOST"}


@pytest.mark.parametrize("code", EventCode)
def test_a_code_is_its_name_and_says_in_words_what_it_means(code: EventCode):
    assert code == code.name == str(code)
    assert code.words and code.words[0].islower() and not code.words.endswith(".")
    assert code.severity in ("debug", "info", "warning", "error")
