"""Generated C, built and loaded back with cffi."""

from __future__ import annotations

import os
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.data.rows import as_rows, check_complete
from svmcompile.data.text import Texts
from svmcompile.errors import OptionError, ReadError, ToolchainError
from svmcompile.ir.program import Labels
from svmcompile.runtime.batches import BatchModel
from svmcompile.runtime.libraries import identity
from svmcompile.runtime.toolchain import build_library

DECLARATIONS = re.compile(
    r"/\* svmcompile: declarations begin \*/\n(.*)/\* svmcompile: declarations end \*/", re.DOTALL
)
EXPORT = re.compile(r"^\w+_EXPORT ", re.MULTILINE)
WHOLE_ROWS = {"_predict_batch(const uint8_t *x": "uint8", "_predict_batch(const int16_t *x": "int16"}


def _declarations(name: str, header: str) -> str:
    """The part of a header that cffi can read."""
    found = DECLARATIONS.search(header)
    if not found:
        raise ReadError(f"{name}.h holds no svmcompile declarations; compile the model again")
    if f" {name.upper()}_N_FEATURES " not in found.group(1):
        raise ReadError(f"{name}.h declares no {name.upper()}_N_FEATURES; compile the model again")
    return EXPORT.sub("", found.group(1))


def _interface(name: str, declarations: str) -> Any:
    from cffi import FFI, CDefError

    ffi = FFI()
    try:
        ffi.cdef(declarations)
    except CDefError as error:
        raise ReadError(f"{name}.h cannot be parsed, compile the model again: {error}") from None
    return ffi


def check_jobs(n_jobs: int) -> int:
    """How many threads: a positive number, or -1 for one per core."""
    if n_jobs == -1:
        return os.cpu_count() or 1
    if n_jobs < 1:
        raise OptionError(f"n_jobs is {n_jobs}; it must be 1 or more, or -1 for all cores")
    return n_jobs


@dataclass(frozen=True, slots=True)
class SparseRows:
    """Rows by their non-zero features: those of row i stand from starts[i] to starts[i + 1] - 1."""

    starts: NDArray[np.uintp]
    indices: NDArray[np.int32]
    values: NDArray[Any]

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, part: slice) -> SparseRows:
        last = min(part.stop, len(self))
        return SparseRows(self.starts[part.start : last + 1], self.indices, self.values)


LEAST_ROWS = 96  # for a thread; a chunk of the host profile


