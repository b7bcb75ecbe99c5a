"""Front: what a row goes through before the kernel sees it, as nodes from the value ROW on.

Readers make a front of each transformer and put them together, such as
`scale(mean, factor).then(clip(0.0, 1.0))`. Tables hold the numbers as the original has them;
`in_float32` gives those that programs need.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir import nodes as ir
from svmcompile.ir.check import infer_types
from svmcompile.ir.interpret import interpret_values
from svmcompile.ir.kernel import Array, Kernel
from svmcompile.ir.nodes import Node, operands
from svmcompile.ir.program import Claim, Input, Origin, Program
from svmcompile.ir.shift import nearest_float32, split_shift
from svmcompile.model.head import renamed

ROW = "x"
NOWHERE = Origin("", "", 0, 0, "", Claim.EXACT)
Tables = dict[str, NDArray[Any]]
Place = tuple[int, ...]
SomeNode = TypeVar("SomeNode", bound=Node)


class Step(NamedTuple):
    """What one function below has added to a front, for digests and messages."""

    place: Place  # its number; within a branch, behind the numbers of the join and the branch
    kind: str
    tables: Mapping[str, str]  # the tables it was given, by their names in digests
    settings: tuple[object, ...]
    problems: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Front:
    """Nodes in order, their tables, and the value that the kernel sees."""

    nodes: tuple[Node, ...] = ()
    tables: Tables = field(default_factory=dict)
    out: str = ROW
    takes: int | None = None  # how wide a row must be; None if any width will do
    gives: int | None = None  # how wide it comes out; None if as wide as it went in
    steps: tuple[Step, ...] = ()

    def then(self, other: Front) -> Front:
        """Both, the other behind this one."""
        first = sum(len(step.place) == 1 for step in self.steps)
        behind = other._moved(
            self.out, self._numbers, self.gives, lambda place: (first + place[0], *place[1:])
        )
        return Front(
            self.nodes + behind.nodes,
            self.tables | behind.tables,
            behind.out,
            other.takes if self.takes is None else self.takes,
            self.gives if other.gives is None else other.gives,
            self.steps + behind.steps,
        )

    def reading(self, row: str, prefix: str) -> Front:
        """The same from a row of another name, its own names behind a prefix."""
        return self._renamed({name: prefix + name for name in self._names} | {ROW: row})

    @property
    def _names(self) -> list[str]:
        return [*(node.out for node in self.nodes), *self.tables]

    @property
    def _numbers(self) -> int:
        """How many numbers the names have used up; the last is that of the result."""
        return 0 if self.out == ROW else int(self.out[1:]) + 1

    def _moved(self, row: str, by: int, given: int | None, place: Callable[[Place], Place]) -> Front:
        """The same as a part of another: names count on from there, and what does not fit is noted."""
        front = self._renamed({name: _later(name, by) for name in self._names} | {ROW: row})
        steps = [step._replace(place=place(step.place)) for step in front.steps]
        if None not in (self.takes, given) and self.takes != given:
            problem = f"takes {self.takes} features and is given {given}"
            steps[:1] = [step._replace(problems=(*step.problems, problem)) for step in steps[:1]]
        return replace(front, steps=tuple(steps))

    def _renamed(self, names: Mapping[str, str]) -> Front:
        return replace(
            self,
            nodes=tuple(renamed(node, names) for node in self.nodes),
            tables={names[name]: table for name, table in self.tables.items()},
            out=names[self.out],
            steps=tuple(
                step._replace(tables={key: names[name] for key, name in step.tables.items()})
                for step in self.steps
            ),
        )

    def of_kind(self, kind: type[SomeNode]) -> list[SomeNode]:
        return [node for node in self.nodes if isinstance(node, kind)]

    def run(self, rows: Array) -> Array:
        """The rows as the kernel sees them."""
        if self.out == ROW:
            return rows
        return interpret_values(self._program(rows.shape[1]), rows, {self.out})[self.out]

    def _program(self, width: int) -> Program:
        return Program(Input(width, ROW), self.nodes, (), self.tables, None, NOWHERE)

    def in_float32(self) -> Front:
        """The same about shifts and centres that float32 holds, which programs must have."""
        tables = dict(self.tables)
        for scaling in self.of_kind(ir.Scale):
            shift, factor = tables[scaling.shift], tables[scaling.factor]
            tables[scaling.shift], tables[scaling.offset] = split_shift(shift, factor)
        for product in self.of_kind(ir.Affine):
            tables |= _about(product, tables, nearest_float32(tables[product.centre]))
        return replace(self, tables=tables)

    def uncentred(self) -> Front:
        """The same as scikit-learn computes it, which takes means off behind a product: more rounding."""
        tables = dict(self.tables)
        for product in self.of_kind(ir.Affine):
            tables |= _about(product, tables, np.zeros_like(tables[product.centre]))
        return replace(self, tables=tables)

    def source(self, rows: Array) -> Array:
        """Rows from which the front may have come to these, or nearly: good for probes, no inverse.

        Where branches read one value, it is the sum of what they say: right if they share no column.
        """
        width = rows.shape[1] if self.takes is None else self.takes
        types = infer_types(self.in_float32()._program(width))
        sources: dict[str, list[Array]] = {self.out: [rows]}
        for node in reversed(self.nodes):
            widths = [types[name].width for name in operands(node)]
            parts = SOURCES.get(type(node), _unchanged)(node, _sum(sources[node.out]), self.tables, widths)
            for name, part in zip(operands(node), parts, strict=True):
                sources.setdefault(name, []).insert(0, part)
        return _sum(sources[ROW])

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
            parts |= {f"{name}{at}": self.tables[table] for name, table in step.tables.items()}
            if step.kind != "Scale":
                name = step.kind.lower() if step.kind in ("Clip", "Join") else f"{step.kind}Step"
                parts[f"{name}{at}"] = step.settings
        return parts


IDENTITY = Front()


def _later(name: str, by: int) -> str:
    stem = name.rstrip("0123456789")
    return f"{stem}{int(name[len(stem) :]) + by}"


def _dotted(place: Place) -> str:
    return ".".join(map(str, place))


def _about(node: ir.Affine, tables: Tables, centre: Array) -> Tables:
    """Centre and bias of the same map about another centre."""
    moved = tables[node.weights] @ (centre - tables[node.centre])
    return {node.centre: centre, node.bias: tables[node.bias] + moved}


def chain(fronts: Iterable[Front]) -> Front:
    """One behind the other."""
    return reduce(Front.then, fronts, IDENTITY)


def join(branches: Sequence[Front], width: int) -> Front:
    """Several, each over the whole row, their results side by side."""
    nodes: list[Node] = []
    tables: Tables = {}
    steps = [Step((0,), "Join", {}, (width, len(branches)), ())]
    ends, numbers = [], 0
    for index, branch in enumerate(branches):
        part = branch._moved(ROW, numbers, width, lambda place, index=index: (0, index, *place))  # type: ignore[misc]
        nodes.extend(part.nodes)
        tables |= part.tables
        steps.extend(part.steps)
        ends.append(part.out)
        numbers += branch._numbers
    left = ends[0]
    for number, right in enumerate(ends[1:], numbers):
        nodes.append(ir.Join(f"z{number}", left, right))
        left = nodes[-1].out
    gives = sum(width if branch.gives is None else branch.gives for branch in branches)
    return Front(tuple(nodes), tables, left, width, gives, tuple(steps))


def scale(shift: Array, factor: Array) -> Front:
    """z = (x - shift) * factor, feature by feature."""
    node = ir.Scale("z0", ROW, "shift0", "factor0", "offset0")
    misfit = f"{len(shift)} shifts for {len(factor)} factors" if shift.shape != factor.shape else ""
    tables = {"shift": shift, "factor": factor}
    return _front("Scale", [node], tables, (), len(factor), len(factor), misfit, offset0=len(factor))


def clip(low: float, high: float) -> Front:
    """z = min(max(x, low), high)."""
    return _front("Clip", [ir.Clip("z0", ROW, low, high)], {}, (low, high))


def pick(columns: NDArray[np.int64], width: int) -> Front:
    """Some of the columns of a row, in an order of their own."""
    misfit = "" if _within(columns, width) else f"a column is not among the {width} features"
    node = ir.Pick("z0", ROW, "columns0")
    return _front("Pick", [node], {"columns": columns}, (width,), width, len(columns), misfit)


def normalize(norm: ir.Norm, least: float) -> Front:
    """z = x / norm; rows whose norm is below `least` stay as they are."""
    return _front("Normalize", [ir.Normalize("z0", ROW, norm, least)], {}, (norm, least))


def powers(factors: NDArray[np.int64], width: int) -> Front:
    """Products of features: `factors` [m, degree] holds columns, `width` where a product has fewer."""
    misfit = "" if _within(factors, width + 1) else f"a factor is not among the {width} features"
    node = ir.Powers("z0", ROW, "factors0")
    return _front("Powers", [node], {"factors": factors}, (width,), width, len(factors), misfit)


def cosine(factor: float) -> Front:
    """z = factor * cos(2 pi x), feature by feature."""
    return _front("Cosine", [ir.Cosine("z0", ROW, factor)], {}, (factor,))


def fill(values: Array, nan: bool, marker: float) -> Front:
    """Missing features get values of their own; missing is NaN, or what equals the marker."""
    node = ir.Fill("z0", ROW, "values0", nan, marker)
    return _front("Fill", [node], {"values": values}, (nan, marker), len(values), len(values))


def missing(nan: bool, marker: float) -> Front:
    """1 where a feature is missing, else 0."""
    return _front("Missing", [ir.Missing("z0", ROW, nan, marker)], {}, (nan, marker))


def project(weights: Array, centre: Array, bias: Array) -> Front:
    """z = weights (x - centre) + bias, for weights [m, d]."""
    wanted = (len(bias), len(centre))
    misfit = f"weights have shape {weights.shape}, not {wanted}" if weights.shape != wanted else ""
    tables = {"map_weights": weights, "map_bias": bias, "map_centre": centre}
    nodes: list[Node] = [
        ir.Affine("map0", ROW, *(f"{name}0" for name in tables)),
        ir.AsFeatures("z0", "map0"),
    ]
    return _front("Project", nodes, tables, (), weights.shape[1], len(weights), misfit)


def kernel_map(vectors: Array, weights: Array, kernel: Kernel) -> Front:
    """z = weights k(x, vectors), for weights [m, n]: a feature map by kernel values with some points."""
    sizes = f"weights have shape {weights.shape} for {len(vectors)} vectors"
    misfit = sizes if weights.shape[1:] != vectors.shape[:1] else ""
    tables, m = {"map_vectors": vectors, "map_weights": weights}, len(weights)
    sums = ir.KernelSum("map0", ROW, "map_vectors0", "map_weights0", "map_bias0", kernel)
    nodes: list[Node] = [sums, ir.AsFeatures("z0", "map0")]
    return _front("KernelMap", nodes, tables, (kernel,), vectors.shape[1], m, misfit, map_bias0=m)


def _front(
    kind: str,
    nodes: Sequence[Node],
    tables: Mapping[str, NDArray[Any]],
    settings: tuple[object, ...],
    takes: int | None = None,
    gives: int | None = None,
    misfit: str = "",
    **zeros: int,
) -> Front:
    """A front of one step, whose names end in its number, 0; `zeros`: sizes of tables that it adds."""
    names = {name.removeprefix("map_"): f"{name}0" for name in tables}
    problems = [
        f"{name.removeprefix('map_')} hold a NaN or an infinity"
        for name, table in tables.items()
        if not np.isfinite(table).all()
    ]
    problems += [misfit] if misfit else []
    problems += ["leaves no features"] if gives == 0 else []
    step = Step((0,), kind, names, settings, tuple(problems))
    whole = {f"{name}0": table for name, table in tables.items()}
    whole |= {name: np.zeros(size) for name, size in zeros.items()}
    return Front(tuple(nodes), whole, "z0", takes, gives, (step,))


def _within(columns: NDArray[np.int64], end: int) -> bool:
    return bool(((columns >= 0) & (columns < end)).all())


def _sum(parts: list[Array]) -> Array:
    """The sum of rows, as many as all parts have."""
    count = min(map(len, parts))
    return parts[0] if len(parts) == 1 else np.asarray(sum(part[:count] for part in parts))


def _unchanged(node: Any, z: Array, tables: Tables, widths: list[int]) -> Sequence[Array]:
    return [z]


def _scaled(node: ir.Scale, z: Array, tables: Tables, widths: list[int]) -> Sequence[Array]:
    factor = tables[node.factor]  # zero switches a feature off: any value will do for it
    return [z / np.where(factor != 0, factor, 1.0) + tables[node.shift]]


def _picked(node: ir.Pick, z: Array, tables: Tables, widths: list[int]) -> Sequence[Array]:
    row = np.zeros((len(z), *widths))
    row[:, tables[node.columns]] = z
    return [row]


def _projected(node: ir.Affine, z: Array, tables: Tables, widths: list[int]) -> Sequence[Array]:
    return [(z - tables[node.bias]) @ np.linalg.pinv(tables[node.weights]).T + tables[node.centre]]


def _multiplied(node: ir.Powers, z: Array, tables: Tables, widths: list[int]) -> Sequence[Array]:
    """Features that stand alone in a product are known."""
    row = np.ones((len(z), *widths))
    for product, columns in enumerate(tables[node.factors]):
        features = columns[columns < row.shape[1]]
        if len(features) == 1:
            row[:, features[0]] = z[:, product]
    return [row]


def _turned(node: ir.Cosine, z: Array, tables: Tables, widths: list[int]) -> Sequence[Array]:
    return [np.arccos(np.clip(z / node.factor if node.factor else z, -1.0, 1.0)) / (2 * np.pi)]


# What each node may have been given, one value for each that it reads; the others keep rows as they are.
SOURCES: dict[type[Node], Callable[[Any, Array, Tables, list[int]], Sequence[Array]]] = {
    ir.Scale: _scaled,
    ir.Pick: _picked,
    ir.Affine: _projected,
    ir.KernelSum: lambda node, z, tables, widths: [tables[node.vectors]],
    ir.Powers: _multiplied,
    ir.Cosine: _turned,
    ir.Missing: lambda node, z, tables, widths: [np.zeros_like(z)],
    ir.Join: lambda node, z, tables, widths: np.split(z, widths[:1], axis=1),
}
