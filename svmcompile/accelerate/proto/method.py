"""proto: the method and its program.

Sizes are tried with short trainings on some of the rows, and judged by the SVM's answers on held-out
rows; the best are trained at length on all rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from svmcompile.accelerate.builder import Builder, remarked
from svmcompile.accelerate.proto.options import DEFAULT_BYTES, ProtoOptions
from svmcompile.accelerate.proto.rows import Known, known_rows
from svmcompile.accelerate.proto.sizes import Sizes, Tables, candidates
from svmcompile.accelerate.proto.teacher import Teacher, refuse_labels, teacher
from svmcompile.accelerate.proto.training import Lesson, Trained, train
from svmcompile.accelerate.registry import Method
from svmcompile.data import Data
from svmcompile.errors import OptionError
from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import Array, nearest_float32
from svmcompile.ir.kernel import Kernel
from svmcompile.ir.program import Claim, Output, Program
from svmcompile.model.svm import SVM

TRIAL_STEPS, TRIAL_ROWS = 800, 8000  # of a training that only chooses sizes
FRONT_BYTES = {"f64": 8}  # of a number in a table of the preprocessing, if not 4
LABELS_ONLY = "pairs of classes are not computed: the program gives labels, and no decision values"


def proto(svm: SVM, data: Data | None, options: ProtoOptions) -> Program:
    """scores(x) = bias + sum_j weights_j exp(-|W (x - centre) - b_j|^2)."""
    assert data is not None
    if options.labels:
        refuse_labels(svm, data.y)
    known = known_rows(svm, data, options)
    taught = teacher(svm, known.sums)
    centre = nearest_float32(known.z.mean(axis=0))
    lesson = _lesson(known, taught, centre, options)
    tables = _tables(svm, taught, options)
    tried = _tried(known, taught, lesson, tables, options)
    best = max(tried, key=lambda one: one[1]) if len(tried) > 1 else tried[0]
    trained = train(lesson, best[0], options.steps, options.seed)
    details = {
        "rank": best[0].rank,
        "vectors": best[0].vectors,
        "features_read": best[0].columns,
        "table_bytes": tables.of(best[0]),
        "rows": len(known.z),
        "held_out_agreement": best[1] if len(tried) > 1 else _held_out(known, taught, lesson, best[0], options),
        "tried": [
            {"rank": one.rank, "vectors": one.vectors, "features": one.columns, "held_out_agreement": share}
            for one, share in tried
        ],
    }  # fmt: skip
    program = _program(svm, taught, trained, centre, details)
    return remarked(program, np.asarray(data.X, dtype=np.float64), [])


def _lesson(known: Known, taught: Teacher, centre: Array, options: ProtoOptions) -> Lesson:
    targets = taught.targets(known.sums)
    if options.labels:
        assert known.given is not None
        own = taught.with_labels(targets[: known.n_data], known.given, options.labels)
        targets = np.concatenate([own, targets[known.n_data :]])
    rows = (known.z - centre).astype(np.float32)
    return Lesson(rows, targets.astype(np.float32), taught.loss)


def _tables(svm: SVM, taught: Teacher, options: ProtoOptions) -> Tables:
    numbers = sum(table.size for table in svm.front.tables.values())
    front = FRONT_BYTES.get(options.precision, 4) * numbers
    return Tables(svm.kernel_width, taught.outputs, front, options.precision, options.tune == "host")


def _tried(
    known: Known, taught: Teacher, lesson: Lesson, tables: Tables, options: ProtoOptions
) -> list[tuple[Sizes, float]]:
    """Sizes within the limit, each with the share of held-out rows it gets right where there is a choice."""
    if options.rank > tables.features:
        raise OptionError(
            f"proto: rank is {options.rank}, and the kernel sees {tables.features} features; give at most as many"
        )
    given = bool(options.rank and options.vectors and options.density)
    if given and not options.max_bytes:
        columns = max(1, round(options.density * tables.features))
        return [(Sizes(options.rank, options.vectors, columns), 0.0)]
    limit = options.max_bytes or DEFAULT_BYTES
    found = list(candidates(tables, options, limit, len(known.kept)))
    if len(found) == 1 or not len(known.held):
        return [(found[len(found) // 2], 0.0)]
    return [(sizes, _held_out(known, taught, lesson, sizes, options)) for sizes in found]


def _held_out(
    known: Known, taught: Teacher, lesson: Lesson, sizes: Sizes, options: ProtoOptions
) -> float:
    """What a short training gets right on held-out rows, or on those kept where there are none."""
    seen = np.concatenate([known.kept, known.made_up])
    seen = np.sort(np.random.default_rng(options.seed).permutation(seen)[:TRIAL_ROWS])
    steps = min(options.steps, TRIAL_STEPS)
    short = train(lesson.some(seen), sizes, steps, options.seed, fine=False)
    held = known.held if len(known.held) else known.kept
    return taught.likeness(known.sums[held], short.scores(lesson.rows[held]))


def _program(
    svm: SVM, taught: Teacher, trained: Trained, centre: Array, details: dict[str, Any]
) -> Program:
    builder, network, columns = Builder(svm), trained.network, trained.columns
    x = builder.preprocess()
    if len(columns) < len(centre):
        builder.body.append(ir.Pick("read", x, builder.indices("columns", columns)))
        x = "read"
    projection, start = builder.table("projection", network.projection), np.zeros(len(network.projection))
    about = builder.table("centre", centre[columns])
    builder.body.append(ir.Affine("projected", x, projection, builder.table("start", start), about))
    builder.body.append(ir.AsFeatures("place", "projected"))
    unit = 1.0 if taught.votes else taught.unit
    weights = builder.table("weights", (network.weights * unit).T)
    bias = builder.table("bias", network.bias * unit + (0.0 if taught.votes else taught.level))
    vectors = builder.table("vectors", network.vectors)
    builder.body.append(ir.KernelSum("sums", "place", vectors, weights, bias, Kernel("rbf", 1.0)))
    if not taught.votes:
        return builder.finish("sums", "proto", Claim.APPROXIMATE, details=details)
    builder.body.append(ir.ArgMax("label", "sums"))
    label = [Output("label", "label")]
    return builder.program(label, "proto", Claim.APPROXIMATE, [LABELS_ONLY], details=details)


METHOD = Method(
    proto, ProtoOptions, Claim.APPROXIMATE, needs_data=True, takes_heads=True,
    quicker=("steps=1500", "synthetic_rows=0"),
)  # fmt: skip
