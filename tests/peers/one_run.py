"""One run of one side, in a process of its own: python -m peers.one_run SIDE TASK SEED FILE.

Only the training is timed: not the imports, which both sides share, and not the score.
"""

import importlib
import resource
import sys
from pathlib import Path

from fmarl.records.atomic_files import write_durably
from peers.results import PeerRun, encode
from peers.score import returns
from peers.tasks import TASKS

TRAINERS = {"ours": "peers.fmarl_side", "theirs": "peers.sb3_side"}


def main() -> None:
    """Train, play the scored episodes, and write the result to a file."""
    side, name, seed, path = sys.argv[1:]
    task, trainer = TASKS[name], importlib.import_module(TRAINERS[side])
    before = _cpu_seconds()
    trained = trainer.train(task, int(seed))
    spent = _cpu_seconds() - before
    scores = returns(task.env_id, trained.act)
    write_durably(
        Path(path), encode(PeerRun(side, int(seed), scores, trained.training_return, spent))
    )


def _cpu_seconds() -> float:
    """Of this process and of the workers that it has had."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


if __name__ == "__main__":
    main()
