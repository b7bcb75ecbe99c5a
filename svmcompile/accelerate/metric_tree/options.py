"""Options of the metric tree, and what of them makes no sense."""

from __future__ import annotations

from dataclasses import dataclass

from svmcompile.accelerate.fitting.calibration import NO_ROWS, CalibrationRows
from svmcompile.accelerate.registry import check_options
from svmcompile.errors import OptionError
from svmcompile.model.svm import SVM

KNOWN = {
    "split": ("auto", "affine", "gradient-axis", "midpoint", "median"),
    "leaf": ("auto", "ridge", "taylor", "quadratic"),
    "stop": ("errors", "risk"),
    "guard": ("none", "tau", "target"),
    "dtype": ("f32", "f16", "i8"),
}
QUADRATIC_FEATURES = 20  # a full second-order leaf costs d / 2 further dot products


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricTreeOptions:
    """A tree over the rows with one affine function per leaf instead of the kernel sum."""

    paper: bool = False  # the published form: midpoint splits, one row per leaf, Taylor leaves
    split: str = "auto"  # auto | affine | gradient-axis | midpoint | median
    leaf: str = "auto"  # auto | ridge | taylor | quadratic
    stop: str = "errors"  # errors | risk: a leaf's wrong rows are counted, or expected from its residuals
    eps: float = -1.0  # share of wrong rows a leaf may keep; -1: 0.002 for axis splits, else 0
    min_leaf: int = 0  # rows below which nothing is split; 0: 16 for axis splits, else 8
    ridge: float = 0.1  # strength of the ridge correction
    tol: float = 0.0  # judge by |error| <= tol instead of the label; 0 for a regressor: 5 % of the spread
    max_depth: int = 0  # tests on a way down at most; 0: no limit
    max_leaves: int = 0  # best-first growth stops there; 0: no limit
    max_bytes: int = 0  # the same for the bytes of the tables
    augment: int = 0  # rows made between neighbours, for each row given
    dtype: str = "f32"  # leaf and hyperplane tables: f32 | f16 | i8
    target: float = 0.999  # agreement with the original that choice and guard band aim at
    guard: str = "none"  # none | tau | target: scores near zero go to the exact sum
    tau: float = 0.0  # the width of guard=tau
    confidence: float = 0.8  # with which guard=target holds
    calibrate: CalibrationRows = NO_ROWS  # rows for guard=target; none: 25 % of the data
    reach: float = 0.0  # beyond that many radii of the rows the value at infinity (rbf); 0: off
    seed: int = 0  # of the holdouts and of augmentation

    def check(self, svm: SVM) -> None:
        """Refuses what makes no sense, alone or for this SVM."""
        limits = ("min_leaf", "max_depth", "max_leaves", "max_bytes")
        least = (*limits, "ridge", "tol", "augment", "tau", "reach", "seed")
        shares, infinite = ("target", "confidence"), ("tol", "tau", "reach")
        check_options("metric-tree", self, KNOWN, dict.fromkeys(least, 0), shares=shares, infinite=infinite)
        if self.eps != -1 and not 0 <= self.eps < 1:
            raise OptionError(f"metric-tree: eps must be -1 or a share below 1, got {self.eps}")
        if self.ridge == 0 and self.leaf == "ridge":
            raise OptionError(
                "metric-tree: ridge=0 has no unique solution; use leaf=taylor or a small ridge"
            )
        _check_paper(self)
        _check_guard(self, svm)
        if self.leaf == "quadratic" and svm.kernel_width > QUADRATIC_FEATURES:
            raise OptionError(
                f"metric-tree: leaf=quadratic is for at most {QUADRATIC_FEATURES} features, "
                f"the model has {svm.kernel_width}; use ridge or taylor"
            )
        if self.reach and svm.kernel.kind != "rbf":
            raise OptionError(
                "metric-tree: reach needs an rbf kernel, which has a value at infinity; "
                f"the model has a {svm.kernel.kind} kernel"
            )


def _check_paper(options: MetricTreeOptions) -> None:
    if not options.paper:
        return
    if options.split not in ("auto", "midpoint", "median"):
        raise OptionError(f"metric-tree: paper=true splits at midpoint or median, not {options.split}")
    if options.leaf not in ("auto", "taylor", "quadratic"):
        raise OptionError(f"metric-tree: paper=true has Taylor leaves, not {options.leaf}")
    if options.eps != -1 or options.min_leaf > 1:
        raise OptionError("metric-tree: paper=true goes down to single rows; eps and min_leaf do not apply")


def _check_guard(options: MetricTreeOptions, svm: SVM) -> None:
    if options.guard != "none" and svm.labels is None:
        raise OptionError(
            "metric-tree: a guard band keeps labels right, and a regressor has none; "
            "use tol to bound the error"
        )
    if options.guard == "tau" and options.tau == 0:
        raise OptionError("metric-tree: guard=tau needs tau above 0")
    if options.tau and options.guard != "tau":
        raise OptionError("metric-tree: tau is for guard=tau")
    if options.calibrate and options.guard != "target":
        raise OptionError("metric-tree: calibrate is for guard=target")
