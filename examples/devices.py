"""One model on every small processor: flash, memory, instructions per prediction, labels.

    python examples/devices.py                         every processor (some minutes)
    python examples/devices.py cortex-m4f              one of them, in all forms
    python examples/devices.py cortex-m4f exact        one form

The model is scikit-learn's digits 1 against 8, pixels/16, SVC(C=1, gamma=0.03): 103 support vectors,
64 features, 143 rows held out. Code is built by ziglang at -O2 and run in emulators; the ATmega is
left out where avr-gcc or simavr is missing. Prints the tables of docs/devices.md. Set CMSIS_DSP to a
folder with the sources of ARM's CMSIS-DSP (the sdist of cmsisdsp on PyPI has them) to run its SVM as well.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC

import svmcompile as sc
from svmcompile.device.cost import CPUS, Cpu, can_measure, find_cpu, some_of
from svmcompile.device.measure import Measured, measure
from svmcompile.ir.arithmetic import FIXED

NAME = "digits"
SLOW_ROWS = 10  # of processors that compute floats in software
HEAD = (
    "| code | flash B | RAM + stack B | {unit} per prediction | at most | labels | error |"
    "\n|---|---|---|---|---|---|---|"
)


@dataclass(frozen=True)
class Form:
    """One way to compile the model."""

    title: str
    method: str
    precision: str = "f32"
    options: dict[str, Any] = field(default_factory=dict)
    soft_double: bool = False


FORMS = (
    Form("exact", "exact"),
    Form("exact, q15", "exact", "q15"),
    Form("exact, q7", "exact", "q7"),
    Form("reduced-set, budget=6", "reduced-set", options={"budget": 6}),
    Form("metric-tree, augment=4", "metric-tree", options={"augment": 4}),
    Form("sv-tree", "sv-tree"),
    Form("h1-tree", "h1-tree"),
    Form("dtsvm", "dtsvm"),
    Form("anytime, --soft-double", "anytime", options={"tune": "portable"}, soft_double=True),
    Form("exact, f64 in software", "exact", "f64"),
)
EVERYWHERE, FULL = 5, "cortex-m4f"  # so many forms on every processor, all of them on this one
# Figures others have published or were measured with gcc 12 -Os on a Cortex-M4F; not made here.
PUBLISHED = (
    ("m2cgen 0.10.0 (gcc -Os)", "91,740", "1080 + 4800", "480,818", "143 of 143"),
    ("micromlgen 1.1.28 (gcc -Os)", "39,884", "1081 + 1576", "1,220,383", "69 of 143"),
    ("sklearn-porter 0.7.4 (gcc -Os)", "58,484", "54,656 + 1000", "945,059", "143 of 143"),
)
# What m2cgen includes and a bare target has not. It asks for no powers but squares, which compilers that
# know of a library make themselves; the other functions come with this one.
HEADERS = {
    "math.h": "double exp(double);\n"
    "static inline double pow(double x, double n) { (void)n; return x * x; }\n",
    "string.h": "#include <stddef.h>\nvoid *memcpy(void *, const void *, size_t);\n",
}


# CMSIS-DSP as it is built without the headers of a device, and what these ask of a library.
CMSIS_HEADERS = {
    "math.h": "float expf(float), sqrtf(float), fabsf(float), floorf(float), sinf(float), cosf(float);\n"
    "float logf(float), powf(float, float), tanhf(float), atan2f(float, float), roundf(float);\n"
    "double fabs(double), sqrt(double);\n",
    "string.h": "#include <stddef.h>\nvoid *memcpy(void *, const void *, size_t);\n"
    "void *memset(void *, int, size_t);\n",
}
CMSIS_CODE = """#define __GNUC_PYTHON__
{source}
#include "m.h"
static const float32_t dual[] = {{ {dual} }}, vectors[] = {{ {vectors} }};
static const int32_t classes[] = {{ 0, 1 }};
static const arm_svm_rbf_instance_f32 machine = {{
    {count}, {features}, {intercept}, dual, vectors, classes, {gamma}
}};
int32_t m_predict(const float x[{features}])
{{
    int32_t label;
    arm_svm_rbf_predict_f32(&machine, x, &label);
    return label;
}}
"""


@cache
def trained() -> tuple[SVC, Any, Any]:
    """The model, the rows it was trained on, and those held out."""
    X, y = load_digits(return_X_y=True)
    kept = (y == 1) | (y == 8)
    X, Z, labels, _ = train_test_split(X[kept] / 16, y[kept], test_size=0.4, random_state=0)
    return SVC(C=1, gamma=0.03).fit(X, labels), X, Z.astype(np.float32)


@cache
def emitted(form: int) -> tuple[Any, Any]:
    """The program of a form and its files."""
    model, X, _ = trained()
    chosen = FORMS[form]
    program = sc.compile(model, method=chosen.method, X=X, **chosen.options)
    files = sc.emit(program, "c", NAME, chosen.precision, "device", X=X, soft_double=chosen.soft_double)
    return program, files


def line(title: str, found: Measured, agreeing: int, error: float | None) -> str:
    """One row of a table."""
    return (
        f"| {title} | {found.flash:,} | {found.ram} + {found.stack} | {found.mean:,.0f} | {found.worst:,} "
        f"| {agreeing} of {len(found.counts)} | {'' if error is None else f'{error:.1e}'} |"
    )


def rows_for(cpu: Cpu) -> Any:
    rows = trained()[2]
    return rows if cpu.hard_float or cpu.family == "wasm" else some_of(rows, SLOW_ROWS)


def form_line(form: int, cpu: Cpu) -> str:
    """A form on a processor."""
    model, (program, files), rows = trained()[0], emitted(form), rows_for(cpu)
    found = measure(cpu, NAME, files, rows)
    agreeing = int((program.labels.array()[found.values[:, 0]] == model.predict(rows)).sum())
    error = None
    if program.output("scores") and FORMS[form].precision not in FIXED:
        scores = measure(cpu, NAME, files, rows, "decision_function").values[:, 0]
        error = float(np.abs(scores - model.decision_function(rows)).max())
    return line(FORMS[form].title, found, agreeing, error)


def m2cgen_line(cpu: Cpu) -> str | None:
    """m2cgen's code in the same emulator, at -Os as published; None where it is not installed."""
    from importlib.util import find_spec

    if find_spec("m2cgen") is None or cpu.name != FULL:
        return None
    model, rows = trained()[0], some_of(rows_for(cpu), SLOW_ROWS)
    code = m2cgen_code(model)
    header = "double m_predict(const double x[64]);\n"
    wrapped = code.replace("double score(double * input)", "static double score(const double *input)")
    wrapped += '\n#include "m.h"\ndouble m_predict(const double x[64]) { return score(x); }\n'
    found = measure(
        cpu, "m", {"m.c": wrapped, "m.h": header, **HEADERS}, rows, optimise="-Os", flags=["-I."]
    )
    signs = found.values[:, 0] > 0
    return line(
        "m2cgen, measured here at -Os",
        found,
        int((model.classes_[signs.astype(int)] == model.predict(rows)).sum()),
        None,
    )


