"""The page while things happen: runs train, die, are resumed, damaged or deleted; servers go."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import expect

from browser.recordings import DECAY, another_run, lines_of, mean_gradient_norm, on_figure_eight
from browser.viewer import OpenTab, Serve, Start, Viewer
from e2e.page import Page
from fmarl.engine.run import begin
from unit.engine.small_experiments import toy

pytestmark = pytest.mark.long

KILLED_RUN = Path(__file__).parents[1] / "e2e" / "killed_run.py"
EPOCH = "least => Number(/epoch (\\d+) of/.exec(about.innerText)?.[1] ?? -1) >= least"


def epoch_of(viewer: Viewer) -> int:
    """How far the run in focus has come, as the page says."""
    found = re.search(r"epoch (\d+) of", viewer.text_of("about"))
    assert found is not None
    return int(found[1])


def stops(viewer: Viewer) -> list[str]:
    """Where the crosshair of the curves stops when it walks over all of them."""
    viewer.page.locator("#curves").focus()
    viewer.page.keyboard.press("Home")
    found: list[str] = []
    while (here := viewer.text_of("curves-readout")) not in found:
        found.append(here)
        viewer.page.keyboard.press("ArrowRight")
    viewer.page.keyboard.press("Escape")
    return found


def test_curves_grow_while_a_run_trains_and_it_ends_as_done(
    tmp_path: Path, serve: Serve, start: Start, open_tab: OpenTab
):
    viewer = open_tab(serve(tmp_path).address).open()
    folder = begin(on_figure_eight(DECAY, num_epochs=60, test_every=1), tmp_path / "a")
    start("resume", folder)
    viewer.wait_for(EPOCH, 1)
    expect(viewer.row("a")).to_contain_text("running")
    epoch, curves = epoch_of(viewer), viewer.picture("curves")
    viewer.wait_for(EPOCH, epoch + 1)
    viewer.wait_for_change("curves", curves)
    expect(viewer.row("a")).to_contain_text("✓ done 60/60")
    [*_, last] = lines_of(folder, "test")
    viewer.wait_for_text("curves", f" {last['mean']:#.3g}")
    viewer.wait_for_text("road", "epoch 60, step ")  # it follows the newest
    assert viewer.requests.count(viewer.address) == 1


def test_the_page_of_a_training_command_shows_its_run(
    tmp_path: Path, start: Start, open_tab: OpenTab
):
    words = ["toy-bumpy", "--set", "epoch_steps=40", "--steps-per-update", "20"]
    run = start("train", *words, "--num-epochs", 100_000, "--out", tmp_path / "a", "--watch")
    assert run.stderr is not None
    viewer = open_tab(run.stderr.readline().split()[1]).open_run()
    viewer.wait_for(EPOCH, 1)
    viewer.wait_for(EPOCH, epoch_of(viewer) + 1)
    expect(viewer.row("a")).to_contain_text("▶ running")


def test_the_page_tells_of_agents_that_were_lost(
    tmp_path: Path, recorded: Path, serve: Serve, open_tab: OpenTab
):
    """As a run on a cluster has written it down; where its processes are is nobody's news."""
    shutil.copytree(recorded / "others" / "toy", tmp_path / "a")
    lost = (
        '{"time":"2026-01-01T10:00:00.000+00:00","code":"AGENT_LOST","agent":2,"detail":"dead"}\n'
    )
    started = lost.replace("AGENT_LOST", "ACTOR_STARTED")
    (tmp_path / "a" / "events.jsonl").write_text(started + lost)
    viewer = open_tab(serve(tmp_path).address).open_run()
    events = viewer.page.locator("#events-list li")
    expect(events).to_have_count(1)
    expect(events).to_contain_text("a lost an agent (agent 2, dead)")


def test_a_failed_run_says_why(figure_eight: Page, open_tab: OpenTab):
    why = "ValueError: 4 actions for 3 agents (my_world.py, line 12)"
    facts = {"run": "a", "name": "a", "label": "FIRL", "world": "mine", "seed": 0, "group": "g"}
    facts |= {"num_epochs": 9, "state": "failed", "failure": why, "problem": ""}
    told = [("hello", {"event_kinds": {}}), ("run", facts)]
    body = "".join(f"event: {name}\ndata: {json.dumps(data)}\n\n" for name, data in told)
    viewer = open_tab(figure_eight.address)
    stream = "text/event-stream"
    viewer.page.route("**/stream", lambda route: route.fulfill(content_type=stream, body=body))
    viewer.page.route("**/about", lambda route: route.abort("aborted"))
    viewer.open()
    expect(viewer.row("a")).to_contain_text("✖ failed 0/9")
    expect(viewer.row("a")).to_contain_text(why)
    expect(viewer.page.locator("#notice")).to_have_text(f"a failed: {why}")


