"""Everything people use in place of an SVM, beside all methods of ours: what it knows and what it costs.

    python examples/rivals.py                    every set (hours), as far as it is not measured yet
    python examples/rivals.py usps-2             one set
    python examples/rivals.py usps-2 reduced-set what has this in its name
    python examples/rivals.py --quick            a few contenders on the digits of scikit-learn
    python examples/rivals.py --print            what was measured, as docs/rivals.md has it

Sets come from the folder that SVMCOMPILE_DATA names (examples/papers/sets.py). Cells are kept under
out/rivals, one file each, so that a stopped run goes on. Flash, with code, is that of a Cortex-M4F at -O2;
instructions are counted in an emulator, cycles of an ATmega328P in simavr, from rows of floats. Time is
that of host C for rows in batches, beside our exact C in the same run. tl2cgen writes the C of boosted
trees, emlearn that of networks; CMSIS_DSP names a folder with the sources of ARM's CMSIS-DSP (the sdist of
cmsisdsp on PyPI has them). A contender without figures has a line that says why.
"""

from __future__ import annotations

import os
import re
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE / "papers")]

import numpy as np  # noqa: E402
from beyond_peers import Files, c_of_net, c_of_trees  # noqa: E402
from beyond_quadratic import Quadratic  # noqa: E402
from beyond_sets import TASKS, Task, rows_of, upper_half  # noqa: E402
from c_cost import emitted_costs  # noqa: E402
from cells import Cell, Figures, Store, Unmeasured  # noqa: E402
from common import table, trained  # noqa: E402
from devices import HEADERS, cmsis_files  # noqa: E402
from sklearn.ensemble import HistGradientBoostingClassifier  # noqa: E402
from sklearn.exceptions import ConvergenceWarning  # noqa: E402
from sklearn.kernel_approximation import Nystroem, RBFSampler  # noqa: E402
from sklearn.neural_network import MLPClassifier  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.svm import SVC, LinearSVC  # noqa: E402

import svmcompile as sc  # noqa: E402
from svmcompile.commands.limit import limited  # noqa: E402
from svmcompile.device.cost import can_measure, find_cpu  # noqa: E402
from svmcompile.device.measure import measure  # noqa: E402

STORE = Store(Path("out/rivals"))
PROCESSORS = {"m4f": "cortex-m4f", "m0": "cortex-m0+", "avr": "atmega328p"}
ROWS = {"m4f": 4, "m0": 2, "avr": 2}  # that are run in emulators
MOST = {"m4f": 1 << 20, "m0": 1 << 16, "avr": 30_000}  # bytes of flash that are tried there
TURNS, SEED = 3, 0
LIMIT = 120.0  # seconds of processor time for our methods to build a program
LARGEST = 32 << 20  # bytes of tables that are built for a host
KB = 1024


@dataclass(frozen=True)
class Plan:
    """C and gamma of the SVM of a set, vectors of a reduced set, and bytes of `proto`."""

    C: float
    gamma: float
    vectors: tuple[int, ...]
    sizes: tuple[int, ...] = ()
    scores: tuple[str, ...] = ()  # of many classes, for reduced-set


TWO_CLASSES = ((6, 14, 30, 60, 200), (KB, 4 * KB, 16 * KB))
SETS = {
    "digits 3-8": Plan(10.0, 0.05, (6, 14)),
    "usps-2": Plan(10.0, 0.02, *TWO_CLASSES),
    "usps-10": Plan(10.0, 0.01, (30, 60, 200), (16 * KB, 48 * KB)),
    "letter-26": Plan(16.0, 4.0, (200, 400, 800), (16 * KB, 63 * KB), ("pairs", "shared", "classes")),
    "mnist-2": Plan(10.0, 0.02, *TWO_CLASSES),
    "mnist-10": Plan(10.0, 0.02, (30, 60, 200), (16 * KB, 84 * KB)),
}
TASKS |= {
    "usps-2": Task("usps", label=upper_half),
    "usps-10": Task("usps"),
    "letter-26": Task("letter.scale"),
    "mnist-2": Task("mnist", 8000, divisor=255.0, label=upper_half),
    "mnist-10": Task("mnist", 8000, divisor=255.0),
}
# Bonsai and ProtoNN (ICML 2017), as published: accuracy, bytes of parameters, cycles of an ATmega328P.
PUBLISHED = {
    "usps-2": (
        ("Bonsai, 2 KB", 94.42, "2,000", ""),
        ("Bonsai, 16 KB", 95.72, "16,000", ""),
        ("ProtoNN", 95.67, "11,600", ""),
        ("Bonsai, 1 byte a parameter", None, "500", "46,880"),
    ),
    "mnist-2": (
        ("Bonsai, 2 KB", 94.38, "2,000", ""),
        ("Bonsai, 16 KB", 96.47, "16,000", ""),
        ("Bonsai, 1 byte a parameter", 94.28, "490", "82,720"),
        ("ProtoNN", 96.50, "16,000", ""),
    ),
    "usps-10": (("ProtoNN", 94.92, "63,800", ""),),
    "letter-26": (("ProtoNN", 97.10, "63,400", ""),),
    "mnist-10": (("ProtoNN", 95.88, "63,400", ""),),
}


