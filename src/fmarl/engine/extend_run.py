"""A run for another number of epochs than it was begun with.

It goes on as if it had been asked for so many at first, and is refused where it could not: what its
agents have done already must be what they would have done. `run.json` says the new number and,
under `extended`, when and by which command it was changed.

A run ends with a test; where the longer one has none, it goes. The checkpoint that does without it
is written first and `run.json` last: a run that is killed in between is the shorter one, whose last
test is missing, and that is played again.
"""

import sys
from collections.abc import Sequence
from dataclasses import fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from fmarl.engine.experiment import Experiment
from fmarl.engine.run_writer import RunWriter
from fmarl.errors import BadInput, require
from fmarl.federation.method import Method
from fmarl.federation.method_file import completed
from fmarl.records.atomic_files import read_whole, remove, write_durably
from fmarl.records.checkpoint import newest_checkpoint, read_checkpoint, write_checkpoint
from fmarl.records.events import EventCode
from fmarl.records.jsonl import LineWriter, last_record
from fmarl.records.lock import hold
from fmarl.records.run_folder import RunFolder, read_run
from fmarl.records.strict_json import LARGEST_SEALED, Malformed, seal, unseal
from fmarl.settings_io import from_plain

BY_PERIOD = ("local_updates", "groups", "counted")
"""Parts of a method with a row for each period, then again from the first."""


def extend(folder: Path, num_epochs: int, *, command_line: Sequence[str] | None = None) -> None:
    """Give a run another number of epochs; `BadInput`, and nothing changed, if that can not be."""
    with hold(folder) as notes:
        description = read_run(folder)
        before: int = description["experiment"].get("num_epochs", Experiment.num_epochs)
        if num_epochs == before:
            return
        require_extendable(folder, num_epochs)
        change = {
            "from": before,
            "to": num_epochs,
            "when": datetime.now(UTC).isoformat(timespec="seconds"),
            "command": list(sys.argv if command_line is None else command_line),
        }
        changed = {
            **description,
            "experiment": {**description["experiment"], "num_epochs": num_epochs},
            "extended": [*description.get("extended", []), change],
        }
        _drop_last_test(folder, description)
        remove([RunFolder(folder).constants])  # estimated from what is no longer its end
        write_durably(RunFolder(folder).description, seal(changed))
        with RunWriter(folder, description["run_id"], listen=lambda line: None) as writer:
            writer.notes(notes)
            writer.event(EventCode.EXTENDED, detail=f"from {before} epochs to {num_epochs}")


def require_extendable(folder: Path, num_epochs: int) -> None:
    """Refuse a number of epochs that would have led the run elsewhere from the start."""
    experiment = from_plain(Experiment, read_run(folder)["experiment"], f"{folder}/run.json")
    longer = replace(experiment, num_epochs=num_epochs)  # which is checked
    done, begun = newest_checkpoint(folder) or 0, _begun(folder)
    if num_epochs == experiment.num_epochs or not done or begun is None:
        return
    agents, per_epoch = begun["num_agents"], begun["updates_per_epoch"]
    fewest = -(-done // per_epoch)
    require(
        num_epochs >= fewest,
        f"num_epochs = {num_epochs} for {folder}",
        f"{fewest} or more, for so many are done",
        f"Use {2 * experiment.num_epochs}, say.",
    )
    new_run = f"Train a new run with --num-epochs {num_epochs}."
    if experiment.anneal:
        raise BadInput(
            f"{folder} can not have {num_epochs} epochs: its learning rate falls to zero over "
            f"{experiment.num_epochs} (anneal), so it would have learned otherwise. {new_run}"
        )
    before = experiment.method_of(agents, experiment.num_epochs * per_epoch)
    after = longer.method_of(agents, num_epochs * per_epoch)
    if other := _different_part(before, after, done):
        raise BadInput(
            f"{folder} can not have {num_epochs} epochs: method {experiment.together.method} has "
            f"other {other} over {num_epochs} epochs than over {experiment.num_epochs}, from the "
            f"start. {new_run}"
        )


def _drop_last_test(folder: Path, description: dict[str, Any]) -> None:
    """Take back the test with which the run ended, unless it is one of those every few epochs."""
    place = RunFolder(folder)
    last, every = last_record(place.metrics), description["experiment"]["test_every"]
    if last.get("kind") != "test" or last["epoch"] % every == 0:
        return
    if newest_checkpoint(folder) is None:  # it begins anew, without a line
        return
    with LineWriter(place.metrics) as metrics:
        end = metrics.start_of_last
        saved = read_checkpoint(folder, description["run_id"])
        if saved.facts["metrics_end"] > end:
            facts = {**saved.facts, "metrics_end": end}
            write_checkpoint(folder, saved.update_count, saved.arrays, facts)
        metrics.truncate_to(end)
    remove([place.frames_of(last["epoch"])])


def _begun(folder: Path) -> dict[str, Any] | None:
    """What the run wrote down when it began; None if it did not."""
    try:
        return completed(unseal(read_whole(RunFolder(folder).method, LARGEST_SEALED)))
    except FileNotFoundError:
        return None
    except (OSError, Malformed, KeyError) as problem:
        raise BadInput(
            f"{folder}/method.json can not be read: {problem}. Put it back, or train a new run."
        ) from None


def _different_part(before: Method, after: Method, update_count: int) -> str:
    """The first part in which methods differ within so many slots; empty if there is none."""
    periods = np.arange(-(-update_count // int(before.sync_period)))
    for name in (field.name for field in fields(before) if field.name != "attack"):
        one, other = np.asarray(getattr(before, name)), np.asarray(getattr(after, name))
        if name in BY_PERIOD:
            one, other = one[periods % len(one)], other[periods % len(other)]
        if not np.array_equal(one, other):
            return name
    return ""
