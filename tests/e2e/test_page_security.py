"""F37: a page on this machine can be reached by every site its user visits, so it trusts nobody."""

import json
import os
import shutil
import signal
import socket
import subprocess
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from e2e.fmarl_command import fmarl_command
from e2e.page import Page, served
from fmarl.engine.run import train
from unit.engine.small_experiments import toy

SECRET = "nobody may read this"


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("page")
    (root / "secret.npz").write_text(SECRET)
    (root / "secret.js").write_text(SECRET)
    train(toy(), root / "runs" / "a")
    return root


@pytest.fixture(scope="module")
def page(place: Path):
    with served(place / "runs") as page:
        yield page


def get(page: Page, path: str, **headers: str) -> httpx.Response:
    return httpx.get(f"{page.address.rstrip('/')}{path}", headers=headers, timeout=30)


def test_the_page_is_served_whole_and_under_a_strict_policy(page: Page):
    answer = get(page, "/")
    assert answer.status_code == 200
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy and "'unsafe" not in policy and "http" not in policy
    assert get(page, "/static/main.js").headers["content-type"].startswith("text/javascript")


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "localhost.evil:80"])
def test_a_foreign_name_that_points_here_is_refused(page: Page, host: str):
    answer = get(page, "/", Host=host)
    assert answer.status_code == 400
    assert "content-security-policy" in answer.headers


def test_no_host_or_two_of_them_are_refused(page: Page):
    own = f"Host: 127.0.0.1:{page.port}\r\n"
    for hosts in ("", own + "Host: evil.example\r\n", own + own):
        answer = page.ask(f"GET / HTTP/1.1\r\n{hosts}Connection: close\r\n\r\n".encode())
        assert answer.startswith(b"HTTP/1.1 400")
    assert page.ask(b"GET / HTTP/1.0\r\n\r\n").startswith(b"HTTP/1.1 400")


def test_other_sites_may_not_read_it_and_the_page_itself_may(page: Page):
    for origin in ("http://evil.example", "null", f"https://127.0.0.1:{page.port}"):
        assert get(page, "/stream", Origin=origin).status_code == 403
    assert get(page, "/runs/a/about", Origin=page.address.rstrip("/")).status_code == 200
    assert get(page, "/").headers["cross-origin-resource-policy"] == "same-origin"


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD", "BREW"])
def test_nothing_can_be_done_but_get(page: Page, method: str):
    answer = httpx.request(method, page.address, timeout=30)
    assert answer.status_code == 405
    assert answer.headers["allow"] == "GET"


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py",
        "/static/..%2f..%2fsecret.js",
        "/static/%2e%2e/secret.js",
        "/static//etc/passwd",
        "/static/secret.js",
        "/static/",
        "/static/core/../../app.py",
        "/static/core/..%2f..%2fapp.py",
        "/static/css/",
        "/runs/../secret.npz",
        "/runs/a/../../secret.npz",
        "/runs/a/frames/..%2f..%2fsecret",
        "/runs/a/frames/-1",
        "/runs/a/frames/999999999999999999999999",
        "/runs/%2e%2e/about",
        "/runs/a%00/about",
        "/runs/a/run.json",
        "/run.json",
        "//evil.example/",
    ],
)
def test_no_path_leads_out_of_what_is_shown(page: Page, path: str):
    request = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{page.port}\r\nConnection: close\r\n\r\n"
    answer = page.ask(request.encode())
    assert answer.split(b" ")[1] in (b"404", b"400")
    assert SECRET.encode() not in answer


def test_frames_that_are_a_link_out_of_the_run_are_not_there(page: Page, place: Path):
    frames = place / "runs" / "a" / "frames"
    frames.mkdir(exist_ok=True)
    (frames / "000077.npz").symlink_to(place / "secret.npz")
    assert get(page, "/runs/a/frames/77").status_code == 404


def test_huge_requests_are_refused_and_the_server_lives(page: Page):
    assert get(page, "/?" + "x" * 5000).status_code == 414
    endless = b"GET / HTTP/1.1\r\nX-Endless: " + b"x" * 200_000
    assert page.ask(endless)[:10] in (b"", b"HTTP/1.1 4")
    assert page.ask(b"\x00\xff\r\n\r\n" * 10).startswith(b"HTTP/1.1 400")
    assert get(page, "/").status_code == 200


