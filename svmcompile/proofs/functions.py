"""What each emitted function in whole numbers must compute, by the definition of its node."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from svmcompile.ir import nodes as ir
from svmcompile.ir.pairs import pair_indices
from svmcompile.ir.whole_numbers import NIBBLE_ZERO
from svmcompile.proofs import terms as t
from svmcompile.proofs.kernels import dot, dot_limits, kernel, nibble_dot
from svmcompile.proofs.run import LONG, Array, Hook, NotWhole, Number, Pointer, Run
from svmcompile.proofs.tasks import Range, Task, Tasks, equal, rounded, written
from svmcompile.proofs.terms import Term


def look_at_all(tasks: Tasks) -> list[Task]:
    """Every function of a node that has a definition here, and those that call them with whole rows."""
    for node in tasks.program.body:
        look = SPECIFIED.get(type(node))
        if look and tasks.types[ir.operands(node)[0]].whole:
            look(tasks, node)
    for ending in ("predict_q", "decision_function_q"):
        if f"{tasks.name}_{ending}" in tasks.source.functions:
            _composed(tasks, f"{tasks.name}_{ending}")
    return list(tasks.done.values())


def _run_row(tasks: Tasks, node: Any, run: Run, width: int) -> tuple[Array, list[Term]]:
    """The function of a node on a row: what it writes, and the row."""
    row, x = tasks.inputs(node.x)
    out = Array(tasks.row(node.out)[0], [None] * width)
    run.call(tasks.function_of(node), [row, Pointer(out, t.const(0))])
    return out, x


def _sums(tasks: Tasks, node: Any) -> None:
    hooks, ranges = kernel(tasks, node)
    weights, bias = tasks.table(node.weights), tasks.table(node.bias)

    def look(run: Run) -> Sequence[Range]:
        out, _ = _run_row(tasks, node, run, len(bias))
        values = [t.var(f"kernel[{i}]", *one) for i, one in enumerate(ranges)]
        for p, parts in enumerate(_summed(node, *weights.shape)):
            total = t.const(0)
            for i, r in parts:
                total = t.add(total, t.mul(values[i], t.const(weights[i, r])))
            equal(run, out, p, t.add(rounded(total, node.shift), t.const(bias[p])))
        return written(out)

    tasks.attempt(tasks.function_of(node), tasks.range_of(node.x), look, hooks)


def _summed(node: Any, n: int, columns: int) -> list[list[tuple[int, int]]]:
    """Vector and column of the weights that each sum adds up."""
    if not node.counts:
        return [[(i, r) for i in range(n)] for r in range(columns)]
    own = np.repeat(np.arange(len(node.counts)), node.counts)
    return [
        [(i, b - 1 if own[i] == a else a) for i in range(n) if own[i] in (a, b)]
        for a, b in pair_indices(len(node.counts))
    ]


def _affine(tasks: Tasks, node: Any) -> None:
    limits, bias = dot_limits(tasks, node, node.weights), tasks.table(node.bias)

    def look(run: Run) -> Sequence[Range]:
        out, _ = _run_row(tasks, node, run, len(bias))
        for p, most in enumerate(limits):
            dots = t.var(f"dot[{p}]", -most, most)
            equal(run, out, p, t.add(rounded(dots, node.shift), t.const(bias[p])))
        return written(out)

    hooks = dot(tasks, node, node.weights)
    tasks.attempt(tasks.function_of(node), tasks.range_of(node.x), look, hooks)


def _projection(tasks: Tasks, node: Any) -> None:
    bias, above = tasks.table(node.bias), 0
    if isinstance(node, ir.NibbleProjection):
        (hooks, limits), above = nibble_dot(tasks, node), NIBBLE_ZERO
    else:
        hooks, limits = dot(tasks, node, node.weights), dot_limits(tasks, node, node.weights)

    def look(run: Run) -> Sequence[Range]:
        out, x = _run_row(tasks, node, run, len(bias))
        rest = t.const(0)
        for one in x if above else ():
            rest = t.add(rest, one)
        rest = t.mul(rest, t.const(above))
        for p, most in enumerate(limits):
            dots = t.sub(t.var(f"dot[{p}]", -most, most), rest)
            equal(run, out, p, _held(t.shr(t.add(dots, t.const(bias[p])), node.shift), node.limit))
        return [(-node.limit, node.limit)] * len(bias)

    tasks.attempt(tasks.function_of(node), tasks.range_of(node.x), look, hooks)


def _held(term: Term, limit: int) -> Term:
    """The term within the limit to both sides."""
    top, bottom = t.const(limit), t.const(-limit)
    low = t.ite(t.le(term, bottom), bottom, term)
    return t.ite(t.le(top, low), top, low)


def _leaves(tasks: Tasks, node: Any) -> None:
    """The functions of every leaf."""
    starts, sums, shifts, bias = (
        tasks.table(one) for one in (node.starts, node.sums, node.shifts, node.bias)
    )
    limits, hooks = dot_limits(tasks, node, node.weights), dot(tasks, node, node.weights)

    def look(run: Run) -> Sequence[Range]:
        row, _ = tasks.inputs(node.x)
        ranges = []
        for leaf, own in enumerate(bias):
            out = Array(LONG, [None] * len(own))
            number = Number(run.source.size_type, t.const(leaf))
            run.call(tasks.function_of(node), [row, number, Pointer(out, t.const(0))])
            expected = [t.const(one) for one in own]
            for r in range(starts[leaf], starts[leaf + 1]):
                part = rounded(t.var(f"dot[{r}]", -limits[r], limits[r]), int(shifts[r]))
                expected[sums[r]] = t.add(expected[sums[r]], part)
            for p, one in enumerate(expected):
                equal(run, out, p, one)
            ranges.append(written(out))
        every = np.array(ranges)
        return list(zip(every[..., 0].min(axis=0), every[..., 1].max(axis=0), strict=True))

    given = f"{tasks.range_of(node.x)}, leaves below {len(bias)}"
    tasks.attempt(tasks.function_of(node), given, look, hooks)


def _quadratic(tasks: Tasks, node: Any) -> None:
    squares, weights, bias = (tasks.table(name) for name in (node.squares, node.weights, node.bias))

    def look(run: Run) -> Sequence[Range]:
        out, x = _run_row(tasks, node, run, len(bias))
        for p, one in enumerate(bias):
            total, left = t.const(0), iter(squares[p])
            for a in range(len(x)):
                slope = t.const(weights[p, a])
                for b in range(a, len(x)):
                    slope = t.add(slope, t.mul(x[b], t.const(next(left))))
                total = t.add(total, t.mul(slope, x[a]))
            equal(run, out, p, t.add(rounded(total, node.shift), t.const(one)))
        return written(out)

    tasks.attempt(tasks.function_of(node), tasks.range_of(node.x), look)


def _requantise(tasks: Tasks, node: Any) -> None:
    shift, factor = tasks.table(node.shift), tasks.table(node.factor)

    def look(run: Run) -> Sequence[Range]:
        out, x = _run_row(tasks, node, run, len(shift))
        for j, one in enumerate(x):
            scaled = rounded(t.mul(t.sub(one, t.const(shift[j])), t.const(factor[j])), node.scale_bits)
            equal(run, out, j, _held(scaled, node.limit))
            run.claim("is within its range", out.cells[j] or t.const(0), -node.limit, node.limit)
        return [(-node.limit, node.limit)] * len(x)

    tasks.attempt(tasks.function_of(node), tasks.range_of(node.x), look)


def _threshold(tasks: Tasks, node: Any) -> None:
    row, (score,) = tasks.inputs(node.score, "score")
    hit = t.lt(t.const(0), score) if node.positive else t.lt(score, t.const(0))

    def look(run: Run) -> Sequence[Range]:
        found = run.call(tasks.function_of(node), [row]).term
        run.claim("is the label", t.eq(found, t.ite(hit, t.const(node.hit), t.const(node.miss))))
        return [(0, 1)]

    tasks.attempt(tasks.function_of(node), tasks.range_of(node.score), look)


def _largest(tasks: Tasks, node: Any) -> None:
    """The first of the classes with the largest score, or with most votes."""
    read = ir.operands(node)[0]
    row, scores = tasks.inputs(read, "score")
    if isinstance(node, ir.Vote):
        won = [t.lt(t.const(0), one) for one in scores]
        scores = [t.const(0)] * node.n_classes
        for one, (a, b) in zip(won, pair_indices(node.n_classes), strict=True):
            scores[a], scores[b] = t.add(scores[a], one), t.add(scores[b], t.no(one))

    def look(run: Run) -> Sequence[Range]:
        # Whatever the scores are: how they come about is the same term in the C, or this fails. Code that
        # compares them and no more does the same for their ranks, of which there are as many as classes.
        found = run.call(tasks.function_of(node), [row]).term
        ranked = isinstance(node, ir.ArgMax) and _only_compares(found)
        limits = [(0, len(scores) - 1) if ranked else (one.low, one.high) for one in scores]
        own = [t.var(f"score {c}", *one) for c, one in enumerate(limits)]
        best = t.rebuilt(found, {id(one): free for one, free in zip(scores, own, strict=True)})
        run.claim("is a class", best, 0, len(own) - 1)
        for a, score in enumerate(own):
            run.path = t.eq(best, t.const(a))
            for c, other in enumerate(own):
                if c != a:
                    run.claim(f"class {c} is not before {a}", (t.lt if c < a else t.le)(other, score))
        run.path = t.const(1)
        return [(0, len(own) - 1)]

    tasks.attempt(tasks.function_of(node), tasks.range_of(read), look)


def _only_compares(term: Term) -> bool:
    """Whether variables are compared with each other, and nothing else is done to them."""
    for one in t.in_order(term):
        if one.op not in ("var", "const", "ite", "no", "le", "eq", "add"):
            return False
        if one.op == "add" and not (t.is_const(one.args[1]) and one.args[1].low == 1):
            return False
        if one.op == "le" and any(t.is_const(part) for part in one.args):
            return False
        if one.op == "eq" and not (_is_index(one.args[0]) and t.is_const(one.args[1])):
            return False
    return True


def _is_index(term: Term) -> bool:
    """Whether a term is one of some constants."""
    return t.is_const(term) or term.truth or (term.op == "ite" and all(map(_is_index, term.args[1:])))


def _composed(tasks: Tasks, function: str) -> None:
    """A function that calls others: they are given what they were proven for."""
    body = tasks.program.body
    reads = next((node.out for node in body if node.quantises), tasks.program.input.name)
    if tasks.program.input.number:
        reads = tasks.program.input.name
    known = {tasks.function_of(node): node for node in body}
    hooks = {one: _stand_in(tasks, known[one], tasks.done[one]) for one in known if one in tasks.done}

    def look(run: Run) -> Sequence[Range]:
        row, _ = tasks.inputs(reads)
        takes = len(tasks.source.functions[function].decl.type.args.params)
        most = max(kind.width for kind in tasks.types.values())
        out = Pointer(Array(LONG, [None] * most), t.const(0))
        run.call(function, [row, out][:takes])
        return []

    tasks.attempt(function, tasks.range_of(reads), look, hooks)


def _stand_in(tasks: Tasks, node: Any, task: Task) -> Hook:
    """What a function gives, for its caller."""
    read = ir.operands(node)[0]

    def hook(run: Run, arguments: list[Any]) -> Any:
        if task.problem:
            raise NotWhole(f"calls {task.function}, which {task.problem}")
        tasks.check(run, arguments[0], read)
        if len(arguments) == 1:
            return Number(run.source.int_type, t.var(task.function, *task.gives[0]))
        out = arguments[-1]
        if len(arguments) == 3:
            run.claim("number of the leaf", arguments[1].term, 0, len(tasks.table(node.bias)) - 1)
        for p, limits in enumerate(task.gives):
            out.array.cells[out.at.low + p] = t.var(f"{task.function}[{p}]", *limits)
        return None

    return hook


SPECIFIED: dict[type, Callable[[Tasks, Any], None]] = {
    ir.FixedSum: _sums,
    ir.FixedAffine: _affine,
    ir.FixedProjection: _projection,
    ir.NibbleProjection: _projection,
    ir.FixedQuadratic: _quadratic,
    ir.FixedLeaves: _leaves,
    ir.Requantise: _requantise,
    ir.Vote: _largest,
    ir.ArgMax: _largest,
    ir.Threshold: _threshold,
}
