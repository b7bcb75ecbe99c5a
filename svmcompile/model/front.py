"""Front: what a row goes through before the kernel sees it, as nodes from the value ROW on.

Readers make a front of each transformer and put them together, such as
`scale(mean, factor).then(clip(0.0, 1.0))`. Tables hold the numbers as the original has them;
`in_float32` gives those that programs need.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import accumulate
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from svmcompile.data.text import NO_TEXT, Text
from svmcompile.errors import UnsupportedError
from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import Array, nearest_float32, split_shift
from svmcompile.ir.check import infer_types
from svmcompile.ir.differences import is_by_differences
from svmcompile.ir.interpret import interpret_values
from svmcompile.ir.kernel import Kernel
from svmcompile.ir.kinds import Norm, Test, Types
from svmcompile.ir.node import At
from svmcompile.ir.program import Claim, Input, Origin, Program
from svmcompile.model.head import renamed
from svmcompile.model.sources import SOURCES, added, as_wide

ROW = "x"
NOWHERE = Origin("", "", 0, 0, "", Claim.EXACT)
Tables = dict[str, NDArray[Any]]
Place = tuple[int, ...]
SomeNode = TypeVar("SomeNode", bound=ir.Node)


class Step(NamedTuple):
    """What one function below has added to a front, for digests and messages."""

    place: Place  # its number; within a branch, behind the numbers of the join and the branch
    kind: str
    tables: tuple[str, ...]  # those it was given
    settings: tuple[object, ...]
    problems: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Front:
    """Nodes in order, their tables, and the value that the kernel sees."""

    nodes: tuple[ir.Node, ...] = ()
    tables: Tables = field(default_factory=dict)
    out: str = ROW
    takes: int | None = None  # how wide a row must be; None if any width will do
    gives: int | None = None  # how wide it comes out; None if as wide as it went in
    steps: tuple[Step, ...] = ()
    text: Text = NO_TEXT  # whose counts the row is, where it is made of text

    def width_after(self, width: int) -> int:
        """How wide rows of a width come out."""
        return width if self.gives is None else self.gives

    def then(self, other: Front) -> Front:
        """Both, the other behind this one."""
        if other.text and (self.nodes or self.text):
            raise UnsupportedError("text is counted first, before any other step; put its vectorizer first")
        first = sum(len(step.place) == 1 for step in self.steps)
        behind = other._placed(self.out, self._numbers, self.gives, (), first)
        takes = other.takes if self.takes is None else self.takes
        gives = self.gives if other.gives is None else other.gives
        nodes, tables = self.nodes + behind.nodes, self.tables | behind.tables
        return Front(
            nodes, tables, behind.out, takes, gives, self.steps + behind.steps, self.text or other.text
        )

    @property
    def _numbers(self) -> int:
        """How many numbers the names have used up; the last is that of the result."""
        return 0 if self.out == ROW else int(self.out[1:]) + 1

    def _placed(self, row: str, by: int, given: int | None, branch: Place, first: int = 0) -> Front:
        """The same as a part of another: numbers count on from there, and what does not fit is noted."""
        front = self._renamed(row, lambda name: _later(name, by))
        steps = [one._replace(place=(*branch, first + one.place[0], *one.place[1:])) for one in front.steps]
        if steps and None not in (self.takes, given) and self.takes != given:
            misfit = f"takes {self.takes} features and is given {given}"
            steps[0] = steps[0]._replace(problems=(misfit, *steps[0].problems))
        return replace(front, steps=tuple(steps))

    def reading(self, row: str, prefix: str) -> Front:
        """The same from a row of another name, its own names behind a prefix."""
        return self._renamed(row, lambda name: prefix + name)

    def _renamed(self, row: str, rename: Callable[[str], str]) -> Front:
        names = {name: rename(name) for name in (*(node.out for node in self.nodes), *self.tables)}
        names[ROW] = row
        nodes = tuple(renamed(node, names) for node in self.nodes)
        tables = {names[name]: table for name, table in self.tables.items()}
        steps = [step._replace(tables=tuple(names[name] for name in step.tables)) for step in self.steps]
        return replace(self, nodes=nodes, tables=tables, out=names[self.out], steps=tuple(steps))

    def of_kind(self, kind: type[SomeNode]) -> list[SomeNode]:
        return [node for node in self.nodes if isinstance(node, kind)]

    def run(self, rows: Array) -> Array:
        """The rows as the kernel sees them."""
        if self.out == ROW:
            return rows
        return interpret_values(self._program(rows.shape[1]), rows, {self.out})[self.out]

    def _program(self, width: int) -> Program:
        return Program(Input(width, ROW), self.nodes, (), self.tables, None, NOWHERE)

    def types(self, width: int) -> Types:
        """The type of every value, for rows of a width."""
        return infer_types(self._program(width))

    def in_float32(self) -> Front:
        """The same about shifts and centres that float32 holds, which programs must have."""
        front = self._about(nearest_float32)
        for node in self.of_kind(ir.Scale):
            shift, factor = self.tables[node.shift], self.tables[node.factor]
            front.tables[node.shift], front.tables[node.offset] = split_shift(shift, factor)
        return front

    def uncentred(self) -> Front:
        """The same as scikit-learn computes it, which takes means off behind a product: more rounding."""
        return self._about(np.zeros_like)

    def _about(self, choose: Callable[[Array], Array]) -> Front:
        """The same, each product about the centre that is chosen for its own."""
        tables = dict(self.tables)
        for node in self.of_kind(ir.Affine):
            tables[node.centre] = choose(self.tables[node.centre])
            moved = tables[node.weights] @ (tables[node.centre] - self.tables[node.centre])
            tables[node.bias] = tables[node.bias] + moved
        return replace(self, tables=tables)

    def source(self, rows: Array) -> Array:
        """Rows from which the front may have come to these, or nearly: good for probes, no inverse.

        Where branches read one value, it is the sum of what they say: right if they share no column.
        """
        width = rows.shape[1] if self.takes is None else self.takes
        types = self.in_float32().types(width)
        sources: dict[str, list[Array]] = {self.out: [rows]}
        for node in reversed(self.nodes):
            widths = [types[name].width for name in ir.operands(node)]
            behind, source = added(sources[node.out]), SOURCES.get(type(node))
            before = source(At(node, self.tables), behind, widths) if source else as_wide(behind, widths)
            for name, part in zip(ir.operands(node), before, strict=True):
                sources.setdefault(name, []).insert(0, part)
        return added(sources[ROW])

    def problems(self) -> Iterator[str]:
        """What does not fit, in words."""
        for step in self.steps:
            for problem in step.problems:
                yield f"step {_dotted(step.place)} ({step.kind.lower()}): {problem}"

    def parts(self) -> dict[str, object]:
        """Everything that decides what the front computes, by name, for a digest."""
        parts: dict[str, object] = {}
        for step in self.steps:
            at = _dotted(step.place)
            parts |= {f"{_stem(name).removeprefix('map_')}{at}": self.tables[name] for name in step.tables}
            if step.kind != "Scale":
                name = step.kind.lower() if step.kind in ("Clip", "Join") else f"{step.kind}Step"
                parts[f"{name}{at}"] = step.settings
        return parts | ({"text": self.text} if self.text else {})


IDENTITY = Front()


def _stem(name: str) -> str:
    return name.rstrip("0123456789")


def _later(name: str, by: int) -> str:
    return f"{_stem(name)}{int(name[len(_stem(name)) :]) + by}"


def _dotted(place: Place) -> str:
    return ".".join(map(str, place))


def chain(fronts: Iterable[Front]) -> Front:
    """One behind the other."""
    return reduce(Front.then, fronts, IDENTITY)


def join(branches: Sequence[Front], width: int) -> Front:
    """Several, each over the whole row, their results side by side."""
    starts = [0, *accumulate(branch._numbers for branch in branches)]
    parts = [
        branch._placed(ROW, start, width, (0, index))
        for index, (branch, start) in enumerate(zip(branches, starts, strict=False))
    ]
    nodes = [node for part in parts for node in part.nodes]
    out = parts[0].out
    for number, part in enumerate(parts[1:], starts[-1]):
        nodes.append(ir.Join(f"z{number}", out, part.out))
        out = f"z{number}"
    tables = {name: table for part in parts for name, table in part.tables.items()}
    steps = [Step((0,), "Join", (), (width, len(parts)), ())]
    steps += [step for part in parts for step in part.steps]
    gives = sum(part.width_after(width) for part in parts)
    return Front(tuple(nodes), tables, out, width, gives, tuple(steps))


def apart(text: NDArray[np.bool_], step: Callable[[NDArray[np.bool_]], Front]) -> Front:
    """A step over features, apart for text and for numbers: what is missing has other codes in them."""
    if text.all() or not text.any():
        return step(np.full(len(text), True))
    parts = [pick(np.flatnonzero(own), len(text)).then(step(own)) for own in (~text, text)]
    order = np.argsort(np.argsort(text, kind="stable"))
    return join(parts, len(text)).then(pick(order, len(text)))


def scale(shift: Array, factor: Array) -> Front:
    """z = (x - shift) * factor, feature by feature."""
    width = len(factor)
    misfit = f"{len(shift)} shifts for {width} factors" if shift.shape != factor.shape else ""
    node, tables = ir.Scale("z0", ROW, "shift0", "factor0", "offset0"), {"shift0": shift, "factor0": factor}
    return _front("Scale", [node], tables, (), width, width, misfit, offset0=width)


def clip(low: float, high: float) -> Front:
    """z = min(max(x, low), high)."""
    return _front("Clip", [ir.Clip("z0", ROW, low, high)], {}, (low, high))


def pick(columns: NDArray[np.int64], width: int) -> Front:
    """Some of the columns of a row, in an order of their own; no node for all in their own order."""
    if len(columns) == width and np.array_equal(columns, np.arange(width)):
        return Front(takes=width, gives=width)
    misfit = "" if _within(columns, width) else f"a column is not among the {width} features"
    node, tables = ir.Pick("z0", ROW, "columns0"), {"columns0": columns}
    return _front("Pick", [node], tables, (width,), width, len(columns), misfit)


def normalize(norm: Norm, least: float) -> Front:
    """z = x / norm; rows whose norm is below `least` stay as they are."""
    return _front("Normalize", [ir.Normalize("z0", ROW, norm, least)], {}, (norm, least))


def powers(factors: NDArray[np.int64], width: int) -> Front:
    """Products of features: `factors` [m, degree] holds columns, `width` where a product has fewer."""
    misfit = "" if _within(factors, width + 1) else f"a factor is not among the {width} features"
    node, tables = ir.Powers("z0", ROW, "factors0"), {"factors0": factors}
    return _front("Powers", [node], tables, (width,), width, len(factors), misfit)


def cosine(factor: float) -> Front:
    """z = factor * cos(2 pi x), feature by feature."""
    return _front("Cosine", [ir.Cosine("z0", ROW, factor)], {}, (factor,))


def log_counts() -> Front:
    """z = 1 + ln x where x is above zero, 0 for 0."""
    return _front("LogCounts", [ir.LogCounts("z0", ROW)], {}, ())


def box_cox(powers: Array, both: bool) -> Front:
    """z = (x^p - 1) / p, with a power p for each feature; `both`: Yeo and Johnson's, of any sign."""
    node, width = ir.BoxCox("z0", ROW, "powers0", both), len(powers)
    return _front("BoxCox", [node], {"powers0": powers}, (both,), width, width)


