"""Train independent reinforcement-learning agents together, and count every byte they exchange."""

__version__ = "0.1.0"
