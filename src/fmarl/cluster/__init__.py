"""One run on many machines: worlds, agents and the virtual agent as Ray actors.

A period is a transaction. An agent that is lost or refused in it is absent in all of it, and it is
repeated from its start; so a run through faults ends with the bits of an undisturbed run whose
schedule has τ_i = 0 there. `ray_engine.py` commits periods, `period.py` has one played,
`membership.py` replaces what is lost. `inbox.py`, `agent_status.py`, `membership.py`, `settings.py`
and `faults/` know neither Ray nor JAX.
"""
