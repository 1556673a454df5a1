"""`fmarl train` and `fmarl resume`: train agents together, on one seed or several, to the end."""

import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated

import tyro

from fmarl.cli.output import Flag, own_command, warn
from fmarl.cli.run_commands import RunFlags
from fmarl.engine.experiment import Experiment
from fmarl.engine.extend_run import extend, require_extendable
from fmarl.engine.plugin_sources import changed_plugins
from fmarl.engine.profiles import PROFILES
from fmarl.engine.run import begin, read_experiment, remove_unbegun, require_same_versions
from fmarl.engine.start_check import check_start
from fmarl.errors import require, require_word
from fmarl.launch.exit_codes import RUN_ERRORS, report_error
from fmarl.records.run_folder import read_run
from fmarl.settings_io import read_file, with_changes


@dataclass(frozen=True, kw_only=True)
class Train:
    """Train agents together in a world. Stop it with Ctrl-C, go on with `fmarl resume`."""

    experiment: Annotated[Experiment, tyro.conf.arg(name="")] = field(default_factory=Experiment)
    """Everything that decides how the run goes."""
    profile: str = "paper"
    """Where the settings start from: paper (its Table III, with Adam), printed (word for word, with
    plain SGD) or reference (what implementations of PPO agree on)."""
    config: Path | None = None
    """JSON or TOML file with settings, or the run.json of another run; flags go before it."""
    out: Path | None = None
    """Folder of the run, which must not exist; without it runs/ gets a new one."""
    seeds: int = 1
    """Runs to train, with seeds that count up from --seed."""
    flags: Annotated[RunFlags, tyro.conf.arg(name="")] = field(default_factory=RunFlags)
    watch: Flag = False
    """Serve a page on which the runs are seen, for as long as they train."""

    @staticmethod
    def defaults(options: Sequence[str]) -> "Train":
        """What profile and config file say; flags then change it."""
        profile, config = (_given(flag, options) for flag in ("--profile", "--config"))
        profile = "paper" if profile is None else profile
        require_word("profile", profile, PROFILES, "Use paper.")
        if config is None:
            return Train(experiment=PROFILES[profile])
        content = read_file(Path(config))
        run = content if isinstance(content, dict) else {}
        settings = run.get("experiment", content)  # the one of a run.json, or all of the file
        return Train(experiment=with_changes(PROFILES[profile], settings, config))

    def run(self) -> int:
        """Check everything before anything is made, then train."""
        require(1 <= self.seeds <= 10_000, f"seeds = {self.seeds}", "1 to 10000", "Use 5.")
        self.flags.check(self.seeds)
        seeds = range(self.experiment.seed, self.experiment.seed + self.seeds)
        experiments = [replace(self.experiment, seed=seed) for seed in seeds]
        try:
            warnings = check_start(self.experiment)
        except RUN_ERRORS as problem:
            return report_error(problem)
        for warning in warnings if not self.flags.quiet else ():
            warn(warning)
        folders = [begin(one, self._folder(one.seed)) for one in experiments]
        with _page_of(folders) if self.watch else nullcontext():
            code = self.flags.train(folders)
        if 0 < code < 128:
            remove_unbegun(folders)
        return code

    def _folder(self, seed: int) -> Path | None:
        return self.out if self.out is None or self.seeds == 1 else self.out / f"seed-{seed}"


@dataclass(frozen=True, kw_only=True)
class Resume:
    """Go on with runs where their last checkpoints stand; they end as if never interrupted."""

    runs: tyro.conf.Positional[tuple[Path, ...]]
    """Folders of the runs."""
    num_epochs: int | None = None
    """U: train for so many epochs in all, as if the run had been begun with that."""
    force: Flag = False
    """Go on even if packages have other versions than when the run began."""
    flags: Annotated[RunFlags, tyro.conf.arg(name="")] = field(default_factory=RunFlags)

    def run(self) -> int:
        require(bool(self.runs), "no run", "one folder or more", "Name one, such as runs/NAME.")
        self.flags.check(len(self.runs))
        for folder in self.runs:
            for line in changed_plugins(read_experiment(folder), read_run(folder)):
                warn(line)
        if self.num_epochs is not None:
            self._extend(self.num_epochs)
        return self.flags.train(self.runs, force=self.force)

    def _extend(self, num_epochs: int) -> None:
        """Check all runs before any is changed."""
        for folder in self.runs:
            if not self.force:
                require_same_versions(folder, read_run(folder)["versions"])
            require_extendable(folder, num_epochs)
        for folder in self.runs:
            extend(folder, num_epochs)


@contextmanager
def _page_of(folders: Sequence[Path]) -> Iterator[None]:
    """Serve the page while runs train, and say where it is; results keep standard output."""
    from fmarl.web.server import PageProcess

    with PageProcess(folders) as page:
        sys.stderr.write(f"page: {page.address}\n")
        yield
    names = " ".join(shlex.quote(str(folder)) for folder in folders)
    sys.stderr.write(f"the page is closed; see it again with: {own_command()} watch {names}\n")


def _given(flag: str, options: Sequence[str]) -> str | None:
    """The value of a flag, as `--flag value` or `--flag=value`, before the options are parsed."""
    for word, following in zip(options, [*options[1:], ""], strict=True):
        if word == flag:
            return following
        if word.startswith(f"{flag}="):
            return word.partition("=")[2]
    return None
