"""Settings of the Tsallis actor-critic."""

from dataclasses import dataclass

from fmarl.algorithms.log_std import HIGHEST_LOG_STD, LOWEST_LOG_STD
from fmarl.errors import require

# Far beyond use: more would not fit into memory.
MOST_ROWS, MOST_STEPS = 10_000_000, 100_000


@dataclass(frozen=True, kw_only=True)
class TACConfig:
    """How an agent learns from its replay memory by the Tsallis actor-critic.

    The FMARL paper names the algorithm and states none of these; "the authors" below are those of
    the algorithm. They have a discount of 0.99 and Adam with a learning rate of 1e-3.
    """

    entropic_index: float = 1.5
    """q of the Tsallis entropy: 1 is soft actor-critic; the larger, the less entropy counts. The
    authors tried 0.5 to 2."""
    entropy_weight: float = 0.01
    """α: worth of entropy, in units of reward. The authors have 0.2, for rewards of several units a
    step; on the roads, where a step earns less than 1, agents with 0.2 stayed random."""
    density: str = "joint"
    """Whose q-logarithm counts: joint, the whole action's, as the entropy is defined; each, every
    number's, summed, as in the authors' code. The same for one number, and for q = 1."""
    batch_size: int = 100
    """Transitions per gradient step; nothing is learned before an agent remembers so many."""
    replay_capacity: int = 50_000
    """Transitions that an agent remembers. The authors have a million."""
    updates_per_slot: int = 25
    """Gradient steps per slot. The authors take as many as steps; on the figure-eight road 25, 50
    and 100 in slots of 250 steps learned alike. Take more where steps are dear: Pendulum-v1 needs
    50 to learn within 20 000 steps."""
    target_rate: float = 0.005
    """Share of the way that the target goes to the value network after each gradient step."""
    random_updates: int = 4
    """Slots at the start in which agents act at random; they learn all the same. The authors have
    10 000 steps of it, but begin with a narrow policy."""
    initial_log_std: float = 0.0
    """Logarithm of the standard deviation with which agents begin to explore, before squashing. The
    authors begin near −9, where ln_q of the density is about 100."""

    def __post_init__(self) -> None:
        index, weight, rate = self.entropic_index, self.entropy_weight, self.target_rate
        require(0 < index <= 100, f"entropic_index = {index}", "0 < q <= 100", "Use 1.5.")
        require(0 <= weight <= 1e6, f"entropy_weight = {weight}", "0 <= α <= 1e6", "Use 0.01.")
        require(0 < rate <= 1, f"target_rate = {rate}", "0 < target_rate <= 1", "Use 0.005.")
        word = f"density = {self.density!r:.40}"
        require(self.density in ("joint", "each"), word, "joint or each", "Use joint.")
        width, lowest, highest = self.initial_log_std, LOWEST_LOG_STD, HIGHEST_LOG_STD
        allowed = f"between {lowest:g} and {highest:g}"
        require(lowest < width < highest, f"initial_log_std = {width}", allowed, "Use 0.")
        size, room, most = self.batch_size, self.replay_capacity, MOST_ROWS
        require(size >= 1, f"batch_size = {size}", "1 or more", "Use 100.")
        allowed = f"{size} (a batch) to {most}"
        require(size <= room <= most, f"replay_capacity = {room}", allowed, "Use 50000.")
        steps, slots, most = self.updates_per_slot, self.random_updates, MOST_STEPS
        require(1 <= steps <= most, f"updates_per_slot = {steps}", f"1 to {most}", "Use 25.")
        require(slots >= 0, f"random_updates = {slots}", "0 or more", "Use 0 for none.")
