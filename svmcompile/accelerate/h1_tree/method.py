"""h1-tree: an SVM and rows, or labelled rows alone, in; lists of half-spaces out, as a program."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from svmcompile.accelerate.builder import Builder, remarked
from svmcompile.accelerate.fitting.calibration import refuse_rows_of_the_tree, too_few
from svmcompile.accelerate.fitting.rows import class_numbers, finite_rows, labels_of, margin_rule
from svmcompile.accelerate.h1_tree.exits import WIDTH, Choice, choose, proven, rows_of
from svmcompile.accelerate.h1_tree.forest import OUT, Forest, Lists, centre_of, factors, grown, growth_of
from svmcompile.accelerate.h1_tree.options import DTYPES, H1TrainOptions, H1TreeOptions
from svmcompile.accelerate.h1_tree.rows import Pair, Rows, pairs_of
from svmcompile.accelerate.registry import Method
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

PROOF = 0.25  # of the rows prove the agreement, where none are given for it
CHOICE = 0.2  # of the others choose among lists
BLOCK_ROWS = 4096


def h1_tree(svm: SVM, data: Data | None, options: H1TreeOptions) -> Program:
    """Lists of half-spaces, one per sum, whose answers stand for the SVM's where they are there."""
    assert data is not None
    options.check(svm)
    points = svm.prepared(finite_rows("h1-tree", data.X))
    given = _given(svm, data, options)
    if options.ends_in_svm:
        listed = _before_svm(svm, data, points, given, options)
        return proven(svm, data, listed, options.centres) if options.proven else listed
    rows = rows_of(svm, points, given)
    growth = growth_of(options, several=bool(svm.counts))
    forest = grown(rows, pairs_of(svm), growth, options, 0.0, None)
    builder = Builder(svm)
    lists = forest.lists()
    _add_lists(builder, builder.preprocess(), lists, points, options)
    details = {"lists": _figures(lists, rows, svm) | {"grown": forest.grown}}
    details["rows"] = {"lists": len(points)}
    return remarked(builder.finish(OUT, "h1-tree", Claim.APPROXIMATE, details=details), data.X, ())


def _given(svm: SVM, data: Data, options: H1TreeOptions) -> Any:
    """The classes lists are grown for, None for the SVM's own."""
    if options.by_model:
        return None
    if data.y is None:
        raise OptionError(
            "h1-tree: labels=given needs labels with the data; pass y (Python) or --label COLUMN"
        )
    found = class_numbers(svm, data.y)
    if (found < 0).any():
        stray = data.y[found < 0][0]
        raise OptionError(f"h1-tree: the data has the label {stray}, which the model does not know")
    return found


def _before_svm(svm: SVM, data: Data, points: Array, given: Any, options: H1TreeOptions) -> Program:
    """Lists, and behind them the SVM for rows they do not answer."""
    rows = rows_of(svm, points)
    parts = _parts(svm, data, rows, given, options)
    best = choose(svm, *parts, options)
    builder = Builder(svm)
    x = builder.preprocess()
    if best.lists.nodes:
        _add_lists(builder, x, best.lists, points, options)
        builder.exact_sums("exact", x=x)
        builder.body.append(ir.Guard("guarded", OUT, "exact", WIDTH, margin_rule(svm)))
        sums = "guarded"
    else:
        sums = builder.exact_sums(x=x)
    details = {
        "lists": _figures(best.lists, rows, svm),
        "exits": best.calibration.as_dict(),
        "tried": [one.as_dict() for one in best.tried],
        "rows": dict(zip(("lists", "choice", "proof"), (len(part) for part in parts), strict=True)),
    }
    program = builder.finish(sums, "h1-tree", Claim.APPROXIMATE, details=details)
    return remarked(program, data.X, _notes(options, best))


def _parts(svm: SVM, data: Data, rows: Rows, given: Any, options: H1TreeOptions) -> tuple[Rows, Rows, Rows]:
    """Rows that grow lists, that choose among them, and that prove what they keep."""
    generator = np.random.default_rng(options.seed)
    order = generator.permutation(len(rows))
    held_out = 0 if options.calibrate else int(PROOF * len(rows))
    cut = held_out + int(CHOICE * (len(rows) - held_out))
    if cut == held_out or not (held_out or options.calibrate):
        raise OptionError(
            f"h1-tree: {len(rows)} rows are too few to hold some out; give more, or end=label"
        )
    proof = rows.some(np.sort(order[:held_out]))
    if options.calibrate:
        held = finite_rows("h1-tree", options.calibrate.read(svm), "calibrate")
        refuse_rows_of_the_tree(held, np.asarray(data.X, dtype=np.float64), "h1-tree")
        proof = rows_of(svm, svm.prepared(held))
    wanted = rows if given is None else replace(rows, classes=given)
    return wanted.some(np.sort(order[cut:])), rows.some(np.sort(order[held_out:cut])), proof


