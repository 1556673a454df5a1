"""What a run says about itself in `run.json`: enough to repeat it, and to know it again."""

import hashlib
import json
import os
import platform
import subprocess
import sys
import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

SCHEMA = 1
PACKAGES = ("fmarl", "jax", "jaxlib", "equinox", "optax", "numpy", "libsumo")
"""Those whose version can change a run's numbers."""
MAY_CHANGE = ("samples", "num_epochs")
MARK_LENGTH = 16
FIELDS: dict[str, type | tuple[type, ...]] = {
    "schema": int,
    "run_id": str,
    "experiment": dict,
    "seeds": dict,
    "versions": dict,
    "git_commit": (str, type(None)),
    "command_line": list,
    "started": str,
}
"""What a description must have; it may have more."""


def describe_run(
    experiment: dict[str, Any], seeds: dict[str, Any], command_line: Sequence[str] | None = None
) -> dict[str, Any]:
    """Return the description of a run that begins now, under a new and unique `run_id`."""
    return {
        "schema": SCHEMA,
        "run_id": uuid.uuid4().hex,
        "experiment": experiment,
        "seeds": seeds,
        "versions": installed_versions(),
        "git_commit": git_commit(Path(__file__).parent),
        "command_line": list(sys.argv if command_line is None else command_line),
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def settings_mark(experiment: Mapping[str, Any]) -> str:
    """What tells the metrics of a run from those of runs with other settings or seeds.

    Where its samples lie and for how long it trains may change while it goes.
    """
    lasting = {name: experiment[name] for name in experiment if name not in MAY_CHANGE}
    text = json.dumps(lasting, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:MARK_LENGTH]


def installed_versions() -> dict[str, str]:
    """Versions of Python and of the packages that can change a run's numbers; imports none."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def git_commit(folder: Path) -> str | None:
    """The commit that a folder is checked out at, `-dirty` if files differ; None outside git."""
    words = ["git", "describe", "--always", "--abbrev=40", "--exclude=*", "--dirty"]
    try:
        done = subprocess.run(
            words, cwd=folder, env=_git_environment(), capture_output=True, text=True, timeout=10
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def why_not_described(description: dict[str, Any]) -> str:
    """What keeps this from being a run's description; empty if nothing does."""
    schema = description.get("schema")
    if type(schema) is int and schema != SCHEMA:
        return f"its schema is {schema}, and this version of fmarl reads {SCHEMA}"
    for name, kind in FIELDS.items():
        if name not in description:
            return f"it has no {name}"
        if not isinstance(description[name], kind) or isinstance(description[name], bool):
            return f"its {name} is of another kind"
    return ""


def _git_environment() -> dict[str, str]:
    """Without the variables that a git hook sets, which name its repository and not ours."""
    return {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
