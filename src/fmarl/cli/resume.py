"""`fmarl resume`: go on with runs that were stopped or killed."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import tyro

from fmarl.cli.output import Flag
from fmarl.cli.run_commands import RunFlags
from fmarl.errors import require


@dataclass(frozen=True, kw_only=True)
class Resume:
    """Go on with runs where their last checkpoints stand; they end as if never interrupted."""

    runs: tyro.conf.Positional[tuple[Path, ...]]
    """Folders of the runs."""
    force: Flag = False
    """Go on even if packages have other versions than when the run began."""
    flags: Annotated[RunFlags, tyro.conf.arg(name="")] = field(default_factory=RunFlags)

    def run(self) -> int:
        require(bool(self.runs), "no run", "one folder or more", "Name one, such as runs/NAME.")
        self.flags.check(len(self.runs))
        return self.flags.train(self.runs, force=self.force)
