"""Node: one step of a program, declared once: its fields, type, meaning, cost and rounding.

A node class is a frozen dataclass of names and plain settings; arrays live in the program's tables. Its
methods read operands, tables and settings by field name from `at`: types in `result`, arrays in `run`,
values with their errors in `error`; in `work` types from `at` and arrays from `rows`. A field of a table
declares its shape, which `At.fit` checks: `weights: Table = field(metadata=dims("m d"))`.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.arithmetic import Arithmetic
from svmcompile.ir.differences import is_by_differences
from svmcompile.ir.kernel import Kernel
from svmcompile.ir.kinds import IndexTable, Kind, Level, Norm, Table, Type, Value
from svmcompile.ir.kinds import Tables as Tables

RowError = tuple[float, NDArray[Any]]  # by size, and of each feature
Result = tuple[NDArray[Any], NDArray[np.float64], Any]  # value, error, rows made unstable
N = TypeVar("N", bound="Node")
VALUES, TABLES = ("Value", "Lazy"), ("Table", "IndexTable")
Values = Mapping[str, NDArray[Any]]
# What the numbers of a table are: shifts and thresholds mean the same in every number type only if float32
# holds them, and bounds are not below zero.
Fact = Literal["float32", "bound"]
# Flops of one kernel value beside its dot product: a polynomial of degree 5 and
# the scaling for exp2, the same and a division for tanh.
SHAPE_FLOPS = {"exp2": 14, "distance": 14, "tanh": 18, "cosine": 14, "identity": 1, "given": 0}
MAX_DEGREE = 1 << 16


class Node(ABC):
    """What every node has; the facts are those of most nodes."""

    __slots__ = ()
    __dataclass_fields__: ClassVar[dict[str, Any]]
    out: Value
    level: ClassVar[Level] = Level.BOTH
    is_adaptive: ClassVar[bool] = False  # its cost, or that of what it reads, depends on the row
    is_whole: ClassVar[bool] = False  # its tables are whole numbers
    takes_whole: ClassVar[bool] = False  # it is for floats, and gives whole numbers where it reads some
    may_be_whole: ClassVar[bool] = False  # it may read whole numbers, its tables may be such
    sums_kernels: ClassVar[bool] = False  # it meets every vector, as the original does
    certificate: ClassVar[str] = ""  # what its sign can be checked by: polynomials, jets, vote
    in_place: ClassVar[bool] = False  # what it gives may stand where its operand stood
    joins: ClassVar[bool] = False  # it puts values side by side
    compares: ClassVar[bool] = False  # it sets the numbers it reads beside each other, or leads to that
    fills: ClassVar[bool] = False  # it makes numbers of missing features
    makes_features: ClassVar[bool] = False  # scores of an earlier step are features of the next
    leaves_out: ClassVar[bool] = False  # it takes some numbers of a row as they are, and no others
    widens: ClassVar[bool] = False  # it makes doubles of a row
    narrows: ClassVar[bool] = False  # it gives the program's numbers, though it may compute in double
    takes_floats: ClassVar[bool] = False  # in double it may read a row of floats, which it copies anyway
    guards: ClassVar[bool] = False  # it takes its first operand where that is sure, else the lazy one
    quantises: ClassVar[bool] = False  # it makes whole numbers of a row
    has_stages: ClassVar[bool] = False  # it stops as soon as it is sure
    is_sign: ClassVar[bool] = False  # its value is known no further than its sign needs
    has_orders: ClassVar[bool] = False  # it tries polynomials of one order after another
    flops: ClassVar[int] = 0  # per number it gives, where that is all its work
    flat_tables: ClassVar[tuple[str, ...]] = ()  # fields of tables that rows do not meet as a whole
    small_tables: ClassVar[Mapping[str, tuple[str, ...]]] = {}  # fields that may have these types as well

    def stands_on(self, at: At) -> Level:
        """The level of its layout, which its tables tell where a node has several."""
        return self.level

    @abstractmethod
    def result(self, at: At) -> Type:
        """The type it gives; ValueError if operands or tables do not fit."""

    @abstractmethod
    def run(self, at: At) -> NDArray[Any]:
        """Its value for all rows."""

    def work(self, at: At, rows: At | None) -> Work:
        """Kernel evaluations and flops, on average over the rows, or at most where there are none."""
        return Work(0, self.flops * at.out.width)

    def error(self, at: At, a: Arithmetic) -> Result:
        """Its value, a bound on its error, and the rows it makes unstable."""
        raise TypeError(f"no error bound for {type(self).__name__}")

    def row_error(self, at: At, a: Arithmetic) -> RowError | None:
        """(r, c) with |error_j| <= r |value_j| + c_j for every row, from those of what it reads; None if
        there is no such bound: sums of features may cancel, and what is left of them may be all error.
        """
        return None

    @property
    def values_for_cost(self) -> tuple[Value, ...]:
        """What must be known of rows to tell its work, and which of them need its lazy operand."""
        return (self.out, *operands(self))

    def needs_lazy(self, rows: At) -> NDArray[np.bool_]:
        """The rows for which it needs its lazy operand."""
        raise TypeError(f"{type(self).__name__} has no lazy operand")

    def gives_sign(self, types: Mapping[str, Type]) -> bool:
        """Is its value known no further than its sign needs?"""
        return self.is_sign

    def whole_limit(self, at: At) -> int:
        """The largest size of its value, if it takes whole numbers."""
        raise TypeError(f"{type(self).__name__} does not take whole numbers")

    def whole_error(self, at: At, error: float) -> tuple[Any, NDArray[np.bool_]] | None:
        """In a program of whole numbers whose sums are off by `error`: bounds on its scores, and the rows
        whose label that may change; None where nothing is known."""
        return None

    def near(self, at: At, slack: NDArray[Any]) -> NDArray[np.bool_]:
        """Rows that come so close to a threshold that quantising may send them another way."""
        raise TypeError(f"{type(self).__name__} has no tests in whole numbers")

    def value(self, at: At) -> NDArray[Any]:
        """Its value, from the values beside the errors."""
        return self.run(At(self, at.tables, {name: at.read[name].value for name in operands(self)}))

    def sure_value(self, at: At, unstable: Any = False) -> Result:
        """Its value without an error, as of a label or a leaf, and the rows it makes unstable."""
        value = self.value(at)
        return value, np.zeros(len(value)), unstable


class LaidOut(Node):
    """A layout of another node: type, meaning and cost are those of the node it stands for."""

    __slots__ = ()

    @abstractmethod
    def unpack(self, at: At) -> At:
        """The node it stands for, with the tables and values that this one reads."""

    def run(self, at: At) -> NDArray[Any]:
        plain = self.unpack(at)
        return plain.node.run(plain)

    def work(self, at: At, rows: At | None) -> Work:
        plain = self.unpack(at)
        return plain.node.work(plain, rows and self.unpack(rows))

    def needs_lazy(self, rows: At) -> NDArray[np.bool_]:
        plain = self.unpack(rows)
        return plain.node.needs_lazy(plain)


class At:
    """A node's operands, tables and settings, by field name."""

    __slots__ = ("_kinds", "node", "read", "tables")

    def __init__(self, node: Any, tables: Tables, read: Mapping[str, Any] | None = None) -> None:
        self.node, self.tables, self.read = node, tables, {} if read is None else read
        self._kinds: dict[str, str] = field_kinds(type(node))

    def __getattr__(self, name: str) -> Any:
        held = getattr(self.node, name)
        kind = self._kinds.get(name)
        if kind in VALUES:
            return self.read[held]
        return self.tables[held] if kind in TABLES else held

    @property
    def d(self) -> int:
        """The width of the features it reads."""
        need(self.x.kind is Kind.FEATURES, f"%{self.node.x} is not features")
        return int(self.x.width)

    @property
    def m(self) -> int:
        """How many sums there are: one per bias."""
        sums = int(self.bias.shape[0])
        need(sums > 0, f"bias @{self.node.bias} is empty")
        return sums

    @property
    def vector_width(self) -> int:
        """How wide the vectors must be."""
        width = self.d
        if self.kernel.kind != "precomputed":
            return width
        within(self.vectors, width, "a training point")
        return 1

    @property
    def leaves(self) -> int:
        """How many leaves its leaf may be."""
        need(self.leaf.kind is Kind.INDEX, f"%{self.node.leaf} is not an index")
        return int(self.leaf.width)

    def fit(self, **sizes: int | tuple[int, ...]) -> None:
        """Hold its tables against what their fields declare, and its kernel against what code can compute.

        Sizes are given by name, shapes that hang on more by field. A name that is not given has the size
        that it has where it first stands; `d`, `m` and `leaves` are known.
        """
        known = {name: size for name, size in sizes.items() if not isinstance(size, tuple)}
        for one in fields(self.node):
            if one.name == "kernel":
                _check_kernel(self.kernel)
            elif one.name == "degree":
                _check_degree(self.degree)
            elif one.type in TABLES and getattr(self.node, one.name):
                shape = sizes.get(one.name, ())
                self._fit_table(one.name, shape if isinstance(shape, tuple) else (), known, one.metadata)

    def _fit_table(
        self, field: str, shape: tuple[int, ...], known: dict[str, int], declared: Mapping[str, Any]
    ) -> None:
        table, name = getattr(self, field), getattr(self.node, field)
        if not shape and declared.get("dims"):
            tokens = declared["dims"].split()
            same = len(tokens) == table.ndim
            found = zip(tokens, table.shape if same else [None] * len(tokens), strict=True)
            shape = tuple(self._size(token, size, known) for token, size in found)
        expected = str(shape).replace("'", "")
        need(not shape or table.shape == shape, f"{field} @{name} is {table.shape}, expected {expected}")
        if "float32" in declared.get("facts", ()):
            _check_float32(name, table)
        if "bound" in declared.get("facts", ()):
            need(bool((table >= 0).all()), f"@{name} holds a number below zero")

    def _size(self, token: str, size: int | None, known: dict[str, int]) -> Any:
        """The size that a token such as `3`, `n` or `n+1` says; a new name takes the size that it meets."""
        if token.isdigit():
            return int(token)
        name, more = re.findall(r"(\w+)([+-]\d+)?", token)[0]
        if name not in known and name in ("d", "m", "leaves"):
            known[name] = getattr(self, name)
        if name not in known and size is not None:
            known[name] = size - int(more or 0)
        return known[name] + int(more or 0) if name in known else token


