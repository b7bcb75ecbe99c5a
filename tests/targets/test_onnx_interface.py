"""What an ONNX graph takes and gives: names, order, types, shapes, opsets, maps; and how it is told."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from programs.lists import RECIPES, list_program
from programs.trees import axis_route, random_children
from sklearn.svm import SVC, SVR
from targets.onnx_cases import content
from targets.test_onnx_guard import guarded
from targets.test_onnx_trees import random_of, routed

import svmcompile as sc
from svmcompile.errors import OptionError, ReadError
from svmcompile.runtime.onnx import load_onnx
from svmcompile.targets.onnx.options import IR_VERSIONS, OPSET

ROWS = np.random.default_rng(0).normal(size=(120, 4)).astype(np.float32)
CLASSES = np.random.default_rng(1).integers(0, 3, 120)
NAMES = np.array(["no", "yes", "maybe"])


def model_of(labels: Any = CLASSES, **options: Any) -> SVC:
    return SVC(random_state=0, **options).fit(ROWS, labels)


MODEL = model_of(probability=True)
PROGRAM = sc.compile(MODEL)


def graph_of(program: Any = PROGRAM, **options: Any) -> Any:
    return onnx.load_from_string(sc.emit(program, "onnx", "m", **options)["m.onnx"])


def ends(model: Any) -> tuple[list[str], list[str]]:
    return [value.name for value in model.graph.input], [value.name for value in model.graph.output]


def run(model: Any, rows: Any = ROWS) -> list[Any]:
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return list(session.run(None, {session.get_inputs()[0].name: rows}))


# names and order


def test_names_and_order_are_those_of_skl2onnx() -> None:
    skl2onnx = pytest.importorskip("skl2onnx")
    theirs = ends(skl2onnx.to_onnx(MODEL, ROWS[:1], options={"zipmap": False}))
    ours = ends(graph_of())
    assert theirs == (["X"], ["label", "probabilities"])
    assert ours == (["X"], ["label", "probabilities", "scores"])


def test_old_and_own_names() -> None:
    assert ends(graph_of(onnx_names="old")) == (["x"], ["scores", "label", "probabilities"])
    own = {"input": "rows", "label": "class"}
    for given in (own, "input=rows, label=class"):
        assert ends(graph_of(onnx_names=given)) == (["rows"], ["class", "probabilities", "scores"])
    assert ends(graph_of(onnx_outputs="probabilities,label"))[1] == ["probabilities", "label"]
    assert ends(graph_of(sc.compile(SVR().fit(ROWS, ROWS[:, 0]))))[1] == ["value"]


@pytest.mark.parametrize(
    "options",
    [
        {"onnx_names": "old"},
        {"onnx_names": "label=scores,scores=label"},
        {"zipmap": True},
        {"onnx_batch": 7},
        {"onnx_batch": 500},
        {"onnx_input": "float64"},
        {"onnx_input": "float32", "precision": "f64"},
    ],
    ids=str,
)
def test_our_loader_follows_meanings_whatever_the_graph_calls_them(options: dict[str, Any]) -> None:
    usual = load_onnx(sc.emit(PROGRAM, "onnx", "m")["m.onnx"], PROGRAM.labels, 4)
    other = load_onnx(sc.emit(PROGRAM, "onnx", "m", **options)["m.onnx"], PROGRAM.labels, 4)
    assert other.precision == options.get("precision", "f32")
    for function in ("predict", "predict_proba", "decision_function"):
        for count in (120, 1, 0):
            found, wanted = (getattr(one, function)(ROWS[:count]) for one in (other, usual))
            assert found.shape == wanted.shape
            np.testing.assert_allclose(found, wanted, atol=2e-6)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"onnx_names": "lable=y"}, "did you mean 'label'"),
        ({"onnx_names": "new"}, "unknown set of ONNX names"),
        ({"onnx_names": "input=a,label=a"}, "two of the names are the same"),
        ({"onnx_names": {"label": "constant_0"}}, "inside the graph"),
        ({"onnx_outputs": "value"}, "has no output 'value'"),
        ({"onnx_outputs": "labels"}, "did you mean 'label'"),
        ({"onnx_outputs": "label", "zipmap": True}, "zipmap is about probabilities"),
        ({"opset": 14}, "opset 14 is not within 15 and 22"),
        ({"onnx_form": "fast"}, "unknown ONNX form 'fast'"),
        ({"onnx_input": "float16"}, "unknown ONNX input type"),
        ({"onnx_batch": -1}, "at least 0"),
        ({"opsett": 17}, "did you mean 'opset'"),
        ({"opset": 18, "target": "c"}, "for target onnx alone"),
    ],
)
def test_options_that_make_no_sense(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        sc.emit(PROGRAM, **{"target": "onnx", "name": "m", **options})


# maps


@pytest.mark.parametrize("labels", [CLASSES, NAMES[CLASSES]], ids=["whole", "text"])
def test_maps_are_those_of_skl2onnx(labels: Any) -> None:
    skl2onnx = pytest.importorskip("skl2onnx")
    model = model_of(labels, probability=True)
    theirs = skl2onnx.to_onnx(model, ROWS[:1])
    ours = graph_of(sc.compile(model), zipmap=True)
    onnx.checker.check_model(ours, full_check=True)
    assert ends(ours)[1] == [*ends(theirs)[1], "scores"]
    assert [str(value.type) for value in ours.graph.output[1:2]] == [
        str(value.type) for value in theirs.graph.output[1:2]
    ]
    (label, maps, _), (their_label, their_maps) = run(ours), run(theirs)
    assert label.tolist() == their_label.tolist()
    assert [list(one) for one in maps] == [list(one) for one in their_maps]
    np.testing.assert_allclose(
        [[*one.values()] for one in maps], [[*one.values()] for one in their_maps], atol=3e-6
    )


def test_maps_need_probabilities_and_keys_that_onnx_knows() -> None:
    with pytest.raises(OptionError, match="has none"):
        graph_of(sc.compile(model_of()), zipmap=True)
    with pytest.raises(OptionError, match="text or whole numbers"):
        graph_of(sc.compile(model_of(CLASSES.astype(float), probability=True)), zipmap=True)


# types and shapes


def test_rows_in_double_give_the_answers_of_their_float32() -> None:
    narrow, wide = graph_of(), graph_of(onnx_input="float64")
    assert wide.graph.input[0].type.tensor_type.elem_type == onnx.TensorProto.DOUBLE
    for one, other in zip(run(narrow), run(wide, ROWS.astype(np.float64)), strict=True):
        assert one.dtype == other.dtype
        assert one.tolist() == other.tolist()


def test_a_fixed_number_of_rows() -> None:
    model = graph_of(onnx_batch=8)
    onnx.checker.check_model(model, full_check=True)
    shapes = [value.type.tensor_type.shape.dim for value in (*model.graph.input, *model.graph.output)]
    assert [[dim.dim_value for dim in shape] for shape in shapes] == [[8, 4], [8], [8, 3], [8, 3]]
    assert len(run(model, ROWS[:8])[0]) == 8
    with pytest.raises(Exception, match=r"[Gg]ot: 9 [Ee]xpected: 8"):
        run(model, ROWS[:9])


def programs() -> dict[str, Any]:
    """Every operator whose signature an opset changed, and those of ai.onnx.ml."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import Normalizer

    random = random_of("opsets")
    scaled = make_pipeline(Normalizer("max"), SVC()).fit(ROWS, CLASSES)
    return {
        "coupled": PROGRAM,
        "normalized": sc.compile(scaled),
        "staged": sc.compile(SVC(C=3).fit(ROWS, CLASSES > 1), method="anytime", X=ROWS),
        "leaves": routed(axis_route, random_children(random, 70), 3, m=3, most=4),
        "lists": list_program(RECIPES["pairs"]),
        "guard": guarded("vote", 0.3),
        "largest": guarded("argmax", 0.3),
    }


