"""How a run goes: worlds played in processes of their own, whatever happens to those processes.

Read `worker.py` first (one slot of play), then `rollout.py` (many worlds at once) and `keeper.py`
(what happens when a world dies). This file imports nothing, and must stay so: a worker process
loads it, and a worker never loads JAX.
"""
