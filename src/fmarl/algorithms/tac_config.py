"""Settings of the Tsallis actor-critic."""

from dataclasses import dataclass

from fmarl.algorithms.log_std_range import HIGHEST_LOG_STD, LOWEST_LOG_STD
from fmarl.errors import require, require_positive


@dataclass(frozen=True, kw_only=True)
class TACConfig:
    """How an agent learns from its replay memory by the Tsallis actor-critic.

    The FMARL paper names the algorithm and states none of these; "the authors" below are those of
    the algorithm. They have a discount of 0.99 and Adam with a learning rate of 1e-3.
    """

    entropic_index: float = 1.5
    """q of the Tsallis entropy: 1 is soft actor-critic; the larger, the less entropy counts. The
    authors tried 0.5 to 2."""
    entropy_weight: float = 0.2
    """α: worth of entropy, in units of reward. The authors have 0.2, and 0.5 once."""
    density: str = "joint"
    """Whose q-logarithm counts: joint, the whole action's, as the entropy is defined; each, every
    number's, summed, as in the authors' code. The same for one number, and for q = 1."""
    batch_size: int = 100
    """Transitions per gradient step; nothing is learned before an agent remembers so many."""
    replay_capacity: int = 50_000
    """Transitions that an agent remembers. The authors have a million."""
    updates_per_slot: int = 50
    """Gradient steps per slot, a fifth of its 250 steps. The authors take as many as steps, which
    costs five times as much; a tenth was too few for Pendulum-v1 in 20 000 steps."""
    target_rate: float = 0.005
    """Share of the way that the target goes to the value network after each gradient step."""
    random_updates: int = 4
    """Slots at the start in which agents act at random; they learn all the same. The authors have
    10 000 steps of it, but begin with a narrow policy."""
    initial_log_std: float = 0.0
    """Logarithm of the standard deviation with which agents begin to explore, before squashing. The
    authors begin near −9, where ln_q of the density is about 100."""

    def __post_init__(self) -> None:
        require_positive(
            entropic_index=self.entropic_index,
            batch_size=self.batch_size,
            updates_per_slot=self.updates_per_slot,
        )
        weight, rate = self.entropy_weight, self.target_rate
        require(0 <= weight < float("inf"), f"entropy_weight = {weight}", "0 or more", "Use 0.2.")
        require(0 < rate <= 1, f"target_rate = {rate}", "0 < target_rate <= 1", "Use 0.005.")
        word = f"density = {self.density!r:.40}"
        require(self.density in ("joint", "each"), word, "joint or each", "Use joint.")
        self._check_sizes()

    def _check_sizes(self) -> None:
        room, least = f"replay_capacity = {self.replay_capacity}", self.batch_size
        allowed = f"at least the batch_size, {least}"
        require(self.replay_capacity >= least, room, allowed, "Use 50000.")
        slots = f"random_updates = {self.random_updates}"
        require(self.random_updates >= 0, slots, "0 or more", "Use 0 for none.")
        width, lowest, highest = self.initial_log_std, LOWEST_LOG_STD, HIGHEST_LOG_STD
        allowed = f"between {lowest:g} and {highest:g}"
        require(lowest < width < highest, f"initial_log_std = {width}", allowed, "Use 0.")