def _add_lists(builder: Builder, x: str, lists: Lists, points: Array, options: H1TreeOptions) -> None:
    """The lists, with planes about the middle of the rows."""
    tables = lists.tables(points.shape[1], centre_of(points), DTYPES[options.planes])
    builder.body.append(lists.node(x))
    builder.tables.update(tables)


def _figures(lists: Lists, rows: Rows, svm: SVM) -> dict[str, Any]:
    """What the lists are like on the rows of the data."""
    found: dict[str, Any] = {"planes": len(lists.nodes), "longest": lists.longest}
    if not lists.nodes:
        return found
    blocks = [rows.points[at : at + BLOCK_ROWS] for at in range(0, len(rows), BLOCK_ROWS)]
    walks = [lists.walk(block @ lists.planes.T > lists.thresholds) for block in blocks]
    found["mean_depth"] = round(float(np.mean([walk.tests.mean() for walk in walks])), 3)
    if not any(one.rest == 0 for one in lists.lists):
        said = np.concatenate([labels_of(svm, walk.scores.astype(np.float64)) for walk in walks])
        found["agreement_on_rows_of_the_lists"] = round(float((said == rows.classes).mean()), 6)
    return found


def _notes(options: H1TreeOptions, best: Choice) -> list[str]:
    found = best.calibration
    if not best.lists.nodes:
        return ["no half-space could answer enough rows; the program is the SVM as it is"]
    notes = [
        f"{found.exit_share:.1%} of {found.rows} held-out rows are answered by half-spaces, "
        f"{found.mean_depth:.1f} of them on average; the others go to the SVM"
    ]
    if not found.reached:
        notes.append(too_few(found.rows, found.proven_agreement, options.target, options.confidence))
    return notes


def trained_svm(points: Array, y: Any, factor: Array | None, C: float, gamma: float, sha256: str) -> SVM:
    """An RBF machine behind the scaling that lists are looked for with; gamma 0: one over the features."""
    from sklearn.svm import SVC

    front = IDENTITY if factor is None else scale(points.mean(axis=0), factor)
    kernel = Kernel("rbf", gamma or 1 / points.shape[1])
    model = SVC(C=C, gamma=kernel.gamma, cache_size=500).fit(front.run(points), y)
    several = len(model.classes_) > 2
    return SVM(
        kernel=kernel,
        vectors=np.asarray(model.support_vectors_),
        coefficients=np.asarray(model.dual_coef_),
        intercepts=np.asarray(model.intercept_),
        label_rule=LabelRule.VOTE if several else LabelRule.POSITIVE_SECOND,
        source=Source("labelled rows", digest({"rows": sha256, "C": C, "gamma": kernel.gamma})),
        labels=Labels.of(model.classes_, "the data"),
        counts=tuple(int(n) for n in model.n_support_) if several else (),
        front=front,
    ).check("the SVM at the end")


def train(data: Data, options: H1TrainOptions) -> Program:
    """One list for two classes, one per pair for more; votes or a directed graph decide among several."""
    options.check()
    assert data.y is not None
    points = finite_rows("h1-tree", data.X)
    known, classes = np.unique(data.y, return_inverse=True)
    if len(known) < 2:
        raise OptionError("h1-tree: the data has one class only; lists part at least two")
    factor = factors(points, options.scale)
    if options.end == "svm":
        return _lists_before_svm(data, points, factor, options)
    rows = Rows(points, classes)
    pairs: list[Pair] = [(1, 0)] if len(known) == 2 else pair_indices(len(known))
    growth = growth_of(options, several=len(known) > 2)
    forest = grown(rows, pairs, growth, options, 0.0, factor)
    return _program(forest, data, Labels.of(known, "the data"), options)


def _lists_before_svm(data: Data, points: Array, factor: Array | None, options: H1TrainOptions) -> Program:
    """Lists, and behind them an SVM that is trained first.

    Not on the rows that reach it: those are few and special, and it would fit them too well.
    """
    assert data.y is not None
    n, some = len(points), np.arange(len(points))
    if n > options.svm_rows:
        some = np.sort(np.random.default_rng(options.seed).choice(n, options.svm_rows, replace=False))
    source = digest({"X": data.X, "y": np.asarray(data.y)})
    svm = trained_svm(points[some], data.y[some], factor, options.C, options.gamma, source)
    svm = replace(svm, feature_names=data.feature_names)
    return h1_tree(svm, data, options.before_svm())


def _program(forest: Forest, data: Data, labels: Labels, options: H1TrainOptions) -> Program:
    lists, d = forest.lists(), data.X.shape[1]
    head: Node = ir.Threshold("label", OUT, True, 1, 0)
    if len(labels) > 2:
        head = ir.Vote("label", OUT, len(labels))
    figures = {"planes": len(lists.nodes), "grown": forest.grown, "longest": lists.longest}
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
            details={"lists": figures, "rows": {"lists": len(data.X)}},
        ),
    )


METHOD = Method(
    h1_tree, H1TreeOptions, Claim.APPROXIMATE, needs_data=True, train=train, train_options=H1TrainOptions
)
