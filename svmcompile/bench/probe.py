"""probe: what the processor can do, measured in the same run, and how much of it the code uses."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from svmcompile.bench.driver import Compiler, run
from svmcompile.bench.result import Times
from svmcompile.ir.arithmetic import BYTES, Number
from svmcompile.ir.node import At
from svmcompile.ir.program import Program

RUN_SECONDS = 120


@dataclass(frozen=True, slots=True)
class Limits:
    """One core's best: multiply-adds at each vector width, and reading a table of one size."""

    gflops: dict[int, float]  # by bits of a vector
    read_gb_s: float
    read_bytes: int
    caches: dict[str, int]  # sizes of L1 to L3, where the system tells

    @property
    def peak_gflops(self) -> float:
        return max(self.gflops.values())

    @property
    def level(self) -> str:
        """The smallest cache that holds the table."""
        fitting = [name for name, size in self.caches.items() if size >= self.read_bytes]
        return fitting[0] if fitting else "memory" if self.caches else ""

    def as_dict(self) -> dict[str, Any]:
        fields = asdict(self)
        fields["gflops"] = {f"{bits} bits": rate for bits, rate in self.gflops.items()}
        return {**fields, "peak_gflops": self.peak_gflops, "table_in": self.level}

    def best_of(self, other: Limits) -> Limits:
        """The better of two measurements: a limit that was reached once is one."""
        rates = {bits: max(rate, other.gflops.get(bits, 0)) for bits, rate in self.gflops.items()}
        return Limits(rates, max(self.read_gb_s, other.read_gb_s), self.read_bytes, self.caches)


@dataclass(frozen=True, slots=True)
class Work:
    """What one row needs at least: useful flops, and bytes of tables to be met."""

    flops: int
    table_bytes: int

    @classmethod
    def of(cls, program: Program, number: Number) -> Work:
        """2 n d flops for the products of a row with n vectors; every table entry once, without padding."""
        sums = [At(node, program.tables) for node in program.body if node.sums_kernels]
        flops = sum(2 * int(at.vectors.size) for at in sums)
        entries = sum(int(table.size) for table in program.tables.values())
        return cls(flops, entries * BYTES[number])

    def shares(self, times: Times, limits: Limits) -> dict[str, float] | None:
        """Batches against the multiply-add peak, single rows against reading; None without kernel sums."""
        if not self.flops:
            return None
        return {
            "gflops_batch": self.flops / times.batch * 1e-9,
            "fma_peak_batch": self.flops / times.batch * 1e-9 / limits.peak_gflops,
            "gb_s_single": self.table_bytes / times.single * 1e-9,
            "bandwidth_single": self.table_bytes / times.single * 1e-9 / limits.read_gb_s,
        }


def measure_limits(compiler: Compiler, folder: Path, number: Number, table_bytes: int) -> Limits:
    """Run the probe, built unless the folder has it."""
    real = "double" if number == "f64" else "float"
    program = folder / "probe"
    if not program.exists():
        program = compiler.build("probe.c", folder, f"-DREAL={real}", "-ffp-contract=fast")
    return parse_limits(run([str(program), str(table_bytes)], folder, RUN_SECONDS), table_bytes)


def parse_limits(printed: str, table_bytes: int) -> Limits:
    """The probe's lines."""
    gflops, caches, read = {}, {}, 0.0
    for what, name, value in (line.split() for line in printed.splitlines()):
        if what == "fma":
            gflops[int(name)] = float(value)
        elif what == "read":
            read = float(value)
        elif int(value) > 0:
            caches[f"L{name}"] = int(value)
    return Limits(gflops, read, table_bytes, caches)
