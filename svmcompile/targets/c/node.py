"""How machine nodes are written in C: what macros read, the helpers and tables they need, the stack.

Classes are named like the nodes and stand in `nodes/<family>.py`; macros are named alike and stand in
`templates/c/portable/<family>.j2`, unless `template` says otherwise. A class names what its node has beside
other nodes, so that code around nodes asks and never tests for classes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from types import SimpleNamespace
from typing import Any, ClassVar, Generic, TypeVar

from svmcompile.ir.arithmetic import BYTES, FIXED, LONG, SEGMENT, Number
from svmcompile.ir.check import infer_types
from svmcompile.ir.graph import float_number, node_number, value_number
from svmcompile.ir.kinds import Types
from svmcompile.ir.nodes import Kind, Node, lazy_operands, operands, table_names
from svmcompile.ir.program import Program
from svmcompile.targets.c.api import Body, body, c_real, needed, row_argument, row_parameters, taken_over
from svmcompile.targets.c.literals import NUMBERS, real
from svmcompile.targets.c.profiles import HELD_TERMS, Style
from svmcompile.targets.templating import Names

N = TypeVar("N", bound=Node)
DOUBLE, INT, SIZE = 8, 4, 8
CURSOR, CURSORS = 40, 512  # of a word of a term, and of the functions that read text
DOTS = {"float16": "dot_f16", "int8": "dot_i8"}  # by the type of the table
WHOLE_TABLES: dict[str, Number] = {"int8": "i8", "uint8": "u8", "int16": "i16", "int32": "i32"}
HELPERS = (
    "pick sum row plane dot dot_i8 dot_f16 distance fade raise exp2 tanh power root cosine log".split()
)
ARRAYS = (Kind.FEATURES, Kind.SCORES, Kind.PROBABILITIES)
# Bytes that compilers take for registers, addresses and their own arithmetic; tests hold code to it.
SAVED, SAVED_IN_WHOLE_NUMBERS, SAVED_WITH_DOUBLE = 240, 320, 480
DEEPER = 160  # more, where functions call each other more deeply: along trees, and for what some rows need


@dataclass(frozen=True)
class CFile:
    """The C file of a machine program: what its nodes are written with."""

    program: Program
    types: Types
    name: str = ""  # prefix of all symbols
    symbols: Names = field(default_factory=Names)
    style: Style = field(default_factory=lambda: Style(""))
    units: Mapping[str, float] = field(default_factory=dict)  # by node: what its row is multiplied by
    folded: frozenset[str] = frozenset()  # tables that have gone into others
    parts: frozenset[str] = frozenset()  # of the interface

    @classmethod
    def of(cls, program: Program) -> CFile:
        """The file of a program as far as its sizes go, without names."""
        return cls(program, infer_types(program))

    @cached_property
    def nodes(self) -> dict[str, CNode[Any]]:
        """How each node is written, by its value."""
        return {node.out: c_class(node)(node, self) for node in self.program.body}

    @cached_property
    def inlined(self) -> set[str]:
        """Tables that do not appear as such: one number that stands in the code, or nothing to say."""
        idle = set[str]().union(*(node.idle() for node in self.nodes.values()))
        read = (set(table_names(node.node)) - node.idle() for node in self.nodes.values())
        return idle.difference(*read)

    def prefix(self, number: Number) -> str:
        """What names of helper functions start with; those in double have their own in a float program."""
        return self.name if number == float_number(self.program) else f"{self.name}_wide"

    def lazy(self, value: str) -> str:
        """The function that computes a value for the rows that need it."""
        return self.symbols(f"lazy %{value}", f"{value}_when_needed")


class CNode(Generic[N]):
    """How one node is written in C."""

    parts: ClassVar[tuple[str, ...]] = ()  # functions and tables that belong to it besides its own function
    dots_with: ClassVar[str] = ""  # the field of the table whose rows it multiplies a row with
    calls: ClassVar[tuple[str, ...]] = ()  # helper functions that it always calls
    copies_row: ClassVar[bool] = False  # into an array of its own
    helpers_in_double: ClassVar[frozenset[str]] = frozenset()  # which it calls whatever its number type
    in_double: ClassVar[str] = (
        ""  # why it adds up in double on a device, too: "claim", "coupling" or "variance"
    )
    adds_up: ClassVar[bool] = False  # more than the number type holds: in double, or in two floats
    walks: ClassVar[bool] = False  # a tree, whose tests call functions
    reads_two_tables: ClassVar[bool] = False  # at once, in helper functions that take one for a row
    in_vectors: ClassVar[bool] = False  # whether it reads whole vectors from its tables
    in_batches: ClassVar[bool] = False  # whether it is a sum that can be the whole way of many rows at once
    by_feature: ClassVar[bool] = False  # whether it stores vectors by their features, and takes rows so
    takes_terms: ClassVar[bool] = False  # whether it takes the terms of a text, one by one
    in_front: ClassVar[bool] = False  # whether it takes many rows at once before all other nodes
    gives_labels: ClassVar[bool] = False  # whether its chunks of rows end as labels
    stores: ClassVar[tuple[str, ...]] = ()  # fields of the tables that hold all its support vectors
    widens: ClassVar[bool] = False  # makes doubles of floats, which stay what they are
    behind_sums: ClassVar[bool] = False  # a label of sums, and of the row itself where these are in doubt
    picks: ClassVar[bool] = False  # numbers, where code may not branch
    keeps_time: ClassVar[bool] = False  # has a form without branches and places that depend on the row
    seldom_unsure: ClassVar[bool] = False  # hardly any row needs what is lazy, so that this may be slow

    def __init_subclass__(cls) -> None:
        CLASSES[cls.__name__] = cls

    def __init__(self, node: N, file: CFile) -> None:
        self.node, self.file, self.name = node, file, file.name
        self.program, self.types, self.tables = file.program, file.types, file.program.tables
        self.number = node_number(node, file.program, file.types)
        self.width = self.types[operands(node)[0]].width  # of the first value it reads
        self.out_width = self.types[node.out].width
        self.lazy = next(iter(lazy_operands(node)), "")  # the value that only some rows need
        self.helper = file.prefix(self.number)  # what names of its helper functions start with

    @property
    def template(self) -> str:
        """The file of its macro."""
        return f"portable/{type(self).__module__.rpartition('.')[2]}"

    @property
    def function(self) -> str:
        """The name of its function."""
        return self.file.symbols(f"%{self.node.out}", self.node.out)

    @property
    def size(self) -> int:
        """Bytes of a number in the node's own function."""
        return BYTES[self.number]

    @property
    def is_narrow(self) -> bool:
        """Whether it adds up in two floats what the other profiles add up in a double."""
        return self.file.style.fades(self.number) and not self.in_double

    @property
    def has_intrinsics(self) -> bool:
        """Whether its macro goes beyond GCC's vector extensions where the processor has more to offer."""
        return False

    @property
    def chunk(self) -> int:
        """How many rows of a batch go through it at once; 0: they go one by one."""
        return 0

    @property
    def takes_sparse_rows(self) -> bool:
        """Whether a row may be given by its non-zero features."""
        return False

    @property
    def whole_score(self) -> tuple[str, float] | None:
        """The value in whole numbers that it makes a real number of, and its unit."""
        return None

    def fields(self) -> dict[str, Any]:
        """What its macro reads beside what all macros do."""
        return {}

    def idle(self) -> set[str]:
        """Tables that would say nothing in C, or stand in the code as a number."""
        return set()

    def helpers(self) -> set[str]:
        """Helper functions that it calls."""
        called = {*self.calls, *([DOTS.get(self.dot_table, "dot")] if self.dots_with else [])}
        return called | ({"sum"} if self.adds_up and self.is_narrow else set())

    def scratch(self) -> int:
        """Bytes of the arrays inside its own function."""
        return self.size * self.width if self.copies_row else 0

    def batch_scratch(self, deepest: Callable[[str], int]) -> int:
        """Bytes around a chunk of rows; `deepest` tells those of the function that computes a value."""
        return 0

    def bodies(self) -> list[Body]:
        """Functions that lead to what it reads of many rows."""
        return []

    def lazy_bodies(self) -> list[Body]:
        """The function that computes what only some rows need."""
        value = self.lazy
        if not value or value == self.program.input.name:  # of a sum that never needs the exact one
            return []
        function, target = f"{self.file.lazy(value)}({row_parameters(self.program, self.name)}", ""
        declaration = f"static int {function})"
        if self.types[value].kind is not Kind.LABEL:
            real, target = c_real(value_number(value, self.program, self.types)), "out"
            declaration = f"static void {function}, {real} out[{self.types[value].width}])"
        return [body(self.program, self.types, self.file.symbols, value, declaration, target)]

    def part(self, name: str) -> str:
        """The name of a function or table of its own."""
        return self.file.symbols(f"%{self.node.out} {name}", f"{self.node.out}_{name}")

    def table(self, name: str) -> str:
        """The name of a table in the code."""
        return self.file.symbols(f"@{name}", name)

    def literal(self, value: float) -> str:
        """A number in the node's type."""
        return real(value, self.number)

    @property
    def dot_table(self) -> str:
        """The type of the numbers that it multiplies rows with."""
        return str(self.tables[getattr(self.node, self.dots_with)].dtype)

    @property
    def dot_kind(self) -> str:
        """The same for the names of helper functions in whole numbers."""
        return WHOLE_TABLES[self.dot_table]

    @property
    def dot_function(self) -> str:
        """The helper function for its dot products."""
        x = operands(self.node)[0]
        if whole := self.types[x].whole:
            return f"{self.name}_dot_{whole}_{self.dot_kind}"
        prefix = self.file.prefix(value_number(x, self.program, self.types))
        return f"{prefix}_{DOTS.get(self.dot_table, 'dot')}"

    def context(self) -> SimpleNamespace:
        """All that its macro reads."""
        node, first = self.node, self.types[operands(self.node)[0]]
        # Dot products of whole numbers need 32 bits.
        own = "i32" if first.whole and self.number not in NUMBERS else self.number
        known: dict[str, Any] = {
            "kind": type(node).__name__,
            "template": f"c/{self.template}.j2",
            "node": node,
            "function": self.function,
            "width": self.width,
            "widths": [self.types[value].width for value in operands(node)],
            "out_width": self.out_width,
            "sums": self.out_width,
            "long": self.width >= LONG,
            "piece": 2 * SEGMENT,  # of a long row: dot products have two sums or more
            "real": c_real(own),
            "reads_row": first.kind is Kind.FEATURES,
            "row_type": c_real(value_number(operands(node)[0], self.program, self.types)),
            "row": row_parameters(self.program, self.name),
            "row_argument": row_argument(self.program),
            "literal": self.literal,
            "helper": self.helper,
            "numbers": NUMBERS.get(self.number),
            "dot": self.dot_function if self.dots_with else f"{self.helper}_dot",
            "inline": f"{self.name.upper()}_INLINE ",
            "unroll": f"{self.name.upper()}_UNROLL",
            "zero": self.literal(0.0),
            "one": self.literal(1.0),
            "three": self.literal(3.0),
            **self.file.style.fields(self.is_narrow, self.number, self.helper),
        }
        for one in fields(node):
            table = getattr(node, one.name)
            if one.type in ("Table", "IndexTable") and table and table not in self.file.inlined:
                known[one.name] = self.table(table)
        if self.lazy:
            known["lazy"] = self.file.lazy(self.lazy)
        known |= {part: self.part(part) for part in self.parts}
        return SimpleNamespace(**(known | self.fields()), bodies=[*self.bodies(), *self.lazy_bodies()])


