"""How agents learn together: a method is a record of arrays, and one update serves them all.

Read `update.py` first: the whole method on one screen.
"""
