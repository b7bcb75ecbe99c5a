"""run: the value of one node. Cases are in `interpret.py` and `bounded_meaning.py`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.nodes import Node

Floats = NDArray[np.floating[Any]]
Env = Mapping[str, NDArray[Any]]
Tables = Mapping[str, NDArray[Any]]


@singledispatch
def run(node: Node, env: Env, tables: Tables) -> NDArray[Any]:
    """The value of one node for all rows."""
    raise TypeError(f"no meaning for {type(node).__name__}")