def plain(family: str, *nodes: type[Node], **facts: Any) -> None:
    """Classes for nodes whose macros read no more than all macros do."""
    for node in nodes:
        type(node.__name__, (CNode,), {"__module__": family, **facts})


def c_class(node: Node) -> type[CNode[Any]]:
    """The class that writes a node."""
    return CLASSES[type(node).__name__]


def helpers(file: CFile) -> list[dict[str, Any]]:
    """The helper functions of each number type, in the order of the nodes."""
    nodes = file.nodes.values()
    numbers: list[Number] = [float_number(file.program), *(node.number for node in nodes)]
    numbers += ["f64" for node in nodes if node.helpers_in_double]
    return [_helpers(file, number) for number in dict.fromkeys(numbers) if number in NUMBERS]


def _helpers(file: CFile, number: Number) -> dict[str, Any]:
    called: set[str] = set()
    for node in file.nodes.values():
        called |= node.helpers() if node.number == number else set()
        called |= node.helpers_in_double if number == "f64" else set()
        called |= {"pick"} if file.style.steady and node.number == number and node.picks else set()
    return {
        "prefix": file.prefix(number),
        "real": c_real(number),
        "numbers": NUMBERS[number],
        "uses": [helper for helper in HELPERS if helper in called],
    }


def fixed_dots(file: CFile) -> list[dict[str, Any]]:
    """The dot products that nodes in whole numbers call."""
    functions, signs = {}, {"i8": "s", "u8": "u"}
    for node in file.nodes.values():
        row = file.types[operands(node.node)[0]].whole
        if row and node.dots_with:
            own, function = node.dot_kind, node.dot_function
            functions[function] = {
                "function": function,
                "row": row,
                "row_type": c_real(row),
                "table": own,
                "table_type": c_real(WHOLE_TABLES[node.dot_table]),
                "nibbles": own not in WHOLE_TABLES.values(),
                # For instructions that multiply two numbers of 16 bits at once:
                "has_dsp": (row in signs and own in signs) or (row, own) == ("i16", "i16"),
                "bytes": own in signs,
                "step": 4 if own in signs else 2,
                "row_sign": signs.get(row, ""),
                "table_sign": signs.get(own, ""),
            }
    return list(functions.values())


