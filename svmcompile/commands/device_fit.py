"""What to change in a model that is too large for its device: changes are tried, none is guessed.

From the change that keeps most of the model to the one that keeps least: whole numbers of 16 and
8 bits (with data, which tell ranges), as many reduced vectors as there is room for, a metric tree
(with data). The first that fits is told, with its agreement on the data.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from svmcompile import api
from svmcompile.accelerate.registry import tuned
from svmcompile.commands.helping import settings
from svmcompile.commands.options import CompileOptions
from svmcompile.data import Data
from svmcompile.device.cost import DeviceOptions, device_cost, rows_for, shortfalls
from svmcompile.errors import OptionError, SvmCompileError
from svmcompile.extras import install
from svmcompile.flow.program import Opened
from svmcompile.ir.arithmetic import FIXED
from svmcompile.ir.program import Program
from svmcompile.model.svm import SVM
from svmcompile.progress import steps

LEAST_VECTORS = 2
SHARES = (1.0, 0.8, 0.6)  # of the room there is, in case that was reckoned too well


@dataclass(frozen=True, slots=True)
class Change:
    """Other options for the same model."""

    method: str
    precision: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def text(self, method: str, precision: str) -> str:
        """The options of the command line that differ."""
        words = [f"--method {self.method}"] if self.method != method else []
        words += [f"--precision {self.precision}"] if self.precision != precision else []
        return " ".join([*words, *(f"--set {key}={value}" for key, value in self.options.items())])


@dataclass(frozen=True, slots=True)
class Asked:
    """What was compiled and did not fit."""

    model: Opened  # whose SVM is missing where only a program was given
    program: Program
    data: Data | None
    held: Data | None  # rows to report on
    options: CompileOptions
    name: str


def refuse(asked: Asked, cost: Mapping[str, Any], wanted: DeviceOptions) -> OptionError:
    """The error that says what is missing, and the first change that helps."""
    lack = " and ".join(shortfalls(cost, wanted))
    how = "" if cost["measured"] else f" (predicted; to measure, run: {install('device')})"
    start = f"the model needs {lack}{how} on {wanted.cpu.name}"
    tried = []
    changes = list(_changes(asked, cost, wanted))
    with steps("looking for what fits", len(changes)) as advance:
        for change in changes:
            found = _try(asked, change, wanted)
            advance(1)
            if found is None:
                continue
            text = change.text(asked.options.method, asked.options.number)
            if not shortfalls(found, wanted):
                return OptionError(f"{start}; this fits: {text} ({_figures(found)})")
            tried.append(f"{text} ({found['flash_bytes']:,} bytes of flash)")
    if not tried:
        return OptionError(f"{start}; give the original model, and data, to have smaller forms tried")
    return OptionError(f"{start}; nor does any of these fit: {', '.join(tried)}")


def _changes(asked: Asked, cost: Mapping[str, Any], wanted: DeviceOptions) -> Iterator[Change]:
    method, precision = asked.options.method, asked.options.number
    if precision not in FIXED and asked.data is not None:
        yield from (Change(method, number) for number in FIXED)
    if asked.model.svm is None:
        return
    most = _room(asked.model.svm, cost, wanted)
    budgets = dict.fromkeys(max(LEAST_VECTORS, int(share * most)) for share in SHARES)
    yield from (Change("reduced-set", precision, {"budget": budget}) for budget in budgets)
    if asked.data is not None and method != "metric-tree":
        yield Change("metric-tree", precision)
    if asked.data is not None and method != "linear":
        yield Change("linear", precision)


def _room(svm: SVM, cost: Mapping[str, Any], wanted: DeviceOptions) -> int:
    """How many vectors fit, if each takes what the tables take on average."""
    vectors = max(1, svm.n_vectors)
    if wanted.flash is None:
        return vectors // 2
    each = 4 * (svm.n_features + max(1, svm.coefficients.shape[0]))
    code: int = max(0, cost["flash_bytes"] - vectors * each)
    return int(max(LEAST_VECTORS, min(vectors - 1, (wanted.flash - code) // each)))


def _try(asked: Asked, change: Change, wanted: DeviceOptions) -> dict[str, Any] | None:
    """The cost of a change; None where it cannot be made."""
    X, program = None if asked.data is None else asked.data.X, asked.program
    model, other = asked.model if asked.model.svm else None, change.method != asked.options.method
    given = change.options if other else settings(asked.options.set_)
    options = tuned(change.method, given, "device", change.precision)
    try:
        if model and (other or "precision" in options):
            y = None if asked.data is None else asked.data.y
            program = api.compile(model, method=change.method, X=X, y=y, **options)
        files = api.emit(
            program, "c", asked.name, change.precision, "device", X=X, model=model,
            soft_double=asked.options.soft_double, held_out=asked.held,
        )  # fmt: skip
        cost = device_cost(files, asked.name, wanted, rows_for(program, X))
    except SvmCompileError:
        return None
    report = json.loads(files[f"{asked.name}.json"])
    if "agreement" not in report or not program.labels:
        return cost
    rows = "held-out rows" if asked.held else "rows given"
    return cost | {"agreement": report["agreement"], "rows_are": rows}


def _figures(cost: Mapping[str, Any]) -> str:
    words = [
        f"{cost['flash_bytes']:,} bytes of flash",
        f"{cost['ram_bytes'] + cost['stack_bytes']:,} of memory and stack",
        f"{cost['mean']:,.0f} {cost['unit']} per prediction",
    ]
    if "agreement" in cost:
        words.append(f"the model's label on {cost['agreement']:.2%} of the {cost['rows_are']}")
    return ", ".join(words)
