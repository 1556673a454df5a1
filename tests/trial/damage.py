"""Ways in which a run's folder can be damaged, and a copy of a run for each."""

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

Damage = Callable[[Path, random.Random], None]
"""Does something to a file of a run."""


def _truncate(path: Path, chance: random.Random) -> None:
    os.truncate(path, chance.randrange(path.stat().st_size + 1))


def _garbage(path: Path, chance: random.Random) -> None:
    path.write_bytes(chance.randbytes(chance.randrange(1, 4000)))


def _flip(path: Path, chance: random.Random) -> None:
    content = bytearray(path.read_bytes() or b"\0")
    content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    path.write_bytes(content)


def _swap(path: Path, chance: random.Random) -> None:
    """Another file of the run in its place."""
    others = [other for other in sorted(path.parent.rglob("*")) if other.is_file()]
    content = chance.choice(others).read_bytes()
    path.write_bytes(content)


def _remove(path: Path, chance: random.Random) -> None:
    path.unlink()


def _empty(path: Path, chance: random.Random) -> None:
    path.write_bytes(b"")


def _folder(path: Path, chance: random.Random) -> None:
    path.unlink()
    path.mkdir()


def _loop(path: Path, chance: random.Random) -> None:
    path.unlink()
    path.symlink_to(path.name)


def _fifo(path: Path, chance: random.Random) -> None:
    path.unlink()
    os.mkfifo(path)


def _huge(path: Path, chance: random.Random) -> None:
    os.truncate(path, 1 << 36)


def _lines(path: Path, chance: random.Random) -> None:
    """Lines that are JSON, and not those of a run."""
    lines = [
        "{}",
        "[]",
        "null",
        "1e999",
        '{"kind": "test"}',
        '{"kind": 3, "epoch": "x"}',
        "[" * 9999,
    ]
    path.write_text("\n".join(chance.choices(lines, k=5)) + "\n")


DAMAGES: dict[str, Damage] = {
    "truncated": _truncate,
    "garbage": _garbage,
    "a flipped bit": _flip,
    "swapped": _swap,
    "removed": _remove,
    "empty": _empty,
    "a folder": _folder,
    "a loop": _loop,
    "a FIFO": _fifo,
    "huge": _huge,
    "other lines": _lines,
}


def files_of(run: Path) -> list[str]:
    """What can be damaged in a run."""
    return sorted(str(path.relative_to(run)) for path in run.rglob("*") if path.is_file())


def damaged_copy(run: Path, place: Path, file: str, damage: str, seed: int) -> Path:
    """A copy of a run, one file of which is no longer what it was."""
    shutil.copytree(run, place, symlinks=True)
    DAMAGES[damage](place / file, random.Random(seed))
    return place
