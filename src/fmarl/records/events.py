"""Everything that `events.jsonl` can say: its codes, their meaning, and how serious each is.

Python writes the codes, and the page shows the words: both read them here. A code stays the same
between versions, for old runs are read by it.
"""

from enum import StrEnum
from typing import Literal, NamedTuple

Severity = Literal["debug", "info", "warning", "error"]


class EventCode(StrEnum):
    """A code, its meaning as words that follow a run's name, and its severity.

    The page leaves out what is there for debugging only.
    """

    words: str
    severity: Severity

    def __new__(cls, code: str, words: str, severity: Severity = "warning") -> "EventCode":
        member = str.__new__(cls, code)
        member._value_ = code
        member.words, member.severity = words, severity
        return member

    # A run on any engine.
    RESUMED = "RESUMED", "went on from its checkpoint", "info"
    STOPPED = "STOPPED", "was stopped", "info"
    EXTENDED = "EXTENDED", "is to train for another number of epochs", "info"
    PLUGIN_CHANGED = "PLUGIN_CHANGED", "goes on with the user's own code, which has changed"
    FAILED = "FAILED", "failed", "error"
    NONFINITE = "NONFINITE", "had a step that was not a number", "error"
    WORLD_CRASHED = "WORLD_CRASHED", "lost a world"
    WORLD_HUNG = "WORLD_HUNG", "had a world that did not answer"
    WORLD_RESTORED = "WORLD_RESTORED", "has its world back, where it was", "info"

    # Found damaged on disk, and worked around.
    CKPT_CORRUPT = "CKPT_CORRUPT", "had a damaged checkpoint, and did without it"
    LINE_CUT = "LINE_CUT", "had a line cut short, and dropped it"
    LOCK_STALE = "LOCK_STALE", "had a lock left by a process that is gone"

    # Processes of a run on a cluster.
    ACTOR_STARTED = "ACTOR_STARTED", "started a process", "debug"
    NOT_STARTED = "NOT_STARTED", "waits for a process that did not start"
    AGENT_LOST = "AGENT_LOST", "lost an agent"
    AGENT_LATE = "AGENT_LATE", "does not hear of an agent"
    AGENT_RETURNED = "AGENT_RETURNED", "hears of an agent again", "info"
    AGENT_REPLACED = "AGENT_REPLACED", "has a new process for an agent", "info"
    AGENT_REVIVED = "AGENT_REVIVED", "has an agent back that missed nothing", "info"
    AGENT_QUARANTINED = "AGENT_QUARANTINED", "shut an agent out", "error"
    WORLD_LOST = "WORLD_LOST", "lost a world, and made another"
    VIRTUAL_LOST = "VIRTUAL_LOST", "lost its virtual agent, and made another"
    HOST_LOST = "HOST_LOST", "lost its host, and goes on at another"

    # Periods of a run on a cluster.
    PERIOD_WITHOUT = "PERIOD_WITHOUT", "counted a period without some agents"
    PERIOD_FAILED = "PERIOD_FAILED", "plays a period again"
    PERIOD_ABANDONED = "PERIOD_ABANDONED", "gave a period up, for too few agents were there"
    QUORUM_LOST = "QUORUM_LOST", "stopped, for too few agents were there", "error"

    # Uploads to the virtual agent; NONFINITE is one of them, too.
    DUPLICATE = "DUPLICATE", "refused an upload that came twice"
    STALE = "STALE", "refused an upload that was too late"
    NOT_EXPECTED = "NOT_EXPECTED", "refused an upload that nobody asked for"
    BAD_CLAIM = "BAD_CLAIM", "refused an upload that claimed another τ_i"
    BAD_PAYLOAD = "BAD_PAYLOAD", "refused an upload that was not right"
    OUTLIER = "OUTLIER", "has an agent that is far from the others"


class Note(NamedTuple):
    """An event that the caller writes into `events.jsonl`, as nothing else can at that time."""

    code: EventCode
    detail: str
    """One line for people."""
