"""proto: the method and its program."""

from __future__ import annotations

import numpy as np

from svmcompile.accelerate.builder import Builder, remarked
from svmcompile.accelerate.proto.options import ProtoOptions
from svmcompile.accelerate.proto.rows import known_rows
from svmcompile.accelerate.proto.search import Found, Search
from svmcompile.accelerate.proto.sizes import SHORT_CURVE, Tables
from svmcompile.accelerate.proto.teacher import Teacher, refuse_labels, teacher
from svmcompile.accelerate.registry import Method
from svmcompile.data import Data
from svmcompile.errors import OptionError
from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import Array, nearest_float32
from svmcompile.ir.kernel import Kernel
from svmcompile.ir.program import Claim, Output, Program
from svmcompile.model.svm import SVM

CLASS_SCORES = "decision values are one per class, on the scale of its closest pair; they are no votes"
LABELS_ONLY = "pairs of classes are not computed: the program gives labels, and no decision values"
NO_CHANCES = "method proto does not keep the values that probabilities need; they are left out"


def proto(svm: SVM, data: Data | None, options: ProtoOptions) -> Program:
    """scores(x) = bias + sum_j weights_j exp(-|W (x - centre) - b_j|^2)."""
    assert data is not None
    if options.projection == "nibbles" and options.precision != "q7":  # only now filled in
        raise OptionError(
            f"proto: projection=nibbles is for precision q7, and this is {options.precision}; "
            "choose q7 or leave the option out"
        )
    if options.labels:
        refuse_labels(svm, data.y)
    known = known_rows(svm, data, options)
    taught = teacher(svm, known.sums)
    centre = nearest_float32(known.z.mean(axis=0))
    # Scales alone go into the projection: it then reads the features as they are given.
    folded = all(isinstance(node, ir.Scale) for node in svm.front.nodes)
    rows = np.asarray(data.X, dtype=np.float64)
    read = rows[np.isfinite(rows).all(axis=1)] if folded else known.z[: known.n_data]
    front = 0 if folded else sum(table.size for table in svm.front.tables.values())
    size = 8 if options.precision == "f64" else 4
    tables = Tables(
        svm.kernel_width, taught.outputs, size * front, options.precision, options.tune == "host"
    )
    found = Search(known, taught, centre, options).best(tables, (read.min(axis=0), read.max(axis=0)))
    return remarked(_program(taught, found, centre, len(known.z)), rows, [])


def _program(taught: Teacher, found: Found, centre: Array, rows: int) -> Program:
    svm, network, columns = taught.svm, found.trained.network, found.trained.columns
    builder = Builder(svm)
    x = builder.preprocess()
    if len(columns) < len(centre):
        builder.body.append(ir.Pick("read", x, builder.indices("columns", columns)))
        x = "read"
    projection, start = builder.table("projection", network.projection), np.zeros(len(network.projection))
    about = builder.table("centre", centre[columns])
    builder.body.append(ir.Affine("projected", x, projection, builder.table("start", start), about))
    builder.body.append(ir.AsFeatures("place", "projected"))
    vectors = builder.table("vectors", network.vectors)
    weights = builder.table("weights", (network.weights * taught.unit).T)
    bias = builder.table("bias", network.bias * taught.unit + taught.level)
    builder.body.append(ir.KernelSum("sums", "place", vectors, weights, bias, Kernel("rbf", 1.0)))
    details = {**found.details(), "rows": rows, "whole_projection": True, "byte_weights": True}
    # Of the form in q7:
    details |= {"four_bits": found.sizes.four_bits, "curve_cells": SHORT_CURVE if found.tables.small else 0}
    if not taught.votes:
        return builder.finish("sums", "proto", Claim.APPROXIMATE, details=details)
    builder.body.append(ir.ArgMax("label", "sums"))
    outputs, notes = [Output("label", "label")], [NO_CHANCES] if svm.has_probabilities else []
    if svm.one_vs_rest_scores:
        outputs, notes = [Output("scores", "sums"), *outputs], [CLASS_SCORES, *notes]
    else:
        notes = [LABELS_ONLY, *notes]
    return builder.program(outputs, "proto", Claim.APPROXIMATE, notes, details=details)


METHOD = Method(
    proto, ProtoOptions, Claim.APPROXIMATE, needs_data=True, takes_heads=True,
    quicker=("steps=1500", "synthetic_rows=0"),
)  # fmt: skip
