"""What to say of a module that an environment needs and that is nowhere."""

import os

from fmarl.errors import BadInput

PACKAGES = {
    "pettingzoo": "pettingzoo",
    "mpe2": "mpe2",
    "supersuit": "supersuit",
    "pygame": "pygame",
    "gymnasium": "gymnasium",
    "gymnasium_robotics": "gymnasium-robotics",
    "minigrid": "minigrid",
    "ale_py": "ale-py",
    "mujoco": "mujoco",
    "Box2D": "box2d",
}
"""Modules that environments need, and what installs them. Others are not guessed: a stranger may
have published a package of any name."""


def not_found(module: str, missing: ModuleNotFoundError) -> BadInput:
    """A module that is nowhere, or that needs one which is nowhere."""
    name = (missing.name or module).partition(".")[0]
    where = f"neither in {os.getcwd()} nor where this Python looks"
    fix = f"Run: pip install {PACKAGES[name]}" if name in PACKAGES else "Check its spelling"
    own = name == module.partition(".")[0]
    what = f"module {module!r}" if own else f"module {name!r}, which {module} needs,"
    return BadInput(f"{what} is not found: {where}. {fix}, or change the folder.")
