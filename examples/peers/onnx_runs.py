"""Where our ONNX graphs run: each kind of graph in every run time that can be imported.

    python examples/peers/onnx_runs.py --write out/runs     makes the graphs
    python examples/peers/onnx_runs.py out/runs             runs them, prints a table

The second step needs numpy and the run time alone: onnxruntime, openvino, tract, or onnx for its reference.
onnxruntime-web and -node run in node, where NODE_PATH, or out/node/node_modules, has them (`make node`).
A cell tells whether it gives the program's labels on all rows, and scikit-learn's probabilities to 1e-5.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

GRAPHS: dict[str, tuple[str, dict[str, Any]]] = {  # title -> program, options
    "auto": ("sum", {}),
    "auto, probabilities": ("coupled", {}),
    "auto, tree": ("tree", {}),
    "plain": ("sum", {"onnx_form": "plain"}),
    "plain, probabilities": ("coupled", {"onnx_form": "plain"}),
    "plain, tree": ("tree", {"onnx_form": "plain"}),
    "plain, f64": ("sum", {"onnx_form": "plain", "precision": "f64"}),
    "operator": ("sum", {"onnx_form": "operator"}),
    "zipmap": ("coupled", {"zipmap": True}),
    "opset 15": ("coupled", {"opset": 15}),
    "opset 20": ("coupled", {"opset": 20}),
    "opset 22": ("coupled", {"opset": 22}),
}
ROWS = 200
Outputs = dict[str, Any]


def write(folder: Path) -> None:
    """The graphs, rows and answers."""
    from sklearn.svm import SVC

    import svmcompile as sc

    random = np.random.default_rng(0)
    y = random.integers(0, 3, 400)
    X = (random.normal(size=(400, 6)) + y[:, None]).astype(np.float32)
    two, three = SVC().fit(X, X[:, 0] * X[:, 1] > 0), SVC(probability=True, random_state=0).fit(X, y)
    programs = {
        "sum": sc.compile(two),
        "coupled": sc.compile(three),
        "tree": sc.compile(two, method="metric-tree", X=X),
    }
    folder.mkdir(parents=True, exist_ok=True)
    for title, (name, options) in GRAPHS.items():
        files = sc.emit(programs[name], "onnx", "m", **options)
        (folder / f"{title}.onnx").write_bytes(bytes(files["m.onnx"]))  # type: ignore[arg-type]
    rows = (random.normal(size=(ROWS, 6)) + random.integers(0, 3, (ROWS, 1))).astype(np.float32)
    answers: dict[str, Any] = {}
    for name, program in programs.items():
        answers[f"{name}/label"] = program.predict(rows)
        if name == "coupled":
            answers[f"{name}/probabilities"] = three.predict_proba(rows)
    np.savez(folder / "answers.npz", rows=rows, **answers)


def in_onnxruntime(path: Path, rows: Any) -> Outputs:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, {"X": rows}), strict=True))


def in_openvino(path: Path, rows: Any) -> Outputs:
    """In float32: some processors have it compute in bfloat16 otherwise, which changes labels."""
    import openvino

    model = openvino.Core().compile_model(str(path), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    found = model([rows])
    names = [name for name in ("label", "probabilities") if any(name in o.names for o in model.outputs)]
    return {name: found[name] for name in names}


def in_tract(path: Path, rows: Any) -> Outputs:
    import tract

    model = tract.onnx().load(str(path))
    model.set_input_fact(0, f"{len(rows)},{rows.shape[1]},f{8 * rows.itemsize}")
    model.analyse()
    found = [one.to_numpy() for one in model.into_model().into_runnable().run([rows])]
    return dict(zip(("label", "probabilities")[: max(1, len(found) - 1)], found, strict=False))


def in_reference(path: Path, rows: Any) -> Outputs:
    from onnx.reference import ReferenceEvaluator

    evaluator = ReferenceEvaluator(str(path))
    return dict(zip(evaluator.output_names, evaluator.run(None, {"X": rows}), strict=True))


def node_modules() -> Path:
    return Path(os.environ.get("NODE_PATH") or Path(__file__).parents[2] / "out" / "node" / "node_modules")


def in_node(module: str, path: Path, rows: Any) -> Outputs:
    """A package of npm, in a process of node; labels come back as numbers or text."""
    request = {"module": module, "path": str(path.resolve()), "wide": rows.dtype == np.float64}
    request |= {"rows": rows.ravel().tolist(), "shape": rows.shape}
    done = subprocess.run(
        ["node", str(Path(__file__).with_name("onnx_run.cjs"))],
        input=json.dumps(request), capture_output=True, text=True, check=True,
        env={**os.environ, "NODE_PATH": str(node_modules())},
    )  # fmt: skip
    found = json.loads(done.stdout)
    return {name: np.array(one["data"]).reshape(one["shape"]) for name, one in found.items()}


def version_of(module: str) -> str | None:
    """The version of a run time that is installed."""
    if module.startswith("onnxruntime-"):
        package = node_modules() / module / "package.json"
        if shutil.which("node") is None or not package.is_file():
            return None
        return str(json.loads(package.read_text())["version"])
    try:
        return str(__import__(module).__version__)
    except ImportError:
        return None
    except AttributeError:
        return str(__import__(module).version())


RUNTIMES: dict[str, Callable[[Path, Any], Outputs]] = {
    "onnxruntime": in_onnxruntime,
    "onnxruntime-web": partial(in_node, "onnxruntime-web"),
    "onnxruntime-node": partial(in_node, "onnxruntime-node"),
    "openvino": in_openvino,
    "tract": in_tract,
    "onnx": in_reference,
}


def verdict(run: Callable[[Path, Any], Outputs], path: Path, name: str, kept: Outputs, wide: bool) -> str:
    """Whether a graph runs, and gives what it should."""
    try:
        found = run(path, kept["rows"].astype(np.float64 if wide else np.float32))
    except Exception:  # each run time has its own errors, with no common root
        return "no"
    label = found.get("label", found.get("output_label"))
    if (np.asarray(label) != kept[f"{name}/label"]).any():
        return "other labels"
    wanted, given = kept.get(f"{name}/probabilities"), found.get("probabilities")
    if wanted is not None and given is not None and np.abs(given - wanted).max() > 1e-5:
        return "other probabilities"
    return "yes"


def main(arguments: list[str]) -> None:
    chosen = [argument for argument in arguments if not argument.startswith("-")]
    if not chosen or set(arguments) & {"-h", "--help"}:
        print(__doc__)
        return
    folder = Path(chosen[0])
    if "--write" in arguments:
        write(folder)
        return
    with np.load(folder / "answers.npz") as stored:
        kept = dict(stored)
    lines = []
    for module, run in RUNTIMES.items():
        if (version := version_of(module)) is None:
            continue
        cells = [
            verdict(run, folder / f"{title}.onnx", name, kept, "f64" in title)
            for title, (name, _) in GRAPHS.items()
        ]
        lines.append(f"| {module} {version} | " + " | ".join(cells) + " |")
    print("| run time | " + " | ".join(GRAPHS) + " |\n" + "|---" * (len(GRAPHS) + 1) + "|")
    print(*lines, sep="\n")


if __name__ == "__main__":
    main(sys.argv[1:])
