"""What makes a result the result of an experiment: its settings, and the code that ran it."""

import ast
import hashlib
import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import fmarl
from fmarl.engine.experiment import Experiment, describe_experiment

PACKAGE = Path(fmarl.__file__).parent
ENTRANCES = ("fmarl.engine.run", "fmarl.rollout.play", "fmarl.worlds.registry")
"""Where a run begins: in its own process, in its workers, and in the worlds these make."""
KEY_LENGTH = 16
LATER: dict[str, object] = {
    "baseline": False,
    "together.hierarchy": 0,
    "together.aggregate": "mean",
    "together.tolerated": 1,
    "together.attack": "",
    "trpo.kl_order": "new-old",
}
"""Settings that came after the first results, with the value that says what was done before them.
They count only where they say something else, so that results keep their names."""


@cache
def key_of(experiment: Experiment) -> str:
    """A short name for an experiment: equal settings, seed included, give equal names.

    >>> key_of(Experiment(seed=1)) == key_of(Experiment(seed=1)) != key_of(Experiment(seed=2))
    True
    """
    text = json.dumps(_without_later(describe_experiment(experiment)), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:KEY_LENGTH]


def _without_later(settings: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Settings, and those in their groups, without what came later and changes nothing."""
    known = {
        name: value for name, value in settings.items() if LATER.get(prefix + name, ...) != value
    }
    return {
        name: _without_later(value, f"{prefix}{name}.") if isinstance(value, Mapping) else value
        for name, value in known.items()
    }


def code_fingerprint() -> str:
    """A hash of everything in this package that a run executes or reads.

    Comments and docstrings do not count, nor does code that no run comes to, such as reports: they
    can not change a result.
    """
    total = hashlib.sha256()
    for module in sorted(reached_modules()):
        total.update(f"{module}\n{statements(_file_of(module))}\n".encode())
    for path in sorted((PACKAGE / "worlds").rglob("*.xml*")):
        total.update(path.name.encode() + path.read_bytes())
    return total.hexdigest()[:KEY_LENGTH]


def reached_modules() -> set[str]:
    """All modules of ours that are imported on the way, at the top of a file or within it.

    With them the packages that they lie in, whose own code runs first.
    """
    waiting: list[str] = list(ENTRANCES)
    reached: set[str] = set()
    while waiting:
        module = waiting.pop()
        if module not in reached:
            reached.add(module)
            waiting += _imports(ast.parse(_file_of(module).read_text()))
            waiting += filter(None, [module.rpartition(".")[0]])
    return reached


def _imports(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{name.name}" for name in node.names)]
        elif isinstance(node, ast.Import):
            names = [name.name for name in node.names]
        else:
            continue
        ours = (name for name in names if name.partition(".")[0] == "fmarl")
        yield from (name for name in ours if _file_of(name).exists())


def _file_of(module: str) -> Path:
    place = PACKAGE.joinpath(*module.split(".")[1:])
    return place / "__init__.py" if place.is_dir() else place.with_suffix(".py")


def statements(path: Path) -> str:
    """The code of a file without its comments and docstrings."""
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list):
                setattr(node, name, [line for line in block if not _is_text(line)])
    return ast.unparse(tree)


def _is_text(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
