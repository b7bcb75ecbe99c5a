"""The columns of each node: one function per node, registered by its type."""

from __future__ import annotations

from functools import reduce, singledispatch
from itertools import combinations_with_replacement, pairwise

import numpy as np

from svmcompile.errors import EmitError
from svmcompile.ir import nodes as ir
from svmcompile.ir.node import At, Node
from svmcompile.ir.pairs import classes_of, favour, pair_indices, pair_number
from svmcompile.targets.sql.query import Columns, Query, added, case, dots, number, shifted, total

LEVELS = 8  # of a tree in one stage: parsers limit how deep cases may be nested


@singledispatch
def build(node: Node, at: At, query: Query) -> Columns:
    """The columns of a node's value."""
    raise EmitError(
        f"target sql is for linear models and trees, and this program has a node {type(node).__name__} "
        f"(%{node.out}): use target c or, if it is a sum over vectors, --method linear or metric-tree"
    )


@build.register(ir.AsFeatures)
def _(node: ir.AsFeatures, at: At, query: Query) -> Columns:
    return list(at.scores)


@build.register
def _(node: ir.Scale, at: At, query: Query) -> Columns:
    moved = zip(shifted(at.x, at.shift), at.factor, at.offset, strict=True)
    return [f"({one} * {number(f)} + {number(o)})" for one, f, o in moved]


@build.register
def _(node: ir.Clip, at: At, query: Query) -> Columns:
    low, high = number(node.low), number(node.high)
    return [case([(f"{x} < {low}", low), (f"{x} > {high}", high)], x) for x in query.held(at.x)]


@build.register
def _(node: ir.Pick, at: At, query: Query) -> Columns:
    return [at.x[column] for column in at.columns]


@build.register
def _(node: ir.Join, at: At, query: Query) -> Columns:
    return [*at.left, *at.right]


@build.register
def _(node: ir.Fill, at: At, query: Query) -> Columns:
    filled = zip(query.held(at.x), at.values, strict=True)
    return [case([(_missing(node, x), number(value))], x) for x, value in filled]


@build.register
def _(node: ir.Missing, at: At, query: Query) -> Columns:
    return [case([(_missing(node, x), "1e0")], "0e0") for x in at.x]


@build.register
def _(node: ir.Matches, at: At, query: Query) -> Columns:
    x = query.held(at.x)
    poison = {column: query.poison([x[column]]) for column in dict.fromkeys(at.columns.tolist())}
    sign = "=" if node.test == "equal" else ">="
    flags = zip(at.columns.tolist(), at.values, strict=True)
    return [f"{case([(f'{x[c]} {sign} {number(v)}', '1e0')], '0e0')} + {poison[c]}" for c, v in flags]


@build.register
def _(node: ir.Pieces, at: At, query: Query) -> Columns:
    """What categories stand for: levels at the knots, one number elsewhere; no curves."""
    found, curves = list[str](), at.levels.shape[1]
    for j, (x, (start, stop)) in enumerate(
        zip(query.held(at.x), pairwise(at.starts.tolist()), strict=True)
    ):
        others = at.pieces[start + j : stop + j + 1]
        if others.shape[1] != curves or (others != others[0]).any():
            return build.dispatch(object)(node, at, query)
        knots, poison = list(map(number, at.knots[start:stop])), query.poison([x])
        for k in range(curves):
            levels = zip(knots, map(number, at.levels[start:stop, k]), strict=True)
            found.append(f"{case(levels, number(others[0, k]), x)} + {poison}")
    return found


def _missing(node: ir.Fill | ir.Missing, x: str) -> str:
    return f"{x} IS NULL" if node.nan else f"{x} = {number(node.marker)}"


@build.register
def _(node: ir.Normalize, at: At, query: Query) -> Columns:
    x = query.held(at.x)
    sizes = [f"abs({one})" for one in x]
    if node.norm == "max":
        size = query.held([_largest(query.held(sizes))])[0]
    else:
        size = total(sizes) if node.norm == "l1" else f"sqrt({total(f'{one} * {one}' for one in x)})"
        size = query.held([size])[0]
    divisor = query.held(
        [f"{case([(f'{size} < {number(node.least)}', '1e0')], size)} + {query.poison(x)}"]
    )[0]
    return [f"({one} / {divisor})" for one in x]


def _largest(x: Columns) -> str:
    """The largest of some columns; NULL where one is."""
    choices = [(" AND ".join(f"{one} >= {other}" for other in x if other != one), one) for one in x]
    return case(choices, "NULL") if len(x) > 1 else x[0]


@build.register
def _(node: ir.Powers, at: At, query: Query) -> Columns:
    wide = [*query.held(at.x), "1e0"]
    return [" * ".join(wide[factor] for factor in row) for row in at.factors]


@build.register
def _(node: ir.Cosine, at: At, query: Query) -> Columns:
    return [f"{number(node.factor)} * cos({number(2 * np.pi)} * {x})" for x in at.x]


