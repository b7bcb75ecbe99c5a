"""PMML: machines and transformations give what its evaluators give; bad documents give a located error."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from read_cases import program_of

from svmcompile.data.categories import Categories, TextColumn
from svmcompile.errors import ReadError, UnsupportedError
from svmcompile.ir.pairs import count_votes
from svmcompile.read import read, read_content

STORED = Path(__file__).parents[1] / "data" / "pmml"
FILES = sorted(path.stem for path in STORED.glob("*.pmml"))
NOT_JPMML = ("xor", "max_wins", "coefficients", "knime_two")  # their outputs are those of pypmml
SVM, LINEAR, CHAIN = (
    (STORED / f"{name}.pmml").read_text() for name in ("threshold", "claims", "jpmml_linear_svc")
)
VOTE = (STORED / "jpmml_svc.pmml").read_text()
TOLERANCE = dict.fromkeys(NOT_JPMML, 1e-09)  # pypmml rounds its values


def frame(svm, n_rows):
    """Rows as numbers, and as a frame with the categories of text by name."""
    import pandas as pd

    random = np.random.default_rng(7)
    rows = random.normal(size=(n_rows, svm.n_features))
    columns = dict(zip(svm.feature_names, rows.T.copy(), strict=True))
    for column in svm.categories.columns:
        chosen = random.integers(len(column.names), size=n_rows)
        rows[:, column.feature] = chosen
        columns[svm.feature_names[column.feature]] = np.array(column.names)[chosen]
    return rows, pd.DataFrame(columns)


def assert_as_evaluated(svm, rows, expected, atol):
    program = program_of(svm)
    if svm.labels is None:
        np.testing.assert_allclose(program.predict(rows), np.asarray(expected, float), rtol=0, atol=atol)
        return
    clear = np.ones(len(rows), dtype=bool)
    if svm.counts:  # the specification does not say who wins where classes have the same number of votes
        votes = np.sort(count_votes(program.decision_function(rows), len(svm.labels)), axis=1)
        clear = votes[:, -1] > votes[:, -2]
        assert clear.mean() > 0.99
    texts = [str(one) for one in program.predict(rows)[clear]]
    assert texts == [
        str(int(one)) if not isinstance(one, str) else one for one in np.asarray(expected, object)[clear]
    ]


@pytest.mark.parametrize("name", FILES)
def test_the_same_as_evaluators_gave(name):
    """outputs.json holds what JPMML 1.7 and pypmml 1.5 give for the same rows."""
    svm = read(STORED / f"{name}.pmml")
    expected = json.loads((STORED / "outputs.json").read_text())[name]
    for rows in frame(svm, len(expected)):  # codes, and texts
        assert_as_evaluated(svm, rows, expected, TOLERANCE.get(name, 1e-12))


def test_probabilities_are_those_that_jpmml_gave():
    stored = json.loads((STORED / "probabilities.json").read_text())
    assert {len(chances[0]) for chances in stored.values()} == {2, 3}
    for name, chances in stored.items():
        svm = read(STORED / f"{name}.pmml")
        found = program_of(svm).predict_proba(frame(svm, len(chances))[0])
        np.testing.assert_allclose(found, chances, rtol=0, atol=1e-12)


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("java"), reason="JPMML needs Java")
def test_the_same_as_jpmml():
    evaluator = pytest.importorskip("jpmml_evaluator", reason="jpmml_evaluator is not installed")
    for name in FILES:
        if name in NOT_JPMML:
            continue
        svm = read(STORED / f"{name}.pmml")
        rows, given = frame(svm, 10_000)
        result = evaluator.make_evaluator(str(STORED / f"{name}.pmml")).evaluateAll(given)
        assert_as_evaluated(svm, rows, list(result.iloc[:, 0]), 1e-12)
        names = [f"probability({value})" for value in (svm.labels.values if svm.labels else ())]
        assert svm.has_probabilities or "softmax" not in name
        if svm.has_probabilities and {*names} <= {*result}:
            chances = result[names].astype(float)
            np.testing.assert_allclose(program_of(svm).predict_proba(rows), chances, rtol=0, atol=1e-12)


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("java"), reason="PyPMML needs Java")
def test_the_same_as_pypmml():
    library = pytest.importorskip("pypmml", reason="pypmml is not installed")
    for name in FILES:
        svm = read(STORED / f"{name}.pmml")
        rows, given = frame(svm, 10_000)
        result = library.Model.load(str(STORED / f"{name}.pmml")).predict(given)
        names = [f"probability({value})" for value in (svm.labels.values if svm.labels else ())]
        if names and {*names} <= {*result}:  # a document may ask for probabilities alone
            chances = result[names].astype(float)
            np.testing.assert_allclose(program_of(svm).predict_proba(rows), chances, rtol=0, atol=1e-9)
        else:
            assert_as_evaluated(svm, rows, list(result.iloc[:, 0]), 1e-9)


def test_the_example_of_the_specification():
    rows = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    assert program_of(read(STORED / "xor.pmml")).predict(rows).tolist() == ["no", "yes", "yes", "no"]
    svm = read(STORED / "claims.pmml")
    assert svm.feature_names == ("age", "salary", "car_location")
    assert svm.categories == Categories((TextColumn(2, ("carpark", "street")),))
    found = program_of(svm).predict(np.array([[30.0, 1000.0, 0.0], [30.0, 1000.0, 1.0]]))
    np.testing.assert_allclose(found, [132.37 + 213 + 10 + 41.1, 132.37 + 213 + 10 + 325.03])


def test_scaling_stays_scaling():
    """Each derived field that scales one field is a step of the front, not a matrix."""
    svm = read(STORED / "jpmml_svc.pmml")
    assert [step.kind for step in svm.front.steps] == ["Scale"]
    assert svm.counts and svm.labels.values == ("x", "y", "z")


SVM_EDITS = {
    ("<PMML ", "<PML "): "not a model file|is not well-formed",
    ("SupportVectorMachineModel", "TreeModel"): "<TreeModel> is not supported; export",
    (
        'functionName="classification"',
        'functionName="clustering"',
    ): "functionName 'clustering' is not supported",
    ("OneAgainstOne", "OneAgainstFew"): "classificationMethod 'OneAgainstFew' is not supported",
    ("SigmoidKernelType", "ChiKernelType"): "expected one kernel of LinearKernelType",
    ('gamma="0.4"', 'gamma="x"'): r"m:\d+: 'x' in <SigmoidKernelType> is not a finite number",
    ('field="b"/></Vec', 'field="q"/></Vec'): "field 'q' is neither given nor derived",
    (
        '<FieldRef field="da"/><Apply',
        '<FieldRef field="sum"/><Apply',
    ): "derived from one another without end",
    ('function="*"', 'function="pow"'): r"function 'pow' is not supported; supported: \+, -, \*, /",
    ('<Constant dataType="double">0.5</Constant>', '<FieldRef field="a"/>'): r"fields are combined by \*",
    ("<Constant", "<Lag"): "is not well-formed",
    ('orig="1.2"', 'orig="0.1"'): "two points of a <NormContinuous> are in one place",
    ('<LinearNorm orig="1.2" norm="1"/>', ""): "a <NormContinuous> of 1 points is not supported",
    (
        '<NormContinuous field="a">',
        '<NormContinuous field="a" outliers="asExtremeValues">',
    ): "outliers 'asExtreme",
    ("<Indices>1 3", "<Indices>1 4"): "indices must be among 1..3",
    ("<Indices>1 3", "<Indices>1 1"): "indices must be among 1..3, without repeats",
    ("<Indices>1 3", "<Indices>1"): r"2 number\(s\) in <REAL-SparseArray>, expected 1",
    ('<REAL-SparseArray n="3">', '<REAL-SparseArray n="4">'): "n is 4, expected 3",
    ('vectorId="3"', 'vectorId="9"'): "there is no <VectorInstance> '9'",
    ('<Coefficient value="0.5"/>', ""): "2 coefficients for 3 vectors",
    ('alternateTargetCategory="neg"', ""): "has no attribute 'alternateBinaryTargetCategory'",
    ('alternateTargetCategory="neg"', 'alternateTargetCategory="pos"'): "are not a pair of their own",
    ('alternateTargetCategory="neg"', 'alternateTargetCategory="no"'): "'no' is no value of the target",
    ('<Value value="neg"/>', ""): "the target has 1 values",
    (
        '<MiningField name="b"/>',
        '<MiningField name="b" outliers="asMissingValues"/>',
    ): "outliers 'asMissing",
    ('<MiningField name="b"/>', '<MiningField name="a"/>'): "a field is named twice",
    ('<MiningField name="b"/>', '<MiningField name="e"/>'): "field 'e' is not in the <DataDictionary>",
    ("<Header/>", "<!DOCTYPE a>"): "is not well-formed",
    ('<DerivedField name="sum"', '<DerivedField name="da"'): "field 'da' is there already",
    ('<DerivedField name="sum"', '<DerivedField name="b"'): "field 'b' is there already",
}
LINEAR_EDITS = {
    ('exponent="1" coefficient="7.1"', 'exponent="2" coefficient="7.1"'): "an exponent other than 1",
    ("<CategoricalPredictor", "<PredictorTerm"): "<PredictorTerm> is not supported",
    ('value="street" coef', 'value="road" coef'): "'road' is no value of field 'car_location'",
    ('<NumericPredictor name="age"', '<NumericPredictor name="car_location"'): "is text and has no number",
    (
        'functionName="regression"',
        'functionName="regression" normalizationMethod="exp"',
    ): "'exp' is not supported",
    ('<Value value="carpark"/><Value value="street"/>', ""): "is text without a list of its values",
    ('dataType="string"', 'dataType="date"'): "dataType 'date' is not supported",
    (
        "</RegressionTable>",
        '</RegressionTable><RegressionTable intercept="1"/>',
    ): "2 tables of a regression",
    (
        "<RegressionTable",
        '<Targets><Target castInteger="round"/></Targets><RegressionTable',
    ): "castInteger of a",
}
CHAIN_EDITS = {
    ("modelChain", "majorityVote"): "multipleModelMethod 'majorityVote' is not supported",
    ('"simplemax"', '"softmax"'): "normalizationMethod 'softmax' is not supported",
    (
        'name="decisionFunction(x)" coefficient="1.0"',
        'name="decisionFunction(x)" coefficient="2.0"',
    ): "as it is",
    ('name="decisionFunction(x)" coefficient="1.0"', 'name="a" coefficient="1.0"'): "as it is",
    ('targetCategory="y"', 'targetCategory="x"'): "the last step of the chain has 2 classes, the target 3",
    ("<True/>", "<False/>"): "<Segment> has 0 <True>, expected one",
    (
        'functionName="classification" algo',
        'functionName="regression" algo',
    ): "for regression is not supported",
}
EDITS = ((SVM, SVM_EDITS), (LINEAR, LINEAR_EDITS), (CHAIN, CHAIN_EDITS))


@pytest.mark.parametrize(
    ("text", "edit", "message"),
    [(text, *item) for text, edits in EDITS for item in edits.items()],
)
def test_bad_documents(text, edit, message):
    assert edit[0] in text
    with pytest.raises((ReadError, UnsupportedError), match=message):
        read_content("m", text.replace(*edit).encode(), "pmml" if edit[0] != "<PMML " else None)


def test_a_dtd_is_refused():
    bomb = "<!DOCTYPE PMML [<!ENTITY a 'b'>]>"
    with pytest.raises(ReadError, match="m:1: the file has a DTD"):
        read_content("m", (bomb + VOTE.partition("?>")[2]).encode(), "pmml")
