"""Node: one step of a program, declared once: its fields, type, meaning, cost and rounding.

A node class is a frozen dataclass of names and plain settings; arrays live in the program's tables. Its
methods read operands, tables and settings by field name from `at`: types in `result`, arrays in `run`,
values with their errors in `error`; in `work` types from `at` and arrays from `rows`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.arithmetic import Arithmetic
from svmcompile.ir.kinds import IndexTable, Level, Table, Type, Value
from svmcompile.ir.kinds import Tables as Tables
from svmcompile.ir.work import Work

Result = tuple[NDArray[Any], NDArray[np.float64], Any]  # value, error, rows made unstable
N = TypeVar("N", bound="Node")
VALUES, TABLES = ("Value", "Lazy"), ("Table", "IndexTable")


class Node:
    """What every node has; the facts are those of most nodes."""

    __slots__ = ()
    __dataclass_fields__: ClassVar[dict[str, Any]]
    out: Value
    level: ClassVar[Level] = Level.BOTH
    is_adaptive: ClassVar[bool] = False  # its cost, or that of what it reads, depends on the row
    is_whole: ClassVar[bool] = False  # its tables are whole numbers
    takes_whole: ClassVar[bool] = False  # it is for floats, and gives whole numbers where it reads some
    may_be_whole: ClassVar[bool] = False  # its tables may be whole numbers
    sums_kernels: ClassVar[bool] = False  # it meets every vector, as the original does
    certificate: ClassVar[str] = ""  # what its sign can be checked by: polynomials, jets, vote
    widens: ClassVar[bool] = False  # it makes doubles of a row
    guards: ClassVar[bool] = False  # it takes its first operand where that is sure, else the lazy one
    quantises: ClassVar[bool] = False  # it makes whole numbers of a row
    has_stages: ClassVar[bool] = False  # it stops as soon as it is sure
    flops: ClassVar[int] = 0  # per number it gives, where that is all its work
    flat_tables: ClassVar[tuple[str, ...]] = ()  # fields of tables that rows do not meet as a whole
    small_tables: ClassVar[Mapping[str, tuple[str, ...]]] = {}  # fields that may have these types as well

    def stands_on(self, at: At) -> Level:
        """The level of its layout, which its tables tell where a node has several."""
        return self.level

    def result(self, at: At) -> Type:
        """The type it gives; ValueError if operands or tables do not fit."""
        raise NotImplementedError(f"no type rule for {type(self).__name__}")

    def run(self, at: At) -> NDArray[Any]:
        """Its value for all rows."""
        raise NotImplementedError(f"no meaning for {type(self).__name__}")

    def work(self, at: At, rows: At | None) -> Work:
        """Kernel evaluations and flops, on average over the rows, or at most where there are none."""
        return Work(0, self.flops * at.out.width)

    def error(self, at: At, a: Arithmetic) -> Result:
        """Its value, a bound on its error, and the rows it makes unstable."""
        raise TypeError(f"no error bound for {type(self).__name__}")

    def needs_lazy(self, rows: At) -> NDArray[np.bool_]:
        """The rows for which it needs its lazy operand."""
        raise TypeError(f"{type(self).__name__} has no lazy operand")

    def gives_sign(self, types: Mapping[str, Type]) -> bool:
        """Is its value known no further than its sign needs?"""
        return False

    def whole_limit(self, at: At) -> int:
        """The largest size of its value, if it takes whole numbers."""
        raise TypeError(f"{type(self).__name__} does not take whole numbers")

    def near(self, at: At, slack: NDArray[Any]) -> NDArray[np.bool_]:
        """Rows that come so close to a threshold that quantising may send them another way."""
        raise TypeError(f"{type(self).__name__} has no tests in whole numbers")

    def value(self, at: At) -> NDArray[Any]:
        """Its value, from the values beside the errors."""
        return self.run(At(self, at.tables, {name: at.read[name].value for name in operands(self)}))


class LaidOut(Node):
    """A layout of another node: type, meaning and cost are those of the node it stands for."""

    __slots__ = ()

    def told(self, at: At) -> At:
        """The node it stands for, with the tables and values that this one reads."""
        raise NotImplementedError(f"{type(self).__name__} is not told as another node")

    def run(self, at: At) -> NDArray[Any]:
        told = self.told(at)
        value: NDArray[Any] = told.node.run(told)
        return value

    def work(self, at: At, rows: At | None) -> Work:
        told = self.told(at)
        work: Work = told.node.work(told, None if rows is None else self.told(rows))
        return work

    def needs_lazy(self, rows: At) -> NDArray[np.bool_]:
        told = self.told(rows)
        needs: NDArray[np.bool_] = told.node.needs_lazy(told)
        return needs


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


_KINDS: dict[type[Node], dict[str, str]] = {}


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
