"""What the page is told of a run, as its files grow, are cut back, or are damaged."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from fmarl.engine.extend_run import extend
from fmarl.engine.run import begin, train
from fmarl.records.frames import write_frames
from fmarl.records.lock import hold
from fmarl.web.tail import RunTail, ServerEvent
from unit.engine.small_experiments import toy


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    return train(toy(), tmp_path_factory.mktemp("runs") / "whole").folder


@pytest.fixture
def copy(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "copy"))


def told(messages: list[ServerEvent], event: str) -> list[dict]:
    return [message.data for message in messages if message.name == event]


def lines_of(messages: list[ServerEvent]) -> list[dict]:
    return [line for data in told(messages, "lines") for line in data["lines"]]


def recorded(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def test_a_run_is_introduced_before_its_lines_and_then_there_is_no_news(whole: Path):
    tail = RunTail(whole, "whole")
    messages = tail.poll()
    assert messages[0].name == "run"
    assert messages[0].data["state"] == "done"
    assert messages[0].data["label"] == "FIRL τ=3"
    assert [line["kind"] for line in lines_of(messages)] == [
        line["kind"] for line in recorded(whole)
    ]
    assert tail.poll() == []


def test_a_run_that_is_given_more_epochs_is_shown_with_them(copy: Path):
    tail = RunTail(copy, "copy")
    tail.poll()
    extend(copy, 9)
    messages = tail.poll()
    [run] = told(messages, "run")
    assert (run["num_epochs"], run["state"]) == (9, "stopped")
    assert [line["kind"] for line in lines_of(messages)][-1] == "epoch"  # its last test is gone


def test_numbers_are_those_of_the_record(whole: Path):
    for shown, line in zip(lines_of(RunTail(whole, "x").poll()), recorded(whole), strict=True):
        assert {name: line[name] for name in shown if name != "expected"} == {
            name: value for name, value in shown.items() if name != "expected"
        }


def test_what_was_counted_stands_beside_the_closed_form(whole: Path):
    epochs = [line for line in lines_of(RunTail(whole, "x").poll()) if line["kind"] == "epoch"]
    for line in epochs:
        expected = line["expected"]
        assert expected.pop("bytes") == line["bytes_sent"]
        assert expected == {name: line[name] for name in expected}


def test_lines_are_told_as_they_come_and_half_a_line_is_not(copy: Path):
    content = (copy / "metrics.jsonl").read_bytes()
    middle = content.index(b"\n", len(content) // 2) + 1
    (copy / "metrics.jsonl").write_bytes(content[: middle + 10])
    tail = RunTail(copy, "copy")
    first = lines_of(tail.poll())
    (copy / "metrics.jsonl").write_bytes(content)
    second = lines_of(tail.poll())
    assert 0 < len(first) < len(recorded(copy))
    assert [line["kind"] for line in first + second] == [line["kind"] for line in recorded(copy)]


def test_a_file_that_was_cut_back_is_told_again_from_the_start(copy: Path):
    tail = RunTail(copy, "copy")
    tail.poll()
    content = (copy / "metrics.jsonl").read_bytes()
    cut = content.index(b"\n") + 1
    (copy / "metrics.jsonl").write_bytes(content[:cut])
    messages = tail.poll()
    assert told(messages, "reset") == [{"run": "copy"}]
    assert len(lines_of(messages)) == 1


def test_a_resumed_run_is_told_again_even_if_its_file_is_longer_by_then(copy: Path):
    tail = RunTail(copy, "copy")
    tail.poll()
    with (copy / "events.jsonl").open("a") as events:
        events.write('{"time":"2026-11-16T00:00:00.000+00:00","code":"RESUMED","update_count":3}\n')
    messages = tail.poll()
    assert told(messages, "reset")
    assert len(lines_of(messages)) == len(recorded(copy))
    assert told(messages, "events")[0]["events"][0]["code"] == "RESUMED"


def test_a_damaged_line_makes_a_damaged_run_and_no_error(copy: Path):
    (copy / "metrics.jsonl").write_text('{"kind":"start"\nnot json\n')
    [run] = told(RunTail(copy, "copy").poll(), "run")
    assert run["state"] == "damaged"
    assert "metrics.jsonl" in run["problem"]


def test_a_damaged_description_makes_a_damaged_run_and_no_error(copy: Path):
    (copy / "run.json").write_text("{}")
    [run] = told(RunTail(copy, "copy").poll(), "run")
    assert run["state"] == "damaged"
    assert "run.json" in run["problem"]


def test_the_state_is_told_again_when_it_changes(tmp_path: Path):
    folder = begin(toy(), tmp_path / "run")
    tail = RunTail(folder, "run")
    states = [told(tail.poll(), "run")[0]["state"]]
    with hold(folder):
        states += [data["state"] for data in told(tail.poll(), "run")]
    states += [data["state"] for data in told(tail.poll(), "run")]
    assert states == ["starting", "running", "starting"]


def test_frames_are_told_when_there_are_more(copy: Path):
    tail = RunTail(copy, "copy")
    assert not told(tail.poll(), "frames")
    (copy / "frames").mkdir()
    write_frames(copy / "frames" / "000004.npz", [np.zeros((2, 3), np.float32)])
    assert told(tail.poll(), "frames") == [{"run": "copy", "epochs": [4]}]
    assert not told(tail.poll(), "frames")


@pytest.mark.parametrize("first", [0, 1])
def test_a_run_that_is_half_deleted_is_no_news(copy: Path, first: int):
    """Who deletes a folder deletes file by file, in any order, and we may look in between."""
    (copy / "frames").mkdir()
    frames = copy / "frames" / "000004.npz"
    write_frames(frames, [np.zeros((2, 3), np.float32)])
    tail = RunTail(copy, "copy")
    assert tail.poll()
    files = [copy / "metrics.jsonl", frames]
    for file in (files[first], files[1 - first]):
        file.unlink()
        assert tail.poll() == []


def test_a_run_that_wrote_down_no_method_has_no_closed_form(copy: Path):
    (copy / "method.json").unlink()
    assert not any("expected" in line for line in lines_of(RunTail(copy, "copy").poll()))


def test_in_a_game_of_others_the_page_shows_what_an_episode_brings(tmp_path: Path):
    cart = toy(
        world="gym:CartPole-v1", set=("num_agents=1", "epoch_steps=40"), num_epochs=2, test_every=1
    )
    folder = train(cart, tmp_path / "cart").folder
    messages = RunTail(folder, "cart").poll()
    assert told(messages, "run")[0]["measure"] == "return"
    for shown, line in zip(lines_of(messages), recorded(folder), strict=True):
        if line["kind"] == "test":
            assert shown["mean"] == line["returns"][0] != line["mean"]
        if line["kind"] == "epoch":  # nobody to average with
            assert line["uploads"] == shown["expected"]["uploads"] == 0
