"""exact: the SVM as it is, every support vector met."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate import Method
from svmcompile.data import Data
from svmcompile.ir import nodes as ir
from svmcompile.ir.cost import kernel_sum_flops
from svmcompile.ir.nodes import Node
from svmcompile.ir.program import Claim, Input, Origin, Output, OutputName, Program
from svmcompile.shift import split_shift
from svmcompile.svm import SVM, ClipStep, LabelRule

THRESHOLDS = {  # label rule -> (positive, hit, miss)
    LabelRule.POSITIVE_SECOND: (True, 1, 0),
    LabelRule.NEGATIVE_FIRST: (False, 0, 1),
    LabelRule.POSITIVE_FIRST: (True, 0, 1),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactOptions:
    """Every support vector is met; same decision values as the original."""


class Builder:
    """Collects nodes and tables, and ends in the heads that the original's rules ask for."""

    def __init__(self, svm: SVM) -> None:
        self.svm = svm
        self.body: list[Node] = []
        self.tables: dict[str, NDArray[Any]] = {}

    def table(self, name: str, array: NDArray[Any]) -> str:
        self.tables[name] = np.asarray(array, dtype=np.float64)
        return name

    def indices(self, name: str, array: NDArray[Any]) -> str:
        self.tables[name] = np.asarray(array, dtype=np.int32)
        return name

    def preprocess(self, own: str = "") -> str:
        """Nodes for the preprocessing steps; the name of the value the kernel sees.

        A reader with steps of its own, under names that start with `own`, can take them in.
        """
        x = "x"
        for index, step in enumerate(self.svm.steps):
            out = f"{own}z{index}"
            if isinstance(step, ClipStep):
                self.body.append(ir.Clip(out, x, step.low, step.high))
            else:
                shift, offset = split_shift(step.shift, step.factor)
                self.body.append(
                    ir.Scale(
                        out,
                        x,
                        self.table(f"{own}shift{index}", shift),
                        self.table(f"{own}factor{index}", step.factor),
                        self.table(f"{own}offset{index}", offset),
                    )
                )
            x = out
        return x

    def exact_sums(self, out: str = "sums", own: str = "") -> str:
        """Nodes for the SVM's own sums, every support vector met; the name of their value."""
        svm, x = self.svm, self.preprocess(own)
        vectors = self.table(f"{own}vectors", svm.vectors)
        weights = self.table(f"{own}weights", svm.coefficients)
        bias = self.table(f"{own}bias", svm.intercepts)
        if svm.counts:
            node: Node = ir.PairSum(out, x, vectors, weights, bias, svm.counts, svm.kernel)
        else:
            node = ir.KernelSum(out, x, vectors, weights, bias, svm.kernel)
        self.body.append(node)
        return out

    def finish(self, sums: str, method: str, claim: Claim, **origin: Any) -> Program:
        """Heads over the kernel sums, and the program."""
        svm, outputs = self.svm, []
        scores = sums
        if svm.one_vs_rest_scores:
            scores = "scores"
            self.body.append(ir.OvrScores(scores, sums, len(svm.counts)))
        name: OutputName = "value" if svm.label_rule is LabelRule.NONE else "scores"
        outputs.append(Output(name, scores))
        if svm.label_rule is not LabelRule.NONE:
            self.body.append(label_node(svm, sums, scores))
            outputs.append(Output("label", "label"))
        return Program(
            input=Input(svm.n_features, "x", svm.feature_names),
            body=tuple(self.body),
            outputs=tuple(outputs),
            tables=self.tables,
            labels=svm.labels,
            origin=Origin(
                source=svm.source.kind,
                sha256=svm.source.sha256,
                n_support_vectors=svm.n_vectors,
                exact_flops=exact_flops(svm),
                method=method,
                claim=claim,
                notes=svm.notes,
                **origin,
            ),
        )


def label_node(svm: SVM, sums: str, scores: str) -> Node:
    """The node that turns sums, or the scores made of them, into a label by the original's rule."""
    if svm.label_rule is LabelRule.VOTE:
        return ir.Vote("label", sums, len(svm.counts))
    if svm.label_rule is LabelRule.ARGMAX:
        return ir.ArgMax("label", scores)
    return ir.Threshold("label", sums, *THRESHOLDS[svm.label_rule])


def exact_flops(svm: SVM) -> int:
    """Flops per row of the SVM as it is: what every other method is compared with."""
    return kernel_sum_flops(svm.kernel, svm.n_vectors, svm.n_features, svm.coefficients.shape[0])


def exact(svm: SVM, data: Data | None, options: ExactOptions) -> Program:
    """f(x) = sum_i a_i k(x, s_i) + b, for every score of the model."""
    builder = Builder(svm)
    return builder.finish(builder.exact_sums(), "exact", Claim.EXACT)


METHOD = Method(exact, ExactOptions, Claim.EXACT, needs_data=False, needs_vectors=False)