def scratch_bytes(program: Program) -> int:
    """Bytes of the arrays on the stack at the deepest point; registers and addresses come on top."""
    file = CFile.of(program)
    rows = [_deepest(file, output.value) for output in program.outputs]
    chunks = [node.batch_scratch(lambda value: _deepest(file, value)) for node in file.nodes.values()]
    return max(rows + chunks) + text_bytes(file)


def text_bytes(file: CFile) -> int:
    """Bytes that a function of text takes beside those of a row: places in it, and counts."""
    text, row = file.program.input.text, file.program.n_features * BYTES[float_number(file.program)]
    if not text:
        return 0
    if any(node.takes_terms for node in file.nodes.values()):
        row = 2 * INT * HELD_TERMS[file.style.device]
    return row + CURSORS + max(part.most for part in text.parts) * CURSOR


def _deepest(file: CFile, goal: str) -> int:
    """Bytes at the deepest point of the function that computes a value from a row."""
    program, types = file.program, file.types
    nodes = [file.nodes[node.out] for node in needed(program, goal, {program.input.name})]
    held = [
        node.out_width * BYTES[value_number(node.node.out, program, types)]
        for node in nodes
        if types[node.node.out].kind in ARRAYS and not taken_over(program, types, node.node)
    ]
    held += [INT * node.out_width for node in nodes if types[node.node.out].kind is Kind.LABELS]
    below = [node.scratch() + (_deepest(file, node.lazy) if node.lazy else 0) for node in nodes]
    return sum(held) + max(below, default=0)


def stack_bytes(file: CFile, has_double: bool) -> int:
    """A bound on the stack of every function of one row: its arrays, and room for saved registers."""
    saved = SAVED_IN_WHOLE_NUMBERS if file.program.number in FIXED else SAVED
    saved = SAVED_WITH_DOUBLE if has_double else saved
    is_deep = any(node.walks or node.lazy for node in file.nodes.values())
    return scratch_bytes(file.program) + saved + (DEEPER if is_deep else 0)


def emitted_tables(program: Program) -> list[str]:
    """Tables that appear in the code, in the order of the nodes."""
    inlined = CFile.of(program).inlined
    names = [name for node in program.body for name in table_names(node) if name not in inlined]
    return list(dict.fromkeys(names))


CLASSES: dict[str, type[CNode[Any]]] = {}
