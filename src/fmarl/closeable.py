"""What must be closed, such as a process or an open file, is used inside a `with`."""

from abc import ABC, abstractmethod
from typing import TypeVar

Opened = TypeVar("Opened", bound="Closeable")
"""Not `typing.Self`, which beartype can not check."""


class Closeable(ABC):
    """Closed at the end of its `with`, on every path."""

    @abstractmethod
    def close(self) -> None:
        """Give back what it holds."""

    def __enter__(self: Opened) -> Opened:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()