def dims(sizes: str, *facts: Fact) -> dict[str, Any]:
    """The shape of a table and what its numbers are, to be the metadata of its field."""
    return {"dims": sizes, "facts": facts}


def value_at(at: At) -> Any:
    """What a node gives where it stands: the type of types, the value of values."""
    read = at.read[operands(at.node)[0]]
    return at.node.result(at) if isinstance(read, Type) else at.node.run(at)


def standing_for(kind: type[N], node: Node, **changes: Any) -> N:
    """A node of another class with the same fields, but for changes."""
    names = [field.name for field in fields(kind) if field.name not in changes]
    return kind(**{name: getattr(node, name) for name in names}, **changes)


def field_kinds(kind: type[Node]) -> dict[str, str]:
    """What each field of a node class is: Value, Lazy, Table, IndexTable, or a plain setting."""
    if kind not in _KINDS:
        _KINDS[kind] = {field.name: str(field.type) for field in fields(kind)}
    return _KINDS[kind]


def operands(node: Node) -> tuple[Value, ...]:
    """Names of the values a node reads."""
    return _fields_of(node, *VALUES)


def lazy_operands(node: Node) -> tuple[Value, ...]:
    """Those that only some rows need."""
    return _fields_of(node, "Lazy")


def table_names(node: Node) -> tuple[Table, ...]:
    """Names of the tables a node reads; a field is empty where its layout does without the table."""
    return tuple(name for name in _fields_of(node, *TABLES) if name)


