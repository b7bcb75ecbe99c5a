"""Chang, Guo, Lin and Lu's tables beside ours: accuracy, training time, vectors met, ceilings, pure share.

    python examples/papers/dtsvm.py                     every set, as far as not measured yet
    python examples/papers/dtsvm.py letter shuttle      some of them
    python examples/papers/dtsvm.py --mode 1ao letter   one class against the others
    python examples/papers/dtsvm.py --rivals adult      with CART, random groups and bagging
    python examples/papers/dtsvm.py --print             the tables of what has been measured

The full grid of the paper, 63 parameters, unless --C or --gamma say otherwise. LIBSVM is trained once, with
the parameters chosen, for at most --limit seconds. Set SVMCOMPILE_DATA to a folder of real data (see
common.py). Results are kept in out/papers/dtsvm. All times are processor time of one process, ours and
those of others, whatever else the machine does; dtsvm_workers.py measures several processes.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

from common import OUTPUT, table
from dtsvm_rivals import Result, bagging, cart, libsvm, percent, random_groups, timed
from dtsvm_sets import LETTER_ACCURACY, LETTER_SECONDS, PAPER, Sixths, sixths

from svmcompile.accelerate.dtsvm.leaves import Theta
from svmcompile.accelerate.dtsvm.options import MODES, Numbers, TrainOptions
from svmcompile.accelerate.dtsvm.program import Decomposition
from svmcompile.accelerate.dtsvm.training import (
    Rows,
    Search,
    Tried,
    fitted,
    leaf_rule,
    scaling_of,
    thetas,
    tree_search,
    workers_of,
)

FOLDER = OUTPUT / "dtsvm"
CHOSEN = ("ceiling", "C", "gamma")


class TimedSearch(Search):
    """A search that knows how long each ceiling took."""

    def tried(self, ceiling: int, chosen: Sequence[Theta]) -> list[Tried]:
        begin = time.process_time()
        found = super().tried(ceiling, chosen)
        seconds = time.process_time() - begin
        print(f"  ceiling {ceiling}: {len(chosen)} parameters, {seconds:.1f} s", file=sys.stderr)
        SECONDS[ceiling] = SECONDS.get(ceiling, 0.0) + seconds
        return found


SECONDS: dict[int, float] = {}  # by ceiling, of the set at hand


def measure(name: str, options: TrainOptions, seed: int, limit: float) -> dict[str, Any]:
    """Everything about one set, fit for JSON."""
    data = sixths(name, seed)
    SECONDS.clear()
    rows = Rows(data.X, data.y, data.held_X, data.held_y, scaling_of(data.X, options))
    begin = time.process_time()
    plain, _ = tree_search(rows, data.n_classes, options, workers_of(options))
    search = TimedSearch(**{key: getattr(plain, key) for key in plain.__dataclass_fields__})
    grown = time.process_time() - begin
    best, tried = search.best(thetas(options), options)
    chosen = at_ceiling(data, best.theta, best.ceiling, options)
    result: dict[str, Any] = {"name": name, "mode": options.mode, "rows": len(data.X)}
    result |= {"C": best.theta.C, "gamma": best.theta.kernel.gamma, "ceiling": best.ceiling, **chosen}
    result |= {"parameters": len(thetas(options)), "tree_seconds": grown}
    result |= {"search_seconds": sum(SECONDS.values()), "seconds_by_ceiling": dict(SECONDS)}
    result["by_ceiling"] = {
        ceiling: at_ceiling(data, best_at(tried, ceiling).theta, ceiling, options)
        for ceiling in sorted({one.ceiling for one in tried})
    }
    theta = best_at(tried, options.ceiling).theta
    for key, parameters in (("libsvm", best.theta), ("libsvm_first", theta)):
        known = result.get("libsvm") if parameters == best.theta else None
        one = libsvm(data, parameters, options.mode, limit) if known is None else None
        result[key] = known or (asdict(one) if one else None)
    result["first"] = at_ceiling(data, theta, options.ceiling, options)
    result["cart"] = asdict(cart(data))
    return result


def measure_rivals(name: str, options: TrainOptions, seed: int) -> dict[str, Any]:
    """Random groups and bagging, with the same grid."""
    data = sixths(name, seed)
    rule, grid = leaf_rule(options.mode, data.n_classes), thetas(options)
    lots = random_groups(data, grid, rule, options, options.iterations)
    return {"rdsvm": asdict(lots), "bagging": asdict(bagging(data, grid, rule, options.iterations))}


def best_at(tried: list[Tried], ceiling: int) -> Tried:
    return max((one for one in tried if one.ceiling == ceiling), key=lambda one: one.accuracy)


def at_ceiling(data: Sixths, theta: Theta, ceiling: int, options: TrainOptions) -> dict[str, Any]:
    """A classifier trained anew in this process, tree and all, and what it does with the test rows."""
    workers = workers_of(replace(options, jobs=1))
    model, seconds = timed(lambda: fitted(data.X, data.y, data.n_classes, theta, ceiling, options, workers))
    assert isinstance(model, Decomposition)
    found, took = timed(lambda: model.predict(data.test_X))
    figures = model.figures(data.test_X)
    return {
        "accuracy": percent(found, data.test_y),
        "train_seconds": seconds,
        "test_seconds": took,
        **figures,
    }


ACCURACY = ("set, mode", "C, gamma", "DTSVM", "LIBSVM", "CART", "train s", "LIBSVM s", "speedup", "first")
VECTORS = ("set, mode", "DTSVM (paper)", "LIBSVM (paper)", "NESV DTSVM", "NESV LIBSVM")
TIMES = ("set, mode", "DTSVM (paper)", "LIBSVM (paper)", "CART (paper)")
CEILINGS = ("set, mode", "ceiling (paper)", "pure % (paper)", "leaves", "search s, parameters")
LETTER = ("mode", "ceiling", "search s (paper)", "test % (paper)", "NESV / different")
RIVALS = ("set, mode", "DTSVM", "random groups", "bagging", "CART")


def tables(results: list[dict[str, Any]]) -> Iterator[str]:
    """The paper's tables, each figure beside the published one in brackets."""
    title = (
        "Test accuracy in percent, seconds of training with the parameters chosen, LIBSVM's over DTSVM's; "
    )
    title += "first: so for the first ceiling and the parameters best there"
    yield table(title, ACCURACY, map(accuracy_line, results))
    title = "Tables 3 and 5: vectors in all; NESV: vectors met, summed over problems / different ones"
    yield table(title, VECTORS, map(vectors_line, results))
    yield table("Tables 4 and 6: seconds for all test rows", TIMES, map(test_line, results))
    title = "Tables 7 and 11: ceiling chosen, training rows in pure leaves, seconds of the search"
    yield table(title, CEILINGS, map(ceiling_line, results))
    letters = [line for one in results if one["name"] == "letter" for line in letter_lines(one)]
    if letters:
        yield table("Tables 9 and 10: letter by ceiling", LETTER, letters)
    rivals = [one for one in results if "rdsvm" in one]
    if rivals:
        title = "Rivals: test percent, training seconds with all search, NESV"
        yield table(title, RIVALS, map(rivals_line, rivals))


