"""Which equation of the paper each function executes, read from its docstring's `Paper:` line."""

import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from types import ModuleType
from typing import NamedTuple

EQUATIONS: dict[int, str] = {
    1: "stochastic policy gradient step",
    2: "a sample",
    3: "minibatch gradient",
    4: "synchronous federated step",
    5: "periodic averaging",
    6: "local updates from step times",
    7: "resource cost ψ0",
    8: "policy objective",
    9: "empirical risk F",
    10: "expected gradient norm, bounded by ψ1",
    11: "the virtual agent's update",
    12: "initial gradient norm ψ2",
    13: "utility",
    14: "learning-rate condition",
    15: "bound of periodic averaging ψ1^P",
    16: "an agent's update under variation",
    17: "bound of variation-aware averaging ψ1^V",
    18: "an agent's decayed update",
    19: "the virtual agent's decayed update",
    20: "Theorem 1: decay bound ψ1^D <= ψ1^V",
    21: "exponential decay",
    22: "Corollary 1: decay bound for uniform τ_i",
    23: "consensus between neighbours",
    24: "an agent's consensus update",
    25: "the virtual agent's consensus update",
    26: "Theorem 2: consensus bound ψ1^C",
    27: "resource cost with consensus ψ0^C",
}
"""The numbered equations of the paper's main text."""

COMPUTING = ("theory", "topology", "algorithms", "federation", "engine")
"""Packages whose functions execute equations."""

_SOURCES = r"Eqs?\. \(\d+\)(?:(?:,| and|, and) \(\d+\))*|Section [IVX]+|App\. [A-F]|none"


class Citation(NamedTuple):
    """What a function says about where it comes from."""

    name: str
    """Dotted name of the function, method or record."""
    equations: tuple[int, ...]
    """Numbers of the equations it executes; empty for text, appendices and our own."""
    paper: str
    """The `Paper:` line."""
    differs: str
    """The `Differs from the paper:` line, or nothing."""


def collect_citations(names: Sequence[str] = COMPUTING) -> list[Citation]:
    """All citations of some packages, in the order of the source."""
    packages = [importlib.import_module(f"fmarl.{name}") for name in names]
    modules = [
        importlib.import_module(module.name)
        for package in packages
        for module in pkgutil.iter_modules(package.__path__, package.__name__ + ".")
    ]
    return [found for module in modules for thing in _documented(module) if (found := cite(thing))]


def cite(thing: Callable) -> Citation | None:
    """The citation in a docstring, if it has one.

    >>> from fmarl.theory.printed_bounds import periodic_bound
    >>> cite(periodic_bound).equations
    (15,)
    """
    text = inspect.getdoc(thing) or ""
    paper = _paragraph(text, "Paper:")
    if not paper:
        return None
    name = f"{thing.__module__.removeprefix('fmarl.')}.{thing.__qualname__}"
    return Citation(name, _numbers(name, paper), paper, _paragraph(text, "Differs from the paper:"))


def _numbers(name: str, paper: str) -> tuple[int, ...]:
    match = re.match(_SOURCES, paper)
    if match is None:
        raise ValueError(
            f"{name} cites {paper!r}: write 'Eq. (15).  formula', 'Section VII' or 'App. F'"
        )
    numbers = tuple(int(number) for number in re.findall(r"\((\d+)\)", match[0]))
    unknown = [number for number in numbers if number not in EQUATIONS]
    if unknown:
        raise ValueError(f"{name} cites equation {unknown[0]}, which the paper does not have")
    return numbers


def _paragraph(text: str, label: str) -> str:
    """The text after a label, up to the next label, blank line or full stop of the docstring."""
    pattern = rf"^{re.escape(label)} (.*?)(?=^[A-Z][a-z ]*:|^\s*$|^Not a bound|\Z)"
    match = re.search(pattern, text, re.DOTALL | re.MULTILINE)
    return " ".join(match[1].split()) if match else ""


def _documented(module: ModuleType) -> Iterator[Callable]:
    """Functions, classes and properties that a module defines itself, in source order."""
    own = [
        thing
        for thing in vars(module).values()
        if getattr(thing, "__module__", "") == module.__name__
    ]
    for thing in own:
        if inspect.isfunction(thing):
            yield thing
        elif inspect.isclass(thing):
            yield thing
            yield from filter(None, map(_getter, vars(thing).values()))


def _getter(attribute: object) -> Callable | None:
    if isinstance(attribute, property):
        return attribute.fget
    return attribute.func if isinstance(attribute, cached_property) else None
