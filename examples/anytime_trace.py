"""How the interval around a decision value narrows.

    python examples/anytime_trace.py                            where four rows stop
    python examples/anytime_trace.py docs/anytime_trace.png     and the picture, which needs matplotlib

Four held-out digits, 3 against 8: lower end, estimate and upper end after every kernel value, and
where the program stops because zero is outside. The dashed line is the decision value itself.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.svm import SVC

import svmcompile as sc
from svmcompile.ir.interpret import Trace

TRAINED = 240


def main(path: str | None) -> None:
    X, y = load_digits(return_X_y=True)
    X, y = X[np.isin(y, (3, 8))] / 16.0, y[np.isin(y, (3, 8))]
    model = SVC(C=5.0, gamma=0.02).fit(X[:TRAINED], y[:TRAINED])
    program = sc.compile(
        model, method="anytime", X=X[:TRAINED], block=1, k_max=80, r_coords="all", force=True
    )
    rows = X[TRAINED:]
    values = model.decision_function(rows)
    chosen = np.argsort(np.abs(values))[[2, 12, 40, -5]]
    trace = program.trace(rows[chosen])
    stops = [int(trace.ends[stop]) for stop in trace.stop]
    print(f"certain after {stops} of {len(model.support_)} kernel values")
    if path is not None:
        draw(path, trace, values[chosen], stops)


def draw(path: str, trace: Trace, values: Any, stops: list[int]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, 4, figsize=(12, 3), sharey=True)
    for panel, index in zip(panels, range(4), strict=True):
        ends = trace.ends[:-1]
        panel.fill_between(ends, trace.low[index, :-1], trace.high[index, :-1], alpha=0.3, label="L to H")
        panel.plot(ends, trace.estimate[index, :-1], label="estimate")
        panel.axhline(values[index], linestyle="--", color="tab:green", label="f")
        panel.axhline(0, color="black", linewidth=0.8)
        panel.axvline(stops[index], color="tab:red", linewidth=0.8, label=f"certain after {stops[index]}")
        panel.set_xlabel("kernel values")
        panel.set_ylim(-4, 4)
        panel.legend(fontsize=7)
    figure.suptitle("Bounds on the decision values of four digits, 3 against 8")
    figure.tight_layout()
    figure.savefig(path, dpi=90)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
