"""Faults on purpose: what tests and `--faults` do to a run on a cluster.

The rest of the package knows `injector.FaultInjector` only, and `NO_FAULTS`, which does nothing.
"""
