"""What every test runs under: strict dtypes in JAX, quick compiling, real subprocesses."""

import atexit
import gc
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# Before anything imports JAX: no silent promotion of dtypes or ranks in our code.
os.environ["JAX_NUMPY_DTYPE_PROMOTION"] = "strict"
os.environ["JAX_NUMPY_RANK_PROMOTION"] = "raise"

# Compiling is most of the suite's work and its arrays are tiny: compile fast, not well, here and in
# every process that a test starts. `XLA_FLAGS= make test` compiles as users do.
os.environ.setdefault(
    "XLA_FLAGS", "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false"
)
# Each program is compiled once for all processes of a session; the first of them owns the folder.
if "JAX_COMPILATION_CACHE_DIR" not in os.environ:
    _compiled = tempfile.mkdtemp(prefix="fmarl-compiled-")
    atexit.register(shutil.rmtree, _compiled, ignore_errors=True)
    os.environ["JAX_COMPILATION_CACHE_DIR"] = _compiled
    os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
    os.environ["JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"] = "-1"

MOST_PROGRAMS = 300  # in a process between two tests; each holds about 1.5 MB

settings.register_profile(
    "fmarl",
    deadline=None,  # the machines are shared: a slow example is not a failure
    derandomize=True,  # the same examples on every machine
    max_examples=50,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("fmarl")


def pytest_runtest_teardown() -> None:
    """Keep a worker small: JAX would hold the compiled programs of all tests until the end."""
    jax = sys.modules.get("jax")
    if jax and len(jax.devices()[0].client.live_executables()) > MOST_PROGRAMS:
        jax.clear_caches()
        gc.collect()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Note how much memory this worker has used at most."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    getattr(session.config, "workeroutput", {})["peak_kb"] = peak


@pytest.hookimpl(optionalhook=True)  # of xdist
def pytest_testnodedown(node: Any) -> None:
    peak = getattr(node, "workeroutput", {}).get("peak_kb", 0) / 2**20
    node.config.get_terminal_writer().line(f"\n{node.gateway.id} used up to {peak:.2f} GB")


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
