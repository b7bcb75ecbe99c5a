"""A model as data, run by svm_run.c, which is built once for every number type."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.errors import ReadError
from svmcompile.ir.program import Labels
from svmcompile.runtime.batches import BatchModel
from svmcompile.runtime.toolchain import FLAGS, build, find_compiler
from svmcompile.targets.blob.blob import MAGIC, OUTPUTS
from svmcompile.targets.blob.model import runner

NUMBER_AT = 16  # byte of the blob that says how many bytes a number has
DECLARATIONS = """
typedef struct {{ const void *blob, *head, *tables, *code; }} svm_model;
int svm_open(svm_model *model, const void *blob, size_t bytes);
size_t svm_features(const svm_model *model);
size_t svm_classes(const svm_model *model);
size_t svm_scratch(const svm_model *model);
size_t svm_width(const svm_model *model, int output);
void svm_run_batch(
    const svm_model *model, int output, const {real} *x, size_t rows, {real} *scratch, {real} *out);
"""
REASONS = (
    "fine", "it ends too early", "it is not a blob of svmcompile", "it is of another version",
    "it is of another number type", "it is misaligned", "its checksum is wrong: it was changed",
    "it says something that makes no sense",
)  # fmt: skip


def load_runner(real: np.dtype[Any]) -> tuple[Any, Any]:
    """The interface of the runner for a number type, and its library."""
    from cffi import FFI

    double = ("-DSVM_RUN_DOUBLE",) if real.itemsize == 8 else ()
    path = build("svm_run", "so", (*find_compiler(), *FLAGS, *double, "svm_run.c"), runner())
    ffi = FFI()
    ffi.cdef(DECLARATIONS.format(real="double" if double else "float"))
    return ffi, ffi.dlopen(str(path))


class BlobModel(BatchModel):
    """A blob under scikit-learn's names."""

    def __init__(
        self, name: str, content: bytes, labels: Labels | None, feature_names: tuple[str, ...] = ()
    ) -> None:
        double = content[:4] == MAGIC and content[NUMBER_AT : NUMBER_AT + 4] == struct.pack("<I", 8)
        super().__init__(name, labels, feature_names, np.dtype(np.float64 if double else np.float32))
        self._ffi, self._library = load_runner(self._real)
        self._blob = np.frombuffer(content + bytes(-len(content) % 8), np.uint64).copy()  # aligned
        self._model = self._ffi.new("svm_model *")
        status = self._library.svm_open(self._model, self._ffi.from_buffer(self._blob), len(content))
        if status:
            raise ReadError(f"{name}.bin: cannot be run: {REASONS[status]}; compile the model again")
        self.n_features = self._library.svm_features(self._model)
        self.n_scores = self._width("decision_function")
        if self._library.svm_classes(self._model) != len(labels or ()):
            raise ReadError(
                f"{name}.bin and {name}.svmc belong to different models; compile the model again"
            )

    def _width(self, function: str) -> int:
        width: int = self._library.svm_width(self._model, OUTPUTS.index(function))
        return width

    def _holds(self, function: str) -> bool:
        return self._width(function) > 0

    def _call(self, name: str, rows: Any, out: NDArray[Any]) -> None:
        kind = "double[]" if self._real.itemsize == 8 else "float[]"
        scratch = np.zeros(self._library.svm_scratch(self._model) + 1, self._real)
        found = np.empty((len(rows), self._width(name)), self._real)
        views: Any = (self._ffi.from_buffer(kind, array) for array in (rows, scratch, found))
        x, lent, results = views
        place = OUTPUTS.index(name)
        self._library.svm_run_batch(self._model, place, x, len(rows), lent, results)
        out[...] = found.reshape(out.shape)
