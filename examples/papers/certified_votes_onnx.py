"""Votes of several classes by `certified` in ONNX Runtime: what rows save that leave the graph early.

    SVMCOMPILE_DATA=FOLDER python examples/papers/certified_votes_onnx.py            all sets
    SVMCOMPILE_DATA=FOLDER python examples/papers/certified_votes_onnx.py digits     some

Microseconds a row, the least of some runs in turns, in batches of 1000 rows, of 100 and of one, on one
thread: of the exact vote in double, which keeps every label, and of the graph of `certified`. "early" says
whether that graph lets rows go early. Labels are compared with those of the original.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from certified_votes import CASES, Case
from common import read_words, table
from metric_tree import progress

import svmcompile as sc
from svmcompile.ir.program import Program

BATCHES = {1000: 9, 100: 40, 1: 200}  # rows, runs
HEAD = (
    "set",
    "early",
    *(f"{rows} rows, {of}" for rows in BATCHES for of in ("exact", "own")),
    "labels changed",
)


def session(program: Program, precision: Any) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    content = sc.emit(program, "onnx", "model", precision=precision)["model.onnx"]
    return onnxruntime.InferenceSession(content, options)


def labels_of(one: Any, rows: Any) -> Any:
    """The first output of a graph is the label."""
    return one.run([one.get_outputs()[0].name], {one.get_inputs()[0].name: rows})[0]


def microseconds(sessions: list[tuple[Any, Any]], count: int, turns: int) -> list[float]:
    """Of a row, for each session and its rows."""
    found = np.empty((turns, len(sessions)))
    for turn in found:
        for at, (one, rows) in enumerate(sessions):
            start = time.process_time()
            labels_of(one, rows[:count])
            turn[at] = time.process_time() - start
    return [1e6 * float(least) / count for least in found.min(axis=0)]


def line(case: Case) -> list[str]:
    X, y, held = case.rows()
    model = case.fitted(X, y)
    rows = np.resize(held, (max(BATCHES), held.shape[1]))
    program, exact = sc.compile(model, method="certified", X=X, max_bytes=case.max_bytes), sc.compile(model)
    own, plain = session(program, "f32"), session(exact, "f64")
    narrow = rows.astype(np.float32)
    sessions = [(plain, narrow.astype(np.float64)), (own, narrow)]
    times = [value for count, turns in BATCHES.items() for value in microseconds(sessions, count, turns)]
    labels = labels_of(own, narrow)
    changed = int((labels != model.predict(narrow.astype(np.float64))).sum())
    return [
        case.name,
        "yes" if leaves_early(program) else "no",
        *(f"{value:.2f}" for value in times),
        f"{changed}",
    ]


def leaves_early(program: Program) -> bool:
    """Whether the graph looks some rows up again."""
    import onnx

    graph = onnx.load_from_string(sc.emit(program, "onnx", "model")["model.onnx"]).graph
    return any(node.op_type == "NonZero" for node in graph.node)


def lines(words: list[str]) -> Iterator[list[str]]:
    for case in CASES:
        if not words or any(word in case.name for word in words):
            yield line(case)


if __name__ == "__main__":
    found = progress(lines(read_words(__doc__, [case.name for case in CASES])), lambda done: done)
    print(table("Votes of certified in ONNX Runtime, microseconds a row", HEAD, found))
