"""Each node in ONNX against the interpreter: odd rows, odd models, no training needed."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

from svmcompile.errors import EmitError
from svmcompile.ir import nodes as ir
from svmcompile.ir.check import check
from svmcompile.ir.interpret import interpret
from svmcompile.ir.kernel import Kernel
from svmcompile.ir.nodes import Level
from svmcompile.ir.program import Claim, Input, Labels, Origin, Output, Program
from svmcompile.runtime.onnx import load_onnx
from svmcompile.targets.onnx.model import emit
from svmcompile.targets.onnx.nodes import build
from svmcompile.targets.onnx.nodes import sums as onnx_sums
from svmcompile.targets.onnx.options import FORMS, OnnxOptions

PRECISIONS = ("f32", "f64")
KERNELS = {
    "linear": Kernel("linear"),
    "poly": Kernel("poly", 0.5, 1.0, 3),
    "poly-6": Kernel("poly", 0.5, -0.5, 6),
    "rbf": Kernel("rbf", 0.7),
    "sigmoid": Kernel("sigmoid", 0.4, 0.1),
}
D = 4


def hand_made(body: Any, tables: Any, outputs: Any, classes: int = 0, width: int = D) -> Program:
    """A program from its parts, labels 0, 1, 2 ..."""
    labels = Labels(tuple(range(classes)), "<i8") if classes else None
    origin = Origin("test", "00", 0, 0, "exact", Claim.EXACT)
    named = tuple(Output(name, value) for name, value in outputs.items())
    arrays = {name: np.asarray(table, dtype=np.float64) for name, table in tables.items()}
    return check(Program(Input(width), tuple(body), named, arrays, labels, origin))


def kernel_program(kernel: Kernel, n: int = 20, scale: float = 1.0) -> Program:
    """Three sums and the largest wins."""
    rng = np.random.default_rng(1)
    tables = {"s": scale * rng.normal(size=(n, D)), "w": rng.normal(size=(3, n)), "b": rng.normal(size=3)}
    body = [ir.KernelSum("sums", "x", "s", "w", "b", kernel), ir.ArgMax("label", "sums")]
    return hand_made(body, tables, {"scores": "sums", "label": "label"}, 3)


def pair_program(kernel: Kernel, counts: tuple[int, ...]) -> Program:
    """Pair sums, scikit-learn's scores and LIBSVM's vote."""
    rng, k, n = np.random.default_rng(2), len(counts), sum(counts)
    tables = {
        "s": rng.normal(size=(n, D)),
        "w": rng.normal(size=(k - 1, n)),
        "b": rng.normal(size=k * (k - 1) // 2),
    }
    body = [
        ir.PairSum("sums", "x", "s", "w", "b", counts, kernel),
        ir.OvrScores("scores", "sums", k),
        ir.Vote("label", "sums", k),
    ]
    return hand_made(body, tables, {"scores": "scores", "label": "label"}, k)


def compare(program: Program, rows: Any, precision: str, tolerance: float) -> None:
    """Outputs equal the interpreter's: NaN in the same places, labels the same."""
    number = np.float32 if precision == "f32" else np.float64
    rows = np.asarray(rows, number).astype(np.float64)
    given: Any = precision
    contents = {emit(program, "m", given, OnnxOptions(onnx_form=form))["m.onnx"] for form in FORMS}
    wanted = interpret(program, rows)
    for content in sorted(contents):
        found = load_onnx(content, program.labels, program.n_features).outputs(rows)
        _same(found, wanted, number, tolerance)


def _same(found: Any, wanted: Any, number: Any, tolerance: float) -> None:
    for name, value in wanted.items():
        value = value[:, 0] if name == "value" else value
        with np.errstate(over="ignore"):  # a float score may be infinite where the double is not
            value = value if name == "label" else value.astype(number)
        np.testing.assert_allclose(found[name], value, rtol=tolerance, atol=tolerance, err_msg=name)


def usual_rows(count: int = 500, width: int = D) -> Any:
    return np.random.default_rng(3).normal(size=(count, width)).astype(np.float32).astype(np.float64)


def odd_rows(largest: float) -> Any:
    """Rows with a NaN, an infinity, huge or tiny numbers, in every place."""
    odd = [np.nan, np.inf, -np.inf, 1e-40, 5e-324, 1e5, 1e12, -1e17, 1e30, largest, -largest]
    rows = np.repeat(usual_rows(1), len(odd) * D + 4, axis=0)
    for index, value in enumerate(odd):
        for place in range(D):
            rows[index * D + place, place] = value
    rows[-4:] = [[np.inf, -np.inf, 0, 0], [np.nan] * D, [largest] * D, [-largest, largest / 4, 0, 0]]
    return rows


