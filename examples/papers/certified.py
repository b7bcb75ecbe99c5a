"""What certified polynomials save: shares of rows by stage, and emitted C beside that of the exact sum.

    SVMCOMPILE_DATA=FOLDER python examples/papers/certified.py                    all sets
    SVMCOMPILE_DATA=FOLDER python examples/papers/certified.py heart banana       some
    ... --memory 65536    tables of at most so many bytes (else as many as the support vectors take)
    ... --degrees 2 3 4   polynomial kernels of these degrees instead, with gamma 1 / features and coef0 1
    ... --flops           tuned for operations, without the C
    ... --figure FILE     a picture: shares of rows by stage, and what they cost

Held-out rows; everything is chosen by the compiler from training rows. Times are those of one row per call
and of calls with 2000 rows, in the profile host; instructions are those of the profile portable (valgrind).
Each is the exact program's over the certified one's, 1 where the compiler emits the exact sum itself: then
the column of bytes says what stands in the way, absolute weights beside a usual score, the share of the
squared norm that orders above 3 hold about one centre, and the directions of the quadratic form. Seconds
are those of the processor for one compilation.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from c_cost import c_costs
from certified_figure import draw
from certified_sets import CASES, Case
from common import table
from metric_tree import progress
from sklearn.svm import SVC

import svmcompile as sc
from svmcompile.accelerate.taylor.front import shares
from svmcompile.ir import nodes as ir
from svmcompile.ir.interpret import interpret_values
from svmcompile.ir.node import At
from svmcompile.ir.polynomials import jet_blocks, taylor_orders
from svmcompile.ir.program import Program

BATCH = 2000
HEAD = (
    "set", "features", "SVs", "C", "seconds", "centres, order", "bytes (SVs)",
    "order 1 / 2 / 3 / jets / sum %", "operations", "host, one row", "host, batch", "instructions",
    "labels changed",
)  # fmt: skip


def compiled(model: SVC, X: Any, tune: str, memory: int) -> Program:
    return sc.compile(model, method="certified", X=X, tune=tune, max_bytes=memory)


def is_front(program: Program) -> bool:
    return any(isinstance(node, ir.TaylorSum) for node in program.body)


def stages(program: Program, held: Any) -> str:
    """Percent of the rows that each order decides, that jets decide, and that meet all vectors."""
    found = shares(program, held)
    orders = [f"{100 * share:.0f}" for share in found[:-1]] + ["-"] * (4 - len(found))
    jets = jet_share(program, held)
    told = ["-"] if jets is None else [f"{100 * jets:.1f}"]
    return " / ".join([*orders, *told, f"{100 * (found[-1] - (jets or 0.0)):.1f}"])


def jet_share(program: Program, held: Any) -> float | None:
    """The share of rows that jets decide; None without any."""
    body = program.body
    jets = next((node for node in body if isinstance(node, ir.JetSum)), None)
    front = next(node for node in body if isinstance(node, ir.TaylorSum))
    if jets is None:
        return None
    seen = interpret_values(program, held, {front.x, front.leaf})
    orders = taylor_orders(At(front, program.tables), seen[front.x], seen[front.leaf])
    stop = jet_blocks(At(jets, program.tables), seen[front.x]).stop
    return float((~orders.sure.any(axis=1) & (stop < len(program.tables[jets.ends]))).mean())


def form(program: Program) -> str:
    choice = program.origin.details["choice"]
    rank = f" along {choice['rank']}" if choice["rank"] else ""
    jets = len(program.tables["jet_ends"]) if "jet_ends" in program.tables else 0
    return f"{choice['leaves']}, {choice['order']}{rank}" + (f", {jets} jets" if jets else "")


def table_bytes(program: Program) -> int:
    """Of centres and jets."""
    choice = program.origin.details["choice"]
    return int(choice["bytes"] + choice["jet_bytes"])


def in_the_way(program: Program) -> str:
    """Why there are no polynomials: weights over a score, share of the norm above order 3, directions."""
    found = program.origin.details.get("in_the_way")
    if not found:
        return "-"
    ratio = found["weights"] / found["usual_score"]
    return f"{ratio:.0f} x, {found['above_order_3']:.0%}, {found['directions']} directions"


def host_ratios(exact: Program, host: Program, held: Any) -> list[str]:
    """Exact over certified: one row, a batch; 1 where the exact sum is emitted."""
    if not is_front(host):
        return ["1", "1"]
    rows = np.resize(held, (BATCH, held.shape[1]))
    plain, fast = c_costs((exact, host), rows, "host", count=False)
    single = plain.nanoseconds / fast.nanoseconds
    return [f"{single:.2f}", f"{plain.batch_nanoseconds / fast.batch_nanoseconds:.2f}"]


def instruction_ratio(exact: Program, portable: Program, held: Any) -> str:
    if not is_front(portable):
        return "1"
    counts = [one.instructions for one in c_costs((exact, portable), held, "portable")]
    return f"{counts[0] / counts[1]:.2f}"


def machine(case: Case, X: Any, y: Any, degree: int) -> SVC:
    if degree:
        return SVC(kernel="poly", degree=degree, coef0=1.0, gamma=1 / X.shape[1], C=1.0)
    return case.machine(X, y)


def line(case: Case, memory: int, with_c: bool, degree: int = 0) -> list[str]:
    X, y, held = case.rows()
    held = held.astype(np.float32).astype(np.float64)
    model = machine(case, X, y, degree).fit(X, y)
    m, d = model.support_vectors_.shape
    tunes, spent = ("host", "portable") if with_c else ("flops",), time.process_time()
    programs = [compiled(model, X, tune, memory) for tune in tunes]
    seconds = f"{(time.process_time() - spent) / len(tunes):.1f}"
    vectors = f"{m} ({case.vectors})" if case.vectors else str(m)
    start = [case.name, str(d), vectors, f"{model.C:g}", seconds]
    if degree:
        start[:3] = [f"{case.name}, degree {degree}", str(d), str(m)]
    shown = next((one for one in programs if is_front(one)), None)
    if shown is None:
        return [*start, "exact", in_the_way(programs[0]), "-", "1", "1", "1", "1", "0"]
    cost, exact = shown.cost(held), sc.compile(model)
    cells = ["-"] * 3
    if with_c:
        cells = [*host_ratios(exact, programs[0], held), instruction_ratio(exact, programs[1], held)]
    changed = sum(int((one.predict(held) != model.predict(held)).sum()) for one in programs)
    return [
        *start,
        form(shown),
        f"{table_bytes(shown)} ({4 * m * (d + 1)})",
        stages(shown, held),
        f"{exact.cost(held).mean_flops / cost.mean_flops:.1f}",
        *cells,
        str(changed),
    ]


def lines(words: argparse.Namespace) -> Iterator[list[str]]:
    for case in CASES:
        if not words.sets or any(case.name.startswith(word) for word in words.sets):
            for degree in words.degrees or [0]:
                yield line(case, words.memory, not words.flops, degree)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sets", nargs="*")
    parser.add_argument("--memory", type=int, default=0)
    parser.add_argument("--degrees", type=int, nargs="*", default=[])
    parser.add_argument("--flops", action="store_true")
    parser.add_argument("--figure", type=Path)
    words = parser.parse_args()
    names = [case.name for case in CASES]
    for word in words.sets:
        if not any(name.startswith(word) for name in names):
            parser.error(f"unknown set {word!r}; known: {', '.join(names)}")
    if words.figure:
        print(draw(words.figure, words.memory))
        return
    print(table("Exact over certified", HEAD, progress(lines(words), lambda done: done)))


if __name__ == "__main__":
    main()
