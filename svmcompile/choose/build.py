"""One way to compile a model, built and judged: the emitted code itself runs on rows it has not seen.

All of it works in a process of its own, on this machine or another.
"""

from __future__ import annotations

import json
import pickle
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.registry import method
from svmcompile.choose.candidates import Candidate
from svmcompile.choose.statistics import TESTS, expected, loss_bound
from svmcompile.choose.wishes import Wishes
from svmcompile.data import Data
from svmcompile.device.cost import device_cost
from svmcompile.errors import SvmCompileError
from svmcompile.files import write_file
from svmcompile.files.cache import scratch
from svmcompile.flow.emission import Files, emit_files
from svmcompile.flow.evaluation import find_program, load_target
from svmcompile.flow.program import compile_svm
from svmcompile.ir.cost import stages
from svmcompile.ir.program import Claim, Program
from svmcompile.model.svm import SVM
from svmcompile.statistics import lower_bound, upper_bound

NAME = "candidate"
STAGE_ROWS = 2_000
QUICK_ROWS, QUICK_TURNS = 500, 3
SHOWN_ROWS, SHOWN_FEATURES = 20, 16
Record = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Judged:
    """Rows, what the original says of them, and what they truly are, where that is known."""

    X: NDArray[Any]
    labels: NDArray[Any]  # or a regressor's values
    scores: NDArray[np.float64] | None
    truth: NDArray[Any] | None

    def right(self, labels: NDArray[Any]) -> NDArray[np.bool_]:
        assert self.truth is not None
        return np.asarray(labels == self.truth)


@dataclass(frozen=True, eq=False)
class Task:
    """All that candidates are built from and judged by."""

    svm: SVM
    fit: Data
    choose: Judged
    report: Judged
    wishes: Wishes
    tolerance: float  # of values that count as the same
    key: str  # sha256 of model, rows and what else decides figures


@lru_cache(maxsize=1)
def _load_task(path: Path) -> Task:
    task = pickle.loads(path.read_bytes())
    assert isinstance(task, Task)
    return task


def build_all(given: Task | Path, group: Sequence[Candidate]) -> list[tuple[Record, Files]]:
    """Records and files of candidates that share a method and its options: the method runs once.

    A task comes as a file that the process which started this one has written, or whole.
    """
    task = _load_task(given) if isinstance(given, Path) else given
    begin = time.perf_counter()
    program = _compile(task, group[0])
    seconds = time.perf_counter() - begin
    built = []
    for candidate in group:
        begin = time.perf_counter()
        record, files = _judge(task, candidate, program)
        record["seconds"] = round(seconds + time.perf_counter() - begin, 2)
        built.append((record, files))
    return built


def _compile(task: Task, candidate: Candidate) -> Program | SvmCompileError:
    try:
        program = compile_svm(task.svm, candidate.method, task.fit, candidate.tuned)
    except SvmCompileError as error:
        return error
    exact = compile_svm(task.svm, "exact", None, {})
    fell_back = program.origin.details.get("emitted") == "exact" or program.computes_as(exact)
    if candidate.method != "exact" and fell_back:
        return SvmCompileError("it does not pay for this model: the result is the exact sum")
    return program


def blank(candidate: Candidate, state: str, reason: str) -> Record:
    """The record of a candidate without figures."""
    return {
        **_identity(candidate), "claim": method(candidate.method).claim.value, "proven": False,
        "state": state, "reason": reason, "dominated": False, "agreement": None, "accuracy": None,
        "max_decision_error": None, "figures": {}, "seconds": 0.0, "stages": [], "confusion": [],
        "differences": [],
    }  # fmt: skip


def _identity(candidate: Candidate) -> Record:
    return {
        "number": candidate.number, "method": candidate.method, "options": dict(candidate.options),
        "precision": candidate.precision, "tables": candidate.tables, "target": candidate.target,
        "profile": candidate.profile, "soft_double": candidate.soft_double, "title": candidate.title,
    }  # fmt: skip


