"""The API: takes a model, gives a program, its files, and a report on them.

`compile` opens a model, accelerates it by a method and optimises it: a program. `emit` prepares that for
number type and profile, lowers it once for each C file, and reports on what came out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from svmcompile.accelerate.registry import METHODS
from svmcompile.accelerate.registry import train as train_method
from svmcompile.data import Data
from svmcompile.data.rows import as_rows
from svmcompile.errors import OptionError, ReadError
from svmcompile.files.plain import json_text
from svmcompile.flow.emission import Files, emit_files
from svmcompile.flow.emission import write as write
from svmcompile.flow.evaluation import find_program, load_target, targets_in
from svmcompile.flow.form import Form
from svmcompile.flow.precision import check_program
from svmcompile.flow.precision import checked_precision as checked_precision
from svmcompile.flow.precision import quantise as quantise
from svmcompile.flow.program import Watcher, compile_svm, finish, labelled_data, some_rows
from svmcompile.flow.program import open_model as open_model
from svmcompile.ir.program import Claim as Claim
from svmcompile.ir.program import Program as Program
from svmcompile.plugins.entries import find_plugged
from svmcompile.progress import steps

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from svmcompile.targets.onnx.options import OnnxKeywords


def compile(  # the name users know; the builtin is not needed here
    source: Any,
    *,
    method: str = "exact",
    X: Any = None,
    y: Any = None,
    trust_pickle: bool = False,
    n_features: int | None = None,
    most_probable: bool = False,
    measure: bool = False,
    watch: Watcher | None = None,
    held_out: Data | None = None,
    **options: Any,
) -> Program:
    """Compile a trained SVM (an estimator, or a path to a model file) into a program.

    `X` are representative rows, which some methods need. `options` are those of the method; `svmcompile
    methods` lists them. `method="auto"` tries the methods on parts of X and picks the best within your
    limits: same_labels, agreement, accuracy_loss, latency, max_bytes and others (docs/auto.md).
    `n_features` is for LIBSVM files, which do not store it. `most_probable` gives the label of the largest
    probability, as LIBSVM's svm-predict -b 1 does. `measure` builds the C of the method, of its variants
    and of the exact sum, and keeps the fastest on rows of X. Approximate methods refuse if they change
    probabilities too much on the rows `held_out`, or on a part of X, unless the option `probabilities`
    allows it (docs/methods.md). A `DTSVMClassifier` and a stored program (.svmc) are already compiled.
    """
    method = find_plugged(method, ("auto", *METHODS), "method")
    model = open_model(
        source, trust_pickle=trust_pickle, n_features=n_features, most_probable=most_probable
    )
    if model.svm is None:
        assert model.program
        if method != "exact" or options:
            raise OptionError(
                f"{model.name}: is compiled already; give the original model, or choose options before fit"
            )
        return model.program
    data = model.data(X, y)
    if method == "auto":
        data = data and data.dense("method 'auto'")
        from svmcompile.choose.choice import compile_auto

        return compile_auto(replace(model, svm=model.svm.dense("method 'auto'")), data, options)
    if measure:
        from svmcompile.flow.measured import compile_measured

        return compile_measured(model.svm, method, data, options, watch)
    return compile_svm(model.svm, method, data, options, watch, held_out)


def explore(model: Any, X: Any, y: Any = None, *, trust_pickle: bool = False, **wishes: Any) -> Files:
    """Try the methods on a model: explore.json and explore.html, a page with cost and agreement of each.

    `X` are representative rows, ideally not those the model was trained on. `wishes` are those of method
    "auto": limits, what to minimise, budget (docs/auto.md). `write` stores the files.
    """
    from svmcompile.choose.choice import Rows
    from svmcompile.choose.explore import explore as explore_subjects
    from svmcompile.choose.wishes import read_wishes

    opened = open_model(model, trust_pickle=trust_pickle)
    data = opened.data(X, y)
    if data is None:
        raise OptionError("explore needs representative rows; pass X")
    data = data.dense("explore")
    opened = replace(opened, svm=opened.svm and opened.svm.dense("explore"))
    return explore_subjects([(opened, Rows(data))], read_wishes(wishes))[1]


def train(
    X: Any, y: Any, *, method: str = "dtsvm", watch: Watcher | None = None, **options: Any
) -> Program:
    """Train a program on labelled rows, without an SVM; `svmcompile methods` lists options and methods."""
    data = labelled_data(X, y)
    return finish(train_method(method, data, options), None, some_rows(data), watch)


def emit(
    program: Program,
    target: str | Iterable[str] = "c",
    name: str | None = None,
    precision: str | None = None,
    profile: str | None = None,
    tables: str | None = None,
    figures: Mapping[str, Any] | None = None,
    watch: Watcher | None = None,
    X: Any = None,
    kit: str | Iterable[str] = (),
    *,
    y: Any = None,
    model: Any = None,
    ranges: Any = None,
    given: str | None = None,
    soft_double: bool = False,
    held_out: Data | None = None,
    platform: str | None = None,
    api: str | Iterable[str] = (),
    **onnx: Unpack[OnnxKeywords],
) -> Files:
    """Turn a program into files for one target or several: {file name: content}. `write` stores them.

    Targets are "c", "shared" (a library for this machine or `platform`), "onnx", "wasm", "blob" and "sql".
    `precision` is "f32" and `profile` "host" unless you or method "auto" have chosen others. `profile` is
    for C: "host" is fast on processors with vector instructions and needs GCC or clang, "portable" is plain
    C99, "device" is for microcontrollers, with no double unless `soft_double` allows it. C stores support
    vectors by feature, without zeros, where that pays; `tables="dense"` or `"sparse"` overrides this.
    `tables="f16"` keeps them in half precision, for host code in f32: the claim is then APPROXIMATE.
    If you give the original `model`, the report states the agreement of the emitted code on rows `X` and
    its accuracy by labels `y`, or both on the rows `held_out`; `figures` are added to it. `X` are
    representative rows: the page of target wasm takes the range of each feature from them. A `kit`
    (arduino, platformio, cmake, zephyr, esp-idf, micropython; one or several) adds a copy of the C files in
    the layout of that system, under KIT/NAME/. Kit wheel is a Python package for pip and the `platform`,
    without need of a compiler; java and rust are packages of target blob, npm of wasm, triton of onnx.
    Precisions q15 and q7 need rows `X` or `ranges`; `given` is the type of their rows. See `quantise`.
    Every model of a kind and profile has the same C functions. `api` adds parts (sparse, model, cpp), or
    leaves them out (no-sparse): docs/c.md.
    The rest is for target onnx (docs/onnx.md): opset, onnx_form, onnx_names, onnx_outputs, onnx_input,
    onnx_batch, zipmap, model_version, doc_string.
    """
    check_program(program, "emit")
    chosen = _form_chosen(program, precision, profile, tables)
    return emit_files(
        program, target, name, chosen["precision"], chosen["profile"], chosen["tables"], figures, watch, X,
        kit, y=y, model=None if model is None else open_model(model), ranges=ranges, given=given,
        soft_double=soft_double or chosen["soft_double"], held_out=held_out, platform=platform,
        onnx=onnx, api=api,
    )  # fmt: skip


def build(
    source: Any,
    X: Any = None,
    y: Any = None,
    *,
    method: str = "exact",
    target: str = "c",
    name: str | None = None,
    precision: str | None = None,
    profile: str | None = None,
    tables: str | None = None,
    n_jobs: int = 1,
    **options: Any,
) -> Any:
    """Compile a trained SVM, emit it and load it: a model that predicts, in one call.

    What `compile` takes goes there: `X` and `y`, the method and its `options` (for "auto" your limits),
    `trust_pickle`, `n_features`, `most_probable`, `measure`. The rest is as in `emit` and `load`. The model
    has scikit-learn's names (`predict`, `score`, `classes_`), works in pipelines, and can be pickled: the
    pickle holds the program, and unpickling builds the library or finds it in the cache.
    """
    program = compile(source, X=X, y=y, method=method, **options)
    chosen = _form_chosen(program, precision, profile, tables)
    form = Form(program, name or "", target, chosen["precision"], chosen["profile"], chosen["tables"])
    return form.build(n_jobs, X)


def _form_chosen(
    program: Program, precision: str | None, profile: str | None, tables: str | None
) -> dict[str, Any]:
    """How to emit a program: as the caller says, else as method "auto" chose, else as usual."""
    auto = program.origin.details.get("auto", {}) if precision is profile is tables is None else {}
    return {
        "precision": precision or auto.get("precision", "f32"),
        "profile": profile or auto.get("profile", "host"),
        "tables": tables or auto.get("tables"),
        "soft_double": auto.get("soft_double", False),
    }


def load(
    folder: str | Path, name: str | None = None, target: str | None = None, n_jobs: int = 1,
    key: bytes | None = None,
) -> Any:  # fmt: skip
    """Load a compiled model from an output folder, ready to predict.

    This builds and runs the C of the folder: load folders only from people you trust. Files that were
    changed after they were compiled are refused, and with a `key` those that were not signed with it.

    A shared library is loaded directly. C is built with the installed C compiler, once: the result is
    cached by content. Both run in `n_jobs` threads. ONNX runs in onnxruntime (without it, in the slow
    reference implementation of onnx), WebAssembly in wasmtime, each in one thread.
    """
    stem, program = find_program(folder, name, key)
    here = targets_in(Path(folder), stem)
    chosen = target or (here[0] if here else "c")
    if chosen not in here:
        raise ReadError(
            f"{folder}: holds no {chosen} code for {stem!r}; it has: {', '.join(here) or 'none'}"
        )
    return load_target(Path(folder), stem, program, chosen, n_jobs)


def verify(
    folder: str | Path,
    model: Any,
    X: Any,
    y: Any = None,
    *,
    name: str | None = None,
    trust_pickle: bool = False,
    run: bool = True,
) -> Any:
    """Compare the original, the interpreter and every emitted form on the rows; returns a `Report`.

    A program that `train` made has no original: pass None for the model, and labels `y`. C is built and
    run, so verify folders of people you do not trust with `run=False`: the program alone is compared.
    """
    from svmcompile.flow.evaluation import TRAINED, compare_forms, needs_original

    stem, program = find_program(folder, name)
    opened = None
    if model is not None:
        opened = open_model(
            model,
            trust_pickle=trust_pickle,
            n_features=program.n_features,
            most_probable=bool(program.origin.details.get("most_probable")),
        )
    elif program.origin.source not in TRAINED or y is None:
        raise OptionError(needs_original(program, stem))
    return compare_forms(Path(folder), stem, program, opened, X, y, run)


def prove(folder: Any, *, name: str | None = None) -> Any:
    """Prove the functions of a folder in whole numbers (q15, q7) for all inputs; returns a `ProofReport`.

    Each computes what the program means and never overflows. The report is also written to the folder as
    NAME.proof.json. Nothing of the folder is run. Needs the extra `prove`.
    """
    from svmcompile.files import write_file
    from svmcompile.flow.seal import check_seal, read_plain
    from svmcompile.proofs.plain import check_header
    from svmcompile.proofs.report import prove_functions

    folder = Path(folder)
    stem, program = find_program(folder, name)
    check_seal(folder, stem)
    check_header(read_plain(folder / f"{stem}.h").decode(), stem)
    report = prove_functions(program, read_plain(folder / f"{stem}.c").decode(), stem)
    write_file(folder / f"{stem}.proof.json", json_text(report.as_dict()))
    return report


def check_certificate(
    program: Program,
    X: Any,
    model: Any = None,
    *,
    precision: str = "f32",
    every_leaf: bool = False,
    trust_pickle: bool = False,
) -> Any:
    """Check the bounds of `certified` in high precision; returns a `CertificateReport`.

    The polynomials are compared with the sum of the model or, without one, with the program's own in
    double. With `every_leaf` it checks those about all centres, not only the row's own.
    Needs the extra `proof`.
    """
    from svmcompile.verification.certificate import check_rows

    number, original = checked_precision(precision), None
    if model is not None:
        original = open_model(model, trust_pickle=trust_pickle, n_features=program.n_features).exact()
    rows = np.asarray(as_rows(X, program.n_features, program.feature_names, program.categories))
    with steps("certificates", len(rows)) as advance:
        return check_rows(program, rows, number, original, every_leaf, advance)
