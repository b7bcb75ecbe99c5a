"""Ensembles of scikit-learn: a fitted one in, the answer it makes of those of its members out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.errors import UnsupportedError
from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import Array
from svmcompile.ir.program import Labels
from svmcompile.model.front import Front, pick
from svmcompile.model.svm import LabelRule
from svmcompile.read.sklearn.assembly import Answer, Assembly, Scores
from svmcompile.read.sklearn.fitted import Fitted, role

SCALERS: dict[str, tuple[str | None, str | None]] = {  # of a target, and where their scale and shift are
    "StandardScaler": ("scale_", "mean_"),
    "RobustScaler": ("scale_", "center_"),
    "MinMaxScaler": ("scale_", "min_"),
    "MaxAbsScaler": ("scale_", None),
    "FunctionTransformer": (None, None),
}
CONSTANT = "_ConstantPredictor"  # which scikit-learn fits where there is one class


def members(fitted: Fitted, name: str = "estimators_") -> list[object]:
    """The fitted members of an ensemble."""
    fitted.require(name)
    found = fitted.get(name)
    if not isinstance(found, (list, tuple)) or not found:
        raise fitted.damaged(f"{name} is not a list of estimators")
    return list(found)


def voting_classifier(fitted: Fitted, front: Front, assembly: Assembly) -> Answer:
    """VotingClassifier: the mean of probabilities, or the most votes."""
    labels = fitted.labels()
    answers = [assembly.read(one, front) for one in members(fitted)]
    weights, kind = _weights(fitted, len(answers)), kind_of(fitted, answers)
    places = Labels(tuple(range(len(labels))), np.dtype(np.int64).str)  # which members were trained with
    if fitted.get("voting") == "soft":
        chances = _blended(fitted, assembly, [_chances(fitted, one, places) for one in answers], weights)
        return Answer(kind, labels, None, 0, chances, assembly.maker.largest(chances))
    votes = [_votes(fitted, one, places, assembly) for one in answers]
    given = np.ones(len(votes)) if weights is None else weights
    scores = _blend(assembly, "counted", votes, np.kron(given, np.eye(len(labels))))
    return Answer(kind, labels, None, 0, None, assembly.maker.largest(scores))


def bagging_classifier(fitted: Fitted, front: Front, assembly: Assembly) -> Answer:
    """BaggingClassifier: the mean of probabilities, or the share of votes, of some columns each."""
    labels, answers = fitted.labels(), _bagged(fitted, front, assembly)
    places = Labels(tuple(range(len(labels))), np.dtype(np.int64).str)
    if all(one.probabilities is not None for one in answers):
        parts = [_chances(fitted, one, places) for one in answers]
    else:
        parts = [_votes(fitted, one, places, assembly) for one in answers]
    chances = _blended(fitted, assembly, parts, None)
    label = assembly.maker.largest(chances)
    if any(one.scores is None for one in answers):
        return Answer(kind_of(fitted, answers), labels, None, 0, chances, label)
    width, each = (
        answers[0].n_scores,
        [assembly.value(one.scores) for one in answers if one.scores is not None],
    )
    scores = _blend(assembly, "scores", each, np.kron(np.full(len(each), 1 / len(each)), np.eye(width)))
    return Answer(kind_of(fitted, answers), labels, scores, width, chances, label)


def multi_output(fitted: Fitted, front: Front, assembly: Assembly) -> Answer:
    """MultiOutputRegressor: a regressor for each value."""
    answers = [assembly.read(one, front) for one in members(fitted)]
    scores = assembly.beside([_value(fitted, one) for one in answers])
    return Answer(kind_of(fitted, answers), None, scores, len(answers), None, "", LabelRule.NONE)


def voting_regressor(fitted: Fitted, front: Front, assembly: Assembly) -> Answer:
    """VotingRegressor: the weighted mean of values."""
    answers = [assembly.read(one, front) for one in members(fitted)]
    return _mean(fitted, assembly, answers, _weights(fitted, len(answers)))


def bagging_regressor(fitted: Fitted, front: Front, assembly: Assembly) -> Answer:
    """BaggingRegressor: the mean of values, of some columns each."""
    return _mean(fitted, assembly, _bagged(fitted, front, assembly), None)


def _mean(fitted: Fitted, assembly: Assembly, answers: list[Answer], weights: Array | None) -> Answer:
    given = np.ones(len(answers)) if weights is None else weights
    each = [assembly.value(_value(fitted, one)) for one in answers]
    value = _blend(assembly, "mean", each, given[np.newaxis] / given.sum())
    return Answer(kind_of(fitted, answers), None, value, 1, None)


def transformed_target(fitted: Fitted, front: Front, assembly: Assembly) -> Answer:
    """TransformedTargetRegressor whose target is scaled, or a logarithm, or what it was."""
    fitted.require("regressor_")
    inner, transformer = assembly.read(fitted.get("regressor_"), front), fitted.get("transformer_")
    value, kind, maker = _value(fitted, inner), f"{fitted.role}({inner.kind})", assembly.maker
    found = role(transformer, SCALERS)
    if found is None:
        raise UnsupportedError(
            f"{fitted.place}: the target is transformed by {type(transformer).__name__}, which cannot be "
            f"undone in compiled code; use a linear one ({', '.join(SCALERS)}), or undo it yourself"
        )
    scaler = Fitted(transformer, found, fitted.where)
    if found == "FunctionTransformer":
        less = _exponential(fitted, scaler.optional("inverse_func"))
        if less is not None:
            node = ir.Exponential(maker.name("exponential"), assembly.value(value), less)
            return Answer(kind, None, maker.add(node), 1, None)
    factor, offset = _inverse(scaler)
    if isinstance(value, tuple):
        assembly.rescale(value, factor, offset)
        return Answer(kind, None, value, 1, None, "", LabelRule.NONE)
    tables = maker.table("target_scale", [[factor]]), maker.table("target_shift", [offset])
    return Answer(kind, None, maker.add(ir.Blend(maker.name("rescaled"), value, *tables, False)), 1, None)


def _exponential(fitted: Fitted, function: object) -> float | None:
    """What is taken off the exponential that a function computes; None where there is no function."""
    if function is None:
        return None
    for known, less in ((np.exp, 0.0), (np.expm1, 1.0)):
        if function is known:
            return less
    raise UnsupportedError(
        f"{fitted.place}: the target is transformed by a function other than numpy.exp and numpy.expm1 "
        "and cannot be compiled; compile its regressor_ and apply the inverse to the value"
    )


def _inverse(scaler: Fitted) -> tuple[float, float]:
    """The factor and the offset by which a scaler of the target is undone."""
    names = SCALERS[scaler.role]
    scale, shift = (None if name is None else scaler.optional(name) for name in names)
    factor = 1.0 if scale is None else float(scaler.numbers(str(names[0]), 0, 1).ravel()[0])
    offset = 0.0 if shift is None else float(scaler.numbers(str(names[1]), 0, 1).ravel()[0])
    if not np.isfinite([factor, offset]).all() or factor == 0:
        raise scaler.damaged("its scale or shift is no number")
    return (1 / factor, -offset / factor) if scaler.role == "MinMaxScaler" else (factor, offset)


def _value(fitted: Fitted, answer: Answer) -> Scores:
    """The one value of a regressor."""
    if answer.labels is not None or answer.n_scores != 1 or answer.scores is None:
        raise UnsupportedError(f"{fitted.place}: holds {answer.kind}, which does not give one value")
    return answer.scores


def _bagged(fitted: Fitted, front: Front, assembly: Assembly) -> list[Answer]:
    estimators, width = members(fitted), fitted.count("n_features_in_")
    columns = members(fitted, "estimators_features_")
    if len(columns) != len(estimators):
        raise fitted.damaged("estimators_features_ is not a list for each estimator")
    fronts = [front.then(pick(_columns(fitted, one, width), width)) for one in columns]
    return [assembly.read(one, seen) for one, seen in zip(estimators, fronts, strict=True)]


def _columns(fitted: Fitted, given: object, width: int) -> NDArray[np.int64]:
    found = np.asarray(given)
    if found.ndim != 1 or found.dtype.kind not in "iu" or not ((found >= 0) & (found < width)).all():
        raise fitted.damaged(f"estimators_features_ does not hold numbers of {width} columns")
    return found.astype(np.int64)


def ada_boost(fitted: Fitted, front: Front, assembly: Assembly) -> Answer:
    """AdaBoostClassifier: weighted votes; a vote for a class is one against all others."""
    labels, estimators = fitted.labels(), members(fitted)
    weights = fitted.numbers("estimator_weights_", 1)[: len(estimators)]
    if len(weights) != len(estimators) or not np.isfinite(weights).all() or not weights.sum() > 0:
        raise fitted.damaged("estimator_weights_ does not hold a weight for each estimator")
    answers = [assembly.read(one, front) for one in estimators]
    votes = [_votes(fitted, one, labels, assembly) for one in answers]
    k, maker, kind = len(labels), assembly.maker, kind_of(fitted, answers)
    counted = np.where(np.eye(k) == 1, 1.0, -1 / (k - 1))
    counted, scale = (counted[1:], 2.0) if k == 2 else (counted, 1.0)
    raw = _blend(assembly, "weighed", votes, np.kron(weights, counted))  # in order, so that ties stay ties
    scores = _blend(assembly, "scores", [raw], np.eye(len(counted)) * scale / weights.sum())
    if k == 2:
        label = maker.add(ir.Threshold(maker.name("label"), raw, True, 1, 0))
        slopes, offsets = maker.table("slopes", [-1.0]), maker.table("offsets", [0.0])
        chance = maker.add(ir.Sigmoid(maker.name("chance"), scores, slopes, offsets, 0.0))
        return Answer(kind, labels, scores, 1, maker.add(ir.Complement(maker.name("both"), chance)), label)
    chances = maker.add(ir.Softmax(maker.name("probabilities"), scores, 1 / (k - 1)))
    return Answer(kind, labels, scores, k, chances, maker.largest(raw))


def output_code(fitted: Fitted, front: Front, assembly: Assembly) -> Answer:
    """OutputCodeClassifier: the class whose code is nearest to the scores of all members."""
    labels, book = fitted.labels(), fitted.numbers("code_book_", 2)
    estimators, maker = members(fitted), assembly.maker
    if book.shape != (len(labels), len(estimators)) or not np.isfinite(book).all():
        raise fitted.damaged(
            f"code_book_ has shape {book.shape}, expected {(len(labels), len(estimators))}"
        )
    # |y - c|^2 is least where 2 y.c - |c|^2 is largest. Members that saw one class say one thing.
    bias, told = -np.square(book).sum(axis=1), np.zeros(len(estimators), dtype=bool)
    for at, one in enumerate(estimators):
        if role(one, (CONSTANT,)):
            said = Fitted(one, CONSTANT, fitted.where).numbers("y_", 1)
            bias, told[at] = bias + 2 * book[:, at] * said[0], True
    if told.all():
        raise fitted.damaged("no estimator in it tells classes apart")
    answers = [assembly.read(one, front) for one, known in zip(estimators, told, strict=True) if not known]
    beside = maker.beside("beside", [_second(fitted, one, assembly) for one in answers])
    codes, sizes = maker.table("codes", 2 * book[:, ~told]), maker.table("code_sizes", bias)
    scores = maker.add(ir.Blend(maker.name("nearness"), beside, codes, sizes, False))
    return Answer(kind_of(fitted, answers), labels, None, 0, None, maker.largest(scores))


def _second(fitted: Fitted, answer: Answer, assembly: Assembly) -> str:
    """The score of the second class, or its probability where there is no score."""
    if answer.rule is LabelRule.NONE or (answer.scores is not None and answer.n_scores == 1):
        assert answer.scores is not None
        return assembly.value(answer.scores)
    if answer.scores is None and answer.probabilities and answer.labels and len(answer.labels) == 2:
        return assembly.maker.columns("second", answer.probabilities, [1])
    raise UnsupportedError(
        f"{fitted.place}: holds {answer.kind}, which does not tell two classes apart; use another estimator"
    )


def _chances(fitted: Fitted, answer: Answer, places: Labels) -> str:
    _same_classes(fitted, answer, places)
    if answer.probabilities is None:
        raise UnsupportedError(
            f"{fitted.place}: {answer.kind} gives no probabilities; wrap it in a CalibratedClassifierCV"
        )
    return answer.probabilities


def _votes(fitted: Fitted, answer: Answer, places: Labels, assembly: Assembly) -> str:
    """1 for the class that a member says."""
    _same_classes(fitted, answer, places)
    maker = assembly.maker
    return maker.add(ir.OneHot(maker.name("votes"), assembly.label(answer), len(places)))


def _same_classes(fitted: Fitted, answer: Answer, places: Labels) -> None:
    """Members know classes by their numbers, or their names: as many as all, and in their order."""
    if answer.labels is None or answer.rule is LabelRule.NONE:
        raise UnsupportedError(f"{fitted.place}: holds {answer.kind}, which is no classifier")
    if len(answer.labels) != len(places) or list(answer.labels.values) != list(places.values):
        raise UnsupportedError(
            f"{fitted.place}: a member was trained without some of the classes, which cannot be compiled; "
            "train it on more rows"
        )


def _weights(fitted: Fitted, count: int) -> Array | None:
    if fitted.get("weights") is None:
        return None
    weights = fitted.numbers("weights", 1)
    kept = [one for _, one in fitted.get("estimators")]
    weights = weights[[one != "drop" for one in kept]] if len(weights) == len(kept) else weights
    if (
        weights.shape != (count,)
        or not (np.isfinite(weights) & (weights >= 0)).all()
        or not weights.sum() > 0
    ):
        raise fitted.damaged(f"weights are not numbers from zero on, one for each of {count} estimators")
    return weights


def _blended(fitted: Fitted, assembly: Assembly, parts: Sequence[str], weights: Array | None) -> str:
    """The mean of probabilities."""
    maker = assembly.maker
    if len(parts) == 1:
        return parts[0]
    if weights is None:
        return maker.add(
            ir.Mean(maker.name("probabilities"), maker.beside("members", list(parts)), len(parts))
        )
    table = np.kron(weights / weights.sum(), np.eye(len(fitted.labels())))
    return _blend(assembly, "probabilities", parts, table, True)


def _blend(
    assembly: Assembly, name: str, parts: Sequence[str], weights: NDArray[Any], chances: bool = False
) -> str:
    """Weighted sums over the columns of all parts."""
    maker = assembly.maker
    tables = maker.table("member_weights", weights), maker.table("member_bias", np.zeros(len(weights)))
    return maker.add(ir.Blend(maker.name(name), maker.beside("members", list(parts)), *tables, chances))


def kind_of(fitted: Fitted, answers: list[Answer]) -> str:
    """What an ensemble is, and of what."""
    kinds = list(dict.fromkeys(answer.kind for answer in answers))
    return f"{fitted.role}({', '.join(kinds)})"
