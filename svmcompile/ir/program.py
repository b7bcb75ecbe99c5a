"""Program: nodes, tables, labels and where it all came from."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from svmcompile.data.categories import NO_CATEGORIES, Categories
from svmcompile.data.text import NO_TEXT, Text, is_text
from svmcompile.errors import OptionError, UnsupportedError
from svmcompile.ir.arithmetic import FIXED as FIXED
from svmcompile.ir.arithmetic import INPUT_LIMITS as INPUT_LIMITS
from svmcompile.ir.arithmetic import Number as Number
from svmcompile.ir.arithmetic import WholeInput as WholeInput
from svmcompile.ir.nodes import Node, Value

if TYPE_CHECKING:
    from svmcompile.ir.cost import Cost
    from svmcompile.ir.interpret import Trace
OutputName = Literal["label", "scores", "value", "samples", "probabilities", "deviation"]
Scalar = bool | int | float | str
LabelKind = Literal["bool", "int", "float", "str"]


class Claim(str, Enum):
    """What a method promises about the program it makes."""

    EXACT = "EXACT"  # same decision values up to the stated rounding error
    SAME_LABEL = "SAME_LABEL"  # every label the original gives; values may differ
    APPROXIMATE = "APPROXIMATE"  # neither; agreement is measured


@dataclass(frozen=True, slots=True)
class Input:
    """The row that enters: its width and, where known, its features' names.

    A program in whole numbers may take rows of such: "u8" or "i16". Where the row is made of text, `text`
    says how; where features of it are text, `categories` have the codes that stand for it.
    """

    width: int
    name: Value = "x"
    feature_names: tuple[str, ...] = ()
    number: WholeInput = ""
    text: Text = NO_TEXT
    categories: Categories = NO_CATEGORIES


@dataclass(frozen=True, slots=True)
class Output:
    """A value that leaves the program under a public name."""

    name: OutputName
    value: Value


@dataclass(frozen=True, slots=True)
class Saving:
    """What one pass changed, in flops per row and bytes of tables."""

    by: str
    flops: tuple[int, int]  # before, after
    table_bytes: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Origin:
    """Source, method and options: all that tells how the program came to be."""

    source: str
    sha256: str
    n_support_vectors: int
    exact_flops: int
    method: str
    claim: Claim
    options: tuple[tuple[str, Scalar], ...] = ()
    savings: tuple[Saving, ...] = ()
    notes: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)  # what a method reports, fit for JSON


@dataclass(frozen=True, eq=False, repr=False)
class Program:
    """A compiled SVM. Equality is by digest; arrays are read-only.

    `number` is None for a math program (float64 by definition) and the number
    type of every table and value for a machine program; "q15" and "q7" are programs
    in whole numbers. `probes` are rows in
    input space, some close to the decision boundary, that tests may use.
    """

    input: Input
    body: tuple[Node, ...]
    outputs: tuple[Output, ...]
    tables: Mapping[str, NDArray[Any]]
    labels: Labels | None
    origin: Origin
    number: Number | None = None
    probes: NDArray[np.float64] = field(default_factory=lambda: np.zeros((0, 0)))

    def __post_init__(self) -> None:
        frozen = {name: _read_only(table) for name, table in self.tables.items()}
        object.__setattr__(self, "tables", frozen)
        object.__setattr__(self, "probes", _read_only(self.probes))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Program) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        origin, gives = self.origin, f"{len(self.labels)} classes" if self.labels else "regression"
        made = f"{origin.source}, method {origin.method}, {origin.claim.value}"
        return f"Program({made}, {self.number or 'f64'}, {self.n_features} features, {gives})"

    @property
    def digest(self) -> str:
        """sha256 of the stored form."""
        from svmcompile.ir.store import to_bytes

        return hashlib.sha256(to_bytes(self)).hexdigest()

    @property
    def claim(self) -> Claim:
        return self.origin.claim

    @property
    def n_features(self) -> int:
        return self.input.width

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features in order, empty where the model does not know them."""
        return self.input.feature_names

    @property
    def categories(self) -> Categories:
        """The features that are text, with the code of each of its values."""
        return self.input.categories

    @property
    def n_classes(self) -> int:
        """Number of classes, 0 for a regressor."""
        return len(self.labels) if self.labels else 0

    @property
    def n_values(self) -> int:
        """How many values a regressor gives; 0 of a classifier."""
        from svmcompile.ir.check import infer_types

        value = self.output("value")
        return infer_types(self)[value].width if value else 0

    @property
    def several(self) -> str:
        """What a row gets, where that is more than one label or value."""
        if self.labels:
            return f"{self.labels.per_row} labels" if self.labels.targets else ""
        return f"{self.n_values} values" if self.n_values > 1 else ""

    def computes_as(self, other: Program) -> bool:
        """Whether both have the same nodes and tables, wherever they came from."""
        return self.body == other.body and all(
            np.array_equal(table, other.tables[name]) for name, table in self.tables.items()
        )

    def output(self, name: str) -> Value | None:
        """The value behind a public name, None if the program does not give it."""
        return next((output.value for output in self.outputs if output.name == name), None)

    def replace(self, **changes: Any) -> Program:
        """A copy with some fields changed."""
        return dataclasses.replace(self, **changes)

    def counts(self, texts: Any) -> Any:
        """Rows that a program of text takes, as a scipy matrix: what the model counts in each text."""
        if not self.input.text:
            raise OptionError("this program takes numbers, not text")
        return self.input.text.counts(texts)

    # The numpy interpreter, under scikit-learn's names.

    def predict(self, rows: Any) -> NDArray[Any]:
        """Labels of the original dtype, or values for a regressor: [n], or [n, k] of several."""
        if self.labels is None:
            values = self._output_for(rows, "value")
            return values[:, 0] if values.shape[1] == 1 else values
        return np.asarray(self.labels.array()[self._output_for(rows, "label")])

    def decision_function(self, rows: Any) -> NDArray[np.float64]:
        """Scores in the original's shape: [n] for one score, else [n, scores]."""
        instead = "use predict" if self.labels else "a regressor's value comes from predict"
        scores = self._output_for(rows, "scores", f"decision function; {instead}").astype(np.float64)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict_proba(self, rows: Any) -> Any:
        """Probabilities of the classes, where the program gives them; of several targets a list of such."""
        lack = "probabilities; use predict or decision_function"
        found = self._output_for(rows, "probabilities", lack).astype(np.float64)
        return self.labels.by_target(found) if self.labels else found

    def score_samples(self, rows: Any) -> NDArray[np.float64]:
        """scikit-learn's raw scores of a one-class SVM: its decision values without their offset."""
        lack = "raw scores; only one-class SVMs of scikit-learn do"
        return self._output_for(rows, "samples", lack).astype(np.float64)[:, 0]

    def predict_std(self, rows: Any) -> NDArray[np.float64]:
        """Standard deviations of the values of a Gaussian process."""
        lack = "standard deviations; only Gaussian processes with a stationary kernel do"
        return self._output_for(rows, "deviation", lack).astype(np.float64)[:, 0]

    def _output_for(self, data: Any, name: str, lack: str = "") -> NDArray[Any]:
        """One output of the interpreter for rows in any form."""
        from svmcompile.data.rows import as_rows
        from svmcompile.ir.interpret import interpret_values

        value = self.output(name)
        if value is None:
            raise UnsupportedError(f"this program has no {lack}")
        if self.input.text and is_text(data):
            parts = [self.input.text.rows(data[part]) for part in self.input.text.chunks(data)]
            return np.concatenate([interpret_values(self, rows, {value})[value] for rows in parts])
        rows = as_rows(data, self.n_features, self.feature_names, self.categories)
        return interpret_values(self, rows, {value})[value]

    def cost(self, rows: Any = None) -> Cost:
        """Work per row and memory; `rows` matter where the work depends on the input."""
        from svmcompile.ir.cost import cost

        return cost(self, rows)

    def trace(self, rows: Any, pair: int = 0) -> Trace:
        """Bounds on a sum that stops when it is sure, stage by stage; `pair` of a vote."""
        from svmcompile.ir.interpret import trace

        return trace(self, rows, pair)

    def text(self) -> str:
        """Stable listing, made to be read and compared."""
        from svmcompile.ir.text import text

        return text(self)

    def save(self, path: str | Path) -> None:
        """Store as a `.svmc` file; equal programs give equal bytes."""
        from svmcompile.ir.store import save

        save(self, Path(path))

    @classmethod
    def load(cls, path: str | Path) -> Program:
        """Read a `.svmc` file."""
        from svmcompile.ir.store import load

        return load(Path(path))


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    view: NDArray[Any] = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


