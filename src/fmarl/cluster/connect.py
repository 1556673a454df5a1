"""Connect to a Ray cluster, or start a small one on this machine, and leave no trace afterwards.

Ray is imported in this package only, and only when it is used. It is kept quiet, and it keeps none
of our signals: a process that connects still handles Ctrl-C itself.

Ray's own way in waits for most of a minute, or for ever, and handles no signal meanwhile; with
token authentication on and no token it aborts the process. So the address is first probed by a
process of its own, `python -m fmarl.cluster.connect ADDRESS`, which has a time limit and whose exit
code is the answer.
"""

import logging
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from fmarl.cluster.scratch import scratch_folder
from fmarl.engine.signals import SIGNALS
from fmarl.errors import BadInput, EngineFailed, require

ANSWER_SECONDS = 40.0
"""A cluster that has not answered by then is not there; Ray has to be loaded in it, too."""
CONNECT_SECONDS = 5.0
START_TRIES = 3
"""Ray gives a node 30 s to start, which a busy machine may not manage at once."""
CONNECTED, WRONG_TOKEN = 0, 10
"""Exit codes of the probe; others are Ray's."""
ADDRESS = "the host:port that `ray start --head` printed"
CHECK_SECONDS = 5.0
"""How often the head is checked."""
HEAD_SECONDS = 15.0
"""How long it may be gone, as for a restart. Ray itself waits for a minute."""


@contextmanager
def joined(address: str | None) -> Iterator[None]:
    """Be in the cluster at an address, or in one of this machine's cores that ends with the body.

    A process that is in a cluster already stays in it. `BadInput` in bounded time if there is no
    such cluster, or it does not let us in.
    """
    require_ray()
    with _restored_environment():
        # Read when Ray is imported: it is not to write on our standard output when one is lost.
        os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", ".")
        import ray
    if ray.is_initialized():
        yield
        return
    if address is not None:
        require_cluster(address)
    with ExitStack() as stack:
        stack.enter_context(_restored_environment())
        folder = stack.enter_context(scratch_folder("ray"))
        stack.callback(ray.shutdown, wait_for_processes=True)
        with _restored_signals():
            if address is None:
                _start_local(folder)
            else:
                enable_token()
                _init(address)
        yield


def require_ray() -> None:
    """Raise a one-line `BadInput` unless Ray is installed here."""
    if find_spec("ray") is None:
        raise BadInput(
            "engine ray is not installed here. Get it with: pip install 'fmarl[ray]', "
            "or use --engine in-process."
        )


class ClusterLost(EngineFailed):
    """No host of the cluster can be reached any more."""


class ClusterHead:
    """The head of the cluster that we are in: without it, Ray would end our whole process."""

    def __init__(self) -> None:
        self._address = head_address()
        self._seen = time.monotonic()

    @property
    def is_up(self) -> bool:
        """Whether it takes connections; if not, calls to Ray may never return."""
        return listens(self._address)

    def require_up(self) -> None:
        """Wait a while for a head that is gone; `ClusterLost` if it does not come back."""
        if time.monotonic() - self._seen < CHECK_SECONDS:
            return
        deadline = time.monotonic() + HEAD_SECONDS
        while not self.is_up:
            if time.monotonic() > deadline:
                raise ClusterLost(
                    f"The cluster is gone: its head at {self._address} does not answer. "
                    "What was learned so far is kept; go on with `fmarl resume`."
                )
            time.sleep(1.0)
        self._seen = time.monotonic()


def head_address() -> str:
    """Where the head of the cluster that we are in is, as host:port."""
    import ray

    return ray.get_runtime_context().gcs_address


