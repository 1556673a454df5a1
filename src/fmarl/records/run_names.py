"""Names for runs that people can remember and say: `brisk-otter`."""

import hashlib
from collections.abc import Iterator
from itertools import count

MANNERS = """
    able bold brave brisk bright calm clever cosy crisp curious daring deft eager early fair fine
    fleet fond frank free fresh gentle glad golden grand happy hardy honest humble jolly keen kind
    lively loyal lucky mellow merry mild modest neat nimble noble patient placid plucky polite
    proud quick quiet rapid ready robust sage serene sharp silent smooth snug spry steady sunny
    swift tidy witty
"""
ANIMALS = """
    badger beaver bison bittern buzzard condor cormorant crane curlew deer dolphin dormouse dunlin
    eagle egret eider elk falcon ferret finch fox gannet gecko gibbon grouse hare hawk hedgehog
    heron hobby ibex ibis jackdaw jay kestrel kite lapwing lark linnet lynx magpie marmot marten
    merlin moose newt osprey otter owl panda petrel plover puffin quail raven robin salmon seal
    starling stoat swan tern vole wren
"""


def run_names(world: str, method: str, seed: int) -> Iterator[str]:
    """Names for a run, best first: repetitions of an experiment differ only in their number.

    >>> names = run_names("figure-eight", "firl", seed=0)
    >>> next(names), next(names)
    ('fresh-condor', 'fresh-condor-2')
    """
    digest = hashlib.sha256("\n".join((world, method, str(seed))).encode()).digest()
    manners, animals = MANNERS.split(), ANIMALS.split()
    name = f"{manners[digest[0] % len(manners)]}-{animals[digest[1] % len(animals)]}"
    yield name
    for number in count(2):
        yield f"{name}-{number}"
