"""How each machine node is written in C: one class per node, by family; see `node.py`."""

from importlib import import_module
from pkgutil import iter_modules

from svmcompile.targets.c.node import CLASSES as CLASSES
from svmcompile.targets.c.node import CFile as CFile
from svmcompile.targets.c.node import CNode as CNode
from svmcompile.targets.c.node import c_class as c_class

for family in iter_modules(__path__, f"{__name__}."):
    import_module(family.name)  # registers its classes
