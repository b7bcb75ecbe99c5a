"""Anytime bounds for kernel machines: kernel values come in until the label is certain.

The toolkit is `accelerate.bounds`.
"""

from __future__ import annotations

from svmcompile.accelerate.bounds.options import AnytimeOptions
from svmcompile.accelerate.bounds.program import anytime
from svmcompile.accelerate.registry import Method
from svmcompile.ir.program import Claim

METHOD = Method(anytime, AnytimeOptions, Claim.SAME_LABEL, needs_data=False, needs_vectors=False)
