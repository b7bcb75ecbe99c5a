"""trace: how the interval around a sum narrows, stage by stage, made to be plotted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.data.rows import as_rows
from svmcompile.errors import UnsupportedError
from svmcompile.ir.interpret import interpret_values
from svmcompile.ir.kernel import Array
from svmcompile.ir.node import At
from svmcompile.ir.program import Program


@dataclass(frozen=True, slots=True)
class Trace:
    """Lower end, estimate and upper end of each row's sum, and where it would stop."""

    ends: NDArray[np.int64]  # [stages], kernel values met
    low: Array  # [rows, stages]
    estimate: Array  # [rows, stages]
    high: Array  # [rows, stages]
    stop: NDArray[np.intp]  # [rows], the first stage that is sure; -1 for none


def trace(program: Program, data: Any, pair: int = 0) -> Trace:
    """The stages of the program's bounded sum, or of one pair of its vote."""
    node: Any = next((node for node in program.body if node.has_stages), None)
    if node is None:
        raise UnsupportedError(
            "this program has no bounds to trace; the method 'anytime' makes such programs"
        )
    rows = as_rows(data, program.n_features, program.input.feature_names)
    x = interpret_values(program, rows, {node.x})[node.x]
    found = node.stages(At(node, program.tables), x, pair)
    tolerance = getattr(node, "tolerance", -1.0)
    low, high = found.scores - found.errors, found.scores + found.errors
    return Trace(found.ends, low, found.scores, high, found.first_sure(tolerance))
