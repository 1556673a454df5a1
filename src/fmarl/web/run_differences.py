"""What tells the runs of a list apart: their world, the settings that differ, else the folder."""

import os
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from fmarl.federation.run_labels import Settings, label_of, telling_words

LONGEST_WORD = 32
"""Characters of a value, such as a list of edges: more would not fit into the list."""


class Difference(NamedTuple):
    """What a run has that another one of its list has not, as words."""

    world: str
    """Empty if all are of one world."""
    settings: list[str]
    """Those that tell it from others of its label."""
    folder: str
    """Empty if all of the above, and the seed, already tell it apart."""


SAME = Difference("", [], "")


def differences_of(runs: Mapping[Path, Settings]) -> dict[Path, Difference]:
    """What tells each run, by its folder, from all others.

    >>> same = {"world": "merge", "seed": 0}
    >>> differences_of({Path("runs/a"): same, Path("runs/b"): same})[Path("runs/b")].folder
    'b'
    """
    several = len({settings.get("world", "") for settings in runs.values()}) > 1
    told = {
        folder: Difference(str(settings.get("world", "")) if several else "", words, "")
        for (folder, settings), words in zip(runs.items(), _short_words(runs), strict=True)
    }
    said = {folder: _said(runs[folder], told[folder]) for folder in runs}
    equal = {words for words, count in Counter(said.values()).items() if count > 1}
    names = short_names(list(runs))
    return {
        folder: found._replace(folder=names[folder] if said[folder] in equal else "")
        for folder, found in told.items()
    }


def short_names(folders: list[Path]) -> dict[Path, str]:
    """Folders as seen from the one that holds them all."""
    if not folders:
        return {}
    parent = os.path.commonpath([folder.parent for folder in folders])
    return {folder: folder.relative_to(parent).as_posix() for folder in folders}


def _short_words(runs: Mapping[Path, Settings]) -> list[list[str]]:
    """Settings that differ, without the world, which has its own place."""
    told = telling_words([_with_options(settings) for settings in runs.values()])
    return [
        [_short(word) for word in words if word != settings.get("world")]
        for settings, words in zip(runs.values(), told, strict=True)
    ]


def _with_options(settings: Settings) -> Settings:
    """Settings in which each option of the world stands alone: some of them may be the same."""
    options = dict(word.partition("=")[::2] for word in settings.get("set", ()))
    rest = {name: value for name, value in settings.items() if name != "set"}
    return {**rest, **{name: value for name, value in options.items() if name not in rest}}


def _short(word: str) -> str:
    return word if len(word) <= LONGEST_WORD else f"{word[: LONGEST_WORD - 1]}…"


def _said(settings: Settings, found: Difference) -> tuple[str, ...]:
    """All that a list says of a run without its folder."""
    seed = str(settings.get("seed", 0))
    return (label_of(settings), seed, found.world, *found.settings)
