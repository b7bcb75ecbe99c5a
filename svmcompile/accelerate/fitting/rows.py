"""Rows to fit to, the original's labels of them, more rows between them, and narrow tables.

An SVM and data rows enter; rows in the kernel's space leave, with the SVM's own sums on them as
targets. No labels are needed, so points made up between neighbouring rows serve as well.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.builder import head_of
from svmcompile.accelerate.fitting.field import Field
from svmcompile.data import Data
from svmcompile.data.sparse import is_sparse
from svmcompile.errors import OptionError
from svmcompile.ir.arithmetic import Array
from svmcompile.ir.kinds import Indices, Rule
from svmcompile.ir.node import run
from svmcompile.model.head import SUMS
from svmcompile.model.svm import SVM, LabelRule

NEIGHBOURS = 8  # a made-up row steps along the difference of two of these
STEP = 0.7  # standard deviation of that step
HELD_SHARE = 4  # one row in so many is held out
BLOCK_VALUES = 1 << 22  # kernel values or distances computed at a time
FEW_NEIGHBOURS = 5
TREE_FEATURES = 64  # with more of them, products of all rows are faster than a tree
OVERSHOOT = 0.1  # how far beyond the two ends of a line, in its lengths
MADE_UP_VALUES = 1 << 25  # numbers in all rows that are made up at most
POOL = 8192  # rows among which neighbours are looked for; more are sampled
BYTES = {"f32": 4, "f16": 2, "i8": 1}
HALF_LOSS = 0.01  # share of a row's largest weight that float16 may lose
R = TypeVar("R", bound="RowWise")


@dataclass(frozen=True, eq=False)
class RowWise:
    """A dataclass whose arrays have one entry for each row."""

    def some(self: R, rows: NDArray[np.intp]) -> R:
        """The same for some rows."""
        return replace(self, **{name: array[rows] for name, array in self._arrays().items()})

    def joined(self: R, other: R) -> R:
        """These rows and others, of which the same is known."""
        more = other._arrays()
        return replace(
            self, **{name: np.concatenate([a, more[name]]) for name, a in self._arrays().items()}
        )

    def _arrays(self) -> dict[str, NDArray[Any]]:
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if isinstance(value, np.ndarray)}


def in_blocks(function: Callable[[Array], Array], rows: Array, step: int) -> Array:
    """What a function gives for rows, for so many at a time, which bounds memory."""
    return np.concatenate([function(rows[at : at + step]) for at in range(0, max(len(rows), 1), step)])


def spread(rows: NDArray[Any], most: int) -> NDArray[Any]:
    """At most so many of the rows, evenly spread."""
    return rows[:: -(-len(rows) // most)]


def rounded(record: Any, **digits: int) -> dict[str, Any]:
    """The fields of a dataclass, fit for JSON, some of them rounded to so many digits."""
    values = asdict(record)
    return values | {key: round(values[key], n) for key, n in digits.items() if values[key] is not None}


def class_numbers(svm: SVM, given: NDArray[Any]) -> Indices:
    """The place of each label among the SVM's classes, -1 for a label it does not know."""
    assert svm.labels is not None
    place = {value: number for number, value in enumerate(svm.labels.values)}
    texts = {str(value): number for value, number in place.items()}
    found = [place.get(value, texts.get(str(value), -1)) for value in np.asarray(given).tolist()]
    return np.asarray(found, dtype=np.intp)


def hold_out(n_rows: int, held: int, random: np.random.Generator) -> tuple[Indices, Indices]:
    """Numbers of the rows kept and of the rows held out, each in their order."""
    order = random.permutation(n_rows)
    return np.sort(order[held:]), np.sort(order[:held])


def finite_rows(
    method: str,
    given: NDArray[Any],
    what: str = "the data",
    svm: SVM | None = None,
    dtype: Any = np.float64,
) -> NDArray[Any]:
    """The rows; nothing can be built from rows that are no numbers, as given or as a kernel sees them."""
    rows: Any = given if is_sparse(given) else np.asarray(given, dtype)
    if len(rows) == 0:
        raise OptionError(f"{method}: {what} has no rows; give representative rows")
    with np.errstate(all="ignore"):
        compressed = getattr(rows, "finite_rows", None)
        seen = svm.prepared(rows) if svm else rows
        finite = compressed() if compressed else np.isfinite(seen).all(axis=1)
        bad = np.flatnonzero(~finite)
    if len(bad):
        raise OptionError(
            f"{method}: row {bad[0]} of {what} holds a NaN or an infinity ({len(bad)} such rows); "
            "remove or fill them"
        )
    found: NDArray[Any] = rows
    return found