PROGRAMS = programs()


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("form", ["auto", "plain"])
def test_every_opset(name: str, form: str) -> None:
    program = PROGRAMS[name]
    rows = np.random.default_rng(2).normal(size=(9, program.n_features)).astype(np.float32)
    found = {}
    for opset, ir_version in IR_VERSIONS.items():
        model = onnx.load_from_string(content(program, "f32", opset=opset, onnx_form=form))
        assert model.ir_version == ir_version
        versions = {entry.domain: entry.version for entry in model.opset_import}
        assert versions[""] == opset
        assert form == "auto" or versions == {"": opset}
        found[opset] = run(model, rows)
    for values in found.values():
        for one, usual in zip(values, found[OPSET], strict=True):
            np.testing.assert_allclose(one, usual, rtol=1e-6, atol=1e-6)


# what is told


def test_the_model_tells_what_it_is_and_how_well_it_does() -> None:
    model = graph_of(X=ROWS, model=MODEL, doc_string="Ours.", model_version=3)
    told = {entry.key: entry.value for entry in model.metadata_props}
    assert json.loads(told["agreement"]) == 1.0
    assert json.loads(told["rows"]) == 120
    assert (told["method"], told["claim"]) == ("exact", "EXACT")
    assert json.loads(told["outputs"]) == {name: name for name in ("label", "probabilities", "scores")}
    assert model.model_version == 3
    assert model.doc_string.startswith("Ours.\nscikit-learn SVC, compiled by svmcompile")
    assert "Input X: rows of 4 features.\nOutput label: " in model.doc_string
    assert "agreement" not in {entry.key for entry in graph_of().metadata_props}


