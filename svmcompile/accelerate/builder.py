"""Builder: a program while a method puts it together; the SVM's own sums and head among its parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir import nodes as ir
from svmcompile.ir.differences import is_by_differences
from svmcompile.ir.graph import leading_to
from svmcompile.ir.kinds import Decision
from svmcompile.ir.node import VALUES, kernel_sum_flops
from svmcompile.ir.nodes import Node
from svmcompile.ir.program import Claim, Input, Origin, Output, Program
from svmcompile.model.front import Front
from svmcompile.model.head import Head, own_head, renamed
from svmcompile.model.svm import SVM

SOME_ROWS = 2000  # enough to measure the work per row


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

    def hold(self, tables: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
        """Tables under their names, as keywords for a node whose fields are called the same."""
        for name, table in tables.items():
            (self.table if table.dtype.kind == "f" else self.indices)(name, table)
        return {name: name for name in tables}

    def compressed(self, own: str, vectors: Any) -> tuple[str, str, str]:
        """Vectors without their zeros, as `CsrSum` takes them: starts, columns and values."""
        return (
            self.indices(f"{own}vector_starts", vectors.indptr),
            self.indices(f"{own}vector_columns", vectors.indices),
            self.table(f"{own}vector_values", vectors.data),
        )

    def preprocess(self, own: str = "", x: str = "x", front: Front | None = None) -> str:
        """Nodes for the preprocessing of the row `x`; the name of the value the kernel sees.

        A reader with a front of its own, under names that start with `own`, can take it in. The front
        is the SVM's unless another is given.
        """
        front = (front or self.svm.front).in_float32().reading(x, own)
        self.body.extend(front.nodes)
        self.hold(front.tables)
        return front.out

    def exact_sums(self, out: str = "sums", own: str = "", x: str | None = None, row: str = "x") -> str:
        """Nodes for the SVM's own sums, every support vector met; the name of their value.

        They read the value `x` if it is given, else a front of their own behind `row`.
        """
        if self.svm.parts:
            return self._sums_of_parts(out, own, row)
        svm, x = self.svm, self.preprocess(own, row) if x is None else x
        sparse = self.compressed(own, svm.vectors) if svm.is_sparse else ()
        vectors = "" if sparse else self.table(f"{own}vectors", svm.vectors)
        by_differences = is_by_differences(svm.kernel)
        weights = self.table(f"{own}weights", svm.weights_by_sum if by_differences else svm.coefficients)
        bias = self.table(f"{own}bias", svm.intercepts)
        if sparse:
            node: Node = ir.CsrSum(out, x, *sparse, weights, bias, svm.counts, svm.kernel)
        elif by_differences:
            node = ir.DifferenceSum(out, x, vectors, weights, bias, svm.kernel)
        elif svm.counts:
            node = ir.PairSum(out, x, vectors, weights, bias, svm.counts, svm.kernel)
        else:
            node = ir.KernelSum(out, x, vectors, weights, bias, svm.kernel)
        self.body.append(node)
        return out

    def _sums_of_parts(self, out: str, stem: str, row: str) -> str:
        """The sums of all parts, one after the other; parts with the same front share the prepared row."""
        whole, prepared, sums = self.svm, dict[int, str](), ""
        for index, self.svm in enumerate(whole.parts):
            own, last = f"{stem}part{index}_", index == len(whole.parts) - 1
            front = id(self.svm.front)  # the reader has made those alike one object
            if front not in prepared:
                prepared[front] = self.preprocess(own, row)
            value = self.exact_sums(f"{own}sums", own, prepared[front])
            if sums:
                self.body.append(ir.Join(out if last else f"{own}and_before", sums, value))
            sums = self.body[-1].out
        self.svm = whole
        return sums

    def exact_in_double(self, out: str = "exact") -> str:
        """The SVM's own sums, in double from the row on; the name of their value."""
        self.body.append(ir.Widen("wide_row", "x"))
        return self.exact_sums(out, "exact_", row="wide_row")

    def row_and_exact(self, front: Front) -> tuple[str, str]:
        """Nodes for the row that `front` prepares, and for what rows in doubt come to in double; two names.

        The latter is the SVM's own sum, or the label of its own sums where there are several.
        """
        counts, exact = self.svm.counts, "exact"
        if not counts and self.svm.n_sums == 1:
            self.exact_in_double()
        else:
            sums, exact = self.exact_in_double("exact_sums"), "exact_label"
            self.body.append(ir.Vote(exact, sums, len(counts)) if counts else ir.ArgMax(exact, sums))
        return self.preprocess("bounded_", front=front), exact

    def label_program(self, sums: str, method: str, notes: tuple[str, ...] = (), **origin: Any) -> Program:
        """The program whose one output is the label: the head's of one sum, or without `sums` a node's."""
        self.body.extend(head_nodes(self.svm, sums) if sums else [])
        return self.program([Output("label", "label")], method, Claim.SAME_LABEL, notes, **origin)

    def finish(
        self, sums: str, method: str, claim: Claim, notes: Sequence[str] = (), **origin: Any
    ) -> Program:
        """Heads over the kernel sums, and the program."""
        head = head_of(self.svm).reading(sums).apart(self.tables)
        self.body.extend(head.nodes)
        self.tables |= head.tables
        outputs = [*head.outputs, *self._deviation(head)]
        return self.program(outputs, method, claim, notes, **origin)

    def _deviation(self, head: Head) -> list[Output]:
        """How sure a Gaussian process is, in double: what is left of a variance is small."""
        svm, deviation = self.svm, self.svm.deviation
        if deviation is None:
            return []
        self.body.append(ir.Widen("wide_row", "x"))
        told = ""
        for index, (machine, weights) in enumerate(zip(svm.machines, deviation.weights, strict=True)):
            own, bias = f"told{index}_", deviation.bias * (index == 0)
            self.svm = replace(machine, coefficients=weights, intercepts=bias, counts=())
            found = self.exact_sums(f"{own}sums", own, row="wide_row")
            if told:
                self.body.append(ir.Add(f"{own}and_before", told, found))
            told = self.body[-1].out
        self.svm = svm
        if svm.labels is None:
            self.body.append(ir.Deviation("deviation", told, deviation.prior))
            return [Output("deviation", "deviation")]
        scores = head.value("scores")
        assert scores, "a Gaussian process has a score"
        self.body.append(ir.GaussianChance("chance", scores, told, deviation.prior))
        self.body.append(ir.Complement("chances", "chance"))
        return [Output("probabilities", "chances")]

    def finish_certain(self, method: str, notes: Sequence[str] = (), **origin: Any) -> Program:
        """The SVM's own sums and heads; a label that float32 could round to another is double's."""
        sums, wide = self.exact_sums(), self.exact_in_double("exact_sums")
        head = head_of(self.svm).reading(sums).apart(self.tables)
        label = head.value("label")
        assert label, "a regressor has no label"
        own = {node.out: f"exact_{node.out}" for node in head.nodes} | {sums: wide}
        self.body.extend(renamed(node, own, VALUES) for node in head.leading_to("label"))
        rule = _decision(head.nodes, label, sums)
        certain = own[label]
        if rule:
            certain = "certain"
            self.body.append(ir.Certain(certain, "x", sums, own[label], "", "", *rule))
        outputs = [Output(out.name, certain if out.name == "label" else out.value) for out in head.outputs]
        self.body = list(leading_to([*self.body, *head.nodes], [out.value for out in outputs]))
        used = {name for node in self.body for name in ir.table_names(node)}
        held = {**self.tables, **head.tables}
        self.tables = {name: table for name, table in held.items() if name in used}
        return self.program(outputs, method, Claim.SAME_LABEL, notes, **origin)

    def program(
        self, outputs: Sequence[Output], method: str, claim: Claim, notes: Sequence[str] = (), **origin: Any
    ) -> Program:
        """The program of the nodes so far."""
        svm = self.svm
        facts = {"noise_scale": svm.noise_scale, "most_probable": svm.most_probable or None}
        known = {key: value for key, value in facts.items() if value is not None}
        origin["details"] = {**known, **origin.get("details", {})}
        return Program(
            input=Input(svm.n_features, "x", svm.feature_names, text=svm.text, categories=svm.categories),
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


def _decision(nodes: Sequence[Node], label: str, sums: str) -> tuple[Decision, bool, int] | None:
    """How sums decide the label: rule, and what a threshold says; None where they do not alone."""
    made = {node.out: node for node in nodes}
    last = made[label]
    if isinstance(last, ir.Threshold) and last.score == sums:
        return "sign", last.positive, last.hit
    if isinstance(last, ir.Vote) and last.pairs == sums:
        return "vote", True, 0
    if not isinstance(last, ir.ArgMax):
        return None
    before = made.get(last.scores)
    if isinstance(before, ir.OvrScores) and before.pairs == sums:
        return "ties", True, 0
    return ("argmax", True, 0) if last.scores == sums else None


def remarked(program: Program, rows: NDArray[Any], notes: Sequence[str]) -> Program:
    """The program with notes, one more where the exact sum takes less work on rows like these."""
    cost = program.cost(rows[:: -(-len(rows) // SOME_ROWS)])
    notes = [*program.origin.notes, *notes]
    if cost.mean_flops > cost.exact_flops:
        notes.append(
            f"method exact is cheaper here: {cost.exact_flops:,} flops per row, "
            f"this program takes {cost.mean_flops:,.0f}"
        )
    return program.replace(origin=replace(program.origin, notes=tuple(notes)))


def head_of(svm: SVM) -> Head:
    """What the original makes of its sums."""
    head = svm.head or own_head(svm)
    return head.by_probability() if svm.most_probable else head


def head_nodes(svm: SVM, sums: str) -> list[Node]:
    """What leads from the sums of one machine to `scores`, where they differ from the sums, and `label`."""
    return list(head_of(svm).reading(sums).leading_to("scores", "label"))


def exact_flops(svm: SVM) -> int:
    """Flops per row of the SVM as it is: what every other method is compared with."""
    if svm.parts:
        return sum(map(exact_flops, svm.parts))
    width, sums = svm.kernel_width, svm.coefficients.shape[0]
    if svm.is_sparse:  # of a row that has every feature; others take less
        return 2 * int(svm.vectors.nnz) + kernel_sum_flops(svm.kernel, svm.n_vectors, 0, sums)
    return kernel_sum_flops(svm.kernel, svm.n_vectors, width, sums)