def fill(values: NDArray[Any], nan: bool, marker: Any) -> Front:
    """Missing features get values of their own; missing is NaN, or what equals the marker.

    Where features are text, values are texts, and the marker may be one, or None.
    """
    node = ir.Fill("z0", ROW, "values0", nan, marker)
    return _front("Fill", [node], {"values0": values}, (nan, marker), len(values), len(values))


def missing(nan: bool, marker: Any) -> Front:
    """1 where a feature is missing, else 0."""
    return _front("Missing", [ir.Missing("z0", ROW, nan, marker)], {}, (nan, marker))


def flags(columns: NDArray[np.int64], values: NDArray[Any], test: Test, width: int) -> Front:
    """1 where a feature is a number, or is not below it."""
    misfit = "" if _within(columns, width) else f"a column is not among the {width} features"
    node, tables = (
        ir.Matches("z0", ROW, "columns0", "values0", test),
        {"columns0": columns, "values0": values},
    )
    return _front("Matches", [node], tables, (width, test), width, len(columns), misfit)


def lookup(values: Sequence[NDArray[Any]], levels: Sequence[Array], unknown: Array) -> Front:
    """Levels [outputs, values] at values of each feature, `unknown` [features, outputs] elsewhere."""
    sizes, orders = [len(one) for one in values], [rising(one) for one in values]
    knots = np.concatenate([own[order] for own, order in zip(values, orders, strict=True)])
    heights = np.concatenate([own.T[order] for own, order in zip(levels, orders, strict=True)])
    starts = np.concatenate([[0], np.cumsum(sizes)])
    return pieces(starts, knots, heights, np.repeat(unknown, np.array(sizes) + 1, axis=0))