@dataclass(frozen=True, slots=True)
class Code:
    """What `lower` hands on: targets write `program`, reports and comparisons run `meaning`."""

    program: Program
    meaning: Program
    profile: str = "portable"
    units: Mapping[str, float] = field(default_factory=dict)  # by node: what the row is multiplied by
    folded: frozenset[str] = frozenset()  # tables of norms that have gone into the weights


@dataclass(frozen=True, slots=True)
class Labels:
    """The classes in the original's order.

    Where a row gets several labels, `targets` has the classes of each, as places among all.
    """

    values: tuple[Scalar, ...]
    dtype: str
    targets: tuple[tuple[int, ...], ...] = field(default=(), repr=False)

    def __len__(self) -> int:
        return len(self.values)

    @property
    def kind(self) -> LabelKind:
        """What sort of value a label is; never mixed."""
        first = self.values[0]
        if isinstance(first, bool):
            return "bool"
        if isinstance(first, int):
            return "int"
        return "float" if isinstance(first, float) else "str"

    def array(self) -> NDArray[Any]:
        """The labels as the original's `classes_`."""
        return np.array(self.values, dtype=np.dtype(self.dtype))

    @property
    def per_row(self) -> int:
        """How many labels a row gets."""
        return len(self.targets) or 1

    def of_targets(self) -> list[NDArray[Any]]:
        """The classes of each target."""
        return [self.array()[list(places)] for places in self.targets]

    def by_target(self, chances: NDArray[Any]) -> Any:
        """Probabilities as the original gives them: a matrix, or one for each target of several classes."""
        ends = np.cumsum([len(places) for places in self.targets])
        if not self.targets or chances.shape[1] != ends[-1]:
            return chances
        return np.split(chances, ends[:-1], axis=1)

    @classmethod
    def of(cls, classes: NDArray[Any], where: str) -> Labels:
        """Labels from `classes_`; refuses what no generated code can hold."""
        array = np.asarray(classes)
        if array.ndim != 1 or not array.size:
            raise UnsupportedError(f"{where}: labels must be a list of one or more classes")
        # An object array may hold numpy's own scalars, such as np.str_.
        values = tuple(v.item() if isinstance(v, np.generic) else v for v in array.tolist())
        kinds = {type(value) for value in values}
        if len(kinds) != 1 or not kinds <= {bool, int, float, str}:
            names = ", ".join(sorted(kind.__name__ for kind in kinds))
            raise UnsupportedError(
                f"{where}: labels of type {names} cannot be compiled; "
                "retrain with labels that are all int, all float, all bool or all str"
            )
        if len(set(values)) != len(values):
            raise UnsupportedError(f"{where}: a label appears twice")
        if kinds == {float} and not np.isfinite(array.astype(np.float64)).all():
            raise UnsupportedError(f"{where}: labels must be finite")
        return cls(values, "object" if array.dtype == object else array.dtype.str)
