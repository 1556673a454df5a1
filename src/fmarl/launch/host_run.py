"""A run on the host that trains it: a copy of its folder, a process, and what has changed.

There is no file system that both sides see: the copy lies in a scratch folder of the host.
`on_cluster.py` is the other side. Knows nothing of Ray, which only carries the calls.
"""

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from fmarl.child_process import SEARCH_PATH
from fmarl.cluster.scratch import scratch_folder
from fmarl.launch.folder_sync import FileChange, FolderScanner
from fmarl.launch.run_worker import RunWorker
from fmarl.records.run_folder import DESCRIPTION, RunFolder
from fmarl.records.strict_json import seal, unseal

LONGEST_COMPLAINT = 2000
Files = Mapping[str, bytes]
"""Contents by path below a folder."""


class RunBundle(NamedTuple):
    """A run as it is sent to a host."""

    files: Files
    """Its folder."""
    samples: Files
    """The sample set that it is measured on; empty if it is not."""
    core: int
    """Which of the host's cores is its own."""
    force: bool
    """Whether it may continue under other versions."""
    search_path: Sequence[str] = ()
    """Where the user's own code is looked for, which must be there on every host."""


class Poll(NamedTuple):
    """What has become of a run since it was last asked."""

    changes: list[FileChange]
    """Of its folder."""
    code: int | None
    """How it ended; None as long as it trains."""
    complaint: str
    """What it wrote on standard error, once it has ended."""


class HostRun:
    """A run in training, from being unpacked to its last poll."""

    def __init__(self, bundle: RunBundle) -> None:
        with ExitStack() as stack:
            scratch = stack.enter_context(scratch_folder("run"))
            self._folder, self._stderr = scratch / "run", scratch / "stderr"
            files = _relocated(bundle, scratch / "source")
            write_files(self._folder, files)
            write_files(scratch / "source", bundle.samples)
            self._scanner = FolderScanner(self._folder, files)
            if bundle.search_path:
                os.environ[SEARCH_PATH] = json.dumps(bundle.search_path)  # for the worker
            cores = sorted(os.sched_getaffinity(0))
            with self._stderr.open("wb") as stderr:
                self._worker = RunWorker(cores[bundle.core % len(cores)], stderr)
            stack.callback(self._worker.kill)
            self._worker.start(self._folder, force=bundle.force)
            self._closing = stack.pop_all()

    def poll(self) -> Poll:
        """What is new; after the last one, which has an exit code, nothing is left here."""
        code = self._worker.poll()  # before the files are read, which are then the last
        changes = self._scanner.scan()
        if code is None:
            return Poll(changes, None, "")
        said = self._stderr.read_text(errors="replace").replace(str(self._folder), "{folder}")
        self._closing.close()
        return Poll(changes, code, said[-LONGEST_COMPLAINT:])

    def send_signal(self, number: int) -> None:
        self._worker.send_signal(number)


def write_files(folder: Path, files: Files) -> None:
    """Write files that nobody has to find whole: if the host dies, they are sent again."""
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def _relocated(bundle: RunBundle, source: Path) -> Files:
    """The run's files, but its description says where the samples lie on this host."""
    if not bundle.samples:
        return bundle.files
    description = unseal(bundle.files[DESCRIPTION])
    experiment = {**description["experiment"], "samples": str(source)}
    return {**bundle.files, DESCRIPTION: seal({**description, "experiment": experiment})}


def samples_of(source: str) -> Files:
    """The sample set of a run's folder, as it is sent; empty if the word is."""
    folder = Path(source)
    found = sorted(RunFolder(folder).samples.glob("*.safetensors")) if source else []
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}
