import json
import os
import subprocess
from pathlib import Path

import pytest

from fmarl.errors import BadInput
from fmarl.records import atomic_files as durable
from fmarl.records import run_folder
from fmarl.records.run_description import describe_run, git_commit, installed_versions
from fmarl.records.run_folder import (
    FolderTaken,
    RunFolder,
    create_named_run,
    create_run,
    read_run,
)
from fmarl.records.strict_json import seal
from unit.records.faults import disk_full, each_in_turn
from unit.records.processes import python
from unit.records.runs import names
from unit.records.small_disk import fill, small_disk

DESCRIPTION = describe_run({"world": "tiny", "rates": [0.1, 1e-7]}, {"run": 3}, ["fmarl", "train"])


@pytest.mark.parametrize(
    "name",
    ["run", "with spaces", "ünï 日本 🦦", "-dash", "a'b\"c$d`e", ".hidden", "x" * 255, "a/b/c"],
)
def test_a_description_comes_back_from_a_folder_of_any_name(tmp_path: Path, name):
    create_run(tmp_path / name, DESCRIPTION)
    assert read_run(tmp_path / name) == DESCRIPTION
    assert names(tmp_path / name) == {"run.json"}


def test_a_description_says_what_it_takes_to_repeat_the_run():
    assert DESCRIPTION["command_line"] == ["fmarl", "train"]
    assert DESCRIPTION["versions"].keys() >= {"python", "fmarl", "jax", "numpy", "libsumo"}
    again = describe_run({}, {})
    assert again["run_id"] != DESCRIPTION["run_id"] and len(again["run_id"]) == 32


def test_the_commit_is_known_in_a_checkout_and_only_there(tmp_path: Path):
    assert git_commit(tmp_path) is None
    assert git_commit(tmp_path / "none") is None
    identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for words in (["init", "-q"], [*identity, "commit", "-q", "--allow-empty", "-m", "x"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    head = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    assert git_commit(tmp_path) == head.stdout.strip()
    (tmp_path / "file").write_text("")
    subprocess.run(["git", "add", "file"], cwd=tmp_path, check=True)
    assert git_commit(tmp_path) == head.stdout.strip() + "-dirty"


def test_what_is_not_installed_has_no_version(monkeypatch):
    monkeypatch.setattr("fmarl.records.run_description.PACKAGES", ("numpy", "no-such-package"))
    assert installed_versions().keys() == {"python", "numpy"}


def test_an_empty_folder_can_become_a_run_and_a_run_can_not(tmp_path: Path):
    create_run(tmp_path, DESCRIPTION)
    before = (tmp_path / "run.json").read_bytes()
    with pytest.raises(FolderTaken, match="holds a run already"):
        create_run(tmp_path, describe_run({}, {}))
    assert (tmp_path / "run.json").read_bytes() == before
    assert names(tmp_path) == {"run.json"}


def test_a_folder_with_something_else_in_it_is_left_alone(tmp_path: Path):
    (tmp_path / "thesis.tex").write_text("")
    with pytest.raises(FolderTaken, match="is not empty"):
        create_run(tmp_path, DESCRIPTION)
    assert names(tmp_path) == {"thesis.tex"}


def test_a_start_that_was_killed_does_not_stand_in_the_way(tmp_path: Path):
    (tmp_path / "LOCK").write_text("pid 1 on host gone\n")
    (tmp_path / "run.json.tmp").write_text("{")
    create_run(tmp_path, DESCRIPTION)
    assert read_run(tmp_path) == DESCRIPTION
    assert names(tmp_path) == {"run.json"}


def test_whichever_system_call_fails_nothing_half_made_stays(tmp_path: Path, monkeypatch):
    struck = set()
    for faults in each_in_turn(disk_full):
        folder = tmp_path / str(faults.left) / "deep" / "run"
        with monkeypatch.context() as patched:
            patched.setattr(durable, "os", faults)
            made = True
            try:
                create_run(folder, DESCRIPTION)
            except BadInput as problem:
                made = False
                assert "No space left on device" in str(problem)
                assert "\n" not in str(problem) and ".." not in str(problem)
        struck.add(faults.struck)
        assert folder.parent.parent.exists() == made
        assert not made or read_run(folder) == DESCRIPTION
    assert struck > {"pwrite", "fsync", "replace"}


def test_a_full_disk_is_one_line_and_nothing_half_made(tmp_path: Path):
    with small_disk(tmp_path) as disk:
        fill(disk)
        with pytest.raises(BadInput, match="No space left on device"):
            create_run(disk / "run", DESCRIPTION)
        assert names(disk) == {"filling"}


def test_a_run_on_a_read_only_disk_can_be_read_and_not_made(tmp_path: Path):
    with small_disk(tmp_path) as disk:
        create_run(disk / "run", DESCRIPTION)
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        assert read_run(disk / "run") == DESCRIPTION
        with pytest.raises(BadInput, match="Read-only file system"):
            create_run(disk / "other", DESCRIPTION)
        assert names(disk) == {"run"}


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        ("file", "File exists"),
        ("file/below", "Not a directory"),
        ("x" * 256, "File name too long"),
        ("a/" * 3000, "File name too long"),
        ("nul\0", "control characters"),
        ("line\nend", "control characters"),
        ("line\u2028end", "control characters"),
        ("half \ud800", "control characters"),
        ("/proc/run", "No such file or directory"),
    ],
)
def test_a_place_where_no_run_can_be_gets_one_line(tmp_path: Path, place, reason):
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match=reason) as refused:
        create_run(tmp_path / place, DESCRIPTION)
    assert len(str(refused.value).splitlines()) == 1
    assert str(refused.value).encode()
    assert names(tmp_path) == {"file"}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "No such file or directory"),
        (b"", "it is not JSON"),
        (b'{"experiment": {}}', "it was changed after it was written"),
        (json.dumps(DESCRIPTION).encode(), "it was changed after it was written"),
        (seal(DESCRIPTION).replace(b"tiny", b"huge"), "it was changed after it was written"),
        (seal({**DESCRIPTION, "schema": 2}), "its schema is 2, and this version of fmarl reads 1"),
        (seal({**DESCRIPTION, "schema": True}), "its schema is of another kind"),
        (seal({**DESCRIPTION, "experiment": []}), "its experiment is of another kind"),
        (seal({"schema": 1}), "it has no run_id"),
    ],
)
def test_a_folder_that_is_not_a_run_gets_one_line(tmp_path: Path, content, reason):
    if content is not None:
        (tmp_path / "run.json").write_bytes(content)
    with pytest.raises(BadInput, match=reason) as refused:
        read_run(tmp_path)
    assert str(refused.value).startswith(f"{tmp_path} is not a run: run.json: ")
    assert "\n" not in str(refused.value)


