"""Large sparse models, measured: processor time and peak memory of each step in a process of its own.

    python examples/sparse_models.py    # 200,000 words x 5,000 vectors, and dtsvm on 20,000 rows
    python examples/sparse_models.py --words 20000 --vectors 500 --train-rows 1000 --train-words 5000

Rows are made up: about a hundred of many words, half of them drawn as in all classes, half by the class.
For each model, of a scikit-learn estimator, a skops file and a LIBSVM file, a process compiles it to C
(portable and host) and ONNX, builds the C, predicts compressed rows, and verifies all forms on them.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, load_npz, save_npz

FILLED = 100  # words of a row
TEST_ROWS = 100
SOURCES = {"joblib": "scikit-learn", "skops": "skops", "model": "LIBSVM"}


def made_up(rows: int, words: int, classes: int, seed: int) -> tuple[csr_matrix, NDArray[np.int64]]:
    """Rows of length one, and their classes."""
    random, topics = np.random.default_rng(seed), np.random.default_rng(words + classes)
    chances = 1 / (np.arange(words) + 50.0) ** 1.05
    own = [topics.permutation(words) for _ in range(classes)]
    labels = random.integers(classes, size=rows)
    drawn = random.choice(words, size=(rows, FILLED), p=chances / chances.sum())
    starts, columns, values = [0], [], []
    for row, label in zip(drawn, labels, strict=True):
        found = np.unique(np.concatenate([row[: FILLED // 2], own[label][row[FILLED // 2 :]]]))
        weights = random.random(len(found)) + 0.1
        columns.append(found)
        values.append(weights / np.linalg.norm(weights))
        starts.append(starts[-1] + len(found))
    shape = (rows, words)
    return csr_matrix((np.concatenate(values), np.concatenate(columns), starts), shape=shape), labels


def make_models(folder: Path, words: int, vectors: int, wanted: list[str]) -> list[tuple[str, str]]:
    """Model files of every kind; what is told of each, and its path. Files that are there are kept."""
    import joblib
    import skops.io
    from sklearn.svm import SVC

    from svmcompile.convert.libsvm import libsvm_files
    from svmcompile.flow.program import open_model

    found = []
    for classes in (2, 5):
        X, y = made_up(vectors, words, classes, 0)
        save_npz(folder / f"rows{classes}.npz", made_up(TEST_ROWS, words, classes, 1)[0])
        for kernel in ("rbf", "linear"):
            stem = f"{kernel}{classes}"
            if wanted and stem not in wanted:
                continue
            found += [(f"{kernel}, {classes} classes", f"{stem}.{end}") for end in SOURCES]
            if (folder / f"{stem}.model").exists():
                continue
            # A small C makes a support vector of every row, and fitting quick.
            model = SVC(kernel=kernel, C=0.01, gamma=1.0, cache_size=1000).fit(X, y)
            joblib.dump(model, folder / f"{stem}.joblib")
            skops.io.dump(model, folder / f"{stem}.skops")
            text = libsvm_files(open_model(model).trained(), f"{stem}.model")[0]
            (folder / f"{stem}.model").write_text(text[f"{stem}.model"])
    return found


def used() -> tuple[float, float]:
    """Seconds of processor time of this process, and the most megabytes it has held."""
    told = resource.getrusage(resource.RUSAGE_SELF)
    status = Path("/proc/self/status")  # Linux counts what the parent held as this process's, but not there
    lines = status.read_text().splitlines() if status.exists() else []
    peaks = [float(line.split()[1]) for line in lines if line.startswith("VmHWM")]
    return told.ru_utime + told.ru_stime, (peaks or [told.ru_maxrss])[0] / 1024


class Steps:
    """Processor time of each step."""

    def __init__(self) -> None:
        self.last, self.found = used()[0], dict[str, float]()

    def done(self, name: str) -> None:
        now = used()[0]
        self.found[name], self.last = round(now - self.last, 2), now


def measure(path: Path, words: int, classes: int) -> dict[str, object]:
    """What a model costs, step by step, in this process."""
    import joblib

    import svmcompile as sc

    rows = csr_matrix(load_npz(path.parent / f"rows{classes}.npz"))
    source = joblib.load(path) if path.suffix == ".joblib" else path
    steps = Steps()
    program = sc.compile(source, n_features=words)
    steps.done("compile")
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder)
        sc.emit(program, "c", name="text", profile="portable")
        steps.done("C portable")
        sc.write(sc.emit(program, ("c", "onnx"), name="text", profile="host"), output)
        steps.done("C host, ONNX")
        sizes = {file.suffix: round(file.stat().st_size / 1e6, 2) for file in output.iterdir()}
        peak_compiled = used()[1]
        model = sc.load(output, target="c")
        steps.done("build C")
        begin = time.perf_counter()
        model.predict(rows)
        per_row = 1e6 * (time.perf_counter() - begin) / rows.shape[0]
        steps.done("predict")
        report = sc.verify(output, source, rows)
        steps.done("verify")
    worst = max(one.max_error_over_bound or 0.0 for one in report.comparisons)
    return {
        "vectors": program.origin.n_support_vectors, "seconds": steps.found, "MB": sizes,
        "peak_compiled": round(peak_compiled), "peak": round(used()[1]), "us": round(per_row, 1),
        "ok": report.ok, "differ": max(one.labels_differing for one in report.comparisons), "worst": worst,
    }  # fmt: skip


def measure_training(path: Path) -> dict[str, object]:
    """dtsvm on rows of a file, in this process."""
    import svmcompile as sc
    from svmcompile.data import read_data

    steps = Steps()
    X: Any
    y: Any
    if path.suffix == ".svmlight":
        data = read_data(path, sparse=True)
        X, y = data.X, data.y
    else:
        X, y = csr_matrix(load_npz(path)), np.load(path.with_suffix(".npy"))
    steps.done("read")
    before = used()[1]
    cut = int(0.9 * X.shape[0])
    program = sc.train(X[:cut], y[:cut], kernel="linear", C=1.0, ceiling=2000, max_ceiling=2000)
    steps.done("train")
    right = float((program.predict(X[cut:]) == y[cut:]).mean())
    steps.done("predict")
    return {
        "seconds": steps.found, "before": round(before), "peak": round(used()[1]), "nnz": int(X.nnz),
        "leaves": program.origin.details["leaves"], "accuracy": round(right, 3),
    }  # fmt: skip


def in_child(*arguments: object) -> dict[str, Any]:
    """What this script prints in a process of its own."""
    command = [sys.executable, "-W", "ignore", __file__, "--child", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def show_models(folder: Path, words: int, vectors: int, wanted: list[str]) -> None:
    print(f"{words:,} words, dense table {8 * words * vectors / 1e9:.1f} GB; seconds of processor time")
    print("| model | from | vectors | compile | C portable | C host, ONNX | peak MB |", end="")
    print(" .c / .onnx / .svmc MB | us per row | verify | peak MB | labels that differ |")
    print("|---|---|---|---|---|---|---|---|---|---|---|---|")
    for told, name in make_models(folder, words, vectors, wanted):
        found = in_child("model", folder / name, words, told.split()[1])
        s, mb = found["seconds"], found["MB"]
        assert found["ok"], found
        sizes = " / ".join(str(mb[end]) for end in (".c", ".onnx", ".svmc"))
        source = SOURCES[name.split(".")[1]]
        print(
            f"| {told} | {source} | {found['vectors']:,} | {s['compile']} | {s['C portable']} | "
            f"{s['C host, ONNX']} | {found['peak_compiled']} | {sizes} | "
            f"{found['us']} | {s['verify']} | {found['peak']} | {found['differ']} |",
            flush=True,
        )


def show_training(folder: Path, rows: int, words: int) -> None:
    from sklearn.datasets import dump_svmlight_file

    X, y = made_up(rows, words, 20, 0)
    save_npz(folder / "news.npz", X)
    np.save(folder / "news.npy", y)
    dump_svmlight_file(X, y, str(folder / "news.svmlight"), zero_based=False)
    print(f"\ndtsvm on {rows:,} rows x {words:,} words, 20 classes; dense {8 * rows * words / 1e9:.1f} GB")
    for name in ("news.npz", "news.svmlight"):
        print(name, json.dumps(in_child("training", folder / name)), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--words", type=int, default=200_000)
    parser.add_argument("--vectors", type=int, default=5000)
    parser.add_argument("--train-rows", type=int, default=20_000)
    parser.add_argument("--train-words", type=int, default=60_000)
    parser.add_argument("--only", choices=("models", "training"))
    parser.add_argument("--models", nargs="+", default=[], help="some of rbf2 linear2 rbf5 linear5")
    parser.add_argument("--folder", type=Path, help="where models are kept, and found again")
    parser.add_argument("--child", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.child:
        kind, path, *rest = options.child
        found = measure_training(Path(path)) if kind == "training" else measure(Path(path), *map(int, rest))
        print(json.dumps(found))
        return
    with tempfile.TemporaryDirectory() as name:
        folder = options.folder or Path(name)
        folder.mkdir(parents=True, exist_ok=True)
        if options.only != "training":
            show_models(folder, options.words, options.vectors, options.models)
        if options.only != "models":
            show_training(folder, options.train_rows, options.train_words)


if __name__ == "__main__":
    main()
