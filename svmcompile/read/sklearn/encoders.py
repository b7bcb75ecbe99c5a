"""Encoders and bins: a feature becomes flags, and each output is a weighted sum of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.data.categories import NAN, Name, is_nan
from svmcompile.data.text import is_unicode
from svmcompile.errors import UnsupportedError
from svmcompile.ir.arithmetic import Array
from svmcompile.ir.kinds import Test
from svmcompile.model import front
from svmcompile.model.front import IDENTITY, Front
from svmcompile.read.sklearn.fitted import Fitted

NUMBER = "number the categories before training, and pass the numbers"
SAME = "gives the same for every row; leave it out"
MOST_WEIGHTS = 1 << 14  # of flags; what would need more is looked up by bisection
Block = tuple[Array, Array]  # of one feature: weights [outputs, flags] and biases [outputs]
Values = NDArray[Any]  # categories: float64, or objects (`Name`, NaN, None) where they are text


def one_hot_encoder(fitted: Fitted) -> Front:
    """A flag for each category, or for several that are rare; categories that were not known have none."""
    fitted.require("categories_")
    _check_type(fitted)
    before, categories = _categories(fitted, fitted.get("handle_unknown") == "error")
    rest = fitted.get("handle_unknown") in ("infrequent_if_exist", "warn")
    dropped = fitted.optional("_drop_idx_after_grouping")
    groups = [_groups(fitted, at, len(values)) for at, values in enumerate(categories)]
    shown, others = [], []
    for at, own in enumerate(groups):
        rare, index = _rare(fitted, at), None if dropped is None else dropped[at]
        others.append(int(own[rare[0]]) if rest and rare.size else -1)  # what was not known is rare, too
        kept = [one for one in range(own.max() + 1) if index is None or one != int(index)]
        shown.append(np.array(kept, dtype=np.int64))
    _check_widths(fitted, [len(kept) for kept in shown])
    if all(np.array_equal(own, np.arange(len(own))) for own in groups):
        chosen = [values[kept] for values, kept in zip(categories, shown, strict=True)]
        return before.then(_flags(fitted, chosen))
    if _is_large([len(kept) for kept in shown], categories):
        codes = [own[None].astype(np.float64) for own in groups]
        found = front.lookup(categories, codes, np.array(others, np.float64)[:, None])
        return before.then(found).then(_flags(fitted, [kept.astype(np.float64) for kept in shown]))
    blocks = [_grouped(*one) for one in zip(groups, shown, others, strict=True)]
    return before.then(_encoded(fitted, categories, blocks, "equal"))


def _grouped(groups: NDArray[np.int64], kept: NDArray[np.int64], rest: int) -> Block:
    """The flags of groups of categories; of the last, also what is in no other."""
    weights = (groups == kept[:, None]).astype(np.float64)
    weights[kept == rest] = np.where(groups == rest, 0.0, -1.0)
    return weights, (kept == rest).astype(np.float64)


def ordinal_encoder(fitted: Fitted) -> Front:
    """The number of each category, and one of their own for those that were not known."""
    fitted.require("categories_")
    _check_type(fitted)
    unknown, lenient = 0.0, fitted.get("handle_unknown") == "use_encoded_value"
    if lenient:
        unknown = _code(fitted, "unknown_value")
    before, categories = _categories(fitted, not lenient)
    missing = fitted.optional("_missing_indices") or {}
    levels = []
    for at, values in enumerate(categories):
        place = missing.get(at) if isinstance(missing, dict) else None
        known = _groups(fitted, at, len(values) - (place is not None))
        own = known.astype(np.float64)
        if place is not None:
            own = np.insert(own, int(place), _code(fitted, "encoded_missing_value"))
        levels.append(own[None])
    return before.then(_looked_up(fitted, categories, levels, np.array([unknown])))


def _code(fitted: Fitted, name: str) -> float:
    value = fitted.number(name)
    if not np.isfinite(value):
        raise UnsupportedError(
            f"{fitted.place}: {name}={value} is no number; fit it with one, such as -1, which a "
            "SimpleImputer(missing_values=-1) behind it may fill in"
        )
    return value


def target_encoder(fitted: Fitted) -> Front:
    """The mean target of each category, for every class where there are three or more."""
    fitted.require("encodings_")
    before, categories = _categories(fitted)
    means = np.atleast_1d(fitted.numbers("target_mean_", 0, 1))
    encodings = fitted.get("encodings_")
    if not isinstance(encodings, list) or len(encodings) != len(categories) * len(means):
        raise fitted.damaged("encodings_ has another length than categories_")
    levels = []
    for at, values in enumerate(categories):
        own = [np.asarray(one, np.float64) for one in encodings[at * len(means) : (at + 1) * len(means)]]
        if any(one.shape != values.shape for one in own):
            raise fitted.damaged("encodings_ and categories_ have different sizes")
        levels.append(np.stack(own))
    return before.then(_looked_up(fitted, categories, levels, means))


def bins(fitted: Fitted) -> Front:
    """The number of the bin that a feature falls into, or a flag for each bin."""
    fitted.require("bin_edges_")
    if fitted.optional("dtype") is not None:
        _check_type(fitted)
    edges = [_numbers(fitted, "bin_edges_", one)[1:-1] for one in fitted.get("bin_edges_")]
    if (inner := fitted.optional("_encoder")) is not None:
        _check_widths(Fitted(inner, "OneHotEncoder", fitted.where), [len(one) + 1 for one in edges])
    blocks = []
    for inner in edges:
        below = np.eye(len(inner) + 1, len(inner), -1) - np.eye(len(inner) + 1, len(inner))
        flags = below, np.eye(1, len(inner) + 1)[0]
        blocks.append(
            (np.ones((1, len(inner))), np.zeros(1)) if fitted.get("encode") == "ordinal" else flags
        )
    return _encoded(fitted, edges, blocks, "least")


def _looked_up(fitted: Fitted, categories: list[Values], levels: list[Array], unknown: Array) -> Front:
    """Levels [outputs, categories] of each feature, and what comes out for others."""
    if _is_large([len(unknown)] * len(levels), categories):
        return front.lookup(categories, levels, np.tile(unknown, (len(levels), 1)))
    blocks = [(own - unknown[:, None], unknown.copy()) for own in levels]
    return _encoded(fitted, categories, blocks, "equal")


def _is_large(outputs: list[int], categories: list[Values]) -> bool:
    """Whether weights of flags are more than is worth it."""
    return sum(outputs) * sum(map(len, categories)) > MOST_WEIGHTS


def _flags(fitted: Fitted, values: list[Values]) -> Front:
    """A flag for each value of each feature."""
    if not sum(map(len, values)):
        raise UnsupportedError(f"{fitted.place}: {SAME}")
    columns = np.repeat(np.arange(len(values)), [len(one) for one in values])
    return front.flags(columns, np.concatenate(values), "equal", len(values))


def _encoded(fitted: Fitted, values: list[Values], blocks: list[Block], test: Test) -> Front:
    """The flags of all features, and what is made of them."""
    width = len(values)
    columns = np.repeat(np.arange(width), [len(one) for one in values])
    if not len(columns) or not sum(len(bias) for _, bias in blocks):
        raise UnsupportedError(f"{fitted.place}: {SAME}")
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


def _categories(fitted: Fitted, strict: bool = False) -> tuple[Front, list[Values]]:
    """The categories of each feature, text or numbers, and what comes first: NaN becomes a number."""
    given = fitted.get("categories_")
    if not isinstance(given, (list, tuple)):
        raise fitted.damaged("categories_ is not a list")
    found = [_values(fitted, one, strict) for one in given]
    fills = np.zeros(len(found))
    text = np.array([values.dtype == object for values in found])
    for at in np.flatnonzero(~text):
        if np.isnan(found[at]).any():
            fills[at] = _beside(found[at])
            found[at] = np.where(np.isnan(found[at]), fills[at], found[at])

    def filled(own: NDArray[np.bool_]) -> Front:
        return IDENTITY if text[own].any() else front.fill(fills[own], True, 0.0)

    return (front.apart(text, filled) if fills.any() else IDENTITY), found


def _beside(values: Array) -> float:
    """A float32 number that is no category, just above all of them."""
    known = values[~np.isnan(values)]
    return float(np.nextafter(np.float32(known.max(initial=0.0)), np.float32(np.inf)))


def _values(fitted: Fitted, given: Any, strict: bool) -> Values:
    """The categories of one feature: numbers that float32 holds, or names."""
    array = np.asarray(given)
    if array.dtype.kind in "UO" and any(isinstance(one, str) for one in array.ravel().tolist()):
        return _names(fitted, array, strict)
    values = _numbers(fitted, "categories_", array)
    with np.errstate(over="ignore"):
        same = (values.astype(np.float32).astype(np.float64) == values) | np.isnan(values)
    if not same.all():
        raise UnsupportedError(
            f"{fitted.place}: the category {float(values[~same][0])!r} is not a float32 number; {NUMBER}"
        )
    return values


def _names(fitted: Fitted, array: NDArray[Any], strict: bool) -> Values:
    """Categories that are text; NaN and None may be among them."""
    values = array.ravel().tolist()
    if array.ndim != 1 or not all(isinstance(one, str) or one is None or is_nan(one) for one in values):
        raise fitted.damaged("categories_ holds text and something else")
    if bad := next((one for one in values if isinstance(one, str) and not is_unicode(one)), None):
        raise UnsupportedError(
            f"{fitted.place}: the category {bad!r:.40} is not valid Unicode: it holds half of a surrogate "
            "pair; leave it out before training"
        )
    made = np.empty(len(values), dtype=object)
    made[:] = [
        Name(one, strict) if isinstance(one, str) else None if one is None else NAN for one in values
    ]
    if len({*made.tolist()}) < len(made):
        raise fitted.damaged("a category stands in categories_ twice")
    return made


def _numbers(fitted: Fitted, name: str, given: Any) -> Array:
    array = np.asarray(given)
    if array.dtype == object and all(
        isinstance(one, (int, float, np.number, np.bool_)) for one in array.flat
    ):
        array = array.astype(np.float64)
    if array.dtype.kind in "OSMm":
        kinds = ", ".join(sorted({type(one).__name__ for one in array.ravel().tolist()}))
        raise UnsupportedError(
            f"{fitted.place}: {name} are {kinds:.60}, neither text nor numbers; {NUMBER}"
        )
    if array.ndim != 1 or array.dtype.kind not in "fiub" or not array.size:
        raise fitted.damaged(f"{name} holds no list of numbers")
    return array.astype(np.float64)


def _check_widths(fitted: Fitted, widths: list[int]) -> None:
    """scikit-learn counts on these where it puts flags side by side, and would write beyond its arrays."""
    told = fitted.optional("_n_features_outs")
    if told is not None and list(told) != widths:
        raise fitted.damaged(f"_n_features_outs is {told!r:.60}, and {widths!r:.60} flags come out")


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
