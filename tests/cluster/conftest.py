"""One Ray cluster of this machine for all tests that need no other."""

import os
from collections.abc import Iterator

import pytest

from fmarl.cluster.connect import joined

# Or Ray would end processes when the machine is short of memory, whoever uses it.
os.environ["RAY_memory_monitor_refresh_ms"] = "0"  # noqa: SIM112 — its own name


@pytest.fixture(scope="session")
def cluster() -> Iterator[None]:
    with joined(None):
        yield