def test_a_run_resumed_after_a_kill_shows_nothing_twice(
    tmp_path: Path, serve: Serve, start: Start, open_tab: OpenTab
):
    folder = begin(toy(), tmp_path / "a")
    viewer = open_tab(serve(tmp_path).address).open()
    killed = subprocess.run([sys.executable, KILLED_RUN, folder, "in-checkpoint", "8"], check=False)
    assert killed.returncode == -9
    expect(viewer.row("a")).to_contain_text("killed")
    viewer.wait_for(EPOCH, 4)
    start("resume", folder)
    expect(viewer.row("a")).to_contain_text("✓ done 5/5")
    expect(viewer.page.locator("#events")).to_contain_text("went on from its checkpoint")
    tested = [line["epoch"] for line in lines_of(folder, "test")]
    assert [int(re.findall(r"\d+", stop)[0]) for stop in stops(viewer)] == tested
    viewer.wait_for_text("gradient", f"running mean {mean_gradient_norm(folder):#.3g},")


def test_a_damaged_run_says_what_is_wrong_and_the_others_work(
    tmp_path: Path, recorded: Path, serve: Serve, open_tab: OpenTab
):
    for name in ("good", "unreadable", "torn"):
        another_run(recorded / "others" / "toy", tmp_path / name)
    os.truncate(tmp_path / "unreadable" / "run.json", 100)
    metrics = tmp_path / "torn" / "metrics.jsonl"
    metrics.write_bytes(metrics.read_bytes().replace(b'"kind":"test"', b'"kind":"te', 1))
    viewer = open_tab(serve(tmp_path).address).open_run()
    for name, file in [("unreadable", "run.json"), ("torn", "metrics.jsonl")]:
        expect(viewer.row(name)).to_contain_text("! damaged")
        viewer.look_button(name).click()
        expect(viewer.page.locator("#notice")).to_contain_text(file)
    viewer.look_at("good")
    expect(viewer.page.locator("#notice")).to_be_hidden()
    viewer.wait_for_text("curves", "Test reward against epochs: FIRL")


def test_a_run_deleted_while_it_is_watched_is_gone_and_what_was_seen_stays(
    tmp_path: Path, recorded: Path, serve: Serve, open_tab: OpenTab
):
    shutil.copytree(recorded / "eight" / "decay", tmp_path / "a")
    viewer = open_tab(serve(tmp_path).address).open_run()
    curves = viewer.text_of("curves")
    shutil.rmtree(tmp_path / "a")
    expect(viewer.row("a")).to_contain_text("∅ gone")
    expect(viewer.page.locator("#notice")).to_contain_text("The folder of a was deleted")
    assert viewer.text_of("curves") == curves
    viewer.wait_for_change("road", viewer.picture("road"))


def test_a_server_that_comes_back_is_heard_again_and_nothing_is_shown_twice(
    recorded: Path, serve: Serve, start: Start, open_tab: OpenTab
):
    place = recorded / "eight" / "consensus" / "seed-0"
    page = serve(place)
    viewer = open_tab(page.address).open_run()
    viewer.pause()
    before = shown(viewer)
    page.process.kill()
    page.process.wait()
    expect(viewer.page.locator("#connection")).to_have_text("reconnecting")
    expect(viewer.page.locator("#notice")).to_contain_text("The server has ended")
    assert shown(viewer) == before
    start("watch", place, recorded / "others" / "toy", "--port", page.port)
    expect(viewer.row("toy")).to_be_visible()  # which is told last
    expect(viewer.page.locator("#connection")).to_have_text("live")
    expect(viewer.page.locator("#notice")).to_be_hidden()
    assert shown(viewer) == before
    assert viewer.problems and all("net::ERR_" in one for one in viewer.problems)
    viewer.problems.clear()


def shown(viewer: Viewer) -> list[str]:
    """What must be the same before and after."""
    words = [viewer.text_of(name) for name in ("road", "graph", "gradient", "meters")]
    return [*words, *stops(viewer)]
