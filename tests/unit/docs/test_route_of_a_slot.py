"""The route of a slot in one process: which of our files run in it, held against the docs.

It is a slot in the middle of an epoch, when everything is compiled: nothing is tested, billed,
written or compiled in it. Files of the world are not followed, and of what is compiled only the
algorithm's own file counts, which the page has in its reading order.
"""

import re
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from fmarl import wire
from fmarl.engine.train import Training
from fmarl.rollout import play
from fmarl.rollout.batch import SlotRequest
from fmarl.rollout.policy import Policy
from fmarl.rollout.policy_check import random_parameters
from unit.engine.small_experiments import toy

SOURCE = Path(play.__file__).parents[1]
PAGE = Path(__file__).parents[3] / "docs" / "architecture.md"
ALGORITHM = "algorithms/ppo.py"
MOST_FILES = 12
LONG = toy(set=("num_agents=3", "epoch_steps=120"))


def followed(act: Callable[[], object]) -> set[str]:
    """Our files of which a function is called in this thread while something is done."""
    seen: set[str] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(str(SOURCE)):
            seen.add(Path(name).relative_to(SOURCE).as_posix())

    sys.setprofile(note)
    try:
        act()
    finally:
        sys.setprofile(None)
    return {name for name in seen if not name.startswith("worlds/")}


def files_of_the_run() -> set[str]:
    """In the process that learns: the last slot neither of an epoch nor of a period."""
    with Training(LONG) as training:
        for _ in range(9):
            list(training.advance())
        return followed(lambda: list(training.advance()))


def files_of_the_worker() -> set[str]:
    """In the worker, whose side is played here: a slot after its first."""
    ours, theirs = socket.socketpair()
    with LONG.maker.make() as world, ours, theirs:
        player = play.start(world, run_seed=0)
        policy = Policy("sampled", random_parameters(world.spec, (8,)))

        def serve_one() -> None:
            request = wire.receive(theirs)
            assert request is not None
            wire.send(theirs, play.answer(player, request)[1])

        wire.send(ours, SlotRequest(policy, 0, 20).message())
        serve_one()
        wire.send(ours, SlotRequest(policy, 1, 20).message())
        return followed(serve_one)


def listed() -> dict[str, int]:
    """The files of the route as the page has them, with their lines."""
    rows = re.findall(r"^\| \d+ \| `([\w/.]+)` \| (\d+) \|", PAGE.read_text(), re.MULTILINE)
    return {name: int(lines) for name, lines in rows}


def test_the_route_of_a_slot_is_what_the_page_says_and_no_longer():
    ran = files_of_the_run() | files_of_the_worker() | {ALGORITHM}
    page = listed()
    assert ran == set(page)
    assert len(page) <= MOST_FILES
    lines = {name: len((SOURCE / name).read_text().splitlines()) for name in page}
    longer = {name: lines[name] for name in page if lines[name] > page[name]}
    assert not longer, "the route has grown: shorten it, or say so in docs/architecture.md"
