"""`fmarl world figure-eight --certificate`: how far the exact road and SUMO agree."""

from collections.abc import Sequence
from typing import Any

from fmarl.cli.output import print_json, print_table, print_text
from fmarl.errors import require
from fmarl.worlds.sumo.session import TESTED_VERSION, import_libsumo

CRASH_EPOCHS = 3
"""Epochs with crashes for every one without."""


def show_certificate(world: str, changes: Sequence[str], seeds: range, *, json: bool) -> int:
    """Play both, and print the tables."""
    where = f"--certificate in {world}" + (f" with --set {' '.join(changes)}" if changes else "")
    require(
        world == "figure-eight" and not changes,
        where,
        "figure-eight with its presets",
        "Use fmarl world figure-eight --certificate.",
    )
    from fmarl.worlds.traffic.compiled import require_compiler

    require_compiler()
    _require_version(import_libsumo().getVersion()[1])
    from fmarl.worlds.traffic.certificate import agreements, crash_agreements

    crash_seeds = range(seeds.start, seeds.start + CRASH_EPOCHS * len(seeds))
    found, crashes = list(agreements(seeds)), crash_agreements(crash_seeds)
    if json:
        both = {"agreements": found, "crashes": crashes}
        rows = {name: [one._asdict() for one in each] for name, each in both.items()}
        print_json({**_conditions(seeds), **rows})
        return 0
    _print_agreements(found)
    _print_crashes(crashes)
    print_text(", ".join(f"{name} {value}" for name, value in _conditions(seeds).items()))
    return 0


def _require_version(found: str) -> None:
    """The rules are those of one version.

    >>> _require_version("SUMO 1.20.0")
    Traceback (most recent call last):
    fmarl.errors.BadInput: SUMO 1.20.0 is not allowed: 1.28.0. Use: pip install libsumo==1.28.0
    """
    fix = f"Use: pip install libsumo=={TESTED_VERSION}"
    require(found.removeprefix("SUMO ") == TESTED_VERSION, found, TESTED_VERSION, fix)


def _conditions(seeds: range) -> dict[str, Any]:
    """What the table was made with."""
    from fmarl.worlds.sumo.figure_eight import PRESETS
    from fmarl.worlds.sumo.roads.network import network_name

    networks = [network_name(options.road()) for options in PRESETS.values()]
    return {
        "SUMO": TESTED_VERSION,
        "networks": " ".join(networks),
        "seeds": f"{seeds.start} to {seeds.stop - 1}",
    }


def _print_agreements(found: Sequence[Any]) -> None:
    from fmarl.worlds.traffic.certificate import REGIONS

    columns = ["preset", "policy", "vehicle-steps", "equal", "largest Δv", "NAS SUMO", "NAS exact"]
    columns += ["worst NAS", "worst quantile", "stops SUMO", "stops exact"]
    rows = [
        [
            one.preset, one.policy, one.vehicle_steps, one.equal, f"{one.largest:.1e}",
            f"{one.nas[0]:.6f}", f"{one.nas[1]:.6f}", f"{one.worst_nas:.1e}",
            f"{one.worst_quantile:.1e}", *one.stops,
        ]
        for one in found
    ]  # fmt: skip
    print_table("the same actions on SUMO and on the exact road", columns, rows)
    where = [[one.preset, one.policy, *one.per_region] for one in found]
    print_table("vehicle-steps by where they were", ["preset", "policy", *REGIONS], where)


def _print_crashes(crashes: Sequence[Any]) -> None:
    columns = ["crash on SUMO", "epochs", "same step", "missed", "invented", "vehicle-steps"]
    rows = [list(one) for one in crashes]
    print_table("crashes", columns, rows)
