"""What each node means, worked out by hand; then `predict` as users call it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from programs.strategies import machine_programs, origin, programs
from scipy import sparse

from svmcompile.errors import OptionError, UnsupportedError
from svmcompile.ir import kernel as module
from svmcompile.ir import nodes as ir
from svmcompile.ir.check import check
from svmcompile.ir.interpret import interpret
from svmcompile.ir.kernel import Kernel, power
from svmcompile.ir.node import run
from svmcompile.ir.pairs import pair_indices
from svmcompile.ir.program import Input, Labels, Output, Program

NAN, INF = np.nan, np.inf


def value(node: ir.Node, rows: Any, dtype: Any = np.float64, **tables: Any) -> NDArray[Any]:
    """The node's value for rows, with tables given by name."""
    arrays = {name: np.array(table, dtype) for name, table in tables.items()}
    with np.errstate(all="ignore"):
        return run(node, dict.fromkeys(ir.operands(node), np.array(rows, dtype)), arrays)


def test_scale() -> None:
    node = ir.Scale("z", "x", "s", "f", "o")
    rows = [[1, 2], [0, NAN], [INF, -INF], [INF, 0]]
    got = value(node, rows, s=[1, 0], f=[2, 0.5], o=[10, -1])
    np.testing.assert_array_equal(got, [[10, 0], [8, NAN], [INF, -INF], [INF, -1]])
    np.testing.assert_array_equal(value(node, [[INF]], s=[0], f=[0], o=[0]), [[NAN]])


def test_clip() -> None:
    got = value(ir.Clip("z", "x", -1.0, 2.0), [[-5, -1, 0, 2, 3, INF, -INF, NAN]])
    np.testing.assert_array_equal(got, [[-1, -1, 0, 2, 2, 2, -1, NAN]])


KERNELS = {
    Kernel("linear"): lambda dot, distance: dot,
    Kernel("poly", 2.0, 1.0, 3): lambda dot, distance: (2 * dot + 1) ** 3,
    Kernel("poly", 2.0, 1.0, 0): lambda dot, distance: 1.0,
    Kernel("rbf", 0.5): lambda dot, distance: np.exp(-0.5 * distance),
    Kernel("sigmoid", 0.5, -1.0): lambda dot, distance: np.tanh(0.5 * dot - 1),
}
VECTORS = [[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]]


def by_hand(kernel: Kernel, row: list[float]) -> list[float]:
    """Kernel values of one row, one by one."""
    form = KERNELS[kernel]
    return [
        form(
            sum(a * b for a, b in zip(row, s, strict=True)),
            sum((a - b) ** 2 for a, b in zip(row, s, strict=True)),
        )
        for s in VECTORS
    ]


@pytest.mark.parametrize("kernel", KERNELS, ids=Kernel.text)
def test_kernel_sum(kernel: Kernel) -> None:
    node = ir.KernelSum("k", "x", "v", "w", "b", kernel)
    rows = [[1.0, 0.0], [0.0, 0.0], [-2.0, 3.0], [NAN, 0.0], [0.0, INF], [-INF, INF]]
    got = value(node, rows, v=VECTORS, w=[[1, 2, 0], [0, 0, -1]], b=[0.5, 0.0])
    for row, result in zip(rows[:3], got[:3], strict=True):
        a, b, c = by_hand(kernel, row)
        np.testing.assert_allclose(result, [a + 2 * b + 0.5, -c], rtol=1e-15)
    assert np.isnan(got[3:]).all()  # also where the weight, or the kernel's limit, would be zero


@pytest.mark.parametrize("kernel", KERNELS, ids=Kernel.text)
def test_pair_sum(kernel: Kernel) -> None:
    """Classes of one, two and no vectors: pairs (0, 1), (0, 2), (1, 2)."""
    node = ir.PairSum("k", "x", "v", "w", "b", (1, 2, 0), kernel)
    rows = [[1.0, 0.0], [-2.0, 3.0], [NAN, 0.0]]
    weights = [[10, 20, 30], [1, 2, 3]]
    got = value(node, rows, v=VECTORS, w=weights, b=[0.25, 0.5, 0.75])
    for row, result in zip(rows[:2], got[:2], strict=True):
        a, b, c = by_hand(kernel, row)
        expected = [10 * a + 20 * b + 30 * c + 0.25, 1 * a + 0.5, 2 * b + 3 * c + 0.75]
        np.testing.assert_allclose(result, expected, rtol=1e-15)
    assert np.isnan(got[2]).all()