@build.register
def _(node: ir.Products, at: At, query: Query) -> Columns:
    h = query.held(shifted(at.x, at.centre))
    return [*h, *(f"{a} * {b}" for a, b in combinations_with_replacement(h, 2))]


@build.register
def _(node: ir.Affine, at: At, query: Query) -> Columns:
    x = query.held(at.x)
    poison, m = query.poison(x), len(at.bias)
    return query.held(added(dots(shifted(x, at.centre), at.weights), map(number, at.bias), [poison] * m))


@build.register
def _(node: ir.Quadratic, at: At, query: Query) -> Columns:
    h = query.held(shifted(at.x, at.centre))
    squares = query.held(f"{a} * {b}" for a, b in combinations_with_replacement(h, 2))
    poison, m = query.poison(h), len(at.bias)
    sums = dots(squares, at.squares), dots(h, at.weights)
    return query.held(added(*sums, map(number, at.bias), [poison] * m))


@build.register
def _(node: ir.OneLeaf, at: At, query: Query) -> Columns:
    return ["0"]


@build.register
def _(node: ir.AxisRoute, at: At, query: Query) -> Columns:
    x = query.held(at.x)
    return _leaf(at, [x[feature] for feature in at.features], query)


@build.register
def _(node: ir.PlaneRoute, at: At, query: Query) -> Columns:
    return _leaf(at, dots(query.held(shifted(at.x, at.centre)), at.planes), query)


def _leaf(at: At, tested: Columns, query: Query) -> Columns:
    """The leaf: some levels at a time, a column tells the node that is reached, or below zero the leaf."""
    waiting, place = [0], "0"
    while waiting:
        later: list[int] = []
        branches = [(node, _branch(at, tested, node, LEVELS, later)) for node in waiting]
        place = query.held([case(branches, place, place)])[0]
        waiting = later
    return query.held([f"-1 - {place}"])


def _branch(at: At, tested: Columns, node: int, levels: int, later: list[int]) -> str:
    """From a node on; what lies beyond the levels is put off."""
    if node < 0 or not levels:
        if node >= 0:
            later.append(node)
        return str(node)
    left, right = (_branch(at, tested, int(child), levels - 1, later) for child in at.children[node])
    return case([(f"{tested[node]} > {number(at.thresholds[node])}", right)], left)


@build.register
def _(node: ir.LeafAffine, at: At, query: Query) -> Columns:
    x, leaf = query.held(at.x), query.held(at.leaf)[0]
    poison, h = query.poison(x), query.held(shifted(x, at.centre))
    weights = np.asarray(at.weights, np.float64) * np.asarray(at.units, np.float64)[:, None]
    columns: Columns = []
    for score in range(at.bias.shape[1]):
        leaves = []
        for place, (first, end) in enumerate(pairwise(at.starts)):
            own = np.flatnonzero(at.sums[first:end] == score) + first
            leaves.append((place, total([number(at.bias[place, score]), *dots(h, weights[own])])))
        columns.append(f"{case(leaves, 'NULL', leaf)} + {poison}")
    return query.held(columns)


@build.register
def _(node: ir.PlaneLists, at: At, query: Query) -> Columns:
    h = query.held(shifted(at.x, at.centre))
    held = [f"{dot} > {number(t)}" for dot, t in zip(dots(h, at.planes), at.thresholds, strict=True)]
    lists = []
    for place, (first, end) in enumerate(pairwise(at.starts)):
        answers = zip(held[first:end], map(number, at.answers[first:end]), strict=True)
        lists.append(case(answers, number(at.rest[place])))
    scores = query.held(lists)
    return scores if node.order == "all" else _dag(scores, query)


def _dag(scores: Columns, query: Query) -> Columns:
    """Pairs in favour of who is left when the loser of a pair leaves; all zero where a pair says nothing.

    A state is low * k + high; below zero a pair on the way was zero.
    """
    k = classes_of(len(scores))
    state = str(k - 1)
    for step in range(k - 1):
        states = [(low, low + k - 1 - step) for low in range(step + 1)]
        after = []
        for low, high in states:
            pair = scores[pair_number(low, high, k)]
            moves = [(f"{pair} > 0", low * k + high - 1), (f"{pair} < 0", (low + 1) * k + high)]
            after.append((low * k + high, case(moves, -1)))
        state = query.held([case(after, -1, state)])[0]
    signs = favour(k)
    winners = [c * k + c for c in range(k)]
    return query.held(
        case(((own, number(sign)) for own, sign in zip(winners, column, strict=True)), "0e0", state)
        for column in signs.T
    )


@build.register
def _(node: ir.Add, at: At, query: Query) -> Columns:
    return added(at.left, at.right)


@build.register
def _(node: ir.Shifted, at: At, query: Query) -> Columns:
    return added(at.scores, map(number, at.by))


@build.register
def _(node: ir.Reach, at: At, query: Query) -> Columns:
    h = query.held(shifted(at.x, at.centre))
    far = f"{total(f'{one} * {one}' for one in h)} + {query.poison(h)} > {number(node.radius**2)}"
    return query.held(case([(far, number(f))], one) for f, one in zip(at.far, at.score, strict=True))


