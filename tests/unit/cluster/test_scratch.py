"""Folders that are gone with their user, or when the next one comes."""

import subprocess
import sys
from pathlib import Path

from fmarl.cluster.scratch import scratch_folder

KILLED = """
import os, signal, sys
from fmarl.cluster.scratch import scratch_folder
with scratch_folder(sys.argv[1]) as folder:
    (folder / "file").write_text("x")
    print(folder, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_folder_is_gone_after_its_body_whatever_is_in_it():
    with scratch_folder("test-a") as folder:
        (folder / "deep").mkdir()
        (folder / "deep" / "file").write_text("x")
    assert not folder.exists()


def test_what_a_killed_user_left_is_taken_away_by_the_next_and_nothing_else():
    killed = subprocess.run([sys.executable, "-c", KILLED, "test-b"], stdout=subprocess.PIPE)
    left = Path(killed.stdout.decode().strip())
    assert (left / "file").exists()
    with scratch_folder("test-c") as other, scratch_folder("test-b") as folder:
        assert not left.exists()
        with scratch_folder("test-b"):
            assert folder.exists()
        assert other.exists()
