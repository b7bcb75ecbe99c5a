"""Damaged and hostile ONNX files end in an error that names the problem, and never in another way."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper
from onnx_files import CLASSIFIER, ML, classifier, converted, edited, model
from read_cases import blobs, program_of, queries
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import svmcompile as sc
from svmcompile.errors import ReadError, SvmCompileError, UnsupportedError
from svmcompile.read import read

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")  # skl2onnx asks SVC for probA_


def reading(tmp_path, content):
    (tmp_path / "a.onnx").write_bytes(content)
    return read(tmp_path / "a.onnx")


def test_the_model_that_is_damaged_below_is_sound(tmp_path):
    svm = reading(tmp_path, classifier())
    rows = queries(20, n_features=2)
    kernel = np.exp(-0.5 * ((rows[:, None] - [[1, 2], [-1, 0.5]]) ** 2).sum(axis=2))
    np.testing.assert_allclose(program_of(svm).decision_function(rows), -(kernel @ [1, -1] + 0.25))
    assert svm.labels.values == (3, 5)


BROKEN = {
    "too few coefficients": ({"coefficients": [1.0]}, "coefficients has 1 values, expected 2"),
    "too many rho": ({"rho": [1.0, 2.0]}, "rho has 2 values, expected 1"),
    "no rho": ({"rho": None}, "rho has 0 values"),
    "ragged vectors": ({"support_vectors": [1.0, 2.0, 3.0]}, "3 numbers in support_vectors"),
    "no vectors": ({"support_vectors": None}, "vectors_per_class"),
    "vectors do not add up": ({"vectors_per_class": [1, 2]}, "coefficients has 2 values"),
    "negative count": ({"vectors_per_class": [3, -1]}, "vectors_per_class is"),
    "counts that overflow": ({"vectors_per_class": [2**62, 2**62]}, "vectors_per_class is"),
    "other number of classes": ({"vectors_per_class": [1, 1, 0]}, "vectors_per_class has 3 values"),
    "liblinear": ({"vectors_per_class": None}, "LIBLINEAR"),
    "one class": ({"classlabels_ints": [1]}, "1 classes"),
    "a label twice": ({"classlabels_ints": [1, 1]}, "appears twice"),
    "two kinds of label": ({"classlabels_strings": ["a", "b"]}, "either"),
    "kernel": ({"kernel_type": "COSINE"}, "'COSINE' is not known"),
    "no parameters": ({"kernel_params": None}, "kernel_params has 0 values"),
    "NaN gamma": ({"kernel_params": [np.nan, 0.0, 3.0]}, "gamma is nan"),
    "half a degree": ({"kernel_type": "POLY", "kernel_params": [1.0, 0.0, 2.5]}, "degree is 2.5"),
    "infinite vector": ({"support_vectors": [np.inf, 2.0, 1.0, 1.0]}, "hold a NaN or an infinity"),
    "NaN coefficient": ({"coefficients": [np.nan, 1.0]}, "coefficients hold a NaN"),
    "softmax": ({"post_transform": "SOFTMAX"}, "post_transform"),
    "prob_a alone": ({"prob_a": [1.0]}, "prob_b has 0 values"),
    "wrong type": ({"rho": [1, 2]}, "rho has a wrong type"),
    "unknown attribute": ({"shrinking": 1}, '"shrinking", which is not known'),
    "width": ({"support_vectors": [1.0, 2.0]}, "given 2 columns, it has 1 features"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_attributes_that_do_not_fit(tmp_path, name):
    changes, message = BROKEN[name]
    with pytest.raises((ReadError, UnsupportedError), match=message):
        reading(tmp_path, classifier(**changes))


def test_attributes_of_functions(tmp_path, sound):
    model = onnx.load_from_string(sound)
    attributes = [one for node in model.graph.node for one in node.attribute]
    assert attributes
    for attribute in attributes:
        attribute.ref_attr_name = "other"
        with pytest.raises(ReadError, match="only a function can give"):
            reading(tmp_path, model.SerializeToString())
        attribute.ClearField("ref_attr_name")


def node(kind, inputs, output, domain="", **attributes):
    return helper.make_node(kind, inputs, [output], domain=domain, **attributes)


def constant(name, *values):
    return numpy_helper.from_array(np.array(values, dtype=np.float32), name)


def whole(name, *values):
    return numpy_helper.from_array(np.array(values, dtype=np.int64), name)


SVM_NODE = helper.make_node("SVMClassifier", ["Z"], ["label", "scores"], domain=ML, **CLASSIFIER)
IN_FRONT = {
    "unknown operator": ([node("Sin", ["X"], "Z")], (), '"Sin" in front of the SVM is not supported'),
    "no constant": ([node("Mul", ["X", "X"], "Z")], (), "is not a constant"),
    "odd shape": ([node("Mul", ["X", "c"], "Z")], (constant("c", 1, 2, 3),), "constant of shape"),
    "division by zero": ([node("Div", ["X", "c"], "Z")], (constant("c", 0, 1),), "by zero"),
    "NaN": ([node("Mul", ["X", "c"], "Z")], (constant("c", np.nan),), "NaN or an infinity"),
    "cast": ([node("Cast", ["X"], "Z", to=TensorProto.INT64)], (), "Cast of features"),
    "bounds": ([node("Clip", ["X", "a", "b"], "Z")], (constant("a", 2), constant("b", 1)), "Clip between"),
    "made later": ([node("Neg", ["later"], "Z")], (), 'reads "later" before'),
    "by itself": ([node("Neg", ["X"], "n"), node("Div", ["X", "n"], "Z")], (), "neither a constant nor"),
    "no norm": ([node("Abs", ["X"], "n"), node("Div", ["X", "n"], "Z")], (), "neither a constant nor"),
    "matrix": ([node("MatMul", ["X", "c"], "Z")], (constant("c", [1], [2], [3]),), "shape \\(3, 1\\)"),
    "columns": (
        [node("Gather", ["X", "c"], "Z", axis=1)],
        (whole("c", 0, 2),),
        "columns that are not there",
    ),
    "rows": ([node("Gather", ["X", "c"], "Z", axis=0)], (whole("c", 0, 1),), "does not pick columns"),
    "largest": ([node("Normalizer", ["X"], "Z", ML, norm="MAX")], (), "largest value"),
    "too wide": ([node("Concat", ["X", "X"], "Z", axis=1)], (), "given 4 columns"),
    "sideways": ([node("Concat", ["X", "X"], "Z", axis=0)], (), "does not join columns"),
    "other domain": ([node("Mul", ["X"], "Z", domain="com.microsoft")], (), "com.microsoft"),
}


@pytest.mark.parametrize("name", IN_FRONT)
def test_nodes_in_front_that_are_not_read(tmp_path, name):
    nodes, constants, message = IN_FRONT[name]
    with pytest.raises((ReadError, UnsupportedError), match=message):
        reading(tmp_path, model([*nodes, SVM_NODE], ["label", "scores"], constants))


def doubled(times, narrow):
    """Each node makes twice as much as the one before, and may throw half of it away again."""
    nodes, value = [], "X"
    for i in range(times):
        nodes.append(node("Concat", [value, value], f"c{i}", axis=1))
        value = f"c{i}"
        if narrow:
            nodes += [node("Mul", [value, "two"], f"m{i}"), node("Gather", [f"m{i}", "k"], f"g{i}", axis=1)]
            value = f"g{i}"
    return [*nodes, node("Identity", [value], "Z"), SVM_NODE]


@pytest.mark.parametrize("narrow", [False, True])
def test_what_grows_without_end_is_refused_at_once(tmp_path, narrow):
    constants = (constant("two", 2), whole("k", 0, 1))
    with pytest.raises(UnsupportedError, match="more than"):
        reading(tmp_path, model(doubled(60, narrow), ["label"], constants))


def test_an_input_that_claims_to_be_huge(tmp_path):
    with pytest.raises((ReadError, UnsupportedError), match=r"features|columns"):
        reading(tmp_path, model([node("Identity", ["X"], "Z"), SVM_NODE], ["label"], width=2**60))


def test_long_chains_are_refused_before_they_are_followed(tmp_path):
    nodes = [node("Identity", ["X"], "i0")]
    nodes += [node("Identity", [f"i{i}"], f"i{i + 1}") for i in range(5000)]
    with pytest.raises(UnsupportedError, match="more than 200 steps"):
        reading(tmp_path, model([*nodes, node("Identity", ["i5000"], "Z"), SVM_NODE], ["label"]))


def test_cycles_and_values_made_twice(tmp_path):
    circle = [node("Identity", ["Z"], "Y"), node("Identity", ["Y"], "Z"), SVM_NODE]
    with pytest.raises(ReadError, match="before it is made"):
        reading(tmp_path, model(circle, ["label"]))
    twice = [node("Identity", ["X"], "Z"), node("Identity", ["X"], "Z"), SVM_NODE]
    with pytest.raises(ReadError, match="made twice"):
        reading(tmp_path, model(twice, ["label"]))


def test_nodes_behind_that_are_not_read(tmp_path):
    front = node("Identity", ["X"], "Z")
    bomb = [node("Concat", ["scores", "scores"], "c0", axis=1)]
    bomb += [node("Concat", [f"c{i}", f"c{i}"], f"c{i + 1}", axis=1) for i in range(60)]
    for behind, outputs in (
        (bomb, ["label", "c60"]),
        ([node("Exp", ["scores"], "e")], ["label", "e"]),
        ([node("Neg", ["label"], "other")], ["other", "scores"]),
        ([], ["scores"]),
        ([], ["label", "X"]),
        ([node("Cast", ["label"], "text", to=TensorProto.STRING)], ["text", "scores"]),
    ):
        with pytest.raises(
            (ReadError, UnsupportedError), match=r"behind the SVM|outputs|Cast of the label"
        ):
            reading(tmp_path, model([front, SVM_NODE, *behind], outputs))


def test_constants_that_lie_about_themselves(tmp_path):
    nodes = [node("Mul", ["X", "c"], "Z"), SVM_NODE]
    huge = TensorProto(name="c", data_type=1, dims=[2**31, 2**31], raw_data=b"1234")
    negative = TensorProto(name="c", data_type=1, dims=[-2], raw_data=b"12345678")
    short = TensorProto(name="c", data_type=1, dims=[2], raw_data=b"1234")
    kind = TensorProto(name="c", data_type=99, dims=[1], raw_data=b"1234")
    outside = TensorProto(name="c", data_type=1, dims=[2], data_location=1)
    outside.external_data.add(key="location", value="/etc/passwd")
    for tensor in (huge, negative, short, kind, outside):
        with pytest.raises((ReadError, UnsupportedError), match='constant "c"'):
            reading(tmp_path, model(nodes, ["label"], (tensor,)))


def test_nodes_that_compute_something_else_are_found_out(tmp_path):
    """The check by running is alive: a tail that is not what it looks like does not pass."""
    X, y = blobs(3)
    content = converted(SVC().fit(X, y), X, zipmap=False)

    def swap(proto):
        join = next(one for one in proto.graph.node if one.op_type == "Concat")
        join.input[0], join.input[1] = join.input[1], join.input[0]

    with pytest.raises(ReadError, match="scores by class differ"):
        reading(tmp_path, edited(content, swap))


def test_models_of_other_kinds(tmp_path):
    X, y = blobs(3)
    for estimator, message in (
        (RandomForestClassifier(3), "without an SVM node"),
        (LogisticRegression(), "post_transform"),
        (CalibratedClassifierCV(SVC(), cv=2), "SVM nodes"),
        (OneVsRestClassifier(SVC()), "3 SVM nodes"),
    ):
        with pytest.raises(UnsupportedError, match=message):
            reading(tmp_path, converted(estimator.fit(X, y), X))


def test_our_own_onnx_is_named(tmp_path):
    X, y = blobs(3)
    files = sc.emit(sc.compile(SVC().fit(X, y)), "onnx", "own")
    with pytest.raises(ReadError, match=r"that svmcompile made.*\.svmc"):
        reading(tmp_path, files["own.onnx"])


@pytest.fixture(scope="module")
def sound():
    X, y = blobs(3, n_rows=30)
    return converted(make_pipeline(StandardScaler(), SVC()).fit(X, y), X)


def test_cut_off_files(tmp_path, sound):
    for length in range(1, len(sound), 97):
        with pytest.raises((ReadError, UnsupportedError)):
            reading(tmp_path, sound[:length])


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_changed_bytes_give_a_model_or_an_error(tmp_path_factory, sound, data):
    """Any bytes may come; only errors made on purpose may leave."""
    content = bytearray(sound)
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(content) - 1))
        content[place] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.mktemp("damaged")
    try:
        svm = reading(path, bytes(content))
    except SvmCompileError:
        return
    assert np.isfinite(svm.vectors).all() and svm.n_features == 5


def test_a_change_of_one_number_is_read_as_it_is(tmp_path, sound):
    """Reading follows the file, not what was trained."""

    def shift(proto):
        for one in proto.graph.node:
            for attribute in one.attribute:
                if attribute.name == "rho":
                    attribute.floats[0] += 100

    before, after = reading(tmp_path, sound), reading(tmp_path, edited(sound, shift))
    assert after.intercepts[0] == pytest.approx(before.intercepts[0] + 100)
    assert onnx.load_from_string(sound).graph.node[0].op_type == "Scaler"