class CModel(BatchModel):
    """A compiled model under scikit-learn's names. Calls release the GIL and loop in C.

    Rows are shared out among `n_jobs` threads.
    """

    def __init__(
        self,
        name: str,
        source: str | Path,  # C, or a library that is built already
        header: str,
        labels: Labels | None,
        feature_names: tuple[str, ...] = (),
        n_jobs: int = 1,
    ) -> None:
        self._declarations = declarations = _declarations(name, header)
        self._whole = next((kind for text, kind in WHOLE_ROWS.items() if text in declarations), None)
        single = "const float *" in declarations or self._whole is not None
        super().__init__(name, labels, feature_names, np.dtype(np.float32 if single else np.float64))
        self.n_jobs = check_jobs(n_jobs)
        self._ffi = _interface(name, declarations)
        self._library = self._open(source, header)
        self.n_features = self._constant("N_FEATURES")
        self.n_scores = self._constant("N_SCORES", 0)
        self.n_values = self._constant("N_VALUES", 1)
        self.n_chances = self._constant("N_PROBABILITIES", 0)
        self._pointer = self._ffi.typeof("float[]" if self._real == np.float32 else "double[]")
        self._index_pointer = self._ffi.typeof("int32_t[]")
        self._row_pointer = self._ffi.typeof(f"{self._whole}_t[]") if self._whole else self._pointer
        self._view: Any = self._ffi.from_buffer  # its type declarations do not know numpy arrays
        self._functions: dict[str, Any] = {}
        self._takes_sparse = f"{name}_predict_sparse_batch(" in declarations
        told = self._constant("N_CLASSES", 0), self._constant("N_TARGETS", 0)
        if told != ((len(labels), len(labels.targets)) if labels else (0, 0)):
            raise ReadError(f"{name}.h and {name}.svmc belong to different models; compile the model again")

    def predict(self, data: Any, allow_nan: bool = False) -> NDArray[Any]:
        """Labels of the original dtype, or values for a regressor."""
        rows = self._rows(data, allow_nan)
        several = self.n_values > 1 or self._targets
        if len(rows) == 1 and not several and not isinstance(rows, (SparseRows, Texts)):
            return self._predict_one(rows)
        return super().predict(rows, allow_nan=True)

    def _predict_one(self, row: NDArray[Any]) -> NDArray[Any]:
        """A row alone needs no array for C to write to, which would take longer than many models."""
        answer = self._function("predict")(self._view(self._row_pointer, row))
        if self._classes is None:
            return np.array([answer], dtype=np.float64)
        label: NDArray[Any] = self._classes[answer : answer + 1].copy()
        return label

    def _holds(self, function: str) -> bool:
        return f"{self.name}_{function}_batch(" in self._declarations

    def _set_jobs(self, n_jobs: int) -> None:
        self.n_jobs = check_jobs(n_jobs)

    def self_test(self) -> int:
        """How many of the rows stored in the code fail."""
        failed: int = self._function("self_test")()
        return failed

    def _call_texts(self, name: str, texts: Texts, out: NDArray[Any]) -> None:
        self._call(name, texts, out)

    def _rows(self, data: Any, allow_nan: bool) -> Any:
        if isinstance(data, Texts):
            return data
        if self._whole:
            return self._whole_rows(data, allow_nan)
        if isinstance(data, SparseRows):
            return data
        if self._takes_sparse and hasattr(data, "tocsr") and data.ndim == 2:
            return self._sparse_rows(data, allow_nan)
        return super()._rows(data, allow_nan)

    def _sparse_rows(self, data: Any, allow_nan: bool) -> SparseRows:
        """A scipy matrix in compressed rows, of the types the library takes."""
        if data.shape[1] != self.n_features:
            raise OptionError(
                f"rows have {data.shape[1]} features, the model was trained with {self.n_features}"
            )
        csr = data.tocsr(copy=True)
        csr.sum_duplicates()
        if not allow_nan and not np.isfinite(csr.data).all():
            check_complete(csr.toarray(), self.feature_names, self.may_miss)
        with np.errstate(over="ignore"):
            values = np.ascontiguousarray(csr.data, dtype=self._real)
        return SparseRows(csr.indptr.astype(np.uintp), csr.indices.astype(np.int32), values)

    def _whole_rows(self, data: Any, allow_nan: bool) -> NDArray[Any]:
        """Rows for code that takes whole numbers, which saturate."""
        kind = np.dtype(self._whole)
        limits = np.iinfo(kind)
        rows = np.asarray(as_rows(data, self.n_features, self.feature_names, self.categories))
        if not allow_nan:
            check_complete(rows, self.feature_names, self.may_miss)
        rows = np.nan_to_num(np.rint(rows), nan=limits.min)
        return np.ascontiguousarray(np.clip(rows, limits.min, limits.max), dtype=kind)

    def _open(self, source: str | Path, header: str) -> Any:
        """The library; one that a crash has left damaged in the cache is built again."""
        if isinstance(source, Path):
            try:
                return self._ffi.dlopen(str(source.resolve()))
            except OSError as error:
                raise ReadError(
                    f"{source}: cannot be loaded on this machine ({error}); compile the model again, with "
                    "--target shared here, or load its C with target='c'"
                ) from None
        try:
            return self._ffi.dlopen(str(build_library(self.name, source, header)))
        except OSError:
            fresh = build_library(self.name, source, header, afresh=True)
        try:
            return self._ffi.dlopen(str(fresh))
        except OSError as error:
            raise ToolchainError(f"the built library cannot be loaded: {error}") from None

    def check_program(self, digest: str) -> None:
        """Refuse a prebuilt library of another program."""
        self._ffi.cdef(identity(self.name))
        told = getattr(self._library, f"{self.name}_program_sha256", None)
        if told is None or self._ffi.string(told).decode() != digest:
            raise ReadError(
                f"the library of {self.name} is of another program than {self.name}.svmc; compile the "
                "model again with --target shared, or load its C with target='c'"
            )

    def _constant(self, name: str, *default: int) -> int:
        value: int = getattr(self._library, f"{self.name.upper()}_{name}", *default)
        return value

    def _function(self, name: str) -> Any:
        if name not in self._functions:  # looking one up takes longer than some calls
            self._functions[name] = getattr(self._library, f"{self.name}_{name}")
        return self._functions[name]

    def _call(self, name: str, rows: NDArray[Any] | SparseRows | Texts, out: NDArray[Any]) -> None:
        """Fill `out` from the rows, each thread a part of them."""
        if self.n_jobs == 1 or len(rows) <= LEAST_ROWS:
            self._call_one(name, rows, out)
            return
        step = max(LEAST_ROWS, -(-len(rows) // self.n_jobs))
        parts = [slice(at, at + step) for at in range(0, len(rows), step)]
        with ThreadPoolExecutor(len(parts)) as pool:
            list(pool.map(lambda part: self._call_one(name, rows[part], out[part]), parts))

    def _call_one(self, name: str, rows: NDArray[Any] | SparseRows | Texts, out: NDArray[Any]) -> None:
        view = self._view
        target = view(self._index_pointer if out.dtype == np.int32 else self._pointer, out, True)
        if isinstance(rows, Texts):
            function, width = self._function(f"{name}_text_n"), 1 if out.ndim == 1 else out.shape[1]
            for at, text in enumerate(rows.contents):
                if out.ndim == 1:
                    out[at] = function(text, len(text))
                else:
                    function(text, len(text), target + at * width)
        elif isinstance(rows, SparseRows):
            starts, indices = view("size_t[]", rows.starts), view(self._index_pointer, rows.indices)
            values = view(self._pointer, rows.values)
            self._function(f"{name}_sparse_batch")(starts, indices, values, len(rows), target)
        else:
            self._function(f"{name}_batch")(view(self._row_pointer, rows), len(rows), target)
