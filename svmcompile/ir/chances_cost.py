"""What heads that give probabilities cost; cases of `work`."""

from __future__ import annotations

import numpy as np

from svmcompile.ir import nodes as ir
from svmcompile.ir.rules import Types
from svmcompile.ir.work import SHAPE_FLOPS, Tables, Values, Work, work

TYPICAL_SWEEPS = 5  # of the coupling; its stopping rule asks for few


@work.register(ir.Beside)
@work.register(ir.Columns)
def _(node: ir.Beside | ir.Columns, types: Types, tables: Tables, values: Values | None) -> Work:
    return Work(0, 0)


@work.register(ir.Shifted)
@work.register(ir.Complement)
@work.register(ir.Density)
def _(
    node: ir.Shifted | ir.Complement | ir.Density, types: Types, tables: Tables, values: Values | None
) -> Work:
    return Work(0, types[node.out].width)


@work.register
def _(node: ir.Sigmoid, types: Types, tables: Tables, values: Values | None) -> Work:
    return Work(0, types[node.out].width * (SHAPE_FLOPS["exp2"] + 6))


@work.register
def _(node: ir.Isotonic, types: Types, tables: Tables, values: Values | None) -> Work:
    tests = np.ceil(np.log2(np.diff(tables[node.starts].astype(np.float64)))).sum()
    return Work(0, float(tests) + 6 * types[node.out].width)


@work.register(ir.Shares)
@work.register(ir.Mean)
def _(node: ir.Shares | ir.Mean, types: Types, tables: Tables, values: Values | None) -> Work:
    return Work(0, 2 * types[node.chances].width)


@work.register
def _(node: ir.Couple, types: Types, tables: Tables, values: Values | None) -> Work:
    k = node.n_classes
    return Work(0, k * k * (3 + TYPICAL_SWEEPS * 8))
