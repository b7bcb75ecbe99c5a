"""Error bounds of sums that stop when they are sure; cases of `propagate`.

A sign that is sure is sure in every backend, for the margins cover its
rounding; so its error is given as zero, and nothing but the sign may be read.
"""

from __future__ import annotations

import numpy as np

from svmcompile.ir import nodes as ir
from svmcompile.ir.jets_meaning import jet_blocks
from svmcompile.ir.propagate import Arithmetic, Env, Result, Tables, propagate, value_of
from svmcompile.ir.stages import stages
from svmcompile.ir.taylor_meaning import taylor_orders


@propagate.register
def _(node: ir.Widen, env: Env, tables: Tables, a: Arithmetic) -> Result:
    return env[node.x].value, env[node.x].error, False


@propagate.register
def _(node: ir.BoundedSum, env: Env, tables: Tables, a: Arithmetic) -> Result:
    value = value_of(node, env, tables)
    found = stages(node, env[node.x].value, tables)
    sure = found.first_sure(node.tolerance) >= 0
    if node.tolerance < 0:
        return value, np.where(sure[:, None], 0.0, env[node.exact].error), False
    # Two estimates within the tolerance of the sum are within twice as much of each other.
    last = found.errors[:, -1] + a.u * np.abs(value[:, 0])
    error = 2 * node.tolerance + last
    return value, np.asarray(error)[:, None], False


@propagate.register
def _(node: ir.OneLeaf, env: Env, tables: Tables, a: Arithmetic) -> Result:
    value = value_of(node, env, tables)
    return value, np.zeros(len(value)), False


@propagate.register
def _(node: ir.TaylorSum, env: Env, tables: Tables, a: Arithmetic) -> Result:
    value = value_of(node, env, tables)
    sure = taylor_orders(node, env[node.x].value, env[node.leaf].value, tables).sure
    decided = sure.any(axis=1, keepdims=True)
    return value, np.where(decided, 0.0, env[node.exact].error), False


@propagate.register
def _(node: ir.JetSum, env: Env, tables: Tables, a: Arithmetic) -> Result:
    value = value_of(node, env, tables)
    stop = jet_blocks(node, env[node.x].value, tables).stop
    decided = (stop <= len(tables[node.ends]))[:, None]
    return value, np.where(decided, 0.0, env[node.exact].error), False


@propagate.register(ir.BoundedVote)
@propagate.register(ir.TaylorVote)
def _(node: ir.BoundedVote | ir.TaylorVote, env: Env, tables: Tables, a: Arithmetic) -> Result:
    value = value_of(node, env, tables)
    return value, np.zeros(len(value)), False
