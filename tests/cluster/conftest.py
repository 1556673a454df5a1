"""One Ray cluster of this machine for all tests that need no other."""

from collections.abc import Iterator

import pytest

from fmarl.cluster.connect import joined


@pytest.fixture(scope="session")
def cluster() -> Iterator[None]:
    with joined(None):
        yield
