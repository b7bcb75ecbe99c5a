"""interpret: what a program means. Plain numpy, one function per node kind."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.data.rows import as_rows
from svmcompile.errors import UnsupportedError
from svmcompile.ir import (  # noqa: F401  register their nodes
    bounded_meaning,
    chances_meaning,
    features_meaning,
    fixed_meaning,
    jets_meaning,
    list_meaning,
    taylor_meaning,
    taylor_vote_meaning,
)
from svmcompile.ir import nodes as ir
from svmcompile.ir.champions import pair_indices as pair_indices
from svmcompile.ir.flat import flat_tables
from svmcompile.ir.inverted import stored_vectors, vectors_and_lanes
from svmcompile.ir.kernel import Array, power
from svmcompile.ir.meaning import Env, Floats, Tables
from svmcompile.ir.meaning import run as run
from svmcompile.ir.paths import Paths, path_sums, paths
from svmcompile.ir.program import INPUT_LIMITS, Program
from svmcompile.ir.rules import classes_of
from svmcompile.ir.trees import Indices, leaf_functions, walk

Packed = ir.PackedSum | ir.TiledSum | ir.SparseSum | ir.PackedPath | ir.PackedLeaves

CHUNK_VALUES = 1 << 20  # intermediate values per chunk of rows, which bounds memory


def interpret(program: Program, rows: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Every output of the program for a matrix of rows, by public name."""
    values = interpret_values(program, rows, {output.value for output in program.outputs})
    return {output.name: values[output.value] for output in program.outputs}


