"""The tree of DTSVM: rows and a ceiling enter, an axis-parallel tree leaves, and the rows of each leaf.

Grown once with the smallest ceiling; the tree of a larger one is its top (section 2.2 of "Tree
Decomposition for Large-Scale SVM Problems"). A node is split if and only if it holds more rows than the
ceiling, several classes, and rows that differ.

Cells overlap: a row close to a split trains the leaves on both of its sides, so that neighbouring SVMs
agree where they meet. Which leaf a row is asked of never changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.data.sparse import is_sparse
from svmcompile.ir.arithmetic import Array
from svmcompile.ir.kinds import Indices
from svmcompile.ir.walks import walk

LEAST_GAIN = 1e-12  # of entropy, over all rows: rounding errors are smaller, gains larger
RARE = 3  # of two classes, one with fewer rows is too little to draw a border by


@dataclass(frozen=True, eq=False)
class Tree:
    """Inner nodes, parents first; a child that is not negative is a node, a negative one the leaf ~child.

    Rows go right where float32(x[feature]) is above the threshold. A tree of one leaf has no nodes.
    """

    features: NDArray[np.int32]  # [m]
    thresholds: Array  # [m], float32 numbers
    children: NDArray[np.int32]  # [m, 2]: left, right
    sizes: Indices  # [m]: rows the tree was grown with that came by
    leaf_sizes: Indices  # [m + 1]

    @property
    def n_leaves(self) -> int:
        return len(self.leaf_sizes)

    def leaves(self, X: Any) -> Indices:
        """The leaf of every row, compared in float32 as scikit-learn compares."""
        if not len(self.features):
            return np.zeros(len(X), dtype=np.intp)
        features: NDArray[Any] = self.features
        if is_sparse(X):  # of compressed rows only those that are asked for
            used, features = np.unique(features, return_inverse=True)
            X = X[:, used].toarray()
        rows = np.asarray(X, dtype=np.float32)

        def above(at: Indices, node: Indices) -> NDArray[np.bool_]:
            return np.asarray(rows[at, features[node]] > self.thresholds[node])

        return walk(len(rows), self.children, above)

    def cut(self, ceiling: float) -> Tree:
        """The top of the tree: nodes of at most `ceiling` rows become leaves."""
        return self.without(self.sizes <= ceiling)

    def without(self, dropped: NDArray[np.bool_]) -> Tree:
        """The tree in which these nodes are leaves; what is below them goes."""
        kept: NDArray[np.bool_] = ~dropped
        for at, pair in enumerate(self.children):  # parents come before children
            if not kept[at]:
                kept[pair[pair >= 0]] = False
        if not kept[:1].any():
            return single_leaf(int(self.sizes[0]) if len(self.sizes) else int(self.leaf_sizes[0]))
        number = np.cumsum(kept) - 1
        children, leaf_sizes = [], list[int]()
        for node in np.flatnonzero(kept):
            pair = []
            for child in self.children[node]:
                if child >= 0 and kept[child]:
                    pair.append(int(number[child]))
                else:
                    pair.append(~len(leaf_sizes))
                    leaf_sizes.append(int(self.sizes[child] if child >= 0 else self.leaf_sizes[~child]))
            children.append(pair)
        return Tree(
            self.features[kept],
            self.thresholds[kept],
            np.array(children, dtype=np.int32),
            self.sizes[kept],
            np.array(leaf_sizes, dtype=np.intp),
        )


def single_leaf(size: int) -> Tree:
    """The tree without a split."""
    empty = np.zeros(0, dtype=np.int32)
    return Tree(empty, np.zeros(0), empty.reshape(0, 2), np.zeros(0, np.intp), np.array([size], np.intp))


def grow(X: Any, y: NDArray[Any], ceiling: int, seed: int = 0) -> Tree:
    """The entropy tree over all rows; `seed` decides between splits of equal gain.

    Where no split gains anything, yet rows of several classes differ, halves are as equal as can be.
    """
    rows: Any = X.astype(np.float32) if is_sparse(X) else np.asarray(X, dtype=np.float32)
    tree, waiting = single_leaf(len(rows)), [(0, np.arange(len(rows)))]
    while waiting:
        leaf, own = waiting.pop()
        if len(own) <= ceiling:
            continue
        part = _gaining_tree(rows[own], y[own], ceiling, seed)
        if part.n_leaves == 1 and len(np.unique(y[own])) > 1:
            part = _balanced_split(rows[own].tocsc() if is_sparse(rows) else rows[own])
        if part.n_leaves > 1:
            numbers = [leaf, *range(tree.n_leaves, tree.n_leaves + part.n_leaves - 1)]
            cells = own_rows(part, rows[own])
            waiting += [(number, own[cell]) for number, cell in zip(numbers, cells, strict=True)]
            tree = _grafted(tree, part, np.array(numbers, np.int32))
    return tree


def _gaining_tree(rows: Any, y: NDArray[Any], ceiling: int, seed: int) -> Tree:
    """The tree of splits that gain something, as scikit-learn grows it."""
    from scipy.sparse import csc_matrix
    from sklearn.tree import DecisionTreeClassifier

    grown = DecisionTreeClassifier(
        criterion="entropy",
        min_samples_split=max(2, ceiling + 1),
        min_impurity_decrease=LEAST_GAIN,
        random_state=seed,
    )
    rows = csc_matrix(rows) if is_sparse(rows) else rows
    return _from_sklearn(grown.fit(rows, y).tree_)


def _values_of(rows: Any, feature: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """The values of a feature, ascending, and how many rows have each."""
    if not is_sparse(rows):
        return np.unique(rows[:, feature], return_counts=True)
    held = rows.data[rows.indptr[feature] : rows.indptr[feature + 1]]
    values, counts = np.unique(held, return_counts=True)
    zeros = rows.shape[0] - len(held)
    at = int(np.searchsorted(values, 0.0))
    return (np.insert(values, at, 0.0), np.insert(counts, at, zeros)) if zeros else (values, counts)


def _balanced_split(rows: Any) -> Tree:
    """The one split that parts the rows most evenly (section 2.1); a leaf if all rows are equal."""
    n, width = rows.shape
    best, least = single_leaf(n), n
    for feature in range(width):
        values, counts = _values_of(rows, feature)
        below = np.cumsum(counts)[:-1]
        gaps = np.abs(2 * below - n)
        if len(gaps) and gaps.min() < least:
            at, least = int(gaps.argmin()), int(gaps.min())
            sizes = np.array([below[at], n - below[at]], np.intp)
            middle = floor_float32(values[at : at + 2].astype(np.float64).mean(keepdims=True))
            pair = np.array([[~0, ~1]], np.int32)
            best = Tree(np.array([feature], np.int32), middle, pair, np.array([n], np.intp), sizes)
    return best


def _grafted(tree: Tree, part: Tree, numbers: NDArray[np.int32]) -> Tree:
    """The tree in which `part` stands for the leaf `numbers[0]`; its leaves get these numbers."""
    root = len(tree.features)
    leaves = ~numbers[np.where(part.children < 0, ~part.children, 0)]
    above = np.where(tree.children == ~numbers[0], root, tree.children)
    leaf_sizes = np.concatenate([tree.leaf_sizes, part.leaf_sizes[1:]])
    leaf_sizes[numbers[0]] = part.leaf_sizes[0]
    return Tree(
        np.concatenate([tree.features, part.features]),
        np.concatenate([tree.thresholds, part.thresholds]),
        np.concatenate([above, np.where(part.children < 0, leaves, part.children + root)]).astype(np.int32),
        np.concatenate([tree.sizes, part.sizes]),
        leaf_sizes,
    )


def _from_sklearn(found: Any) -> Tree:
    """Nodes in scikit-learn's order, which has parents first; leaves numbered apart."""
    inner = found.children_left >= 0
    if not inner.any():
        return single_leaf(int(found.n_node_samples[0]))
    number = np.where(inner, np.cumsum(inner) - 1, ~(np.cumsum(~inner) - 1))
    children = np.stack([found.children_left[inner], found.children_right[inner]], axis=1)
    return Tree(
        found.feature[inner].astype(np.int32),
        floor_float32(found.threshold[inner]),
        number[children].astype(np.int32),
        found.n_node_samples[inner].astype(np.intp),
        found.n_node_samples[~inner].astype(np.intp),
    )


