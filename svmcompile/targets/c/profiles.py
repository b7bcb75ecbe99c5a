"""What profiles write in another way: device code without double, host code by instruction set.

A machine program goes in; the fields that templates read to follow the profile come out.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

from svmcompile.ir.arithmetic import BYTES, Number
from svmcompile.ir.layout import vectors_and_lanes
from svmcompile.ir.nodes import SparseSum, TiledSum
from svmcompile.ir.program import Program
from svmcompile.targets.c.api import Function

FAR = 1e30  # a row whose half squared norm is beyond is so far out that every kernel value is zero
RESERVED = frozenset("sum start add total row fade raise".split())  # of the profile's helper functions
HELD_TERMS = {False: 512, True: 64}  # terms of a text that are counted at once; on a device
MOST_SUMS = 12  # registers for sums that do not wait for each other
X86 = "defined(__x86_64__) || defined(__i386__)"


@dataclass(frozen=True, slots=True)
class Style:
    """How code of one profile is written."""

    name: str
    device: bool = False
    steady: bool = False  # the same instructions for every row

    @property
    def flash(self) -> str:
        """Stands before the type of a table, and of what a pointer into one points to."""
        return f"{self.name.upper()}_FLASH " if self.device else ""

    @property
    def rolled(self) -> str:
        """Stands before loops that are not worth the flash of being unrolled."""
        return f"{self.name.upper()}_ROLLED" if self.device else ""

    def self_test(self, declared: Function) -> Function:
        """The self-test as the header declares it."""
        if not self.device:
            return declared
        macro = f"{self.name.upper()}_SELF_TEST"
        text = f"Runs stored rows, returns how many fail; -1 unless {macro} is defined for {self.name}.c."
        return replace(declared, comment=text)

    def fades(self, number: Number | None) -> bool:
        """Whether kernel values are made by the profile's own function."""
        return self.device and number == "f32"

    def fields(self, two_floats: bool, number: Number, helper: str) -> dict[str, Any]:
        """What macros read: how they declare, start, add to and read sums, in double or two floats."""
        wide, narrow = ("(double)", "(float)") if number == "f32" and not two_floats else ("", "")
        known = {
            "flash": self.flash,
            "rolled": self.rolled,
            "wide": wide,
            "narrow": narrow,
            "device": two_floats,
            "steady": self.steady,
            "pick": f"{helper}_pick",
        }
        if two_floats:
            return known | {
                "sum_type": f"{helper}_sum",
                "wide_type": "float",
                "start": lambda value: f"{helper}_start({value})",
                "add": lambda target, value: f"{helper}_add(&{target}, {value})",
                "total": lambda sum, more="": f"{helper}_total({sum}){more}",
                "is_above": lambda sum: f"{helper}_total({sum}) > 0.0f",
            }
        return known | {
            "sum_type": "double",
            "wide_type": "double",
            "start": lambda value: f"{wide}{value}",
            "add": lambda target, value: f"{target} += {wide}{value}",
            "total": lambda sum, more="": f"{narrow}({sum}{more})" if more else f"{narrow}{sum}",
            "is_above": lambda sum: f"{sum} > 0.0",
        }


def weights_layout(node: TiledSum | SparseSum, program: Program) -> tuple[bool, int, int]:
    """Whether weights lie by lane, how many a vector has, and how many its row in the table holds."""
    weights = program.tables[node.weights]
    columns = len(node.counts) - 1 or len(program.tables[node.bias])
    return weights.ndim == 3, columns, weights.shape[1]


@dataclass(frozen=True, slots=True)
class InstructionSet:
    """Vector size, and the tile that fits its registers: queries by blocks, and blocks for one row."""

    name: str
    bytes: int
    tile_blocks: int
    queries: int
    row_blocks: int
    registers: int  # for sums of a tile of rows by weight columns
    in_step: int  # vectors of kernel values that are made together, to hide how long each takes
    leaf_queries: int  # of a tile with one block, since leaves have any number of blocks
    target: str = ""
    guard: str = ""  # where the compiler knows it
    known: str = ""  # where the compiler may take it for granted
    settled: str = ""  # where the compiler was told of a processor without it
    supported: str = ""  # asked at run time
    scales: bool = False  # has instructions that split off and apply powers of two


