"""How long do the light packages take to import, beside NumPy alone? Run: make bench."""

import subprocess
import sys

from _figures import parser, seconds

REPEATS = 7


def fastest(code: str, repeats: int) -> float:
    """Shortest of several fresh interpreters, which is the one least disturbed by others."""
    command = [sys.executable, "-c", code]
    return min(seconds(lambda: subprocess.run(command, check=True)) for _ in range(repeats))


def main() -> None:
    """Print each package's time and its ratio to NumPy's."""
    repeats = 1 if parser(__doc__ or "").parse_args().smoke else REPEATS
    floor = fastest("import numpy", repeats)
    for package in ("fmarl.theory", "fmarl.topology"):
        taken = fastest(f"import {package}", repeats)
        print(
            f"import {package}: {taken:.3f} s, {taken / floor:.2f} × import numpy ({floor:.3f} s)"
        )


if __name__ == "__main__":
    main()
