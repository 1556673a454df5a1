"""`fmarl world`: what a world is, played with simple drivers, and how fast its traffic flows."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import tyro
from rich.progress import track

from fmarl.cli.certificate import show_certificate
from fmarl.cli.output import Flag, console, paragraphs, print_json, print_table, print_text, show
from fmarl.errors import BadInput, require
from fmarl.records.frames import write_frames
from fmarl.report.statistics import mean_interval
from fmarl.rollout.evaluate import MOST_REPETITIONS
from fmarl.rollout.seeds import MAX_RUN_SEED
from fmarl.settings_io import parse_changes
from fmarl.user_code import own_code
from fmarl.worlds.registry import ROADS, make_world, manual
from fmarl.worlds.world import Action, World, WorldSpec

Driver = Literal["random", "full-throttle", "brake", "sumo"]


@dataclass(frozen=True, kw_only=True)
class WorldCommand:
    """Show a world, play some epochs of it, and print the mean reward with its interval."""

    world: tyro.conf.Positional[str] = "figure-eight"
    """figure-eight, merge, toy-quadratic, toy-bumpy, gym:ID or pettingzoo:MODULE."""
    policy: Driver = "random"
    """Who drives: random actions, all full throttle, all braking, or on roads SUMO itself."""
    epochs: int = 5
    """Epochs to play, each with its own seed."""
    seed: int = 0
    """Seed of the first epoch; the next ones count up from it."""
    set: tuple[str, ...] = ()
    """Options of the world, such as speed_limit=30 human_type.accel=2.6 preset=flow."""
    frames: Path | None = None
    """Record where every vehicle was in the last epoch to this file (.npz)."""
    plot: Path | None = None
    """Draw the road and its vehicles to this file (.png, .pdf or .svg)."""
    certificate: Flag = False
    """figure-eight: play SUMO and the exact road (simulator=exact) side by side, and print how far
    they agree."""
    about: Flag = False
    """Print the world's manual, and nothing else."""
    json: Flag = False
    """Print everything as JSON."""

    def run(self) -> int:
        if self.about:
            print_text(*paragraphs(manual(self.world)))
            return 0
        most = f"1 <= epochs <= {MOST_REPETITIONS}"
        fits = 1 <= self.epochs <= MOST_REPETITIONS
        require(fits, f"epochs = {self.epochs}", most, "Use --epochs 5.")
        seeds = f"0 <= seed <= {MAX_RUN_SEED}"
        require(0 <= self.seed <= MAX_RUN_SEED, f"seed = {self.seed}", seeds, "Use --seed 0.")
        if self.certificate:
            return show_certificate(self.world, self.set, self._range(), json=self.json)
        # What their code raises here, where no worker runs it, is told as a worker would.
        with own_code(f"world {self.world}"), make_world(self.world, **self._options()) as world:
            results = [self._play(world, seed) for seed in self._seeds()]
            self._draw(world)
        self._show(world.spec, [result for result, _ in results], [steps for _, steps in results])
        return 0

    def _options(self) -> dict[str, Any]:
        options = parse_changes(self.set)
        if self.policy != "sumo":
            return options
        require(
            self.world in ROADS,
            f"--policy sumo in {self.world}",
            f"a road: {', '.join(ROADS)}",
            "Use --policy random.",
        )
        return {"controlled": False, **options}

    def _range(self) -> range:
        return range(self.seed, self.seed + self.epochs)

    def _seeds(self) -> Any:
        seeds = self._range()
        quiet = self.json or not console().is_terminal
        return seeds if quiet else track(seeds, "playing", console=console(), transient=True)

    def _play(self, world: World, seed: int) -> tuple[float, int]:
        """Mean reward of an epoch and its number of steps."""
        world.reset(seed)
        act = _make_policy(self.policy, world.spec, np.random.default_rng(seed))
        rewards, frames, over = [], [], False
        while not over:
            step = world.step(act())
            if step.present.any():
                rewards.append(float(step.reward[step.present].mean()))
            if self.frames is not None and (frame := world.frame()) is not None:
                frames.append(frame)
            over = step.over
        if self.frames is not None:
            what = f"--frames in {self.world}"
            require(bool(frames), what, "a world that can be drawn", "Leave it out.")
            write_frames(self.frames, frames)
        return float(np.mean(rewards)) if rewards else 0.0, len(rewards)

    def _draw(self, world: World) -> None:
        if self.plot is None:
            return
        from fmarl.report.figures import draw_road, road_lines, save_figure

        lines = road_lines(world)
        frame = world.frame()
        if lines is None or frame is None:
            raise BadInput(f"{self.world} has nothing to draw: --plot is for roads. Leave it out.")
        title = f"{self.world}: {world.spec.num_agents} of {len(frame)} vehicles learn"
        save_figure(draw_road(lines, frame, world.spec.num_agents, title=title), self.plot)

    def _show(self, spec: WorldSpec, rewards: list[float], steps: list[int]) -> None:
        interval = mean_interval(rewards)
        seeds = list(range(self.seed, self.seed + self.epochs))
        if self.json:
            facts = {"world": asdict(spec), "policy": self.policy, "seeds": seeds, "steps": steps}
            ends = {"low": interval.low, "high": interval.high}
            print_json({**facts, "rewards": rewards, "mean": interval.value, **ends})
            return
        rows = [list(row) for row in zip(seeds, steps, rewards, strict=True)]
        print_table(f"{self.world}, policy {self.policy}", ["seed", "steps", "mean reward"], rows)
        kind = "choices" if spec.is_discrete else "numbers to act with"
        print_text(
            f"{spec.num_agents} agents, {spec.observation_size} numbers seen, "
            f"{spec.num_actions} {kind}, at most {spec.epoch_steps} steps",
            f"mean reward {show(interval.value)}, 95 % interval {show(interval.low)} to "
            f"{show(interval.high)} over {len(rewards)} seeds",
        )


def _make_policy(
    policy: Driver, spec: WorldSpec, random: np.random.Generator
) -> Callable[[], Action]:
    shape = (spec.num_agents, spec.action_size)
    if spec.is_discrete:
        require(policy == "random", f"--policy {policy}", "random, for choices", "Use random.")
        return lambda: random.integers(spec.num_actions, size=shape).astype(np.float32)
    if policy == "random":
        return lambda: random.uniform(-1, 1, shape).astype(np.float32)
    fixed = np.full(shape, -1.0 if policy == "brake" else 1.0, dtype=np.float32)
    return lambda: fixed
