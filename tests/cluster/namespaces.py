"""Several hosts on one machine: network namespaces on one switch, each with its own Ray node.

A host has its own address, loopback, home and temporary folder; processes, memory and files are
the machine's. What runs in a host may daemonise, and Ray's processes even overwrite the environment
by which one could know them, but none leaves its namespace: so all of them are found and killed at
the end. Hosts of a test run that was killed are removed by the next one. Never `ray stop` here: it
would end every Ray of this machine.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from fmarl.cluster.connect import START_TRIES
from fmarl.cluster.scratch import PLACE, scratch_folder
from fmarl.records.lock import is_held

PURPOSE = "hosts"
PREFIX = f"fmarl-{PURPOSE}-"
"""Namespaces are named after the folder of their hosts, whose lock tells if they are in use."""
NETWORK = "10.77.0"
PORT = 6379
TOKEN = "only-for-the-hosts-of-these-tests"
START_SECONDS = 300.0
"""A Ray node that has not started by then never will; it takes 3 to 8 s on two cores."""
DYING_SECONDS = 120.0
NODE_OPTIONS = (
    "--disable-usage-stats",
    "--include-log-monitor=false",
    "--object-store-memory=80000000",  # the least that Ray takes is 75 MiB
)
HEAD_OPTIONS = (f"--port={PORT}", "--include-dashboard=false", "--no-monitor")
"""As few processes as can be."""
QUICK_HEALTH_CHECKS: Mapping[str, int] = {
    "health_check_period_ms": 1000,
    "health_check_timeout_ms": 5000,  # a busy machine does not always answer in two
    "health_check_failure_threshold": 3,
}
"""Settings of a head that gives a silent node up within seconds, for tests of just that."""


@dataclass(frozen=True, kw_only=True)
class Host:
    """A machine of its own, as far as the network can tell."""

    namespace: str
    switch: str
    """The namespace that it is plugged into."""
    number: int
    folder: Path
    """Its home and its temporary folder."""
    started: ExitStack
    """Has the processes that we started here; they are waited for after they have been killed."""

    @property
    def address(self) -> str:
        """Where it is in the network of the hosts."""
        return f"{NETWORK}.{self.number}"

    @property
    def ray_address(self) -> str:
        """Where its Ray is joined, if it is the head."""
        return f"{self.address}:{PORT}"

    def run(self, words: Sequence[str], **variables: str) -> subprocess.Popen[str]:
        """Start a command in this host, in a session of its own, with pipes to all its streams."""
        process = subprocess.Popen(
            ["ip", "netns", "exec", self.namespace, *words],
            env=self._environment() | variables,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        return self.started.enter_context(process)

    def start_ray(
        self,
        *,
        head: "Host | None" = None,
        token: str = TOKEN,
        cores: int = 1,
        settings: Mapping[str, int] | None = None,
        code: Path | None = None,
    ) -> None:
        """Start a Ray node that is up when this returns, and that lets in who has the token.

        Args:
            head: The host whose cluster it joins; without one it is the head itself.
            token: Written where a user would put it, for everything else in this host too.
            cores: As many as Ray believes that it has.
            settings: Ray's own, by their internal names; it reads most of them at the head only.
            code: A folder with other sources of fmarl (`cluster.changed_sources`).
        """
        self.give_token(token)
        role = [f"--address={head.ray_address}"] if head else ["--head", *HEAD_OPTIONS]
        variables = {f"RAY_{name}": str(value) for name, value in (settings or {}).items()}
        variables["RAY_AUTH_MODE"] = "token"  # a head would look for the token, others do not
        variables["RAY_memory_monitor_refresh_ms"] = "0"  # as in conftest.py
        if code is not None:
            variables["PYTHONPATH"] = str(code)
        words = [_ray(), "start", *role, *NODE_OPTIONS, f"--num-cpus={cores}"]
        for tries_left in reversed(range(START_TRIES)):
            starting = self.run([*words, f"--node-ip-address={self.address}"], **variables)
            # Ray's own command ends when the head lists the node; it leaves its processes behind.
            said, problem = starting.communicate(timeout=START_SECONDS)
            if not starting.returncode:
                return
            _kill_all([self.namespace])
            said = f"{said[-2000:]}{problem[-2000:]}"
            assert tries_left, f"no Ray node at {self.address}: {said}"

    def give_token(self, token: str) -> None:
        """Have everything that is started here from now on show this token."""
        path = self.folder / ".ray" / "auth_token"
        path.parent.mkdir(exist_ok=True)
        path.write_text(token)

    def cut(self) -> None:
        """Unplug it: all packets from and to it vanish, and nobody is told.

        The plug leaves the switch but stays up, so neither end sees a link go down.
        """
        _ip("-n", self.switch, "link", "set", self._plug, "nomaster")

    def heal(self) -> None:
        """Plug it in again."""
        _ip("-n", self.switch, "link", "set", self._plug, "master", "switch")

    def processes(self) -> list[int]:
        """The ids of all that runs here."""
        return _processes(self.namespace)

    def kill_head(self) -> None:
        """Kill the process that makes a host the head, and no other.

        Hosts here see each other's processes, and a driver may prefer the head's node to that of
        its own host, which no driver could on another machine: it would die with that node.
        """
        for pid in self.processes():
            if b"gcs_server" in Path(f"/proc/{pid}/cmdline").read_bytes():
                os.kill(pid, signal.SIGKILL)

    @property
    def _plug(self) -> str:
        return f"plug{self.number}"

    def _environment(self) -> dict[str, str]:
        """Ours, without what would lead Ray elsewhere."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
        own = dict.fromkeys(("HOME", "TMPDIR", "RAY_TMPDIR"), str(self.folder))
        return kept | own


