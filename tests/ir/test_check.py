"""Every kind of malformed program is found, and all problems are reported at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from programs.strategies import machine_programs, origin, programs

from svmcompile.errors import CheckError
from svmcompile.ir import nodes as ir
from svmcompile.ir.check import check
from svmcompile.ir.kernel import Kernel
from svmcompile.ir.program import Input, Labels, Output, Program

TABLES: dict[str, Any] = {
    "s": np.zeros(2), "f": np.ones(2), "o": np.zeros(2),
    "v": np.ones((3, 2)), "w": np.ones((2, 3)), "b": np.zeros(3),
    "a": np.ones((2, 2)), "ab": np.zeros(2), "ac": np.zeros(2), "q": np.ones((2, 3)),
}  # fmt: skip
SCALE = ir.Scale("z", "x", "s", "f", "o")
PAIRS = ir.PairSum("k", "z", "v", "w", "b", (1, 1, 1), Kernel("rbf"))
VOTE = ir.Vote("label", "k", 3)
PACKED_TABLES = {"v": np.ones((3, 2)), "t": np.zeros(3), "w": np.ones((3, 2)), "b": np.zeros(3)}
OUTPUTS = (Output("scores", "k"), Output("label", "label"))
LABELS = Labels((0, 1, 2), "<i8")


def program(body: Any = (SCALE, PAIRS, VOTE), tables: Any = None, **changes: Any) -> Program:
    """A three-class program of which each test spoils one part; tables follow the body by default."""
    used = {name for node in body for name in ir.table_names(node)}
    chosen = {name: TABLES[name] for name in TABLES if name in used} | (tables or {})
    made = Program(Input(2), tuple(body), OUTPUTS, chosen, LABELS, origin())
    return made.replace(**changes) if changes else made


def problems(spoilt: Program) -> str:
    with pytest.raises(CheckError) as error:
        check(spoilt)
    return str(error.value)


def regressor(kernel: Kernel) -> Program:
    node = ir.KernelSum("k", "x", "v", "w", "b", kernel)
    tables = {"w": np.ones((1, 3)), "b": np.zeros(1)}
    return program((node,), tables, outputs=(Output("value", "k"),), labels=None)


def test_the_unspoilt_program_is_fine() -> None:
    made = program()
    assert check(made) is made
    check(regressor(Kernel("rbf")))


@settings(max_examples=50, deadline=None)
@given(st.one_of(programs(), machine_programs()))
def test_random_programs_are_fine(made: Program) -> None:
    assert check(made) is made


def pairs(counts: tuple[int, ...] = (1, 1, 1), x: str = "z") -> ir.PairSum:
    return ir.PairSum("k", x, "v", "w", "b", counts, Kernel("rbf"))


def packed(
    counts: tuple[int, ...] = (1, 1, 1), shape: Any = "exp2", number: Any = "f64", **tables: Any
) -> Program:
    node = ir.PackedSum("k", "x", "v", "t", "w", "b", counts, shape, 1)
    return program((node, VOTE), PACKED_TABLES | tables, number=number)


def two_classes(node: ir.Node, **tables: Any) -> Program:
    return program((node, ir.ArgMax("label", "k")), tables, labels=Labels((0, 1), "<i8"))


def headed(*nodes: ir.Node) -> Program:
    """Fine pair sums under other heads."""
    return program((SCALE, PAIRS, *nodes))


def ending(*outputs: tuple[Any, str], **changes: Any) -> Program:
    return program(outputs=tuple(Output(name, value) for name, value in outputs), **changes)


NAN = float("nan")
CLIP = ir.Clip("y", "x", 0, 1)
NO_LIMIT = (
    ir.Prepare("z", "x", "s", "f", 0.0),
    ir.PackedSum("k", "z", *"vtwb", (1, 1, 1), "exp2", 1),
    VOTE,
)
ONE_SCORE = {"w": np.ones((1, 3)), "b": np.zeros(1)}
AFFINE = ir.Affine("k", "x", "a", "ab", "ac")
QUADRATIC = ir.Quadratic("k", "x", "q", "a", "ab", "ac")
SPOILT: list[tuple[str, Program]] = [
    # names and order
    ("%y not defined", program((SCALE, pairs(x="y"), VOTE))),
    ("@o not defined", program().replace(tables={name: TABLES[name] for name in "sfvwb"})),
    ("%z not defined", program((PAIRS, SCALE, VOTE))),
    ("Scale %z: the name is taken", program((SCALE, SCALE, PAIRS, VOTE))),
    ("Scale %x: the name is taken", program((ir.Scale("x", "x", *"sfo"), pairs(x="x"), VOTE))),
    ("%y is not used", program((SCALE, CLIP, PAIRS, VOTE))),
    ("table @more is not used", program(tables={"more": np.zeros(1)})),
    # levels and tables
    ("a machine node in a math program", program((ir.Prepare("z", "x", "s", "f", 1.0), PAIRS, VOTE))),
    ("a math node in a machine program", program(number="f64")),
    ("factor @f is (3,), expected (2,)", program(tables={"f": np.ones(3)})),
    ("table @f is float32, expected float64", program(tables={"f": np.ones(2, np.float32)})),
    ("table @v is float64, expected float32", packed(number="f32")),
    ("table @w holds a NaN or an infinity", program(tables={"w": np.full((2, 3), NAN)})),
    ("table @b holds a NaN or an infinity", program(tables={"b": np.full(3, np.inf)})),
    ("@s holds numbers that are not float32", program(tables={"s": np.full(2, 0.1)})),
    ("@s holds numbers that are not float32", program(tables={"s": np.full(2, 1e300)})),
    ("@ac holds numbers that are not float32", two_classes(AFFINE, ac=np.full(2, 0.1))),
    ("@ac holds numbers that are not float32", two_classes(QUADRATIC, ac=np.full(2, 0.1))),
    # what a node needs
    ("low 1.0 is above high 0.0", program((ir.Clip("z", "x", 1.0, 0.0), PAIRS, VOTE))),
    ("low nan is above", program((ir.Clip("z", "x", NAN, 0.0), PAIRS, VOTE))),
    ("limit must be above zero", program(NO_LIMIT, PACKED_TABLES, number="f64")),
    ("%k is not features", headed(ir.Clip("y", "k", 0, 1), ir.Vote("label", "y", 3))),
    ("needs one score per pair", headed(ir.Vote("label", "k", 4))),
    ("two or more classes needed", headed(ir.Vote("label", "k", 1))),
    ("two or more classes needed", headed(ir.OvrScores("o", "k", -2), ir.ArgMax("label", "o"))),
    ("needs scores", headed(ir.ArgMax("label", "z"))),
    ("needs one score", headed(ir.Threshold("label", "k", True, 0, 1))),
    (
        "hit and miss must be 0 and 1",
        program(
            (ir.KernelSum("k", "x", *"vwb", Kernel("rbf")), ir.Threshold("label", "k", True, 1, 1)),
            ONE_SCORE,
        ),
    ),
    ("two or more classes needed", program((SCALE, pairs((3,)), VOTE))),
    ("two or more classes needed", program((SCALE, pairs((4, 0, -1)), VOTE))),
    ("vectors @v is (3, 2), expected (4, 2)", program((SCALE, pairs((1, 1, 2)), VOTE))),
    (
        "bias @ab is empty",
        two_classes(AFFINE, a=np.ones((0, 2)), ab=np.zeros(0)),
    ),
    ("squares @q is (2, 4), expected (2, 3)", two_classes(QUADRATIC, q=np.ones((2, 4)))),
    ("the kernel is not finite", regressor(Kernel("rbf", np.inf))),
    ("the kernel is not finite", regressor(Kernel("poly", 1.0, NAN, 2))),
    ("degree -1 is not within", regressor(Kernel("poly", 1.0, 0.0, -1))),
    ("degree 1000000000 is not within", regressor(Kernel("poly", 1.0, 0.0, 10**9))),
    ("counts do not fit the tables", packed((1, 1, 2))),
    ("two or more classes needed", packed((4, 0, -1))),
    ("offsets @t is (1,), expected (3,)", packed(t=np.zeros(1))),
    ("offsets @t is (3,), expected (1,)", packed(shape="tanh")),
    # what enters and leaves
    ("no outputs", ending()),
    ("unknown output 'logits'", ending(("scores", "k"), ("label", "label"), ("logits", "k"))),
    ("output scores: %y is not defined", ending(("scores", "y"), ("label", "label"))),
    ("output label: %k is scores", ending(("scores", "k"), ("label", "k"))),
    ("an output is given twice", ending(("scores", "k"), ("scores", "k"), ("label", "label"))),
    ("2 labels for 3", program(labels=Labels((0, 1), "<i8"))),
    ("a program without labels gives 'value' and never 'label'", program(labels=None)),
    ("a classifier gives 'label' and never 'value'", ending(("scores", "k"))),
    ("a classifier gives 'label' and never 'value'", ending(("value", "k"), ("label", "label"))),
    (
        "output deviation: must have width 1",
        ending(("value", "k"), ("deviation", "k"), body=(SCALE, PAIRS), labels=None),
    ),
    ("the input has 0 features", program(input=Input(0))),
    ("1 feature names for 2 features", program(input=Input(2, "x", ("only one",)))),
    ("probes have shape (4, 3)", program(probes=np.zeros((4, 3)))),
]


@pytest.mark.parametrize(("message", "spoilt"), SPOILT, ids=[message for message, _ in SPOILT])
def test_every_problem_is_named(message: str, spoilt: Program) -> None:
    assert message in problems(spoilt)


def test_several_problems_come_in_one_error() -> None:
    spoilt = program(
        tables={"w": np.full((2, 3), np.nan), "f": np.ones(3), "more": np.zeros(1)},
        labels=None,
        input=Input(2, "x", ("one",)),
    )
    text = problems(spoilt)
    for part in ("@w holds a NaN", "factor @f", "@more is not used", "feature names", "gives 'value'"):
        assert part in text
    assert text.count(";") >= 4


BAD_NAMES = (
    "X",
    "",
    "1a",
    "a b",
    "a;b",
    "a/*",
    "_a",
    "a\n",
    "a-b",
    "\u00e9",
    "int main(void)",
    "a" * 41,
    "a\0",
)


@pytest.mark.parametrize("name", BAD_NAMES)
def test_names_that_are_no_identifiers_are_refused(name: str) -> None:
    """Names become parts of C identifiers: nothing may break out of one."""
    as_input = program((ir.Scale("z", name, *"sfo"), PAIRS, VOTE), input=Input(2, name))
    as_value = program((ir.Scale(name, "x", *"sfo"), pairs(x=name), VOTE))
    as_table = program((ir.Scale("z", "x", name, "f", "o"), PAIRS, VOTE), {name: np.zeros(2)})
    for spoilt in (as_input, as_value, as_table):
        assert f"{name!r} is not a valid name" in problems(spoilt)