def index_tables(node: Node) -> tuple[IndexTable, ...]:
    """Those of whole numbers."""
    return _fields_of(node, "IndexTable")


def _fields_of(node: Node, *kinds: str) -> tuple[str, ...]:
    known = field_kinds(type(node))
    return tuple(getattr(node, name) for name, kind in known.items() if kind in kinds and name != "out")


def run(node: Node, read: Mapping[str, NDArray[Any]], tables: Tables) -> NDArray[Any]:
    """The value of one node for all rows."""
    return node.run(At(node, tables, read))


@dataclass(frozen=True, slots=True)
class Work:
    """What a row costs in one node, on average over the rows given or at most."""

    kernel_evaluations: float
    flops: float

    def __rmul__(self, share: float) -> Work:
        return Work(share * self.kernel_evaluations, share * self.flops)

    def __add__(self, other: Work) -> Work:
        return Work(self.kernel_evaluations + other.kernel_evaluations, self.flops + other.flops)


def kernel_sum_flops(kernel: Kernel, n: int, d: int, weights_per_vector: int) -> int:
    """Flops of n kernel values in d dimensions, each entering some sums."""
    if kernel.kind == "precomputed":  # what the caller's own kernel costs is not known
        return n * 2 * weights_per_vector
    if is_by_differences(kernel):
        return n * (3 * d + SHAPE_FLOPS["exp2"] + 2 * weights_per_vector)
    return n * (2 * d + shape_flops(kernel.shape, kernel.degree) + 2 * weights_per_vector)


