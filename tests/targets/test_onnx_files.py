"""ONNX files as files: well formed, reproducible, documented, and loadable."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

from svmcompile import __version__
from svmcompile.accelerate.registry import accelerate
from svmcompile.errors import OptionError, ReadError, UnsupportedError
from svmcompile.ir import nodes as ir
from svmcompile.ir.kernel import Kernel, KernelKind
from svmcompile.ir.program import Claim, Input, Labels, Origin, Output, Program
from svmcompile.model.front import clip, scale
from svmcompile.model.svm import SVM, LabelRule, Source
from svmcompile.runtime.onnx import load_onnx
from svmcompile.targets.onnx.model import emit
from svmcompile.targets.onnx.options import OnnxKeywords, OnnxOptions, texts

HOSTILE = ("; DROP", '"]}\\', "newline\n\ttab", "ünï\u2028✓", "</script>", "%s{0}")
LABELS: dict[str, tuple[Any, ...]] = {
    "string": HOSTILE,
    "int": (-1, 0, 5, 7, 8, 9),
    "float": (0.5, 1.0, 2.0, 3.0, 4.0, 5.0),
    "inexact": (0.1, 0.2, 0.3, 0.4, 0.5, 0.6),
    "bool": (False, True),
    "regression": (),
}
KINDS: tuple[KernelKind, ...] = ("linear", "poly", "rbf", "sigmoid")


def svm(kind: KernelKind = "rbf", labels: tuple[Any, ...] = (1, 2, 3), per_class: int = 4) -> SVM:
    """Random numbers in the form of a model; two steps of preprocessing."""
    k, d, rng = len(labels), 5, np.random.default_rng(0)
    counts = (per_class,) * k if k > 2 else ()
    n, rows, sums = per_class * max(k, 1), k - 1 if counts else 1, k * (k - 1) // 2 if counts else 1
    rule = LabelRule.VOTE if counts else LabelRule.NEGATIVE_FIRST if labels else LabelRule.NONE
    return SVM(
        kernel=Kernel(kind, 0.3, 0.5, 3),
        vectors=rng.normal(size=(n, d)),
        coefficients=rng.normal(size=(rows, n)),
        intercepts=rng.normal(size=sums),
        label_rule=rule,
        source=Source("test", "0123abcd"),
        labels=Labels.of(np.array(labels), "test") if labels else None,
        counts=counts,
        one_vs_rest_scores=bool(counts),
        front=scale(rng.normal(size=d), np.full(d, 0.7)).then(clip(-2.0, 2.0)),
    ).check("test")


def quadratic() -> Program:
    rng = np.random.default_rng(0)
    tables = {"q": rng.normal(size=(2, 15)), "w": rng.normal(size=(2, 5)), "b": np.ones(2), "c": np.ones(5)}
    body = (ir.Quadratic("sums", "x", "q", "w", "b", "c"), ir.ArgMax("label", "sums"))
    outputs = (Output("scores", "sums"), Output("label", "label"))
    origin = Origin("test", "00", 0, 0, "exact", Claim.APPROXIMATE)
    return Program(Input(5), body, outputs, tables, Labels((0, 1), "<i8"), origin)


def programs() -> dict[str, Program]:
    """One of each kind of graph."""
    models = {kind: svm(kind) for kind in KINDS}
    models |= {name: svm("rbf", labels) for name, labels in LABELS.items()}
    models["by-class"] = svm("rbf", tuple(range(6)), 170)
    made = {name: accelerate(model, None, "exact", {}) for name, model in models.items()}
    return made | {"quadratic": quadratic()}


PROGRAMS = programs()
each_graph = pytest.mark.parametrize("name", PROGRAMS)
each_precision = pytest.mark.parametrize("precision", ["f32", "f64"])


def content(program: Program, precision: Any = "f64", **options: Any) -> bytes:
    (data,) = emit(program, "model", precision, OnnxOptions(**options)).values()
    return data


@each_graph
@each_precision
@pytest.mark.parametrize("form", ["auto", "plain"])
def test_graph_is_well_formed(name: str, precision: str, form: str) -> None:
    model = onnx.load_from_string(content(PROGRAMS[name], precision, onnx_form=form))
    onnx.checker.check_model(model, full_check=True)
    onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True, data_prop=True)
    assert model.ir_version == 8
    operators = [node for node in model.graph.node if node.domain]
    domains = [("", 17)] + [("ai.onnx.ml", 3)] * bool(operators)
    assert [(entry.domain, entry.version) for entry in model.opset_import] == domains
    assert not (operators and form == "plain")
    read = {name for node in model.graph.node for name in node.input}
    assert {tensor.name for tensor in model.graph.initializer} <= read
    made = {name for node in model.graph.node for name in node.output}
    labels = {node.output[0] for node in operators}  # some of which no one wants
    outputs = {output.name for output in model.graph.output}
    assert made - read - labels <= outputs <= made


@each_precision
def test_tanh_does_not_follow_a_product(precision: str) -> None:
    """ONNX Runtime 1.16 joins the two into an operator that it lacks in double."""
    nodes = onnx.load_from_string(content(PROGRAMS["sigmoid"], precision)).graph.node
    maker = {name: node.op_type for node in nodes for name in node.output}
    assert [maker[node.input[0]] for node in nodes if node.op_type == "Tanh"] == ["Neg"]


@each_precision
def test_outputs_have_the_promised_names_shapes_and_types(precision: str) -> None:
    number = onnx.TensorProto.FLOAT if precision == "f32" else onnx.TensorProto.DOUBLE
    wanted = {
        "string": {"label": (onnx.TensorProto.STRING, ["N"]), "scores": (number, ["N", 6])},
        "int": {"label": (onnx.TensorProto.INT64, ["N"]), "scores": (number, ["N", 6])},
        "float": {"label": (number, ["N"]), "scores": (number, ["N", 6])},
        "inexact": {"label": (onnx.TensorProto.DOUBLE, ["N"]), "scores": (number, ["N", 6])},
        "bool": {"label": (onnx.TensorProto.BOOL, ["N"]), "scores": (number, ["N", 1])},
        "regression": {"value": (number, ["N"])},
    }
    for name, outputs in wanted.items():
        graph = onnx.load_from_string(content(PROGRAMS[name], precision)).graph
        assert _signature(graph.input) == {"X": (number, ["N", 5])}
        assert _signature(graph.output) == outputs


def _signature(values: Any) -> dict[str, tuple[int, list[str | int]]]:
    tensors = {value.name: value.type.tensor_type for value in values}
    return {
        name: (tensor.elem_type, [dim.dim_param or dim.dim_value for dim in tensor.shape.dim])
        for name, tensor in tensors.items()
    }


@each_graph
@each_precision
def test_reference_evaluator_agrees(name: str, precision: str) -> None:
    program = PROGRAMS[name]
    compiled = load_onnx(content(program, precision), program.labels, 5)
    rows = np.random.default_rng(1).normal(size=(37, 5)).astype(compiled.number)
    reference = ReferenceEvaluator(onnx.load_from_string(content(program, precision)))
    found = compiled.outputs(rows)
    for output, value in zip(reference.output_names, reference.run(None, {"X": rows}), strict=True):
        if output == "label":
            assert found["label"].tolist() == value.tolist()
        else:
            np.testing.assert_allclose(found[output], value, atol=1e-5 if precision == "f32" else 1e-12)


REPEAT = """
import hashlib, numpy as np
from svmcompile.accelerate.registry import accelerate
from svmcompile.targets.onnx.model import emit
from svmcompile.ir.kernel import Kernel
from svmcompile.ir.program import (Labels)
from svmcompile.model.svm import SVM, LabelRule, Source
rng = np.random.default_rng(0)
svm = SVM(Kernel("rbf", 0.5), rng.normal(size=(1200, 3)), rng.normal(size=(5, 1200)), rng.normal(size=15),
          LabelRule.VOTE, Source("t", "0"), Labels(tuple("abcdef"), "<U1"), (200,) * 6, True)
