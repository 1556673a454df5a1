"""Joining a Ray cluster, or a small one of this machine, and leaving it as if never been there.

Ray is loaded here and in the other files of this package only, and only when it is used. It is
kept quiet, and it keeps none of our signals: who joins still hears Ctrl-C by its own means.
"""

import logging
import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from fmarl.cluster.probe import require_answer, trust_token
from fmarl.cluster.scratch import scratch_folder
from fmarl.engine.signals import SIGNALS
from fmarl.errors import BadInput


@contextmanager
def joined(address: str | None) -> Iterator[None]:
    """Be in the cluster at an address, or in one of this machine's cores that ends with the body.

    Who is in a cluster already stays in it. `BadInput` in bounded time if there is no such cluster,
    or it does not let us in.
    """
    require_ray()
    _load_quietly()
    import ray

    if ray.is_initialized():
        yield
        return
    if address is not None:
        require_answer(address)
    with ExitStack() as stack:
        stack.enter_context(_environment_kept())
        folder = stack.enter_context(scratch_folder("ray"))
        stack.callback(ray.shutdown, wait_for_processes=True)
        with _signals_kept():
            if address is None:
                _start_here(folder)
            else:
                _join(address)
        yield


def require_ray() -> None:
    """Raise a one-line `BadInput` unless Ray is installed here."""
    if find_spec("ray") is None:
        raise BadInput(
            "engine ray is not installed here. Get it with: pip install 'fmarl[ray]', "
            "or use --engine in-process."
        )


def _load_quietly() -> None:
    """Load Ray without its voice: it would write on our standard output when a process is lost."""
    with _environment_kept():
        os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", ".")  # looked at when Ray is loaded
        import ray  # noqa: F401


def _start_here(folder: Path) -> None:
    """A cluster of the cores that we may use, which nothing outside can join or see."""
    cores = len(os.sched_getaffinity(0))
    options = {"num_cpus": cores, "include_dashboard": False, "_temp_dir": str(folder)}
    # Ray would give what it runs the lowest claim to a core that others use too.
    _init("local", **options, _system_config={"worker_niceness": 0})


def _join(address: str) -> None:
    trust_token()
    _init(address)


def _init(address: str, **options: Any) -> None:
    import ray

    try:
        ray.init(address, log_to_driver=False, logging_level=logging.CRITICAL, **options)
    except (ConnectionError, RuntimeError, ValueError) as problem:
        why = " ".join(str(problem).split())[:200]
        raise BadInput(
            f"Ray could not join {address}: {why}. Does `ray status` work here? This machine "
            "must be one of the cluster's: RAY_AUTH_MODE=token ray start --address=HOST:PORT."
        ) from None


@contextmanager
def _signals_kept() -> Iterator[None]:
    """Ray takes SIGTERM for itself, to leave by `sys.exit`; give it back."""
    before = {number: signal.getsignal(number) for number in SIGNALS}
    try:
        yield
    finally:
        with suppress(ValueError):  # another thread than the main one can not, and Ray could not
            for number, handler in before.items():
                signal.signal(number, handler)


@contextmanager
def _environment_kept() -> Iterator[None]:
    """Ray tells its processes by variables; ours are not to inherit them afterwards."""
    before = dict(os.environ)
    try:
        yield
    finally:
        for name in os.environ.keys() - before.keys():
            del os.environ[name]
        os.environ.update(before)
