"""Faults on purpose: what tests and `--faults` do to a run on a cluster."""
