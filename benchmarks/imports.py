"""How long until something light answers, beside an interpreter alone? Run: make bench."""

import subprocess
import sys
from collections.abc import Sequence

from _figures import parser, seconds

REPEATS = 7
QUICK = ("--help", "trian", "runs .", "doctor")
"""Words after `fmarl` that are to be answered before anything large is loaded."""


def fastest(words: Sequence[str], repeats: int) -> float:
    """Shortest of several fresh interpreters, which is the one least disturbed by others."""
    command = [sys.executable, *words]
    return min(
        seconds(lambda: subprocess.run(command, capture_output=True, check=False))
        for _ in range(repeats)
    )


def main() -> None:
    """Print each package's time beside NumPy's, and each answer's beside an empty program's."""
    repeats = 1 if parser(__doc__ or "").parse_args().smoke else REPEATS
    floor = fastest(["-c", "import numpy"], repeats)
    for package in ("fmarl.theory", "fmarl.topology"):
        taken = fastest(["-c", f"import {package}"], repeats)
        print(
            f"import {package}: {taken:.3f} s, {taken / floor:.2f} × import numpy ({floor:.3f} s)"
        )
    floor = fastest(["-c", "pass"], repeats)
    for words in QUICK:
        taken = fastest(["-m", "fmarl", *words.split()], repeats)
        print(f"fmarl {words}: {taken:.3f} s, {taken / floor:.1f} × python -c pass ({floor:.3f} s)")


if __name__ == "__main__":
    main()