def test_a_description_without_a_field_is_not_written(tmp_path: Path):
    with pytest.raises(BadInput, match="a description where it has no run_id is not allowed"):
        create_run(tmp_path / "run", {"schema": 1})
    assert names(tmp_path) == set()


def test_processes_that_want_the_same_folder_do_not_share_it(tmp_path: Path):
    script = """
import sys
from pathlib import Path
from fmarl.errors import BadInput
from unit.records.runs import make_run

parent = Path(sys.argv[1])
for number in range(40):
    try:
        print(number, make_run(parent / str(number)))
    except BadInput:
        pass
"""
    with python(script, str(tmp_path)) as one, python(script, str(tmp_path)) as other:
        claims = one.communicate(timeout=60)[0] + other.communicate(timeout=60)[0]
    owners = dict(line.split() for line in claims.splitlines())
    assert len(owners) == len(claims.splitlines()) == 40
    for number, run_id in owners.items():
        assert read_run(tmp_path / number)["run_id"] == run_id


def test_a_folder_that_another_process_was_faster_with_is_taken(tmp_path: Path, monkeypatch):
    def hold_late(folder):
        monkeypatch.undo()
        create_run(folder, other)
        return run_folder.hold(folder)

    other = describe_run({}, {})
    monkeypatch.setattr(run_folder, "hold", hold_late)
    with pytest.raises(FolderTaken):
        create_run(tmp_path / "run", DESCRIPTION)
    assert read_run(tmp_path / "run") == other


def test_repetitions_get_the_next_number(tmp_path: Path):
    folders = [create_named_run(tmp_path, DESCRIPTION, "ring", "firl", seed=1) for _ in range(3)]
    first = folders[0].name
    assert [folder.name for folder in folders] == [first, f"{first}-2", f"{first}-3"]
    other = create_named_run(tmp_path, DESCRIPTION, "ring", "firl", seed=2)
    assert other.name.rstrip("-0123456789") != first


def test_the_parts_of_a_run_lie_in_its_folder():
    run = RunFolder(Path("runs/one"))
    parts = [run.metrics, run.events, run.checkpoints, run.frames, run.tensorboard, run.samples]
    assert {part.parent for part in parts} == {Path("runs/one")}
    assert len(set(parts)) == 6


def test_no_folder_is_left_by_an_interrupted_start(tmp_path: Path, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("fmarl.records.run_folder.write_durably", interrupted)
    with pytest.raises(KeyboardInterrupt):
        create_run(tmp_path / "deep" / "run", DESCRIPTION)
    assert os.listdir(tmp_path) == []
