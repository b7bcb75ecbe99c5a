"""train: labelled rows in; lists of half-spaces, and the end that rows held out prefer, out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.fitting.rows import finite_rows
from svmcompile.accelerate.h1_tree.ends import (
    Choice,
    Form,
    choose,
    ended,
    growth_for,
    linear_planes,
    some_rows,
    splits,
)
from svmcompile.accelerate.h1_tree.forest import OUT, Forest, Lists, Ruler, centre_of, factors, grown
from svmcompile.accelerate.h1_tree.grow import PlaneList
from svmcompile.accelerate.h1_tree.options import DTYPES, H1TrainOptions, check_classes
from svmcompile.accelerate.h1_tree.program import before_svm, figures
from svmcompile.accelerate.h1_tree.record import node_records
from svmcompile.accelerate.h1_tree.rows import Pair, Rows
from svmcompile.data import Data
from svmcompile.errors import OptionError
from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import Array
from svmcompile.ir.kernel import Kernel
from svmcompile.ir.nodes import Node
from svmcompile.ir.pairs import pair_indices
from svmcompile.ir.program import Claim, Input, Labels, Origin, Output, Program
from svmcompile.model.front import IDENTITY, scale
from svmcompile.model.svm import SVM, LabelRule, Source, digest


def train(data: Data, options: H1TrainOptions) -> Program:
    """One list for two classes, one per pair for more; votes or a directed graph decide among several."""
    options.check()
    assert data.y is not None
    points = finite_rows("h1-tree", data.X)
    known, classes = np.unique(data.y, return_inverse=True)
    if len(known) < 2:
        raise OptionError("h1-tree: the data has only one class; lists separate at least two")
    check_classes(len(known))
    task = Task(data, Rows(points, classes), known, factors(points, options.scale), options)
    nothing_to_hold_out = len(points) == len(known) and options.end == "auto"
    if options.is_settled or nothing_to_hold_out:
        return task.lists_alone(Form("label", options.noises[0]))
    chosen = choose(task.scaled(), task.pairs, options)
    make = task.before_machine if chosen.form.end == "svm" else task.lists_alone
    program = make(chosen.form, chosen)
    notes = (*program.origin.notes, chosen.note())
    return program.replace(origin=replace(program.origin, notes=notes))


@dataclass(frozen=True, eq=False)
class Task:
    """Labelled rows, and how lists are to be grown for them."""

    data: Data
    rows: Rows
    known: NDArray[Any]  # labels, by class number
    factor: Array | None  # that makes features alike
    options: H1TrainOptions

    @property
    def pairs(self) -> list[Pair]:
        return [(1, 0)] if len(self.known) == 2 else pair_indices(len(self.known))

    def scaled(self) -> Rows:
        points = self.rows.points - self.rows.points.mean(axis=0)
        return replace(self.rows, points=points if self.factor is None else points * self.factor)

    @cached_property
    def kept(self) -> NDArray[np.intp]:
        """Rows that everything is trained on: all, unless some are held out for good."""
        parts = splits(self.rows.classes, self.options) if self.options.validation else []
        return parts[0][0] if parts else np.arange(len(self.rows))

    def grown(self, rows: Rows, form: Form, factor: Array | None) -> Forest:
        growth = growth_for(self.options, form.noise, form.end, several=len(self.pairs) > 1)
        return grown(rows.some(self.kept), self.pairs, growth, self.options, 0.0, factor)

    @property
    def ungrown(self) -> Forest:
        """Lists without a node."""
        none = np.zeros((0, self.rows.points.shape[1]))
        empty = Ruler(PlaneList((), 0), none, self.rows.sample(self.pairs[0], 0, 0.0), (), none)
        return Forest((empty,) * len(self.pairs), self.options.order, 0)

    def lists_alone(self, form: Form, chosen: Choice | None = None) -> Program:
        """Lists that answer every row, the last node a linear machine or not."""
        forest = self.grown(self.rows, form, self.factor) if form.nodes else self.ungrown
        lists = forest.lists()
        if form.end == "plane":
            own = self.rows.some(self.kept)
            lists = ended(
                lists.first(form.nodes), linear_planes(own, self.pairs, self.options, self.factor)
            )
        return self.program(lists, self.details(lists, self.rows, forest, chosen))

    def before_machine(self, form: Form, chosen: Choice) -> Program:
        """Lists with an RBF machine behind them, which is trained on all rows.

        Not on the rows that reach it: those are few and special, and it would fit them too well.
        """
        options = self.options
        some = self.kept[some_rows(len(self.kept), options.svm_rows, options.seed)]
        svm = trained_svm(
            self.rows.points[some], self.known[self.rows.classes[some]], self.factor, options, self.sha256
        )
        svm = replace(svm, feature_names=self.data.feature_names)
        rows = replace(self.rows, points=svm.prepared(self.rows.points))
        forest = self.grown(rows, form, None) if form.nodes else self.ungrown
        lists = forest.lists().first(form.nodes)
        builder, sums = before_svm(svm, lists, rows.points, options.planes)
        details = self.details(lists, rows, forest, chosen)
        return builder.finish(sums, "h1-tree", Claim.APPROXIMATE, details=details)

    def details(self, lists: Lists, rows: Rows, forest: Forest, chosen: Choice | None) -> dict[str, Any]:
        """What is reported. Rows held out for good tell of the regions, else the rows of training."""
        held = np.setdiff1d(np.arange(len(rows)), self.kept)
        found: dict[str, Any] = {"lists": figures(lists, rows.some(self.kept))}
        found["rows"] = {"lists": len(self.kept)} | ({"held_out": len(held)} if len(held) else {})
        if lists.nodes:
            found["lists"]["grown"] = forest.grown
            found["regions_on"] = "rows held out" if len(held) else "rows of the lists"
            own = rows.some(held if len(held) else self.kept)
            found["nodes"] = node_records(lists, self.pairs, own, self.known.tolist())
        if chosen:
            found["choice"] = chosen.as_dict()
            found["validation_accuracy"] = found["choice"]["accuracy"]
        return found

    @cached_property
    def sha256(self) -> str:
        return digest({"X": self.data.X, "y": np.asarray(self.data.y)})

    def program(self, lists: Lists, details: dict[str, Any]) -> Program:
        """Lists alone."""
        X, labels = self.data.X, Labels.of(self.known, "the data")
        head: Node = ir.Threshold("label", OUT, True, 1, 0)
        if len(labels) > 2:
            head = ir.Vote("label", OUT, len(labels))
        return Program(
            input=Input(X.shape[1], "x", self.data.feature_names),
            body=(lists.node("x"), head),
            outputs=(Output("scores", OUT), Output("label", "label")),
            tables=lists.tables(X.shape[1], centre_of(X), DTYPES[self.options.planes]),
            labels=labels,
            origin=Origin(
                source="labelled rows",
                sha256=self.sha256,
                n_support_vectors=0,
                exact_flops=0,
                method="h1-tree",
                claim=Claim.APPROXIMATE,
                details=details,
            ),
        )


def trained_svm(
    points: Array, y: NDArray[Any], factor: Array | None, options: H1TrainOptions, sha256: str
) -> SVM:
    """An RBF machine behind the scaling that lists are looked for with."""
    from sklearn.svm import SVC

    front = IDENTITY if factor is None else scale(points.mean(axis=0), factor)
    kernel = Kernel("rbf", options.gamma or 1 / points.shape[1])
    model = SVC(C=options.C, gamma=kernel.gamma, cache_size=500).fit(front.run(points), y)
    several = len(model.classes_) > 2
    return SVM(
        kernel=kernel,
        vectors=np.asarray(model.support_vectors_),
        coefficients=np.asarray(model.dual_coef_),
        intercepts=np.asarray(model.intercept_),
        label_rule=LabelRule.VOTE if several else LabelRule.POSITIVE_SECOND,
        source=Source("labelled rows", digest({"rows": sha256, "C": options.C, "gamma": kernel.gamma})),
        labels=Labels.of(model.classes_, "the data"),
        counts=tuple(int(n) for n in model.n_support_) if several else (),
        front=front,
    ).check("the SVM at the end")
