"""The tensors of each family of nodes: one function per node, registered by its type."""

from importlib import import_module
from pkgutil import iter_modules

from svmcompile.targets.onnx.values import build as build
from svmcompile.targets.onnx.values import build_needed as build_needed

for family in iter_modules(__path__, f"{__name__}."):
    import_module(family.name)  # registers its functions
