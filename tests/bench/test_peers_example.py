"""The scripts of examples/peers, without the races: tables, markers, generated data, random machines."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from svmcompile.flow.program import compile_svm

FOLDER = Path(__file__).parents[2] / "examples" / "peers"


@pytest.fixture(autouse=True)
def scripts(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.delenv("SVMCOMPILE_DATA", raising=False)
    monkeypatch.delitem(sys.modules, "peers", raising=False)  # other tests know the folder by that name
    yield
    for name in ("peers", "peer_checks", "peer_data", "scaling", "sparse_tables"):
        sys.modules.pop(name, None)


def contender(key, via, ratio, wrong=0):
    return {
        "key": key,
        "via": via,
        "us_single": 2 * ratio,
        "us_batch": ratio,
        "ratio_single": ratio,
        "ratio_batch": 2 * ratio,
        "labels_differing": wrong,
    }


RESULT = {
    "contenders": [
        contender("ours", "C", 1),
        contender("ours", "Python", 1),
        contender("sklearn", "Python", 20),
        contender("sklearn-csr", "Python", 12.3),
        contender("libsvm", "C", 0.5, wrong=3),
    ],
    "n_support_vectors": 1234,
    "n_features": 22,
    "n_classes": 2,
    "rows": 500,
    "precision": "f32",
    "profile": "host",
    "machine": "abacus",
    "share": {"bandwidth_single": 0.66, "fma_peak_batch": 0.5},
    "limits": {"table_in": "L2", "peak_gflops": 100},
}
GRAPHS = [
    contender("ours-onnx", "C", 2),
    contender("onnxruntime", "C", 3),
    contender("sklearn", "Python", 9),
]
RESULT["checks"] = {
    "errors": [1.23e-6, 4.5e-14],
    "races": [{"contenders": GRAPHS}, {"contenders": [contender("ours-onnx", "C", 3), GRAPHS[2]]}],
}


def test_table_shows_the_faster_form_and_what_differs():
    import peers

    header, _, line = peers.table({"ijcnn1": RESULT}).splitlines()
    cells = dict(zip(*([cell.strip() for cell in row.split("|")] for row in (header, line)), strict=True))
    assert cells["model"] == "ijcnn1: 1,234 SVs x 22; 10,000 training rows"
    assert cells["scikit-learn"] == "12 / 25"
    assert cells["LIBSVM"] == "0.50 / 1.0 (3 labels differ)"
    assert cells["m2cgen"] == "-"
    assert cells["of bandwidth / of peak"] == "66% (L2) / 50%"
    report = " ".join(peers.report({"ijcnn1": RESULT}).split())
    assert "differ from scikit-learn's: 0 of 500." in report
    assert "Called from C: LIBSVM; from Python" in report
    assert report.endswith("| ijcnn1 | 1.2e-06 | 4.5e-14 | 1.5 / 1.5 | 4.5 | 3 |")


def test_rewriting_keeps_everything_else():
    import peers

    text = f"before\n{peers.BEGIN}\nold\n{peers.END}\nafter\n"
    once = peers.rewrite(text, "new")
    assert once == f"before\n{peers.BEGIN}\nnew\n{peers.END}\nafter\n"
    assert peers.rewrite(once, "new") == once
    with pytest.raises(SystemExit):
        peers.rewrite("no markers", "new")


def test_the_page_has_the_markers():
    import peers

    text = peers.PAGE.read_text(encoding="utf-8")
    assert text.count(peers.BEGIN) == text.count(peers.END) == 1


@pytest.mark.parametrize("name", ["digits", "ijcnn1", "a9a", "mnist_3v8"])
def test_data_of_the_right_shape_without_a_data_folder(name):
    from dataclasses import replace

    import peer_data

    case = next(case for case in peer_data.CASES if case.name == name)
    case = replace(case, train_rows=min(case.train_rows, 300))
    X, y, X_test, y_test = peer_data.split(case)
    assert X.shape == (case.train_rows, case.n_features) and len(X_test.shape) == 2
    assert len(np.unique(y)) == case.n_classes and set(np.unique(y_test)) <= set(np.unique(y))
    assert hasattr(X, "toarray") == case.sparse
    assert X.min() >= 0 and X.max() <= 1.0001


def test_random_machine_is_the_same_in_scikit_learn():
    import scaling

    svm = scaling.random_svm(40, 3)
    rows = np.random.default_rng(1).normal(size=(50, 3))
    program = compile_svm(svm, "exact", None, {})
    model = scaling.as_estimator(svm)
    np.testing.assert_allclose(model.decision_function(rows), program.decision_function(rows), atol=1e-12)
    assert (model.predict(rows) == program.predict(rows)).all()


def test_made_up_texts_are_sparse_and_the_same_each_time() -> None:
    import sparse_tables

    rows, labels = sparse_tables.text(40, 5000)
    assert rows.shape == (40, 5000) and set(labels) == {0, 1}
    assert 0 < rows.nnz < 0.05 * 40 * 5000
    again, _ = sparse_tables.text(40, 5000)
    assert (rows != again).nnz == 0