def interpret_values(
    program: Program, rows: NDArray[Any], names: Collection[str]
) -> dict[str, NDArray[Any]]:
    """The named values of the program for a matrix of rows."""
    flat = flat_tables(program)
    sizes = [table.shape[0] for name, table in program.tables.items() if name not in flat]
    step = max(1, CHUNK_VALUES // max([*sizes, program.input.width]))
    starts = range(0, len(rows), step) or range(1)  # no rows still have a shape
    chunks = [_interpret_chunk(program, rows[at : at + step], names) for at in starts]
    return {name: np.concatenate([chunk[name] for chunk in chunks]) for name in names}


def _interpret_chunk(
    program: Program, rows: NDArray[Any], names: Collection[str]
) -> dict[str, NDArray[Any]]:
    dtype = np.float64 if program.number in (None, "f64") else np.float32
    with np.errstate(all="ignore"):  # infinities and NaN are part of the meaning
        env: dict[str, NDArray[Any]] = {program.input.name: entering(program, rows, dtype)}
        for node in program.body:
            env[node.out] = run(node, env, program.tables)
    return {name: env[name] for name in names}


def entering(program: Program, rows: NDArray[Any], dtype: Any) -> NDArray[Any]:
    """The rows in the number type of the input; whole numbers saturate."""
    if program.input.number:
        low, high = INPUT_LIMITS[program.input.number]
        return np.asarray(np.clip(np.nan_to_num(np.rint(rows), nan=low), low, high), dtype=np.int64)
    return rows.astype(dtype)


def predict(program: Program, data: Any) -> NDArray[Any]:
    """Labels of the original dtype, or values for a regressor."""
    result = interpret(program, as_rows(data, program.n_features, program.input.feature_names))
    if program.labels is None:
        return np.asarray(result["value"][:, 0])
    return np.asarray(program.labels.array()[result["label"]])


def decision_function(program: Program, data: Any) -> NDArray[np.float64]:
    """Scores in the original's shape."""
    if program.output("scores") is None:
        raise UnsupportedError(
            "this program has no decision function; "
            + ("use predict" if program.labels else "a regressor's value comes from predict")
        )
    rows = as_rows(data, program.n_features, program.input.feature_names)
    scores = interpret(program, rows)["scores"].astype(np.float64)
    return scores[:, 0] if scores.shape[1] == 1 else scores


def predict_proba(program: Program, data: Any) -> NDArray[np.float64]:
    """Probabilities of the classes, in the order of the labels."""
    return _output(program, data, "probabilities", "probabilities; use predict or decision_function")


def score_samples(program: Program, data: Any) -> NDArray[np.float64]:
    """Raw scores of a one-class SVM."""
    return _output(program, data, "samples", "raw scores; only one-class SVMs of scikit-learn do")[:, 0]


def _output(program: Program, data: Any, name: str, lack: str) -> NDArray[np.float64]:
    value = program.output(name)
    if value is None:
        raise UnsupportedError(f"this program has no {lack}")
    rows = as_rows(data, program.n_features, program.input.feature_names)
    return interpret_values(program, rows, {value})[value].astype(np.float64)


def poisoned(x: Floats, out: Floats) -> Floats:
    """`out`, with NaN in every row where `x` is not finite."""
    out[~np.isfinite(x).all(axis=1)] = np.nan
    return out


def class_slices(counts: tuple[int, ...]) -> list[slice]:
    """Where the vectors of each class stand."""
    ends = np.cumsum(counts)
    return [slice(int(end) - count, int(end)) for count, end in zip(counts, ends, strict=True)]


def pair_weights(weights: Array, counts: tuple[int, ...]) -> Array:
    """LIBSVM's coefficients [k - 1, n] spread out to one row per pair of classes."""
    groups, pairs = class_slices(counts), pair_indices(len(counts))
    dense = np.zeros((len(pairs), weights.shape[1]))
    for row, (i, j) in enumerate(pairs):
        dense[row, groups[i]] = weights[j - 1, groups[i]]
        dense[row, groups[j]] = weights[i, groups[j]]
    return dense


def pair_sums(values: Floats, weights: Floats, counts: tuple[int, ...]) -> Floats:
    """Sums per pair from kernel values [rows, n] and weights [n, k - 1]."""
    partial = [values[:, group] @ weights[group] for group in class_slices(counts)]
    pairs = pair_indices(len(counts))
    return np.stack([partial[i][:, j - 1] + partial[j][:, i] for i, j in pairs], axis=1)


@run.register
def _(node: ir.Scale, env: Env, tables: Tables) -> NDArray[Any]:
    return (env[node.x] - tables[node.shift]) * tables[node.factor] + tables[node.offset]


@run.register
def _(node: ir.Clip, env: Env, tables: Tables) -> NDArray[Any]:
    return np.clip(env[node.x], node.low, node.high)


@run.register
def _(node: ir.KernelSum, env: Env, tables: Tables) -> NDArray[Any]:
    values = node.kernel.values(env[node.x], tables[node.vectors])
    return poisoned(_met(node, env, values), values @ tables[node.weights].T + tables[node.bias])


@run.register
def _(node: ir.PairSum, env: Env, tables: Tables) -> NDArray[Any]:
    values = node.kernel.values(env[node.x], tables[node.vectors])
    sums = pair_sums(values, tables[node.weights].T, node.counts)
    return poisoned(_met(node, env, values), sums + tables[node.bias])


def _met(node: ir.KernelSum | ir.PairSum, env: Env, values: Floats) -> Floats:
    """What must be finite: the row, or the kernel values that were taken from it."""
    return values if node.kernel.kind == "precomputed" else env[node.x]


@run.register
def _(node: ir.Affine, env: Env, tables: Tables) -> NDArray[Any]:
    h = env[node.x] - tables[node.centre]
    return poisoned(env[node.x], h @ tables[node.weights].T + tables[node.bias])


@run.register
def _(node: ir.Quadratic, env: Env, tables: Tables) -> NDArray[Any]:
    h = env[node.x] - tables[node.centre]
    out = h @ tables[node.weights].T + tables[node.bias]
    at = 0
    for a in range(h.shape[1]):  # row a of the upper triangle
        width = h.shape[1] - a
        row = tables[node.squares][:, at : at + width]
        out += h[:, a : a + 1] * (h[:, a:] @ row.T)
        at += width
    return poisoned(env[node.x], out)


@run.register
def _(node: ir.Prepare, env: Env, tables: Tables) -> NDArray[Any]:
    x = env[node.x]
    z = (x - tables[node.shift]) * tables[node.factor]
    limit = x.dtype.type(node.limit)
    return np.asarray(np.where(np.isfinite(x), np.clip(z, -limit, limit), x.dtype.type(np.nan)))


@run.register
def _(node: ir.PackedSum, env: Env, tables: Tables) -> NDArray[Any]:
    weights = tables[node.weights].astype(np.float64)
    values = packed_values(node, env[node.x], tables[node.vectors], tables[node.offsets])
    sums = pair_sums(values, weights, node.counts) if node.counts else values @ weights
    met = values if node.shape == "given" else env[node.x]
    return poisoned(met, (sums + tables[node.bias]).astype(env[node.x].dtype))


def packed_values(node: Packed, x: Floats, vectors: Floats, offsets: Floats) -> Floats:
    """Kernel values [rows, n] of a packed sum."""
    if node.shape == "given":
        return x[:, vectors[:, 0]].astype(np.float64)
    return _shaped(node, x, x @ vectors.T + offsets)


def _shaped(node: Packed, x: Floats, t: Any) -> Floats:
    """Kernel values [rows, n] from dot products."""
    if node.shape == "exp2":
        half = 0.5 * np.square(x, dtype=np.float64).sum(axis=1, keepdims=True)
        t = np.exp2(np.minimum(t - half.astype(x.dtype), 0))  # above zero only by rounding
    elif node.shape == "power":
        t = power(t, node.degree)
    elif node.shape == "tanh":
        t = np.tanh(t)
    return np.asarray(t, dtype=np.float64)


@run.register
def _(node: ir.TiledSum, env: Env, tables: Tables) -> NDArray[Any]:
    blocks, d, lanes = tables[node.vectors].shape
    vectors = tables[node.vectors].transpose(0, 2, 1).reshape(blocks * lanes, d).astype(env[node.x].dtype)
    values = packed_values(node, env[node.x], vectors, tables[node.offsets])
    return poisoned(env[node.x], _blocked_sums(node, values, tables).astype(env[node.x].dtype))


def _blocked_sums(node: ir.TiledSum | ir.SparseSum, values: Floats, tables: Tables) -> Floats:
    """The sums of kernel values [rows, vectors], what fills up blocks included."""
    weights, counts = tables[node.weights].astype(np.float64), list(node.counts)
    vectors, lanes = vectors_and_lanes(weights)
    if weights.ndim == 3:
        weights = weights.transpose(0, 2, 1).reshape(vectors, -1)
        counts = [count + -count % lanes for count in counts]
    counts[-1] += vectors - sum(counts)
    if len(counts) > 1:
        sums = pair_sums(values, weights, tuple(counts))
    else:
        sums = (values @ weights)[:, : len(tables[node.bias])]
    return np.asarray(sums + tables[node.bias])


@run.register
def _(node: ir.SparseSum, env: Env, tables: Tables) -> NDArray[Any]:
    x, limit = env[node.x], env[node.x].dtype.type(node.limit)
    z = np.clip(x * tables[node.factor], -limit, limit)
    t = (stored_vectors(node, tables, x.shape[1]) @ z.T).T + tables[node.offsets]
    return poisoned(x, _blocked_sums(node, _shaped(node, z, t), tables).astype(x.dtype))


@run.register
def _(node: ir.AxisRoute, env: Env, tables: Tables) -> NDArray[Any]:
    x, features, thresholds = env[node.x], tables[node.features], tables[node.thresholds]

    def above(rows: Indices, at: Indices) -> NDArray[np.bool_]:
        return np.asarray(x[rows, features[at]] > thresholds[at])

    return walk(len(x), tables[node.children], above)


@run.register
def _(node: ir.PlaneRoute, env: Env, tables: Tables) -> NDArray[Any]:
    h = env[node.x] - tables[node.centre]
    planes, thresholds = tables[node.planes], tables[node.thresholds]

    def above(rows: Indices, at: Indices) -> NDArray[np.bool_]:
        return np.asarray(row_dots(h[rows], planes[at]) > thresholds[at])

    return walk(len(h), tables[node.children], above)


def row_dots(left: Floats, right: NDArray[Any]) -> Floats:
    """Dot products row by row, in the number type of the left."""
    return np.asarray(np.einsum("ij,ij->i", left, right.astype(left.dtype)))


@run.register
def _(node: ir.LeafAffine, env: Env, tables: Tables) -> NDArray[Any]:
    x, leaf, weights = env[node.x], env[node.leaf], tables[node.weights]
    h, out = x - tables[node.centre], tables[node.bias][leaf]
    for rows, functions in leaf_functions(leaf, tables[node.starts]):
        values = tables[node.units][functions] * row_dots(h[rows], weights[functions])
        out[rows, tables[node.sums][functions]] += values
    return poisoned(x, out)


@run.register(ir.PathSum)
@run.register(ir.PackedPath)
def _(node: ir.PathSum | ir.PackedPath, env: Env, tables: Tables) -> NDArray[Any]:
    x = env[node.x]
    path = path_of(node, x, tables)
    sums = path_sums(path.leaf, path.met, tables[node.starts], tables[node.weights], tables[node.bias])
    return poisoned(path.met if is_given(node) else x, sums.astype(x.dtype))


def is_given(node: ir.PathSum | ir.PackedPath) -> bool:
    """Does the caller compute the kernel, so that only the values met matter?"""
    return node.kernel.kind == "precomputed" if isinstance(node, ir.PathSum) else node.shape == "given"


def path_of(node: ir.PathSum | ir.PackedPath, x: NDArray[Any], tables: Tables) -> Paths:
    """The paths of all rows."""
    if isinstance(node, ir.PathSum):
        kernel: Floats = node.kernel.values(x, tables[node.vectors])
    else:
        kernel = packed_values(node, x, tables[node.vectors], tables[node.offsets]).astype(x.dtype)
    return paths(kernel, tables[node.picks], tables[node.thresholds], tables[node.children])


@run.register
def _(node: ir.Products, env: Env, tables: Tables) -> NDArray[Any]:
    h = env[node.x] - tables[node.centre]
    first, second = np.triu_indices(h.shape[1])
    return np.hstack([h, h[:, first] * h[:, second]])


@run.register
def _(node: ir.Add, env: Env, tables: Tables) -> NDArray[Any]:
    return np.asarray(env[node.left] + env[node.right])


@run.register
def _(node: ir.Reach, env: Env, tables: Tables) -> NDArray[Any]:
    distance = np.square(env[node.x] - tables[node.centre], dtype=np.float64).sum(axis=1)
    beyond = np.asarray(distance > node.radius**2) & np.isfinite(env[node.x]).all(axis=1)
    return np.where(beyond[:, None], tables[node.far], env[node.score])


@run.register
def _(node: ir.Guard, env: Env, tables: Tables) -> NDArray[Any]:
    sure = margins(env[node.score], node.rule) >= node.width
    return np.where(sure[:, None], env[node.score], env[node.exact])


def margins(scores: Floats, rule: str) -> Floats:
    """How far each row's scores are from giving another label; NaN where a score is."""
    if rule == "sign":
        return np.abs(scores[:, 0])
    if rule == "argmax":
        top = np.sort(scores, axis=1)  # NaN goes last
        return np.asarray(top[:, -1] - top[:, -2])
    n_classes = classes_of(scores.shape[1])
    winner = vote(scores, n_classes)
    margin = np.full(len(scores), np.inf, dtype=np.result_type(scores.dtype, np.float32))
    for column, (i, j) in enumerate(pair_indices(n_classes)):
        value = scores[:, column]
        own = np.where(winner == i, value, np.where(winner == j, -value, margin))
        margin = np.minimum(margin, own)
    return np.asarray(margin)


@run.register
def _(node: ir.OvrScores, env: Env, tables: Tables) -> NDArray[Any]:
    pairs = env[node.pairs]
    votes = np.zeros((len(pairs), node.n_classes), dtype=pairs.dtype)
    confidence = np.zeros_like(votes)
    for column, (i, j) in enumerate(pair_indices(node.n_classes)):
        value = pairs[:, column]
        confidence[:, i] += value
        confidence[:, j] -= value
        votes[:, j] += value < 0  # zero counts for i here, unlike in Vote
        votes[:, i] += ~(value < 0)
    return np.asarray(votes + confidence / (3 * (np.abs(confidence) + 1)))


@run.register
def _(node: ir.Vote, env: Env, tables: Tables) -> NDArray[Any]:
    return vote(env[node.pairs], node.n_classes)


def vote(pairs: Floats, n_classes: int) -> NDArray[np.intp]:
    """The class with most votes, the first of several."""
    votes = np.zeros((len(pairs), n_classes), dtype=np.int64)
    for column, (i, j) in enumerate(pair_indices(n_classes)):
        votes[:, i] += pairs[:, column] > 0
        votes[:, j] += ~(pairs[:, column] > 0)
    return np.asarray(np.argmax(votes, axis=1))


@run.register
def _(node: ir.ArgMax, env: Env, tables: Tables) -> NDArray[Any]:
    scores = env[node.scores]
    return np.asarray(np.argmax(np.where(np.isnan(scores), -np.inf, scores), axis=1))


@run.register
def _(node: ir.Threshold, env: Env, tables: Tables) -> NDArray[Any]:
    score = env[node.score][:, 0]
    return np.where(score > 0 if node.positive else score < 0, node.hit, node.miss)


from svmcompile.ir import fixed_tree_meaning, leaf_meaning  # noqa: E402, F401  register their nodes
