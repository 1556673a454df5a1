"""Whatever happens to a run's folder, it is read right or refused in one line; never read wrong."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fmarl.errors import BadInput
from fmarl.records import atomic_files as durable
from fmarl.records.checkpoint import NoGoodCheckpoint, read_checkpoint, write_checkpoint
from fmarl.records.checkpoint_file import DTYPES, unfinished_files
from fmarl.records.events import EventCode
from fmarl.records.jsonl import LineWriter, read_lines
from fmarl.records.lock import hold
from fmarl.records.run_folder import RunFolder, read_run
from fmarl.records.run_list import list_runs
from fmarl.records.strict_json import Malformed, decode, encode_line, seal, unseal
from unit.records.faults import Faults, Killed, die
from unit.records.runs import assert_same, facts, make_run, names, state, write

WRITTEN = (1, 2, 3)
MEMORY = Path("/dev/shm")


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """In memory where there is such a place: thousands of syncs would wait for the disk."""
    with TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as name:
        yield Path(name)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Two runs of different content with three checkpoints each; the id of the first."""
    parent = tmp_path_factory.mktemp("runs")
    run_id = make_run(parent / "run")
    write(parent / "run", *WRITTEN)
    make_run(parent / "other")
    for update_count in WRITTEN:
        other = update_count + 10
        write_checkpoint(parent / "other", update_count, state(other), facts(other))
    return parent, run_id


harms = st.fixed_dictionaries(
    {
        "how": st.sampled_from(
            ["truncate", "flip", "zero the tail", "remove", "leave a temporary", "foreign", "move"]
        ),
        "update_count": st.sampled_from(WRITTEN),
        "suffix": st.sampled_from([".safetensors", ".json"]),
        "where": st.floats(0, 1, exclude_max=True),
        "bit": st.integers(0, 7),
    }
)


def do_harm(parent: Path, folder: Path, harm: dict) -> None:
    """Change one file of a checkpoint, if an earlier harm has left it."""
    for path in folder.glob(f"checkpoints/{harm['update_count']:09}*{harm['suffix']}"):
        content = bytearray(path.read_bytes())
        place = int(harm["where"] * len(content))
        match harm["how"]:
            case "truncate":
                path.write_bytes(content[:place])
            case "flip" if content:
                content[place] ^= 1 << harm["bit"]
                path.write_bytes(content)
            case "zero the tail":
                path.write_bytes(content[:place] + bytes(len(content) - place))
            case "remove":
                path.unlink()
            case "leave a temporary":
                path.with_name(path.name + ".tmp").write_bytes(content[:place])
            case "foreign":
                for other in parent.glob(f"other/checkpoints/{harm['update_count']:09}*"):
                    shutil.copy(other, path.with_name(other.name))
            case "move":
                path.rename(path.with_name(path.name.replace(str(harm["update_count"]), "7", 1)))


@given(list_of_harms=st.lists(harms, min_size=1, max_size=5))
def test_a_harmed_run_gives_a_right_checkpoint_or_says_that_there_is_none(runs, list_of_harms):
    parent, run_id = runs
    with temporary_folder() as place:
        folder = place / "run"
        shutil.copytree(parent / "run", folder)
        for harm in list_of_harms:
            do_harm(parent, folder, harm)
        untouched = {*WRITTEN} - {harm["update_count"] for harm in list_of_harms}
        before = names(folder / "checkpoints")
        unfinished = {path.name for path in unfinished_files(folder / "checkpoints")}
        try:
            found = read_checkpoint(folder, run_id)
        except NoGoodCheckpoint as refused:
            assert not untouched
            assert "\n" not in str(refused)
            assert names(folder / "checkpoints") == before
            return
        assert_same(found.arrays, state(found.update_count))
        assert found.facts == facts(found.update_count)
        assert found.update_count >= max(untouched, default=0)
        seen = {int(name[:9]) for name in before - unfinished}
        passed_over = [update_count for update_count in seen if update_count > found.update_count]
        assert [note.code for note in found.notes] == [EventCode.CKPT_CORRUPT] * len(passed_over)
        write(folder, 9)
        assert read_checkpoint(folder, run_id).update_count == 9
        assert not list(folder.glob("checkpoints/*.tmp"))


