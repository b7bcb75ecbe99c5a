"""How each machine node is written in C: one class per node, by family; see `node.py`."""

from svmcompile.targets.c.node import CLASSES as CLASSES
from svmcompile.targets.c.node import CFile as CFile
from svmcompile.targets.c.node import CNode as CNode
from svmcompile.targets.c.node import c_class as c_class
from svmcompile.targets.c.nodes import (  # noqa: F401  register their classes
    bounded,
    decisions,
    features,
    fixed,
    forms,
    jets,
    leaves,
    lists,
    paths,
    probabilities,
    sums,
    taylor,
    taylor_host,
    taylor_picks,
    trees,
    votes,
)  # fmt: skip
