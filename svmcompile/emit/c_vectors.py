"""What the macros of `host.j2` need to know of each instruction set: vectors, tiles, steps."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from svmcompile.emit.c_host import weights_layout
from svmcompile.ir.inverted import vectors_and_lanes
from svmcompile.ir.nodes import SparseSum, TiledSum
from svmcompile.ir.program import Number, Program

MOST_SUMS = 12  # registers for sums that do not wait for each other
X86 = "defined(__x86_64__) || defined(__i386__)"


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
    target: str = ""
    guard: str = ""  # where the compiler knows it
    known: str = ""  # where the compiler may take it for granted
    settled: str = ""  # where the compiler was told of a processor without it
    supported: str = ""  # asked at run time
    scales: bool = False  # has instructions that split off and apply powers of two


# Best first; the last runs everywhere that GCC's vector extensions do.
INSTRUCTION_SETS = (
    InstructionSet(
        "avx512", 64, 2, 12, 8, 24, 8, "avx512f,avx512dq", X86,
        "defined(__AVX512F__) && defined(__AVX512DQ__)", "defined(__AVX2__) && defined(__FMA__)",
        '__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")', scales=True,
    ),
    InstructionSet(
        "avx2", 32, 1, 6, 4, 12, 4, "avx2,fma,f16c", X86, "defined(__AVX2__) && defined(__FMA__)",
        "", '__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")',
    ),
    InstructionSet("base", 16, 1, 3, 2, 12, 4),
)  # fmt: skip

# What `host/vector.j2` calls its types and functions, behind the prefix of an instruction set.
PRELUDE = "v u i any load load_any load_half exp2 tanh size below select sum above gather fade both".split()
VECTOR_SYMBOLS = frozenset(
    f"{wide}{isa.name}_{symbol}" for wide in ("", "wide_") for isa in INSTRUCTION_SETS for symbol in PRELUDE
)


@dataclass(frozen=True, slots=True)
class Step:
    """Vectors of kernel values that are made together.

    Of each vector: its dot products, the number of its offsets, and what its row
    brings. Of each sum: where it is gathered, and the weights and kernel values
    (by number) that go into it.
    """

    vectors: list[tuple[str, int, str]]
    sums: list[tuple[int, list[tuple[int, int]]]]


@dataclass(frozen=True, slots=True)
class Shape:
    """Sizes of a sum's tables in vectors of one instruction set."""

    per_block: int
    columns: int  # weights by lane that a support vector has; 0 where they lie otherwise
    gathered: int  # vectors that hold the sums of a row

    def step(self, dots: str, row: str, places: list[tuple[int, int]]) -> Step:
        """The vectors at the places (row, number); the texts name a vector and what a row brings."""
        vectors = [(dots.format(at, v), v, row.format(r)) for at, (r, v) in enumerate(places)]
        sums = [
            (
                r * self.gathered + column * self.per_block + lane,
                [
                    (self._weight(v, column), at)
                    for at, (other, v) in enumerate(places)
                    if (other, v % self.per_block) == (r, lane)
                ],
            )
            for r in dict.fromkeys(r for r, _ in places)
            for column in range(self.columns)
            for lane in range(self.per_block)
        ]
        return Step(vectors, sums)

    def _weight(self, v: int, column: int) -> int:
        block, lane = divmod(v, self.per_block)
        return (block * self.columns + column) * self.per_block + lane

    def row_steps(self, blocks: int, in_step: int) -> list[Step]:
        """One row and some blocks."""
        vectors = range(blocks * self.per_block)
        parts = [vectors[at : at + in_step] for at in vectors[::in_step]]
        return [self.step("a{1}", "row", [(0, v) for v in part]) for part in parts]


def instruction_sets(
    node: TiledSum | SparseSum, program: Program, number: Number, function: str, name: str
) -> list[dict[str, Any]]:
    """Every instruction set with its vector types, best first; NAME_NO_AVX512 and such leave one out."""
    by_lane, columns, padded = weights_layout(node, program)
    _, lanes = vectors_and_lanes(program.tables[node.weights])
    size = 4 if number == "f32" else 8
    made = []
    for isa in INSTRUCTION_SETS:
        width = isa.bytes // size
        gathered = (columns * lanes if by_lane else padded) // width
        shape = Shape(lanes // width, columns if by_lane else 0, gathered)
        by_tile = by_lane and len(node.counts) == 1
        made.append(vector_names(isa, size, function, name) | _tiles(isa, shape) | {"by_tile": by_tile})
    return made


def plain_instruction_sets(size: int, prefix: str, name: str) -> list[dict[str, Any]]:
    """Every instruction set with its vector types for numbers of so many bytes, best first."""
    return [vector_names(isa, size, prefix, name) for isa in INSTRUCTION_SETS]


def vector_names(isa: InstructionSet, size: int, prefix: str, name: str) -> dict[str, Any]:
    """What `host/vector.j2` calls vectors of one instruction set; the prefix is that of helper functions."""
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
        "plain": f"{attribute}static ",
        "inline": f"{attribute}{name.upper()}_INLINE ",
        "noinline": f"{attribute}{name.upper()}_NOINLINE ",
    }


def _tiles(isa: InstructionSet, shape: Shape) -> dict[str, Any]:
    vectors = isa.tile_blocks * shape.per_block
    rows = isa.in_step // vectors
    places = [(row, v) for row in range(rows) for v in range(vectors)]
    return {
        "per_block": shape.per_block,
        "gathered": shape.gathered,
        "ways": max(1, min(4, MOST_SUMS // shape.gathered)),
        "blocked": not shape.columns and isa.queries * shape.gathered <= isa.registers,
        "rows_in_step": rows,
        "tile_step": shape.step("t[{0}]", "rows[{0}]", places),
        "row_steps": shape.row_steps(isa.row_blocks, isa.in_step),
        "few_steps": shape.row_steps(isa.tile_blocks, isa.in_step),
        "line_steps": [
            shape.step("t[{0}]", "row", [(0, v) for v in range(count)]) for count in (isa.in_step, 1)
        ],
    }