program = accelerate(svm, None, "exact", {})
for precision in ("f32", "f64"):
    print(hashlib.sha256(emit(program, "m", precision)["m.onnx"]).hexdigest())
"""


def test_same_bytes_in_every_process() -> None:
    outputs = []
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
        outputs.append(subprocess.check_output([sys.executable, "-c", REPEAT], env=environment))
    assert outputs[0] == outputs[1]
    assert len(set(outputs[0].split())) == 2


def test_metadata_tells_the_origin() -> None:
    names = tuple(HOSTILE[:5])
    program = PROGRAMS["string"].replace(input=Input(5, "x", names))
    model = onnx.load_from_string(content(program, "f32"))
    entries = {entry.key: entry.value for entry in model.metadata_props}
    assert json.loads(entries.pop("labels")) == list(HOSTILE)
    assert json.loads(entries.pop("feature_names")) == list(names)
    assert json.loads(entries.pop("outputs")) == {"label": "label", "scores": "scores"}
    assert entries == {
        "producer": f"svmcompile {__version__}",
        "source": "test",
        "source_sha256": "0123abcd",
        "method": "exact",
        "claim": "EXACT",
        "precision": "f32",
    }
    assert (model.producer_name, model.producer_version) == ("svmcompile", __version__)


def test_hostile_labels_come_back_unharmed() -> None:
    program = PROGRAMS["string"]
    assert program.labels is not None
    for shift in range(len(HOSTILE)):  # so that each of them is met, whichever class wins
        values = HOSTILE[shift:] + HOSTILE[:shift]
        turned = program.replace(labels=Labels(values, program.labels.dtype))
        found = load_onnx(content(turned), turned.labels, 5).predict(np.zeros((1, 5)))
        assert found.tolist() == turned.predict(np.zeros((1, 5))).tolist()


# load


def test_load_runs_in_onnxruntime_or_else_in_the_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.random.default_rng(1).normal(size=(37, 5))
    for name in ("string", "bool", "regression"):
        program = PROGRAMS[name]
        fast = load_onnx(content(program), program.labels, 5)
        assert fast.backend.startswith("onnxruntime ")
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, "onnxruntime", None)
            slow = load_onnx(content(program), program.labels, 5)
        assert slow.backend == "onnx reference"
        for count in (37, 1, 0):
            found, wanted = slow.predict(rows[:count]), fast.predict(rows[:count])
            assert found.dtype == wanted.dtype
            if name == "regression":
                np.testing.assert_allclose(found, wanted)
            else:
                assert found.tolist() == wanted.tolist()


def test_load_from_a_path_and_predict_like_scikit_learn(tmp_path: Path) -> None:
    program = PROGRAMS["bool"]
    path = tmp_path / "model.onnx"
    path.write_bytes(content(program, "f32"))
    model = load_onnx(path, program.labels, 5)
    rows = np.random.default_rng(1).normal(size=(2500, 5))
    before = rows.copy()
    assert (model.predict(rows.tolist()) == program.predict(rows)).mean() > 0.999
    assert model.decision_function(rows).shape == (2500,)
    assert (rows == before).all()
    with pytest.raises(OptionError, match="5"):
        model.predict(rows[:, :4])


def test_load_says_what_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="missing"):
        load_onnx(tmp_path / "missing.onnx", None, 5)
    with pytest.raises(ReadError, match="cannot load"):
        load_onnx(b"not a model", None, 5)
    with pytest.raises(UnsupportedError, match="predict"):
        load_onnx(content(PROGRAMS["regression"]), None, 5).decision_function(np.zeros((1, 5)))


def test_type_checkers_know_every_option() -> None:
    assert list(OnnxKeywords.__annotations__) == list(texts())