def require_cluster(address: str) -> None:
    """Raise a one-line `BadInput` unless a cluster that takes our token answers there, and soon."""
    _split(address)
    if not listens(address):
        raise _no_cluster(address, "nothing listens there")
    words = [sys.executable, "-m", "fmarl.cluster.connect", address]
    try:
        done = subprocess.run(
            words, stdin=subprocess.DEVNULL, capture_output=True, timeout=ANSWER_SECONDS
        )
    except subprocess.TimeoutExpired:
        raise _no_cluster(address, "what listens there is no Ray") from None
    if done.returncode == WRONG_TOKEN:
        raise BadInput(
            f"The cluster at {address} does not let us in: it wants the token it was started with. "
            "Copy its ~/.ray/auth_token here, or set RAY_AUTH_TOKEN."
        )
    if done.returncode != CONNECTED:
        raise _no_cluster(address, f"Ray could not join (code {done.returncode})")


def listens(address: str) -> bool:
    """Whether anything takes connections at an address."""
    try:
        socket.create_connection(_split(address), CONNECT_SECONDS).close()
    except OSError:
        return False
    return True


def enable_token() -> None:
    """Have Ray send our token to an address that it is given, if we have one.

    By itself it would do so only at a cluster that it starts, or finds. `AuthenticationError` if a
    token is wanted by RAY_AUTH_MODE and there is none.
    """
    from ray._private.authentication import authentication_token_setup as setup

    # Before Ray has read how loud it may be.
    logging.getLogger("ray").setLevel(logging.CRITICAL)
    setup.maybe_enable_token_auth_if_token_available(warn_if_disabled=False)
    setup.ensure_token_if_auth_enabled(create_token_if_missing=False)


def _split(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    fits = bool(host) and "/" not in host and port.isdecimal() and 0 < int(port) < 1 << 16
    require(fits, f"address {address!r:.60}", ADDRESS, "Use 10.0.0.1:6379, or leave it out.")
    return host.strip("[]"), int(port)


def _no_cluster(address: str, why: str) -> BadInput:
    return BadInput(
        f"address {address!r:.60} is not that of a Ray cluster: {why}. "
        f"Give {ADDRESS}, or leave it out to use this machine."
    )


def _probe(address: str) -> int:
    from ray._raylet import GcsClient  # pyright: ignore[reportAttributeAccessIssue] — compiled
    from ray.exceptions import AuthenticationError

    try:
        enable_token()
        GcsClient(address=address)
    except AuthenticationError:
        return WRONG_TOKEN
    return CONNECTED


def _start_local(folder: Path) -> None:
    """A cluster of the cores that we may use, which nothing outside can join or see."""
    cores = len(os.sched_getaffinity(0))
    options = {"num_cpus": cores, "include_dashboard": False, "_temp_dir": str(folder)}
    for tries_left in reversed(range(START_TRIES)):
        try:
            # Ray would give its workers the lowest priority on a core that others use too.
            _init("local", **options, _system_config={"worker_niceness": 0})
            return
        except BadInput:
            if not tries_left:
                raise


def _init(address: str, **options: Any) -> None:
    import ray

    try:
        ray.init(address, log_to_driver=False, logging_level=logging.CRITICAL, **options)
    except Exception as problem:  # a node that does not start in time raises just that
        why = " ".join(str(problem).split())[:200]
        raise BadInput(
            f"Ray could not join {address}: {why}. Does `ray status` work here? This machine "
            "must be one of the cluster's: RAY_AUTH_MODE=token ray start --address=HOST:PORT."
        ) from None


@contextmanager
def _restored_signals() -> Iterator[None]:
    """Ray takes SIGTERM for itself, to leave by `sys.exit`; take it back."""
    before = {number: signal.getsignal(number) for number in SIGNALS}
    try:
        yield
    finally:
        with suppress(ValueError):  # only the main thread can, and only there Ray could
            for number, handler in before.items():
                signal.signal(number, handler)


@contextmanager
def _restored_environment() -> Iterator[None]:
    """Ray passes variables to its processes by ours; our own children are not to inherit them."""
    before = dict(os.environ)
    try:
        yield
    finally:
        for name in os.environ.keys() - before.keys():
            del os.environ[name]
        os.environ.update(before)


if __name__ == "__main__":
    sys.exit(_probe(sys.argv[1]))
