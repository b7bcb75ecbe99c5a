"""Options of the method `sv-tree`."""

from __future__ import annotations

from dataclasses import dataclass

from svmcompile.errors import OptionError

CHOICES = {
    "coef": ("scale", "affine", "refit"),
    "linear": ("auto", "on", "off"),
    "multiclass": ("auto", "shared", "pairs"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SvTreeOptions:
    """A tree picks, row by row, the few support vectors whose kernel values are computed.

    `paper` gives the published form: random alternating search, scaled columns, no cap on depth, no
    linear term, rows of the data alone; it overrides all options but `fallback` and `seed`.
    """

    paper: bool = False
    max_depth: int = 8  # kernel values on a path at most
    min_rows: int = 15  # a node with so few rows is not split
    coef: str = "refit"  # of a node: "scale", "affine" (and a constant), "refit" (all of its path)
    ridge: float = 0.3  # of "refit"
    linear: str = "auto"  # a linear term first: "on", "off", or unless held-out rows speak against it
    synthetic_rows: int = 3000  # made up between data rows; a quarter is held out
    purity_stop: bool = True  # a node whose rows all have their label is not split
    cache: bool = True  # a vector met before on the path is not met again
    multiclass: str = "auto"  # one tree for all pairs of classes, or "pairs": one each
    fallback: bool = False  # rows the tree is not sure of go through the exact sum
    fallback_quantile: float = 0.9  # of held-out errors that the fallback catches
    fallback_depth: int = 5  # cap on the depth with a fallback, which deeper trees gain little over
    seed: int = 0

    def __post_init__(self) -> None:
        for name, known in CHOICES.items():
            value = getattr(self, name)
            if value not in known:
                raise OptionError(f"unknown {name} {value!r}; known: {', '.join(known)}")
        for name, least in (
            ("max_depth", 1),
            ("min_rows", 1),
            ("fallback_depth", 1),
            ("synthetic_rows", 0),
            ("seed", 0),
        ):
            if getattr(self, name) < least:
                raise OptionError(f"{name} {getattr(self, name)} is below {least}")
        if not 0 <= self.ridge < float("inf"):
            raise OptionError(f"ridge {self.ridge} is not a number from 0 on")
        if not 0 <= self.fallback_quantile <= 1:
            raise OptionError(f"fallback_quantile {self.fallback_quantile} is not between 0 and 1")
