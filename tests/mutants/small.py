"""Small programs that mutants are tried on, each with rows: what the programs of the replay do not have."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
from programs import lists, paths, probabilities, routes
from programs.leaves import RECIPES, leaf_rows
from programs.taylor_votes import cyclic, tangled, vote_of
from programs.texts import KINDS, LABELS, TEXTS
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.feature_selection import SelectKBest
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import Matern, RationalQuadratic
from sklearn.kernel_approximation import RBFSampler
from sklearn.kernel_ridge import KernelRidge
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, PowerTransformer
from sklearn.svm import SVC, SVR, LinearSVC
from targets.c_cases import FEATURES, RBF, as_it_is, normal_rows
from targets.c_cases import program_of as small_program

import svmcompile as sc
from svmcompile.accelerate.registry import accelerate
from svmcompile.data import Data
from svmcompile.flow.program import compile_svm
from svmcompile.ir.kernel import Kernel
from svmcompile.ir.program import Labels, Program
from svmcompile.model.svm import SVM, LabelRule, Source

Programs = dict[str, tuple[Program, Any]]
CODED = ("bins", "categories", "ordinals", "targets")
STEADY = {"constant_time": True}
GUARDED = ("tree axis", "list guarded", "list pairs guarded", "list dag guarded")
WHOLE = Kernel("poly", 1.0, 1.0, 3)


def small_programs() -> Programs:
    """By name, with rows."""
    rows = normal_rows(200, "f64")
    found = _staged() | _random()
    for method, classes in itertools.product(("certified", "anytime"), (3, 5, 20)):
        program = compile_svm(in_circles(classes), method, Data(rows, None), {"force": True})
        found[f"{method} {classes} circles"] = program, rows
    for kernel in (RBF, WHOLE, Kernel("sigmoid", 0.1)):
        svm = in_circles(4, kernel)
        several = SVM(
            kernel, svm.vectors, svm.coefficients, svm.intercepts[:3], LabelRule.ARGMAX, svm.source,
            Labels((0, 1, 2), "<i8"),
        )  # fmt: skip
        found[f"several {kernel.kind}"] = compile_svm(several.check("test"), "exact", None, {}), rows
    some = ("rbf_ovo", "rbf_argmax", "poly_ovo", "quadratic_ovo", "sigmoid_sparse", "linear_scaled")
    return found | {name: (small_program(name), rows) for name in some}


def _staged() -> Programs:
    """Sums that stop early, in all forms."""
    import targets.bounded_cases as bounded
    import targets.taylor_cases as taylor
    import targets.test_c_picked as picked
    import targets.test_c_taylor_vote as votes

    found: Programs = {}
    for name, program in picked.programs().items():
        found[f"picked {name}"] = program, picked.fitted(picked.FORMS[name][0])[0]
    for kind in ("rbf", "poly"):
        found |= {name: (program, bounded.two_classes()[0]) for name, program in bounded.sums(kind).items()}
    for kind in ("iris", "sparse", "poly"):
        X = bounded.voting_machine(kind)[1]
        found |= {f"vote {name}": (program, X) for name, program in bounded.votes(kind).items()}
    for case, (kind, *_) in votes.CASES.items():
        found[f"taylor {case}"] = votes.program_of(case), bounded.voting_machine(kind)[1]
    model, X = many_zeros()
    found["taylor sparse_many"] = vote_of(model, X, leaves=1, order=2, rank=5), X
    flat = np.random.default_rng(6).normal(size=(200, 2)) * 2
    for name, svm in {"tangled": tangled(), "cyclic": cyclic()}.items():
        found[f"taylor {name} circles"] = vote_of(svm, flat, leaves=1, order=1, rank=0), flat
    names = ("d2", "d5_axes", "d8", "d17_walk", "d5_cubic")
    sixteen = {"d5_leaves": (5, 16, 2, 0, (), False)}  # whose planes fill several vectors
    for name, size in ({name: taylor.SIZES[name] for name in names} | sixteen).items():
        case = taylor.made(*size)
        found[f"taylor {name}"] = case.program, case.X
    return found


def many_zeros() -> tuple[Any, Any]:
    """Four classes of rows that are mostly zeros, each with many blocks of vectors."""
    random, y = np.random.default_rng(3), np.arange(900) % 4
    often = np.where(random.random((4, 40)) < 0.3, 0.5, 0.1)[y]
    X = random.random((900, 40)) * (random.random((900, 40)) < often)
    return SVC(gamma=0.05, C=1.0).fit(X, y), X


def _random() -> Programs:
    """Trees, lists, paths and leaves made at random, and every head that gives probabilities."""
    import targets.test_c_leaves as leaves

    found: Programs = {}
    for case in leaves.FEW:
        program = leaves.PROGRAMS[case]
        found[f"leaves {case}"] = program, leaf_rows(RECIPES[case], program, 200)
    for case, recipe in routes.RECIPES.items():
        program = routes.tree_program(recipe)
        found[f"tree {case}"] = program, routes.tree_rows(recipe, program, 200, "f64")
    for case, listed in lists.RECIPES.items():
        program = lists.list_program(listed)
        found[f"list {case}"] = program, lists.list_rows(listed, program, 200, "f64")
    for case, path in paths.RECIPES.items():
        found[f"path {case}"] = paths.path_program(path), paths.path_rows(200)
    rows = probabilities.rows()[:-2]
    return found | {f"chances {case}": (one, rows) for case, one in probabilities.PROGRAMS.items()}


def steady_programs() -> Programs:
    """That take the same instructions for every row."""
    rows = normal_rows(200, "f64")
    found: Programs = {}
    for name, kernel in {"rbf": RBF, "poly": WHOLE, "square": Kernel("poly", 1.0, 1.0, 2)}.items():
        for classes in (2, 4):
            svm = in_circles(classes, kernel)
            found[f"steady {name} {classes}"] = (
                compile_svm(svm, "exact", None, {"constant_time": True}),
                rows,
            )
    several = SVM(
        Kernel("linear"), svm.vectors, svm.coefficients, svm.intercepts[:3], LabelRule.ARGMAX, svm.source,
        Labels((0, 1, 2), "<i8"),
    )  # fmt: skip
    program = compile_svm(several.check("test"), "exact", None, STEADY)
    return found | {"steady linear": (program, rows)}


def steady_ties() -> Programs:
    """The same where nothing is rounded."""
    rows = np.random.default_rng(3).integers(-2, 3, size=(120, FEATURES)).astype(np.float64)
    found: Programs = {}
    for classes, rest in itertools.product((2, 4), (False, True)):
        svm = whole(in_circles(classes, WHOLE, rest and classes > 2))
        found[f"steady ties {classes}{' rest' * rest}"] = accelerate(svm, None, "exact", STEADY), rows
    return found


def exact_programs() -> Programs:
    """Small whole numbers alone, so that nothing is rounded and many rows tie."""
    rows = np.random.default_rng(3).integers(-2, 3, size=(120, FEATURES)).astype(np.float64)
    found: Programs = {}
    for name, kernel in {"linear": Kernel("linear"), "poly": WHOLE}.items():
        for classes, rest in itertools.product((2, 3, 4), (False, True)):
            svm = whole(in_circles(classes, kernel, rest and classes > 2))
            found[f"ties {name} {classes}{' rest' * rest}"] = as_it_is(svm), rows
        largest = SVM(
            svm.kernel, svm.vectors, svm.coefficients, svm.intercepts[:3], LabelRule.ARGMAX, svm.source,
            Labels((0, 1, 2), "<i8"),
        )  # fmt: skip
        found[f"ties {name} argmax"] = as_it_is(largest.check("test")), rows
    return found


def sparse_programs() -> Programs:
    """Mostly zeros, but for some features that nearly all vectors have; one segment, or several."""
    random = np.random.default_rng(8)
    share = np.where(np.arange(60) < 7, 0.9, 0.05)
    rows = random.normal(size=(200, 60)) * (random.random((200, 60)) < share)
    found: Programs = {}
    for kernel, each in itertools.product((RBF, Kernel("poly", 0.5, 0.5, 3)), (8, 700)):
        vectors = np.round(random.normal(size=(3 * each, 60)), 2) * (random.random((3 * each, 60)) < share)
        vectors[:, [0, 3]] = 0  # features that are read only to see whether they are numbers
        svm = voting(kernel, vectors, each, random)
        found[f"columns {kernel.kind} {each}"] = compile_svm(svm, "exact", None, {}), rows
    return found


def large_programs() -> Programs:
    """More vectors, or features, than any block or segment holds."""
    random = np.random.default_rng(9)
    found: Programs = {}
    for kernel, (each, d) in itertools.product((RBF, WHOLE, Kernel("sigmoid", 0.1)), ((170, 5), (15, 300))):
        kernel = replace(kernel, gamma=kernel.gamma / d)
        svm = voting(kernel, random.normal(size=(3 * each, d)), each, random)
        rows = random.normal(size=(200, d))
        found[f"large {kernel.kind} {each} {d}"] = compile_svm(svm, "exact", None, {}), rows
    return found


def long_sums() -> Programs:
    """Many equal terms, whose rounding would add up if sums were not kept in two floats or in double."""
    count = 8000
    svm = SVM(
        Kernel("poly", 0.01, 1.0, 3), np.ones((count, 1)), np.full((1, count), 0.1), np.zeros(1),
        LabelRule.NONE, Source("test", "0" * 64),
    )  # fmt: skip
    return {"long sum": (as_it_is(svm.check("test")), normal_rows(60, "f64")[:, :1])}


def certain_planes() -> Programs:
    """One plane, whose rounding is bounded by the length of the row."""
    found: Programs = {}
    for d in (5, 70):
        random = np.random.default_rng(d)
        svm = SVM(
            Kernel("linear"), random.normal(size=(9, d)) + 3.0, random.normal(size=(1, 9)), np.ones(1),
            LabelRule.POSITIVE_SECOND, Source("test", "0" * 64), Labels((0, 1), "<i8"),
        )  # fmt: skip
        program = compile_svm(svm.check("test"), "exact", None, {"labels": "certain"})
        found[f"certain plane {d}"] = program, 3.0 + random.normal(size=(200, d))
    return found


def doubted_programs() -> Programs:
    """Whose labels hang on bounds: stages, polynomials, jets, guards, sums that must be certain."""
    import targets.test_c_jets as jets
    from accelerate.certain_cases import machine

    kinds = ("picked", "rbf_some", "rbf_few", "poly_few", "vote iris", "vote poly", "taylor ", *GUARDED)
    kinds += ("certified 3", "certified 5", "anytime 3")
    found = {name: it for name, it in small_programs().items() if name.startswith(kinds)}
    found |= certain_planes()
    for kind, classes in (("rbf", 2), ("rbf", 4), ("ties", 4), ("rest", 4), ("linear", 4), ("zeros", 2)):
        X, model = machine(kind, classes)
        found[f"certain {kind} {classes}"] = sc.compile(model, labels="certain"), X
    found |= {f"jets {case}": (program, jets.fitted()[0].rows) for case, program in jets.programs().items()}
    return found


def voting(kernel: Kernel, vectors: Any, each: int, random: np.random.Generator) -> SVM:
    """Three classes of as many vectors each, with random weights."""
    return SVM(
        kernel, vectors, random.normal(size=(2, 3 * each)), random.normal(size=3), LabelRule.VOTE,
        Source("test", "0" * 64), Labels((0, 1, 2), "<i8"), (each,) * 3,
    ).check("test")  # fmt: skip


def whole(svm: SVM) -> SVM:
    """With small whole numbers."""
    numbers = (np.rint(one) for one in (svm.vectors, svm.coefficients / 4, svm.intercepts))
    return SVM(
        svm.kernel, *numbers, svm.label_rule, svm.source, svm.labels, svm.counts, svm.one_vs_rest_scores
    ).check("test")


def crossed_programs() -> Programs:
    """Estimators and preprocessing that the replay has in large programs, or not at all."""
    from tests.crossing.cases import ESTIMATORS, STEPS, compiled, rows_for

    rows = rows_for("float")
    alone = (
        "stacking",
        "voting",
        "bagging",
        "codes",
        "several",
        "gaussian-classes",
        "scaled-target",
        "huber",
    )
    behind = ("powers", "filled", "columns", "union", "components", "quantiles", "splines", "yeo-johnson")
    pairs = [(one, "none") for one in alone] + [("linear", one) for one in (*behind, *CODED)]
    assert {one for one, _ in pairs} <= {*ESTIMATORS} and {step for _, step in pairs} <= {*STEPS}
    found: Programs = {
        f"crossed {one} {step}": (compiled(one, step, "float", "int", "exact", "", ""), rows)
        for one, step in pairs
    }
    X, y = np.abs(rows[:40]), rows[:40, 0] * rows[:40, 1]
    kernels = {"rational": RationalQuadratic(), "rough": Matern(nu=0.5), "smooth": Matern(nu=2.5)}
    for name, kernel in kernels.items():
        process = GaussianProcessRegressor(kernel, alpha=0.1, optimizer=None).fit(X, y)
        found[f"process {name}"] = sc.compile(process), rows
    sure = GaussianProcessClassifier(RationalQuadratic(), optimizer=None).fit(X, y > 0)
    one = sure.base_estimator_  # never as sure as this, however it is trained
    one.pi_ = one.y_train_ - 100 * (one.y_train_ - one.pi_)
    found["process sure"] = sc.compile(sure), rows
    some = np.maximum(rows, 0)  # where a feature of a row and of a vector is zero, nothing is divided
    for kind in ("chi2", "additive_chi2"):
        found[f"ridge {kind}"] = sc.compile(KernelRidge(kernel=kind, gamma=0.5).fit(some[:40], y)), some
    return found


def rare_programs() -> Programs:
    """Nodes that no other program has."""
    from targets.test_differences import KERNELS, program
    from targets.test_differences import rows as sizes

    rows = normal_rows(200, "f64")
    found: Programs = {"intersection": (program(KERNELS["intersection"]), sizes()[:200])}
    for name, (there, back) in {"log": (np.log, np.exp), "log1p": (np.log1p, np.expm1)}.items():
        model = TransformedTargetRegressor(SVR(), func=there, inverse_func=back)
        found[f"exponential {name}"] = sc.compile(model.fit(rows, np.exp(rows[:, 0]))), rows
    powers = make_pipeline(PowerTransformer(), LinearSVC(random_state=0)).fit(rows, rows[:, 0] > 0)
    powers[0].lambdas_[:2] = 0.0, 2.0  # where a power becomes a logarithm
    found["powers at their ends"] = sc.compile(powers), rows
    some = make_pipeline(Normalizer("max"), SelectKBest(k=2), LinearSVC(random_state=0))
    found["some of a normalised row"] = sc.compile(some.fit(rows, rows[:, 0] > 0)), rows
    three = (rows[:, :3] > 0).astype(int) + (rows[:, :3] > 1)
    return found | {"three labels": (sc.compile(MultiOutputClassifier(SVC()).fit(rows, three)), rows)}


def text_programs() -> Programs:
    """Every kind of vectorizer, before sums of terms and before whole rows; more terms than fit at once."""
    words = [f"word{at}" for at in range(300)]
    long = [" ".join(words[at::3]) for at in range(3)] + [" ".join(reversed(words))]
    found: Programs = {}
    for name, kind in KINDS.items():
        machine = SVC() if name in ("words", "in-words", "hashed") else LinearSVC(random_state=0)
        found[f"text {name}"] = sc.compile(make_pipeline(clone(kind), machine).fit(TEXTS, LABELS)), TEXTS
    model = make_pipeline(TfidfVectorizer(ngram_range=(1, 2)), LinearSVC(random_state=0))
    return found | {"text long": (sc.compile(model.fit(long, np.arange(4) % 2)), long)}


def precise_programs() -> Programs:
    """In double, where an approximation that is taken too far shows."""
    rows = normal_rows(200, "f64")
    y = (rows[:, 0] > 0).astype(int) + (rows[:, 1] > 0)
    sampler = make_pipeline(RBFSampler(gamma=2.0, n_components=12, random_state=0), SVC()).fit(rows, y)
    some = ("rbf_ovr", "sigmoid_ovr", "poly_ovo", "rbf_clipped", "affine")
    waves = RBFSampler(n_components=FEATURES, random_state=0).fit(rows)
    waves.random_weights_, waves.random_offset_ = 2 * np.pi * np.eye(FEATURES), np.zeros(FEATURES)
    turns = np.round(rows) + np.where(rows < 0, -0.499, 0.251)  # where a turn is folded
    wave = make_pipeline(waves, LinearSVC()).fit(turns, y > 0)
    found = {"sampler": (sc.compile(sampler), rows), "waves": (sc.compile(wave), turns)}
    return found | {name: (small_program(name), rows) for name in some}


def in_circles(classes: int, kernel: Kernel = RBF, rest: bool = True) -> SVM:
    """Random weights: of three classes, each may beat the next one."""
    random, each = np.random.default_rng(classes), 8
    return SVM(
        kernel,
        random.normal(size=(each * classes, FEATURES)),
        4 * random.normal(size=(classes - 1, each * classes)),
        random.normal(size=classes * (classes - 1) // 2),
        LabelRule.VOTE,
        Source("test", "0" * 64),
        Labels(tuple(range(classes)), "<i8"),
        (each,) * classes,
        one_vs_rest_scores=rest,
    ).check("test")
