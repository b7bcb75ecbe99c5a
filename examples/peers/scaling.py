"""Cost per size: time per row against the number of support vectors and of features, ours and the peers'.

    python examples/peers/scaling.py             both
    python examples/peers/scaling.py features    one of them

The models are random RBF machines of two classes: what they answer means
nothing, what they cost does. Charts and figures go to out/scaling.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from sklearn.svm import SVC

import svmcompile as sc
from svmcompile.bench.charts import line_chart
from svmcompile.commands import bench
from svmcompile.commands.options import BenchOptions
from svmcompile.flow.emission import PROFILES
from svmcompile.flow.program import compile_svm
from svmcompile.ir.kernel import Kernel
from svmcompile.ir.program import Labels
from svmcompile.model.svm import SVM, LabelRule, Source, digest

OUTPUT = Path("out/scaling")
PROFILE = "host" if "host" in PROFILES else "portable"
AXES = {
    "vectors": [(n, 22) for n in (100, 300, 1000, 3000, 10_000, 30_000, 100_000)],
    "features": [(1000, d) for d in (2, 5, 22, 64, 200, 784, 2000)],
}
TITLES = {
    "vectors": ("Time per row against the number of support vectors", "22 features", "support vectors"),
    "features": ("Time per row against the number of features", "1,000 support vectors", "features"),
}
PEERS = ("sklearn", "libsvm", "onnxruntime", "numpy")
LINES = {  # key and language of a contender -> its name in the chart; ours first
    ("ours", "C"): "svmcompile C",
    ("ours-onnx", "C"): "svmcompile ONNX",
    ("libsvm", "C"): "LIBSVM, from C",
    ("numpy", "Python"): "numpy float32",
    ("sklearn", "Python"): "scikit-learn",
    ("onnxruntime", "C"): "skl2onnx ONNX",
}
WORK_PER_BATCH = 4e8  # products; large models get smaller batches
ROWS = (64, 2000)


def random_svm(n: int, d: int) -> SVM:
    """A machine of two classes whose distances are those of scaled data."""
    generator = np.random.default_rng(n * 10_007 + d)
    vectors = generator.normal(size=(n, d))
    coefficients = generator.normal(size=(1, n))
    parts: dict[str, object] = {"vectors": vectors, "coefficients": coefficients}
    return SVM(
        kernel=Kernel("rbf", gamma=0.5 / d),
        vectors=vectors,
        coefficients=coefficients,
        intercepts=generator.normal(size=1),
        label_rule=LabelRule.NEGATIVE_FIRST,
        source=Source("random SVC", digest(parts)),
        labels=Labels((0, 1), np.dtype(np.int64).str),
    ).check("random SVM")


def as_estimator(svm: SVM) -> SVC:
    """The machine as scikit-learn holds it: a small trained one, with its numbers replaced."""
    d, n = svm.n_features, svm.n_vectors
    model = SVC(gamma=svm.kernel.gamma).fit(np.eye(2, d), [0, 1])
    model.support_ = np.arange(n, dtype=np.int32)
    model.support_vectors_ = svm.vectors
    model.dual_coef_, model._dual_coef_ = svm.coefficients, -svm.coefficients
    model.intercept_, model._intercept_ = svm.intercepts, -svm.intercepts
    model._n_support = np.array([n // 2, n - n // 2], dtype=np.int32)
    return model


def measure(n: int, d: int) -> dict[str, Any]:
    """One size: compile, and race with the peers."""
    folder = OUTPUT / f"{n}x{d}"
    svm = random_svm(n, d)
    program = compile_svm(svm, "exact", None, {})
    sc.write(sc.emit(program, "c", "model", profile=PROFILE), folder)
    joblib.dump(as_estimator(svm), folder / "model.joblib")
    batch = int(np.clip(WORK_PER_BATCH / (n * d), *ROWS))
    np.save(folder / "rows.npy", np.random.default_rng(0).normal(size=(batch, d)))
    print(f"{n:,} support vectors x {d:,} features, batches of {batch:,}", file=sys.stderr)
    options = BenchOptions(
        folder=folder,
        data=folder / "rows.npy",
        model=folder / "model.joblib",
        trust_pickle=True,
        output=folder,
        against=",".join(PEERS),
        batch=batch,
        repeats=5,
        as_json=True,
    )
    return bench.run(options)


def lines(axis: str, results: list[dict[str, Any]], key: str) -> dict[str, list[tuple[float, float]]]:
    """Each contender's points: size and microseconds."""
    size = "n_support_vectors" if axis == "vectors" else "n_features"
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in LINES.values()}
    for result in results:
        for one in result["contenders"]:
            if (one["key"], one["via"]) in LINES:
                found[LINES[one["key"], one["via"]]].append((result[size], one[key]))
    return {name: points for name, points in found.items() if points}


def draw(axis: str, results: list[dict[str, Any]]) -> dict[str, str | bytes]:
    """A chart for single rows, one for batches, and the figures behind them."""
    title, fixed, across = TITLES[axis]
    files: dict[str, str | bytes] = {f"{axis}.json": json.dumps(results, indent=2, sort_keys=True) + "\n"}
    for key, how in (("us_single", "one row per call"), ("us_batch", "in batches")):
        subtitle = f"{fixed}, RBF, f32, {PROFILE} profile; {how}; one thread, processor time"
        chart = line_chart(title, subtitle, across, "us per row", lines(axis, results, key))
        files[f"{axis}-{key.removeprefix('us_')}.svg"] = chart
    return files


def main(words: list[str]) -> None:
    """The axes named, both by default."""
    for axis, sizes in AXES.items():
        if not words or axis in words:
            files = draw(axis, [measure(n, d) for n, d in sizes])
            sc.write(files, OUTPUT)
            print(f"{axis}: {', '.join(str(OUTPUT / name) for name in files)}")


if __name__ == "__main__":
    main(sys.argv[1:])
