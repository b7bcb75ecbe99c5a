"""What the nodes of preprocessing mean; cases of `run`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir import features as ir
from svmcompile.ir.meaning import Env, Tables, run
from svmcompile.ir.row_functions import cosines, filled, missing, monomials, normalized


@run.register
def _(node: ir.AsFeatures, env: Env, tables: Tables) -> NDArray[Any]:
    return env[node.scores]


@run.register
def _(node: ir.Pick, env: Env, tables: Tables) -> NDArray[Any]:
    return env[node.x][:, tables[node.columns]]


@run.register
def _(node: ir.Normalize, env: Env, tables: Tables) -> NDArray[Any]:
    return normalized(env[node.x], node.norm, node.least)


@run.register
def _(node: ir.Powers, env: Env, tables: Tables) -> NDArray[Any]:
    return monomials(env[node.x], tables[node.factors])


@run.register
def _(node: ir.Cosine, env: Env, tables: Tables) -> NDArray[Any]:
    return cosines(env[node.x], node.factor)


@run.register
def _(node: ir.Fill, env: Env, tables: Tables) -> NDArray[Any]:
    return filled(env[node.x], tables[node.values], node.nan, node.marker)


@run.register
def _(node: ir.Missing, env: Env, tables: Tables) -> NDArray[Any]:
    return missing(env[node.x], node.nan, node.marker).astype(env[node.x].dtype)


@run.register
def _(node: ir.Join, env: Env, tables: Tables) -> NDArray[Any]:
    return np.hstack([env[node.left], env[node.right]])
