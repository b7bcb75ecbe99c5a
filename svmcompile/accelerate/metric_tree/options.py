"""Options of the metric tree, and what of them makes no sense."""

from __future__ import annotations

from dataclasses import dataclass

from svmcompile.accelerate.fitting.calibration import NO_ROWS, CalibrationRows
from svmcompile.accelerate.options import check_options, option
from svmcompile.errors import OptionError
from svmcompile.model.svm import SVM

QUADRATIC_FEATURES = 20  # a full second-order leaf costs d / 2 further dot products


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricTreeOptions:
    """A tree over the rows with one affine function per leaf instead of the kernel sum."""

    paper: bool = option(
        False, "Build the tree as published: midpoint splits, one row per leaf, Taylor leaves."
    )
    split: str = option(
        "auto", "How nodes are split; auto tries several on held-out rows.",
        among=("auto", "affine", "gradient-axis", "midpoint", "median"),
    )  # fmt: skip
    leaf: str = option(
        "auto", "What a leaf holds: a Taylor expansion, one corrected by ridge, or a quadratic form.",
        among=("auto", "ridge", "taylor", "quadratic"),
    )  # fmt: skip
    stop: str = option(
        "errors", "Stop splitting by the wrong rows counted in a leaf, or by those its residuals predict.",
        among=("errors", "risk"),
    )  # fmt: skip
    eps: float = option(
        -1.0, "Share of wrong rows that a leaf may keep; -1 means 0.002 for axis splits and 0 for others.",
        least=0, below=1, special=(-1,),
    )  # fmt: skip
    min_leaf: int = option(
        0, "Do not split nodes with fewer rows; 0 means 16 for axis splits and 8 for others.", least=0
    )
    ridge: float = option(0.1, "Strength of the ridge penalty in ridge leaves.", least=0)
    tol: float = option(
        0.0, "Count a row as right if its error is at most tol, not by its label; 0 for a regressor means "
        "5 % of the spread of its values.", least=0, infinite=True,
    )  # fmt: skip
    max_depth: int = option(0, "Most tests on the way to a leaf; 0 means no limit.", least=0)
    max_leaves: int = option(0, "Stop at this many leaves, grown best first; 0 means no limit.", least=0)
    max_bytes: int = option(
        0, "Stop when the tables reach this size, grown best first; 0 means no limit.", least=0
    )
    augment: int = option(0, "How many rows to make up between neighbours for each row given.", least=0)
    dtype: str = option("f32", "Number type of the leaf and split tables.", among=("f32", "f16", "i8"))
    target: float = option(
        0.999, "Agreement with the original that the choice of tree and the guard band aim at.",
        above=0, below=1,
    )  # fmt: skip
    guard: str = option(
        "none", "Send rows with small scores to the exact sum: never, below tau, or as the target needs.",
        among=("none", "tau", "target"),
    )  # fmt: skip
    tau: float = option(0.0, "Width of the guard band if guard=tau.", least=0, infinite=True)
    confidence: float = option(
        0.8, "Confidence with which guard=target keeps the target.", above=0, below=1
    )
    calibrate: CalibrationRows = option(
        NO_ROWS, "Rows that set the guard band if guard=target; by default 25 % of the data."
    )
    reach: float = option(
        0.0, "Beyond this many radii of the rows, answer with an RBF model's value at infinity; 0 is off.",
        least=0, infinite=True,
    )  # fmt: skip
    seed: int = option(0, "Seed of the rows that are held out and made up.", least=0)

    def check(self, svm: SVM) -> None:
        """Refuses what makes no sense, alone or for this SVM."""
        check_options("metric-tree", self)
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