def test_sums_without_vectors_are_their_bias() -> None:
    empty = {"v": np.zeros((0, 1)), "b": [0.5]}
    kernel_sum = ir.KernelSum("k", "x", "v", "w", "b", Kernel("rbf"))
    pair_sum = ir.PairSum("k", "x", "v", "w", "b", (0, 0), Kernel("rbf"))
    packed = ir.PackedSum("k", "x", "v", "t", "w", "b", (0, 0), "exp2", 1)
    for node, weights in (
        (kernel_sum, np.zeros((1, 0))),
        (pair_sum, np.zeros((1, 0))),
        (packed, np.zeros((0, 1))),
    ):
        got = value(node, [[1], [INF]], w=weights, t=np.zeros(0), **empty)
        np.testing.assert_array_equal(got, [[0.5], [NAN]])


def test_affine() -> None:
    node = ir.Affine("a", "x", "w", "b", "c")
    got = value(node, [[3, 1], [1, 1], [NAN, 1], [1, INF]], w=[[2, -1], [0, 0]], b=[0.5, 7], c=[1, 1])
    np.testing.assert_array_equal(got, [[4.5, 7], [0.5, 7], [NAN, NAN], [NAN, NAN]])


def test_quadratic() -> None:
    node = ir.Quadratic("q", "x", "q", "w", "b", "c")
    # h = (2, 3): 1*4 + 10*6 + 100*9, slopes 2*2 + 3*3, bias 5
    got = value(node, [[3, 2], [1, -1], [INF, 0]], q=[[1, 10, 100]], w=[[2, 3]], b=[5], c=[1, -1])
    np.testing.assert_array_equal(got, [[964 + 13 + 5], [5], [NAN]])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_prepare(dtype: Any) -> None:
    node = ir.Prepare("z", "x", "s", "f", 1e15)
    got = value(node, [[3, 1e30], [NAN, -1e30], [INF, 0], [-INF, 3e38]], dtype, s=[1, 0], f=[2, 10])
    assert got.dtype == dtype
    np.testing.assert_array_equal(got, np.array([[4, 1e15], [NAN, -1e15], [NAN, 0], [NAN, 1e15]], dtype))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("shape", "degree", "form"),
    [
        ("identity", 1, lambda t: t),
        ("power", 3, lambda t: t**3),
        ("power", 0, lambda t: t**0),
        ("tanh", 1, np.tanh),
    ],
)
def test_packed_sum(shape: Any, degree: int, form: Any, dtype: Any) -> None:
    node = ir.PackedSum("k", "x", "v", "t", "w", "b", (), shape, degree)
    got = value(
        node,
        [[1, 2], [NAN, 0], [INF, 0]],
        dtype,
        v=[[1, 0], [0, 0.25]],
        t=[0.5],
        w=[[1, 0], [1, 2]],
        b=[0, 1],
    )
    a, b = form(1.5), form(1.0)
    assert got.dtype == dtype
    np.testing.assert_allclose(got[0], [a + b, 2 * b + 1], rtol=1e-6)
    assert np.isnan(got[1:]).all()


def test_packed_sum_of_powers_of_two() -> None:
    """2^(x.s - |x|^2/2 - |s|^2/2), by pairs of classes, the last of them empty."""
    node = ir.PackedSum("k", "x", "v", "t", "w", "b", (1, 1, 0), "exp2", 1)
    tables = {"v": [[2.0], [0.0]], "t": [-2.0, 0.0], "w": [[1, 10], [100, 1000]], "b": [0, 0.5, 0]}
    got = value(node, [[2.0], [0.0], [NAN]], **tables)
    near, far = 1.0, 0.25  # distances 0 and 2
    expected = [[near + 100 * far, 10 * near + 0.5, 1000 * far], [far + 100, 10 * far + 0.5, 1000]]
    np.testing.assert_allclose(got[:2], expected, rtol=1e-15)
    assert np.isnan(got[2]).all()


def test_a_kernel_value_is_never_above_one() -> None:
    """Rounding can lift an exponent above zero; the machine holds it there."""
    node = ir.PackedSum("k", "x", "v", "t", "w", "b", (), "exp2", 1)
    got = value(node, [[3e4]], np.float32, v=[[3e4]], t=[-4.4e8], w=[[1]], b=[0])
    np.testing.assert_array_equal(got, [[1.0]])


