"""How long do the light packages take to import, beside NumPy alone? Run: make bench."""

import subprocess
import sys
import time

REPEATS = 7


def fastest(code: str) -> float:
    """Shortest of several fresh interpreters, which is the one least disturbed by others."""
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        times.append(time.perf_counter() - start)
    return min(times)


if __name__ == "__main__":
    floor = fastest("import numpy")
    for package in ("fmarl.theory", "fmarl.topology"):
        taken = fastest(f"import {package}")
        print(
            f"import {package}: {taken:.3f} s, {taken / floor:.2f} × import numpy ({floor:.3f} s)"
        )
