"""LIBLINEAR text models: the bytes of a file in, a linear machine out.

Scores are LIBLINEAR's decision values: the bias is a feature of its own there, and an intercept here. Of
two classes, above zero is the first label of the file, also for MCSVM_CS, whose second value decides
nothing then; of more, the largest score wins. Logistic models have probabilities.
"""

from __future__ import annotations

import hashlib
from array import array
from dataclasses import replace

import numpy as np

from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import Array
from svmcompile.ir.program import Labels
from svmcompile.model.head import SUMS, THRESHOLDS, Head, HeadMaker
from svmcompile.model.svm import SVM, LabelRule, Source
from svmcompile.read.kernels import MAX_FEATURES, check_dense_size, entries_limit, linear_machine
from svmcompile.read.libsvm.text import (
    INT_MAX,
    INT_MIN,
    Grammar,
    Header,
    Lines,
    decimal,
    read_header,
    shown,
)

LOGISTIC = ("L2R_LR", "L1R_LR", "L2R_LR_DUAL")
CRAMMER_SINGER = "MCSVM_CS"
CLASSIFIERS = (
    *LOGISTIC, "L2R_L2LOSS_SVC_DUAL", "L2R_L2LOSS_SVC", "L2R_L1LOSS_SVC_DUAL", CRAMMER_SINGER,
    "L1R_L2LOSS_SVC",
)  # fmt: skip
REGRESSORS = ("L2R_L2LOSS_SVR", "L2R_L2LOSS_SVR_DUAL", "L2R_L1LOSS_SVR_DUAL")
ONE_CLASS = "ONECLASS_SVM"
TYPES = (*CLASSIFIERS, *REGRESSORS, ONE_CLASS)
GRAMMAR = Grammar(
    "LIBLINEAR", ("solver_type", "nr_class", "label", "nr_feature", "bias", "rho"), ("label",), "w"
)


def read_liblinear(content: bytes, where: str, *, trust_pickle: bool, n_features: int | None) -> SVM:
    """The machine in a model file; an error with file and line for any other bytes."""
    lines = Lines(content, where)
    header = read_header(lines, GRAMMAR)
    kind = header.word("solver_type")
    if kind not in TYPES:
        known = ", ".join(TYPES)
        raise header.error(
            "solver_type", f"solver_type {shown(kind.encode())} is not known; known: {known}"
        )
    n_classes = header.class_count(kind, CLASSIFIERS)
    width = header.wholes("nr_feature", 1, 1, MAX_FEATURES)[0]
    bias = header.decimals("bias", 1)[0]
    columns = 1 if n_classes == 2 and kind != CRAMMER_SINGER else n_classes
    weights = _weights(lines, width + (bias >= 0), columns)
    if n_classes == 2:
        weights = weights[:, :1]
    check_dense_size(weights.shape[1], max(weights.shape), where, entries_limit(len(content)))
    intercepts = bias * weights[width] if bias >= 0 else np.zeros(weights.shape[1])
    machine = linear_machine(weights[:width].T.copy(), intercepts, LabelRule.NONE)
    source = Source(f"LIBLINEAR {kind}", hashlib.sha256(content).hexdigest())
    return _finished(header, replace(machine, source=source), kind, n_classes).check(where)


def _weights(lines: Lines, count: int, columns: int) -> Array:
    """`count` lines of `columns` numbers, and nothing but blank lines after them."""
    found, read = array("d"), 0
    while (line := lines.next()) is not None:
        words = line.split()
        if read == count:
            if words:
                raise lines.error(f"text after the last of {count} lines of weights: {shown(line)}")
            continue
        if len(words) != columns:
            raise lines.error(f"{len(words)} weight(s), expected {columns}")
        for word in words:
            value = decimal(word)
            if value is None:
                raise lines.error(f"{shown(word)} is not a finite number")
            found.append(value)
        read += 1
    if read < count:
        raise lines.error(f"the file ends after {read} lines of weights, expected {count}")
    return np.array(found).reshape(count, columns)


def _finished(header: Header, machine: SVM, kind: str, n_classes: int) -> SVM:
    """With the rule that makes labels of the scores."""
    for key, owners in {"label": CLASSIFIERS, "rho": (ONE_CLASS,)}.items():
        if key in header and kind not in owners:
            raise header.error(key, f"{key} does not belong in a model of type {kind}")
    if kind in REGRESSORS:
        return machine
    if kind == ONE_CLASS:
        labels = Labels((-1, 1), np.dtype(np.int64).str)
        intercepts = machine.intercepts - header.decimals("rho", 1)[0]
        return replace(machine, intercepts=intercepts, label_rule=LabelRule.POSITIVE_SECOND, labels=labels)
    values = header.wholes("label", n_classes, INT_MIN, INT_MAX)
    if len(set(values)) != n_classes:
        raise header.error("label", "a label appears twice")
    labels = Labels(tuple(values), np.dtype(np.int64).str)
    rule = LabelRule.POSITIVE_FIRST if n_classes == 2 else LabelRule.ARGMAX
    head = logistic_head(machine.n_sums, rule) if kind in LOGISTIC else None
    return replace(machine, label_rule=rule, labels=labels, head=head)


def logistic_head(n_scores: int, rule: LabelRule) -> Head:
    """Labels by the scores, and for each class its logistic function, divided by their sum."""
    maker = HeadMaker()
    slopes, offsets = maker.table("slopes", -np.ones(n_scores)), maker.table("offsets", np.zeros(n_scores))
    own = maker.add(ir.Sigmoid(maker.name("chances"), SUMS, slopes, offsets, 0.0))
    if rule is LabelRule.ARGMAX:
        label = maker.largest(SUMS)
        probabilities = maker.add(ir.Shares(maker.name("probabilities"), own, 1, 0.0))
    else:
        label = maker.add(ir.Threshold(maker.name("label"), SUMS, *THRESHOLDS[rule.value]))
        probabilities = maker.add(ir.Complement(maker.name("both"), own))
        if rule is LabelRule.POSITIVE_FIRST:
            probabilities = maker.columns("probabilities", probabilities, [1, 0])
    return maker.head({"scores": SUMS, "label": label, "probabilities": probabilities})
