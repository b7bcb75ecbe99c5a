"""OpenCV's SVM files: what is read gives OpenCV's own values, and bad bytes give a located error."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from read_cases import blobs, program_of

import svmcompile as sc
from svmcompile.errors import ReadError, UnsupportedError
from svmcompile.ir.pairs import pair_indices
from svmcompile.read import read, read_content
from svmcompile.read.opencv.model import CLASSIFIERS, KERNELS, TYPES
from svmcompile.read.original import load_original

STORED = Path(__file__).parents[1] / "data" / "opencv"  # small files that OpenCV 4.14 wrote
XML, YAML = (STORED / "votes.xml").read_text(), (STORED / "votes.yml").read_text()
ROWS = 10_000
FLOAT32 = 4e-6  # of the sum of |coefficient * kernel value|: OpenCV computes kernels in float32


def opencv():
    cv2 = pytest.importorskip("cv2", reason="opencv-python-headless is not installed")
    if not hasattr(cv2, "ml"):
        pytest.skip("this OpenCV has no module ml")
    return cv2


def fit_for(kernel, rows):
    """Rows that a kernel takes: CHI2 is for features from zero on, of which some are zero."""
    return np.maximum(rows, 0.0) if kernel == "CHI2" else rows


def train(path, kind, kernel, n_classes=2):
    """A file that OpenCV made."""
    ml = opencv().ml
    X, y = blobs(n_classes)
    X = fit_for(kernel, X).astype(np.float32)
    targets = np.array([4, -2, 7, 1])[y].astype(np.int32) if kind in CLASSIFIERS else X[:, 0] * X[:, 1]
    machine = ml.SVM.create()
    machine.setType(getattr(ml, f"SVM_{kind}"))
    machine.setKernel(getattr(ml, f"SVM_{kernel}"))
    for name, value in {"C": 1.0, "Nu": 0.3, "P": 0.1, "Gamma": 0.25, "Degree": 3, "Coef0": 0.5}.items():
        getattr(machine, f"set{name}")(value)
    machine.train(X, ml.ROW_SAMPLE, targets)
    machine.save(str(path))
    return path


def sums_by_opencv(path, rows, n_classes):
    """The sums of all pairs from the numbers that OpenCV read, for which it has no function; sizes."""
    machine, svm = opencv().ml.SVM.load(str(path)), read(path)
    kernel = svm.kernel.values(rows, machine.getSupportVectors().astype(np.float64))
    found, sizes = [], []
    for pair in range(len(pair_indices(n_classes))):
        rho, alpha, index = machine.getDecisionFunction(pair)
        found.append(kernel[:, index[0]] @ alpha[0] - rho)
        sizes.append(np.abs(kernel[:, index[0]]) @ np.abs(alpha[0]) + abs(rho))
    return np.stack(found, axis=1), np.stack(sizes, axis=1)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("kind", TYPES)
def test_the_same_as_opencv(tmp_path, kind, kernel):
    rows = np.random.default_rng(2).normal(size=(ROWS, 5)).astype(np.float32).astype(np.float64)
    rows = fit_for(kernel, rows)
    for n_classes in (2, 4) if kind in CLASSIFIERS else (2,):
        suffix = {"LINEAR": "xml", "POLY": "yml", "RBF": "json"}.get(kernel, "yaml")
        path = train(tmp_path / f"m{n_classes}.{suffix}", kind, kernel, n_classes)
        svm = read(path)
        original, program = load_original(path, svm), program_of(svm)
        assert svm.source.kind == f"OpenCV {kind}" and svm.kernel.kind == KERNELS[kernel]
        meant, sizes = sums_by_opencv(path, rows, n_classes)
        if svm.labels is None:
            assert (np.abs(program.predict(rows) - original.predict(rows)) <= FLOAT32 * sizes[:, 0]).all()
            continue
        found = program.decision_function(rows).reshape(ROWS, -1)
        np.testing.assert_allclose(found, meant, rtol=0, atol=1e-9 * sizes.max())
        if n_classes == 2:
            assert (np.abs(found[:, 0] - original.decision_function(rows)) <= FLOAT32 * sizes[:, 0]).all()
        clear = (np.abs(found) > FLOAT32 * sizes).all(axis=1)  # float32 cannot decide the others
        assert clear.sum() > 0.995 * ROWS
        labels = original.predict(rows)
        np.testing.assert_array_equal(program.predict(rows)[clear], labels[clear])
        assert program.predict(rows).dtype == labels.dtype


def test_a_vote_is_grouped_by_class():
    """XML, YAML and JSON say the same, and each vector stands in the class that it supports."""
    found = [read(STORED / f"votes.{suffix}") for suffix in ("xml", "yml", "json")]
    for svm in found:
        np.testing.assert_array_equal(svm.vectors, found[0].vectors)
        np.testing.assert_array_equal(svm.coefficients, found[0].coefficients)
        np.testing.assert_array_equal(svm.intercepts, found[0].intercepts)
        assert (svm.labels.values, svm.counts) == ((-3, 2, 7), (3, 3, 3))
        assert len({one.source.sha256 for one in found}) == 3


def test_linear_machines_are_compact():
    svm = read(STORED / "linear.xml")
    assert svm.vectors.shape == (1, 2) and svm.coefficients.tolist() == [[1.0]]


def test_one_class_says_one_or_zero():
    svm = read(STORED / "one_class.yml")
    assert svm.labels.values == (0, 1) and svm.kernel.text() == "poly(gamma=0.5, coef0=0.7, degree=3)"


def test_a_vector_may_serve_several_classes(tmp_path):
    """No training gives that, but OpenCV takes it."""
    opencv()
    text = YAML.replace("index: [ 1, 4, 7, 2, 5, 8 ]", "index: [ 0, 3, 6, 2, 5, 8 ]")
    path = tmp_path / "m.yml"
    path.write_text(text)
    rows = np.random.default_rng(0).normal(size=(500, 2)).astype(np.float32).astype(np.float64)
    svm = read(path)
    assert text != YAML and svm.n_vectors == 12
    meant, _ = sums_by_opencv(path, rows, 3)
    np.testing.assert_allclose(program_of(svm).decision_function(rows), meant, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(program_of(svm).predict(rows), load_original(path, svm).predict(rows))


def test_names_of_opencv_2(tmp_path):
    """Old files say svm_type, name the machine as they like, and OpenCV loads them still."""
    text = (
        XML.replace("svmType", "svm_type")
        .replace("opencv_ml_svm", "my_svm")
        .replace("<format>3</format>", "")
    )
    path = tmp_path / "old.xml"
    path.write_text(text)
    svm = read(path)
    np.testing.assert_array_equal(svm.vectors, read(STORED / "votes.xml").vectors)
    rows = np.random.default_rng(0).normal(size=(500, 2))
    opencv()
    np.testing.assert_array_equal(program_of(svm).predict(rows), load_original(path, svm).predict(rows))
    path.write_text(text.replace("RBF", "SIGMOID"))
    with pytest.raises(UnsupportedError, match=r"old.xml:6: OpenCV 2 and later ones differ in the sign"):
        read(path)


def test_verify_takes_opencv_for_the_original(tmp_path):
    opencv()
    rows = np.random.default_rng(0).normal(size=(2000, 2))
    for name in ("votes.xml", "one_class.yml", "values.yml"):
        program = sc.compile(STORED / name)
        folder = tmp_path / name
        for precision in ("f32", "f64"):
            sc.write(sc.emit(program, target="c", name=precision, precision=precision), folder / precision)
            report = sc.verify(folder / precision, STORED / name, rows)
            assert report.ok and report.reference.startswith("OpenCV"), report


@pytest.mark.compile
@pytest.mark.parametrize("kernel", ["CHI2", "INTER"])
def test_kernels_of_differences_in_c_and_onnx(tmp_path, kernel):
    path = train(tmp_path / "m.xml", "C_SVC", kernel, n_classes=4)
    rows = fit_for(kernel, np.random.default_rng(3).normal(size=(2000, 5)))
    program = sc.compile(path)
    for target in ("c", "onnx"):
        sc.write(sc.emit(program, target=target, precision="f64"), tmp_path / target)
        report = sc.verify(tmp_path / target, path, rows)
        assert report.ok and report.reference.startswith("OpenCV"), report
    with pytest.raises(UnsupportedError, match="kernel has no form in fixed point"):
        sc.emit(program, "c", precision="q15", X=rows)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("RBF", "CHI2", r"m:2\d: a support vector is below zero.*shift or clip them"),
        ("RBF", "CUSTOM", "m:6: kernel 'CUSTOM' is not known; retrain with LINEAR, POLY, RBF"),
        ("C_SVC", "D_SVC", "m:5: SVM type 'D_SVC' is not known; known: C_SVC"),
        ("<gamma>0.5</gamma>", "", "m:6: there is no 'gamma' here"),
        ("<gamma>0.5", "<gamma>-1", "gamma is -1.0; kernel rbf needs zero or more"),
        ("<gamma>0.5", "<gamma>nan", "'nan' is not a finite number"),
        ("<gamma>0.5", "<gamma>.Inf", "'.Inf' is not a finite number"),
        ("<var_count>2", "<var_count>3", r"m:2\d: 2 number\(s\), expected 3"),
        ("<var_count>2", "<var_count>99999999", "'99999999' is not an integer in 1..16777216"),
        ("<sv_total>9", "<sv_total>8", "9 support vectors, expected 8"),
        ("<sv_total>9", "<sv_total>2147483647", "9 support vectors, expected 2147483647"),
        ("<class_count>3", "<class_count>2147483647", r"3 number\(s\), expected 2147483647"),
        ("<class_count>3", "<class_count>1", "1 class"),
        ("<dt>i", "<dt>f", "class labels are not integers"),
        ("-3 2 7", "-3 2 2", "a label appears twice"),
        ("-3 2 7", "-3 2 99999999999", "'99999999999' is not an integer"),
        ("<sv_count>6", "<sv_count>5", r"6 number\(s\), expected 5"),
        ("1 4 7 2 5 8", "1 4 7 2 5 9", "'9' is not an integer in 0..8"),
        ("<format>", "<svmType>C_SVC</svmType><format>", "<svmType> appears twice"),
        ("<format>", "text<format>", "text beside elements: 'text'"),
        ("svmType", "tree", "holds 'opencv_ml_svm', which is no SVM"),
        ("<format>3</format>", "<var_idx>1</var_idx>", r"m:4: uses some of the features alone \(var_idx\)"),
        ("<opencv_storage>", "<storage>", r"m:\d+: is not well-formed XML .mismatched tag"),
        ("opencv_storage>", "storage>", "the root is <storage>, not <opencv_storage>"),
        ('<?xml version="1.0"?>', "<!DOCTYPE a [<!ENTITY b 'c'>]>", "m:1: the file has a DTD.*remove"),
        ('<?xml version="1.0"?>', '<?xml version="1.0" encoding="x"?>', "m:1?:?.*is not .*XML"),
        ("<format>3", "<_>" * 200, "more than 100 elements within one another"),
    ],
)
def test_bad_xml(old, new, message):
    assert old in XML
    with pytest.raises((ReadError, UnsupportedError), match=message):
        read_content("m", XML.replace(old, new).encode(), "opencv")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("   format: 3", "  format: 3", "m:5: this line is indented more than the one before"),
        ("   format: 3", "   format", "m:4: 'format' is neither 'name: value' nor '- item'"),
        ("   format: 3", "   - 3", "is neither 'name: value' nor '- item'"),
        ("   format: 3", "   svmType: C_SVC", "m:5: svmType appears twice"),
        ("iterations:1000", "iterations", "are not pairs 'name: value'"),
        ("data: [ -3, 2, 7 ]", "data: [ [ -3, 2, 7 ] ]", "sequences within a sequence"),
        ("data: [ -3, 2, 7 ]", "data: [ -3, 2, 7", r"'7' is not|ends before|within a sequence|expected 3"),
        ("data: [ -3, 2, 7 ]", "data:", r"0 number\(s\), expected 3"),
    ],
)
def test_bad_yaml(old, new, message):
    assert old in YAML
    with pytest.raises((ReadError, UnsupportedError), match=message):
        read_content("m", YAML.replace(old, new).encode(), "opencv")


SECOND_READERS = [  # what OpenCV, which loads the file once more for comparison, takes otherwise
    ("xml", "<sv_count>6", '<sv_count type_id="str">6', r"m:\d+: numbers have a type here \(str\)"),
    ("xml", "<sv_count>6", "<sv_count>&#54;", r"m:\d+: '&' does not stand in what OpenCV writes"),
    ("xml", "<sv_count>6", "<sv_count><![CDATA[6]]>", r"m:\d+: '<!' does not stand"),
    ("xml", "<sv_count>6", "<sv_count><!-- -->6", r"m:\d+: '<!' does not stand"),
    ("xml", "<sv_count>6", "<sv_count>06", "'06' begins with a zero"),
    ("yml", "sv_count: 6", "sv_count: !!str 6", r"numbers have a type here \(str\)"),
    ("yml", "sv_count: 6", "sv_count:\u20036", "does not stand"),
    ("yml", "   C: 1.", "   C: 1. # \r   sv_total: 1000", "m:9: .* does not stand"),
    (
        "yml",
        "iterations:1000",
        "iterations:1000, epsilon:1",
        "a name appears twice among epsilon, iterations",
    ),
    ("yml", "   sv_total", "...\n   sv_total", "'...' is neither|indented less"),
    ("yml", "data: [ -3,", "data: [ -3,\n...\n", "the file ends before the ']'"),
    ("json", '"sv_count": 6', '"sv_count": "6"', "'\"6\"' is not an integer"),
    ("json", '"class_count"', '"class\\u005fcount"', "does not stand"),
]


@pytest.mark.parametrize(("suffix", "old", "new", "message"), SECOND_READERS)
def test_what_opencv_would_read_otherwise_is_refused(suffix, old, new, message):
    """A string counts 2147483647 there, and a count is followed."""
    text = (STORED / f"votes.{suffix}").read_text()
    assert old in text
    with pytest.raises(ReadError, match=message):
        read_content("m", text.replace(old, new, 1).encode(), "opencv")


def test_indices_that_opencv_itself_reads_are_within_the_vectors(tmp_path):
    """An index of a regressor is no matter to us; OpenCV reads one where there are classes."""
    opencv()
    path = tmp_path / "values.yml"
    text = (STORED / "values.yml").read_text().rstrip()
    labels = (
        "class_labels: !!opencv-matrix\n      rows: 1\n      cols: 2\n      dt: i\n      data: [ 0, 1 ]"
    )
    classes = f"   class_count: 2\n   {labels}\n"
    count = read(STORED / "values.yml").n_vectors
    text = text.replace("   sv_total", f"{classes}   sv_total")
    path.write_text(f"{text}\n         index: [ {', '.join(['100000000'] * count)} ]\n")
    with pytest.raises(ReadError, match="OpenCV itself reads other numbers"):
        load_original(path, read(path))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"opencv_ml_svm": [', "m:1: is not JSON .*column 20"),
        (b'{"a": NaN}', "NaN is not a finite number"),
        (b'{"a": 1, "a": 2}', "a name appears twice"),
        (b'{"a":' * 100_000, "within one another without end|is not JSON"),
        (b"%YAML:1.0\n---\n", "holds 'nothing', which is no SVM"),
        (b"%YAML:1.0\n" + b"".join(b" " * n + b"a:\n" for n in range(200)), "more than 100 blocks"),
        (b"%YAML:1.0\n\xff", r"m:2: '\\xff' does not stand in what OpenCV writes"),
        (b"<opencv_storage/>", "holds 'nothing', which is no SVM"),
    ],
)
def test_other_bytes(content, message):
    with pytest.raises((ReadError, UnsupportedError), match=message):
        read_content("m", content, "opencv")