def floor_float32(values: NDArray[np.float64]) -> Array:
    """The largest float32 number not above each value: for float32 rows `x <= value` stays what it is."""
    near = values.astype(np.float32)
    lower = np.nextafter(near, np.float32(-np.inf))
    return np.where(near.astype(np.float64) > values, lower, near).astype(np.float64)


def merged(tree: Tree, too_small: NDArray[np.bool_], limit: int) -> Tree:
    """The tree whose leaves that are too small are joined with the leaf beside them, up to `limit` rows.

    A small leaf beside a whole subtree stays: the rows it would be joined with are too many.
    """
    pairs_of_leaves = (tree.children < 0).all(axis=1)
    small = np.zeros(len(tree.children), dtype=bool)
    at = np.flatnonzero(pairs_of_leaves)
    small[at] = too_small[~tree.children[at]].any(axis=1)
    return tree.without(small & (tree.sizes <= limit))


def own_rows(tree: Tree, X: Any) -> list[Indices]:
    """The rows that fall into each leaf."""
    return rows_by_leaf(tree.leaves(X), tree.n_leaves)


def overlapping_rows(tree: Tree, X: NDArray[Any], delta: float, spread: Array) -> list[Indices]:
    """The rows of each leaf's cell: those with |x - threshold| <= delta * spread go both ways."""
    if delta == 0 or tree.n_leaves == 1:
        return own_rows(tree, X)
    rows: NDArray[Any] = np.asarray(X, dtype=np.float32)
    waiting = {0: np.arange(len(rows))}
    cells: dict[int, Indices] = {}
    for node, pair in enumerate(tree.children):  # parents come before children
        here, feature = waiting.pop(node), tree.features[node]
        value = rows[here, feature].astype(np.float64)
        near = np.abs(value - tree.thresholds[node]) <= delta * spread[feature]
        right = value > tree.thresholds[node]
        for child, goes in zip(pair.tolist(), (near | ~right, near | right), strict=True):
            if child >= 0:
                waiting[child] = here[goes]
            else:
                cells[~child] = here[goes]
    return [np.asarray(cells[leaf], dtype=np.intp) for leaf in range(tree.n_leaves)]


