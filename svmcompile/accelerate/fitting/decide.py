"""What the original makes of sums: sums go in, its labels come out, and how its margin is read."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.builder import head_of
from svmcompile.ir.kernel import Array
from svmcompile.ir.kinds import Rule
from svmcompile.ir.node import run
from svmcompile.model.head import SUMS
from svmcompile.model.svm import SVM


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
