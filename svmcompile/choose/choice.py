"""choice: a model and rows in; every candidate with its figures, and the one to take, out."""

from __future__ import annotations

import hashlib
import platform
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile import __version__
from svmcompile.choose.build import Judged, Record, Task
from svmcompile.choose.candidates import Candidate, candidates
from svmcompile.choose.decide import Decision, decide, mark_dominated, nearest
from svmcompile.choose.search import Search, cluster_workers, grouped, processes
from svmcompile.choose.statistics import Parts, check_rows, rows_needed, split
from svmcompile.choose.wishes import Wishes, read_wishes
from svmcompile.choose.words import no_winner, sentence
from svmcompile.data import Data
from svmcompile.errors import OptionError, SvmCompileError
from svmcompile.files.cache import scratch
from svmcompile.flow.program import Opened, compile_svm
from svmcompile.ir.program import Program
from svmcompile.model.svm import SVM
from svmcompile.runtime.toolchain import find_compiler
from svmcompile.verification.differential import usable_rows

FORMAT = 1
LEAST_ROWS = 20
LEAST_JUDGED, MOST_WORK = 2000, 10**10  # rows to choose or report with; products the original may take
RACE_SHARE = 0.2  # of the budget is kept for the race
REGRESSOR_TOLERANCE = 0.01  # of the spread of the original's values


