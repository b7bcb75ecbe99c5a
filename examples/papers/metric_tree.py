"""Pham and Smeulders' tables and figure, set by set; and what the default form makes of it.

    python examples/papers --paper metric-tree            Tables 1 and 2 and Figure 2, beside the paper's
    python examples/papers/metric_tree.py                 all parts of our own
    python examples/papers/metric_tree.py sharp letter    one part, or some of its sets

Parts: sharp, guard, figure. Set SVMCOMPILE_DATA to a folder of real data (`python examples/papers --sets`
says how). Files go to out/papers.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from cells import Figures
from common import OUTPUT, Rows, Split, read_words, scaled, split, table, trained
from ls_svm import plane, trained_ls_svm
from sklearn.linear_model import RidgeClassifier
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import LinearSVC

import svmcompile as sc
from svmcompile.commands import bench
from svmcompile.commands.options import BenchOptions
from svmcompile.ir import nodes as ir
from svmcompile.ir.interpret import interpret_values
from svmcompile.ir.nodes.decisions import margins
from svmcompile.ir.program import Program
from svmcompile.ir.walks import leaf_depths

TEST_ROWS = 12_000
HALVES = 5  # random halves a row is averaged over


@dataclass(frozen=True)
class Known:
    """A row of the paper's Table 1 or 2, and where its data comes from."""

    name: str
    source: str
    vectors: int
    svm: float
    depth: float
    tree: float
    gain: int
    halves: int = 1
    train: int = 0
    scale: bool = False
    times: tuple[int, float, float] | None = None  # test rows, and seconds of LIBSVM and of the tree
    C: float = 1.0
    gamma: float = 0.0  # 0: one over the number of features, LIBSVM's default

    @property
    def microseconds(self) -> tuple[float, float]:
        """Per row, of LIBSVM and of the tree, on a Pentium 4 of 2.4 GHz."""
        assert self.times
        rows, svm, tree = self.times
        return 1e6 * svm / rows, 1e6 * tree / rows


TABLE1 = (
    Known("fourclass", "fourclass_scale", 192, 76.8, 9.73, 77.0, 110, HALVES),
    Known("svmguide1", "svmguide1", 630, 96.2, 14.04, 96.1, 290, scale=True, times=(4000, 3.14, 0.01)),
    Known("diabetes", "diabetes_scale", 237, 75.3, 11.33, 75.3, 230, HALVES),
    Known("breast-cancer", "breast-cancer_scale", 46, 97.4, 12.41, 97.1, 40, HALVES),
    Known("australian", "australian_scale", 137, 87.3, 10.48, 87.5, 120, HALVES),
    Known("heart", "heart_scale", 72, 82.2, 8.86, 80.0, 40, HALVES),
    Known("ijcnn1", "ijcnn1", 8971, 92.8, 23.19, 92.8, 1500, times=(91_701, 1452.74, 0.97)),
    Known("german", "german.numer_scale", 317, 75.4, 10.70, 74.2, 290, HALVES),
    Known("ionosphere", "ionosphere_scale", 88, 92.1, 11.25, 85.8, 70, HALVES),
    Known(
        "covtype", "covtype.binary", 12410, 75.6, 18.25, 75.6, 3350, train=20_000, scale=True,
        times=(561_012, 30776.0, 9.18),
    ),
    Known("sonar", "sonar_scale", 88, 77.9, 8.74, 71.2, 60, HALVES),
    Known("mushrooms", "mushrooms", 487, 99.8, 15.30, 99.7, 140, HALVES, times=(4062, 7.0, 0.05)),
    Known("a1a", "a1a", 754, 83.6, 12.72, 83.6, 160, times=(30_956, 55.49, 0.34)),
    Known("a2a", "a2a", 1067, 84.0, 13.46, 83.9, 240, times=(30_296, 72.43, 0.30)),
    Known("a7a", "a7a", 6158, 84.6, 17.02, 84.5, 1310, times=(16_461, 235.40, 0.18)),
    Known("a9a", "a9a", 11954, 84.8, 18.59, 84.8, 1670, times=(16_281, 452.07, 0.27)),
    Known("w1a", "w1a", 208, 97.0, 22.53, 97.0, 50, times=(47_272, 23.38, 0.45)),
    Known("w8a", "w8a", 2958, 97.4, 30.66, 97.4, 250, times=(14_951, 105.50, 0.42)),
)  # fmt: skip
# Table 2 names no parameters; these give the paper's number of support vectors.
TABLE2 = (
    Known("a1a", "a1a", 642, 84.2, 12.72, 84.2, 80, C=16.0, gamma=2.0**-6),
    Known("ijcnn1", "ijcnn1", 4555, 99.0, 23.19, 98.1, 70, C=2.0, gamma=2.0),
)
REDUCED = {"a1a": (160, "84.1, 84.2, 83.7, 84.2"), "ijcnn1": (200, "92.2, 97.1, 93.3, 96.5")}  # M1 to M4