def instruction_sets(
    node: TiledSum | SparseSum, program: Program, number: Number, prefix: str, name: str
) -> list[dict[str, Any]]:
    """Every instruction set with its vector types, best first; NAME_NO_AVX512 and such leave one out."""
    by_lane, columns, padded = weights_layout(node, program)
    _, lanes = vectors_and_lanes(program.tables[node.weights])
    size = BYTES[number]
    sets = []
    for isa in INSTRUCTION_SETS:
        width = isa.bytes // size
        gathered = (columns * lanes if by_lane else padded) // width
        own = {
            "per_block": lanes // width,
            "gathered": gathered,  # vectors that hold the sums of a row
            "ways": max(1, min(4, MOST_SUMS // gathered)),
            "blocked": not by_lane and isa.queries * gathered <= isa.registers,
        }
        sets.append(vector_names(isa, size, prefix, name) | own)
    return sets


def plain_instruction_sets(size: int, prefix: str, name: str) -> list[dict[str, Any]]:
    """Every instruction set with its vector types for numbers of so many bytes, best first."""
    return [vector_names(isa, size, prefix, name) for isa in INSTRUCTION_SETS]


def vector_names(isa: InstructionSet, size: int, prefix: str, name: str) -> dict[str, Any]:
    """What `host/vector.j2` calls vectors of an instruction set; the prefix is that of helper functions."""
    macro, own = f"{name}_{isa.name}".upper(), f"{prefix}_{isa.name}"
    attribute = f"{macro} " if isa.target else ""
    return {
        **asdict(isa),
        "guard": isa.guard and f"({isa.guard}) && !defined({name.upper()}_NO_{isa.name.upper()})",
        "macro": macro,
        "has": f"{name}_has_{isa.name}".upper(),
        "on": f"{name}_on_{isa.name}".upper(),
        "lanes": isa.bytes // size,
        "p": own,
        "v": f"{own}_v",
        "u": f"{own}_u",
        "i": f"{own}_i",
        "any": f"{own}_any",
        "native": f"__m{8 * isa.bytes}" + ("" if size == 4 else "d"),
        "unroll": f"{name.upper()}_UNROLL",
        "plain": f"{attribute}static ",
        "inline": f"{attribute}{name.upper()}_INLINE ",
        "noinline": f"{attribute}{name.upper()}_NOINLINE ",
    }


# Best first; the last runs everywhere that GCC's vector extensions do.
INSTRUCTION_SETS = (
    InstructionSet(
        "avx512", 64, 2, 12, 8, 24, 4, 16, "avx512f,avx512dq", X86,
        "defined(__AVX512F__) && defined(__AVX512DQ__)", "defined(__AVX2__) && defined(__FMA__)",
        '__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")', scales=True,
    ),
    InstructionSet(
        "avx2", 32, 1, 6, 4, 12, 4, 6, "avx2,fma,f16c", X86, "defined(__AVX2__) && defined(__FMA__)",
        "", '__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")',
    ),
    InstructionSet("base", 16, 1, 3, 2, 12, 4, 3),
)  # fmt: skip
# What `host/vector.j2` calls its types and functions, behind the prefix of an instruction set.
PRELUDE = (
    "v u i any load load_any load_half exp2 exp2_each tanh cosine size below select sum above gather fade "
    "both"
).split()
VECTOR_SYMBOLS = frozenset(
    f"{wide}{isa.name}_{symbol}" for wide in ("", "wide_") for isa in INSTRUCTION_SETS for symbol in PRELUDE
)
