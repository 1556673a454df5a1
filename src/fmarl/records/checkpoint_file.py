"""One checkpoint on disk: the arrays in one file, and beside it a sidecar that vouches for them.

    checkpoints/000000123-5f70bf18a086.safetensors    the arrays
    checkpoints/000000123.json                        the sidecar: sealed, with the arrays' sha256

A checkpoint exists once its sidecar has its name. The sidecar is staged under a temporary name
before the arrays are written: arrays beside it are unfinished, and arrays without either have lost
their sidecar. The arrays' name carries the start of their sha256, so writing the same update again
never touches the file that the present sidecar vouches for.
"""

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from fmarl.errors import BadInput, require
from fmarl.records.atomic_files import TEMPORARY, read_whole, reason, temporary
from fmarl.records.strict_json import LARGEST_SEALED, Malformed, seal, unseal

SCHEMA = 1
DTYPES = ("float32", "float64", "int32", "int64", "uint32", "uint8", "bool")
LARGEST_ARRAYS = 1 << 32
LAST_COUNT = 999_999_999
NAME = re.compile(r"([0-9]{9})(-[0-9a-f]{12}\.safetensors|\.json)")
SHA256 = re.compile(r"[0-9a-f]{64}")

Expected = Mapping[str, tuple[np.dtype | type | str, tuple[int | None, ...]]]
"""Dtype and shape of arrays that must be there, by name; None where a length may vary."""


class Corrupt(Exception):  # noqa: N818 — it reads as what happened
    """A checkpoint that can not be used; the text is the reason."""


class Packed(NamedTuple):
    """A checkpoint as bytes, and where they go."""

    arrays: bytes
    arrays_path: Path
    sidecar: bytes
    sidecar_path: Path


def pack(
    folder: Path,
    run_id: str,
    update_count: int,
    arrays: Mapping[str, np.ndarray],
    facts: Mapping[str, Any],
) -> Packed:
    """Return the two files of a checkpoint in this folder."""
    counted = 0 <= update_count <= LAST_COUNT
    require(counted, f"update_count = {update_count}", f"0 … {LAST_COUNT}", "Start a new run.")
    content = _pack_arrays(arrays)
    size = len(content)
    require(size <= LARGEST_ARRAYS, f"a checkpoint of {size} bytes", "4 GiB", "Keep less in it.")
    sha256 = hashlib.sha256(content).hexdigest()
    sidecar = {
        "schema": SCHEMA,
        "run_id": run_id,
        "update_count": update_count,
        "arrays_sha256": sha256,
        "arrays_bytes": size,
        "facts": facts,
    }
    return Packed(
        content,
        _arrays_path(folder, update_count, sha256),
        seal(sidecar),
        sidecar_path(folder, update_count),
    )


