"""replay: is what is emitted still the same, byte for byte?

    python -m tests.replay.replay            compare with the stored sha256 of every file (make replay)
    python -m tests.replay.replay --record   store them anew, and tell which differ
    python -m tests.replay.replay --write D  write the files below D too, to see how they differ

Methods compute in floating point, so other processors and other releases of numpy or scikit-learn may
give other bytes. The stored record names what it was made with; where that is not at hand,
record an older commit first (`--record --store FILE`) and compare with that.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import platform
import sys
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from importlib.metadata import version
from pathlib import Path

from threadpoolctl import threadpool_limits

from tests.replay.cases import CASES, emit_case

STORE = Path(__file__).with_name("sha256.json")
Hashes = dict[str, str]


def machine() -> dict[str, str]:
    """What the bytes may depend on beside the code."""
    flags = next(
        (line for line in _lines(Path("/proc/cpuinfo")) if line.startswith("flags")), platform.processor()
    )
    wide = "avx512" if "avx512f" in flags else "avx2" if "avx2" in flags else "baseline"
    libraries = {name: version(name) for name in ("numpy", "scipy", "scikit-learn", "onnx")}
    return {"machine": f"{platform.machine()} {wide}", **libraries}


def _lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def hashes_of(name: str, folder: Path | None = None) -> Hashes:
    """The sha256 of each file of each emission of a case; they go below a folder, if given."""
    found = {}
    with threadpool_limits(1):  # sums of several threads round in another order
        emissions = list(emit_case(name))
    for emission, files in emissions:
        for file, content in files.items():
            data = content.encode() if isinstance(content, str) else content
            found[f"{name}/{emission}/{file}"] = hashlib.sha256(data).hexdigest()
            if folder:
                path = folder / name / emission / file
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
    return found


def replay(names: Iterable[str], folder: Path | None = None, jobs: int = 2) -> Hashes:
    """All cases, in processes of their own."""
    found: Hashes = {}
    names = list(names)
    with ProcessPoolExecutor(jobs) as pool:
        for number, (name, hashes) in enumerate(
            zip(names, pool.map(hashes_of, names, [folder] * len(names)), strict=True), 1
        ):
            found |= hashes
            print(f"\r{number}/{len(names)} {name:<30}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return dict(sorted(found.items()))


def differences(stored: Hashes, found: Hashes) -> list[str]:
    """Lines that say which files differ, came or went."""
    changed = [f"differs  {key}" for key in found if key in stored and stored[key] != found[key]]
    return [
        *changed,
        *(f"new      {key}" for key in found if key not in stored),
        *(f"missing  {key}" for key in stored if key not in found),
    ]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("cases", nargs="*", help="these alone (default: all)")
    parser.add_argument("--record", action="store_true", help="store what is found")
    parser.add_argument("--store", type=Path, default=STORE, help="the file of stored sha256")
    parser.add_argument("--write", type=Path, help="folder for the files")
    parser.add_argument("--jobs", type=int, default=2)
    asked = parser.parse_args(arguments)
    found = replay(asked.cases or CASES, asked.write, asked.jobs)
    kept = json.loads(asked.store.read_text()) if asked.store.exists() else {"with": {}, "files": {}}
    stored = {
        key: one
        for key, one in kept["files"].items()
        if not asked.cases or key.split("/")[0] in asked.cases
    }
    lines = differences(stored, found)
    print(*lines, sep="\n", end="\n" if lines else "")
    emissions = len({key.rsplit("/", 1)[0] for key in found})
    programs = len(asked.cases or CASES)
    print(f"{emissions} emissions of {programs} programs, {len(found)} files, {len(lines)} differ")
    if asked.record:
        files = dict(sorted({**(kept["files"] if asked.cases else {}), **found}.items()))
        asked.store.write_text(json.dumps({"with": machine(), "files": files}, indent=1) + "\n")
        return 0
    if lines and kept["with"] != machine():
        print(f"stored with {kept['with']}, found with {machine()}: record an older commit here first")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