class Hosts:
    """Hosts that see each other and nothing else, and are gone after the body of the `with`.

    Skips the test where the machine has no network namespaces for us.
    """

    def __init__(self, count: int):
        self._count = count
        self._kept = ExitStack()

    def __enter__(self) -> list[Host]:
        with ExitStack() as stack:
            remove_leftovers()
            folder = stack.enter_context(scratch_folder(PURPOSE))
            started = stack.enter_context(ExitStack())
            stack.callback(_remove_all, f"{folder.name}-")
            switch = _add_switch(folder.name)
            numbers = range(1, self._count + 1)
            hosts = [_add_host(switch, number, folder, started) for number in numbers]
            self._kept = stack.pop_all()
        return hosts

    def __exit__(self, *why: object) -> None:
        self._kept.close()


def remove_leftovers() -> None:
    """Kill and remove all hosts whose test run is gone."""
    if shutil.which("ip") is None:
        pytest.skip("several hosts need the command `ip` (iproute2)")
    for runs in {name.rpartition("-")[0] for name in _namespaces(PREFIX)}:
        if not is_held(PLACE / runs):
            _remove_all(f"{runs}-")


def _ray() -> str:
    return str(Path(sys.executable).with_name("ray"))


def _add_switch(name: str) -> str:
    switch = f"{name}-0"
    try:
        _ip("netns", "add", switch)
        _ip("-n", switch, "link", "add", "switch", "type", "bridge")
    except subprocess.CalledProcessError as problem:
        pytest.skip(f"this machine has no network namespaces for us: {problem.stderr.strip()}")
    _ip("-n", switch, "link", "set", "switch", "up")
    return switch


def _add_host(switch: str, number: int, folder: Path, started: ExitStack) -> Host:
    host = Host(
        namespace=f"{folder.name}-{number}",
        switch=switch,
        number=number,
        folder=folder / str(number),
        started=started,
    )
    host.folder.mkdir()
    inside = ("-n", host.namespace)
    plug = ("type", "veth", "peer", "name", "eth0", "netns", host.namespace)
    _ip("netns", "add", host.namespace)
    _ip("-n", switch, "link", "add", host._plug, *plug)
    _ip("-n", switch, "link", "set", host._plug, "up")
    _ip(*inside, "address", "add", f"{host.address}/24", "dev", "eth0")
    _ip(*inside, "link", "set", "lo", "up")
    _ip(*inside, "link", "set", "eth0", "up")
    # Ray finds its own address by the way out, though nothing is out there.
    _ip(*inside, "route", "add", "default", "dev", "eth0")
    host.heal()
    return host


def _remove_all(prefix: str) -> None:
    """Kill all that runs in namespaces of these names, and remove them with their links."""
    names = _namespaces(prefix)
    _kill_all(names)
    for name in names:
        _ip("netns", "delete", name)


def _kill_all(names: Sequence[str]) -> None:
    """Kill all that runs in namespaces."""
    deadline = time.monotonic() + DYING_SECONDS
    while alive := [pid for name in names for pid in _processes(name)]:
        if time.monotonic() > deadline:
            raise RuntimeError(f"processes {alive} do not die")
        for pid in alive:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.02)


def _namespaces(prefix: str) -> list[str]:
    names = [line.split()[0] for line in _ip("netns", "list").splitlines()]
    return [name for name in names if name.startswith(prefix)]


def _processes(namespace: str) -> list[int]:
    return [int(line) for line in _ip("netns", "pids", namespace).split()]


def _ip(*words: str) -> str:
    return subprocess.run(["ip", *words], capture_output=True, text=True, check=True).stdout
