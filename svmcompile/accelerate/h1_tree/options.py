"""Options of the H1 tree, and what of them makes no sense."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from svmcompile.accelerate.fitting.calibration import NO_ROWS, CalibrationRows
from svmcompile.accelerate.options import check_options, option
from svmcompile.errors import OptionError, UnsupportedError
from svmcompile.ir.kinds import Order
from svmcompile.model.svm import SVM, LabelRule

PAIR_NODES, LIST_NODES, EXIT_NODES = 60, 150, 12  # of a pair of classes, of two classes, before an SVM
NOISES = (0.0, 0.1)  # tried where none is given
DTYPES = {"f32": "f32", "f16": "f16", "int8": "i8"}  # as tables of metric trees call them
ENDS = ("svm", "label", "plane")
MOST_CLASSES = 64  # 2,016 pairs


class ShareList:
    """Several shares between 0 and 1, given as a text with commas or as a sequence."""

    def __init__(self, given: Any = "") -> None:
        if isinstance(given, ShareList):
            self.values: tuple[float, ...] = given.values
            return
        items = [item for item in given.split(",") if item.strip()] if isinstance(given, str) else given
        self.values = tuple(float(item) for item in items)
        if not all(0 < value <= 1 for value in self.values):
            raise ValueError

    def __str__(self) -> str:
        return ",".join(f"{value:g}" for value in self.values)


REDUCED = ShareList("0.05,0.3")


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOptions:
    """How lists are grown, whoever wants them."""

    paper: bool = option(
        False,
        "Build lists as published: given labels, a mean for the reduced hull, no rotation, no SVM.",
    )
    level: int = option(
        0,
        "1 tries perpendicular directions at every node, 0 only where nothing else helps.",
        least=0,
        most=1,
    )
    hard_weight: float = option(
        1e3, "How much more an error on the hard class costs than one on the other.", least=1
    )
    zero_factor: float = option(
        10.0, "Divide hard_weight by this for as long as it gives no direction.", least=1
    )
    reduced: ShareList = option(
        REDUCED, "Shares to which hulls are reduced where the whole hull gives no direction.",
        words="shares above 0, at most 1",
    )  # fmt: skip
    turn: bool = option(True, "Rotate the best directions for as long as they answer more rows.")
    noise: float = option(
        0.0, "Share of the rows a node answers that may be of the other class, for noisy labels.",
        least=0, below=0.5,
    )  # fmt: skip
    max_nodes: int = option(
        0, f"Nodes of a list at most; 0 means {LIST_NODES} for two classes, {PAIR_NODES} for a pair of "
        f"more, {EXIT_NODES} before an SVM.", least=0,
    )  # fmt: skip
    prune_tol: float = option(0.0, "Share of the rows that pruning may get wrong.", least=0)
    multiclass: str = option(
        "vote",
        "Evaluate every pair of classes, or only those on the way to the winner.",
        among=("vote", "dag"),
    )
    planes: str = option("f32", "Number type of the tables of planes.", among=tuple(DTYPES))
    sample: int = option(
        4000, "Most rows of a node for computing directions; thresholds use all rows.", least=10
    )
    seed: int = option(0, "Seed of the rows that are held out, sampled and made up.", least=0)

    @property
    def order(self) -> Order:
        return "dag" if self.multiclass == "dag" else "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class H1TreeOptions(ListOptions):
    """A list of half-spaces answers most rows, one dot product each; the SVM takes the rest."""

    labels: str = option(
        "auto", "What lists are grown for: the SVM's predictions or the given labels; auto uses the "
        "predictions, unless paper=true.", among=("auto", "model", "given"),
    )  # fmt: skip
    end: str = option(
        "auto", "What answers the rows that no half-space answers: the SVM or a label; auto uses the SVM, "
        "unless paper=true.", among=("auto", *ENDS),
    )  # fmt: skip
    tau: float = option(
        -1.0, "Rows whose score is smaller never exit before the SVM; -1 chooses it on held-out rows.",
        least=0, special=(-1,),
    )  # fmt: skip
    recalibrate: int = option(
        8, "Points to make up around each row, which hold thresholds back.", least=0, most=1000
    )
    min_gain: float = option(
        0.01, "Share of the rows that a node before the SVM must answer.", least=0, most=1
    )
    target: float = option(0.999, "Agreement with the original that exits keep.", above=0, below=1)
    confidence: float = option(0.8, "Confidence with which they do.", above=0, below=1)
    calibrate: CalibrationRows = option(
        NO_ROWS, "Rows that show whether the target is kept; by default 25 % of the data."
    )
    proven: bool = option(False, "Exit only where a proof allows it, so that no label changes.")
    centres: int = option(16, "Centres of the expansions if proven=true.", least=1, most=4096)

    @property
    def ends_in_svm(self) -> bool:
        return self.end == "svm" or (self.end == "auto" and not self.paper)

    @property
    def by_model(self) -> bool:
        """Whether lists are grown for the SVM's own predictions."""
        return self.labels == "model" or (self.labels == "auto" and not self.paper)

    def check(self, svm: SVM) -> None:
        """Refuses what makes no sense, alone or for this SVM."""
        check_options("h1-tree", self)
        check_classes(len(svm.counts))
        if svm.label_rule is LabelRule.NONE:
            raise UnsupportedError("h1-tree: half-spaces answer with a class, and a regressor has none")
        if self.end == "plane":
            raise OptionError("h1-tree: end=plane is for training; use end=svm or end=label")
        if self.noise and self.ends_in_svm:
            raise OptionError("h1-tree: noise is for lists without an SVM; add end=label")
        if svm.n_sums > 1 and not svm.counts:
            raise UnsupportedError(
                "h1-tree: the model has a decision value for each class, not for each pair of classes; "
                "such models are linear, for which method exact takes one dot product per class"
            )
        if self.proven and not self.ends_in_svm:
            raise OptionError("h1-tree: proven=true is for end=svm")
        if self.calibrate and not self.ends_in_svm:
            raise OptionError("h1-tree: calibrate is for end=svm")


