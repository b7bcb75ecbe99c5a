"""Labels that are certain: how many change on the boundary without them, and what they cost.

    python examples/papers/certain.py              all machines
    python examples/papers/certain.py six linear   some of them

Rows are float32, half of them bisected onto the boundary; labels are compared with scikit-learn's. "ties"
are rows that double in C labels otherwise than scikit-learn: there the sign of a double sum is chance, and
other columns leave them out. "in double" is the share of held-out rows that are evaluated again. Times are
those of `labels=certain` over the plain exact sum in the same run, C in float32, one row per call and
in batches; so are instructions, of the profile host, one row per call.
"""

from __future__ import annotations

import tempfile
from typing import Any, NamedTuple

import numpy as np
from anytime_attack import border, in_chunks, ordinary
from c_cost import c_costs
from certified_attack import built
from common import read_words, table
from metric_tree import progress
from sklearn.datasets import make_classification
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import svmcompile as sc
from svmcompile.flow.measured import times_in_c
from svmcompile.ir import nodes as ir
from svmcompile.ir.interpret import interpret_values
from svmcompile.ir.node import At, operands
from svmcompile.lower import lower

ROWS = 20_000
TIMED = 400
HEAD = (
    "machine", "SVs", "features", "classes", "rows", "ties", "exact, C host", "C host", "C portable",
    "ONNX", "in double %", "host, one row", "host, batch", "portable", "instructions",
)  # fmt: skip


class Machine(NamedTuple):
    """How a machine is made: rows of `make_classification`, scaled; half of them to train on."""

    rows: int
    features: int
    classes: int
    settings: dict[str, Any]


MACHINES = {
    "two classes": Machine(2500, 57, 2, {"C": 5.0, "gamma": 0.02}),
    "six classes": Machine(1600, 36, 6, {"C": 10.0, "gamma": 0.1}),
    "six classes, wide": Machine(1600, 36, 6, {"C": 10.0, "gamma": 0.028}),
    "few features, large C": Machine(1500, 8, 2, {"C": 100.0, "gamma": 0.125}),
    "poly": Machine(1600, 30, 2, {"kernel": "poly", "gamma": 0.03}),
    "square": Machine(1600, 30, 2, {"kernel": "poly", "degree": 2, "coef0": 1.0, "gamma": 0.03}),
    "sigmoid": Machine(1600, 30, 2, {"kernel": "sigmoid", "gamma": 0.01}),
    "linear": Machine(1600, 30, 2, {"kernel": "linear"}),
    "linear, six classes": Machine(1600, 30, 6, {"kernel": "linear"}),
}


def fitted(one: Machine) -> tuple[Any, Any]:
    """The machine, and rows it was not trained on."""
    X, y = make_classification(
        one.rows, one.features, n_informative=one.features // 2, n_redundant=one.features // 4,
        n_classes=one.classes, n_clusters_per_class=1 if one.classes > 2 else 2, class_sep=1.5, flip_y=0.03,
        random_state=0,
    )  # fmt: skip
    X = StandardScaler().fit_transform(X).astype(np.float32).astype(np.float64)
    half = one.rows // 2
    return SVC(**one.settings).fit(X[:half], y[:half]), X[half:]


def share_in_double(program: Any, rows: Any) -> float:
    """The share of rows that float32 leaves in doubt."""
    machine = lower(program, "f32", "host")
    node = next((one for one in machine.body if isinstance(one, ir.Certain)), None)
    if node is None:
        return 1.0
    read = interpret_values(machine, rows.astype(np.float32), set(operands(node)))
    return float(node.needs_lazy(At(node, machine.tables, read)).mean())


def line(name: str) -> list[str]:
    one = MACHINES[name]
    model, fresh = fitted(one)
    exact, certain, random = (
        sc.compile(model),
        sc.compile(model, labels="certain"),
        np.random.default_rng(0),
    )
    edge = border(model, fresh, ROWS // 2, random)
    rows = np.concatenate([edge, ordinary(fresh, ROWS - len(edge), random)])
    meant = in_chunks(model.predict, rows.astype(np.float64))
    forms = [
        (exact, "c", "host"), (certain, "c", "host"), (certain, "c", "portable"), (certain, "onnx", "host"),
    ]  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        double = built(folder, "double", exact, "c", "host", "f64")
        ties = in_chunks(lambda part: double.predict(part.astype(np.float64)), rows) != meant
        found = [
            (in_chunks(built(folder, f"form{at}", *form).predict, rows) != meant) & ~ties
            for at, form in enumerate(forms)
        ]
    host, portable = (times_in_c([exact, certain], fresh[:TIMED], one) for one in ("host", "portable"))
    ratios = [host[1].single / host[0].single, host[1].batch / host[0].batch]
    plain, sure = c_costs((exact, certain), fresh[:TIMED], "host")
    ratios += [portable[1].single / portable[0].single, sure.instructions / plain.instructions]
    told = [name, len(model.support_vectors_), one.features, one.classes, len(rows), int(ties.sum())]
    told += [int(wrong.sum()) for wrong in found]
    share = f"{100 * share_in_double(certain, fresh):.2f}"
    return [*map(str, told), share, *(f"{ratio:.2f}" for ratio in ratios)]


def main() -> None:
    words = read_words(__doc__, MACHINES)
    chosen = [name for name in MACHINES if not words or any(word in name for word in words)]
    print(table("Labels that are certain", HEAD, progress(chosen, line)))


if __name__ == "__main__":
    main()
