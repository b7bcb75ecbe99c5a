"""Target sql: one query gives the interpreter's labels and values, in SQLite and in DuckDB."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import RBFSampler
from sklearn.multiclass import OneVsOneClassifier
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import MinMaxScaler, Normalizer, PolynomialFeatures, StandardScaler
from sklearn.svm import SVC, LinearSVC, LinearSVR

import svmcompile as sc
from svmcompile.errors import EmitError, OptionError, ReadError
from svmcompile.flow.form import Form

ROWS = 10_000
X, Y = load_iris(return_X_y=True)
NAMES = np.array(["it's", 'a "rose"', "3"])


def linear(*steps: Any, **options: Any) -> Any:
    return make_pipeline(*steps, LinearSVC(random_state=0, **options))


def calibrated(method: str, ensemble: bool) -> Any:
    return CalibratedClassifierCV(LinearSVC(random_state=0), method=method, cv=2, ensemble=ensemble)


MODELS = {
    "names": (linear(StandardScaler()), NAMES[Y]),
    "bool": (linear(PCA(2)), Y > 0),
    "float": (SVC(kernel="linear"), Y * 2.0),
    "square": (SVC(kernel="poly", degree=2, coef0=1, decision_function_shape="ovo"), Y),
    "pairs": (OneVsOneClassifier(LinearSVC(random_state=0)), Y),
    "value": (make_pipeline(MinMaxScaler(clip=True), LinearSVR(random_state=0)), Y),
    "l1": (linear(MinMaxScaler(clip=True), Normalizer("l1")), Y),
    "l2": (linear(Normalizer("l2")), Y),
    "max": (linear(Normalizer("max")), Y),
    "powers": (linear(PolynomialFeatures(2), StandardScaler()), Y),
    "filled": (linear(SimpleImputer(add_indicator=True), StandardScaler()), Y),
    "cosine": (linear(RBFSampler(n_components=8, random_state=0)), Y),
    "union": (linear(make_union(MinMaxScaler(clip=True), PCA(2))), Y),
    "sigmoid": (calibrated("sigmoid", True), Y),
    "isotonic": (calibrated("isotonic", False), Y),
    "isotonic-two": (calibrated("isotonic", True), Y > 0),
}
METHODS: dict[str, tuple[Any, dict[str, Any]]] = {
    "metric-axis": (Y > 0, {"method": "metric-tree", "split": "gradient-axis"}),
    "metric-plane": (Y, {"method": "metric-tree", "split": "midpoint", "max_depth": 11}),
    "metric-reach": (Y > 0, {"method": "metric-tree", "reach": 2.0}),
    "lists-two": (Y > 0, {"method": "h1-tree", "end": "label"}),
    "lists-three": (Y, {"method": "h1-tree", "end": "label"}),
}


def program_of(case: str) -> Any:
    if case in MODELS:
        model, y = MODELS[case]
        return sc.compile(model.fit(_with_gaps() if case == "filled" else X, y))
    y, options = METHODS[case]
    return sc.compile(SVC(gamma=2.0).fit(X, y), X=X, **options)


def _with_gaps() -> Any:
    return np.where(np.random.default_rng(4).random(X.shape) < 0.1, np.nan, X)


def some_rows() -> Any:
    """Rows around the data, some of them with missing and infinite numbers."""
    random = np.random.default_rng(0)
    rows = X[random.integers(0, len(X), ROWS)] + random.normal(size=(ROWS, X.shape[1]))
    for place, value in enumerate((np.nan, np.inf, -np.inf)):
        rows[np.arange(place, 60, 3), random.integers(0, X.shape[1], 20)] = value
    return rows


@pytest.mark.parametrize("case", [*MODELS, *METHODS])
def test_sqlite_gives_what_the_interpreter_gives(case: str) -> None:
    program, rows = program_of(case), some_rows()
    model = Form(program, "m", "sql", "f64").build()
    _compare(program, rows, lambda function: getattr(model, function)(rows, allow_nan=True))


def _compare(program: Any, rows: Any, found: Any) -> None:
    """Every label, and values to the last digits."""
    if program.labels:
        assert np.array_equal(found("predict"), program.predict(rows))
    functions = {"scores": "decision_function", "probabilities": "predict_proba", "value": "predict"}
    for output in program.outputs:
        if output.name in functions:
            expected = getattr(program, functions[output.name])(rows)
            np.testing.assert_allclose(found(functions[output.name]), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("case", ["names", "sigmoid", "filled", "metric-plane", "lists-three"])
def test_duckdb_gives_what_the_interpreter_gives(case: str) -> None:
    duckdb = pytest.importorskip("duckdb", reason="duckdb runs the query")
    program, rows = program_of(case), some_rows()
    text = str(sc.emit(program, target="sql", name="m")["m.sql"])
    base = duckdb.connect()
    columns = ", ".join(f"x{j} DOUBLE" for j in range(rows.shape[1]))
    base.execute(f"CREATE TABLE input_rows ({columns})")
    arrays = {f"x{j}": rows[:, j] for j in range(rows.shape[1])}  # duckdb finds it by its name
    base.execute("INSERT INTO input_rows SELECT * FROM arrays")
    found = base.execute(text).fetchnumpy()

    def of(function: str) -> Any:
        if function == "predict":
            return np.ma.filled(found["label"])
        public = "score" if function == "decision_function" else "probability"
        parts = [np.ma.filled(found[name], np.nan) for name in found if name.startswith(public)]
        return parts[0] if len(parts) == 1 else np.stack(parts, axis=1)

    assert len(arrays) == rows.shape[1]
    _compare(program, rows, of)


@pytest.mark.parametrize("model", [SVC(), SVC(kernel="linear", probability=True, random_state=0)])
def test_what_sql_does_not_cover_is_refused_by_name(model: Any) -> None:
    with pytest.raises(EmitError, match=r"node (KernelSum|PairSum|Couple) .*use target c"):
        sc.emit(sc.compile(model.fit(X, Y)), target="sql")


@pytest.mark.parametrize(
    ("names", "message"),
    [(("a", "A", "b", "c"), "only in case"), (("svm0_0", "a", "b", "c"), "cannot name a column")],
)
def test_feature_names_that_sql_cannot_tell_apart_are_refused(names: Any, message: str) -> None:
    pandas = pytest.importorskip("pandas")
    program = sc.compile(linear().fit(pandas.DataFrame(X, columns=names), Y))
    with pytest.raises(EmitError, match=message):
        sc.emit(program, target="sql")


@pytest.mark.parametrize(
    "text", ["ATTACH '{}' AS other", "PRAGMA user_version = 3", "SELECT 'no' AS label FROM input_rows"]
)
def test_a_query_that_others_changed_opens_no_file(text: str, tmp_path: Any) -> None:
    written, program = tmp_path / "written.db", sc.compile(linear().fit(X, Y))
    form = Form(program, "m", "sql", "f64")
    with pytest.raises(ReadError, match=r"not authorized|none of the model's"):
        form.model({"m.sql": text.format(written)}).predict(X)
    assert not written.exists()


def test_whole_numbers_and_kits_are_refused() -> None:
    program = sc.compile(linear().fit(X, Y))
    with pytest.raises(OptionError, match="q15 and q7 are for target c"):
        sc.emit(program, target="sql", precision="q15", X=X)
    with pytest.raises(OptionError, match="add target c"):
        sc.emit(program, target="sql", kit="cmake")
