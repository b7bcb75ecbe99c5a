"""h1-tree: an SVM and rows in; lists of half-spaces out, as a program."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from svmcompile.accelerate.builder import Builder, remarked
from svmcompile.accelerate.fitting.calibration import IN_FEW_BYTES, refuse_rows_of_the_tree, too_few
from svmcompile.accelerate.fitting.rows import class_numbers, finite_rows, made_up_rows
from svmcompile.accelerate.h1_tree.exits import Choice, choose, proven, rows_of
from svmcompile.accelerate.h1_tree.forest import OUT, Lists, grown, growth_of
from svmcompile.accelerate.h1_tree.options import H1TrainOptions, H1TreeOptions
from svmcompile.accelerate.h1_tree.program import add_lists, before_svm, figures
from svmcompile.accelerate.h1_tree.record import node_records
from svmcompile.accelerate.h1_tree.rows import Rows, pairs_of
from svmcompile.accelerate.h1_tree.train import train
from svmcompile.accelerate.registry import Method
from svmcompile.data import Data
from svmcompile.errors import OptionError
from svmcompile.ir.arithmetic import Array
from svmcompile.ir.program import Claim, Program
from svmcompile.model.svm import SVM

PROOF = 0.25  # of the rows prove the agreement, where none are given for it
CHOICE = 0.2  # of the others choose among lists
BETWEEN = 2000  # rows made up to judge lists alone by
POOR = 0.95  # share of labels below which lists alone do not suit


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
    add_lists(builder, builder.preprocess(), lists, points, options.planes)
    details = {
        "lists": figures(lists, rows, svm) | {"grown": forest.grown},
        "rows": {"lists": len(points)},
        "regions_on": "rows of the lists",
        "nodes": _records(svm, lists, rows),
    }
    program = builder.finish(OUT, "h1-tree", Claim.APPROXIMATE, details=details)
    return remarked(program, data.X, _unsuited(svm, lists, points, options) if given is None else [])


def _unsuited(svm: SVM, lists: Lists, points: Array, options: H1TreeOptions) -> list[str]:
    """Where lists alone lose too many labels, of rows made up between those that they were grown for."""
    between = made_up_rows(points, BETWEEN, np.random.default_rng(options.seed))
    if not len(between):
        return []
    agreement = figures(lists, rows_of(svm, between), svm)["agreement_on_rows_of_the_lists"]
    if agreement >= POOR:
        return []
    found = f"{agreement:.1%} agreement on {len(between):,} rows between those given"
    return [f"lists alone do not suit this model: {found}; {IN_FEW_BYTES}"]


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
    builder, sums = before_svm(svm, best.lists, points, options.planes)
    details = {
        "lists": figures(best.lists, rows, svm),
        "exits": best.calibration.as_dict(),
        "tried": [one.as_dict() for one in best.tried],
        "rows": dict(zip(("lists", "choice", "proof"), (len(part) for part in parts), strict=True)),
        "regions_on": "rows of the proof",
        "nodes": _records(svm, best.lists, parts[-1]),
    }
    program = builder.finish(sums, "h1-tree", Claim.APPROXIMATE, details=details)
    return remarked(program, data.X, _notes(options, best))


def _records(svm: SVM, lists: Lists, rows: Rows) -> list[dict[str, Any]]:
    names = svm.labels.values if svm.labels else (0, 1)
    return node_records(lists, pairs_of(svm), rows, names)


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


METHOD = Method(
    h1_tree, H1TreeOptions, Claim.APPROXIMATE, needs_data=True, train=train, train_options=H1TrainOptions,
    quicker=("recalibrate=0", "turn=false"),
)  # fmt: skip
