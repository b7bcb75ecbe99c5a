"""What `--method auto` takes for the digits of `make demo` under three limits: the table of README.md.

python examples/auto_limits.py [--budget 2m] [--jobs 2]
"""

from __future__ import annotations

import argparse
from typing import Any

from svmcompile.choose.choice import Choice, Rows, choose
from svmcompile.choose.wishes import read_wishes
from svmcompile.choose.words import brief, name, percent
from svmcompile.commands.demo import train_digits
from svmcompile.data import Data
from svmcompile.flow.program import open_model

LIMITS: dict[str, dict[str, Any]] = {
    "--same-labels": {"same_labels": True},
    "--agreement 0.99": {"agreement": 0.99},
    "--agreement 0.97 --cpu cortex-m4f --flash 32K --clock 48MHz": {
        "agreement": 0.97, "cpu": "cortex-m4f", "flash": "32K", "clock": "48MHz",
    },
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--budget", default="2m", help="of each search")
    parser.add_argument("--jobs", type=int, default=0, help="processes; 0: one per core")
    parser.add_argument("--methods", help="only these, with commas between them")
    given = parser.parse_args()
    svm, _, X, y = train_digits()
    model, rows = open_model(svm), Rows(Data(X, y))
    print("| you ask for | auto takes | which costs | same labels |\n|---|---|---|---|")
    for words, limits in LIMITS.items():
        wishes = read_wishes({**limits, **vars(given)})
        choice = choose(model, rows, wishes)
        taken = choice.decision.winner
        cells = (name(taken), brief(taken, wishes), kept(choice)) if taken else ("nothing", "", "")
        print(f"| `{words}` | {' | '.join(cells)} |", flush=True)


def kept(choice: Choice) -> str:
    """The labels that are the model's, in words."""
    taken = choice.decision.winner
    assert taken
    if taken["proven"]:
        return "all, proven"
    report = taken["agreement"]["report"]
    low = report["low"][choice.decision.tests - 1]
    return f"{percent(report['share'])} of {report['rows']:,} (at least {percent(low, down=True)})"


if __name__ == "__main__":
    main()
