"""Exits by proof before an SVM: how many of them there are, and that no label changes.

    python examples/papers/h1_proven.py                  adult and svmguide1
    python examples/papers/h1_proven.py svmguide1        one of them

"Proven" is the share of test rows that a Taylor expansion of first order at the nearest of some centres
settles beyond doubt; "of the list's exits" the same share among rows that a list lets exit by measurement.
"""

from __future__ import annotations

import numpy as np
from common import read_words, table, trained
from h1_exits import CASES
from metric_tree import progress

import svmcompile as sc
from svmcompile.accelerate.taylor.front import shares

HEAD = (
    "set", "SVs", "centres", "exits by measurement %", "proven %", "of the list's exits %",
    "flops: SVM / program", "labels changed",
)  # fmt: skip


def line(case: tuple[str, int]) -> list[str]:
    name, centres = case
    chosen = CASES[name]
    data, rows = chosen.make()
    model = trained(f"h1-{name}", data, chosen.C, chosen.gamma)
    program = sc.compile(
        model, method="h1-tree", X=rows, target=chosen.target, proven=True, centres=centres
    )
    test = data.X_test.astype(np.float32).astype(np.float64)
    cost, found = program.cost(test), program.origin.details["proven"]
    return [
        name,
        f"{int(model.n_support_.sum()):,}",
        f"{centres}",
        f"{100 * found['exits_by_measurement']:.1f}",
        f"{100 * shares(program, test)[0]:.1f}",
        f"{100 * found.get('of_those_exits', 0):.1f}",
        f"{cost.exact_flops / cost.mean_flops:.1f}",
        f"{int((program.predict(test) != model.predict(test)).sum())} of {len(test):,}",
    ]


def main(words: list[str]) -> None:
    wanted = [(name, centres) for name in ("adult", "svmguide1") for centres in (1, 4, 16)]
    chosen = [case for case in wanted if not words or case[0] in words]
    print(table("Exits by proof", HEAD, progress(chosen, line)))


if __name__ == "__main__":
    main(read_words(__doc__, ("adult", "svmguide1")))
