"""train: labelled rows in, lists of half-spaces that stand on their own out, as a program."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from svmcompile.accelerate.h1_tree.forest import Forest, factors, grown, growth_of
from svmcompile.accelerate.h1_tree.kernel_end import some_rows, trained_svm
from svmcompile.accelerate.h1_tree.method import h1_tree
from svmcompile.accelerate.h1_tree.options import DTYPES, H1TrainOptions
from svmcompile.accelerate.h1_tree.rows import Pair, Rows, class_numbers, finite
from svmcompile.accelerate.h1_tree.tables import OUT, centre_of
from svmcompile.data import Data
from svmcompile.errors import OptionError
from svmcompile.ir import nodes as ir
from svmcompile.ir.kernel import Array
from svmcompile.ir.labels import Labels
from svmcompile.ir.nodes import Node
from svmcompile.ir.pairs import pair_indices
from svmcompile.ir.program import Claim, Input, Origin, Output, Program
from svmcompile.model.svm import digest


def train(data: Data, options: H1TrainOptions) -> Program:
    """One list for two classes, one per pair for more; votes or a directed graph decide among several."""
    options.check()
    assert data.y is not None
    points = finite(data.X, "the data")
    known = np.unique(data.y)
    if len(known) < 2:
        raise OptionError("h1-tree: the data has one class only; lists part at least two")
    factor = factors(points, options.scale)
    if options.end == "svm":
        return _before_svm(data, points, factor, options)
    rows = Rows(points, class_numbers(data.y, known))
    pairs: list[Pair] = [(1, 0)] if len(known) == 2 else pair_indices(len(known))
    growth = growth_of(options, several=len(known) > 2)
    forest = grown(rows, pairs, growth, options, 0.0, factor)
    return _program(forest, data, Labels.of(known, "the data"), options)


def _before_svm(data: Data, points: Array, factor: Array | None, options: H1TrainOptions) -> Program:
    """Lists, and behind them an SVM that is trained first."""
    assert data.y is not None
    some = some_rows(len(points), options.svm_rows, options.seed)
    source = digest({"X": data.X, "y": np.asarray(data.y)})
    svm = trained_svm(points[some], data.y[some], factor, options.C, options.gamma, source)
    svm = replace(svm, feature_names=data.feature_names)
    return h1_tree(svm, data, options.before_svm())


def _program(forest: Forest, data: Data, labels: Labels, options: H1TrainOptions) -> Program:
    lists, d = forest.lists(), data.X.shape[1]
    head: Node = ir.Threshold("label", OUT, True, 1, 0)
    if len(labels) > 2:
        head = ir.Vote("label", OUT, len(labels))
    details = {
        "lists": {
            "planes": len(lists.nodes),
            "grown": forest.grown,
            "longest": max(len(one.nodes) for one in lists.lists),
        },
        "rows": {"lists": len(data.X)},
    }
    return Program(
        input=Input(d, "x", data.feature_names),
        body=(lists.node("x"), head),
        outputs=(Output("scores", OUT), Output("label", "label")),
        tables=lists.tables(d, centre_of(data.X), DTYPES[options.planes]),
        labels=labels,
        origin=Origin(
            source="labelled rows",
            sha256=digest({"X": data.X, "y": np.asarray(data.y)}),
            n_support_vectors=0,
            exact_flops=0,
            method="h1-tree",
            claim=Claim.APPROXIMATE,
            details=details,
        ),
    )