# What rivals include and a bare target has not.
MATH = """float expf(float), logf(float), fabsf(float);
static inline float tanhf(float t) { return 1.0f - 2.0f / (expf(2.0f * t) + 1.0f); }
double exp(double), fabs(double);
#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
"""


@dataclass(frozen=True, eq=False)
class Contender:
    """Labels of the test rows, and C: for devices, and for a host where that differs."""

    labels: Any
    device: Files = field(default_factory=dict)
    host: Files = field(default_factory=dict)
    name: str = "model"  # of the C
    flags: tuple[str, ...] = ()


@cache
def svm_of(task: str) -> SVC:
    plan = SETS[task]
    return trained(f"rivals-{task.replace(' ', '-')}", rows_of(task), plan.C, plan.gamma)


def ours(method: str, precision: str = "f32", **options: Any) -> Callable[[str], Contender]:
    """The SVM compiled by one of our methods."""
    if method == "proto":  # which chooses sizes by the bytes they take
        options["precision"] = precision
    return lambda task: compiled(task, program_of(task, method, **options), precision)


@cache
def program_of(task: str, method: str, **options: Any) -> sc.Program:
    given: dict[str, Any] = {} if method == "exact" else {"method": method, "X": rows_of(task).X}
    svm = svm_of(task)
    with limited(LIMIT, method), by_processor_time():
        return sc.compile(svm, **given, **options)


@contextmanager
def by_processor_time() -> Iterator[None]:
    """The limit around counts the time of this process, whatever else the machine does meanwhile."""
    if not hasattr(signal, "setitimer"):  # Windows
        yield
        return
    left, _ = signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGPROF, signal.getsignal(signal.SIGALRM))
    signal.setitimer(signal.ITIMER_PROF, left)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def compiled(task: str, program: Any, precision: str = "f32") -> Contender:
    data = rows_of(task)
    host = sc.emit(program, "c", "model", profile="host") if precision == "f32" else {}
    if precision != "f32":
        program = sc.quantise(program, precision, data.X)
    try:
        device = sc.emit(program, "c", "model", precision, "device", soft_double=True)
    except sc.SvmCompileError as refused:
        print(f"{task}, {program.origin.method}: {refused}", file=sys.stderr)
        device = {}
    return Contender(program.predict(data.X_test), device, host)