@dataclass(frozen=True, eq=False)
class Partition:
    """The rows of every group, to train with and to validate with."""

    own: list[Indices]
    held: list[Indices]


def without_small_leaves(
    tree: Tree, X: Any, y: Indices, n_classes: int, ceiling: int, min_leaf: int
) -> Tree:
    """The tree whose mixed leaves have at least `min_leaf` rows, where the leaf beside can take them in."""
    while min_leaf > 0:
        counts = class_counts(tree.leaves(X), y, tree.n_leaves, n_classes)
        joined = merged(tree, _too_small(counts, min_leaf), ceiling + min_leaf)
        if joined.n_leaves == tree.n_leaves:
            break
        tree = joined
    return tree


def class_counts(leaf: Indices, y: Indices, n_leaves: int, n_classes: int) -> Indices:
    """Rows of every class in every leaf, [leaves, classes]."""
    return np.bincount(leaf * n_classes + y, minlength=n_leaves * n_classes).reshape(n_leaves, n_classes)


def _too_small(counts: Indices, min_leaf: int) -> NDArray[np.bool_]:
    present = (counts > 0).sum(axis=1)
    rarest = np.where(counts > 0, counts, np.iinfo(counts.dtype).max).min(axis=1)
    few = (present > 1) & (counts.sum(axis=1) < min_leaf)
    return np.asarray(few | ((present == 2) & (rarest < RARE)))


def rows_by_leaf(leaf: Indices, n_leaves: int) -> list[Indices]:
    """The rows of every leaf, in their order."""
    order = np.argsort(leaf, kind="stable")
    ends = np.cumsum(np.bincount(leaf, minlength=n_leaves))
    return [np.asarray(part, dtype=np.intp) for part in np.split(order, ends[:-1])]
