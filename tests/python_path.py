"""Where processes that tests start find modules: in given folders, then where we were told to."""

import os
from pathlib import Path

TESTS = Path(__file__).parent


def python_path(*folders: Path) -> str:
    """Value of PYTHONPATH; a checkout that is tested by it is still the one that is tested."""
    told = os.environ.get("PYTHONPATH", "")
    return os.pathsep.join([*map(str, folders or [TESTS]), *filter(None, [told])])