@build.register
def _(node: ir.OvrScores, at: At, query: Query) -> Columns:
    pairs, k = query.held(at.pairs), node.n_classes
    own: list[Columns] = [[] for _ in range(k)]
    votes: list[Columns] = [[] for _ in range(k)]
    for pair, (i, j) in zip(pairs, pair_indices(k), strict=True):
        own[i].append(pair)
        own[j].append(f"-{pair}")
        votes[i].append(case([(f"{pair} < 0", "0e0")], "1e0"))
        votes[j].append(case([(f"{pair} < 0", "1e0")], "0e0"))
    sums = query.held([*map(total, own), *map(total, votes)])
    return query.held(
        f"{v} + {c} / (3e0 * (abs({c}) + 1e0))" for c, v in zip(sums[:k], sums[k:], strict=True)
    )


@build.register
def _(node: ir.Vote, at: At, query: Query) -> Columns:
    votes: list[Columns] = [[] for _ in range(node.n_classes)]
    for pair, (i, j) in zip(query.held(at.pairs), pair_indices(node.n_classes), strict=True):
        votes[i].append(case([(f"{pair} > 0", 1)], 0))
        votes[j].append(case([(f"{pair} > 0", 0)], 1))
    return _first_largest(query.held(map(total, votes)), query)


@build.register
def _(node: ir.ArgMax, at: At, query: Query) -> Columns:
    return _first_largest(
        query.held(f"coalesce({one}, -1.7976931348623157e308)" for one in at.scores), query
    )


def _first_largest(x: Columns, query: Query) -> Columns:
    """Where the largest stands, the first of several: none behind it is larger, and it was none before."""
    choices = [
        (" AND ".join(f"{one} >= {other}" for other in x[i + 1 :]), i) for i, one in enumerate(x[:-1])
    ]
    return query.held([case(choices, len(x) - 1)])


@build.register
def _(node: ir.Threshold, at: At, query: Query) -> Columns:
    return [case([(f"{at.score[0]} {'>' if node.positive else '<'} 0", node.hit)], node.miss)]


@build.register
def _(node: ir.Sigmoid, at: At, query: Query) -> Columns:
    lines = zip(at.slopes, at.scores, at.offsets, strict=True)
    z = query.held(f"{number(slope)} * {score} + {number(offset)}" for slope, score, offset in lines)
    e = query.held(f"exp(-abs({one}))" for one in z)
    p = query.held(
        case([(f"{a} >= 0", f"{b} / (1e0 + {b})")], f"1e0 / (1e0 + {b})") for a, b in zip(z, e, strict=True)
    )
    low, high = number(node.floor), number(1 - node.floor)
    return query.held(case([(f"{one} < {low}", low), (f"{one} > {high}", high)], one) for one in p)


@build.register
def _(node: ir.Softmax, at: At, query: Query) -> Columns:
    scores = query.held(at.scores)
    above = [" AND ".join(f"{one} >= {other}" for other in scores) for one in scores]
    (most,) = query.held([case(zip(above, scores, strict=True), "NULL")])
    e = query.held(f"exp({number(node.factor)} * ({score} - {most}))" for score in scores)
    (whole,) = query.held([total(e)])
    return query.held(f"{one} / {whole}" for one in e)


@build.register
def _(node: ir.Isotonic, at: At, query: Query) -> Columns:
    columns = []
    for score, (first, end) in zip(query.held(at.scores), pairwise(at.starts), strict=True):
        knots, levels = (np.asarray(part[first:end], np.float64) for part in (at.knots, at.levels))
        lines = [(f"{score} <= {number(knots[0])}", number(levels[0]))]
        for (a, b), (low, high) in zip(pairwise(knots), pairwise(levels), strict=True):
            slope = (high - low) / (b - a) if b > a else 0.0
            line = f"{number(slope)} * ({score} - {number(a)}) + {number(low)}"
            lines.append((f"{score} <= {number(b)}", line))
        last = [(f"{score} > {number(knots[-1])}", number(levels[-1]))]
        columns.append(case([*lines, *last], "NULL"))
    return query.held(columns)


@build.register
def _(node: ir.Complement, at: At, query: Query) -> Columns:
    return query.held(one for p in query.held(at.chances) for one in (f"1e0 - {p}", p))


@build.register
def _(node: ir.Shares, at: At, query: Query) -> Columns:
    p, width = query.held(at.chances), len(at.chances) // node.groups
    sums = query.held(total(p[i : i + width]) for i in range(0, len(p), width))
    empty = number(node.empty)
    return query.held(
        case([(f"{sums[i // width]} = 0", empty)], f"{one} / {sums[i // width]}") for i, one in enumerate(p)
    )


@build.register
def _(node: ir.Mean, at: At, query: Query) -> Columns:
    width = len(at.chances) // node.groups
    columns = (at.chances[i::width] for i in range(width))
    ordered = (
        reduce(lambda left, right: f"({left} + {right})", column) for column in columns
    )  # ties stay ties
    return query.held(f"{one} / {number(node.groups)}" for one in ordered)
