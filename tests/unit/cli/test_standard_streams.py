"""Writing never ends a command: closed pipes, full disks, streams that were never there."""

import os
import subprocess
import sys

import pytest

from fmarl.cli.standard_streams import ForgivingStream, forgiving_streams

BOUNDS = [sys.executable, "-m", "fmarl", "bounds"]


def run(command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    words = ["bash", "-o", "pipefail", "-c", command]
    full = {**os.environ, **environment}
    return subprocess.run(words, capture_output=True, text=True, env=full, check=False)


def test_a_reader_that_has_left_silences_what_follows():
    reader, writer = os.pipe()
    os.close(reader)
    with ForgivingStream(os.fdopen(writer, "wb"), encoding="utf-8") as stream:
        for _ in range(10_000):
            stream.write("a line\n")
        stream.flush()
        assert stream.problem is None
        assert os.readlink(f"/proc/self/fd/{writer}") == os.devnull


def test_a_full_disk_is_remembered():
    with ForgivingStream(open("/dev/full", "wb"), encoding="utf-8") as stream:
        stream.write("a line\n")
        stream.flush()
        assert stream.problem is not None


def test_what_an_encoding_lacks_is_written_in_words(capfd):
    with forgiving_streams():
        assert isinstance(sys.stdout, ForgivingStream)
        sys.stdout.reconfigure(encoding="ascii", errors=sys.stdout.errors)
        sys.stdout.write("τ=15 – ∞ ‖∇F‖² 車\n")
    assert capfd.readouterr().out == "tau=15 - inf |grad F|^2 ?\n"


@pytest.mark.parametrize(
    ("redirection", "code"),
    [(">&-", 0), ("2>&-", 0), (">&- 2>&-", 0), ("| head -1", 0), (">/dev/full", 1)],
)
def test_a_command_ends_as_it_should(redirection, code):
    done = run(f"{sys.executable} -m fmarl bounds --graph ring --consensus-step 0.4 {redirection}")
    assert done.returncode == code
    assert "Traceback" not in done.stderr
    assert ("No space left" in done.stderr) == (code == 1)


def test_an_ascii_terminal_gets_ascii():
    done = run(f"{sys.executable} -m fmarl bounds", PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    assert "tau=15" in done.stdout
    assert done.stdout.isascii()
