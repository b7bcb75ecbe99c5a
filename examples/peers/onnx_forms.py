"""Our ONNX graphs beside skl2onnx's, one row per call and in batches, in the ONNX Runtime at hand.

    python examples/peers/onnx_forms.py --write out/onnx     makes models and graphs; needs skl2onnx
    python examples/peers/onnx_forms.py out/onnx             runs them, checks answers, prints a table

The second step needs numpy and onnxruntime alone, so that any release of it can be tried. Numbers are
skl2onnx's time over ours, both of this run: above 1, ours is faster. Both give labels, and probabilities
where the model has them; "all" gives our decision values as well.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

# name -> rows to train on, features, classes, with probabilities
MODELS = {
    "tiny": (60, 4, 2, False),
    "small": (300, 16, 2, False),
    "wide": (300, 64, 2, False),
    "three": (300, 16, 3, False),
    "three, probabilities": (800, 8, 3, True),
    "three, large": (4000, 8, 3, False),
    "three, large, probabilities": (4000, 8, 3, True),
    "ten, probabilities": (3000, 16, 10, True),
}
GRAPHS: dict[str, dict[str, Any]] = {
    "auto": {"onnx_outputs": "label,probabilities"},
    "auto, all": {},
    "plain": {"onnx_outputs": "label,probabilities", "onnx_form": "plain"},
    "operator": {"onnx_outputs": "label,probabilities", "onnx_form": "operator"},
}
RIVAL = "skl2onnx"
BATCH, ROUNDS, SECONDS = 200, 7, 0.02  # rows; turns of each graph, and how long each lasts


def cloud(rows: int, features: int, classes: int, seed: int) -> tuple[Any, Any]:
    """Overlapping classes, in numbers that float32 holds."""
    centres = np.random.default_rng(7).normal(0, 1.2, (classes, features))
    random = np.random.default_rng(seed)
    y = random.integers(0, classes, rows)
    return (centres[y] + 1.8 * random.normal(size=(rows, features))).astype(np.float32), y


def write(folder: Path, names: list[str]) -> None:
    """Models, their graphs, rows and the answers of scikit-learn."""
    from skl2onnx import to_onnx
    from sklearn.svm import SVC

    import svmcompile as sc

    folder.mkdir(parents=True, exist_ok=True)
    told = {}
    for name in names:
        n, d, k, probable = MODELS[name]
        X, y = cloud(n, d, k, 0)
        rows = cloud(BATCH, d, k, 1)[0]
        model = SVC(probability=probable, random_state=0).fit(X, y)
        program = sc.compile(model)
        theirs = to_onnx(model, X[:1], options={"zipmap": False}, target_opset=17)
        graphs = {RIVAL: theirs.SerializeToString()}
        for form, options in GRAPHS.items():
            wanted = dict(options)
            if not probable and "onnx_outputs" in wanted:  # where skl2onnx gives decision values, so do we
                del wanted["onnx_outputs"]
            if probable or form != "auto, all":
                graphs[form] = sc.emit(program, "onnx", "m", **wanted)["m.onnx"]
        for form, content in graphs.items():
            (folder / f"{name}.{form}.onnx").write_bytes(content)
        answers = {"label": model.predict(rows)}
        if probable:
            answers["probabilities"] = model.predict_proba(rows)
        np.savez(folder / f"{name}.npz", rows=rows, **answers)
        told[name] = {"vectors": len(model.support_), "features": d, "classes": k, "graphs": [*graphs]}
    (folder / "models.json").write_text(json.dumps(told, indent=1) + "\n")


def start(path: Path) -> tuple[Callable[[Any], list[Any]], list[str]]:
    """A function that runs a graph in one thread, and the names of what it gives."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    entry, names = session.get_inputs()[0].name, [output.name for output in session.get_outputs()]

    def run(rows: Any) -> list[Any]:
        found: list[Any] = session.run(None, {entry: rows})
        return found

    return run, names


def times(runs: dict[str, Callable[[Any], list[Any]]], rows: Any) -> dict[str, float]:
    """The least processor time of a call of each, in turns."""
    least = dict.fromkeys(runs, np.inf)
    for _ in range(ROUNDS):
        for form, run in runs.items():
            calls, begin = 0, time.process_time()
            while (spent := time.process_time() - begin) < SECONDS:
                run(rows)
                calls += 1
            least[form] = min(least[form], spent / calls)
    return least


def race(folder: Path, name: str, told: dict[str, Any]) -> str:
    """One row of the table."""
    with np.load(folder / f"{name}.npz") as kept:
        data = dict(kept)
    rows, runs, wrong = data["rows"], {}, 0
    for form in told["graphs"]:
        runs[form], names = start(folder / f"{name}.{form}.onnx")
        found = dict(zip(names, runs[form](rows), strict=True))
        if form != RIVAL:
            wrong += int((found["label"] != data["label"]).sum())
            if "probabilities" in data:
                wrong += int((np.abs(found["probabilities"] - data["probabilities"]) > 1e-5).sum())
    one, many = times(runs, rows[:1]), times(runs, rows)
    cells = [name, f"{told['vectors']}", f"{told['features']}", f"{1e6 * one[RIVAL]:.1f}"]
    cells.append(f"{1e6 * many[RIVAL] / len(rows):.2f}")
    for form in GRAPHS:
        known = form in runs
        cells.append(f"{one[RIVAL] / one[form]:.2f} / {many[RIVAL] / many[form]:.1f}" if known else "")
    return "| " + " | ".join([*cells, str(wrong)]) + " |"


def main(arguments: list[str]) -> None:
    chosen = [argument for argument in arguments if not argument.startswith("-")]
    if not chosen or set(arguments) & {"-h", "--help"}:
        print(__doc__)
        return
    folder, names = Path(chosen[0]), chosen[1:] or list(MODELS)
    if "--write" in arguments:
        write(folder, names)
        return
    import onnxruntime

    version = onnxruntime.__version__
    print(f"ONNX Runtime {version}; time of skl2onnx over ours, one row / {BATCH} rows a call\n")
    heads = ["model", "vectors", "features", "skl2onnx, us a call", "us a row", *GRAPHS, "wrong answers"]
    print("| " + " | ".join(heads) + " |\n" + "|---" * len(heads) + "|")
    for name, told in json.loads((folder / "models.json").read_text()).items():
        print(race(folder, name, told), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
