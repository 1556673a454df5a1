"""What can happen to a world, and how often it is brought back."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from fmarl.errors import EngineFailed
from fmarl.records.events import EventCode
from fmarl.user_code import Failure


class WorldEvent(NamedTuple):
    """Something that went wrong with a world, or was put right."""

    code: str
    world: int
    slot: int
    """Slot that was being played; −1 if none was."""
    detail: str


class WorldFailed(EngineFailed):
    """A world that was lost too often in a row: something is wrong that a restart does not cure."""


class WorldLost(Exception):  # noqa: N818 — it reads as what happened
    """A worker that crashed, hung or talked nonsense."""

    def __init__(self, code: EventCode, why: str, failure: Failure | None = None) -> None:
        super().__init__(why)
        self.code, self.failure = code, failure
        """What the world's own code did, if that was it."""


@dataclass(frozen=True, kw_only=True)
class RestartPolicy:
    """How long to wait for a world, and how often to bring it back."""

    timeout_seconds: float = 30.0
    """A slot that takes longer counts as hung, and its process group is killed."""
    start_seconds: float = 60.0
    """The same for a start, which includes playing an epoch again."""
    max_restarts: int = 3
    """Restarts in a row; one more loss ends the run."""
    environment: Mapping[str, str] | None = None
    """Environment variables for the worker, beside those of the run."""