def test_a_run_that_is_deleted_is_gone_and_the_server_lives(tmp_path: Path, place: Path):
    shutil.copytree(place / "runs" / "a", tmp_path / "b")
    with served(tmp_path) as page:
        with httpx.stream("GET", page.address + "stream", timeout=30) as stream:
            lines = stream.iter_lines()
            next(line for line in lines if line == "event: run")
            assert get(page, "/runs/b/about").status_code == 200
            shutil.rmtree(tmp_path / "b")
            next(line for line in lines if line == "event: gone")
        assert get(page, "/runs/b/about").status_code == 404
        assert get(page, "/").status_code == 200


def test_where_others_can_connect_they_need_the_token(place: Path):
    with served(place / "runs", "--host", "0.0.0.0") as page:
        path, _, token = page.address.partition("?token=")
        assert path and token
        own = f"http://127.0.0.1:{page.port}/"
        assert httpx.get(own).status_code == 403
        assert httpx.get(own, params={"token": "x" * len(token)}).status_code == 403
        assert httpx.get(f"{own}stream").status_code == 403
        with httpx.Client() as client:
            assert client.get(own, params={"token": token}).status_code == 303
            assert client.get(own).status_code == 200
            [cookie] = client.cookies.jar
            assert cookie.has_nonstandard_attr("HttpOnly")
        assert httpx.get(own, cookies={"fmarl_token": "wrong"}).status_code == 403


def test_what_is_told_is_strict_json_of_the_record(page: Page):
    with httpx.stream("GET", page.address + "stream", timeout=30) as stream:
        data = (line for line in stream.iter_lines() if line.startswith("data: "))
        told = [json.loads(next(data).removeprefix("data: ")) for _ in range(3)]
    assert told[1]["run"] == "a"
    assert told[2]["lines"][0]["kind"] == "start"


def test_ctrl_c_ends_it_quietly_also_with_a_viewer(place: Path):
    with served(place / "runs") as page:
        with httpx.stream("GET", page.address + "stream", timeout=30) as stream:
            next(stream.iter_lines())
            page.process.send_signal(signal.SIGINT)
            _, errors = page.process.communicate(timeout=60)
        assert (page.process.returncode, errors) == (0, "")


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("--port", "70000"), "70000"),
        (("--port", "-1"), "-1"),
        (("--host", "nowhere.example"), "nowhere.example"),
        (("--host", "192.0.2.1"), "192.0.2.1"),
        (("/none",), "/none"),
    ],
)
def test_bad_input_to_watch_gets_one_line(fmarl, words, named: str):
    done = fmarl("watch", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert named in done.stderr and done.stderr.count("\n") == 1


def test_a_taken_port_is_named_and_without_one_the_next_is_used(place: Path, fmarl):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = fmarl("watch", str(place / "runs"), "--port", str(port))
        assert done.returncode == 2
        assert str(port) in done.stderr


def test_the_page_beside_a_run_ends_with_it_even_if_it_is_killed(tmp_path: Path):
    words = ["train", "toy-bumpy", "--set", "epoch_steps=40", "--steps-per-update", "20"]
    command = fmarl_command(
        *words, "--num-epochs", "100000", "--out", str(tmp_path / "a"), "--watch"
    )
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    ) as run:
        assert run.stderr is not None
        address = run.stderr.readline().split()[1]
        with httpx.stream("GET", address + "stream", timeout=60) as stream:
            lines = stream.iter_lines()
            next(line for line in lines if '"kind":"epoch"' in line)
            run.kill()
            with pytest.raises((httpx.TransportError, StopIteration)):  # the server hangs up
                while True:
                    next(lines)


def test_a_run_whose_page_is_killed_ends_as_it_should(tmp_path: Path):
    words = ["train", "toy-bumpy", "--set", "epoch_steps=40", "--steps-per-update", "20"]
    command = fmarl_command(
        *words, "--num-epochs", "30", "--out", str(tmp_path / "a"), "--watch", "--json"
    )
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as run:
        assert run.stderr is not None
        run.stderr.readline()
        pages = [child for child in children_of(run.pid) if b"fmarl.web" in command_of(child)]
        assert len(pages) == 1
        os.kill(pages[0], signal.SIGKILL)
        said, _ = run.communicate(timeout=120)
    assert run.returncode == 0
    assert '"finished": true' in said


def children_of(process: int) -> list[int]:
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it may end while we look
            text = stat.read_text()
            if int(text.rpartition(")")[2].split()[1]) == process:
                found.append(int(stat.parent.name))
    return found


def command_of(process: int) -> bytes:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return b""