def name_of(one: dict[str, Any]) -> str:
    splits = f", mean of {one['splits']} splits" if one["splits"] > 1 else ""
    return f"{one['name']} {one['mode']}{splits}"


def accuracy_line(one: dict[str, Any]) -> list[str]:
    theirs, first = one["libsvm"], one["libsvm_first"]
    return [
        name_of(one), f"{one['C']:g}, {one['gamma']:g}", f"{one['accuracy']:.2f}",
        f"{theirs['accuracy']:.2f}" if theirs else "-", f"{one['cart']['accuracy']:.2f}",
        f"{one['train_seconds']:.2f}", f"{theirs['train_seconds']:.1f}" if theirs else "not finished",
        f"{theirs['train_seconds'] / one['train_seconds']:.1f}" if theirs else "-",
        f"{first['train_seconds'] / one['first']['train_seconds']:.1f}" if first else "-",
    ]  # fmt: skip


def vectors_line(one: dict[str, Any]) -> list[str]:
    paper, at, theirs = PAPER[one["name"]], int(one["mode"] == "1ao"), one["libsvm"]
    published = f"{paper.vectors_libsvm[at]:,}" if paper.vectors_libsvm else "-"
    return [
        name_of(one), f"{one['tnsv']:,.0f} ({paper.vectors[at]:,})",
        (f"{theirs['nesv']:,.0f}" if theirs else "-") + f" ({published})",
        f"{one['nesv']:,.1f} / {one['nesv_unique']:,.1f}", f"{theirs['nesv']:,.0f}" if theirs else "-",
    ]  # fmt: skip


def test_line(one: dict[str, Any]) -> list[str]:
    paper, at, theirs = PAPER[one["name"]], int(one["mode"] == "1ao"), one["libsvm"]
    published = f"{paper.test_seconds_libsvm[at]:g}" if paper.test_seconds_libsvm else "-"
    return [
        name_of(one), f"{one['test_seconds']:.3f} ({paper.test_seconds[at]:g})",
        (f"{theirs['test_seconds']:.2f}" if theirs else "-") + f" ({published})",
        f"{one['cart']['test_seconds']:.3f} ({paper.test_seconds_cart:g})",
    ]  # fmt: skip


