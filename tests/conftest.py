"""What every test runs under: strict dtypes in JAX, one hypothesis profile, real subprocesses."""

import os
import subprocess
import sys
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, settings

# Before anything imports JAX: no silent promotion of dtypes or ranks in our code.
os.environ["JAX_NUMPY_DTYPE_PROMOTION"] = "strict"
os.environ["JAX_NUMPY_RANK_PROMOTION"] = "raise"

settings.register_profile(
    "fmarl",
    deadline=None,  # the machines are shared: a slow example is not a failure
    derandomize=True,  # the same examples on every machine
    max_examples=50,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("fmarl")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="Rewrite generated files that tests compare with (docs/equations.md).",
    )


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--update-golden"))


@pytest.fixture
def fmarl() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run the installed command as a user would: a real process, its own exit code and streams."""

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "fmarl", *words],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return run


@pytest.fixture
def fmarl_here(
    capfd: pytest.CaptureFixture[str],
) -> Callable[..., subprocess.CompletedProcess[str]]:
    """The same in this process, which has loaded everything: for words that are refused anyway."""

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        from fmarl.cli import main

        code = main(words)
        return subprocess.CompletedProcess(words, code, *capfd.readouterr())

    return run