def unpack(
    folder: Path, run_id: str, update_count: int, expected: Expected | None = None
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Return arrays and facts of a checkpoint, every bit as it was written, or raise `Corrupt`."""
    stated = _read_sidecar(sidecar_path(folder, update_count))
    if stated["run_id"] != run_id:
        raise Corrupt(f"it belongs to run {stated['run_id'][:40]!a}")
    if stated["update_count"] != update_count:
        raise Corrupt(f"it was written as that of update {stated['update_count']}")
    arrays = _read_arrays(folder, stated)
    if expected is not None:
        _require_fit(arrays, expected)
    return arrays, stated["facts"]


def sidecar_path(folder: Path, update_count: int) -> Path:
    """Where the sidecar of an update lies, whose presence makes the checkpoint."""
    return folder / f"{update_count:09}.json"


def numbered_files(folder: Path) -> dict[Path, int]:
    """All arrays files and sidecars in a folder, with the update that each belongs to."""
    found = {path: NAME.fullmatch(path.name) for path in folder.iterdir()}
    return {path: int(match[1]) for path, match in found.items() if match}


def unfinished_files(folder: Path) -> list[Path]:
    """What a writer that was killed has left, in the order to delete it: arrays, then temporaries.

    Arrays first, so that they never stand alone as if their sidecar had been lost.
    """
    files = numbered_files(folder)
    arrays = [
        path
        for path, update_count in files.items()
        if (sidecar := sidecar_path(folder, update_count)) not in files
        and temporary(sidecar).exists()
    ]
    return [*arrays, *folder.glob(f"*{TEMPORARY}")]


def layout(arrays: Mapping[str, np.ndarray]) -> Expected:
    """Return the dtypes and shapes of these arrays, for `unpack` to expect."""
    return {name: (array.dtype.name, array.shape) for name, array in arrays.items()}


def _arrays_path(folder: Path, update_count: int, sha256: str) -> Path:
    return folder / f"{update_count:09}-{sha256[:12]}.safetensors"


def _pack_arrays(arrays: Mapping[str, np.ndarray]) -> bytes:
    for name, array in arrays.items():
        known = array.dtype.name in DTYPES
        require(known, f"array {name!a} of {array.dtype}", ", ".join(DTYPES), "Convert it.")
    reserved = "__metadata__"
    require(reserved not in arrays, f"array {reserved!a}", "another name", "Rename it.")
    # safetensors writes memory as it lies: a transposed array would come back with other numbers.
    flat = {name: np.asarray(array, array.dtype.name, order="C") for name, array in arrays.items()}
    try:
        return save(flat)
    except (SafetensorError, ValueError) as problem:
        raise BadInput(f"arrays can not be written: {problem}. Rename them.") from None


def _read_sidecar(path: Path) -> dict[str, Any]:
    try:
        stated = unseal(read_whole(path, LARGEST_SEALED))
    except OSError as error:
        raise Corrupt(f"its sidecar can not be read: {reason(error)}") from None
    except Malformed as problem:
        raise Corrupt(f"its sidecar is damaged: {problem}") from None
    if not _is_sidecar(stated):
        raise Corrupt("its sidecar is none that this version writes")
    return stated


def _is_sidecar(stated: Mapping[str, Any]) -> bool:
    size, sha256 = stated.get("arrays_bytes"), stated.get("arrays_sha256")
    return (
        stated.get("schema") == SCHEMA
        and isinstance(stated.get("run_id"), str)
        and isinstance(stated.get("facts"), dict)
        and type(stated.get("update_count")) is int
        and (type(size) is int and 0 <= size <= LARGEST_ARRAYS)
        and (isinstance(sha256, str) and SHA256.fullmatch(sha256) is not None)
    )


def _read_arrays(folder: Path, stated: Mapping[str, Any]) -> dict[str, np.ndarray]:
    size, sha256 = stated["arrays_bytes"], stated["arrays_sha256"]
    try:
        content = read_whole(_arrays_path(folder, stated["update_count"], sha256), size)
    except OSError as error:
        raise Corrupt(f"its arrays can not be read: {reason(error)}") from None
    if len(content) != size:
        raise Corrupt(f"its arrays have {len(content)} bytes where {size} were written")
    if hashlib.sha256(content).hexdigest() != sha256:
        raise Corrupt("its arrays are not those that were written: their sha256 differs")
    try:
        return load(content)
    except (SafetensorError, ValueError, KeyError) as problem:
        raise Corrupt(f"its arrays can not be decoded ({type(problem).__name__})") from None


def _require_fit(arrays: Mapping[str, np.ndarray], expected: Expected) -> None:
    for name, (dtype, shape) in expected.items():
        if name not in arrays:
            raise Corrupt(f"it has no array {name!a}")
        array = arrays[name]
        if array.dtype != np.dtype(dtype) or not _fits(array.shape, shape):
            raise Corrupt(f"its array {name!a} is {array.dtype} {array.shape}, not {dtype} {shape}")


def _fits(shape: tuple[int, ...], wanted: tuple[int | None, ...]) -> bool:
    same = (want in (None, have) for want, have in zip(wanted, shape, strict=False))
    return len(shape) == len(wanted) and all(same)
