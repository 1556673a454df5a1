"""Small runs whose final parameters must never change by a bit, and their sha256.

    python -m golden.small_runs [--ray] NAME ...          (as JSON, on the last line)

Bits depend on the instructions that compilers choose, so a run goes into a process whose
environment allows only those that every machine of the last ten years has.
"""

import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from python_path import python_path

HERE = Path(__file__).parent
GOLDEN: dict[str, Any] = json.loads((HERE / "run_digests.json").read_text())
ENVIRONMENT: dict[str, str] = GOLDEN["environment"]
EXPECTED: dict[str, str] = GOLDEN["digests"]
"""By name, as commit f54381c ended them; in one process and on Ray alike."""


def in_own_process(*words: str) -> dict[str, Any]:
    """What this module prints for these words, under the fixed environment."""
    place = {**os.environ, **ENVIRONMENT, "PYTHONPATH": python_path()}
    command = [sys.executable, "-m", "golden.small_runs", *words]
    done = subprocess.run(command, env=place, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def experiments() -> dict[str, Any]:
    """By name: every method, every algorithm, and what else changes an update."""
    from fmarl.federation.recipes import METHODS

    made = {f"method-{word}": _toy(method=word) for word in METHODS}
    for algorithm in ("trpo", "tac"):
        for word in ("periodic", "decay-consensus"):
            made[f"{algorithm}-{word}"] = _toy(algorithm, method=word)
    return made | {
        "hierarchy": _toy(worlds=2, hierarchy=2),
        "drawn": _toy(method="variation-aware", local_updates="drawn:1-4"),
        "participation": _toy(participation=0.5),
        "renormalise": _toy(participation=0.5, missing="renormalise"),
        "median-attack": _toy(agents=5, aggregate="median", attack="sign-flip:1"),
        "noise-attack": _toy(agents=5, attack="noise:1:1.0"),
        "chebyshev": _toy(agents=5, method="consensus", weights="chebyshev", consensus_rounds=3),
        "many-agents": _toy(agents=40, method="consensus"),
    }


def _toy(algorithm: str = "ppo", agents: int = 3, worlds: int = 1, **together: Any) -> Any:
    import fmarl

    method = {"method": "periodic", "sync_period": 4, "learning_rate": 0.01, **together}
    if method["method"] in ("synchronous", "delayed", "delayed-adoption"):
        del method["sync_period"]
    if method["method"].startswith("delayed"):
        method["delay_slots"] = 2
    tac: dict[str, Any] = {
        "batch_size": 10,
        "replay_capacity": 100,
        "updates_per_slot": 3,
        "random_updates": 1,
    }
    return fmarl.Experiment(
        world="toy-bumpy",
        set=(f"num_agents={agents}", "epoch_steps=40"),
        num_worlds=worlds,
        algorithm=algorithm,
        together=fmarl.MethodConfig(**method),
        agent=fmarl.AgentConfig(hidden=(8,)),
        tac=fmarl.TACConfig(**(tac if algorithm == "tac" else {})),
        num_epochs=5,
        steps_per_update=20,
        test_every=2,
        test_repetitions=1,
        sample_slots=2,
        seed=3,
    )


def _digests(names: list[str], engine: dict[str, Any]) -> dict[str, str]:
    from fmarl.engine.run import begin, resume

    made = experiments()
    with TemporaryDirectory() as parent:
        return {
            name: resume(begin(made[name], Path(parent) / name), **engine).digest for name in names
        }


def main() -> None:
    """Run what is named, and print the digests; for a folder of a run, its end."""
    on_ray, words = "--ray" in sys.argv, [word for word in sys.argv[1:] if word != "--ray"]
    engine: dict[str, Any] = {}
    if on_ray:
        from fmarl.cluster.ray_engine import RayEngine
        from fmarl.cluster.settings import ClusterSettings

        engine["make_engine"] = partial(RayEngine, settings=ClusterSettings())
    if words[:1] == ["resume"]:
        from fmarl.engine.run import resume

        run = resume(words[1])
        sys.stdout.write(
            json.dumps({"update_count": run.update_count, "digest": run.digest}) + "\n"
        )
    else:
        sys.stdout.write(json.dumps(_digests(words, engine)) + "\n")


if __name__ == "__main__":
    main()
