"""onnx_runtime: a graph enters, a rival that the C driver calls leaves, as LIBSVM and m2cgen are called."""

from __future__ import annotations

from pathlib import Path

from svmcompile.bench.peers import CPeer
from svmcompile.bench.subject import Subject


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