@dataclass(frozen=True)
class Measured:
    """One program on test rows, in percent, dot products and bytes."""

    vectors: float
    svm: float
    tree: float
    agreement: float
    dots: float
    bytes: float
    copies: float = 0.0  # tests more per row, were rows that occur twice kept apart by halving


def measure(model: Any, program: Program, data: Split) -> Measured:
    """How a program does beside its model."""
    meant, found = model.predict(data.X_test), program.predict(data.X_test)
    return Measured(
        int(model.n_support_.sum()),
        100 * float((meant == data.y_test).mean()),
        100 * float((found == data.y_test).mean()),
        100 * float((found == meant).mean()),
        mean_depth(program, data.X_test) + 1,
        program.origin.details["tree"]["bytes"],
        halvings(program, data),
    )


def route_of(program: Program) -> ir.AxisRoute | ir.PlaneRoute | None:
    """The node that walks the tree, if there is one."""
    return next((node for node in program.body if isinstance(node, (ir.AxisRoute, ir.PlaneRoute))), None)


def mean_depth(program: Program, rows: Rows) -> float:
    """Tests per row; the published figure counts the leaf's own dot product as well."""
    route = route_of(program)
    if route is None:
        return 0.0
    leaves = interpret_values(program, rows, {route.out})[route.out]
    return float(leaf_depths(program.tables[route.children])[leaves].mean())


def halvings(program: Program, data: Split) -> float:
    """Mean of log2 of the training rows in the leaf of a test row: what halving equal rows would add."""
    route = route_of(program)
    if route is None:
        return 0.0
    built, met = (interpret_values(program, rows, {route.out})[route.out] for rows in (data.X, data.X_test))
    return float(np.log2(np.maximum(np.bincount(built, minlength=int(met.max()) + 1), 1))[met].mean())


def speeds(model: Any, program: Program, rows: Rows, folder: Path) -> tuple[float, float]:
    """Microseconds per row of LIBSVM and of ours: both called from C, one row per call, in one run."""
    sc.write(sc.emit(program, "c", "model"), folder)
    np.savez(folder / "rows.npz", X=rows[:2000])
    joblib.dump(model, folder / "model.joblib")
    options = BenchOptions(
        folder=folder,
        data=folder / "rows.npz",
        model=folder / "model.joblib",
        trust_pickle=True,
        against="libsvm",
        as_json=True,
    )
    found = {c["key"]: c for c in bench.run(options)["contenders"] if c["via"] == "C"}
    return float(found["libsvm"]["us_single"]), float(found["ours"]["us_single"])


def speed_gain(model: Any, program: Program, rows: Rows, folder: Path) -> float:
    """LIBSVM's time beside ours."""
    libsvm, ours = speeds(model, program, rows, folder)
    return libsvm / ours


def compiled(model: Any, data: Split, **options: Any) -> Program:
    return sc.compile(model, method="metric-tree", X=data.X, **options)


