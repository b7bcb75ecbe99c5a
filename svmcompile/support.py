"""The support table: every estimator of the registries is fitted, compiled, and asked what C and ONNX give.

    python -m svmcompile.support              prints the table
    python -m svmcompile.support README.md    puts it into a file, between its marks

Nothing in it is written by hand: a model stands in the table because it was compiled.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np

from svmcompile.errors import UnsupportedError
from svmcompile.files import write_file
from svmcompile.kernel import KERNEL_KINDS
from svmcompile.pipeline import compile, emit
from svmcompile.read import libsvm
from svmcompile.read.onnx_machines import ONNX_MACHINES
from svmcompile.read.onnx_steps import JOINS, ONNX_STEPS
from svmcompile.read.sklearn import MACHINES
from svmcompile.read.transformers import COMBINED, TRANSFORMERS

BEGIN, END = "<!-- support: begin -->", "<!-- support: end -->"
ROW = re.compile(r"m_([a-z_]+)\(const float x\[")  # a function of one row, as the header declares it
VARIANTS: dict[str, dict[str, Any]] = {}  # arguments that may give more


@dataclass(frozen=True, slots=True)
class Row:
    """One model: its name, the functions in C for one row, and the outputs in ONNX."""

    name: str
    c: tuple[str, ...]
    onnx: tuple[str, ...]


def table() -> str:
    """The whole text between the marks."""
    parts = [
        "`python -m svmcompile.support` made this table: each estimator is fitted, compiled to C and\n"
        "ONNX, and listed with the functions and outputs that came out.\n",
        _markdown("estimator of scikit-learn", _machines()),
        _markdown("in a `Pipeline` before an `SVC`", _transformers()),
        f"Kernels: {_listed(KERNEL_KINDS)}. LIBSVM text models: {_listed(libsvm.TYPES)}. ONNX files:",
        f"{_listed(ONNX_MACHINES)}, behind {_listed([*ONNX_STEPS, *JOINS])}.",
    ]
    return "\n".join(parts)


def _machines() -> Iterator[Row]:
    for name in MACHINES:
        alone = _row(name, _made(name))
        yield alone
        if name in VARIANTS:
            arguments = ", ".join(f"{key}={value}" for key, value in VARIANTS[name].items())
            variant = _row(f"{name}({arguments})", _made(name).set_params(**VARIANTS[name]))
            if (variant.c, variant.onnx) != (alone.c, alone.onnx):
                yield variant


def _transformers() -> Iterator[Row]:
    from sklearn.pipeline import make_pipeline

    for name in (*TRANSFORMERS, *COMBINED):
        yield _row(name, make_pipeline(_made(name), _made("SVC")))


def _made(name: str) -> Any:
    """An estimator that is not fitted yet; one around another is around a LinearSVC."""
    from sklearn.svm import LinearSVC

    make = _known()[name]
    arguments = _arguments().get(name, {})
    if signature(make).parameters.get("estimator", None) is not None:
        arguments = {"estimator": LinearSVC(), **arguments}
    return make(**arguments)


@cache
def _known() -> dict[str, Any]:
    """Every estimator of scikit-learn by name."""
    from sklearn.utils.discovery import all_estimators

    return dict(all_estimators())


def _arguments() -> dict[str, dict[str, Any]]:
    """For estimators that cannot be made without any, or would pass over the rows below."""
    from sklearn.preprocessing import StandardScaler

    return {
        "SelectKBest": {"k": 2},
        "MissingIndicator": {"features": "all"},
        "Pipeline": {"steps": [("scale", StandardScaler())]},
        "FeatureUnion": {"transformer_list": [("scale", StandardScaler()), ("same", "passthrough")]},
        "ColumnTransformer": {"transformers": [("scale", StandardScaler(), [0, 1])]},
    }


def _row(name: str, estimator: Any) -> Row:
    return Row(name, *_gives(estimator))


def _gives(estimator: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Functions in C and outputs in ONNX of an estimator fitted to three clouds of points."""
    random = np.random.default_rng(0)
    y = np.arange(60) % 3
    X = random.random((60, 4)) + y[:, np.newaxis]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that training did not converge does not matter here
        estimator.fit(X, y)
    try:
        program = compile(estimator)
    except UnsupportedError as error:
        raise AssertionError(
            f"{type(estimator).__name__} is registered but not compiled: {error}"
        ) from error
    header = str(emit(program, "c", "m", profile="portable")["m.h"])
    return tuple(ROW.findall(header)), _outputs(emit(program, "onnx", "m")["m.onnx"])


def _outputs(content: Any) -> tuple[str, ...]:
    import onnx

    return tuple(output.name for output in onnx.load_from_string(content).graph.output)


def _markdown(title: str, rows: Iterator[Row]) -> str:
    """A table in which models that give the same share a line."""
    lines = [f"| {title} | C | ONNX |", "|---|---|---|"]
    groups: dict[tuple[tuple[str, ...], tuple[str, ...]], list[str]] = {}
    for row in rows:
        groups.setdefault((row.c, row.onnx), []).append(row.name)
    lines += [
        f"| {_listed(names)} | {_listed(c)} | {_listed(onnx)} |" for (c, onnx), names in groups.items()
    ]
    return "\n".join(lines) + "\n"


def _listed(names: Any) -> str:
    return ", ".join(f"`{name}`" for name in names)


def put_into(path: Path) -> None:
    """The file with the table between its marks."""
    text = path.read_text(encoding="utf-8")
    head, _, rest = text.partition(BEGIN)
    _, found, tail = rest.partition(END)
    if not found:
        raise SystemExit(f"{path}: has no lines {BEGIN} and {END}")
    write_file(path, f"{head}{BEGIN}\n{table()}\n{END}{tail}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        put_into(Path(sys.argv[1]))
    else:
        print(table())