def _judge(task: Task, candidate: Candidate, program: Program | SvmCompileError) -> tuple[Record, Files]:
    """Everything about one candidate but its times, which are raced later, all side by side."""
    if isinstance(program, SvmCompileError):
        return blank(candidate, "refused", str(program)), {}
    try:
        files = emit_candidate(program, candidate, task.fit.X)
        runner = _runner(files, candidate)
        report = json.loads(files[f"{NAME}.json"])
        figures = _figures(task, candidate, files, report, runner)
        choose, held = (runner.predict(part.X) for part in (task.choose, task.report))
    except SvmCompileError as error:
        return blank(candidate, "refused", str(error)), {}
    claim = Claim(report["claim"])
    record = {
        **blank(candidate, "measured", ""),
        "claim": claim.value,
        "proven": claim is Claim.SAME_LABEL or (claim is Claim.EXACT and candidate.precision == "f64"),
        "agreement": _agreement(task, choose, held),
        "accuracy": _accuracy(task, choose, held),
        "figures": figures,
        "stages": stages(program, task.choose.X[:STAGE_ROWS]),
        **_differences(task, runner, held),
    }
    return record, files


def emit_candidate(program: Program, candidate: Candidate, X: Any, name: str = NAME) -> Files:
    """The files of a candidate."""
    return emit_files(
        program, candidate.target, name, candidate.precision, candidate.profile, candidate.tables,
        X=X, soft_double=candidate.soft_double,
    )  # fmt: skip


def _runner(files: Files, candidate: Candidate) -> Any:
    """The emitted code, ready to predict."""
    with scratch() as name:
        for file, content in files.items():
            write_file(Path(name) / file, content)
        return load_target(Path(name), *find_program(name, NAME), candidate.target)


def _quick_times(runner: Any, rows: NDArray[Any]) -> Record:
    """A first impression of the time per row, until the race."""
    few, times = rows[:QUICK_ROWS], []
    for _ in range(QUICK_TURNS):
        begin = time.thread_time()
        runner.predict(few)
        times.append(time.thread_time() - begin)
    taken = min(times) * 1e6 / len(few)
    return {"time_us": taken, "batch_time_us": taken, "raced": False}


def _figures(
    task: Task, candidate: Candidate, files: Files, report: Mapping[str, Any], runner: Any
) -> Record:
    """Bytes, and on a device all that is counted there."""
    figures: Record = {
        "table_bytes": report["cost"]["table_bytes"],
        "mean_flops": report["cost"]["mean_flops"],
    }
    if candidate.target == "onnx":
        figures["table_bytes"] = figures["file_bytes"] = len(files[f"{NAME}.onnx"])
    device = task.wishes.device
    if task.wishes.needs_times:
        figures |= _quick_times(runner, task.choose.X)
    if not device:
        return figures
    cost = device_cost(files, NAME, device, task.choose.X)
    figures |= {
        "flash_bytes": cost["flash_bytes"],
        "ram_bytes": cost["ram_bytes"] + cost["stack_bytes"],
        "instructions": cost["mean"],
        "worst_instructions": cost["worst"],
        "measured": cost["measured"],
    }
    if "energy_nj" in cost:
        figures["energy_nj"] = cost["energy_nj"]["mean"]
    if "time_us" in cost:
        figures["time_us"] = cost["time_us"]["mean"]
    return figures


def same_answers(task: Task, part: Judged, answers: NDArray[Any]) -> NDArray[np.bool_]:
    """Where the candidate answers as the original does."""
    if task.svm.labels is None:
        return np.asarray(np.abs(answers - part.labels) <= task.tolerance)
    return np.asarray(answers == part.labels)


