"""ONNX Runtime as a rival: graphs of skl2onnx and our own.

The graph is cut down to its first output, the label or value. For several
classes the rest, scikit-learn's one-vs-rest scores, is hundreds of small nodes
that would make it look slow at something nobody asked for.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from svmcompile.bench.peers import CPeer, PythonPeer, Subject
from svmcompile.bench.result import LocalRunner

TITLE = "skl2onnx ONNX"


def library() -> Path | None:
    """ONNX Runtime's shared library, where the Python package brings one by itself."""
    import onnxruntime

    folder = Path(onnxruntime.__file__).parent / "capi"
    found = sorted([*folder.glob("libonnxruntime.so*"), *folder.glob("libonnxruntime.*dylib")])
    return found[0] if found else None


def c_peer(title: str, graph: bytes, output: str, subject: Subject) -> CPeer | None:
    """A rival for the driver; None without a library, or where the answers are no numbers."""
    import onnxruntime

    found, labels = library(), subject.program.labels
    if found is None or (labels is not None and labels.kind != "int"):
        return None
    name = f"{title.split()[0].lower()}.onnx"
    (subject.work / name).write_bytes(graph)
    version = str(onnxruntime.__version__)
    return CPeer(title, "onnx", f"{output}:{name}", version, library=found, gives_labels=True)


def start(subject: Subject) -> CPeer | PythonPeer:
    """The session itself, on float32 rows; from C if that is possible."""
    subject.machine()
    graph = _graph(subject)
    content, output = graph.SerializeToString(), graph.graph.output[0].name
    return c_peer(TITLE, content, output, subject) or _in_python(content, subject)


def _in_python(graph: bytes, subject: Subject) -> PythonPeer:
    import onnxruntime

    session = _session(graph)
    (entry,) = session.get_inputs()
    outputs = [session.get_outputs()[0].name]
    run, name = session.run, entry.name
    rows = np.ascontiguousarray(subject.rows, dtype=np.float32)
    runner = LocalRunner(lambda part: run(outputs, {name: part})[0], rows, subject.batch)
    return PythonPeer(TITLE, runner, onnxruntime.__version__, len(graph))


def _graph(subject: Subject) -> Any:
    from skl2onnx import to_onnx

    options: dict[str, Any] = {} if subject.is_regressor else {"zipmap": False}
    whole = subject.estimator
    model = subject.dense_machine() if whole is subject.machine() else whole
    row = subject.rows[:1].astype(np.float32)
    made = to_onnx(model, row, options=options or None)
    _keep_first_output(made.graph)
    return made


def _keep_first_output(graph: Any) -> None:
    """Remove the nodes that the first output does not need."""
    del graph.output[1:]
    wanted, kept = {graph.output[0].name}, []
    for node in reversed(graph.node):  # nodes stand in the order they run
        if wanted & set(node.output):
            kept.append(node)
            wanted |= set(node.input)
    del graph.node[:]
    graph.node.extend(reversed(kept))


def _session(content: bytes) -> Any:
    """One thread, and no warning per call: writing it would cost more than the model."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