def test_ovr_scores() -> None:
    """scikit-learn's form: zero counts for the first class, ties are broken by the sums."""
    got = value(ir.OvrScores("o", "p", 3), [[0, 1, -2], [NAN, NAN, NAN], [-0.0, 0.0, 0.0]])
    squash = [c / (3 * (abs(c) + 1)) for c in (1.0, -2.0, 1.0)]
    np.testing.assert_allclose(got[0], [2 + squash[0], 0 + squash[1], 1 + squash[2]])
    assert np.isnan(got[1]).all()
    np.testing.assert_array_equal(got[2], [2, 1, 0])


def test_vote() -> None:
    """LIBSVM's rule: zero counts for the second class, as NaN does; the first of the best wins."""
    rows = [[1, 1, 1], [-1, 1, 1], [0, 0, 0], [NAN, NAN, NAN], [1, -1, 1], [INF, -INF, INF]]
    assert value(ir.Vote("v", "p", 3), rows).tolist() == [0, 1, 2, 2, 0, 0]
    assert value(ir.Vote("v", "p", 2), [[1], [0], [-1], [NAN]]).tolist() == [0, 1, 1, 1]


def test_argmax() -> None:
    rows = [[1, 3, 3], [NAN, -5, NAN], [NAN, NAN, NAN], [-INF, NAN, -INF], [0.0, -0.0, 0.0]]
    assert value(ir.ArgMax("a", "s"), rows).tolist() == [1, 1, 0, 0, 0]


@pytest.mark.parametrize(
    ("positive", "hit", "expected"),
    [(True, 1, [1, 0, 0, 0, 0]), (False, 0, [1, 0, 1, 1, 1]), (True, 0, [0, 1, 1, 1, 1])],
)
def test_threshold(positive: bool, hit: int, expected: list[int]) -> None:
    """Above, below, zero, minus zero, NaN."""
    node = ir.Threshold("t", "s", positive, hit, 1 - hit)
    assert value(node, [[2], [-2], [0.0], [-0.0], [NAN]]).tolist() == expected


def test_pairs_come_in_libsvm_order() -> None:
    assert pair_indices(4) == [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]


@pytest.mark.parametrize("exponent", range(9))
def test_whole_powers(exponent: int) -> None:
    base = np.array([0.0, -1.5, 2.0, 1e-3])
    np.testing.assert_allclose(power(base, exponent), base**exponent, rtol=1e-14)
    np.testing.assert_array_equal(base, [0.0, -1.5, 2.0, 1e-3])


# Whole programs.


@settings(max_examples=60, deadline=None)
@given(st.one_of(programs(), machine_programs()))
def test_rows_are_independent_and_never_changed(program: Program) -> None:
    rows = program.probes.copy()
    rows[0, 0] = NAN
    kept = rows.copy()
    together = interpret(program, rows)
    np.testing.assert_array_equal(rows, kept)
    for name, all_rows in together.items():
        assert len(all_rows) == len(rows)
        assert interpret(program, rows[:0])[name].shape == (0, *all_rows.shape[1:])
        last = interpret(program, rows[-1:])[name]
        np.testing.assert_allclose(
            last, all_rows[-1:], rtol=1e-3, atol=1e-3 * np.nanmax(np.abs(all_rows) + 1)
        )


def test_large_batches_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    program = classifier(Labels((0, 1), "<i8"))
    rows = np.random.default_rng(0).normal(size=(50, 2))
    whole = program.decision_function(rows)
    monkeypatch.setattr(module, "CHUNK_VALUES", 14)
    np.testing.assert_array_equal(program.decision_function(rows), whole)


def classifier(labels: Labels, names: tuple[str, ...] = ()) -> Program:
    """The first feature minus the second decides between two classes, or three by the larger score."""
    k = len(labels)
    weights = [[1.0, -1.0]] if k == 2 else [[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]]
    tables = {"w": np.array(weights), "b": np.zeros(len(weights)), "c": np.zeros(2)}
    head: ir.Node = ir.Threshold("label", "a", True, 1, 0) if k == 2 else ir.ArgMax("label", "a")
    outputs = (Output("scores", "a"), Output("label", "label"))
    body = (ir.Affine("a", "x", "w", "b", "c"), head)
    return check(Program(Input(2, "x", names), body, outputs, tables, labels, origin()))


