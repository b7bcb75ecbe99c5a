"""Options of the H1 tree, and what of them makes no sense."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from svmcompile.accelerate.fitting.calibration import NO_ROWS, CalibrationRows
from svmcompile.accelerate.registry import check_options
from svmcompile.errors import OptionError, UnsupportedError
from svmcompile.ir.kinds import Order
from svmcompile.model.svm import SVM, LabelRule

PAIR_NODES, LIST_NODES, EXIT_NODES = 60, 150, 12  # of a pair of classes, of two classes, before an SVM
NOISES = (0.0, 0.1)  # tried where none is given
DTYPES = {"f32": "f32", "f16": "f16", "int8": "i8"}  # as tables of metric trees call them
KNOWN = {
    "labels": ("auto", "model", "given"),
    "end": ("auto", "svm", "label", "plane"),
    "multiclass": ("vote", "dag"),
    "planes": tuple(DTYPES),
    "scale": ("none", "std", "minmax"),
}


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

    paper: bool = False  # as published: given labels, a mean for the reduced hull, nothing turned, no SVM
    level: int = 0  # 1: perpendicular directions at every node; 0: only where nothing else helps
    hard_weight: float = 1e3  # how much more an error on the hard class costs than one on the other
    zero_factor: float = 10.0  # by which that is lowered while it gives no direction
    reduced: ShareList = REDUCED  # hulls tried where the whole one gives no direction
    turn: bool = True  # directions are turned for as long as they answer more rows
    noise: float = 0.0  # share of the rows a node answers that may be of the other class; for noisy labels
    max_nodes: int = 0  # of a list; 0: 150 for two classes, 60 for a pair of more, 12 before an SVM
    prune_tol: float = 0.0  # share of rows that pruning may get wrong
    multiclass: str = "vote"  # vote | dag: every pair of classes, or only those on the way to the winner
    planes: str = "f32"  # tables of planes: f32 | f16 | int8
    sample: int = 4000  # rows that directions are made from; thresholds heed all rows
    seed: int = 0

    @property
    def order(self) -> Order:
        return "dag" if self.multiclass == "dag" else "all"

    def check_lists(self) -> None:
        known = {name: texts for name, texts in KNOWN.items() if hasattr(self, name)}
        least = {
            "hard_weight": 1,
            "zero_factor": 1,
            "prune_tol": 0,
            "sample": 10,
            "max_nodes": 0,
            "seed": 0,
        }
        check_options("h1-tree", self, known, least)
        if self.level not in (0, 1):
            raise OptionError(f"h1-tree: level is 0 or 1, got {self.level}")
        if not 0 <= self.noise < 0.5:
            raise OptionError(f"h1-tree: noise must lie within 0 and 0.5, got {self.noise}")


@dataclass(frozen=True, slots=True, kw_only=True)
class H1TreeOptions(ListOptions):
    """A list of half-spaces answers most rows, one dot product each; the SVM takes the rest."""

    labels: str = "auto"  # model | given: what lists are grown for; auto: model, given with paper=true
    end: str = "auto"  # svm | label: who takes rows no half-space answers; auto: svm, label with paper=true
    tau: float = -1.0  # rows the SVM is not sure of by so much never exit; -1: chosen on held-out rows
    recalibrate: int = 8  # points made up around each row that hold thresholds back
    min_gain: float = 0.01  # share of rows that a node before the SVM must answer
    target: float = 0.999  # agreement with the original that exits keep
    confidence: float = 0.8  # with which they do
    calibrate: CalibrationRows = NO_ROWS  # rows that prove it; none: 25 % of the data
    proven: bool = False  # exits by proof instead of measurement: no label changes
    centres: int = 16  # of the expansions that prove exits

    @property
    def ends_in_svm(self) -> bool:
        return self.end == "svm" or (self.end == "auto" and not self.paper)

    @property
    def by_model(self) -> bool:
        """Whether lists are grown for the SVM's own predictions."""
        return self.labels == "model" or (self.labels == "auto" and not self.paper)

    def check(self, svm: SVM) -> None:
        """Refuses what makes no sense, alone or for this SVM."""
        self.check_lists()
        if svm.label_rule is LabelRule.NONE:
            raise UnsupportedError("h1-tree: half-spaces answer with a class, and a regressor has none")
        if self.end == "plane":
            raise OptionError("h1-tree: end=plane is for training; use end=svm or end=label")
        if self.noise and self.ends_in_svm:
            raise OptionError("h1-tree: noise is for lists that stand alone; add end=label")
        if svm.n_sums > 1 and not svm.counts:
            raise UnsupportedError(
                "h1-tree: the model has a decision value for each class, not for each pair of classes; "
                "such models are linear, for which method exact takes one dot product per class"
            )
        if self.proven and not self.ends_in_svm:
            raise OptionError("h1-tree: proven=true is for end=svm")
        if self.tau != -1 and self.tau < 0:
            raise OptionError(f"h1-tree: tau must be -1 or at least 0, got {self.tau}")
        within = {"centres": (1, 4096), "min_gain": (0, 1), "recalibrate": (0, 1000)}
        check_options("h1-tree", self, within=within, shares=("target", "confidence"))
        if self.calibrate and not self.ends_in_svm:
            raise OptionError("h1-tree: calibrate is for end=svm")


@dataclass(frozen=True, slots=True, kw_only=True)
class H1TrainOptions(ListOptions):
    """Lists of half-spaces grown for given labels, one per pair of classes."""

    end: str = "auto"  # label | plane | svm: who takes the rest; auto: rows held out choose (paper: label)
    noise: float = -1.0  # share of the rows a node answers that may be of the other class; -1: 0 or 0.1
    scale: str = "std"  # none | std | minmax: how features are scaled while directions are looked for
    C: float = 1.0  # of the machines at the end, linear or RBF
    gamma: float = 0.0  # of the RBF machine's kernel; 0: one over the number of features
    svm_rows: int = 20_000  # it is trained on at most so many rows
    validation: float = 0.0  # share of rows held out for good; 0: they choose, then all rows are trained on

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
        replace(self, noise=self.noises[0]).check_lists()
        check_options("h1-tree", self, least={"svm_rows": 10, "gamma": 0})
        if self.C <= 0:
            raise OptionError(f"h1-tree: C must be above 0, got {self.C}")
        if not 0 <= self.validation < 0.9:
            raise OptionError(f"h1-tree: validation must lie within 0 and 0.9, got {self.validation}")
        if self.paper and (self.end == "plane" or self.noise > 0):
            raise OptionError("h1-tree: paper=true has neither end=plane nor noise; leave it out, or them")
        if self.gamma and "svm" not in self.ends:
            raise OptionError("h1-tree: gamma is for an RBF machine at the end; use end=svm or end=auto")