def test_every_math_node_has_an_onnx_form() -> None:
    missing = [kind for kind in ir.NODES if kind.level is not Level.MACHINE and kind not in build.registry]
    assert not missing
    with pytest.raises(TypeError, match="Prepare"):
        build(ir.Prepare("out", "x", "shift", "factor", 1.0), None)  # type: ignore[arg-type]


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("kernel", KERNELS)
def test_odd_rows_equal_the_interpreter(kernel: str, precision: str) -> None:
    largest = 1e37 if precision == "f32" else 1e45 if kernel.startswith("poly") else 1e300
    tolerance = 1e-4 if precision == "f32" else 1e-10
    for program in (kernel_program(KERNELS[kernel]), pair_program(KERNELS[kernel], (5, 7, 4))):
        compare(program, odd_rows(largest), precision, tolerance)


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("kernel", KERNELS)
def test_sums_by_class_equal_the_dense_matrix(
    kernel: str, precision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Classes without vectors included; sums by class must really be there."""
    program = pair_program(KERNELS[kernel], (5, 0, 7, 1, 0, 6))
    dense = emit(program, "m", precision)["m.onnx"]  # type: ignore[arg-type]
    monkeypatch.setattr(onnx_sums, "BLOCK_VECTORS", 10)
    blocks = emit(program, "m", precision)["m.onnx"]  # type: ignore[arg-type]
    assert b"Split" not in dense
    assert (b"Split" in blocks) == (kernel != "linear")
    compare(program, usual_rows(), precision, 1e-4 if precision == "f32" else 1e-10)


def test_many_vectors_of_many_classes_are_summed_by_class() -> None:
    program = pair_program(KERNELS["rbf"], (300, 0, 200, 200, 150, 250))
    assert b"Split" in emit(program, "m", "f64")["m.onnx"]
    compare(program, usual_rows(), "f64", 1e-10)


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("counts", [(0, 0, 0), (3, 0, 0), (0, 0, 4), (2, 2)])
def test_classes_without_vectors(counts: tuple[int, ...], precision: str) -> None:
    for kernel in KERNELS.values():
        compare(pair_program(kernel, counts), usual_rows(), precision, 1e-4)


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("kernel", [Kernel("rbf", 0.0), Kernel("poly", 2.0, 1.0, 0)], ids=["rbf", "poly"])
def test_kernels_that_are_always_one(kernel: Kernel, precision: str) -> None:
    compare(kernel_program(kernel), odd_rows(1e30), precision, 1e-6)


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("gamma", [1e-30, 1e-9, 1e-3, 1e3, 1e9])
def test_far_points_have_kernel_values_of_zero(gamma: float, precision: str) -> None:
    """Not NaN, whatever the width of the kernel."""
    compare(kernel_program(Kernel("rbf", gamma)), np.full((1, D), 3e38), precision, 1e-5)
    compare(kernel_program(Kernel("rbf", gamma)), [[3e38, -3e38, 1e20, 0]], precision, 1e-5)


def test_float_exponents_cannot_rise_far_above_zero() -> None:
    """Vectors far from their mean: rounding alone would give exp(1000) at a vector."""
    program = kernel_program(Kernel("rbf", 1.0), scale=1e5)
    vectors = np.asarray(program.tables["s"], np.float32)
    found = load_onnx(emit(program, "m", "f32")["m.onnx"], program.labels, D).decision_function(vectors)
    assert np.abs(found).max() <= np.abs(program.tables["w"]).max() + np.abs(program.tables["b"]).max()


@pytest.mark.parametrize("kernel", [Kernel("sigmoid", 40.0, 0.1), Kernel("poly", 40.0, 0.1, 3)])
def test_float_dot_products_do_not_overflow(kernel: Kernel) -> None:
    program = kernel_program(kernel)
    model = load_onnx(emit(program, "m", "f32")["m.onnx"], program.labels, D)
    assert not np.isnan(model.decision_function(np.full((1, D), 3e38))).any()


@pytest.mark.parametrize("precision", PRECISIONS)
def test_scale_and_clip(precision: str) -> None:
    """Clipping makes an infinity finite and leaves NaN; scaling leaves both."""
    one = np.ones(D)
    tables = {
        "w": np.full((1, D), 1e-3),
        "big": 1e3 * one,
        "b": [0.5],
        "c": np.zeros(D),
        "zero": np.zeros(D),
        "one": one,
    }
    tables |= {"half": one / 2, "third": one / 3, "tenth": one / 10}
    chains = [
        [ir.Clip("z", "x", -2.0, 3.0)],
        [ir.Clip("z", "x", -0.1, 1e300)],
        [ir.Scale("z", "x", "half", "one", "zero")],
        [ir.Scale("z", "x", "half", "one", "tenth")],
        [ir.Scale("z", "x", "half", "third", "tenth")],
        [ir.Scale("z", "x", "half", "big", "zero")],  # beyond float's range, and back in the sum
        [ir.Scale("y", "x", "half", "third", "zero"), ir.Clip("z", "y", 0.0, 1.0)],
        [ir.Clip("y", "x", -1.0, 1.0), ir.Scale("z", "y", "zero", "zero", "third")],
    ]
    for chain in chains:
        body = [*chain, ir.Affine("sums", "z", "w", "b", "c")]
        used = {name for node in body for name in ir.table_names(node)}
        program = hand_made(body, {name: tables[name] for name in used}, {"value": "sums"})
        compare(program, odd_rows(1e37), precision, 1e-6 if precision == "f32" else 1e-12)


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("d, m", [(1, 1), (1, 3), (4, 1), (30, 6)])
def test_affine_and_quadratic(d: int, m: int, precision: str) -> None:
    """About a centre of 1000, where float32 alone would lose four digits."""
    rng = np.random.default_rng(4)
    tables = {"w": rng.normal(size=(m, d)), "b": rng.normal(size=m), "c": np.full(d, 1000.5)}
    squares = {"q": rng.normal(size=(m, d * (d + 1) // 2))}
    rows = usual_rows(2000, d) + 1000
    rows[5, 0], rows[6, d - 1], rows[7] = np.nan, np.inf, 1e30
    tolerance = 1e-6 if precision == "f32" else 1e-10
    for node, arrays in (
        (ir.Affine("sums", "x", "w", "b", "c"), tables),
        (ir.Quadratic("sums", "x", "q", "w", "b", "c"), tables | squares),
    ):
        body = [node, ir.ArgMax("label", "sums")]
        program = hand_made(body, arrays, {"scores": "sums", "label": "label"}, m, d)
        compare(program, rows, precision, tolerance)
        compare(program, rows[:1], precision, tolerance)
        compare(program, rows[:0], precision, tolerance)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_one_unknown_score_does_not_win(precision: str) -> None:
    """Kernel values overflow: the first sum is NaN and the second wins, in every run time."""
    tables = {"s": [[1.0], [2.0]], "w": [[1.0, -1.0], [1.0, 1.0], [-1.0, -1.0]], "b": np.zeros(3)}
    kernel = Kernel("poly", 1.0, 0.0, 10)
    body = [ir.KernelSum("sums", "x", "s", "w", "b", kernel), ir.ArgMax("label", "sums")]
    program = hand_made(body, tables, {"scores": "sums", "label": "label"}, 3, 1)
    rows = np.full((1, 1), 1e35, np.float32 if precision == "f32" else np.float64)
    assert np.isnan(program.decision_function(rows)[0, 0])
    compare(program, rows, precision, 1e-6)
    content = emit(program, "m", precision)["m.onnx"]  # type: ignore[arg-type]
    with np.errstate(all="ignore"):
        labels = ReferenceEvaluator(onnx.load_from_string(content)).run(["label"], {"X": rows})[0]
    assert labels.tolist() == [1]


def test_values_nobody_asks_for_are_left_out() -> None:
    program = pair_program(KERNELS["rbf"], (3, 3, 3))
    whole = emit(program, "m", "f64")["m.onnx"]
    only_label = emit(program.replace(outputs=program.outputs[1:]), "m", "f64")["m.onnx"]
    assert b"Div" in whole
    assert b"Div" not in only_label
    graph = onnx.load_from_string(only_label).graph
    read = {name for node in graph.node for name in node.input}
    assert {tensor.name for tensor in graph.initializer} <= read


def test_models_that_float_cannot_hold_are_refused() -> None:
    with pytest.raises(EmitError, match="f64"):
        emit(kernel_program(Kernel("rbf", 1.0), scale=1e20), "m", "f32")
    with pytest.raises(EmitError, match="f64"):
        emit(kernel_program(Kernel("poly", 1e30, 0.0, 2), scale=1e20), "m", "f32")
    compare(kernel_program(Kernel("rbf", 1.0), scale=1e20), usual_rows(), "f64", 1e-10)


@pytest.mark.parametrize("label", ["\ud800", 2**70])
def test_labels_that_onnx_cannot_hold_are_refused(label: Any) -> None:
    program = kernel_program(KERNELS["rbf"])
    others = ("a", "b") if isinstance(label, str) else (1, 2)
    with pytest.raises(EmitError, match="label"):
        emit(program.replace(labels=Labels((*others, label), "object")), "m", "f64")
