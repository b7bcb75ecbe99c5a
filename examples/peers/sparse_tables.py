"""Dense and sparse tables beside LIBSVM, all called from C, on rows that are mostly zeros.

    python examples/peers/sparse_tables.py            all models
    python examples/peers/sparse_tables.py text       some

Census (a9a) and web (w8a) data come from the folder that SVMCOMPILE_DATA
names (see peer_data.py); texts are made up: words drawn by Zipf's law, a
little differently in each class, weighted by tf-idf.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from peer_data import CASES, split
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.svm import SVC

import svmcompile as sc
from svmcompile.bench.libsvm import _library, write_model
from svmcompile.ir.nodes import SparseSum
from svmcompile.ir.program import Program
from svmcompile.lower import lower
from svmcompile.read import read

DRIVER = Path(__file__).with_name("sparse_driver.c")
DENSE_BYTES = 200 << 20  # of a dense table that is still worth building
WHOLE_BYTES = 400 << 20  # of rows that are given whole


@dataclass(frozen=True)
class Model:
    """A trained model and rows it has not seen."""

    name: str
    svm: Any
    program: Program
    rows: csr_matrix


def models(words: list[str]) -> Iterator[Model]:
    """Those whose name holds one of the words, or all."""
    texts = {"text, 30,000 words": (30_000, 2000), "text, 200,000 words": (200_000, 400)}
    names = [case.name for case in CASES if case.name in ("a9a", "w8a")] + list(texts)
    for name in names:
        if words and not any(word in name for word in words):
            continue
        if name in texts:
            width, count = texts[name]
            X, y = text(count + 500, width)
            estimator, rows = SVC(C=10, gamma=1.0).fit(X[:count], y[:count]), X[count:]
        else:
            case = next(case for case in CASES if case.name == name)
            X, y, rows, _ = split(case)
            estimator = SVC(C=case.C, gamma=case.gamma).fit(X, y)
        yield Model(name, read(estimator), sc.compile(estimator), csr_matrix(rows).astype(np.float32))


def text(count: int, width: int, length: int = 120) -> tuple[csr_matrix, Any]:
    """Rows of word weights for two kinds of text."""
    generator = np.random.default_rng(0)
    common = 1 / (np.arange(width) + 2.7) ** 1.05
    kinds = [common * np.exp(0.8 * generator.normal(size=width)) for _ in range(2)]
    ends = [np.cumsum(kind / kind.sum()) for kind in kinds]
    y = generator.integers(2, size=count)
    lengths = np.maximum(5, generator.lognormal(np.log(length), 0.6, size=count)).astype(int)
    drawn = [np.searchsorted(ends[kind], generator.random(n)) for kind, n in zip(y, lengths, strict=True)]
    columns = generator.permutation(width)[np.minimum(np.concatenate(drawn), width - 1)]
    counts = csr_matrix(
        (np.ones(len(columns)), (np.repeat(np.arange(count), lengths), columns)), (count, width)
    )
    return csr_matrix(TfidfTransformer(sublinear_tf=True).fit_transform(counts)), y


def timed(model: Model, tables: str, folder: Path) -> tuple[list[float], int]:
    """Microseconds per row, whole and by feature, single and batch, then LIBSVM's; labels that differ."""
    files = sc.emit(model.program, "c", "model", tables=tables)
    sc.write({name: files[name] for name in ("model.c", "model.h")}, folder)
    rows = model.rows
    parts: tuple[Any, ...] = (rows.indptr.astype(np.uintp), rows.indices.astype(np.int32), rows.data)
    for name, part in zip(("starts", "indices", "values"), parts, strict=True):
        part.tofile(folder / name)
    write_model(model.svm, folder / "libsvm.model")
    command = ["cc", "-O2", "-I.", str(DRIVER), "model.c", "-o", "driver", "-ldl"]
    subprocess.run(command, cwd=folder, check=True)
    whole = min(rows.shape[0], WHOLE_BYTES // (4 * rows.shape[1]))
    command = ["./driver", "starts", "indices", "values", str(whole), _library()._name, "libsvm.model"]
    printed = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout.split()
    return [float(word) for word in printed[:-1]], int(printed[-1])


def line(model: Model) -> str:
    """One line of the table."""
    n, d = model.program.origin.n_support_vectors, model.program.n_features
    cells, wrong, libsvm = [f"{model.name}: {n:,} SVs x {d:,}"], 0, 0.0
    for tables in ("dense", "sparse"):
        if tables == "dense" and 4 * n * d > DENSE_BYTES:
            cells.append(f"{4 * n * d / 1e6:,.0f} MB, not built")
            continue
        size = lower(model.program, "f32", "host", storage=tables).cost().table_bytes
        with tempfile.TemporaryDirectory() as folder:
            times, differ = timed(model, tables, Path(folder))
        cells.append(f"{size / 1e6:.2f} MB, " + " / ".join(f"{time:.3g}" for time in times[:4]))
        wrong, libsvm = wrong + differ, times[4]
    body = lower(model.program, "f32", "host").body
    chosen = "sparse" if any(isinstance(node, SparseSum) for node in body) else "dense"
    return "| " + " | ".join([*cells, f"{libsvm:,.4g}", chosen, str(wrong)]) + " |"


if __name__ == "__main__":
    print("| model | dense table | sparse table | LIBSVM | chosen | labels that differ |")
    print("| --- | --- | --- | --- | --- | --- |")
    for found in models(sys.argv[1:]):
        print(line(found), flush=True)