def regressor() -> Program:
    tables = {"w": np.ones((1, 2)), "b": np.zeros(1), "c": np.zeros(2)}
    body = (ir.Affine("a", "x", "w", "b", "c"),)
    return check(Program(Input(2), body, (Output("value", "a"),), tables, None, origin()))


@pytest.mark.parametrize(
    "classes",
    [
        np.array([0, 1]), np.array([-1, 1], np.int32), np.array([3, 7], np.uint8), np.array([False, True]),
        np.array([0.5, 2.5]), np.array(["no", "yes"]), np.array(["no", "yes"], dtype=object),
        np.array(["a", "b", "c"]), np.array([10, 20, 30]),
    ],
    ids=lambda classes: f"{classes.dtype}-{len(classes)}",
)  # fmt: skip
def test_labels_have_the_type_of_the_original(classes: Any) -> None:
    program = classifier(Labels.of(classes, "test"))
    got = program.predict([[2, 1], [1, 2], [-5, -5]])
    assert got.dtype == classes.dtype and got.shape == (3,)
    expected = classes[[1, 0, 0]] if len(classes) == 2 else classes[[0, 1, 2]]
    np.testing.assert_array_equal(got, expected)
    scores = program.decision_function([[2, 1]])
    assert scores.shape == ((1,) if len(classes) == 2 else (1, 3)) and scores.dtype == np.float64
    assert program.predict(np.zeros((0, 2))).dtype == classes.dtype


def test_a_regressor_predicts_values() -> None:
    got = regressor().predict([[1, 2], [3, 4.5]])
    assert got.dtype == np.float64
    np.testing.assert_array_equal(got, [3, 7.5])
    with pytest.raises(UnsupportedError, match="predict"):
        regressor().decision_function([[1, 2]])
    with pytest.raises(UnsupportedError, match="probabilities"):
        regressor().predict_proba([[1, 2]])


SAME = [[2.0, 1.0], [0.0, 3.0]]


@pytest.mark.parametrize(
    "rows",
    [
        SAME,
        np.array(SAME),
        np.array(SAME, np.float32),
        np.array(SAME, np.int8),
        np.asfortranarray(SAME),
        np.array(SAME, object),
        pd.DataFrame(SAME),
        sparse.csr_matrix(SAME),
        sparse.coo_array(SAME),
    ],
    ids=lambda rows: f"{type(rows).__name__}-{getattr(rows, 'dtype', '')}",
)
def test_what_scikit_learn_takes_is_taken(rows: Any) -> None:
    np.testing.assert_array_equal(classifier(Labels((0, 1), "<i8")).decision_function(rows), [1.0, -3.0])


def test_float32_rows_are_not_rounded_again() -> None:
    rows = np.array([[0.1, 0.2]], np.float32)
    got = classifier(Labels((0, 1), "<i8")).decision_function(rows)
    assert got[0] == float(np.float32(0.1)) - float(np.float32(0.2))


@pytest.mark.parametrize(
    "rows", [[1.0, 2.0], [[1.0, 2.0, 3.0]], [[1.0]], [[[1.0, 2.0]]], 3.0, [["a", "b"]], [[1, 2], [3]], None]
)
def test_other_things_are_refused(rows: Any) -> None:
    with pytest.raises(OptionError):
        classifier(Labels((0, 1), "<i8")).predict(rows)


def test_columns_must_be_those_of_training_in_their_order() -> None:
    program = classifier(Labels((0, 1), "<i8"), ("height", "width"))
    frame = pd.DataFrame({"height": [2.0, 0.0], "width": [1.0, 3.0]})
    np.testing.assert_array_equal(program.decision_function(frame), [1.0, -3.0])
    with pytest.raises(OptionError, match=r"another order.*frame\[list\(model.feature_names\)\]"):
        program.predict(frame[["width", "height"]])
    with pytest.raises(OptionError, match=r"missing \['width'\], unknown \['depth'\]"):
        program.predict(frame.rename(columns={"width": "depth"}))


def test_tables_cannot_be_changed() -> None:
    program = regressor()
    with pytest.raises(ValueError, match="read-only"):
        program.tables["w"][0, 0] = 5.0