def _agreement(task: Task, choose: NDArray[Any], held: NDArray[Any]) -> Record:
    """Counts on both parts; bounds from the reporting rows, and those the choosing rows make one expect."""
    level = 1 - task.wishes.confidence
    chosen_same, same = same_answers(task, task.choose, choose), same_answers(task, task.report, held)
    rows, chosen_rows = len(same), len(chosen_same)
    differ = expected(int((~chosen_same).sum()), chosen_rows, rows)
    count = int(same.sum())
    return {
        "choose": {"rows": chosen_rows, "same": int(chosen_same.sum())},
        "report": {
            "rows": rows,
            "same": count,
            "share": count / rows,
            "low": [lower_bound(count, rows, level / k) for k in range(1, TESTS + 1)],
            "high": upper_bound(count, rows, level),
        },
        "expected_low": [lower_bound(rows - differ, rows, level / k) for k in range(1, TESTS + 1)],
    }


def _accuracy(task: Task, choose: NDArray[Any], held: NDArray[Any]) -> Record | None:
    """Accuracy on the reporting rows, and what is lost of the original's."""
    if task.svm.labels is None or task.choose.truth is None or task.report.truth is None:
        return None
    level = 1 - task.wishes.confidence
    rows, right = len(held), task.report.right(held)
    lost, won = _exchanged(task.report, held)
    chosen = [expected(count, len(choose), rows) for count in _exchanged(task.choose, choose)]
    return {
        "share": float(right.mean()),
        "low": lower_bound(int(right.sum()), rows, level),
        "high": upper_bound(int(right.sum()), rows, level),
        "loss": (lost - won) / rows,
        "loss_high": [loss_bound(lost, won, rows, level / k) for k in range(1, TESTS + 1)],
        "expected_loss_high": [
            loss_bound(chosen[0], chosen[1], rows, level / k) for k in range(1, TESTS + 1)
        ],
    }


def _exchanged(part: Judged, answers: NDArray[Any]) -> tuple[int, int]:
    """Rows the original has right and the candidate wrong, and the other way round."""
    original, right = part.right(part.labels), part.right(answers)
    return int((original & ~right).sum()), int((~original & right).sum())


def _differences(task: Task, runner: Any, held: NDArray[Any]) -> Record:
    """What changes into what, the rows nearest to the border on which it does, and the worst error."""
    part, labels = task.report, task.svm.labels
    scores = None
    with suppress(SvmCompileError):  # a program may give labels alone
        scores = held if labels is None else np.asarray(runner.decision_function(part.X), dtype=np.float64)
    worst = None
    if scores is not None and part.scores is not None and scores.shape == part.scores.shape:
        worst = float(np.abs(scores - part.scores).max(initial=0.0))
    found: Record = {"max_decision_error": worst}
    differ = np.flatnonzero(~same_answers(task, part, held))
    if labels is not None:
        pairs, counts = np.unique(
            np.stack([part.labels[differ].astype(str), held[differ].astype(str)], axis=1),
            axis=0,
            return_counts=True,
        )
        found["confusion"] = [
            [str(a), str(b), int(n)]
            for (a, b), n in sorted(zip(pairs, counts, strict=True), key=lambda one: -one[1])
        ]
    margins = _margins(part.scores, len(part.X))
    near = differ[np.argsort(margins[differ], kind="stable")][:SHOWN_ROWS]
    found["differences"] = [
        {
            "row": int(row),
            "original": str(part.labels[row]),
            "candidate": str(held[row]),
            "truth": None if part.truth is None else str(part.truth[row]),
            "original_scores": _listed(part.scores, row),
            "candidate_scores": _listed(scores, row),
            "margin": float(margins[row]),
            "x": [float(value) for value in part.X[row][:SHOWN_FEATURES]],
        }
        for row in near
    ]
    return found


def _margins(scores: NDArray[np.float64] | None, rows: int) -> NDArray[np.float64]:
    """How far each row is from the border: the least score, or the gap between the two largest."""
    if scores is None:
        return np.zeros(rows)
    if scores.ndim == 1:
        return np.abs(scores)
    top = np.sort(scores, axis=1)
    return np.asarray(top[:, -1] - top[:, -2])


def _listed(scores: NDArray[np.float64] | None, row: int) -> list[float]:
    return [] if scores is None else [float(value) for value in np.atleast_1d(scores[row])]
