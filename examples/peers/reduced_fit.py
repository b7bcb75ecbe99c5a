"""How long reduced-set takes to fit SVMs of 1,000 to 5,000 vectors, and how many labels it keeps.

    SVMCOMPILE_DATA=FOLDER python examples/peers/reduced_fit.py
    SVMCOMPILE_DATA=FOLDER python examples/peers/reduced_fit.py --former CHECKOUT

A twentieth of the support vectors is kept, with one weight for each pair of classes and vector. Processor
time is that of `sc.compile` in a process of its own; CHECKOUT is a folder with another commit, which fits
the same SVMs to the same rows.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "papers")]

import joblib  # noqa: E402
import numpy as np  # noqa: E402
from beyond_sets import rows_of  # noqa: E402
from common import table  # noqa: E402
from rivals import SETS  # noqa: E402
from sklearn.svm import SVC  # noqa: E402

SHARE = 0.05
TASKS = (("usps-2", 2000), ("usps-2", 7291), ("letter-26", 2000), ("letter-26", 7000))
FIT = f"""
import json, sys, time, joblib, numpy as np, svmcompile as sc
model, rows, tested = joblib.load(sys.argv[1])
given = dict(method="reduced-set", scores="pairs")
try:  # and load what is needed
    sc.compile(model, X=rows[:50], budget=2.0, **given)
except sc.OptionError:  # before there were others
    del given["scores"]
    sc.compile(model, X=rows[:50], budget=2.0, **given)
begin = time.process_time()
program = sc.compile(model, X=rows, budget={SHARE}, **given)
seconds = time.process_time() - begin
same = float(np.mean(program.predict(tested) == model.predict(tested)))
print(json.dumps([program.origin.details["vectors"], seconds, 100 * same]))
"""


def fitted(checkout: Path, stored: Path) -> tuple[int, float, float]:
    """Vectors that a checkout keeps, the seconds it takes, and the share of labels that stay."""
    settings = {
        **os.environ,
        "PYTHONPATH": str(checkout),
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    command = [sys.executable, "-W", "ignore", "-c", FIT, str(stored)]
    done = subprocess.run(  # elsewhere, for this folder would come before that of the checkout
        command, cwd=stored.parent, env=settings, capture_output=True, text=True, check=True
    )
    found: tuple[int, float, float] = tuple(json.loads(done.stdout))
    return found


def lines(checkouts: list[Path]) -> Iterator[list[Any]]:
    for task, count in TASKS:
        data, plan = rows_of(task), SETS[task]
        some = np.sort(np.random.default_rng(0).permutation(len(data.y))[:count])
        model = SVC(C=plan.C, gamma=plan.gamma, cache_size=500).fit(data.X[some], data.y[some])
        with tempfile.TemporaryDirectory() as folder:
            stored = Path(folder, "model.joblib")
            joblib.dump((model, data.X[some], data.X_test), stored)
            found = [fitted(one, stored) for one in checkouts]
        cells = [
            f"{figure:.{digits}f}" for _, *own in found for figure, digits in zip(own, (1, 2), strict=True)
        ]
        shape = f"{len(model.support_):,} x {data.X.shape[1]}"
        print(task, shape, *cells, file=sys.stderr)
        yield [task, f"{len(some):,}", shape, found[0][0], *cells]


def main() -> None:
    words = sys.argv[1:]
    if {"-h", "--help"} & {*words} or words[:1] not in ([], ["--former"]) or len(words) == 1:
        raise SystemExit(__doc__)
    head = ["set", "rows", "support vectors", "kept", "s", "labels kept %"]
    checkouts = [HERE.parent.parent.resolve(), *(Path(word).resolve() for word in words[1:])]
    head += ["s, former", "labels kept, former %"] * (len(checkouts) - 1)
    print(table("Fitting a reduced set", head, lines(checkouts)))


if __name__ == "__main__":
    main()
