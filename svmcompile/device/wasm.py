"""Runs functions of a wasm module; fuel, one per instruction, counts them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.device.build import require
from svmcompile.device.emulate import Call
from svmcompile.device.interface import RowFunction
from svmcompile.errors import ToolchainError

FUEL = 1 << 40
PAGE = 1 << 16


class WasmCore:
    """A module with memory for one row and one result behind its own."""

    def __init__(self, module: bytes) -> None:
        require("wasmtime", "wasmtime")
        import wasmtime

        config = wasmtime.Config()
        config.consume_fuel = True
        engine = wasmtime.Engine(config)
        self._store = wasmtime.Store(engine)
        self._store.set_fuel(FUEL)
        self._exports = wasmtime.Instance(self._store, wasmtime.Module(engine, module), []).exports(
            self._store
        )
        self._memory: Any = self._exports["memory"]
        self._row = self._memory.data_len(self._store)
        self._memory.grow(self._store, 32)
        self._out = self._row + 31 * PAGE

    def call(self, function: RowFunction, row: NDArray[Any]) -> Call:
        """One call with one row; what the stack holds is not a device's, so none is told."""
        try:
            called: Any = self._exports[function.symbol]
        except KeyError:
            raise ToolchainError(f"{function.symbol} is not in the module; export it") from None
        self._memory.write(self._store, np.ascontiguousarray(row, function.row_dtype).tobytes(), self._row)
        self._store.set_fuel(FUEL)
        if function.fills:
            called(self._store, self._row, self._out)
            size = function.width * function.result.itemsize
            content = bytes(self._memory.read(self._store, self._out, self._out + size))
            values = np.frombuffer(content, function.result)
        else:
            values = np.array([called(self._store, self._row)], dtype=function.result)
        return Call(values, FUEL - self._store.get_fuel(), 0)