@dataclass(frozen=True, slots=True)
class Choice:
    """All that was found out, fit for JSON, and the decision."""

    record: Record
    decision: Decision
    parts: Parts
    built: Program | None = None  # the winner's, as it was emitted

    @property
    def candidate(self) -> Candidate:
        """The winner; an error that names what could not be met where there is none."""
        if self.decision.winner is None:
            raise OptionError(self.record["sentence"])
        return from_record(self.decision.winner)

    def program(self, model: Opened, rows: Rows) -> Program:
        """The winner's program, built as it was."""
        one = self.candidate
        fit = rows.data.take(self.parts.fit)
        return compile_svm(model.trained(), one.method, fit, one.tuned)


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows a person gave: to build, choose and report with, or with a file of reporting rows."""

    data: Data
    report: Data | None = None
    name: str = "X"
    report_name: str | None = None


def choose(
    model: Opened, rows: Rows, wishes: Wishes, *, thorough: bool = False, folder: Path | None = None,
    client: Any = None,
) -> Choice:  # fmt: skip
    """Try candidates and decide; `thorough` tries all of them, within the budget."""
    begin = time.monotonic()
    svm = model.trained()
    _check_model(model.name, svm, wishes)
    _check_numbers(model, rows)
    parts = _split(rows, wishes, svm)
    task = make_task(model, rows, parts, wishes)
    deadline = begin + wishes.budget_seconds * (1 - RACE_SHARE)
    with _work_folder(folder) as work:
        search = Search(task, work, grouped(candidates(svm, wishes)), thorough)
        with cluster_workers(task, client) if client else processes(task, work, wishes.jobs) as workers:
            search.run(workers, deadline)
        search.race()
        records = [search.records[number] for number in sorted(search.records)]
        decision = decide(records, wishes, len(task.report.X))
        built = search.stored_program(decision.winner["number"]) if decision.winner else None
    mark_dominated(records, wishes)
    for one in records:
        one["model"] = Path(model.name).stem
        told = "" if rows.report else f"/{len(parts.report)}"
        fit = ("--rows", f"{len(parts.fit)}@{wishes.seed}{told}")
        one["command"] = from_record(one).command(model.name, rows.name, fit)
        if decision.reasons.get(one["number"]) and one["state"] == "measured":
            one["reason"] = decision.reasons[one["number"]]
    record: Record = {
        "format": FORMAT,
        "winner": decision.winner and decision.winner["number"],
        "models": [_about(model, task)],
        "settings": _settings(wishes, task),
        "rows": _about_rows(rows, parts),
        "candidates": records,
        "versions": versions(),
        "seconds": round(time.monotonic() - begin, 1),
        "stopped": search.stopped,
        "notes": _notes(task),
    }
    record["sentence"] = (
        sentence(record, decision, wishes)
        if decision.winner
        else no_winner(record, wishes, nearest(records, wishes))
    )
    return Choice(record, decision, parts, built)


def compile_auto(model: Opened, data: Data | None, options: Mapping[str, Any]) -> Program:
    """The program that wishes choose; it remembers in which form it is to be emitted."""
    if data is None:
        raise OptionError("method 'auto' needs representative rows; pass X")
    rows, more = Rows(data), dict(options)
    if (X := more.pop("X_report", None)) is not None:
        rows = replace(rows, report=model.data(X, more.pop("y_report", None)), report_name="X_report")
    choice = choose(model, rows, read_wishes(more))
    one, program = choice.candidate, choice.program(model, rows)
    form = {key: getattr(one, key) for key in ("precision", "profile", "tables", "soft_double")}
    details = {**program.origin.details, "auto": form | {"sentence": choice.record["sentence"]}}
    return program.replace(origin=replace(program.origin, details=details))


def _check_model(name: str, svm: SVM, wishes: Wishes) -> None:
    if svm.text:
        raise OptionError(
            "auto and explore do not take models of text; name a method, such as --method exact"
        )
    if svm.labels is None and wishes.limits.on_labels and wishes.tolerance is None:
        raise OptionError(
            f"{name}: is a regressor and has no labels; use --tolerance to say how far a value may "
            "be off and still count as the same"
        )


def _check_numbers(model: Opened, rows: Rows) -> None:
    """An error that names the first row that the original cannot score."""
    if several := model.trained().several:
        raise OptionError(f"{model.name}: gives {several} per row, which only method exact supports")
    for data, name in ((rows.data, rows.name), (rows.report, rows.report_name)):
        if data is None or np.isfinite(data.X).all():
            continue
        wrong = np.flatnonzero(~usable_rows(model.exact(), data.X))
        if len(wrong):
            feature = int(np.flatnonzero(~np.isfinite(data.X[wrong[0]]))[0])
            raise OptionError(
                f"{name}: row {wrong[0] + 1}, feature {feature + 1} is {data.X[wrong[0], feature]}, and so "
                f"are others, {len(wrong):,} rows in all, which the model cannot score; remove them"
            )


def _split(rows: Rows, wishes: Wishes, svm: SVM) -> Parts:
    limits, count = wishes.limits, len(rows.data.X)
    if count < LEAST_ROWS:
        raise OptionError(
            f"{rows.name}: has {count} rows; to build, choose and report takes {LEAST_ROWS} or more"
        )
    if limits.accuracy_loss is not None and (rows.report or rows.data).y is None:
        raise OptionError("--accuracy-loss needs labels; name their column with --label")
    needed = rows_needed(limits.agreement, 1 - wishes.confidence) if limits.agreement else 0
    own = None if rows.report is None else len(rows.report.X)
    most = max(LEAST_JUDGED, MOST_WORK // (1 + svm.n_vectors * svm.kernel_width))
    parts = split(count, needed, wishes.seed, own, most)
    check_rows(
        own or count, len(parts.report), limits.agreement, wishes.confidence, rows.report_name or rows.name
    )
    return parts


def make_task(model: Opened, rows: Rows, parts: Parts, wishes: Wishes) -> Task:
    """Rows of each part with what the original says of them."""
    svm = model.trained()
    _, original = model.reference()
    data, last = rows.data, rows.report or rows.data
    choose = _judged(original, data, parts.choose)
    tolerance = wishes.tolerance or 0.0
    if svm.labels is None and wishes.tolerance is None:
        tolerance = REGRESSOR_TOLERANCE * float(np.std(choose.labels))
    digest = hashlib.sha256()
    for part in (
        svm.source.sha256,
        data_digest(data),
        rows.report and data_digest(rows.report),
        wishes_key(wishes),
    ):
        digest.update(repr(part).encode())
    fit = data.take(parts.fit)
    return Task(
        svm, fit, choose, _judged(original, last, parts.report), wishes, tolerance, digest.hexdigest()
    )


def wishes_key(wishes: Wishes) -> tuple[Any, ...]:
    """What of the wishes changes the figures of a candidate."""
    device = wishes.device
    return (
        wishes.seed, wishes.confidence, wishes.tolerance, wishes.clock_mhz, wishes.needs_times,
        device and (device.cpu.name, device.picojoules), __version__,
    )  # fmt: skip


def _judged(original: Any, data: Data, indices: NDArray[np.intp]) -> Judged:
    X = data.X[indices]
    labels = np.asarray(original.predict(X))
    score = getattr(original, "decision_function", None)
    scores = labels if labels.dtype.kind == "f" and score is None else None
    if score is not None:
        scores = np.asarray(score(X), dtype=np.float64)
    truth = None if data.y is None else data.y[indices]
    if truth is not None and truth.dtype.kind != labels.dtype.kind:
        truth = truth.astype(labels.dtype)
    return Judged(X, labels, scores, truth)


def data_digest(data: Data) -> str:
    """sha256 of rows and labels."""
    digest = hashlib.sha256(np.ascontiguousarray(data.X, dtype=np.float64).tobytes())
    if data.y is not None:
        digest.update("\0".join(map(str, data.y.tolist())).encode())
    return digest.hexdigest()


@contextmanager
def _work_folder(folder: Path | None) -> Iterator[Path]:
    """A folder that stays, so that a search goes on where it stopped, or one that goes."""
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        yield folder
        return
    with scratch() as name:
        yield Path(name)


def from_record(record: Record) -> Candidate:
    """The candidate of a record."""
    return Candidate(
        record["number"], record["method"], record["options"], record["precision"], record["tables"],
        record["target"], record["profile"], record["soft_double"],
    )  # fmt: skip


def _about(model: Opened, task: Task) -> Record:
    svm, report = task.svm, task.report
    accuracy = None
    if report.truth is not None and svm.labels is not None:
        accuracy = float(report.right(report.labels).mean())
    return {
        "name": Path(model.name).stem,
        "file": Path(model.name).name,
        "source": svm.source.kind,
        "sha256": svm.source.sha256,
        "kernel": svm.kernel.kind,
        "n_support_vectors": svm.n_vectors,
        "n_features": svm.n_features,
        "n_classes": len(svm.labels or ()),
        "labels": [] if svm.labels is None else [str(one) for one in svm.labels.array()],
        "is_regressor": svm.labels is None,
        "accuracy": accuracy,
    }


def _settings(wishes: Wishes, task: Task) -> Record:
    return {
        "cpu": wishes.device and wishes.device.cpu.name,
        "clock_mhz": wishes.clock_mhz,
        "energy_pj": wishes.device and wishes.device.picojoules,
        "confidence": wishes.confidence,
        "seed": wishes.seed,
        "budget_seconds": wishes.budget_seconds,
        "targets": list(wishes.targets),
        "tolerance": task.tolerance if task.svm.labels is None else None,
        "minimise": wishes.minimise,
        "limits": asdict(wishes.limits),
    }


def _notes(task: Task) -> list[str]:
    """What a reader has to know to trust the figures."""
    svm, report = task.svm, task.report.X
    if svm.parts or svm.front.nodes or svm.kernel.kind == "precomputed":
        return []
    known = {row.tobytes() for row in np.asarray(svm.vectors, dtype=np.float64)}
    seen = sum(row.tobytes() in known for row in np.asarray(report, dtype=np.float64))
    if not seen:
        return []
    return [
        f"{seen:,} of the {len(report):,} reporting rows are support vectors, so the SVM was trained on "
        "these rows, and agreement on new rows may be lower; give rows it has not seen"
    ]


def _about_rows(rows: Rows, parts: Parts) -> Record:
    return {
        "file": rows.name,
        "sha256": data_digest(rows.data),
        "total": len(rows.data.X),
        "fit": len(parts.fit),
        "choose": len(parts.choose),
        "report": len(parts.report),
        "report_file": rows.report_name,
        "labelled": (rows.report or rows.data).y is not None,
    }


def _compiler() -> str:
    """The C compiler, as it names itself."""
    try:
        words = [*find_compiler(), "--version"]
        told = subprocess.run(words, capture_output=True, text=True, timeout=20, check=True).stdout
    except (SvmCompileError, OSError, subprocess.SubprocessError):
        return "none"
    return (told.splitlines() or [""])[0]


def versions() -> dict[str, str]:
    """Of what figures depend on."""
    import sklearn

    return {
        "svmcompile": __version__, "python": platform.python_version(), "numpy": np.__version__,
        "scikit-learn": sklearn.__version__, "compiler": _compiler(),
    }  # fmt: skip
