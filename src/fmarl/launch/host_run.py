"""A run on the host that it trains on: a copy of its folder, a process, and what to send home.

There is no file system that both sides see. The copy lies in a scratch folder of the host, and the
process is `fmarl resume` on one core. `remote_runs.py` is the other side of it. Knows nothing of
Ray, which only carries the calls.
"""

import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from fmarl.cluster.scratch import scratch_folder
from fmarl.launch.folder_sync import Change, Outbox
from fmarl.records.run_folder import DESCRIPTION, RunFolder
from fmarl.records.strict_json import seal, unseal

LONGEST_COMPLAINT = 2000
Files = Mapping[str, bytes]
"""Contents by path below a folder."""


class Parcel(NamedTuple):
    """A run as it is sent to a host."""

    files: Files
    """Its folder."""
    samples: Files
    """The sample set that it is measured on; empty if it is not."""
    core: int
    """Which of the host's cores is its own."""
    force: bool
    """Whether it may go on under other versions."""


class Look(NamedTuple):
    """What a run has to tell."""

    changes: list[Change]
    """Of its folder, since the last look."""
    code: int | None
    """How it ended; None as long as it trains."""
    complaint: str
    """What it said about its end."""


class HostRun:
    """A run in training, from being unpacked to its last look."""

    def __init__(self, parcel: Parcel) -> None:
        with ExitStack() as stack:
            scratch = stack.enter_context(scratch_folder("run"))
            self._folder, self._said = scratch / "run", scratch / "said"
            files = _relocated(parcel, scratch / "source")
            write_files(self._folder, files)
            write_files(scratch / "source", parcel.samples)
            self._outbox = Outbox(self._folder, files)
            lifeline, ours = os.pipe()
            stack.callback(os.close, ours)
            with os.fdopen(lifeline):
                self._process = self._start(lifeline, parcel)
            stack.callback(self._process.wait)
            stack.callback(self._process.kill)
            self._held = stack.pop_all()

    def look(self) -> Look:
        """What is new; after the last one, which has an exit code, nothing is left here."""
        code = self._process.poll()  # before the files are read, which are then the last
        changes = self._outbox.look()
        if code is None:
            return Look(changes, None, "")
        said = self._said.read_text(errors="replace").replace(str(self._folder), "{folder}")
        self._held.close()
        return Look(changes, code, said[-LONGEST_COMPLAINT:])

    def send_signal(self, number: int) -> None:
        """Pass a signal on to the run, which saves itself and ends."""
        self._process.send_signal(number)

    def _start(self, lifeline: int, parcel: Parcel) -> subprocess.Popen[bytes]:
        run = ["resume", str(self._folder), "--quiet", *(["--force"] if parcel.force else [])]
        words = [sys.executable, "-m", "fmarl.launch.child_main", str(lifeline), str(parcel.core)]
        with self._said.open("wb") as said:
            return subprocess.Popen(
                [*words, *run],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=said,
                pass_fds=(lifeline,),
                start_new_session=True,  # it ends its whole group when the lifeline closes
            )


def write_files(folder: Path, files: Files) -> None:
    """Write files that nobody has to find whole: if the host dies, they are sent again."""
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def _relocated(parcel: Parcel, source: Path) -> Files:
    """The run's files, but its description says where the samples lie on this host."""
    if not parcel.samples:
        return parcel.files
    description = unseal(parcel.files[DESCRIPTION])
    experiment = {**description["experiment"], "samples": str(source)}
    return {**parcel.files, DESCRIPTION: seal({**description, "experiment": experiment})}


def samples_of(source: str) -> Files:
    """The sample set of a run's folder, as it is sent; empty if the word is."""
    folder = Path(source)
    found = sorted(RunFolder(folder).samples.glob("*.safetensors")) if source else []
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}
