"""scikit-learn: a fitted estimator, alone, in wrappers or behind transformers, becomes an SVM."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.data.text import NO_TEXT, Text
from svmcompile.errors import ReadError, UnsupportedError
from svmcompile.ir.program import Labels
from svmcompile.model.coding import coded
from svmcompile.model.front import IDENTITY, Front, chain, join, pick, scale
from svmcompile.model.svm import SVM, Source, digest
from svmcompile.read.sklearn.assembly import Answer, Assembly
from svmcompile.read.sklearn.features import FRONTS, WAY_OUT
from svmcompile.read.sklearn.fitted import Fitted, from_sklearn, role
from svmcompile.read.sklearn.gaussian import GAUSSIAN_CLASSIFIER
from svmcompile.read.sklearn.identity import identity
from svmcompile.read.sklearn.kernel_maps import mapped_as
from svmcompile.read.sklearn.machines import MACHINES, READABLE
from svmcompile.read.sklearn.wrappers import HOLDERS, WRAPPERS, held

WAYS_OUT = {
    **dict.fromkeys(("dict", "list", "tuple"), "pass the estimator in it"),
    "ClassifierChain": "its machines read what others said; a MultiOutputClassifier's do not",
    "svm_model": "save it with svm_save_model and pass the file",
}
PIPELINE = "Pipeline"
REASONS = {
    "KNNImputer": "keeps every training row and searches them all; a SimpleImputer can be compiled",
    "IterativeImputer": "runs regressors in turn until they settle; a SimpleImputer can be compiled",
}
MAX_DEPTH = 16  # of transformers within transformers
COMBINED = (PIPELINE, "ColumnTransformer", "FeatureUnion")


def read_estimator(estimator: object, where: str) -> SVM:
    """The SVM an estimator holds; its sha256 is over the parts that decide what it computes."""
    svm, kind, before, last = _whole(estimator, where)
    names = _feature_names([*before, last, Fitted(estimator, "", where)])
    notes = svm.notes + _overrides(last) + mapped_as(svm)
    svm = coded(replace(svm, feature_names=names, notes=notes).check(where))
    kind = f"scikit-learn {kind.replace(GAUSSIAN_CLASSIFIER, 'GaussianProcessClassifier')}"
    return replace(svm, source=Source(kind, digest(identity(svm) | {"kind": kind})))


def _whole(estimator: object, where: str, depth: int = MAX_DEPTH) -> tuple[SVM, str, list[Fitted], Fitted]:
    """The SVM of an estimator, what it is, and the members of its pipeline."""
    members, before = _opened(estimator, where)
    last = _fitted(members[-1], [*READABLE, *WRAPPERS], where)
    if last.role in WRAPPERS:
        return *_assembled(estimator, where, depth), before, last
    svm = _behind(_front(before), READABLE[last.role](last))
    return svm, _kind(estimator, [*before, last]), before, last


def _assembled(estimator: object, where: str, depth: int) -> tuple[SVM, str]:
    """The SVM of a wrapper, and what it is; estimators may be nested so deep."""

    def read(inner: object, front: Front) -> Answer:
        nonlocal depth
        if depth == 0:
            raise ReadError(f"{where}: estimators are nested too deep")
        depth -= 1
        members, before = _opened(inner, where)
        last = _fitted(members[-1], [*READABLE, *WRAPPERS], where)
        front = front.then(_front(before)) if before else front
        if last.role in WRAPPERS:
            answer = WRAPPERS[last.role](last, front, assembly)
        else:
            machine = _behind(front, READABLE[last.role](last)).check(where)
            answer = assembly.machine(machine, last.role)
        if inner is not estimator:
            _check_one_label(answer.labels, where, answer.kind)
        depth += 1
        return replace(answer, kind=_nested(answer.kind, before))

    def whole(inner: object) -> SVM:
        svm, kind, _, _ = _whole(inner, where, depth)
        _check_one_label(svm.labels, where, kind)
        return svm

    assembly = Assembly(read, whole)
    answer = read(estimator, IDENTITY)
    return assembly.finish(answer), answer.kind


def _check_one_label(labels: Labels | None, where: str, kind: str) -> None:
    if labels and labels.targets:
        raise UnsupportedError(f"{where}: {kind} gives several labels per row; compile it on its own")


def _opened(estimator: object, where: str) -> tuple[list[object], list[Fitted]]:
    """The members of a chain, and those before the last as transformers."""
    members = _chain(estimator, where, MAX_DEPTH)
    if not members:
        raise UnsupportedError(f"{where}: the pipeline has no steps; {_supported()}")
    if role(members[-1], [*READABLE, *WRAPPERS]) is None:
        raise _unsupported(members[-1], where)
    return members, [_transformer(member, where) for member in members[:-1]]


def _behind(front: Front, machine: SVM) -> SVM:
    """The machine, which may have a front of its own, behind another."""
    if machine.parts:
        return replace(machine, front=front, parts=tuple(_behind(front, part) for part in machine.parts))
    own = machine.front
    return replace(machine, front=front if own is IDENTITY else front.then(own))


def _front(before: list[Fitted]) -> Front:
    return chain(front_of(member.estimator, member.where) for member in before)


def _nested(kind: str, before: list[Fitted]) -> str:
    return f"Pipeline({', '.join([*(member.role for member in before), kind])})" if before else kind


def _chain(estimator: object, where: str, depth: int) -> list[object]:
    """The estimators in the order rows meet them, pipelines opened and idle steps dropped."""
    holder = role(estimator, HOLDERS)
    if holder and depth:
        return _chain(held(Fitted(estimator, holder, where)), where, depth - 1)
    if role(estimator, (PIPELINE,)) is None:
        return [estimator]
    steps = Fitted(estimator, PIPELINE, where).get("steps")
    if depth == 0 or not isinstance(steps, (list, tuple)):
        raise ReadError(f"{where}: the pipeline's steps are not a list, or nested too deep")
    if not all(isinstance(step, (list, tuple)) and len(step) == 2 for step in steps):
        raise ReadError(f"{where}: the pipeline's steps are not pairs of a name and an estimator")
    active = [step for _, step in steps if not is_idle(step)]
    return [member for step in active for member in _chain(step, where, depth - 1)]


def _transformer(member: object, where: str) -> Fitted:
    """A member that comes before the last, which cannot be an SVM."""
    if role(member, [*READABLE, *WRAPPERS]):
        raise _unsupported(member, where)
    return Fitted(member, role(member, [*FRONTS, *COMBINED]) or type(member).__name__, where)


def _fitted(estimator: object, table: Iterable[str], where: str) -> Fitted:
    found = role(estimator, table)
    if found is None:
        raise _unsupported(estimator, where)
    return Fitted(estimator, found, where)


def _unsupported(estimator: object, where: str) -> UnsupportedError:
    name = type(estimator).__name__
    place = "" if where == name else f"{where}: "
    if isinstance(estimator, type):
        return UnsupportedError(f"{place}{estimator.__name__} is a class; pass a fitted estimator")
    if role(estimator, [*READABLE, *WRAPPERS]):
        return UnsupportedError(f"{place}{name} must be the last step of its pipeline; {_supported()}")
    if role(estimator, [*FRONTS, *COMBINED]):
        return UnsupportedError(f"{place}{name} is a transformer, with no SVM behind it; {_supported()}")
    way_out = WAYS_OUT.get(name)
    advice = f"{way_out}; " if way_out else ""
    return UnsupportedError(f"{place}{name} cannot be compiled; {advice}{_supported()}")


def _supported() -> str:
    return (
        f"supported are {', '.join(MACHINES)}, alone, in {', '.join([*WRAPPERS, *HOLDERS])} "
        f"or in a Pipeline behind {', '.join(FRONTS)} "
        f"and combinations of these by {', '.join(COMBINED[1:])}; "
        "any other transformation can be applied to the rows before the compiled model"
    )


def _kind(estimator: object, members: list[Fitted]) -> str:
    names = ", ".join(member.role for member in members)
    return f"Pipeline({names})" if role(estimator, (PIPELINE,)) or len(members) > 1 else names


def _feature_names(members: list[Fitted]) -> tuple[str, ...]:
    """Column names as the first step that knows them saw them."""
    for member in members:
        names = member.optional("feature_names_in_")
        if names is None:
            continue
        values = names.tolist() if isinstance(names, np.ndarray) else names
        if not isinstance(values, (list, tuple)) or not all(isinstance(name, str) for name in values):
            raise member.damaged("feature_names_in_ is not a list of strings")
        return tuple(str(name) for name in values)
    return ()


def _overrides(machine: Fitted) -> tuple[str, ...]:
    """A note where a subclass has its own idea of what the model computes."""
    own = []
    for base in type(machine.estimator).__mro__:
        if base.__name__ == machine.role and from_sklearn(base):
            break
        own += [name for name in ("predict", "decision_function") if name in vars(base)]
    if not own:
        return ()
    name = type(machine.estimator).__name__
    return (f"{name} overrides {' and '.join(own)}; the compiled model follows {machine.role}",)


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
    found = role(estimator, FRONTS)
    if found is None:
        raise _unknown(estimator, where)
    return FRONTS[found](Fitted(estimator, found, where))


def _unknown(estimator: object, where: str) -> UnsupportedError:
    name = type(estimator).__name__
    if isinstance(estimator, type):
        return UnsupportedError(f"{where}: {estimator.__name__} is a class; pass a fitted transformer")
    if name in REASONS:
        return UnsupportedError(f"{where}: {name} cannot be compiled: it {REASONS[name]}; {WAY_OUT}")
    return UnsupportedError(
        f"{where}: the transformer {name} cannot be compiled; {WAY_OUT}; "
        f"transformers that can: {', '.join([*FRONTS, *COMBINED])}"
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
    if any(branch.text for _, branch in branches):
        return _texts_joined(fitted, branches)
    return _joined(fitted, branches, _union_width(fitted, members, branches))


def _texts_joined(fitted: Fitted, branches: list[tuple[Any, Front]]) -> Front:
    """Vectorizers side by side, each with what stands behind it."""
    if not all(branch.text for _, branch in branches):
        raise UnsupportedError(f"{fitted.place}: takes text and numbers; {WAY_OUT}")
    texts = [branch.text for _, branch in branches]
    width = sum(text.width for text in texts)
    starts, own = 0, []
    for (name, branch), text in zip(branches, texts, strict=True):
        counts = pick(np.arange(starts, starts + text.width), width)
        own.append((name, counts.then(replace(branch, text=NO_TEXT))))
        starts += text.width
    return replace(
        _joined(fitted, own, width), text=Text(tuple(part for text in texts for part in text.parts))
    )


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
        branch = front_of(member, fitted.where, depth)
        if branch.text:
            raise UnsupportedError(
                f"{fitted.place}: has a column of text among others; put the vectorizer of one text at the "
                f"start of the Pipeline, or {WAY_OUT}"
            )
        branches.append((name, pick(columns, width).then(branch)))
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
