"""DTSVM on one set of Chang, Guo, Lin and Lu's paper: search, accuracy, vectors, times, beside its rivals.

    python examples/papers/dtsvm.py shuttle                    figures of one set, 63 parameters
    python examples/papers/dtsvm.py --mode 1ao letter          one class against the others
    python examples/papers/dtsvm.py --most 12000 poker         of some of its rows
    python examples/papers/dtsvm.py --rivals pendigits         and those of all rivals

`python examples/papers --paper dtsvm` prints the paper's tables. Set SVMCOMPILE_DATA to a folder of real
data (see sets.py); `digits` needs none. All times are processor time of one process, ours and those of
others, whatever else the machine does; dtsvm_workers.py measures several processes.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

from dtsvm_rivals import RIVALS, cart, percent, timed
from dtsvm_sets import PAPER, Sixths, sixths

from svmcompile.accelerate.dtsvm.leaves import Task, Theta, fit, predict
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

Figures = dict[str, float]
TOPS = (1, 3, 5, 7, 9)  # Figure 2


@dataclass(frozen=True)
class Plan:
    """A set, how many of its rows (0: all), and what is searched."""

    name: str
    mode: str = "1a1"
    C: str = "0.1..1e5"
    gamma: str = "1e-4..1e4"
    most: int = 0
    max_ceiling: int = 0
    ceiling: int = 1500
    seed: int = 0

    @property
    def options(self) -> TrainOptions:
        grid = {"C": Numbers(self.C), "gamma": Numbers(self.gamma)}
        sizes = {"ceiling": self.ceiling, "max_ceiling": self.max_ceiling}
        return TrainOptions(mode=self.mode, jobs=1, min_leaf=0, **grid, **sizes)  # type: ignore[arg-type]

    def data(self) -> Sixths:
        return sixths(self.name, self.seed, self.most)


class TimedSearch(Search):
    """A search that tries nothing twice and knows how long each ceiling took."""

    known: dict[tuple[int, Theta], Tried]
    seconds: dict[int, float]

    def tried(self, ceiling: int, chosen: Sequence[Theta]) -> list[Tried]:
        new = [theta for theta in chosen if (ceiling, theta) not in self.known]
        found, took = timed(lambda: super(TimedSearch, self).tried(ceiling, new))
        self.seconds[ceiling] = self.seconds.get(ceiling, 0.0) + took
        self.known.update({(ceiling, one.theta): one for one in found})
        return [self.known[ceiling, theta] for theta in chosen]


def search_of(data: Sixths, options: TrainOptions) -> TimedSearch:
    rows = Rows(data.X, data.y, data.held_X, data.held_y, scaling_of(data.X, options))
    begin = time.process_time()
    plain, _ = tree_search(rows, data.n_classes, options, workers_of(options))
    search = TimedSearch(**{key: getattr(plain, key) for key in plain.__dataclass_fields__})
    for name, value in (("known", {}), ("seconds", {0: time.process_time() - begin})):
        object.__setattr__(search, name, value)  # 0: the tree
    return search


def measure(plan: Plan, one_svm: bool = True) -> Figures:
    """The search, its winner on the test rows, the best at every ceiling, one SVM with its parameters."""
    data, options = plan.data(), plan.options
    grid, search, known = thetas(options), search_of(data, options), dict[Tried, Figures]()

    def tested(one: Tried) -> Figures:
        if one not in known:
            known[one] = at_ceiling(data, one, options)
        return known[one]

    best, tried = search.best(grid, options)
    found: Figures = {"rows": len(data.X), "parameters": len(grid), "ceiling": best.ceiling}
    found |= {"C": best.theta.C, "gamma": best.theta.kernel.gamma, "search_s": sum(search.seconds.values())}
    found |= tested(best)
    for ceiling in sorted({one.ceiling for one in tried}):
        level = tested(best_at(tried, ceiling))
        found |= {f"{key}_{ceiling}": level[key] for key in ("accuracy", "nesv_stored")}
        found[f"search_s_{ceiling}"] = search.seconds[ceiling]
    for top in TOPS if len(grid) >= max(TOPS) else ():  # what was tried already costs nothing
        one, _ = search.best(grid, replace(options, top=top))
        found |= {f"top_{top}": tested(one)["accuracy"], f"top_ceiling_{top}": one.ceiling}
    plain = cart(data)
    found |= {"cart": plain.accuracy, "cart_test_s": plain.test_s}
    return found | (one_libsvm(data, best, options, found["train_s"]) if one_svm else {})


def one_libsvm(data: Sixths, best: Tried, options: TrainOptions, ours: float) -> Figures:
    """LIBSVM on all rows with the parameters found."""
    scaling, rule = scaling_of(data.X, options), leaf_rule(options.mode, data.n_classes)
    leaf, train = timed(lambda: fit(Task(scaling(data.X), data.y, best.theta, rule, options.iterations)))
    labels, took = timed(lambda: predict(leaf, best.theta, rule, scaling(data.test_X)))
    counts = {"stored": leaf.stored_vectors, "summed": leaf.summed_vectors, "unique": leaf.unique_vectors}
    found = {f"libsvm_{name}": float(count) for name, count in counts.items()}
    found |= {"libsvm": percent(labels, data.test_y), "libsvm_train_s": train, "libsvm_test_s": took}
    return found | {"speedup": train / ours}


def searches(plan: Plan, sizes: Sequence[int]) -> Figures:
    """All parameters on both sides: DTSVM's search, and LIBSVM's on some rows, extrapolated to all.

    LIBSVM's seconds grow with a power of the rows, which the last two sizes give; it stops where our
    leaves stop (`iterations`). Of three sizes, the first two tell how far off the last one would have been.
    """
    data, options = plan.data(), plan.options
    search = search_of(data, options)
    best, _ = search.best(thetas(options), options)
    trained = at_ceiling(data, best, options)["train_s"]
    found: Figures = {"search_rows": len(data.X), "search_parameters": len(thetas(options))}
    found |= {f"search_s_{ceiling}": took for ceiling, took in search.seconds.items()}
    found["dtsvm_s"] = sum(search.seconds.values()) + trained
    for at, size in enumerate(sizes):
        found |= {f"size_{at}": size, f"libsvm_s_{at}": libsvm_search_seconds(data, size, options)}
    seconds = [found[f"libsvm_s_{at}"] for at in range(len(sizes))]
    if len(sizes) > 2:
        found["check_s"], _ = extrapolated(sizes[:2], seconds[:2], sizes[2])
    found["libsvm_s"], found["power"] = extrapolated(sizes[-2:], seconds[-2:], len(data.X))
    return found | {"search_speedup": found["libsvm_s"] / found["dtsvm_s"]}


def extrapolated(sizes: Sequence[int], seconds: Sequence[float], rows: int) -> tuple[float, float]:
    """The seconds of so many rows, and the power of the rows by which seconds grow."""
    power = math.log(seconds[1] / seconds[0]) / math.log(sizes[1] / sizes[0])
    return seconds[1] * (rows / sizes[1]) ** power, power


def libsvm_search_seconds(data: Sixths, size: int, options: TrainOptions) -> float:
    """Every parameter on the first rows, judged by a quarter as many validation rows."""
    scaling, rule = scaling_of(data.X, options), leaf_rule(options.mode, data.n_classes)
    X, y, held = scaling(data.X[:size]), data.y[:size], scaling(data.held_X[: size // 4])
    begin = time.process_time()
    for theta in thetas(options):
        predict(fit(Task(X, y, theta, rule, options.iterations)), theta, rule, held)
    return time.process_time() - begin


def first_ceiling(plan: Plan) -> Figures:
    """Figure 3: test accuracy and ceiling found for one first ceiling."""
    data, options = plan.data(), plan.options
    best, _ = search_of(data, options).best(thetas(options), options)
    accuracy = at_ceiling(data, best, options)["accuracy"]
    return {f"accuracy_{plan.ceiling}": accuracy, f"ceiling_{plan.ceiling}": best.ceiling}


def rival(plan: Plan, name: str) -> Figures:
    """One rival, or DTSVM itself, with its search: accuracy, seconds, vectors in the paper's count."""
    data, options = plan.data(), plan.options
    if name == "dtsvm":
        ours = measure(plan, one_svm=False)
        seconds = ours["search_s"] + ours["train_s"]
        figures = {"accuracy": ours["accuracy"], "train_s": seconds, "test_s": ours["test_s"]}
        figures |= {"nesv": ours["nesv_stored"], "chosen": ours["ceiling"]}
    else:
        rule = leaf_rule(options.mode, data.n_classes)
        figures = asdict(RIVALS[name](data, thetas(options), rule, options))
    return {f"{name}_{key}": float(value) for key, value in figures.items()}