def shape_flops(shape: str, degree: int) -> int:
    return 1 + 2 * degree.bit_length() if shape == "power" else SHAPE_FLOPS[shape]


def mean_or_most(per_leaf: NDArray[Any], rows: Any, field: str) -> float:
    """Of the leaves that rows fall into, on average; without rows, of the worst leaf."""
    return float(per_leaf.max() if rows is None else per_leaf[getattr(rows, field)].mean())


def norms(x: NDArray[Any], norm: Norm) -> NDArray[np.float64]:
    """The norm of each row, in double."""
    sizes = np.abs(x.astype(np.float64))
    if norm == "l2":
        return np.asarray(np.sqrt(np.square(sizes).sum(axis=1)))
    return np.asarray(sizes.sum(axis=1) if norm == "l1" else sizes.max(axis=1))


def need(condition: bool, message: str) -> None:
    if not condition:
        raise ValueError(message)


def _check_kernel(kernel: Kernel) -> None:
    need(math.isfinite(kernel.gamma) and math.isfinite(kernel.coef0), "the kernel is not finite")
    _check_degree(kernel.degree)


def _check_degree(degree: int) -> None:
    need(0 <= degree <= MAX_DEGREE, f"degree {degree} is not within 0 and {MAX_DEGREE}")


def rising(starts: NDArray[Any], end: int, what: str = "functions") -> None:
    """Starts of parts that follow each other, and the end of the last."""
    rises = starts[0] == 0 and starts[-1] == end and (np.diff(starts.astype(np.int64)) >= 0).all()
    need(bool(rises), f"starts do not rise from zero to the number of {what}")


def within(indices: NDArray[Any], end: int, what: str) -> None:
    need(bool(((indices >= 0) & (indices < end)).all()), f"{what} is not within 0 and {end - 1}")


def _check_float32(name: str, table: NDArray[Any]) -> None:
    with np.errstate(over="ignore"):
        same = table.astype(np.float32).astype(table.dtype) == table
    need(bool(same.all()), f"@{name} holds numbers that are not float32")


def tree_type(at: At) -> Type:
    """The type of a route: every walk ends, and every leaf stands at the end of one."""
    links = links_of(at)
    leaves = len(links) + 1
    need(np.array_equal(np.sort(~links[links < 0]), np.arange(leaves)), "a leaf has not one parent")
    return Type(Kind.INDEX, leaves)


def links_of(at: At) -> NDArray[Any]:
    """The children of a tree whose every walk ends."""
    links: NDArray[Any] = at.children
    nodes = len(links)
    need(nodes > 0, "a tree without a node")
    later = (links < 0) | (links > np.arange(nodes)[:, None])
    need(bool(later.all() and (links < nodes).all()), "a child does not come after its parent")
    need(np.array_equal(np.sort(links[links >= 0]), np.arange(1, nodes)), "a node has not one parent")
    return links


_KINDS: dict[type[Node], dict[str, str]] = {}
