"""What a run is called, and which runs are repetitions of each other, from its settings alone.

Settings are plain data, as `run.json` holds them under `experiment`. A run may come from another
version of fmarl, so a setting that is not there is left out of the name and is no mistake.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from fmarl.federation.make_method import TOLERATING
from fmarl.federation.recipes import METHODS

Settings = Mapping[str, Any]
"""Nested as in `run.json`, or flat, under the names that the command line has for them."""

OF_SOME_METHODS = {word for recipe in METHODS.values() for word in recipe.uses}
"""Settings that not every method uses."""
SYMBOLS = {
    "learning_rate": "η=",
    "world": "",
    "algorithm": "",
    "set": "",
    "set_algorithm": "",
    "method_record": "",
}
"""What stands before a value in a name, where that is not the setting and an equals sign."""
WITHOUT_PREFIX = ("together", "agent")
"""Groups of settings whose flags have no prefix."""
NOT_IN_A_GROUP = ("seed", "samples", "resume_promise")
"""What repetitions may differ in: chance, on whose samples they were measured, what is promised."""
LONGEST_GRAPH = 12
"""Characters; a longer one is an edge list or a file, and no name."""
GROUP_LENGTH = 16
PLAIN_DESCENT: Settings = {
    "algorithm": "ppo",
    "optimiser": "sgd",
    "max_gradient_norm": 0.0,
    "ppo.passes": 1,
    "ppo.minibatches": 1,
    "ppo.normalise_observations": False,
    "anneal": False,
}
"""Flat settings of runs that bounds are about: one gradient step per slot on one loss."""


def label_of(settings: Settings) -> str:
    """How the paper calls such a run.

    >>> label_of({"together": {"method": "decay", "sync_period": 15, "decay_rate": 0.92}})
    'FIRL_D τ=15 λ=0.92'
    >>> label_of({"together": {"method": "mine:half", "set_method": ["share=0.5"]}})
    'mine:half share=0.5'
    """
    together = settings.get("together", {})
    method = together.get("method", "")
    recipe = METHODS.get(method)
    uses, parts = (recipe.uses, [recipe.label or method]) if recipe else ((), [method])
    if "local_updates" in uses:
        parts.append(_period(together))
    if method == "synchronous":
        parts.append("τ=1")
    if "decay_rate" in uses:
        listed = together.get("decay_weights")
        parts.append(f"D={listed}" if listed else _numbered("λ=", together.get("decay_rate")))
    if "graph" in uses:
        parts.append(_mixing(together))
    if "delay_slots" in uses:
        parts.append(_numbered("delay=", together.get("delay_slots")))
    if together.get("participation", 1) != 1:
        parts.append(_numbered("participation=", together["participation"]))
    rule = together.get("aggregate", "mean")
    parts += [
        _numbered("q=", together.get("hierarchy") or None),
        "" if rule == "mean" else rule,
        _numbered("f=", together.get("tolerated")) if rule in TOLERATING else "",
        _numbered("attack=", together.get("attack")),
        _numbered("", together.get("set_method")),
    ]
    return " ".join(part for part in parts if part) or "run"


def distinct_labels(all_settings: Sequence[Settings]) -> list[str]:
    """Labels of several groups; where two would be the same, what tells them apart is added.

    Where no setting does, a number does.

    >>> firl = {"together": {"method": "periodic", "sync_period": 15}}
    >>> distinct_labels([{**firl, "world": "merge"}, {**firl, "world": "figure-eight"}])
    ['FIRL τ=15 merge', 'FIRL τ=15 figure-eight']
    """
    plain = [label_of(settings) for settings in all_settings]
    telling = telling_words(all_settings)
    labels = [" ".join([label, *words]) for label, words in zip(plain, telling, strict=True)]
    before = [labels[:index].count(label) for index, label in enumerate(labels)]
    return [f"{label} #{n + 1}" if n else label for label, n in zip(labels, before, strict=True)]


def telling_words(all_settings: Sequence[Settings]) -> list[list[str]]:
    """For each, the settings that tell it from others of its label, with their values.

    >>> firl = {"together": {"method": "periodic", "sync_period": 15}}
    >>> telling_words([{**firl, "world": "merge"}, {**firl, "world": "figure-eight"}])
    [['merge'], ['figure-eight']]
    """
    labels = [label_of(settings) for settings in all_settings]
    flat = [flat_settings(settings) for settings in all_settings]
    words: list[list[str]] = [[] for _ in labels]
    for label in dict.fromkeys(labels):
        same = [index for index, other in enumerate(labels) if other == label]
        telling = _telling([flat[index] for index in same])
        for index in same:
            parts = [
                _numbered(SYMBOLS.get(name, f"{name}="), flat[index].get(name)) for name in telling
            ]
            words[index] = [part for part in parts if part]
    return words


def group_of(settings: Settings) -> str:
    """The same for runs that are repetitions of each other, and for no others.

    >>> group_of({"world": "merge", "seed": 1}) == group_of({"world": "merge", "seed": 2})
    True
    """
    shared = {name: value for name, value in settings.items() if name not in NOT_IN_A_GROUP}
    return _digest(json.dumps(shared, sort_keys=True))


def flat_settings(settings: Settings) -> dict[str, Any]:
    """Settings under the names of their flags, without those that the method does not use.

    >>> flat_settings({"world": "merge", "agent": {"discount": 0.9}, "ppo": {"passes": 4}})
    {'world': 'merge', 'discount': 0.9, 'ppo.passes': 4}
    """
    flat: dict[str, Any] = {}
    for name, value in settings.items():
        if not isinstance(value, Mapping):
            flat[name] = _digest(value) if name == "method_record" and value else value
            continue
        prefix = "" if name in WITHOUT_PREFIX else f"{name}."
        flat |= {f"{prefix}{inner}": part for inner, part in value.items()}
    recipe = METHODS.get(flat.get("method", ""))
    unused = OF_SOME_METHODS.difference(recipe.uses) if recipe else ()
    return {name: value for name, value in flat.items() if name not in unused}


def differences(all_settings: Sequence[Settings]) -> dict[str, list[Any]]:
    """Settings that are not the same everywhere, each with its value in every place, or None.

    >>> differences([{"world": "merge", "seed": 1}, {"world": "merge", "seed": 2}])
    {'seed': [1, 2]}
    """
    names = dict.fromkeys(name for settings in all_settings for name in settings)
    values = {name: [settings.get(name) for settings in all_settings] for name in names}
    return {name: found for name, found in values.items() if any(one != found[0] for one in found)}


def _telling(all_settings: Sequence[Settings]) -> list[str]:
    """Few settings that together tell all apart: each one tells some that those before did not."""
    chosen: list[str] = []
    kinds = [()] * len(all_settings)
    for name, values in differences(all_settings).items():
        finer = [(*kind, repr(value)) for kind, value in zip(kinds, values, strict=True)]
        if name not in NOT_IN_A_GROUP and len({*finer}) > len({*kinds}):
            chosen, kinds = [*chosen, name], finer
    return chosen


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:GROUP_LENGTH]


def _period(together: Settings) -> str:
    """τ, or what an agent makes of it; the paper writes a range with a tilde."""
    updates = str(together.get("local_updates", "all"))
    if together.get("step_seconds"):
        return _numbered("τ=", together.get("sync_period"), " by step times")
    if updates == "all":
        return _numbered("τ=", together.get("sync_period"))
    drawn = " drawn" if updates.startswith("drawn:") else ""
    return f"τ={updates.removeprefix('drawn:').replace('-', '∼')}{drawn}"


def _mixing(together: Settings) -> str:
    graph = str(together.get("graph", ""))
    weights = together.get("weights", "paper")
    parts = [
        _numbered("E=", together.get("consensus_rounds")),
        graph if len(graph) <= LONGEST_GRAPH else "own graph",
        "" if weights == "paper" else weights,
    ]
    return " ".join(part for part in parts if part)


def _numbered(before: str, value: Any, after: str = "") -> str:
    """A value behind its symbol; empty if there is none."""
    if value is None or value in ("", [], ()):
        return ""
    if isinstance(value, float):
        value = f"{value:g}"
    if isinstance(value, list | tuple):
        value = ",".join(map(str, value))
    return f"{before}{value}{after}"
