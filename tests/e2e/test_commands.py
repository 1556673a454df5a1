"""The commands as a user runs them: real processes, real files, exit codes, one-line errors."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from e2e.fmarl_command import fmarl_command


def test_bounds_prints_printed_and_corrected_forms(fmarl):
    done = fmarl("bounds", "--local-updates", "1-15", "--decay-rate", "0.92")
    assert done.returncode == 0
    assert "printed" in done.stdout
    assert "corrected" in done.stdout
    assert "decay *" in done.stdout
    assert "below 1/2" in done.stdout


def test_bounds_json_is_strict_json_with_the_golden_value(fmarl):
    done = fmarl("bounds", "--json", "--initial-gradient-norm", "1")
    (facts,) = json.loads(done.stdout)
    assert facts["bounds"]["periodic"]["total"] == pytest.approx(25.180952380952381)
    assert facts["bounds"]["periodic"]["utility"] is None  # infeasible


def test_bounds_of_a_file_is_one_table(fmarl, tmp_path: Path):
    file = tmp_path / "two.toml"
    file.write_text('[[settings]]\nname = "first"\n[[settings]]\ngraph = "ring"\n')
    done = fmarl("bounds", "--settings", str(file))
    assert done.returncode == 0
    assert "first" in done.stdout
    assert "τ=15 ring E=1" in done.stdout


def test_the_paper_table_matches_thirteen_of_thirteen(fmarl):
    done = fmarl("bounds", "--paper-table")
    assert done.returncode == 0
    assert "13 of 13 rows agree" in done.stdout
    rows = json.loads(fmarl("bounds", "--paper-table", "--json").stdout)
    assert [row["agrees"] for row in rows] == [True] * 13


@pytest.mark.parametrize(
    "words",
    [
        ("--against", "sync_period", "--local-updates", "1-15"),
        ("--against", "decay_rate"),
        ("--against", "consensus_rounds", "--graph", "paper-16"),
        ("--against", "consensus_step", "--graph", "ring"),
        ("--against", "num_agents", "--graph", "nearest:4"),
    ],
)
def test_bounds_draws_every_sweep(fmarl, tmp_path: Path, words):
    path = tmp_path / "sweep.png"
    done = fmarl("bounds", "--num-agents", "7", "--plot", str(path), *words)
    assert done.returncode == 0, done.stderr
    assert path.read_bytes().startswith(b"\x89PNG")


def test_bounds_cites_its_equations(fmarl):
    done = fmarl("bounds", "--cite")
    assert "Eq. (15)" in done.stdout
    assert "theory.printed_bounds.periodic_bound" in done.stdout


def test_topology_shows_and_draws_a_graph(fmarl, tmp_path: Path):
    path = tmp_path / "graph.svg"
    done = fmarl("topology", "paper-13", "--plot", str(path))
    assert done.returncode == 0
    assert "μ2 = 1.4384" in done.stdout
    assert "</svg>" in path.read_text()


def test_topology_json_has_every_weighting(fmarl):
    facts = json.loads(fmarl("topology", "best:9", "--json").stdout)
    assert set(facts["weights"]) == {"paper", "optimal", "metropolis", "chebyshev", "fdla"}
    assert facts["best_contraction"] == pytest.approx(0.471405, abs=1e-6)


def test_doctor_finds_what_is_required(fmarl):
    done = fmarl("doctor")
    assert done.returncode == 0
    assert "everything required is here" in done.stdout
    checks = {check["name"]: check for check in json.loads(fmarl("doctor", "--json").stdout)}
    assert checks["numpy"]["state"] == "ok"
    assert all(check["fix"] for check in checks.values() if check["state"] == "missing")


def test_the_truth_shows_that_a_printed_bound_fails_and_the_corrected_ones_hold(
    fmarl, tmp_path: Path
):
    done = fmarl("bounds", "--truth", "--plot", str(tmp_path / "bounds.png"))
    assert done.returncode == 0
    rows = [line.split() for line in done.stdout.splitlines() if line.strip().startswith("FIRL")]
    verdicts = [(row[-4], row[-1]) for row in rows]
    assert verdicts.count(("no", "yes")) == 2
    assert verdicts.count(("yes", "yes")) == 4
    assert (tmp_path / "bounds.png").exists()


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("bounds", "--graph", "blob"), "blob"),
        (("bounds", "--learning-rate", "1", "--strict"), "0.0003125"),
        (("bounds", "--upload-cost=-1"), "upload_cost = -1"),
        (("bounds", "--smoothness", "nan"), "smoothness = nan"),
        (("bounds", "--against", "consensus_step", "--plot", "x.png"), "--graph ring"),
        (("bounds", "--settings", "/none.json"), "/none.json"),
        (("topology", "0-1,2-3", "--num-agents", "4"), "{0, 1}, {2, 3}"),
        (("topology", "ring", "--consensus-step", "3"), "3.0"),
        (("topology", "ring", "--exchange-cost=-1"), "exchange_cost = -1"),
        (("topology", "0-0,0-1", "--num-agents", "2"), "0"),
        (("demo", "--out", "/proc/none"), "/proc/none"),
    ],
)
def test_bad_input_gets_one_line_and_exit_code_2(fmarl_here, words, named):
    done = fmarl_here(*words)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("fmarl: ")
    assert done.stderr.count("\n") == 1
    assert named in done.stderr
    assert "Traceback" not in done.stderr


def test_a_learning_rate_that_is_too_large_only_warns(fmarl):
    done = fmarl("bounds", "--learning-rate", "1")
    assert done.returncode == 0
    assert done.stderr.count("\n") == 1
    assert "0.0003125" in done.stderr


def test_a_reader_that_leaves_early_gets_no_traceback():
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", f"{sys.executable} -m fmarl bounds --json | head -c 10"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("number", "code", "line"),
    [(signal.SIGINT, 130, "fmarl: stopped\n"), (signal.SIGTERM, -signal.SIGTERM, "")],
)
def test_a_long_command_ends_quietly_within_two_seconds_of_a_signal(number, code, line):
    words = fmarl_command("world", "toy-quadratic", "--epochs", "10000")
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as process:
        maps = Path(f"/proc/{process.pid}/maps")
        while "numpy" not in maps.read_text():  # still being loaded
            time.sleep(0.05)
        process.send_signal(number)
        assert process.wait(2) == code
        assert process.communicate()[1] == line


@pytest.mark.parametrize("package", ["fmarl.theory", "fmarl.topology"])
def test_theory_and_topology_import_without_jax_networkx_scipy_or_matplotlib(package):
    code = f"import sys, {package}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"jax", "networkx", "scipy", "matplotlib"} & set(done.stdout.split())


def test_jax_promotes_nothing_silently_in_our_tests():
    import jax

    assert jax.config.jax_numpy_dtype_promotion == "strict"  # type: ignore[attr-defined]
    assert jax.config.jax_numpy_rank_promotion == "raise"  # type: ignore[attr-defined]
