"""The figures of the house count what they say."""

from __future__ import annotations

from tests.replay.house import ROOT, House

SOURCE = '''"""Affine in a docstring does not count."""
from svmcompile.ir import nodes as ir

SUMS = (ir.KernelSum, ir.PairSum)
BOTH = (*SUMS, ir.Affine)


def widest(node, other):  # Scale
    if isinstance(node, SUMS) or isinstance(other, (int, ir.Affine)) or isinstance(other, str):
        return 1
    match other:
        case ir.Vote():
            return 2
    return isinstance(node, BOTH)
'''


def test_a_tree_of_two_files(tmp_path):
    for name in ("targets/one.py", "lower/two.py"):
        path = tmp_path / "svmcompile" / name
        path.parent.mkdir(parents=True)
        path.write_text(SOURCE)
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates" / "model.c.j2").write_text("one\ntwo\n")
    house = House(tmp_path)
    nodes = {"KernelSum", "PairSum", "Affine", "Vote", "Scale"}
    assert house.count_lines() == 2 * SOURCE.count("\n") + 2
    assert house.count_modules() == 0
    assert house.function_lengths() == [7, 7]
    assert house.class_tests(nodes) == {"targets/one.py": 4}
    homes = house.homes(nodes)
    assert homes.pop("Scale") == []
    assert all(files == ["lower/two.py", "targets/one.py"] for files in homes.values())


def test_this_checkout():
    nodes = House(ROOT).node_names()
    assert {"KernelSum", "Affine", "Vote"} <= nodes and "Program" not in nodes