def best_at(tried: list[Tried], ceiling: int) -> Tried:
    return max((one for one in tried if one.ceiling == ceiling), key=lambda one: one.accuracy)


def at_ceiling(data: Sixths, one: Tried, options: TrainOptions) -> Figures:
    """A classifier trained anew, tree and all, and what it does with the test rows."""
    workers = workers_of(options)
    model, seconds = timed(
        lambda: fitted(data.X, data.y, data.n_classes, one.theta, one.ceiling, options, workers)
    )
    assert isinstance(model, Decomposition)
    labels, took = timed(lambda: model.predict(data.test_X))
    figures = model.figures(data.test_X)
    counts = ("leaves", "nesv", "nesv_stored", "nesv_unique", "tnsv", "tnsv_stored", "tnsv_unique")
    found = {key: float(figures[key]) for key in counts} | {"pure": 100 * figures["pure_share"]}
    return found | {"accuracy": percent(labels, data.test_y), "train_s": seconds, "test_s": took}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="DTSVM on a set of its paper")
    parser.add_argument("set", choices=["digits", *PAPER])
    parser.add_argument("--mode", default="1a1", choices=MODES)
    parser.add_argument("--C", default=Plan.C)
    parser.add_argument("--gamma", default=Plan.gamma)
    parser.add_argument("--most", type=int, default=0, help="rows of the set, by lot; 0: all")
    parser.add_argument("--max-ceiling", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rivals", action="store_true")
    return parser.parse_args()


def main() -> None:
    given = arguments()
    plan = Plan(given.set, given.mode, given.C, given.gamma, given.most, given.max_ceiling, seed=given.seed)
    found = measure(plan, one_svm=not given.rivals)
    if given.rivals:
        for name in RIVALS:
            found |= rival(plan, name)
    for key, value in found.items():
        print(f"{key}: {value:,.6g}")


if __name__ == "__main__":
    main()
