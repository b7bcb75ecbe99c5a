"""Bounds as rows show them: a proven expansion and rows go in, one with smaller bounds comes out.

What a polynomial is really off by is a share of its bound. The largest share that rows of the leaf show,
half as much again, takes the place of 1. That is measured, not proven.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from svmcompile.accelerate.taylor.about import AnySum, Expansion
from svmcompile.accelerate.taylor.front import taylor_node
from svmcompile.ir.kernel import Array
from svmcompile.ir.node import At
from svmcompile.ir.polynomials import taylor_scores

BEYOND = 1.5  # times the largest share seen
LEAST_ROWS = 30  # fewer show too little


def calibrated(found: Expansion, whole: AnySum, rows: Array, values: Array) -> Expansion:
    """The expansion with bounds fitted to the values of the sum at rows."""
    if len(rows) < LEAST_ROWS:
        return found
    node, tables = taylor_node(whole, [found])
    seen = taylor_scores(At(node, tables), 0, rows)
    error = values[:, None] - seen.scores
    bound = np.where(error > 0, seen.gaps[:, :, 1], seen.gaps[:, :, 0]) + seen.loose
    share = np.minimum(BEYOND * np.abs(error / np.maximum(bound, 1e-300)).max(axis=0), 1.0)
    gaps = found.gaps * share[:, None, None]
    return replace(found, gaps=gaps, loose=found.loose * share[1:, None])
