"""Runs the functions of a generated header on emulated ARM, RISC-V and wasm cores, and counts.

Rows are written to memory, functions are called as the processor's calling convention says, and
what they return or write is read back. Instructions are counted block by block: how many a block
has is decoded once.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.device.build import RAM, TEXT, Image, require
from svmcompile.device.cost import Cpu
from svmcompile.device.cycles import TIMINGS, CycleCounter
from svmcompile.errors import ReadError, ToolchainError

PAGE = 0x1000
STACK_BYTES = 0x10000
EXIT = 0x1000  # where a function returns to
PAINT = 0xA5
ROW_FUNCTION = r"^(?:\w+ )?(\w+) {name}_(\w+)\(\s*const (\w+) x\[(\w+)\](?:, (\w+) \w+\[(\w+)\])?\);$"
CONSTANT = re.compile(r"^ {4}(\w+) = (\d+)", re.MULTILINE)
TYPES = {
    "float": "<f4", "double": "<f8",
    "int8_t": "<i1", "uint8_t": "<u1", "int16_t": "<i2", "uint16_t": "<u2", "int32_t": "<i4", "int": "<i4",
}  # fmt: skip
FUEL = 1 << 40
WASM_PAGE = 1 << 16


@dataclass(frozen=True, slots=True)
class Call:
    """What one call gave and took."""

    values: NDArray[Any]
    instructions: int
    stack: int  # bytes, below the caller's
    cycles: float | None = None  # an estimate, where there is one


class Core:
    """An image in the memory of an emulated processor."""

    def __init__(self, cpu: Cpu, image: Image) -> None:
        require("unicorn", "unicorn")
        import unicorn

        self._cpu, self._image, self._unicorn = cpu, image, unicorn
        self._count = 0
        self._lengths: dict[tuple[int, int], int] = {}
        self._cycles = CycleCounter(TIMINGS[cpu.name]) if cpu.name in TIMINGS else None
        self._machine = self._arm() if cpu.family == "arm" else self._riscv()
        self._load()
        # Hooks must be there before the first run, which translates the code without them.
        self._machine.hook_add(unicorn.UC_HOOK_BLOCK, self._count_block)

    def _arm(self) -> Any:
        from unicorn import arm_const

        # Not UC_MODE_MCLASS, which takes another core than the one named.
        machine = self._unicorn.Uc(self._unicorn.UC_ARCH_ARM, self._unicorn.UC_MODE_THUMB)
        machine.ctl_set_cpu_model(getattr(arm_const, self._cpu.model))
        if self._cpu.hard_float:
            access = machine.reg_read(arm_const.UC_ARM_REG_C1_C0_2)
            machine.reg_write(arm_const.UC_ARM_REG_C1_C0_2, access | 0xF << 20)
            machine.reg_write(arm_const.UC_ARM_REG_FPEXC, 0x4000_0000)
        named = ("R0", "R1", "SP", "LR", "S0", "S1")
        self._registers = {name: getattr(arm_const, f"UC_ARM_REG_{name}") for name in named}
        return machine

    def _riscv(self) -> Any:
        from unicorn import riscv_const

        machine = self._unicorn.Uc(self._unicorn.UC_ARCH_RISCV, self._unicorn.UC_MODE_RISCV32)
        if self._cpu.hard_float:
            machine.reg_write(riscv_const.UC_RISCV_REG_MSTATUS, 0x6000)
        named = {"R0": "A0", "R1": "A1", "SP": "SP", "LR": "RA", "S0": "F10"}
        self._registers = {key: getattr(riscv_const, f"UC_RISCV_REG_{name}") for key, name in named.items()}
        return machine

    def _load(self) -> None:
        ends = {TEXT: TEXT + PAGE, RAM: RAM}
        for address, content in self._image.parts:
            base = RAM if address >= RAM else TEXT
            ends[base] = max(ends[base], address + len(content))
        self._row = _page_up(max(ends[RAM], RAM + self._image.ram)) + PAGE
        self._out = self._row + (1 << 20)
        self._stack_end = self._out + (1 << 20) + STACK_BYTES
        self._machine.mem_map(EXIT, PAGE)
        self._machine.mem_map(TEXT, _page_up(ends[TEXT]) - TEXT)
        self._machine.mem_map(RAM, self._row + (1 << 20) - RAM)
        self._machine.mem_map(self._out, PAGE)
        self._machine.mem_map(self._stack_end - STACK_BYTES, STACK_BYTES)  # nothing below: overflows show
        for address, content in self._image.parts:
            self._machine.mem_write(address, content)

    def _count_block(self, machine: Any, address: int, size: int, _: Any) -> None:
        key = (address, size)
        if key not in self._lengths:
            self._lengths[key] = self._instructions(bytes(machine.mem_read(address, size)))
        self._count += self._lengths[key]
        if self._cycles:
            self._cycles.add(machine, address, size)

    def _instructions(self, code: bytes) -> int:
        """How many instructions some code has: both families have long and short ones."""
        at = found = 0
        while at < len(code):
            word = int.from_bytes(code[at : at + 2], "little")
            long = word >> 11 >= 0b11101 if self._cpu.family == "arm" else word & 3 == 3
            at += 4 if long else 2
            found += 1
        return found

    def call(self, function: RowFunction, row: NDArray[Any]) -> Call:
        start = self._image.symbols.get(function.symbol)
        if start is None:
            raise ToolchainError(f"{function.symbol} is not in the image; keep it when it is built")
        write, bottom = self._machine.reg_write, self._stack_end - STACK_BYTES
        self._machine.mem_write(self._row, np.ascontiguousarray(row, function.row_dtype).tobytes())
        self._machine.mem_write(bottom, bytes([PAINT]) * STACK_BYTES)
        write(self._registers["R0"], self._row)
        write(self._registers["R1"], self._out)
        write(self._registers["SP"], self._stack_end)
        write(self._registers["LR"], EXIT | self._thumb)
        self._count = 0
        if self._cycles:
            self._cycles.reset()
        try:
            self._machine.emu_start(start | self._thumb, EXIT, count=0)
        except self._unicorn.UcError as error:
            raise ToolchainError(f"{function.symbol} fails on {self._cpu.name}: {error}") from None
        used = bytes(self._machine.mem_read(bottom, STACK_BYTES))
        cycles = self._cycles.total if self._cycles else None
        return Call(self._result(function), self._count, STACK_BYTES - _unused(used), cycles)

    @property
    def _thumb(self) -> int:
        """The bit of an address that says how its code is to be read."""
        return 1 if self._cpu.family == "arm" else 0

    def _result(self, function: RowFunction) -> NDArray[Any]:
        if function.fills:
            size = function.width * function.result.itemsize
            return np.frombuffer(bytes(self._machine.mem_read(self._out, size)), function.result)
        size = function.result.itemsize
        in_own = self._cpu.hard_float and (size == 4 or self._cpu.family == "arm")
        names = ("S0", "S1") if function.result.kind == "f" and in_own else ("R0", "R1")
        read = self._machine.reg_read
        words = [read(self._registers[name]) & 0xFFFF_FFFF for name in names[: -(-size // 4)]]
        content = b"".join(word.to_bytes(4, "little") for word in words)
        return np.frombuffer(content[:size], function.result)


def _page_up(address: int) -> int:
    return -(-address // PAGE) * PAGE


def _unused(stack: bytes) -> int:
    """Bytes from the far end on that nobody wrote to."""
    return len(stack) - len(stack.lstrip(bytes([PAINT])))


@dataclass(frozen=True, slots=True)
class RowFunction:
    """One public function of a row: it returns a number, or fills an array."""

    symbol: str
    row_type: str  # numpy's name of what a row is made of
    features: int
    returns: str = ""  # numpy's name; empty where an array is filled
    fills: str = ""
    width: int = 1

    @property
    def row_dtype(self) -> np.dtype[Any]:
        return np.dtype(self.row_type)

    @property
    def result(self) -> np.dtype[Any]:
        return np.dtype(self.returns or self.fills)


def row_functions(name: str, header: str) -> dict[str, RowFunction]:
    """The functions of NAME.h that take one row, by their name without the prefix."""
    found = {}
    sizes = {"": 1, **{key: int(value) for key, value in CONSTANT.findall(header)}}

    def size(text: str) -> int:
        return int(text) if text.isdigit() else sizes[text]

    pattern = re.compile(ROW_FUNCTION.format(name=re.escape(name)), re.MULTILINE)
    for returned, function, row, features, filled, width in pattern.findall(header):
        result = ("", TYPES[filled]) if filled else (TYPES[returned], "")
        symbol = f"{name}_{function}"
        found[function] = RowFunction(symbol, TYPES[row], size(features), *result, size(width))
    if "predict" not in found:
        raise ReadError(f"{name}.h declares no {name}_predict of one row; compile the model again")
    return found


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
        instance = wasmtime.Instance(self._store, wasmtime.Module(engine, module), [])
        self._exports = instance.exports(self._store)
        self._memory: Any = self._exports["memory"]
        self._row = self._memory.data_len(self._store)
        self._memory.grow(self._store, 32)
        self._out = self._row + 31 * WASM_PAGE

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
