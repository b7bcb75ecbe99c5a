"""Anytime bounds for kernel machines: kernel values come in until the label is certain.

`greedy` and `orderings` order the vectors, `basis` embeds the weights in their span, `margins`
bounds what float32 adds, `stages` makes the tables, `costs` and `choose` pick the cheapest form
on sample rows; `single` and `votes` put programs together.
"""

from __future__ import annotations

from svmcompile.accelerate.bounds.options import AnytimeOptions
from svmcompile.accelerate.bounds.program import anytime
from svmcompile.accelerate.registry import Method
from svmcompile.ir.program import Claim

METHOD = Method(anytime, AnytimeOptions, Claim.SAME_LABEL, needs_data=False)