@given(
    place=st.floats(0, 1, exclude_max=True),
    tail=st.binary(max_size=40),
    how=st.sampled_from(["replace", "insert", "flip", "whole"]),
)
@example(place=0.0, tail=b"\xef\xbb\xbf", how="insert")
@example(place=0.0, tail=b"[" * 40, how="whole")
def test_a_description_that_was_changed_is_refused_in_one_line(runs, place, tail, how):
    content = (runs[0] / "run" / "run.json").read_bytes()
    at = int(place * len(content))
    changed = {
        "replace": content[:at] + tail,
        "insert": content[:at] + tail + content[at:],
        "flip": content[:at] + bytes([content[at] ^ 4]) + content[at + 1 :],
        "whole": tail,
    }[how]
    with temporary_folder() as parent:
        (parent / "run").mkdir()
        (parent / "run" / "run.json").write_bytes(changed)
        try:
            assert read_run(parent / "run") == read_run(runs[0] / "run")
        except BadInput as refused:
            assert len(str(refused).splitlines()) == 1
        (summary,) = list_runs(parent)
        assert bool(summary.problem) != bool(summary.description)


@given(content=st.binary(max_size=200))
@example(b'{"sha256": "x"}')
@example(b'{"a": {"not finite": []}}')
def test_no_bytes_are_a_sealed_file_by_chance(content):
    with pytest.raises(Malformed):
        unseal(content)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(known=st.dictionaries(st.text().filter(lambda name: name != "sha256"), json_values))
def test_facts_come_back_from_a_sealed_file_and_records_from_a_line(known):
    assert repr(unseal(seal(known))) == repr(known)
    line = encode_line(known)
    assert line.count(b"\n") == 1 and line.endswith(b"\n")
    assert repr(decode(line)) == repr(_null_for_not_finite(known))


def _null_for_not_finite(value):
    if isinstance(value, dict):
        return {name: _null_for_not_finite(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_null_for_not_finite(part) for part in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value


@given(
    dtype=st.sampled_from(DTYPES),
    shape=st.lists(st.integers(0, 4), max_size=4).map(tuple),
    order=st.sampled_from("CF"),
    is_reversed=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_every_array_comes_back_bit_for_bit(dtype, shape, order, is_reversed, seed):
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    raw = np.random.default_rng(seed).integers(0, 2 if dtype == "bool" else 256, size, np.uint8)
    array = np.asarray(raw.view(dtype).reshape(shape), order=order)
    if is_reversed and shape:
        array = array[::-1]
    with temporary_folder() as folder:
        run_id = make_run(folder)
        write_checkpoint(folder, 0, {"x": array}, {})
        found = read_checkpoint(folder, run_id).arrays["x"]
    assert (found.dtype, found.shape) == (array.dtype, array.shape)
    assert found.tobytes() == array.tobytes()


def go_on(folder: Path, run_id: str, total_updates: int, checkpoint_every: int) -> bytes:
    """A little training loop: as any caller of these records should be, and what it ended with."""
    with hold(folder), LineWriter(RunFolder(folder).metrics) as metrics:
        total, update_count, position = np.zeros(3, np.float32), 0, 0
        try:
            checkpoint = read_checkpoint(folder, run_id, {"total": ("float32", (3,))})
            total, update_count = checkpoint.arrays["total"], checkpoint.update_count
            position = checkpoint.facts["position"]
            assert checkpoint.notes == []
        except NoGoodCheckpoint as none:
            assert none.notes == []
        metrics.truncate_to(position)
        while update_count < total_updates:
            total = (total * np.float32(0.9) + state(update_count)["parameters"][0, :3]).copy()
            update_count += 1
            metrics.append({"update_count": update_count, "total": total})
            if update_count % checkpoint_every == 0:
                metrics.sync()
                at = {"position": metrics.position}
                write_checkpoint(folder, update_count, {"total": total}, at)
    return total.tobytes()


@given(
    strikes=st.lists(st.integers(0, 90), min_size=1, max_size=6),
    checkpoint_every=st.integers(1, 3),
)
@example(strikes=list(range(10)), checkpoint_every=3)
def test_a_run_killed_again_and_again_ends_as_one_that_was_not(strikes, checkpoint_every):
    with temporary_folder() as parent:
        straight, killed = parent / "straight", parent / "killed"
        expected = go_on(straight, make_run(straight), 6, checkpoint_every)
        run_id = make_run(killed)
        for at in strikes:
            with pytest.MonkeyPatch.context() as patched, suppress(Killed):
                patched.setattr(durable, "os", Faults(at, die))
                go_on(killed, run_id, 6, checkpoint_every)
        assert go_on(killed, run_id, 6, checkpoint_every) == expected
        metrics = [RunFolder(folder).metrics for folder in (straight, killed)]
        assert metrics[0].read_bytes() == metrics[1].read_bytes()
        assert len(read_lines(metrics[1]).records) == 6
