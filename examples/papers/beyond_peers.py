"""C and ONNX of rivals: tl2cgen for boosted trees, emlearn for networks, skl2onnx for both.

m2cgen 0.10 knows neither. Where a tool is not installed there is no C, and ONNX Runtime is timed alone.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

Files = Mapping[str, "str | bytes"]
SECONDS = 0.3  # of calls of ONNX Runtime


def around(kind: str, here: Path, tables: str, **files: str) -> Files:
    """A rival's code behind the functions that rows_driver.c calls."""
    return {
        "model.h": (here / "beyond_model.h").read_text(),
        "model.c": (here / f"beyond_{kind}.c").read_text(),
        "tables.h": tables,
        **files,
    }


def shape(model: Any) -> str:
    return f"#define FEATURES {model.n_features_in_}\n#define CLASSES {len(model.classes_)}\n"


def c_of_trees(model: Any, here: Path) -> Files:
    """tl2cgen's C; nothing where it is not installed."""
    try:
        import tl2cgen
        import treelite
    except ImportError:
        return {}
    with tempfile.TemporaryDirectory() as name:
        tl2cgen.generate_c_code(treelite.sklearn.import_model(model), name, params={})
        parts = {part: (Path(name) / part).read_text() for part in ("main.c", "header.h")}
    return around("trees", here, shape(model), **parts)


def c_of_net(model: Any, here: Path) -> Files:
    """emlearn's C; nothing where it is not installed."""
    try:
        with np.errstate():  # which its import changes for good
            import emlearn
    except ImportError:
        return {}
    own = {path.name: path.read_text() for path in Path(emlearn.__file__).parent.glob("eml_*.h")}
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as name:
        os.chdir(name)  # it leaves files of its own where it is called
        try:
            emlearn.convert(model, method="inline").save(file="net.h", name="net")
        finally:
            os.chdir(before)
        code = (Path(name) / "net.h").read_text().replace("<eml_net.h>", '"eml_net.h"')
    return around("net", here, shape(model), **{**own, "net.h": code})


def onnx_of(model: Any, rows: Any) -> bytes:
    """skl2onnx's graph; nothing where it is missing or fails (1.20 with onnx 1.23 on boosted trees)."""
    try:
        from skl2onnx import to_onnx

        graph = to_onnx(model, rows[:1].astype(np.float32), options={"zipmap": False})
    except (ImportError, ValueError):
        return b""
    return bytes(graph.SerializeToString())


def onnx_nanoseconds(graph: bytes, rows: Any) -> float:
    """The least time per row of ONNX Runtime on all rows at once, one thread."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    given = {session.get_inputs()[0].name: np.ascontiguousarray(rows, dtype=np.float32)}
    wanted = [session.get_outputs()[0].name]
    end, least = time.process_time() + SECONDS, float("inf")
    while time.process_time() < end:
        begin = time.process_time()
        session.run(wanted, given)
        least = min(least, time.process_time() - begin)
    return 1e9 * least / len(rows)
