"""`fmarl resume`: go on with runs that were stopped or killed."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from fmarl.cli.engine_flags import HERE, Where
from fmarl.cli.output import Flag
from fmarl.cli.run_commands import go_on
from fmarl.errors import require


@dataclass(frozen=True, kw_only=True)
class Resume:
    """Go on with runs where their last checkpoints stand; they end as if never interrupted."""

    runs: tyro.conf.Positional[tuple[Path, ...]]
    """Folders of the runs."""
    force: Flag = False
    """Go on even if packages have other versions than when the run began."""
    jobs: int = 0
    """Runs to train at once, each on its own core; 0 for one per core."""
    where: Annotated[Where, tyro.conf.arg(name="")] = HERE
    """The engine, and how patient it is."""
    quiet: Flag = False
    """Show nothing."""
    json: Flag = False
    """Show one JSON object per test, and one at the end."""

    def run(self) -> int:
        """Train on."""
        require(bool(self.runs), "no run", "one folder or more", "Name one, such as runs/NAME.")
        self.where.check(self.jobs, len(self.runs))
        return go_on(
            self.runs,
            jobs=self.jobs,
            quiet=self.quiet,
            as_json=self.json,
            force=self.force,
            where=self.where,
        )
