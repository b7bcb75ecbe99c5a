"""Options of the method `anytime`, and what of them makes no sense."""

from __future__ import annotations

import math
from dataclasses import dataclass

from svmcompile.errors import OptionError

UNITS = {
    "flops": "operations",
    "host": "time in C, profile host",
    "portable": "time in C, profile portable",
}

TUNES = tuple(UNITS)
ORDERINGS = ("original", "sgma", "min-wz", "min-wzn", "mean-lhn", "hybrid")
NEED_DATA = ("min-wzn", "mean-lhn", "hybrid")


@dataclass(frozen=True, slots=True, kw_only=True)
class AnytimeOptions:
    """Kernel values one block after another, until a bound on the rest makes the label certain."""

    ordering: str = (
        "min-wz"  # original | sgma | min-wz | min-wzn | mean-lhn | hybrid; the last three need data
    )
    block: int = 0  # kernel values between two looks at the bound; 0: chosen by the cost of sample rows
    k_max: int = 0  # values after which the direct sum takes over; 0: chosen
    r_coords: str = "auto"  # coordinates that narrow the bound: a number, all, or auto: chosen
    pivot_tol: float = 1e-4  # a vector so nearly dependent on those before is left out of the basis
    tolerance: float = -1.0  # stop when a value is known so well; -1: when the label is certain
    sample: int = 500  # rows that the cost is predicted on: of the data, else made up between vectors
    tune: str = "host"  # what cost means: host | portable (time of emitted C), flops
    force: bool = False  # emit it even where the exact sum is predicted to be cheaper
    seed: int = 0  # of sample rows and of min-wzn

    def __post_init__(self) -> None:
        for name, known in (("ordering", ORDERINGS), ("tune", TUNES)):
            value = getattr(self, name)
            if value not in known:
                raise OptionError(f"anytime: unknown {name} {value!r}; known: {', '.join(known)}")
        for name, least in (("block", 0), ("k_max", 0), ("sample", 1), ("seed", 0)):
            if getattr(self, name) < least:
                raise OptionError(f"anytime: {name} {getattr(self, name)} is below {least}")
        if self.r_coords not in ("auto", "all") and not self.r_coords.isdecimal():
            raise OptionError(f"anytime: r_coords {self.r_coords!r} is not a number, all or auto")
        if not 0 < self.pivot_tol < 1:
            raise OptionError(f"anytime: pivot_tol {self.pivot_tol} does not lie between 0 and 1")
        if self.tolerance != -1 and not 0 < self.tolerance < math.inf:
            raise OptionError(f"anytime: tolerance {self.tolerance} is neither above 0 nor -1 (labels)")

    @property
    def by_label(self) -> bool:
        return self.tolerance < 0

    @property
    def needs_data(self) -> bool:
        return self.ordering in NEED_DATA
