"""Type rules of lists of half-spaces; cases of `result_type`."""

from __future__ import annotations

from svmcompile.ir.lists import PlaneLists, TiledLists
from svmcompile.ir.needs import Tables, Types, features, float32_only, need, rising, shapes
from svmcompile.ir.nodes import Kind, Type
from svmcompile.ir.rules import classes_of, result_type


@result_type.register
def _(node: PlaneLists, types: Types, tables: Tables) -> Type:
    found = _lists(node, types, tables)
    shapes(tables, planes=(node.planes, (len(tables[node.answers]), types[node.x].width)))
    return found


@result_type.register
def _(node: TiledLists, types: Types, tables: Tables) -> Type:
    found, table = _lists(node, types, tables), tables[node.planes]
    need(table.ndim == 3 and table.shape[1] == types[node.x].width, "planes are not in groups")
    unused = table.shape[0] * table.shape[2] - len(tables[node.answers])
    need(0 <= unused < table.shape[2], "groups and answers do not fit")
    return found


def _lists(node: PlaneLists | TiledLists, types: Types, tables: Tables) -> Type:
    """What both layouts share."""
    width, planes, lists = features(node, types), len(tables[node.answers]), len(tables[node.rest])
    need(planes > 0 and lists > 0, "there is no plane or no list")
    shapes(
        tables,
        thresholds=(node.thresholds, (planes,)),
        answers=(node.answers, (planes,)),
        rest=(node.rest, (lists,)),
        starts=(node.starts, (lists + 1,)),
        centre=(node.centre, (width,)),
    )
    rising(tables[node.starts], planes)
    need(node.order == "all" or classes_of(lists) > 1, "order dag needs one list per pair of classes")
    for name in (node.centre, node.answers, node.rest):
        float32_only(tables, name)
    return Type(Kind.SCORES, lists)