def rising(values: NDArray[Any]) -> NDArray[np.intp]:
    """The order in which numbers rise; of texts, which have no codes yet, the one they have."""
    return np.arange(len(values)) if values.dtype == object else np.argsort(values, kind="stable")


def pieces(starts: NDArray[np.int64], *tables: NDArray[Any]) -> Front:
    """Curves of each feature: knots, levels and pieces as the node `Pieces` has them; periods."""
    names = ("starts0", "knots0", "levels0", "pieces0", "origins0", "periods0")[: len(tables) + 1]
    node = (ir.Pieces if len(tables) == 3 else ir.PeriodicPieces)("z0", ROW, *names)
    held, width = dict(zip(names, (starts, *tables), strict=True)), len(starts) - 1
    return _front("Pieces", [node], held, (), width, width * tables[1].shape[1])


def project(weights: Array, centre: Array, bias: Array) -> Front:
    """z = weights (x - centre) + bias, for weights [m, d]."""
    sizes = (len(bias), len(centre))
    misfit = f"weights have shape {weights.shape}, not {sizes}" if weights.shape != sizes else ""
    tables = {"map_weights0": weights, "map_bias0": bias, "map_centre0": centre}
    nodes: list[ir.Node] = [ir.Affine("map0", ROW, *tables), ir.AsFeatures("z0", "map0")]
    return _front("Project", nodes, tables, (), weights.shape[1], len(weights), misfit)


