"""Every pair of levels, then random cases: `make cross`. Refused by name, or right under sanitizers.

`--part 2/8` runs the second eighth, so that several processes share the work.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from svmcompile.errors import SvmCompileError
from tests.crossing.cases import FACTORS, IDLE, REFUSED
from tests.crossing.covering import Case, complete, covering
from tests.crossing.judged import check

RULES = (*REFUSED, *IDLE)
# What is refused for a reason that only the program's tables tell.
KNOWN_LATER = (
    "zeros do not stay zeros",
    "no support vectors left to keep in f16",
    "linear models and trees",
)


def names(case: Case) -> str:
    """The levels of a case that are not plain."""
    return "-".join(case[factor] for factor in FACTORS if case[factor] != FACTORS[factor][0]) or "plain"


def run(case: Case, folder: Path) -> bool:
    """Whether a case is right; False if it is refused by name for what is known of its tables only then."""
    try:
        check(case, folder)
    except SvmCompileError as error:
        if not any(reason in str(error) for reason in KNOWN_LATER):
            raise
        return False
    return True


def random_cases(seed: int, count: int) -> Iterator[Case]:
    """Cases that the rules allow."""
    chosen = random.Random(seed)
    while count:
        if case := complete({}, FACTORS, RULES, chosen, ()):
            count -= 1
            yield case


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--part", default="1/1", help="which part of how many")
    parser.add_argument("--random", type=int, default=100, help="random cases after the array")
    parser.add_argument("--seed", type=int, default=time.time_ns() % 1_000_000)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    part, parts = map(int, asked.part.split("/"))
    array = covering(FACTORS, RULES)
    cases = [*array, *random_cases(asked.seed, asked.random)]
    print(
        f"{len(array)} cases hold every pair; {asked.random} random ones of seed {asked.seed}", flush=True
    )
    fates: Counter[str] = Counter()
    for case in cases[part - 1 :: parts]:
        with TemporaryDirectory() as folder:
            try:
                fates["right" if run(case, Path(folder)) else "refused for their tables"] += 1
            except Exception as error:
                fates["wrong"] += 1
                print(f"{names(case)}: {type(error).__name__} {str(error)[:1000]}\n    {case}", flush=True)
    told = ", ".join(f"{count} {fate}" for fate, count in sorted(fates.items()))
    print(f"part {asked.part}: {fates.total()} cases, {told}")
    sys.exit(1 if fates["wrong"] else 0)


if __name__ == "__main__":
    main()
