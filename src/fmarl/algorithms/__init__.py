"""How one agent learns: PPO, TRPO and the Tsallis actor-critic, as pure functions."""
