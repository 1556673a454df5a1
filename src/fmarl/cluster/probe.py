"""Ask whether a Ray cluster answers at an address, in a process of its own.

Ray's own way in waits for most of a minute, or for ever, and hears no signal meanwhile; with token
authentication on and no token it aborts the process. A process that only knocks can be given a
time, and what it says on its way out is an answer.
"""

import logging
import socket
import subprocess
import sys

from fmarl.errors import BadInput, require

ANSWER_SECONDS = 20.0
"""A cluster that has not answered by then is not there; loading Ray is part of it."""
CONNECT_SECONDS = 5.0
OPENED, WRONG_TOKEN = 0, 10
"""Exit codes of the process that knocks; others are Ray's."""
ADDRESS = "the host:port that `ray start --head` printed"


def require_answer(address: str) -> None:
    """Raise a one-line `BadInput` unless a cluster that takes our token answers there, and soon."""
    _split(address)
    if not listens(address):
        raise _no_cluster(address, "nothing listens there")
    words = [sys.executable, "-m", "fmarl.cluster.probe", address]
    try:
        done = subprocess.run(
            words, stdin=subprocess.DEVNULL, capture_output=True, timeout=ANSWER_SECONDS
        )
    except subprocess.TimeoutExpired:
        raise _no_cluster(address, "what listens there is no Ray") from None
    _require_opened(address, done.returncode)


def listens(address: str) -> bool:
    """Whether anything takes connections at an address."""
    try:
        socket.create_connection(_split(address), CONNECT_SECONDS).close()
    except OSError:
        return False
    return True


def trust_token() -> None:
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


def _require_opened(address: str, code: int) -> None:
    if code == WRONG_TOKEN:
        raise BadInput(
            f"The cluster at {address} does not let us in: it wants the token it was started with. "
            "Copy its ~/.ray/auth_token here, or set RAY_AUTH_TOKEN."
        )
    if code != OPENED:
        raise _no_cluster(address, f"Ray could not join (code {code})")


def _no_cluster(address: str, why: str) -> BadInput:
    return BadInput(
        f"address {address!r:.60} is not that of a Ray cluster: {why}. "
        f"Give {ADDRESS}, or leave it out to use this machine."
    )


def _knock(address: str) -> int:
    from ray._raylet import GcsClient  # pyright: ignore[reportAttributeAccessIssue] — compiled
    from ray.exceptions import AuthenticationError

    try:
        trust_token()
        GcsClient(address=address)
    except AuthenticationError:
        return WRONG_TOKEN
    return OPENED


if __name__ == "__main__":
    sys.exit(_knock(sys.argv[1]))
