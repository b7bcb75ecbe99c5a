"""Taylor polynomials that are sure of the label, before a sum that is: no label changes.

`growth` makes centres where rows stay undecided, `choose` picks the cheapest front end on sample rows and
when the next order is worth a try, `fallback` and `plan` what comes behind; `method` puts it together.
The polynomials and their bounds are those of `accelerate.taylor`.
"""

from __future__ import annotations

from svmcompile.accelerate.certified.method import certified
from svmcompile.accelerate.certified.options import CertifiedOptions
from svmcompile.accelerate.registry import Method
from svmcompile.ir.program import Claim

METHOD = Method(
    certified,
    CertifiedOptions,
    Claim.SAME_LABEL,
    needs_data=False,
    takes_alike=True,
    variants=({"order": 1}, {"order": 2}, {"leaves": 1}, {"fallback": "direct"}),
    fits_with={"mode": "calibrated"},
)
