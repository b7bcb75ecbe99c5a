"""Branch coverage of generated C by the test it ships: `make coverage`. A branch not taken needs a reason.

Each program is emitted as kit cmake, for profiles portable and device, and built with gcc --coverage. Its
tests/self_test.c runs; gcov says which branches were not taken. Those that REASONS does not know fail.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import svmcompile as sc
from tests.coverage.reasons import REASONS
from tests.replay.cases import CASES, program_of

# Of the replay: every kernel, head, method and number type, two classes and more.
PROGRAMS = """
    two-rbf two-poly two-sigmoid two-linear three-ovr three-ties svr one-class ten-u8-scaled linear-svc rest
    zeros platt-three density isotonic-three-mean front-l2 front-powers front-nystroem front-sampler
    front-imputer
    certain-three certain-rest anytime-two anytime-given certified-two certified-jets certified-order-3
    certified-three linear-ten proto-two reduced-two sv-tree-two metric-two metric-quadratic metric-guard
    h1-two dtsvm-train
""".split()


def measure(files: Mapping[str, Any], folder: Path) -> tuple[int, list[str]]:
    """Builds a kit and runs its test: the number of branches, and those that were not taken."""
    for path, content in files.items():
        if path.startswith("cmake/") and path.endswith((".c", ".h")):
            (folder / Path(path).name).write_text(content, encoding="utf-8")
    for source in ("model", "self_test"):
        _run(folder, "gcc", "-std=c99", "-O0", "--coverage", "-DMODEL_SELF_TEST", "-c", f"{source}.c")
    _run(folder, "gcc", "--coverage", "model.o", "self_test.o", "-o", "test")
    _run(folder, "./test")
    told = json.loads(_run(folder, "gcov", "--json-format", "--stdout", "-b", "model.gcda"))
    text = (folder / "model.c").read_text(encoding="utf-8").splitlines()
    (lines,) = (file["lines"] for file in told["files"] if file["file"] == "model.c")
    branches = [(line, number, one) for line in lines for number, one in enumerate(line["branches"])]
    return len(branches), [
        f"{line['function_name']}: {text[line['line_number'] - 1].strip()} [{number}]"
        for line, number, one in branches
        if not one["count"]
    ]


def _run(folder: Path, *command: str) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}: {done.stdout[-500:]}{done.stderr[-500:]}"
    return done.stdout


def reason(branch: str) -> str | None:
    """Why a branch is not taken."""
    plain = re.sub(r"[()]", "", branch)
    return next((why for pattern, why in REASONS.items() if re.search(pattern, plain)), None)


def emissions(name: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Portable and device code of a program, in every number type that the replay has."""
    case = CASES[name]
    program = program_of(case)
    for how in case.emissions:
        if how.get("profile") in ("portable", "device") and "kit" not in how:
            words = "-".join(str(value) for key, value in how.items() if key != "soft_double")
            yield words, sc.emit(program, "c", "model", kit="cmake", X=case.data()[0], **how)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("programs", nargs="*", help=f"of tests/replay/cases.py (default: {len(PROGRAMS)})")
    names = parser.parse_args().programs or PROGRAMS
    warnings.simplefilter("ignore")
    reasons: Counter[str | None] = Counter()
    total = 0
    for name in names:
        for words, files in emissions(name):
            with TemporaryDirectory() as folder:
                branches, missing = measure(files, Path(folder))
            print(f"{name + ' ' + words:36}{branches:5} branches, {len(missing):3} not taken", flush=True)
            for branch in missing:
                if reason(branch) is None:
                    print(f"    for no known reason: {branch}")
            total += branches
            reasons.update(map(reason, missing))
    for why, count in reasons.most_common():
        print(f"{count:5} {why or 'for no known reason'}")
    taken = total - reasons.total()
    print(f"{total:,} branches of {len(names)} programs: {taken:,} taken ({taken / total:.1%})")
    sys.exit(1 if reasons[None] else 0)


if __name__ == "__main__":
    main()
