"""The page while things happen: runs train, die, are resumed, damaged or deleted; servers go."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import expect

from browser.recordings import DECAY, eight, lines_of, mean_gradient_norm
from browser.viewer import Look, Serve, Start, Viewer
from fmarl.engine.train import begin
from unit.engine.small_experiments import toy

KILLED_RUN = Path(__file__).parents[1] / "e2e" / "killed_run.py"
EPOCH = "least => Number(/epoch (\\d+) of/.exec(about.innerText)?.[1] ?? -1) >= least"


def epoch_of(viewer: Viewer) -> int:
    """How far the run in focus has come, as the page says."""
    found = re.search(r"epoch (\d+) of", viewer.says("about"))
    assert found is not None
    return int(found[1])


def stops(viewer: Viewer) -> list[str]:
    """Where the crosshair of the curves stops when it walks over all of them."""
    viewer.page.locator("#curves").focus()
    viewer.page.keyboard.press("Home")
    found: list[str] = []
    while (here := viewer.says("curves-readout")) not in found:
        found.append(here)
        viewer.page.keyboard.press("ArrowRight")
    viewer.page.keyboard.press("Escape")
    return found


def test_curves_grow_while_a_run_trains_and_it_ends_as_done(
    tmp_path: Path, serve: Serve, start: Start, look: Look
):
    viewer = look(serve(tmp_path).address).open()
    folder = begin(eight(DECAY, num_epochs=20, test_every=1), tmp_path / "a")
    start("resume", folder)
    viewer.until(EPOCH, 1)
    expect(viewer.row("a")).to_contain_text("running")
    epoch, curves = epoch_of(viewer), viewer.picture("curves")
    viewer.until(EPOCH, epoch + 1)
    viewer.until_moved("curves", curves)
    expect(viewer.row("a")).to_contain_text("✓ done 20/20")
    [*_, last] = lines_of(folder, "test")
    viewer.until_says("curves", f" {last['mean']:#.3g}")
    viewer.until_says("road", "epoch 20, step ")  # it follows the newest
    assert viewer.asked.count(viewer.address) == 1


def test_the_page_of_a_training_command_shows_its_run(tmp_path: Path, start: Start, look: Look):
    words = ["toy-bumpy", "--set", "epoch_steps=40", "--steps-per-update", "20"]
    run = start("train", *words, "--num-epochs", 100_000, "--out", tmp_path / "a", "--watch")
    assert run.stderr is not None
    viewer = look(run.stderr.readline().split()[1]).open_with_a_run()
    viewer.until(EPOCH, 1)
    viewer.until(EPOCH, epoch_of(viewer) + 1)
    expect(viewer.row("a")).to_contain_text("▶ running")


def test_the_page_tells_of_agents_that_were_lost(
    tmp_path: Path, recorded: Path, serve: Serve, look: Look
):
    """As a run on a cluster has written it down; where its processes are is nobody's news."""
    shutil.copytree(recorded / "others" / "toy", tmp_path / "a")
    lost = (
        '{"time":"2026-01-01T10:00:00.000+00:00","code":"AGENT_LOST","agent":2,"detail":"dead"}\n'
    )
    started = lost.replace("AGENT_LOST", "ACTOR_STARTED")
    (tmp_path / "a" / "events.jsonl").write_text(started + lost)
    viewer = look(serve(tmp_path).address).open_with_a_run()
    events = viewer.page.locator("#events-list li")
    expect(events).to_have_count(1)
    expect(events).to_contain_text("a lost an agent (agent 2, dead)")


@pytest.mark.long
def test_a_run_resumed_after_a_kill_shows_nothing_twice(
    tmp_path: Path, serve: Serve, start: Start, look: Look
):
    folder = begin(toy(), tmp_path / "a")
    viewer = look(serve(tmp_path).address).open()
    killed = subprocess.run([sys.executable, KILLED_RUN, folder, "in-checkpoint", "8"], check=False)
    assert killed.returncode == -9
    expect(viewer.row("a")).to_contain_text("killed")
    viewer.until(EPOCH, 4)
    start("resume", folder)
    expect(viewer.row("a")).to_contain_text("✓ done 5/5")
    expect(viewer.page.locator("#events")).to_contain_text("went on from its checkpoint")
    tested = [line["epoch"] for line in lines_of(folder, "test")]
    assert [int(re.findall(r"\d+", stop)[0]) for stop in stops(viewer)] == tested
    viewer.until_says("gradient", f"running mean {mean_gradient_norm(folder):#.3g},")


def test_a_damaged_run_says_what_is_wrong_and_the_others_work(
    tmp_path: Path, recorded: Path, serve: Serve, look: Look
):
    for name in ("good", "unreadable", "torn"):
        shutil.copytree(recorded / "others" / "toy", tmp_path / name)
    os.truncate(tmp_path / "unreadable" / "run.json", 100)
    metrics = tmp_path / "torn" / "metrics.jsonl"
    metrics.write_bytes(metrics.read_bytes().replace(b'"kind":"test"', b'"kind":"te', 1))
    viewer = look(serve(tmp_path).address).open_with_a_run()
    for name, file in [("unreadable", "run.json"), ("torn", "metrics.jsonl")]:
        expect(viewer.row(name)).to_contain_text("! damaged")
        viewer.look_button(name).click()
        expect(viewer.page.locator("#notice")).to_contain_text(file)
    viewer.look_at("good")
    expect(viewer.page.locator("#notice")).to_be_hidden()
    viewer.until_says("curves", "Test reward against epochs: FIRL")


def test_a_run_deleted_while_it_is_watched_is_gone_and_what_was_seen_stays(
    tmp_path: Path, recorded: Path, serve: Serve, look: Look
):
    shutil.copytree(recorded / "eight" / "decay", tmp_path / "a")
    viewer = look(serve(tmp_path).address).open_with_a_run()
    curves = viewer.says("curves")
    shutil.rmtree(tmp_path / "a")
    expect(viewer.row("a")).to_contain_text("∅ gone")
    expect(viewer.page.locator("#notice")).to_contain_text("The folder of a was deleted")
    assert viewer.says("curves") == curves
    viewer.until_moved("road", viewer.picture("road"))


@pytest.mark.long
def test_a_server_that_comes_back_is_heard_again_and_nothing_is_shown_twice(
    recorded: Path, serve: Serve, start: Start, look: Look
):
    place = recorded / "eight" / "consensus" / "seed-0"
    page = serve(place)
    viewer = look(page.address).open_with_a_run()
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
    assert viewer.complaints and all("net::ERR_" in one for one in viewer.complaints)
    viewer.complaints.clear()


def shown(viewer: Viewer) -> list[str]:
    """What must be the same before and after."""
    words = [viewer.says(name) for name in ("road", "graph", "gradient", "meters")]
    return [*words, *stops(viewer)]
