"""WebAssembly: C files are built into a module; an emitted `.wasm` file becomes a model that predicts."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.data.text import Texts
from svmcompile.errors import ReadError, ToolchainError
from svmcompile.extras import install
from svmcompile.ir.program import Labels
from svmcompile.runtime.batches import BatchModel
from svmcompile.runtime.toolchain import build

BLOCK_BYTES = 1 << 22  # of rows per call, which bounds how far the module's memory grows
ALIGNED = 16
FLAGS = ("-target", "wasm32-freestanding", "-O2", "-std=c99", "-ffp-contract=off", "-nostdlib", "-s")
LINK = ("-Wl,--no-entry",)


def has_wasmtime() -> bool:
    """Whether modules can be run here."""
    return importlib.util.find_spec("wasmtime") is not None


class WasmModel(BatchModel):
    """A compiled model under scikit-learn's names; its rows are copied into the module's own memory."""

    def __init__(
        self, name: str, content: bytes, labels: Labels | None, feature_names: tuple[str, ...] = ()
    ) -> None:
        self.name = name
        self._store, self._exports = _instance(name, content)
        numbers = {4: np.float32, 8: np.float64}
        real = numbers.get(self._number("number_bytes"), np.float64)
        super().__init__(name, labels, feature_names, np.dtype(real))
        self.n_features = self._number("n_features")
        self.n_scores = self._number("n_scores")
        self.n_values = self._number("n_values") if self._exports.get("n_values") else 1
        self.n_chances = self._number("n_probabilities") if self._targets else 0
        if self._number("n_classes") != len(labels or ()):
            raise ReadError(
                f"{name}.wasm: belongs to a different model than its .svmc; compile the model again"
            )

    def self_test(self) -> int:
        """How many of the rows stored in the module fail."""
        failed: int = self._exports["self_test"](self._store)
        return failed

    def _number(self, name: str) -> int:
        function = self._exports.get(name)
        if function is None:
            raise ReadError(f"{self.name}.wasm: is not a module of svmcompile: it exports no {name}")
        value: int = function(self._store)
        return value

    def _holds(self, function: str) -> bool:
        return f"{function}_batch" in self._exports

    def _call(self, name: str, rows: NDArray[Any], out: NDArray[Any]) -> None:
        step = max(1, BLOCK_BYTES // max(1, rows.strides[0]))
        for at in range(0, len(rows), step):
            self._call_block(name, rows[at : at + step], out[at : at + step])

    def _call_texts(self, name: str, texts: Texts, out: NDArray[Any]) -> None:
        """One by one; the results stand before the text."""
        function, size = self._exports[f"{name}_text_n"], out[:1].nbytes
        room = -(-size // ALIGNED) * ALIGNED
        for at, text in enumerate(texts.contents):
            start = self._reserve(room + len(text) + 1)
            self._exports["memory"].write(self._store, text, start + room)
            if out.ndim == 1:
                out[at] = function(self._store, start + room, len(text))
                continue
            function(self._store, start + room, len(text), start)
            found = self._exports["memory"].read(self._store, start, start + size)
            out[at] = np.frombuffer(bytes(found), out.dtype)

    def _reserve(self, n_bytes: int) -> int:
        """The place of so many bytes in the module's memory."""
        start: int = self._exports["reserve"](self._store, n_bytes) & 0xFFFFFFFF
        if not start:
            raise ToolchainError(f"{self.name}.wasm: no room for {n_bytes} bytes of rows")
        return start

    def _call_block(self, name: str, rows: NDArray[Any], out: NDArray[Any]) -> None:
        results = -(-rows.nbytes // ALIGNED) * ALIGNED  # behind the rows
        start = self._reserve(results + out.nbytes)
        memory = self._exports["memory"]
        memory.write(self._store, rows.tobytes(), start)
        self._exports[f"{name}_batch"](self._store, start, len(rows), start + results)
        begin = start + results
        found = memory.read(self._store, begin, begin + out.nbytes)
        out[...] = np.frombuffer(bytes(found), out.dtype).reshape(out.shape)


def _instance(name: str, content: bytes) -> tuple[Any, Any]:
    """A store and the exports of a module in it."""
    if not has_wasmtime():
        raise ToolchainError(f"running .wasm files needs wasmtime; run: {install('wasm')}")
    import wasmtime

    store = wasmtime.Store()
    try:
        module = wasmtime.Module(store.engine, content)
        return store, wasmtime.Instance(store, module, []).exports(store)
    except (wasmtime.WasmtimeError, wasmtime.Trap) as error:
        raise ReadError(f"{name}.wasm: wasmtime cannot load the module: {error}") from None


def wasm_compiler() -> tuple[str, ...]:
    """The command of ziglang, the only compiler for WebAssembly that PyPI brings whole."""
    if not importlib.util.find_spec("ziglang"):
        raise ToolchainError(f"target wasm is built with ziglang; run: {install('wasm')}")
    return (sys.executable, "-m", "ziglang", "cc")


def build_wasm(main: str, files: Mapping[str, str], stack_bytes: int) -> bytes:
    """The module of the file `main`, which includes the others."""
    command = (*wasm_compiler(), *FLAGS, *LINK, f"-Wl,-z,stack-size={stack_bytes}", main)
    return build(Path(main).stem, "wasm", command, files, (version("ziglang"),)).read_bytes()