def kernel_map(vectors: Array, weights: Array, kernel: Kernel, bias: Array | None = None) -> Front:
    """z = weights k(x, vectors) + bias, for weights [m, n]: a map by kernel values with some points."""
    sizes = f"weights have shape {weights.shape} for {len(vectors)} vectors"
    misfit = sizes if weights.shape[1:] != vectors.shape[:1] else ""
    tables, zeros = {"map_vectors0": vectors, "map_weights0": weights}, {"map_bias0": len(weights)}
    if bias is not None:
        tables, zeros = {**tables, "map_bias0": bias}, {}
    kind = ir.DifferenceSum if is_by_differences(kernel) else ir.KernelSum
    sums = kind("map0", ROW, "map_vectors0", "map_weights0", "map_bias0", kernel)
    nodes: list[ir.Node] = [sums, ir.AsFeatures("z0", "map0")]
    return _front("KernelMap", nodes, tables, (kernel,), vectors.shape[1], len(weights), misfit, **zeros)


def nodes_front(nodes: Sequence[ir.Node], tables: Tables, takes: int, gives: int) -> Front:
    """Any nodes from ROW to the value z0; all their names end in the number 0."""
    return _front("Answers", nodes, tables, (str(tuple(nodes)),), takes, gives)


def _front(
    kind: str, nodes: Sequence[ir.Node], tables: Tables, settings: tuple[object, ...],
    takes: int | None = None, gives: int | None = None, misfit: str = "", **zeros: int,
) -> Front:  # fmt: skip
    """A front of one step, whose names end in its number, 0; `zeros`: sizes of tables that it adds."""
    problems = [
        f"{_stem(name).removeprefix('map_')} hold a NaN or an infinity"
        for name, table in tables.items()
        if table.dtype != object and not np.isfinite(table).all()
    ]
    problems += [misfit] * bool(misfit) + ["leaves no features"] * (gives == 0)
    step = Step((0,), kind, tuple(tables), settings, tuple(problems))
    tables = tables | {name: np.zeros(size) for name, size in zeros.items()}
    return Front(tuple(nodes), tables, "z0", takes, gives, (step,))


def _within(columns: NDArray[np.int64], end: int) -> bool:
    return bool(((columns >= 0) & (columns < end)).all())
