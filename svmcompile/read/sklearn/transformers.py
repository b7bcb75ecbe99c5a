"""Preprocessing: fitted transformers, alone or combined, in; the front of an SVM out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.errors import ReadError, UnsupportedError
from svmcompile.model.front import IDENTITY, Front, chain, join, pick, scale
from svmcompile.read.sklearn.features import TRANSFORMERS, WAY_OUT
from svmcompile.read.sklearn.fitted import Fitted
from svmcompile.read.sklearn.roles import role

PIPELINE = "Pipeline"
MAX_DEPTH = 16  # of transformers within transformers
COMBINED = (PIPELINE, "ColumnTransformer", "FeatureUnion")


def is_idle(step: object) -> bool:
    """A step that passes rows on as they are."""
    return step is None or (isinstance(step, str) and step == "passthrough")


def front_of(estimator: object, where: str, depth: int = MAX_DEPTH) -> Front:
    """The front of one transformer, whatever it is made of."""
    if is_idle(estimator):
        return IDENTITY
    if depth == 0:
        raise ReadError(f"{where}: transformers are nested too deep")
    combined = role(estimator, COMBINED)
    if combined:
        return _COMBINERS[combined](Fitted(estimator, combined, where), depth - 1)
    found = role(estimator, TRANSFORMERS)
    if found is None:
        raise _unknown(estimator, where)
    return TRANSFORMERS[found](Fitted(estimator, found, where))


def _unknown(estimator: object, where: str) -> UnsupportedError:
    name = type(estimator).__name__
    if isinstance(estimator, type):
        return UnsupportedError(f"{where}: {estimator.__name__} is a class; pass a fitted transformer")
    return UnsupportedError(
        f"{where}: the transformer {name} cannot be compiled; {WAY_OUT}; "
        f"transformers that can: {', '.join([*TRANSFORMERS, *COMBINED])}"
    )


def _named(fitted: Fitted, attribute: str, size: int) -> list[tuple[Any, ...]]:
    """An attribute that is a list of tuples of one length."""
    found = fitted.get(attribute)
    if not isinstance(found, (list, tuple)):
        raise fitted.damaged(f"{attribute} is not a list")
    if not all(isinstance(item, (list, tuple)) and len(item) == size for item in found):
        raise fitted.damaged(f"{attribute} holds something else than {size} parts each")
    return [tuple(item) for item in found]


def _pipeline(fitted: Fitted, depth: int) -> Front:
    members = [member for _, member in _named(fitted, "steps", 2)]
    return chain(front_of(member, fitted.where, depth) for member in members)


def _feature_union(fitted: Fitted, depth: int) -> Front:
    """Every transformer over all columns."""
    members = [(name, one) for name, one in _named(fitted, "transformer_list", 2) if not _is_dropped(one)]
    branches = [(name, front_of(one, fitted.where, depth)) for name, one in members]
    return _joined(fitted, branches, _union_width(fitted, members, branches))


def _union_width(fitted: Fitted, members: list[tuple[Any, Any]], branches: list[tuple[Any, Front]]) -> int:
    """How many features go in, as any member remembers it."""
    known = [Fitted(one, "", fitted.where).optional("n_features_in_") for _, one in members]
    known += [branch.takes for _, branch in branches]
    found = next((one for one in known if isinstance(one, (int, np.integer)) and one > 0), None)
    if found is None:
        raise fitted.damaged("no transformer in it tells how many features it takes")
    return int(found)


def _column_transformer(fitted: Fitted, depth: int) -> Front:
    """Every transformer over columns of its own; what no transformer takes is dropped."""
    fitted.require("transformers_")
    width = fitted.count("n_features_in_")
    branches = []
    for name, member, spec in _named(fitted, "transformers_", 3):
        columns = _columns(fitted, spec, width)
        if _is_dropped(member) or not len(columns):
            continue
        branches.append((name, pick(columns, width).then(front_of(member, fitted.where, depth))))
    return _joined(fitted, branches, width)


def _is_dropped(member: object) -> bool:
    return isinstance(member, str) and member == "drop"


def _joined(fitted: Fitted, branches: list[tuple[Any, Front]], width: int) -> Front:
    """The branches side by side, each times its weight."""
    if not branches:
        raise UnsupportedError(f"{fitted.place}: drops every feature; give it a transformer")
    weights = fitted.optional("transformer_weights") or {}
    if not isinstance(weights, Mapping):
        raise fitted.damaged("transformer_weights is not a dictionary")
    weighted = [_weighted(fitted, branch, width, weights.get(name)) for name, branch in branches]
    return weighted[0] if len(weighted) == 1 else join(weighted, width)


def _weighted(fitted: Fitted, branch: Front, width: int, weight: object) -> Front:
    if weight is None:
        return branch
    if isinstance(weight, bool) or not isinstance(weight, (int, float, np.number)):
        raise fitted.damaged(f"transformer_weights holds {weight!r:.40}, not a number")
    after = branch.width_after(width)
    return branch.then(scale(np.zeros(after), np.full(after, float(weight))))


def _columns(fitted: Fitted, spec: Any, width: int) -> NDArray[np.int64]:
    """The numbers of the columns a ColumnTransformer was given: by number, name, slice or mask."""
    try:
        if isinstance(spec, slice):
            return _sliced(fitted, spec, width)
        array = np.atleast_1d(np.asarray(spec))
        if array.dtype.kind in "UO" and array.size:
            return np.array([_names(fitted).index(str(name)) for name in array.tolist()], dtype=np.int64)
        if array.dtype.kind == "b":
            array = np.flatnonzero(array)
        columns = np.arange(width)[array.astype(np.int64)]
    except (ValueError, TypeError, IndexError) as error:
        raise fitted.damaged(f"the columns {spec!r:.60} are not among its features ({error})") from None
    return np.asarray(columns, dtype=np.int64)


def _sliced(fitted: Fitted, spec: slice, width: int) -> NDArray[np.int64]:
    """Numbers, or names, of which the last is included."""
    start, stop = spec.start, spec.stop
    if isinstance(start, str):
        start = _names(fitted).index(start)
    if isinstance(stop, str):
        stop = _names(fitted).index(stop) + 1
    return np.arange(width)[slice(start, stop, spec.step)]


def _names(fitted: Fitted) -> list[str]:
    return [str(name) for name in np.asarray(fitted.get("feature_names_in_")).tolist()]


_COMBINERS: dict[str, Callable[[Fitted, int], Front]] = {
    PIPELINE: _pipeline,
    "ColumnTransformer": _column_transformer,
    "FeatureUnion": _feature_union,
}
