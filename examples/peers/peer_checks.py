"""The second table of the peer comparison: decision errors, and our ONNX graph beside other ways.

A model's files enter, a line of the table leaves. Asked are errors of at most
1e-4 (f32) and 1e-10 (f64), and a graph that is not slower than skl2onnx's.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import joblib
import numpy as np

import svmcompile as sc
from svmcompile.commands import bench
from svmcompile.commands.options import BenchOptions

TITLES = (
    "model",
    "f32 error",
    "f64 error",
    "skl2onnx / our ONNX",
    "scikit-learn / our ONNX, f32",
    "and f64",
)
TEXT = """\
Largest decision errors of our C on the same rows, and other times over those of our ONNX graph, both graphs
called from C: skl2onnx's *one row per call / batches of 2000*, scikit-learn's in batches only. One row at a
time, a graph of several operators can cost more than skl2onnx's single one (below 1). Errors in f32 grow
with the coefficients; where that matters, compile with `--precision f64`.
"""


def checks(model: Path, rows: Path, folder: Path, profile: str, result: dict[str, Any]) -> dict[str, Any]:
    """What one line of the table needs; `result` is the race in f32."""
    name = result["name"]
    program = sc.compile(model, trust_pickle=True)
    wide = folder / "f64"
    sc.write(sc.emit(program, ("c", "onnx"), name, "f64", profile), wide)
    options = BenchOptions(
        folder=wide,
        data=rows,
        model=model,
        trust_pickle=True,
        against="sklearn,onnxruntime",
    )
    estimator, X = joblib.load(model), np.load(rows)["X"]
    return {
        "errors": [
            decision_error(estimator, sc.load(at), X.astype(number))
            for at, number in ((folder, np.float32), (wide, np.float64))
        ],
        "races": [result, bench.run(options)],
    }


def decision_error(estimator: Any, model: Any, rows: Any) -> float:
    """The largest difference from the original on rows that both hold exactly."""
    meant = estimator.decision_function(rows.astype(np.float64))
    return float(np.abs(model.decision_function(rows) - meant).max())


def checks_table(found: Mapping[str, dict[str, Any]]) -> str:
    """Markdown, one line per model."""
    lines = [list(TITLES), ["---"] * len(TITLES)]
    lines += [_line(name, one) for name, one in found.items()]
    return TEXT + "\n" + "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def _line(name: str, found: dict[str, Any]) -> list[str]:
    race = found["races"][0]
    beside = [_ratio(race, ("onnxruntime",), key) for key in ("us_single", "us_batch")]
    slower = [_ratio(one, ("sklearn", "sklearn-csr"), "us_batch") for one in found["races"]]
    return [name, *(f"{error:.1e}" for error in found["errors"]), " / ".join(beside), *slower]


def _ratio(race: dict[str, Any], peers: tuple[str, ...], key: str) -> str:
    """The fastest of the peers over our graph; a dash where one of them is missing."""
    times = {one["key"]: one[key] for one in race["contenders"]}
    known = [times[peer] for peer in peers if peer in times]
    return f"{min(known) / times['ours-onnx']:.2g}" if known and "ours-onnx" in times else "-"
