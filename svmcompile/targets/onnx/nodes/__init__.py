"""The tensors of each family of nodes: one function per node, registered by its type."""

from svmcompile.targets.onnx.graph import build as build
from svmcompile.targets.onnx.graph import build_needed as build_needed
from svmcompile.targets.onnx.nodes import (  # noqa: F401  register their nodes
    bounded,
    decisions,
    features,
    forms,
    jets,
    leaves,
    lists,
    paths,
    probabilities,
    sums,
    taylor,
    trees,
    votes,
)