def features(kind: type[Any], count: int) -> Callable[[str], Contender]:
    """Features of a map before a linear SVM that learns from labels; compiled by svmcompile."""

    def build(task: str) -> Contender:
        data, gamma = rows_of(task), float(svm_of(task).gamma)
        sampler = kind(gamma=gamma, n_components=min(count, len(data.y) // 2), random_state=SEED)
        model = make_pipeline(sampler, LinearSVC(C=10.0, dual=False)).fit(data.X, data.y)
        return compiled(task, sc.compile(model))

    return build


def boosted(rounds: int) -> Callable[[str], Contender]:
    def build(task: str) -> Contender:
        data = rows_of(task)
        rate = 0.3 if len(svm_of(task).classes_) <= 10 else 0.1  # of more classes rounds diverge at 0.3
        model = HistGradientBoostingClassifier(
            max_iter=rounds, max_leaf_nodes=8, learning_rate=rate, early_stopping=False, random_state=SEED
        ).fit(data.X, data.y)
        return rival(model.predict(data.X_test), c_of_trees(model, HERE / "papers"), data.X.shape[1])

    return build


def network(hidden: int) -> Callable[[str], Contender]:
    def build(task: str) -> Contender:
        data = rows_of(task)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = MLPClassifier((hidden,), alpha=1e-2, max_iter=60, random_state=SEED)
            model.fit(data.X, data.y)
        return rival(model.predict(data.X_test), c_of_net(model, HERE / "papers"), data.X.shape[1])

    return build


def quadratic(task: str) -> Contender:
    """Claesen's approximation of the exponential by a quadratic form."""
    data, made = rows_of(task), Quadratic(svm_of(task))
    files = made.files(HERE / "papers") if made.bytes <= LARGEST else {}
    return rival(made.predict(data.X_test), files, data.X.shape[1])


def rival(labels: Any, files: Files, width: int) -> Contender:
    """A rival's C; a device has rows one by one, and a header that tells their width."""
    one = {name: str(text).replace("#define LANES 64", "#define LANES 1") for name, text in files.items()}
    one = {name: re.sub(r"<(eml_\w+\.h)>", r'"\1"', text) for name, text in one.items()}
    if one:
        if "main.c" in one:  # of which the builder takes headers alone
            one["trees.h"] = one.pop("main.c")
            one["model.c"] = one["model.c"].replace("main.c", "trees.h")
        one["model.h"] = one["model.h"].replace(
            "int32_t model_predict(const float *x)", f"int32_t model_predict(const float x[{width}])"
        )
        own = {name: text for name, text in HEADERS.items() if name not in one}
        own["math.h"] = MATH
        own["string.h"] = own["string.h"] + "void *memset(void *, int, size_t);\n"
        own |= dict.fromkeys(("stdlib.h", "stdio.h", "assert.h"), "#define assert(x) ((void)0)\n")
        one |= own
    return Contender(labels, one, files, flags=("-I.",))


def cmsis(task: str) -> Contender:
    """ARM's own SVM for two classes."""
    data = rows_of(task)
    if len(svm_of(task).classes_) != 2:
        raise Unmeasured("it takes two classes only")
    files, flags = cmsis_files(svm_of(task), os.environ["CMSIS_DSP"])
    return Contender(svm_of(task).predict(data.X_test), files, name="m", flags=tuple(flags))


def contenders(task: str) -> dict[str, Callable[[str], Contender]]:
    """Everyone who takes part in a set, by name."""
    plan = SETS[task]
    return {
        "exact": ours("exact"),
        "exact, q7": ours("exact", "q7"),
        "certified": ours("certified"),
        "anytime": ours("anytime"),
        "sv-tree": ours("sv-tree"),
        "dtsvm": ours("dtsvm"),
        "h1-tree": ours("h1-tree"),
        "h1-tree, one list": ours("h1-tree", recalibrate=0, tau=0.0),
        "h1-tree, 7 planes": ours("h1-tree", max_nodes=7, end="label"),
        "metric-tree, 16 KB": ours("metric-tree", max_bytes=16_000),
        "linear": ours("linear"),
        **{f"reduced-set, {count} vectors": reduced(count) for count in plan.vectors[:3]},
        **{f"reduced-set, {count} vectors, q7": reduced(count, "q7") for count in plan.vectors},
        **{
            f"reduced-set, {count} vectors, {scores}, q7": reduced(count, "q7", scores=scores)
            for scores in plan.scores
            for count in plan.vectors[1:]
        },
        **{f"proto, {size // KB} KB, q7": ours("proto", "q7", max_bytes=size) for size in plan.sizes},
        **{f"Nystroem, {count} features": features(Nystroem, count) for count in (32, 256)},
        **{f"random features, {count}": features(RBFSampler, count) for count in (32, 256)},
        "Claesen's quadratic": quadratic,
        **{f"boosting, {rounds} rounds": boosted(rounds) for rounds in (10, 60)},
        **{f"network, {hidden} hidden": network(hidden) for hidden in (4, 16)},
        "CMSIS-DSP": cmsis,
    }


def reduced(count: int, precision: str = "f32", **options: Any) -> Callable[[str], Contender]:
    return ours("reduced-set", precision, budget=float(count), **options)


QUICK = ("exact", "reduced-set, 6 vectors, q7", "random features, 32", "Claesen's quadratic")


def figures_of(task: str, name: str, quick: bool) -> Figures:
    """What a contender knows and costs; a figure that cannot be had is left out."""
    data = rows_of(task)
    try:
        made = contenders(task)[name](task)
    except sc.SvmCompileError as refused:
        raise Unmeasured(str(refused)) from refused
    found: Figures = {
        "accuracy": 100 * float(np.mean(made.labels == data.y_test)),
        "agreement": 100 * float(np.mean(made.labels == svm_of(task).predict(data.X_test))),
    }
    found |= dict(on_devices(made, data.X_test, ("m4f",) if quick else tuple(PROCESSORS)))
    if made.host:
        exact = sc.emit(sc.compile(svm_of(task)), "c", "model")
        beside, own = emitted_costs([exact, made.host], data.X_test, 0, 1 if quick else TURNS, ("-O3",))
        found |= {
            "us": own.batch_nanoseconds / 1000,
            "share": own.batch_nanoseconds / beside.batch_nanoseconds,
        }
    return found


def on_devices(made: Contender, rows: Any, names: tuple[str, ...]) -> Iterator[tuple[str, float]]:
    """Flash of the first processor, and instructions or cycles of each that has room."""
    flash = 0
    for short in names if made.device else ():
        cpu = find_cpu(PROCESSORS[short])
        if not can_measure(cpu) or flash > MOST[short]:
            continue
        try:
            some = rows[: ROWS[short]].astype(np.float32)
            found = measure(cpu, made.name, made.device, some, flags=made.flags)
        except sc.SvmCompileError as failed:
            print(f"{cpu.name}: {str(failed)[:300]}", file=sys.stderr)
            continue
        if not flash:
            flash = found.flash
            yield "flash", flash
        yield short, found.mean


HEAD = (
    "contender", "accuracy %", "agreement %", "flash B", "M4F instructions", "M0+ instructions",
    "AVR cycles", "host us", "of exact",
)  # fmt: skip


def lines(task: str, names: list[str]) -> Iterator[tuple[str, ...]]:
    """The table of a set, from what was measured."""
    for name in names:
        one = cell(task, name, False)
        found = STORE.read(task, one)
        if not found:
            yield (f"{name}: {reason(STORE.why_none(task, one))}", *[""] * (len(HEAD) - 1))
            continue
        whole = [f"{found[key]:,.0f}" if key in found else "" for key in ("flash", *PROCESSORS)]
        time = [f"{found[key]:.3g}" if key in found else "" for key in ("us", "share")]
        yield name, f"{found['accuracy']:.2f}", f"{found['agreement']:.2f}", *whole, *time
    for name, accuracy, size, cycles in PUBLISHED.get(task, ()):
        shown = "" if accuracy is None else f"{accuracy:.2f}"
        yield f"*published:* {name}", shown, "", f"{size} (parameters)", "", "", cycles, "", ""


def reason(why: str) -> str:
    """Why there are no figures, without the advice that comes with a refusal."""
    first = re.split(r"; | \(--", why)[0]
    return re.sub(r"^[\w-]+(: | (?=did not))", "", first) or "not measured"


def cell(task: str, name: str, quick: bool) -> Cell:
    return Cell(name, (TASKS[task].source,), lambda: figures_of(task, name, quick))


def main() -> None:
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    quick, shown = "--quick" in sys.argv, "--print" in sys.argv
    known = ("digits 3-8",) if quick else tuple(SETS)[1:]
    tasks = [task for task in known if task in words] or list(known)
    parts = [word for word in words if word not in SETS]
    wanted = {task: [*(QUICK if quick else contenders(task))] for task in tasks}
    if unknown := [part for part in parts if not any(part in " ".join(some) for some in wanted.values())]:
        raise SystemExit(f"nobody is called {unknown}; known: {', '.join(contenders(tasks[0]))}")
    if {"-h", "--help"} & {*sys.argv}:
        raise SystemExit(__doc__)
    for task in tasks:
        names = [name for name in wanted[task] if not parts or any(part in name for part in parts)]
        for name in () if shown else names:
            one = cell(task, name, quick)
            if name == "CMSIS-DSP" and "CMSIS_DSP" not in os.environ:
                continue
            if STORE.read(task, one) is None:
                print(f"{task}: {name}", file=sys.stderr, flush=True)
                STORE.measure(task, one)
        print(table(f"### {task}", HEAD, lines(task, names)), flush=True)


if __name__ == "__main__":
    main()