def test_the_reference_refuses_probabilities_that_it_gets_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    usual, plain = (
        load_onnx(sc.emit(PROGRAM, "onnx", "m", onnx_form=form)["m.onnx"], PROGRAM.labels, 4)
        for form in ("auto", "plain")
    )
    assert usual.predict(ROWS[:5]).tolist() == MODEL.predict(ROWS[:5]).tolist()
    with pytest.raises(ReadError, match="--onnx-form plain"):
        usual.predict_proba(ROWS[:5])
    np.testing.assert_allclose(plain.predict_proba(ROWS[:5]), MODEL.predict_proba(ROWS[:5]), atol=1e-6)


# Triton


def test_triton_is_told_the_tensors_of_the_graph() -> None:
    files = sc.emit(PROGRAM, "onnx", "m", kit="triton")
    config = str(files["triton/m/config.pbtxt"])
    assert files["triton/m/1/model.onnx"] == files["m.onnx"]
    lines = [line.strip() for line in config.splitlines()]
    assert 'name: "m"' in lines
    assert "max_batch_size: 1024" in lines
    told = list(zip(lines, lines[1:], lines[2:], strict=False))
    for wanted in (
        ('name: "X"', "data_type: TYPE_FP32", "dims: [ 4 ]"),
        ('name: "label"', "data_type: TYPE_INT64", "dims: [ 1 ]"),
        ('name: "probabilities"', "data_type: TYPE_FP32", "dims: [ 3 ]"),
    ):
        assert wanted in told
    assert lines.count("reshape: { shape: [ ] }") == 1  # the label, which has no second dimension
    text = sc.compile(model_of(NAMES[CLASSES]))
    fixed = str(sc.emit(text, "onnx", "m", kit="triton", onnx_batch=8)["triton/m/config.pbtxt"])
    assert "max_batch_size: 0" in fixed
    assert "dims: [ 8, 4 ]" in fixed
    assert "TYPE_STRING" in fixed
    assert "dynamic_batching" not in fixed


def test_triton_needs_a_graph_of_tensors() -> None:
    with pytest.raises(OptionError, match="add target onnx"):
        sc.emit(PROGRAM, "c", "m", kit="triton")
    with pytest.raises(OptionError, match="leave out zipmap"):
        sc.emit(PROGRAM, "onnx", "m", kit="triton", zipmap=True)
