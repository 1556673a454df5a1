"""Code of the user's own by a word: `module:name`, or a name that an installed package offers.

A module is looked for where the user works: in the current folder first, as `python -m` does, then
along Python's path, and never in a run's folder. Words come from runs too, with options that are
passed on: so modules of Python, and of packages that offer fmarl nothing, are refused, or a run's
file could have any of their functions called. Only what trains or plays imports anything.
"""

import hashlib
import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable, Mapping
from importlib.machinery import ModuleSpec
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, NamedTuple

from fmarl.child_process import search_path
from fmarl.errors import BadInput, did_you_mean, require
from fmarl.settings_io import refuse_unknown

PACKAGE = Path(__file__).parent


class _Number(NamedTuple):
    types: tuple[type, ...]
    word: str


NUMBERS = {int: _Number((int,), "a whole number"), float: _Number((int, float), "a number")}
"""What is checked of an option, by how the function's parameter is annotated."""
INSTALLED = {"site-packages", "dist-packages"}
"""Folders of installed packages, whoever installed them."""


class Kind(NamedTuple):
    """What a plugin can be."""

    word: str
    group: str
    """Of the entry points by which a package offers one."""
    shape: str
    """What the name must stand for."""


METHOD = Kind(
    "method",
    "fmarl.methods",
    "a function (config: fmarl.MethodConfig, team: fmarl.Team) -> fmarl.Method, or a fmarl.Recipe",
)
ALGORITHM = Kind(
    "algorithm",
    "fmarl.algorithms",
    "a function (config: YourConfig, agent: fmarl.AgentConfig, *, observation_size, num_actions, "
    "is_discrete) -> fmarl.Algorithm, where YourConfig is a frozen dataclass",
)
WORLD = Kind(
    "world",
    "fmarl.worlds",
    "a function or class that gives a fmarl World, a gymnasium.Env or a pettingzoo.ParallelEnv",
)


def is_plugin(word: str, kind: Kind) -> bool:
    """Whether a word may name a plugin; imports nothing, so it may yet not be there.

    >>> is_plugin("my_methods:gossip", METHOD), is_plugin("periodic", METHOD)
    (True, False)
    """
    module, colon, name = word.partition(":")
    return bool(colon and _is_dotted(module) and _is_dotted(name)) or word in offered(kind)


def offered(kind: Kind) -> dict[str, str]:
    """What installed packages offer, as `module:name` by word."""
    return {point.name: point.value for point in entry_points(group=kind.group)}


def load(word: str, kind: Kind) -> Any:
    """What a word names; `BadInput` if it is not there, and whatever its module raises."""
    module, name = _target(word, kind)
    _find(module)
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        if not hasattr(found, part):
            known = [one for one, value in vars(found).items() if callable(value) and one[0] != "_"]
            hint = did_you_mean(part, known, f"Write there {kind.shape}.")
            raise BadInput(f"{kind.word} {word}: there is no {part} in {_file_of(module)}. {hint}")
        found = getattr(found, part)
    return found


def call(word: str, kind: Kind, function: Any, *arguments: Any, **options: Any) -> Any:
    """Call a plugin with options that it takes."""
    what = f"{kind.word} {word} is {_described(function)}, which"
    require(callable(function), what, kind.shape, "Name one.")
    check_options(function, options, f"{kind.word} {word}", len(arguments))
    if taken_options(function) is not None:
        try:
            inspect.signature(function).bind(*arguments, **options)
        except TypeError as problem:
            what = f"{kind.word} {word}, which takes other parameters ({problem}),"
            raise BadInput(f"{what} is not allowed: {kind.shape}. Change them.") from None
    return function(*arguments, **options)


def require_result(word: str, kind: Kind, fits: bool, result: object) -> None:
    """Refuse what a plugin has returned unless it fits."""
    what = f"{kind.word} {word} returned {_described(result)}, which"
    require(fits, what, f"it must be {kind.shape}", "Return that.")


def check_options(
    function: Callable[..., Any], options: Mapping[str, Any], where: str, given: int = 0
) -> None:
    """Refuse a name that a function does not take, and what is no number where it wants one.

    One that takes any name checks them itself. Its first parameters, as many as are `given`, are no
    options.
    """
    known = taken_options(function)
    if known is None:
        return
    refuse_unknown(options, known[given:], f"options of {where}")
    parameters = inspect.signature(function).parameters
    for name, value in options.items():
        kind = NUMBERS.get(parameters[name].annotation)
        fits = kind is None or (isinstance(value, kind.types) and not isinstance(value, bool))
        require(fits, f"{name} = {value!r:.60}", kind.word if kind else "", f"Write {name}=7, say.")


def taken_options(function: Callable[..., Any]) -> list[str] | None:
    """Names that a function takes as keywords; None if it takes any."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # some built-in ones do not tell
        return None
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    if any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters):
        return None
    return [one.name for one in parameters if one.kind in named]


def source_of(word: str, kind: Kind) -> dict[str, str]:
    """What a run writes down of a plugin: where its code was, and the sha256 of that file."""
    module, name = _target(word, kind)
    spec = _find(module)
    path = Path(spec.origin or "")
    content = path.read_bytes() if path.is_file() else b""
    digest = hashlib.sha256(content).hexdigest()
    return {"word": word, "module": module, "name": name, "file": str(path), "sha256": digest}


def look_here_first() -> None:
    """Look in the current folder first, and last where the process that started this one would."""
    first, *others = search_path()
    if sys.path[:1] != [first]:
        sys.path.insert(0, first)
    sys.path += [folder for folder in others if folder not in sys.path]


def _target(word: str, kind: Kind) -> tuple[str, str]:
    module, _, name = offered(kind).get(word, word).partition(":")
    return module, name


def _find(module: str) -> ModuleSpec:
    """Where a module is; its packages are imported, and itself is not."""
    look_here_first()
    top = module.partition(".")[0]
    known = top not in sys.stdlib_module_names and module != "__main__"
    fix = "Name a file of your own, by a name that Python does not use itself."
    require(known and top != PACKAGE.name, f"module {module}", "a module of your own", fix)
    importlib.invalidate_caches()
    spec = importlib.util.find_spec(top)
    if spec is not None:
        _require_own(spec, module)
        try:
            spec = importlib.util.find_spec(module)
        except ModuleNotFoundError as missing:
            if missing.name != module:  # an import of its packages'
                raise
            spec = None
    if spec is None:
        raise BadInput(
            f"module {module!r:.60} is not found, neither in {sys.path[0]} nor along Python's "
            "path. Go to the folder that it is in, or put that folder into PYTHONPATH."
        )
    return spec


def _require_own(spec: ModuleSpec, module: str) -> None:
    """Refuse an installed package that offers fmarl nothing."""
    path = Path(spec.origin or next(iter(spec.submodule_search_locations or ()), ""))
    points = (point for kind in (METHOD, ALGORITHM, WORLD) for point in offered(kind).values())
    if INSTALLED.intersection(path.parts) and spec.name not in {
        point.partition(":")[0].partition(".")[0] for point in points
    }:
        raise BadInput(
            f"module {module!r:.60} belongs to an installed package that offers fmarl nothing: "
            f"code of your own, or a package with entry points (docs/extending.md). Import what "
            f"you need in a file here, and name that."
        )


def _file_of(module: str) -> str:
    return getattr(sys.modules[module], "__file__", None) or module


def _is_dotted(text: str) -> bool:
    return all(part.isidentifier() for part in text.split("."))


def _described(value: object) -> str:
    return f"{value!r:.60}" if isinstance(value, str | int | float) else f"a {type(value).__name__}"