def machine_of(row: Known, seed: int = 0) -> tuple[Any, Split]:
    """The SVM of a row, and the rows behind it."""
    data = split(row.source, row.train, TEST_ROWS, seed, row.scale)
    return trained(f"{row.name}-{seed}", data, row.C, row.gamma or 1 / data.X.shape[1]), data


def on_half(row: Known, seed: int) -> Figures:
    """The published tree and the default one on one half (or the one split) of a set."""
    model, data = machine_of(row, seed)
    found: Figures = {}
    for name, options in (("published", {"paper": True}), ("default", {})):
        one = measure(model, compiled(model, data, **options), data)
        found |= {
            "vectors": one.vectors,
            "svm": one.svm,
            name: one.tree,
            f"{name} same": one.agreement,
            f"{name} dots": one.dots,
            f"{name} kB": one.bytes / 1000,
        }
        found |= {"copies": one.copies} if name == "published" else {}
    return found


def reduced_sets(row: Known) -> Figures:
    """Table 2's rivals of the same size: ours, and vectors drawn at random, as M1 to M4 have them."""
    model, data = machine_of(row)
    count = REDUCED[row.name][0]
    program = sc.compile(model, method="reduced-set", X=data.X, budget=count)
    chosen = data.X[np.random.default_rng(0).permutation(len(data.X))[:count]]
    K, K_test = (rbf_kernel(rows, chosen, row.gamma) for rows in (data.X, data.X_test))
    rivals = {"hinge": LinearSVC(C=row.C, dual=False), "squares": RidgeClassifier(1 / row.C)}
    found = {"reduced": 100 * float((program.predict(data.X_test) == data.y_test).mean())}
    for name, rival in rivals.items():
        found[name] = 100 * float((rival.fit(K, data.y).predict(K_test) == data.y_test).mean())
    return found


def figure_2(depth: int) -> Figures:
    """The paper's Figure 2: an LS-SVM in the plane, its tree, and that tree cut at a level."""
    data = plane()
    model = trained_ls_svm(data.X, data.y, 100.0, 10.0)
    path = model.write(OUTPUT / "figure-2.model")
    program = compiled(path, data, paper=True, max_depth=depth)
    same = program.predict(data.X_test) == model.predict(data.X_test)
    tree = program.origin.details["tree"]
    return {
        "vectors": float(program.origin.n_support_vectors),
        "svm": 100 * float((model.predict(data.X_test) == data.y_test).mean()),
        "same": 100 * float(same.mean()),
        "leaves": float(tree["leaves"]),
        "deepest": tree["max_depth"] + 1.0,  # the paper counts the leaf's own dot product
        "mean": mean_depth(program, data.X_test) + 1,
    }


def progress(items: Any, work: Callable[[Any], list[str]]) -> Iterator[list[str]]:
    for item in items:
        done = work(item)
        print(" | ".join(done), file=sys.stderr, flush=True)
        yield done


def pendigits(seed: int, train: int) -> Split:
    """Even digits against odd ones."""
    return _halves("pendigits", lambda y: y % 2, seed, train)


def letters(seed: int, train: int) -> Split:
    """A to M against N to Z."""
    return _halves("letter.scale", lambda y: (y > 13).astype(int), seed, train)


def _halves(name: str, label: Callable[[Any], Any], seed: int, train: int) -> Split:
    data = split(name, 0, 0)
    X, y = np.concatenate([data.X, data.X_test]), label(np.concatenate([data.y, data.y_test]).astype(int))
    order = np.random.default_rng(seed).permutation(len(y))
    X = scaled(X)[0]
    a, b = order[:train], order[train : train + 5000]
    return Split(X[a], y[a], X[b], y[b])


def adult(seed: int, train: int) -> Split:
    return split("a9a", train, TEST_ROWS, seed)


def ijcnn1(seed: int, train: int) -> Split:
    return split("ijcnn1", train, TEST_ROWS, seed)