def ceiling_line(one: dict[str, Any]) -> list[str]:
    paper = PAPER[one["name"]]
    return [
        name_of(one), f"{one['ceiling']:,} ({paper.ceiling:,})",
        f"{100 * one['pure_share']:.2f} ({paper.pure:g})", f"{one['leaves']:.0f}",
        f"{one['tree_seconds'] + one['search_seconds']:.0f}, {one['parameters']:.0f}",
    ]  # fmt: skip


def letter_lines(one: dict[str, Any]) -> Iterator[list[str]]:
    mode = one["mode"]
    for key, found in one["by_ceiling"].items():
        if not key.isdecimal():
            continue
        ceiling = int(key)
        yield [
            mode, f"{ceiling:,}",
            f"{one['seconds_by_ceiling'][key]:.0f} ({LETTER_SECONDS[mode].get(ceiling, '-')})",
            f"{found['accuracy']:.2f} ({LETTER_ACCURACY[mode].get(ceiling, '-')})",
            f"{found['nesv']:,.0f} / {found['nesv_unique']:,.0f}",
        ]  # fmt: skip


def rivals_line(one: dict[str, Any]) -> list[str]:
    whole = one["tree_seconds"] + one["search_seconds"] + one["train_seconds"]
    ours = Result(one["accuracy"], whole, one["test_seconds"], one["nesv"])
    fields = Result.__dataclass_fields__
    others = (Result(**{name: one[key][name] for name in fields}) for key in ("rdsvm", "bagging", "cart"))
    return [name_of(one), *map(rival, (ours, *others))]


def rival(found: Result) -> str:
    note = f" ({found.note})" if found.note else ""
    return f"{found.accuracy:.2f}, {found.train_seconds:.1f} s, {found.nesv:,.1f}{note}"


def kept(path: Path, make: Callable[[], dict[str, Any]]) -> None:
    """Measured now, unless that was done before."""
    if not path.exists():
        print(path, file=sys.stderr)
        found = make()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(found, indent=1))


def measured() -> Iterator[list[Any]]:
    """What has been measured, the splits of a set and mode together."""
    for name in PAPER:
        for mode in MODES:
            paths = sorted(FOLDER.glob(f"{name}-{mode}-*.json"))
            if paths:
                yield [stored(path) for path in paths]


def stored(path: Path) -> dict[str, Any]:
    """A split's figures, with those of the rivals where they are there."""
    rivals = path.parent / "rivals" / path.name
    found: dict[str, Any] = json.loads(path.read_text())
    return found | (json.loads(rivals.read_text()) if rivals.exists() else {})


def mean(splits: list[Any]) -> Any:
    """Figures over several splits: means of numbers, of all else what the first split has."""
    first = splits[0]
    if isinstance(first, dict):
        shared = [key for key in first if all(isinstance(one, dict) and key in one for one in splits)]
        found = {key: mean([one[key] for one in splits]) for key in shared}
        return found | {key: first[key] for key in CHOSEN if key in first} | {"splits": len(splits)}
    if isinstance(first, (int, float)) and None not in splits:
        return sum(splits) / len(splits)
    return first


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="the tables of DTSVM's paper")
    parser.add_argument("sets", nargs="*", default=list(PAPER))
    parser.add_argument("--mode", default="1a1", choices=MODES)
    parser.add_argument("--C", default="0.1..1e5")
    parser.add_argument("--gamma", default="1e-4..1e4")
    parser.add_argument("--max-ceiling", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=float, default=300, help="seconds LIBSVM may take")
    parser.add_argument("--rivals", action="store_true")
    parser.add_argument("--print", action="store_true", dest="only_print")
    return parser.parse_args()


def main() -> None:
    given = arguments()
    options = TrainOptions(
        mode=given.mode, C=Numbers(given.C), gamma=Numbers(given.gamma), max_ceiling=given.max_ceiling,
        jobs=1, min_leaf=0,
    )  # fmt: skip
    for name in () if given.only_print else given.sets:
        file = f"{name}-{given.mode}-{given.seed}.json"
        kept(FOLDER / file, partial(measure, name, options, given.seed, given.limit))
        if given.rivals:
            kept(FOLDER / "rivals" / file, partial(measure_rivals, name, options, given.seed))
    for text in tables([mean(splits) for splits in measured()]):
        print(text)


if __name__ == "__main__":
    main()
