"""The same experiment on many machines: worlds, agents and the virtual agent as Ray actors.

A period is a transaction. Whoever is lost or refused in it is away in all of it, and it is played
again from its start; so a run through faults ends with the bits of an undisturbed run whose
schedule has τ_i = 0 there. `upload.py` is what an agent sends, `inbox.py` what the virtual agent
takes of it, `roll.py` who takes part, `faults.py` what is made to go wrong on purpose and when
(`fault_file.py` reads it, `tampering.py` does some of it). None of these knows Ray or JAX.
"""
