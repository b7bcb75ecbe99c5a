"""search: candidates built side by side within a budget of time, those that cannot win never built.

What was found lies in a folder, a file a candidate, so that a search cut short goes on where it stopped.
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import shutil
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from svmcompile.choose.build import NAME, Record, Task, blank, build_all
from svmcompile.choose.candidates import Candidate
from svmcompile.choose.decide import decide, misses
from svmcompile.choose.statistics import finalists_allowed
from svmcompile.choose.timing import race_folders
from svmcompile.choose.words import LATE
from svmcompile.errors import ReadError
from svmcompile.files import write_file, write_files
from svmcompile.files.checked import with_digest, without_digest
from svmcompile.flow.emission import Files
from svmcompile.flow.evaluation import find_program
from svmcompile.ir.program import Program
from svmcompile.progress import steps

RACE_SECONDS = 0.3  # of each contender
RACE_ROWS = 1000
SETTLE_SECONDS = 1.0
IDLE_SECONDS = 300  # after which a process ends whose search was killed
MORE_WORK = 2.0  # than the best so far: not built, or not raced
RECORD = "record"
KEEP_VECTORS = ("exact", "anytime", "certified")
Group = tuple[Candidate, ...]
Built = list[tuple[Record, Files]]


@dataclass(frozen=True, slots=True)
class Workers:
    """Where candidates are built: an executor, how many at once, and the task as its processes take it."""

    executor: Executor
    jobs: int
    task: Any


@dataclass(slots=True)
class Search:
    """Candidates of one model, and what is known of them."""

    task: Task
    folder: Path
    groups: list[Group]
    thorough: bool  # all are tried, whether they can win or not
    records: dict[int, Record] = field(default_factory=dict)
    stopped: bool = False  # by the user

    def run(self, workers: Workers, deadline: float) -> None:
        """Build what may win until the deadline, but something; Ctrl-C ends it and keeps what was found."""
        waiting, running = list(self.groups), dict[Future[Built], Group]()
        try:
            with steps("candidates", sum(map(len, self.groups))) as advance:
                while waiting or running:
                    left = deadline - time.monotonic()
                    if left <= 0 and (not running or self._measured()) and self.records:
                        break
                    while waiting and len(running) < (workers.jobs if left > 0 else 1):
                        group = waiting.pop(0)
                        tried = self._to_build(group)
                        if tried:
                            running[workers.executor.submit(build_all, workers.task, tried)] = tried
                        advance(len(group) - len(tried), self._now(running.values()))
                    for future in wait(running, max(left, 0) or None, FIRST_COMPLETED).done:
                        done = len(running.pop(future))
                        self._keep(future.result())
                        advance(done, self._now(running.values()))
        except KeyboardInterrupt:
            self.stopped = True
        settled = time.monotonic() + SETTLE_SECONDS  # a pool ended with work on its way would complain
        while time.monotonic() < settled and not all(one.running() or one.done() for one in running):
            time.sleep(0.01)
        reason = "the search was stopped" if self.stopped else LATE
        for group in [*running.values(), *waiting]:
            for one in group:
                self._leave(one, self._cannot_win(one) or reason)

    def _now(self, running: Iterable[Group]) -> str:
        """What is tried, and the best so far."""
        tried, best = " and ".join(group[0].title for group in running), self.best()
        told = [f"trying {tried}"] * bool(tried) + ([f"best so far: {best['title']}"] if best else [])
        return "; ".join(told)

    def _measured(self) -> list[Record]:
        return [one for one in self.records.values() if one["state"] == "measured"]

    def _leave(self, one: Candidate, reason: str) -> None:
        self.records.setdefault(one.number, blank(one, "skipped", reason))

    def _keep(self, built: Built) -> None:
        """Note what was built, and store it."""
        for record, files in built:
            self.records[record["number"]] = record
            folder = self._place(record["number"])
            write_files({**files, RECORD: with_digest(json.dumps(record).encode())}, folder)

    def _place(self, number: int) -> Path:
        """The folder of a candidate: the same for the same model, rows and options."""
        candidate = next(one for group in self.groups for one in group if one.number == number)
        what = asdict(candidate) | {"number": 0, "task": self.task.key}
        return self.folder / hashlib.sha256(repr(sorted(what.items())).encode()).hexdigest()[:24]

    def stored_program(self, number: int) -> Program:
        """The program of a candidate that was built."""
        return find_program(self._place(number), NAME)[1]

    def _to_build(self, group: Group) -> Group:
        """The candidates of a group that are not known yet and may win; the others are noted."""
        tried = []
        for one in group:
            stored = self._place(one.number) / RECORD
            if stored.exists():
                self.records[one.number] = _read_record(stored) | {"number": one.number}
            elif reason := self._cannot_win(one):
                self._leave(one, reason)
            else:
                tried.append(one)
        return tuple(tried)

    def _cannot_win(self, one: Candidate) -> str:
        """Why a candidate cannot be taken, from what its ladder and the best so far have shown."""
        limits = self.task.wishes.limits
        if self.thorough:
            return ""
        room, least = limits.flash or limits.max_bytes, predicted_bytes(one, self.task)
        if room is not None and least > room:
            return f"its vectors alone take {least:,} bytes"
        if one.method == "reduced-set" and self._outdone(one):
            return "more work per row than the best so far"
        return "" if one.size is None else self._by_ladder(one)

    def _by_ladder(self, one: Candidate) -> str:
        """Why a step of a ladder cannot win: a smaller one does, or a larger one agrees too little."""
        limits = self.task.wishes.limits
        tests = finalists_allowed(
            len(self.task.report.X), limits.agreement, 1 - self.task.wishes.confidence
        )
        for other in (other for group in self.groups for other in group):
            record = self.records.get(other.number)
            same = other.family == one.family and other.size is not None
            if not same or record is None or record["state"] != "measured":
                continue
            assert other.size is not None and one.size is not None
            missed = misses(record, limits, tests)
            if limits.on_labels and not missed and other.size < one.size:
                return f"{record['title']} is smaller and meets every limit"
            if missed.startswith(("agrees", "may lose")) and other.size > one.size:
                return f"{record['title']} is larger and agrees too little"
        return ""

    def _outdone(self, one: Candidate) -> bool:
        """Whether a reduced set has more to do than the best so far, by the work that grows with it."""
        best, exact = self.best(), self.records.get(self.groups[0][0].number)
        if best is None or exact is None or not self.task.wishes.limits.on_labels:
            return False
        work = exact["figures"].get("mean_flops", 0.0) * one.options["budget"] / self.task.svm.n_vectors
        return bool(work > MORE_WORK * best["figures"]["mean_flops"])

    def best(self) -> Record | None:
        """The winner among what is known."""
        return decide(list(self.records.values()), self.task.wishes, len(self.task.report.X)).winner

    def race(self) -> None:
        """Times of those that may win, or of all that were built if thorough, side by side in C."""
        if not self.task.wishes.needs_times:
            return
        built, best = self._measured(), self.best()
        if best and not self.thorough:
            most = MORE_WORK * best["figures"]["time_us"]
            built = [one for one in built if one["figures"]["time_us"] <= most or one["proven"]]
        folders = [self._place(one["number"]) for one in built]
        with steps("race", 0):
            forms = [(one["target"], one["precision"]) for one in built]
            times = race_folders(folders, forms, NAME, self.task.choose.X[:RACE_ROWS], RACE_SECONDS)
        for one, taken in zip(built, times, strict=True):
            one["figures"] |= {
                "time_us": taken.single * 1e6, "batch_time_us": taken.batch * 1e6, "raced": True
            }  # fmt: skip


def _read_record(path: Path) -> Record:
    """What an earlier search found of a candidate."""
    try:
        found: Record = json.loads(without_digest(path.read_bytes()))
    except (OSError, ValueError) as error:
        raise ReadError(f"{path}: is not a result of this search ({error}); remove {path.parent}") from None
    return found


def predicted_bytes(one: Candidate, task: Task) -> int:
    """Bytes that the tables take at least: those of the vectors that are kept."""
    kept = {"reduced-set": one.options.get("budget", 0)} | dict.fromkeys(KEEP_VECTORS, task.svm.n_vectors)
    if task.svm.kernel.kind not in ("rbf", "sigmoid"):  # others may be folded into fewer numbers
        return 0
    width = 2 if one.tables == "f16" else {"f64": 8, "f32": 4, "q15": 2, "q7": 1}[one.precision]
    return int(kept.get(one.method, 0)) * width * task.svm.kernel_width


def grouped(found: Sequence[Candidate]) -> list[Group]:
    """Candidates that differ in form only, together: their method runs once."""
    groups: dict[tuple[Any, ...], list[Candidate]] = {}
    for one in found:
        groups.setdefault((one.method, tuple(one.tuned.items()), one.profile), []).append(one)
    return [tuple(group) for group in groups.values()]


@contextmanager
def processes(task: Task, folder: Path, jobs: int) -> Iterator[Workers]:
    """Processes of this machine, 0 for one per core; what still runs at the end is ended."""
    from joblib.externals.loky import ProcessPoolExecutor

    path, count = folder / "task.pickle", jobs or os.cpu_count() or 1
    write_file(path, pickle.dumps(task))
    scratch = folder / "scratch"  # what a process leaves behind that is ended in its work
    scratch.mkdir(exist_ok=True)
    single = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    single["TMPDIR"] = str(scratch.absolute())
    executor = ProcessPoolExecutor(max_workers=count, timeout=IDLE_SECONDS, env=single)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "A worker stopped")  # as it was told to
        try:
            yield Workers(executor, count, path)
        finally:
            executor.shutdown(wait=True, kill_workers=True)
            path.unlink(missing_ok=True)
            shutil.rmtree(scratch, ignore_errors=True)


@contextmanager
def cluster_workers(task: Task, client: Any) -> Iterator[Workers]:
    """The workers of a Dask cluster, each of which gets the task once."""
    with client.get_executor() as executor:
        yield Workers(executor, len(client.scheduler_info()["workers"]), task)
