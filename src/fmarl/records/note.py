"""What was found damaged on disk and worked around; the caller writes it into `events.jsonl`."""

from typing import NamedTuple

CHECKPOINT_CORRUPT = "CKPT_CORRUPT"
LINE_CUT = "LINE_CUT"
LOCK_STALE = "LOCK_STALE"


class Note(NamedTuple):
    """Something that was not as it should be, and did no harm."""

    code: str
    """A word that stays the same between versions: one of those above."""
    detail: str
    """One line for people."""
