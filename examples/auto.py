"""What `--method auto` takes on many sets, beside the best of all candidates; whether its promises hold.

    SVMCOMPILE_DATA=FOLDER python examples/auto.py [--sets NAME ...] [--limits 0.99 ...] [--budget 2m]

Rows of each set are shared out four ways: some train the SVM; `auto` gets some to build and choose with,
and some to report on; the rest are held back from everything and tell the agreement that was reached.
Regret is the time of what auto took over that of the best candidate under the same limit when all of
them are built, for at most `--every` of time. Without SVMCOMPILE_DATA the sets are those that
scikit-learn brings or makes. Finished sets are kept in OUTPUT/auto.json: a run that was stopped goes on.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits, make_classification, make_moons
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from svmcompile.choose.choice import Choice, Rows, choose
from svmcompile.choose.decide import decide
from svmcompile.choose.wishes import Wishes, read_wishes
from svmcompile.data import Data
from svmcompile.flow.program import Opened, open_model

LIMITS: dict[str, dict[str, Any]] = {
    "0.99": {"agreement": 0.99},
    "0.995": {"agreement": 0.995},
    "0.999": {"agreement": 0.999},
    "same labels": {"same_labels": True},
}
TRAIN, SEED = 2000, 0
Set = tuple[NDArray[np.float64], NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Line:
    """One set under one limit."""

    name: str
    limit: str
    taken: str
    promised: float
    reached: float
    regret: float
    seconds: float

    @property
    def kept(self) -> bool:
        return self.reached >= self.promised


def digits() -> Set:
    """Digits and slightly noisy copies of them, for they are few."""
    X, y = load_digits(return_X_y=True)
    generator = np.random.default_rng(SEED)
    noisy = [X + generator.normal(scale=1.0, size=X.shape) for _ in range(9)]
    return np.concatenate([X, *noisy]), np.tile(y, 10)


def made(features: int, classes: int, seed: int) -> Set:
    X, y = make_classification(
        20_000, features, n_informative=max(3, features // 2), n_redundant=0, n_classes=classes,
        n_clusters_per_class=2, random_state=seed,
    )  # fmt: skip
    return X, y


def stored(name: str) -> Callable[[], Set]:
    def read() -> Set:
        sys.path.insert(0, str(Path(__file__).parent / "papers"))
        from common import dense
        from sets import load

        data = load(name)
        parts = [(data["X"], data["y"])] + ([(data["X_test"], data["y_test"])] if "X_test" in data else [])
        return np.concatenate([dense(X) for X, _ in parts]), np.concatenate([y for _, y in parts])

    return read


BUNDLED: dict[str, Callable[[], Set]] = {
    "digits": digits,
    "moons": lambda: make_moons(20_000, noise=0.3, random_state=SEED),
    "made, 4 features": lambda: made(4, 2, 1),
    "made, 30 features, 5 classes": lambda: made(30, 5, 2),
}
STORED = (
    "ida_banana", "ida_image", "ida_ringnorm", "ida_waveform", "svmguide1", "ijcnn1", "a9a", "shuttle",
    "pendigits", "letter", "usps", "mnist",
)  # fmt: skip


def sets() -> dict[str, Callable[[], Set]]:
    """All sets at hand by name."""
    names = STORED if os.environ.get("SVMCOMPILE_DATA") else ()
    return {name: stored(name) for name in names} | BUNDLED


@dataclass(frozen=True, eq=False)
class Case:
    """A trained model with the rows of each purpose."""

    name: str
    model: Opened
    rows: Rows
    held_back: Data

    @classmethod
    def of(cls, name: str, read: Callable[[], Set]) -> Case:
        X, y = read()
        order = np.random.default_rng(SEED).permutation(len(X))
        train, rest = order[: min(TRAIN, len(X) // 3)], order[min(TRAIN, len(X) // 3) :]
        own, report, held = np.array_split(rest[:24_000], 3)
        estimator = make_pipeline(StandardScaler(), SVC(C=5)).fit(X[train], y[train])
        rows = Rows(Data(X[own], y[own]), Data(X[report], y[report]), name, f"{name}, second part")
        return cls(name, open_model(estimator), rows, Data(X[held], y[held]))

    def lines(self, given: argparse.Namespace) -> Iterator[Line]:
        """What auto takes under each limit."""
        all_wishes = read_wishes({"budget": given.every, "methods": given.methods})
        every = choose(self.model, self.rows, all_wishes, thorough=True, folder=given.output / self.name)
        for limit in given.limits:
            wishes = read_wishes({**LIMITS[limit], "budget": given.budget, "methods": given.methods})
            if not self._too_few(LIMITS[limit]):
                yield self._line(limit, wishes, every)

    def _too_few(self, given: dict[str, Any]) -> bool:
        from svmcompile.choose.statistics import rows_needed

        assert self.rows.report
        return "agreement" in given and len(self.rows.report.X) < rows_needed(given["agreement"], 0.05)

    def _line(self, limit: str, wishes: Wishes, every: Choice) -> Line:
        choice = choose(self.model, self.rows, wishes)
        winner = choice.decision.winner
        assert winner, choice.record["sentence"]
        best = decide(every.record["candidates"], wishes, choice.record["rows"]["report"]).winner
        program = choice.program(self.model, self.rows)
        reached = np.mean(program.predict(self.held_back.X) == self.model.source.predict(self.held_back.X))
        known = {one["title"]: one["figures"].get("time_us") for one in every.record["candidates"]}
        own = known.get(winner["title"]) or winner["figures"]["time_us"]
        return Line(
            self.name, limit, winner["title"], wishes.limits.agreement or 1.0, float(reached),
            own / best["figures"]["time_us"] if best else 1.0, choice.record["seconds"],
        )  # fmt: skip


def table(lines: list[Line]) -> str:
    """The lines, and what they show together."""
    head = "| set | limit | auto takes | reached on rows held back | time over the best's | seconds |"
    cells = [
        f"| {one.name} | {one.limit} | {one.taken} | {one.reached:.4f} | {one.regret:.2f} "
        f"| {one.seconds:.0f} |"
        for one in lines
    ]
    kept, regrets = sum(one.kept for one in lines), [one.regret for one in lines]
    last = (
        f"promise kept in {kept} of {len(lines)} cases; "
        f"regret {np.median(regrets):.2f} in the median, {max(regrets):.2f} at most"
    )
    return "\n".join([head, "|---|---|---|---|---|---|", *cells, "", last])


def main() -> None:
    words = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    words.add_argument("--sets", nargs="*", help="only these")
    words.add_argument("--limits", nargs="*", choices=LIMITS, default=list(LIMITS), help="only these")
    words.add_argument("--budget", default="2m", help="of each search by auto")
    words.add_argument("--every", default="5m", help="of the search that builds every candidate")
    words.add_argument("--methods", help="only these, with commas between them")
    words.add_argument("-o", "--output", type=Path, default=Path("out/auto"), metavar="OUTPUT")
    given = words.parse_args()
    kept = given.output / "auto.json"
    lines = [Line(**one) for one in json.loads(kept.read_text())] if kept.exists() else []
    done = {line.name for line in lines}
    for name, read in sets().items():
        if name in done or (given.sets and name not in given.sets):
            continue
        for line in Case.of(name, read).lines(given):
            lines.append(line)
            print(f"{line.name}, {line.limit}: {line.taken}", file=sys.stderr, flush=True)
        kept.write_text(json.dumps([asdict(one) for one in lines], indent=1))
    print(table(lines))


if __name__ == "__main__":
    main()
