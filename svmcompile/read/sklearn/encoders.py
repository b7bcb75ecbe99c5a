"""Encoders and bins: a feature becomes flags, and each output is a weighted sum of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.errors import UnsupportedError
from svmcompile.ir.arithmetic import Array
from svmcompile.ir.kinds import Test
from svmcompile.model import front
from svmcompile.model.front import Front
from svmcompile.read.sklearn.fitted import Fitted

CODES = "number the categories before training, and pass the numbers"
Block = tuple[Array, Array]  # of one feature: weights [outputs, flags] and biases [outputs]


def one_hot_encoder(fitted: Fitted) -> Front:
    """A flag for each category, or for several that are rare; categories that were not known have none."""
    fitted.require("categories_")
    _check_type(fitted)
    categories = _categories(fitted)
    rest = fitted.get("handle_unknown") in ("infrequent_if_exist", "warn")
    dropped = fitted.optional("_drop_idx_after_grouping")
    blocks = []
    for at, values in enumerate(categories):
        groups = _groups(fitted, at, len(values))
        weights = (groups == np.arange(groups.max() + 1)[:, None]).astype(np.float64)
        bias, rare = np.zeros(len(weights)), _rare(fitted, at)
        if rest and rare.size:  # also what was not known
            last = int(groups[rare[0]])
            weights[last], bias[last] = np.where(groups == last, 0.0, -1.0), 1.0
        index = None if dropped is None else dropped[at]
        kept = np.array([one for one in range(len(weights)) if index is None or one != int(index)], int)
        blocks.append((weights[kept], bias[kept]))
    return _encoded(fitted, categories, blocks, "equal")


def ordinal_encoder(fitted: Fitted) -> Front:
    """The number of each category, and one of their own for those that were not known."""
    fitted.require("categories_")
    _check_type(fitted)
    categories = _categories(fitted)
    unknown = 0.0
    if fitted.get("handle_unknown") == "use_encoded_value":
        unknown = fitted.number("unknown_value")
        if not np.isfinite(unknown):
            raise UnsupportedError(f"{fitted.place}: unknown_value={unknown} is no number; fit it with one")
    groups = [_groups(fitted, at, len(values)) for at, values in enumerate(categories)]
    return _encoded(fitted, categories, [_looked_up(one[None], unknown) for one in groups], "equal")


def target_encoder(fitted: Fitted) -> Front:
    """The mean target of each category, for every class where there are three or more."""
    fitted.require("encodings_")
    categories = _categories(fitted)
    means = np.atleast_1d(fitted.numbers("target_mean_", 0, 1))
    encodings = fitted.get("encodings_")
    if not isinstance(encodings, list) or len(encodings) != len(categories) * len(means):
        raise fitted.damaged("encodings_ has another length than categories_")
    blocks = []
    for at, values in enumerate(categories):
        own = [np.asarray(one, np.float64) for one in encodings[at * len(means) : (at + 1) * len(means)]]
        if any(one.shape != values.shape for one in own):
            raise fitted.damaged("encodings_ and categories_ have different sizes")
        blocks.append(_looked_up(np.stack(own), means))
    return _encoded(fitted, categories, blocks, "equal")


def bins(fitted: Fitted) -> Front:
    """The number of the bin that a feature falls into, or a flag for each bin."""
    fitted.require("bin_edges_")
    if fitted.optional("dtype") is not None:
        _check_type(fitted)
    edges = [_numbers(fitted, "bin_edges_", one)[1:-1] for one in fitted.get("bin_edges_")]
    blocks = []
    for inner in edges:
        below = np.eye(len(inner) + 1, len(inner), -1) - np.eye(len(inner) + 1, len(inner))
        flags = below, np.eye(1, len(inner) + 1)[0]
        blocks.append(
            (np.ones((1, len(inner))), np.zeros(1)) if fitted.get("encode") == "ordinal" else flags
        )
    return _encoded(fitted, edges, blocks, "least")


def _looked_up(codes: NDArray[Any], unknown: Any) -> Block:
    """Codes [outputs, flags], and what comes out where no flag is set."""
    bias = np.broadcast_to(np.asarray(unknown, np.float64), codes.shape[:1]).copy()
    return codes - bias[:, None], bias


def _encoded(fitted: Fitted, values: list[Array], blocks: list[Block], test: Test) -> Front:
    """The flags of all features, and what is made of them."""
    width = len(values)
    columns = np.repeat(np.arange(width), [len(one) for one in values])
    if not len(columns) or not sum(len(bias) for _, bias in blocks):
        raise UnsupportedError(f"{fitted.place}: gives the same for every row; leave it out")
    flags = front.flags(columns, np.concatenate(values), test, width)
    weights, bias = np.zeros((sum(len(one) for _, one in blocks), len(columns))), []
    row = column = 0
    for own, constants in blocks:
        weights[row : row + len(own), column : column + own.shape[1]] = own
        bias.append(constants)
        row, column = row + len(own), column + own.shape[1]
    constant = np.concatenate(bias)
    if not constant.any() and (weights.sum(axis=1) == 1).all() and (weights.max(axis=1) == 1).all():
        return front.flags(*_only(columns, np.concatenate(values), weights), test, width)
    return flags.then(front.project(weights, np.zeros(len(columns)), constant))


def _only(columns: NDArray[np.int64], values: Array, weights: Array) -> tuple[NDArray[np.int64], Array]:
    """The flags that are given on as they are."""
    chosen = weights.argmax(axis=1)
    return columns[chosen], values[chosen]


def _categories(fitted: Fitted) -> list[Array]:
    """The numbers of the categories of each feature, which float32 must hold."""
    found = [_numbers(fitted, "categories_", one) for one in fitted.get("categories_")]
    for values in found:
        with np.errstate(over="ignore"):
            same = values.astype(np.float32).astype(np.float64) == values
        if not same.all():
            raise UnsupportedError(
                f"{fitted.place}: the category {float(values[~same][0])!r} is not a float32 number; {CODES}"
            )
    return found


def _numbers(fitted: Fitted, name: str, given: Any) -> Array:
    array = np.asarray(given)
    if array.dtype.kind in "UO":
        raise UnsupportedError(f"{fitted.place}: {name} are text, and C takes numbers; {CODES}")
    if array.ndim != 1 or array.dtype.kind not in "fiub" or not array.size:
        raise fitted.damaged(f"{name} holds no list of numbers")
    return array.astype(np.float64)


def _rare(fitted: Fitted, at: int) -> NDArray[np.int64]:
    """Categories of a feature that are too rare to stand alone."""
    found = fitted.optional("_infrequent_indices")
    own = None if found is None else found[at]
    return np.array([] if own is None else own, dtype=np.int64)


def _groups(fitted: Fitted, at: int, count: int) -> NDArray[np.int64]:
    """The code of each category: its number, unless rare ones share theirs."""
    found = fitted.optional("_default_to_infrequent_mappings")
    own = None if found is None else found[at]
    groups = np.arange(count) if own is None else np.asarray(own, dtype=np.int64)
    if groups.shape != (count,) or groups.min() < 0 or groups.max() >= count:
        raise fitted.damaged("its rare categories are not among its categories")
    return groups


def _check_type(fitted: Fitted) -> None:
    kind = fitted.get("dtype")
    name = kind if isinstance(kind, str) else getattr(kind, "__name__", type(kind).__name__)
    if name not in ("float64", "int64", "int32"):
        raise UnsupportedError(f"{fitted.place}: dtype={name:.40}; fit it with float64")


ENCODERS: dict[str, Callable[[Fitted], Front]] = {
    "OneHotEncoder": one_hot_encoder,
    "OrdinalEncoder": ordinal_encoder,
    "TargetEncoder": target_encoder,
    "KBinsDiscretizer": bins,
}
