"""The support table: every estimator of the registries is fitted, compiled, and asked what C and ONNX give.

    python -m svmcompile.commands.support                      prints the table
    python -m svmcompile.commands.support docs/supported.md    puts it into a file, between its marks

Nothing in it is written by hand: a model stands in the table because it was compiled.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Iterator
from functools import cache
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np

from svmcompile.api import compile, emit
from svmcompile.errors import UnsupportedError
from svmcompile.files import write_file
from svmcompile.ir.differences import TERMS
from svmcompile.ir.kernel import KERNEL_KINDS
from svmcompile.read.libsvm import model as libsvm
from svmcompile.read.onnx.front import JOINS, ONNX_STEPS
from svmcompile.read.onnx.machines import ONNX_MACHINES
from svmcompile.read.sklearn.estimators import COMBINED
from svmcompile.read.sklearn.features import TRANSFORMERS
from svmcompile.read.sklearn.machines import MACHINES
from svmcompile.read.sklearn.text import VECTORIZERS
from svmcompile.read.sklearn.wrappers import HOLDERS, WRAPPERS

BEGIN, END = "<!-- support: begin -->", "<!-- support: end -->"
# A function of one row or of one text, as the header declares it.
ROW = re.compile(r"m_([a-z_]+)\(const (?:float x\[|char \*utf8(?:, float \w+\[\w+\])?\))")
WITH_MORE: dict[str, list[dict[str, Any]]] = {  # settings with which a machine may give more
    "SVC": [{"probability": True}],
    "NuSVC": [{"probability": True}],
    "SGDClassifier": [{"loss": "log_loss"}, {"loss": "modified_huber"}],
}
OF_SEVERAL = (
    "MultiOutputRegressor", "MultiTaskLasso", "MultiTaskLassoCV", "MultiTaskElasticNet",
    "MultiTaskElasticNetCV", "MultiOutputClassifier",
)  # fmt: skip  # estimators that need several values to learn
Gives = tuple[tuple[str, ...], tuple[str, ...]]  # functions in C for one row, outputs in ONNX
Row = tuple[str, Gives]  # the name of a model, and what it gives


def table() -> str:
    """The whole text between the marks."""
    parts = [
        "`python -m svmcompile.commands.support` made this table: each estimator is fitted, compiled to C\n"
        "and ONNX, and listed with the functions and outputs that came out.\n",
        _markdown("estimator of scikit-learn", _machines()),
        _markdown("around an `SVC` or `SVR`", _wrappers()),
        _markdown("in a `Pipeline` before an `SVC`", _transformers()),
        _markdown("in a `Pipeline` before an `SVC`, for text", _vectorizers()),
        f"Kernels: {_listed([*KERNEL_KINDS, *TERMS])}.",
        f"LIBSVM text models: {_listed(libsvm.TYPES)}. ONNX files:",
        f"{_listed(ONNX_MACHINES)}, behind {_listed([*ONNX_STEPS, *JOINS])}.",
    ]
    return "\n".join(parts)


def _machines() -> Iterator[Row]:
    for name in (*MACHINES, *(holder for holder in HOLDERS if not _takes_another(holder))):
        alone = _gives(make(name))
        yield name, alone
        for settings in WITH_MORE.get(name, ()):
            more = _gives(make(name).set_params(**settings))
            if more != alone:
                told = ", ".join(f"{key}={value!r}" for key, value in settings.items())
                yield f"{name}({told})", more


def _wrappers() -> Iterator[Row]:
    """Each wrapper around an SVC, and around one that gives probabilities where that gives more."""
    for name in filter(_takes_another, (*WRAPPERS, *HOLDERS)):
        alone = _gives(make(name, make("SVC").fit(*points())))  # a FrozenEstimator holds a fitted one
        yield name, alone
        if name in WRAPPERS and name not in _arguments():
            more = _gives(make(name, make("SVC").set_params(probability=True)))
            if more != alone:
                yield f"{name}(SVC(probability=True))", more


def _transformers() -> Iterator[Row]:
    from sklearn.pipeline import make_pipeline

    for name in (*TRANSFORMERS, *COMBINED):
        yield name, _gives(make_pipeline(make(name), make("SVC")))


def _vectorizers() -> Iterator[Row]:
    from sklearn.pipeline import make_pipeline

    for name in VECTORIZERS:
        yield name, _gives(make_pipeline(make(name), make("SVC")), texts())


def make(name: str, inner: Any = None) -> Any:
    """An estimator that is not fitted yet; one around another is around `inner`, or a LinearSVC."""
    from sklearn.svm import LinearSVC

    kind, arguments = _known()[name], _arguments().get(name, {})
    if "estimator" in signature(kind).parameters:
        arguments = {"estimator": LinearSVC() if inner is None else inner, **arguments}
    return kind(**arguments)


def _takes_another(name: str) -> bool:
    """Whether it is an estimator around another, or several."""
    return not {"estimator", "estimators", "regressor"}.isdisjoint(signature(_known()[name]).parameters)


@cache
def _known() -> dict[str, Any]:
    """Every estimator of scikit-learn by name."""
    from sklearn.experimental import enable_halving_search_cv  # noqa: F401
    from sklearn.utils.discovery import all_estimators

    return dict(all_estimators())


def _arguments() -> dict[str, dict[str, Any]]:
    """For estimators that cannot be made without any, or would pass over the rows below."""
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR

    return {
        "GridSearchCV": {"param_grid": {"C": [1.0, 2.0]}},
        "HalvingGridSearchCV": {"param_grid": {"C": [1.0, 2.0]}},
        "RandomizedSearchCV": {"param_distributions": {"C": [1.0]}},
        "HalvingRandomSearchCV": {"param_distributions": {"C": [1.0]}},
        "VotingClassifier": {"estimators": [("svc", SVC()), ("linear", LinearSVC())]},
        "StackingClassifier": {"estimators": [("svc", SVC()), ("linear", LinearSVC())]},
        "StackingRegressor": {"estimators": [("svr", SVR()), ("linear", LinearSVR())]},
        "VotingRegressor": {"estimators": [("svr", SVR()), ("linear", LinearSVR())]},
        "BaggingRegressor": {"estimator": SVR()},
        "MultiOutputRegressor": {"estimator": SVR()},
        "TransformedTargetRegressor": {"regressor": SVR(), "transformer": StandardScaler()},
        "SelectKBest": {"k": 2},
        "OneHotEncoder": {"handle_unknown": "ignore"},
        "OrdinalEncoder": {"handle_unknown": "use_encoded_value", "unknown_value": -1},
        "HashingVectorizer": {"n_features": 64},
        "MissingIndicator": {"features": "all"},
        "Pipeline": {"steps": [("scale", StandardScaler())]},
        "FeatureUnion": {"transformer_list": [("scale", StandardScaler()), ("same", "passthrough")]},
        "ColumnTransformer": {"transformers": [("scale", StandardScaler(), [0, 1])]},
    }


def _gives(estimator: Any, rows: tuple[Any, Any] | None = None) -> Gives:
    """Functions in C and outputs in ONNX of an estimator."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that training did not converge does not matter here
        estimator.fit(*(rows or points(type(estimator).__name__)))
    try:
        program = compile(estimator)
    except UnsupportedError as error:
        name = type(estimator).__name__
        raise AssertionError(f"{name} is registered but not compiled: {error}") from error
    header = str(emit(program, "c", "m", profile="portable")["m.h"])
    return tuple(ROW.findall(header)), _outputs(emit(program, "onnx", "m")["m.onnx"])


def points(name: str = "") -> tuple[Any, Any]:
    """Three clouds of points that float32 holds, and numbers that an estimator of this name takes."""
    y = np.arange(60) % 3
    X = np.random.default_rng(0).integers(64, size=(60, 4)) / 64 + y[:, np.newaxis]
    return X, np.stack([y, 1 - y], axis=1) if name in OF_SEVERAL else y


def texts() -> tuple[Any, Any]:
    """Texts of three kinds."""
    words = ("red green blue", "one two three", "north south west")
    return [f"{words[at % 3]} and {at}" for at in range(60)], np.arange(60) % 3


def _outputs(content: Any) -> tuple[str, ...]:
    import onnx

    return tuple(output.name for output in onnx.load_from_string(content).graph.output)


def _markdown(title: str, rows: Iterator[Row]) -> str:
    """A table in which models that give the same share a line."""
    lines = [f"| {title} | C | ONNX |", "|---|---|---|"]
    groups: dict[Gives, list[str]] = {}
    for name, gives in rows:
        groups.setdefault(gives, []).append(name)
    for (c, onnx), names in groups.items():
        lines.append(f"| {_listed(names)} | {_listed(c)} | {_listed(onnx)} |")
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
