"""Certificates of the method certified, checked in many digits: trained machines, sums made to break it.

    python examples/papers/certified_check.py              1000 rows per machine, about every centre
    python examples/papers/certified_check.py 100          so many rows
    python examples/papers/certified_check.py moons wide   some machines

Rows are float32 numbers like those trained on, between them, far out, and bisected onto f = 0. A row is
confirmed if no float32 code can find a score of any order farther from the original's sum than its bound.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from anytime_attack import Case, border, ordinary
from common import read_words, table
from metric_tree import progress
from sklearn.datasets import load_breast_cancer, load_digits, make_circles, make_moons
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import svmcompile as sc

ROWS = 1000  # per machine
BORDER = 0.3  # share of them that are bisected
FORMS = ((1, 3, 0), (8, 3, 0), (4, 3, 4), (2, 2, 2), (16, 1, 0))  # leaves, order, axes
SPARSE_FORMS = (
    (1, 3, 14),
    (1, 2, 14),
    (1, 3, 30),
    (1, 2, 30),
    (1, 3, 22),
)  # for rows that are mostly zeros
FEW = 20  # features of which all products of three are taken


def trained() -> Iterator[Case]:
    X, y = make_moons(400, noise=0.25, random_state=0)
    yield Case("moons", SVC(C=2.0, gamma=1.0).fit(X, y), X)
    far = X * 3 + np.array([5000.0, -3000.0])
    yield Case("moons, far off", SVC(C=10.0, gamma=0.2).fit(far, y), far)
    X, y = make_circles(400, noise=0.15, factor=0.5, random_state=0)
    yield Case("circles, large C", SVC(C=1e5, gamma=2.0).fit(X, y), X)
    X, y = load_breast_cancer(return_X_y=True)
    yield Case("breast cancer, scaled", make_pipeline(StandardScaler(), SVC(gamma=0.02)).fit(X, y), X)
    X, y = load_digits(return_X_y=True)
    chosen = np.isin(y, (3, 8))
    yield Case("digits 3-8", SVC(C=5.0, gamma=0.03).fit(X[chosen] / 16, y[chosen]), X[chosen] / 16)
    random = np.random.default_rng(0)
    often = np.where(random.random((200, 2, 1)) < 0.5, 0.4, 0.05) * np.ones(100)  # of either half
    y = (often[:, 0, 0] > 0.2) ^ (often[:, 1, 0] > 0.2)  # which no plane tells apart
    X = random.random((200, 200)) * (random.random((200, 200)) < often.reshape(200, 200))
    yield Case("mostly zeros", SVC(C=3.0, gamma=0.02).fit(X, y), X)


def made_up() -> Iterator[Case]:
    random = np.random.default_rng(0)
    normal = random.normal(size=(40, 4))
    weights = random.normal(size=40)
    for gap in (1e-4, 1e-7, 1e-9):
        twice = np.vstack([normal, normal[:20] + gap * random.normal(size=(20, 4))])
        opposite = np.concatenate([1e5 * np.ones(20), weights[20:], -1e5 * np.ones(20)])
        yield _case(f"pairs {gap:g} apart", twice, opposite, 0.0, 0.3)
    yield _case("narrow kernel", normal, weights, 0.01, 100.0)
    yield _case("wide kernel", normal, weights, 0.01, 1e-7)
    yield _case("features of 1e-6", normal * 1e-6, weights, 0.01, 1e11)
    yield _case("features of 1e7", normal * 1e7, weights, 0.01, 1e-15)
    yield _case("features of 1e4 +- 1", normal + 1e4, weights, 0.01, 0.3)
    yield _case("weights of 1e-30", normal, weights * 1e-30, 1e-32, 0.3)
    yield _case("weights of 1e-40", normal, weights * 1e-40, 1e-42, 0.3)
    yield _case("weights of 1e12", normal, weights * 1e12, 0.0, 0.3)
    yield _case("bias of 1e7", normal, weights, 1e7, 0.3)
    yield _case("dependent features", np.hstack([normal, normal[:, :2]]), weights, 0.01, 0.3)
    yield _case("one vector", normal[:1], weights[:1], float(-weights[0] / 2), 0.3)


def polynomial() -> Iterator[Case]:
    """Sums of polynomial kernels."""
    random = np.random.default_rng(0)
    normal, weights = random.normal(size=(40, 4)), random.normal(size=40)
    for degree in (2, 3, 4):
        yield _case(f"degree {degree}", normal, weights, 0.01, 0.3, degree, 1.0)
    yield _case("degree 4, coef0 0", normal, weights, 0.01, 0.3, 4, 0.0)
    yield _case("degree 3, coef0 1000", normal, weights, 0.01, 0.3, 3, 1e3)
    yield _case("degree 3, features of 1e-6", normal * 1e-6, weights, 0.0, 1e12, 3, 1.0)
    yield _case("degree 4, features of 1e6", normal * 1e6, weights, 0.0, 1e-12, 4, 1.0)
    yield _case("degree 3, features of 100 +- 1", normal + 100, weights, 0.0, 1e-4, 3, 1.0)
    yield _case("degree 4, weights of 1e-30", normal, weights * 1e-30, 0.0, 0.3, 4, 1.0)
    yield _case("degree 4, weights of 1e9", normal, weights * 1e9, 0.0, 0.3, 4, 1.0)
    twice = np.vstack([normal, normal[:20] + 1e-7 * random.normal(size=(20, 4))])
    opposite = np.concatenate([1e5 * np.ones(20), weights[20:], -1e5 * np.ones(20)])
    yield _case("degree 3, pairs 1e-07 apart", twice, opposite, 0.0, 0.3, 3, 1.0)


def _case(
    name: str, vectors: Any, weights: Any, bias: float, gamma: float, degree: int = 0, coef0: float = 0.0
) -> Case:
    """A LIBSVM model with these numbers, of an RBF kernel unless there is a degree."""
    order = np.argsort(weights < 0, kind="stable")
    first = int((weights >= 0).sum())
    lines = [
        "svm_type c_svc", f"kernel_type {'polynomial' if degree else 'rbf'}",
        *((f"degree {degree}", f"coef0 {coef0!r}") if degree else ()), f"gamma {gamma!r}", "nr_class 2",
        f"total_sv {len(weights)}", f"rho {-bias!r}", "label 1 -1", f"nr_sv {first} {len(weights) - first}",
        "SV",
    ]  # fmt: skip
    for weight, vector in zip(weights[order].tolist(), vectors[order].tolist(), strict=True):
        numbers = " ".join(f"{at}:{value!r}" for at, value in enumerate(vector, start=1))
        lines.append(f"{weight!r} {numbers}")
    spread = vectors.std(axis=0) + (0.0 if degree else gamma**-0.5)
    near = vectors[np.arange(200) % len(vectors)]
    rows = near + 0.3 * spread * np.random.default_rng(1).normal(size=near.shape)
    return Case(name, "\n".join(lines) + "\n", rows)


def checked(case: Case, count: int) -> list[str]:
    """Rows by verdict, added up over several forms of the polynomials, and the largest error over bound."""
    total, real, rounded = np.zeros(5, dtype=np.int64), 0.0, 0.0
    with tempfile.TemporaryDirectory() as folder:
        model = case.model
        if isinstance(model, str):
            model = Path(folder) / "sum.model"
            model.write_text(case.model)
        exact = sc.compile(model)
        random = np.random.default_rng(0)
        rows = np.vstack(
            [border(exact, case.X, int(BORDER * count), random), ordinary(case.X, count, random)]
        )
        for leaves, order, rank in forms(case.X):
            options: dict[str, Any] = {
                "leaves": leaves,
                "order": order,
                "rank": rank,
                "max_bytes": 1 << 24,
                "force": True,
            }
            program = sc.compile(model, method="certified", X=case.X, **options)
            some = rows[random.permutation(len(rows))[: count // len(FORMS)]]
            found = sc.check_certificate(program, some.astype(np.float64), model, every_leaf=leaves < 8)
            total += (found.rows, found.confirmed, found.refuted, found.open, found.none)
            real, rounded = max(real, found.real), max(rounded, found.rounded)
    return [case.name, *(f"{number}" for number in total), f"{real:.3f}", f"{rounded:.3f}"]


def forms(X: Any) -> Iterator[tuple[int, int, int]]:
    d = X.shape[1]
    if (X == 0).mean() > 0.6:
        yield from SPARSE_FORMS
        return
    for leaves, order, rank in FORMS:
        yield leaves, min(order, 2) if d > FEW and not rank else order, min(rank, d - 1)


HEAD = (
    "machine", "rows", "confirmed", "refuted", "open", "no certificate", "error / bound", "worst rounding",
)  # fmt: skip


def all_cases() -> list[Case]:
    return [*trained(), *made_up(), *polynomial()]


def main(words: list[str]) -> None:
    counts = [int(word) for word in words if word.isdigit()]
    names = [word for word in words if not word.isdigit()]
    chosen = [case for case in all_cases() if not names or any(name in case.name for name in names)]
    count = counts[0] if counts else ROWS
    lines = progress(chosen, lambda case: checked(case, count))
    print(table("Certificates checked in many digits", HEAD, lines))


if __name__ == "__main__":
    main(read_words(__doc__, [case.name for case in all_cases()], numbers=True))