def cmsis_line(cpu: Cpu) -> str | None:
    """CMSIS-DSP's SVM in the same emulator, at -O2 as ours; None where its sources are not named."""
    folder = os.environ.get("CMSIS_DSP")
    if folder is None or cpu.family != "arm":
        return None
    model, rows = trained()[0], rows_for(cpu)
    files, flags = cmsis_files(model, folder)
    found = measure(cpu, "m", files, rows, flags=flags)
    agreeing = int((model.classes_[found.values[:, 0]] == model.predict(rows)).sum())
    return line("CMSIS-DSP, arm_svm_rbf_predict_f32", found, agreeing, None)


def cmsis_files(model: SVC, folder: str) -> tuple[dict[str, str], list[str]]:
    """C that calls CMSIS-DSP for an SVC of two classes, and flags to build it."""
    features = model.n_features_in_
    code = CMSIS_CODE.format(
        source=Path(folder, "Source", "SVMFunctions", "arm_svm_rbf_predict_f32.c").read_text("utf-8-sig"),
        dual=_floats(model.dual_coef_),
        vectors=_floats(model.support_vectors_),
        count=len(model.support_vectors_),
        features=features,
        intercept=_floats(model.intercept_),
        gamma=_floats(model.gamma),
    )
    files = {"m.c": code, "m.h": f"int32_t m_predict(const float x[{features}]);\n", **CMSIS_HEADERS}
    parts = (f"-I{Path(folder, part).resolve()}" for part in ("Include", "PrivateInclude"))
    return files, ["-I.", *parts]


def _floats(values: Any) -> str:
    return ", ".join(f"{value!r}f" for value in np.ravel(values).astype(float).tolist())


def m2cgen_code(model: SVC) -> str:
    """Its C, made in a process of its own: it recurses once per term."""
    import pickle

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.pickle")
        path.write_bytes(pickle.dumps(model))
        script = (
            "import pickle, sys, m2cgen; sys.setrecursionlimit(1 << 20); "
            "print(m2cgen.export_to_c(pickle.load(open(sys.argv[1], 'rb'))))"
        )
        return subprocess.run(
            [sys.executable, "-c", script, path], capture_output=True, text=True, check=True
        ).stdout


def table(cpu: Cpu, titles: list[str]) -> None:
    """Everything on one processor, or the forms with these titles."""
    print(f"\n### {cpu.name}\n\n{HEAD.format(unit=cpu.unit)}")
    for form, chosen in enumerate(FORMS):
        if form >= EVERYWHERE and cpu.name != FULL:
            continue
        if not titles or chosen.title in titles:
            print(form_line(form, cpu), flush=True)
    if titles:
        return
    for rival in (m2cgen_line, cmsis_line):
        if measured := rival(cpu):
            print(measured, flush=True)
    if cpu.name == FULL:
        for title, flash, ram, count, labels in PUBLISHED:
            print(f"| *published:* {title} | {flash} | {ram} | {count} | | {labels} | |")


def main() -> None:
    titles = [word for word in sys.argv[1:] if word in {form.title for form in FORMS}]
    cpus = [find_cpu(word) for word in sys.argv[1:] if word not in titles] or list(CPUS.values())
    for cpu in cpus:
        if can_measure(cpu):
            table(cpu, titles)
        else:
            print(f"\n{cpu.name}: left out, its tools are not installed")


if __name__ == "__main__":
    main()
