"""The Figure Eight exactly as SUMO 1.28 drives it, as plain loops that numba compiles.

One rule per function; each names SUMO's own function and the section of docs/sumo-rules.md. Read
`records.py` (what is known of a vehicle), then `road.py` (the order of a step), then the rules.
"""
