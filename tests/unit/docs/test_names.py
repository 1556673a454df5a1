"""One class name means one thing in the whole project."""

import ast
from collections import Counter
from pathlib import Path

SOURCE = Path(__file__).parents[3] / "src" / "fmarl"


def class_names() -> list[str]:
    trees = [ast.parse(file.read_text()) for file in SOURCE.rglob("*.py")]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    return [node.name for node in nodes if isinstance(node, ast.ClassDef)]


def test_no_class_name_is_defined_twice():
    doubled = {name for name, count in Counter(class_names()).items() if count > 1}
    assert not doubled
