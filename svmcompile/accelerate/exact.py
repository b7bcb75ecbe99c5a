"""exact: the SVM as it is, every support vector met."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate import Method
from svmcompile.accelerate.preprocessing import Drawer
from svmcompile.data import Data
from svmcompile.ir import nodes as ir
from svmcompile.ir.cost import kernel_sum_flops
from svmcompile.ir.nodes import Node
from svmcompile.ir.program import Claim, Input, Origin, Output, OutputName, Program
from svmcompile.steps import Steps
from svmcompile.svm import SVM, LabelRule

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

    def preprocess(self, own: str = "", x: str = "x", steps: Steps | None = None) -> str:
        """Nodes for the preprocessing steps of the row `x`; the name of the value the kernel sees.

        A reader with steps of its own, under names that start with `own`, can take them in. The steps
        are the SVM's unless others are given.
        """
        drawer = Drawer(self.body, self.table, self.indices, own)
        return drawer.add_all(self.svm.steps if steps is None else steps, x)

    def exact_sums(self, out: str = "sums", own: str = "", x: str | None = None) -> str:
        """Nodes for the SVM's own sums, every support vector met; the name of their value.

        They read the value `x` if it is given, else steps of their own.
        """
        svm, x = self.svm, self.preprocess(own) if x is None else x
        vectors = self.table(f"{own}vectors", svm.vectors)
        weights = self.table(f"{own}weights", svm.coefficients)
        bias = self.table(f"{own}bias", svm.intercepts)
        if svm.counts:
            node: Node = ir.PairSum(out, x, vectors, weights, bias, svm.counts, svm.kernel)
        else:
            node = ir.KernelSum(out, x, vectors, weights, bias, svm.kernel)
        self.body.append(node)
        return out

    def exact_in_double(self, out: str = "exact") -> str:
        """The SVM's own sums, in double from the row on; the name of their value."""
        self.body.append(ir.Widen("wide_row", "x"))
        return self.exact_sums(out, "exact_", self.preprocess("exact_", "wide_row"))

    def finish(
        self, sums: str, method: str, claim: Claim, notes: tuple[str, ...] = (), **origin: Any
    ) -> Program:
        """Heads over the kernel sums, and the program."""
        svm = self.svm
        self.body.extend(head_nodes(svm, sums))
        name: OutputName = "value" if svm.label_rule is LabelRule.NONE else "scores"
        outputs = [Output(name, "scores" if svm.one_vs_rest_scores else sums)]
        if svm.label_rule is not LabelRule.NONE:
            outputs.append(Output("label", "label"))
        return self.program(outputs, method, claim, notes, **origin)

    def program(
        self,
        outputs: Sequence[Output],
        method: str,
        claim: Claim,
        notes: tuple[str, ...] = (),
        **origin: Any,
    ) -> Program:
        """The program of the nodes so far."""
        svm = self.svm
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
                notes=(*svm.notes, *notes),
                **origin,
            ),
        )


def head_nodes(svm: SVM, sums: str) -> list[Node]:
    """What the original makes of its sums: `scores` where they differ from the sums, and `label`."""
    rule, nodes, scores = svm.label_rule, list[Node](), sums
    if svm.one_vs_rest_scores:
        scores = "scores"
        nodes.append(ir.OvrScores(scores, sums, len(svm.counts)))
    if rule is LabelRule.VOTE:
        nodes.append(ir.Vote("label", sums, len(svm.counts)))
    elif rule is LabelRule.ARGMAX:
        nodes.append(ir.ArgMax("label", scores))
    elif rule is not LabelRule.NONE:
        nodes.append(ir.Threshold("label", sums, *THRESHOLDS[rule]))
    return nodes


def exact_flops(svm: SVM) -> int:
    """Flops per row of the SVM as it is: what every other method is compared with."""
    return kernel_sum_flops(svm.kernel, svm.n_vectors, svm.kernel_width, svm.coefficients.shape[0])


def exact(svm: SVM, data: Data | None, options: ExactOptions) -> Program:
    """f(x) = sum_i a_i k(x, s_i) + b, for every score of the model."""
    builder = Builder(svm)
    return builder.finish(builder.exact_sums(), "exact", Claim.EXACT)


METHOD = Method(exact, ExactOptions, Claim.EXACT, needs_data=False, needs_vectors=False)
