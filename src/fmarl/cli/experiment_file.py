"""Settings of an experiment from a file, over those of a profile, under those given as flags."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fmarl.cli.settings_file import read_table
from fmarl.engine.experiment import Experiment
from fmarl.engine.profiles import PROFILES
from fmarl.errors import BadInput, require
from fmarl.settings_io import from_plain, to_plain


def starting_point(options: Sequence[str]) -> Experiment:
    """What `--profile` and `--config` among the options say; the rest of them is for the parser."""
    profile = _given("--profile", options) or "paper"
    known = ", ".join(PROFILES)
    require(profile in PROFILES, f"profile {profile!r:.40}", known, "Use paper.")
    config = _given("--config", options)
    if config is None:
        return PROFILES[profile]
    return read_experiment(Path(config), PROFILES[profile])


def read_experiment(path: Path, base: Experiment) -> Experiment:
    """The experiment of a settings file, or of a run's `run.json`; what it omits is the base's."""
    content = read_table(path)
    if not isinstance(content, dict):
        raise BadInput(f"{path} holds no table of settings. Write name = value pairs.")
    given = content.get("experiment", content)
    return from_plain(Experiment, _merged(to_plain(base), given), str(path))


def _merged(base: dict[str, Any], given: Any) -> Any:
    """Values that are given, over those of the base; tables within tables too."""
    if not isinstance(given, dict):
        return given
    both = {
        name: _merged(base[name], value) if isinstance(base.get(name), dict) else value
        for name, value in given.items()
    }
    return {**base, **both}


def _given(flag: str, options: Sequence[str]) -> str | None:
    """The value of a flag, as `--flag value` or `--flag=value`."""
    for word, following in zip(options, [*options[1:], ""], strict=True):
        if word == flag:
            return following
        if word.startswith(f"{flag}="):
            return word.partition("=")[2]
    return None
