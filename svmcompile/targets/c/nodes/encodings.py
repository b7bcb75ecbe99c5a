"""Flags of features in C."""

from __future__ import annotations

from svmcompile.ir import nodes as ir
from svmcompile.targets.c.node import plain

plain(__name__, ir.Matches)
