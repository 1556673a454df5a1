"""Where agents live: roads on SUMO, everyone's environments, and toys with known gradients.

Start with `world.py` (what a world is), then `sumo/figure_eight.py`, whose docstring is its manual.
`registry.make_world("figure-eight")` makes a world; `check.check_world` tests one of your own.
"""

from fmarl.worlds.world import Step, World, WorldSpec

__all__ = ["Step", "World", "WorldSpec"]
