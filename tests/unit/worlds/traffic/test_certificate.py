"""The certificate, on few seeds: what `fmarl world figure-eight --certificate` would print."""

import pytest

from fmarl.worlds.traffic.certificate import POLICIES, REGIONS, agreements, crash_agreements

pytest.importorskip("numba")


def test_on_a_few_seeds_every_vehicle_step_is_that_of_sumo():
    found = list(agreements(range(70, 71), steps=300))
    assert len(found) == 2 * len(POLICIES)
    for one in found:
        assert one.equal == one.vehicle_steps == sum(one.per_region) == 300 * 14
        assert one.largest == one.worst_nas == one.worst_quantile == 0
        assert one.stops[0] == one.stops[1]
    assert all(sum(one.per_region[place] for one in found) > 100 for place in range(len(REGIONS)))


def test_crashes_of_both_kinds_are_neither_missed_nor_invented():
    found = {one.kind: one for one in crash_agreements(range(70, 74), steps=250)}
    for kind in ("collision", "junction"):
        assert found[kind].on_sumo >= 3
        assert found[kind].same_step == found[kind].on_sumo
    assert all(one.missed == one.invented == 0 for one in found.values())
