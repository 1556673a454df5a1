"""Which code of the user's own an experiment uses, as `run.json` has it under `plugins`."""

from typing import Any

from fmarl.algorithms.registry import ALGORITHMS
from fmarl.engine.experiment import GIVEN, Experiment
from fmarl.errors import BadInput
from fmarl.federation.recipes import METHODS
from fmarl.plugins import ALGORITHM, METHOD, WORLD, Kind, source_of
from fmarl.worlds.registry import FAMILIES, WORLDS


def own_words(experiment: Experiment) -> list[tuple[str, Kind]]:
    """The words of an experiment that name code of the user's own."""
    found = []
    if experiment.together.method not in (*METHODS, GIVEN):
        found.append((experiment.together.method, METHOD))
    if experiment.algorithm not in ALGORITHMS:
        found.append((experiment.algorithm, ALGORITHM))
    if experiment.world not in WORLDS and experiment.world.partition(":")[0] not in FAMILIES:
        found.append((experiment.world, WORLD))
    return found


def describe_plugins(experiment: Experiment) -> list[dict[str, str]]:
    """Where each is, and the sha256 of its file; imports none of them."""
    return [{"kind": kind.word, **source_of(word, kind)} for word, kind in own_words(experiment)]


def changed_plugins(experiment: Experiment, description: dict[str, Any]) -> list[str]:
    """One line for each whose file is not as it was when the run began."""
    before = {one["kind"]: one for one in description.get("plugins", [])}
    lines = []
    for word, kind in own_words(experiment):
        was = before.get(kind.word, {"file": "an unknown file", "sha256": ""})
        try:
            now = source_of(word, kind)
        except BadInput as problem:
            raise BadInput(f"{problem} When the run began, it was {was['file']}.") from None
        if now["sha256"] != was["sha256"]:
            lines.append(
                f"{kind.word} {word}: {now['file']} is not as it was when the run began "
                f"(sha256 {was['sha256'][:12]}, now {now['sha256'][:12]}): it may not end with the "
                "same bits"
            )
    return lines