def check_classes(count: int) -> None:
    """Refuses so many classes that the lists of their pairs would take hours and all memory."""
    if count > MOST_CLASSES:
        raise UnsupportedError(
            f"h1-tree: {count} classes make {count * (count - 1) // 2:,} lists, one per pair; it takes at "
            f"most {MOST_CLASSES} classes; use reduced-set, certified or dtsvm"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class H1TrainOptions(ListOptions):
    """Lists of half-spaces grown for given labels, one per pair of classes."""

    end: str = option(
        "auto", "Who answers rows that no half-space answers: a label, a plane or an RBF SVM; auto lets "
        "held-out rows choose (with paper=true a label).", among=("auto", *ENDS),
    )  # fmt: skip
    noise: float = option(
        -1.0, "Share of the rows a node answers that may be of the other class; -1 tries 0 and 0.1.",
        least=0, below=0.5, special=(-1,),
    )  # fmt: skip
    scale: str = option(
        "std", "How features are scaled while directions are looked for.", among=("none", "std", "minmax")
    )
    C: float = option(1.0, "C of the machine at the end, linear or RBF.", above=0)
    gamma: float = option(
        0.0, "Gamma of the RBF machine's kernel; 0 means one over the number of features.", least=0
    )
    svm_rows: int = option(20_000, "Rows to train the machine at the end on at most.", least=10)
    validation: float = option(
        0.0, "Share of the rows held out for good; 0 lets held-out rows choose, then trains on all rows.",
        least=0, below=0.9,
    )  # fmt: skip

    @property
    def ends(self) -> tuple[str, ...]:
        """The ends to choose from."""
        if self.end != "auto":
            return (self.end,)
        return ("label",) if self.paper else ("label", "plane", "svm")

    @property
    def noises(self) -> tuple[float, ...]:
        """The noises to choose from."""
        if self.noise != -1:
            return (self.noise,)
        return (0.0,) if self.paper else NOISES

    @property
    def is_settled(self) -> bool:
        """Whether there is nothing to choose."""
        return self.ends == ("label",) and len(self.noises) == 1

    def check(self) -> None:
        check_options("h1-tree", self)
        if self.paper and (self.end == "plane" or self.noise > 0):
            raise OptionError(
                "h1-tree: paper=true allows neither end=plane nor noise; leave out "
                "paper=true, or both of them"
            )
        if self.gamma and "svm" not in self.ends:
            raise OptionError("h1-tree: gamma is for an RBF machine at the end; use end=svm or end=auto")