@dataclass(frozen=True, eq=False)
class FittingRows:
    """Rows the kernel sees, the SVM's sums there, and which rows are held out."""

    z: Array  # [n, d]
    sums: Array  # [n, sums], intercepts included
    held: NDArray[np.bool_]  # [n]
    made_up: NDArray[np.bool_]  # [n]


def fitting_rows(svm: SVM, data: Data, synthetic: int, limit: int, seed: int) -> FittingRows:
    """At most `limit` data rows and `synthetic` rows made up between them."""
    random = np.random.default_rng(seed)
    z = svm.prepared(np.asarray(data.X, dtype=np.float64))
    z = z[np.isfinite(z).all(axis=1)]
    if not len(z):
        raise OptionError("the data has no row whose values are all finite; give rows to fit to")
    z = z[random.permutation(len(z))[:limit]]
    count = len(z)
    z = np.concatenate([z, made_up_rows(z, synthetic, random)])
    at = np.arange(len(z))
    return FittingRows(z, sums_at(svm, z), at % HELD_SHARE == HELD_SHARE - 1, at >= count)


def made_up_rows(rows: Array, count: int, random: np.random.Generator) -> Array:
    """Rows x_i + step (x_j - x_l), with j and l among the nearest neighbours of i; wide rows are fewer."""
    rows = np.unique(rows, axis=0)  # rows that occur twice have no step between them
    count = min(count, MADE_UP_VALUES // max(1, rows.shape[1]))
    if len(rows) < 2 or count < 1:
        return rows[:0]
    begins = random.integers(len(rows), size=count)
    if count <= len(rows):
        return rows_near(rows[begins], rows, random)
    return rows_near(rows, rows, random, begins)


def rows_near(
    starts: Array, rows: Array, random: np.random.Generator, taken: Indices | None = None
) -> Array:
    """A made-up row for each start, which is one of the rows; those are two at least, and differ.

    `taken` numbers the starts that are wanted, each as often as it occurs.
    """
    near = min(NEIGHBOURS, len(rows) - 1)
    nearest = _nearest(starts, rows, near + 1)
    if taken is not None:
        starts, nearest = starts[taken], nearest[taken]
    pairs = random.integers(1, near + 1, size=(2, len(starts)))
    ends = rows[nearest[np.arange(len(starts)), pairs]]
    steps: Array = STEP * random.normal(size=(len(starts), 1))
    return np.asarray(starts + steps * (ends[0] - ends[1]))


def _nearest(starts: Array, rows: Array, count: int) -> NDArray[Any]:
    """Numbers of the rows nearest to each start, the nearest first."""
    # The tree splits between 0 and the least number above, and never ends where that is 0 too.
    if rows.shape[1] > TREE_FEATURES or flushes_to_zero():
        return _nearest_by_products(starts, rows, count)
    from scipy.spatial import cKDTree

    return np.asarray(cKDTree(rows).query(starts, count)[1])


def _nearest_by_products(starts: Array, rows: Array, count: int) -> NDArray[np.intp]:
    """Numbers of the nearest rows of each start, the nearest first: [starts, count].

    Products in float32 find some more than those, whose distances are then taken from differences.
    """
    middle = rows.mean(axis=0)
    others = rows - middle
    size = float(np.abs(others).max()) or 1.0
    rough = (others / size).astype(np.float32)
    squares, some = np.square(rough).sum(axis=1), min(2 * count, len(rows))
    found, step = np.empty((len(starts), count), dtype=np.intp), max(1, BLOCK_VALUES // len(rows))
    for at in range(0, len(starts), step):
        block = starts[at : at + step] - middle
        near = squares - (2 / size * block).astype(np.float32) @ rough.T
        candidates = np.argpartition(near, some - 1, axis=1)[:, :some]
        candidates.sort(axis=1)
        apart = np.stack([np.square(others[one] - block).sum(axis=1) for one in candidates.T], axis=1)
        order = np.argsort(apart, axis=1, kind="stable")[:, :count]
        found[at : at + step] = np.take_along_axis(candidates, order, axis=1)
    return found


def flushes_to_zero() -> bool:
    """Whether this process takes numbers below the normal ones for zero.

    Loading a library that was built with -ffast-math is enough to make it.
    """
    return sys.float_info.min / 2 == 0.0


def kernel_sums(svm: SVM, z: Array) -> Array:
    """The SVM's sums for rows in the kernel's space, in blocks that bound memory."""
    weights = svm.weights_by_sum.T
    step = max(1, BLOCK_VALUES // max(1, svm.n_vectors))
    return (
        in_blocks(lambda block: svm.kernel.values(block, svm.vectors) @ weights, z, step) + svm.intercepts
    )


def sums_at(svm: SVM, z: Array) -> Array:
    """The same to nearly all digits and several times as fast, where a kernel is a function of products."""
    by_products = svm.kernel.kind in ("linear", "poly", "rbf", "sigmoid") and not svm.is_sparse
    return Field(svm).values(z) if by_products else kernel_sums(svm, z)


def likeness(svm: SVM, wanted: Array, found: Array) -> float:
    """Share of equal labels; for a regressor the share of variance explained."""
    if svm.label_rule is not LabelRule.NONE:
        return float(np.mean(labels_of(svm, wanted) == labels_of(svm, found)))
    spread = float(np.square(wanted - wanted.mean(axis=0)).sum())
    return 1.0 - float(np.square(wanted - found).sum()) / spread if spread else 1.0


def augmented(
    points: Array, times: int, generator: np.random.Generator, overshoot: float = OVERSHOOT
) -> Array:
    """`times` new points per point: p + u (neighbour - p), u from -overshoot to 1 + overshoot."""
    n = len(points)
    if n < 2 or times == 0:
        return np.zeros((0, points.shape[1]))
    near = neighbours(points, min(FEW_NEIGHBOURS, n - 1), generator)
    rows = np.repeat(np.arange(n), times)
    chosen = near[rows, generator.integers(near.shape[1], size=len(rows))]
    along = generator.uniform(-overshoot, 1 + overshoot, size=(len(rows), 1))
    return np.asarray(points[rows] + along * (points[chosen] - points[rows]))


def neighbours(points: Array, count: int, generator: np.random.Generator) -> NDArray[np.int64]:
    """Row numbers of the nearest others, shape [points, count]."""
    n = len(points)
    pool = np.arange(n) if n <= POOL else np.sort(generator.choice(n, POOL, replace=False))
    middle = points.mean(axis=0)
    others = points[pool] - middle
    squares = np.square(others).sum(axis=1)
    found = np.empty((n, count), dtype=np.int64)
    step = max(1, BLOCK_VALUES // len(pool))
    for at in range(0, n, step):
        rows = np.arange(at, min(at + step, n))
        distances = squares - 2 * (points[rows] - middle) @ others.T
        distances[rows[:, None] == pool] = np.inf
        found[rows] = pool[np.argpartition(distances, count - 1, axis=1)[:, :count]]
    return found


def fit_anyway(estimator: Any, *rows: Any, **more: Any) -> Any:
    """The estimator, fitted; that it has not converged is for the caller to tell, or does not matter."""
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return estimator.fit(*rows, **more)


def margin_rule(svm: SVM) -> Rule:
    """How far scores are from another label is read off in this way."""
    if svm.counts:
        return "vote"
    return "argmax" if svm.n_sums > 1 else "sign"


def labels_of(svm: SVM, sums: Array) -> NDArray[np.int64]:
    """The class index the original gives to sums."""
    head = head_of(svm)
    env = {SUMS: sums}
    for node in head.leading_to("label"):
        env[node.out] = run(node, env, head.tables)
    return np.asarray(env[head.value("label") or ""], dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Narrow:
    """The stored rows; row k stands for units[k] * stored[k], which misses the true row by `missed`."""

    stored: NDArray[Any]
    units: Array
    missed: Array


def narrow(rows: Array, dtype: str, what: str) -> Narrow:
    """Rows of a table in the number type of the option `dtype`."""
    ones = np.ones(len(rows))
    if dtype == "f32":
        return Narrow(rows, ones, np.zeros_like(rows))
    if dtype == "f16":
        with np.errstate(over="ignore"):
            halves = rows.astype(np.float16)
        missed = rows - halves.astype(np.float64)
        largest = np.abs(rows).max(axis=1, initial=0.0)
        if not (np.abs(missed).max(axis=1, initial=0.0) <= HALF_LOSS * largest).all():
            raise OptionError(
                f"metric-tree: {what} (up to {np.abs(rows).max():.2g} in size) do not fit float16; "
                "use dtype=i8, or scale the features before training"
            )
        return Narrow(halves, ones, missed)
    units = np.abs(rows).max(axis=1, initial=0.0) / 127
    units = np.where(units > 0, units, 1.0)
    stored = np.rint(rows / units[:, None]).astype(np.int8)
    return Narrow(stored, units, rows - stored * units[:, None])