SHARP: dict[str, tuple[Callable[[int, int], Split], int, float, float]] = {
    "pendigits": (pendigits, 4000, 10.0, 1.0),
    "letter": (letters, 8000, 10.0, 1.0),
    "adult": (adult, 6000, 1.0, 0.05),
    "ijcnn1": (ijcnn1, 12_000, 32.0, 2.0),
}


def sharp(names: list[str]) -> None:
    """The default form beside the published tree, where models are far from linear."""
    head = (
        "set",
        "SVs",
        "published: agreement %, dots, kB",
        "default: agreement %, dots, kB",
        "form",
        "size",
    )
    print(table("Sharp parameters", head, progress([n for n in SHARP if not names or n in names], _sharp)))


def _sharp(name: str) -> list[str]:
    make, train, C, gamma = SHARP[name]
    data = make(0, train)
    model = trained(f"{name}-sharp", data, C, gamma)
    programs = [compiled(model, data, paper=True), compiled(model, data)]
    both = [measure(model, program, data) for program in programs]
    shown = [f"{one.agreement:.2f}, {one.dots:.1f}, {one.bytes / 1000:.1f}" for one in both]
    form = programs[1].origin.details["tree"]["form"]
    return [name, f"{both[0].vectors}", *shown, form, f"1/{both[0].bytes / both[1].bytes:.0f}"]


# Fallback shares of a single calibration by the plain rate, at 99 % and 99.5 %.
FALLBACKS = {"adult": (0.5, 2.9), "pendigits": (1.0, 12.0), "letter": (48.0, 74.0)}
GUARD_ROWS = {"adult": 12_000, "pendigits": 7494, "letter": 15_000}


def guard(names: list[str]) -> None:
    """Five random holdouts: what the guard band reaches on new rows, and what it costs."""
    head = ("set", "target %", "reached % (five holdouts)", "fallback % (five holdouts)", "mean", "known")
    sets = [(n, t) for n in FALLBACKS if not names or n in names for t in (0, 1)]
    print(table("Guard band", head, progress(sets, lambda one: _guard(*one))))


def _guard(name: str, which: int) -> list[str]:
    make, _, C, gamma = SHARP[name]
    data = make(0, GUARD_ROWS[name])
    model, target = trained(f"{name}-guard", data, C, gamma), (0.99, 0.995)[which]
    meant, reached, fallback = model.predict(data.X_test), [], []
    for seed in range(5):
        program = compiled(model, data, guard="target", target=target, seed=seed)
        reached.append(100 * float((program.predict(data.X_test) == meant).mean()))
        node = next(node for node in program.body if isinstance(node, ir.Guard))
        score = interpret_values(program, data.X_test, {node.score})[node.score]
        fallback.append(100 * float((margins(score, node.rule) < node.width).mean()))
    spread = [
        ", ".join(f"{value:.{digits}f}" for value in v) for v, digits in ((reached, 2), (fallback, 1))
    ]
    return [name, f"{100 * target:g}", *spread, f"{np.mean(fallback):.1f}", f"{FALLBACKS[name][which]:g}"]


def figure(names: list[str]) -> None:
    """The paper's Figure 2: border of an LS-SVM and of its tree, and parts of the plane."""
    from figure import draw

    data = plane()
    machine = trained_ls_svm(data.X, data.y, 100.0, 10.0)
    path = machine.write(OUTPUT / "figure-2.model")
    programs = {
        "published tree": compiled(path, data, paper=True),
        "published tree, depth 6": compiled(path, data, paper=True, max_depth=6),
        "default": compiled(path, data),
    }
    print(f"\nfigure: {draw('LS-SVM', machine, programs, data, OUTPUT / 'metric_tree_ls_svm.png')}")


PARTS = {"sharp": sharp, "guard": guard, "figure": figure}


def main(words: list[str]) -> None:
    names = [word for word in words if word not in PARTS]
    for part in [word for word in words if word in PARTS] or list(PARTS):
        PARTS[part](names)


if __name__ == "__main__":
    main(read_words(__doc__, [*PARTS, *SHARP]))
