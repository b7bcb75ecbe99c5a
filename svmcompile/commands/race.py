"""The race of one compiled model with its rivals: through Python, then in C, then the machine's limits."""

from __future__ import annotations

import platform
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile import __version__, api
from svmcompile.bench.driver import Compiler, Entry, Outcome, race_in_c
from svmcompile.bench.onnx import c_peer
from svmcompile.bench.peers import Absent, CPeer, PythonPeer, Subject, first_line, start
from svmcompile.bench.probe import Limits, Work, measure_limits
from svmcompile.bench.result import (
    MOST_CALLS,
    LocalRunner,
    Threads,
    Timed,
    compare,
    differing,
    latency_of,
    race,
)
from svmcompile.errors import ToolchainError
from svmcompile.flow.evaluation import read_c
from svmcompile.flow.measured import driver_compiler
from svmcompile.flow.seal import read_report
from svmcompile.runtime.toolchain import FLAGS, build_library

CHECKED_SINGLES = 50  # rows whose answers from single calls through Python are compared too
OUR_GRAPH = "svmcompile ONNX"


@dataclass
class Race:
    """One folder's C code, and what it is compared with."""

    folder: Path
    name: str
    subject: Subject
    expected: NDArray[Any]  # answers
    repeats: int
    quiet: bool
    threads: int = 1
    absent: list[Absent] = field(default_factory=list)
    compiler: Compiler = field(default_factory=driver_compiler)
    several: tuple[Threads, ...] = ()

    def run(self, rivals: tuple[str, ...]) -> dict[str, Any]:
        peers = self._start(rivals)
        if "onnxruntime" in rivals:
            peers |= self._our_graph()
        work = Work.of(self.subject.program, self.subject.number)
        limits = self._limits(work)
        timed = self._through_python(peers)
        in_c = self._in_c(peers)
        limits = limits.best_of(self._limits(work))
        return {
            **self._facts(),
            "contenders": [asdict(one) for one in compare([*in_c, *timed])],
            "left_out": [asdict(one) for one in self.absent if one.reason],
            "limits": limits.as_dict(),
            "work": asdict(work),
            "share": work.shares(in_c[0].times, limits),
            "threads": [asdict(one) for one in self.several],
            "notes": self._notes({one.key for one in (*in_c, *timed)}),
        }

    def _say(self, text: str) -> None:
        if not self.quiet:
            print(f"bench: {text}", file=sys.stderr, flush=True)

    def _start(self, rivals: tuple[str, ...]) -> dict[str, Any]:
        """The rivals that can take part; the others are noted."""
        peers = {}
        for name in rivals:
            self._say(f"preparing {name}")
            peer = start(name, self.subject)
            if isinstance(peer, Absent):
                self.absent.append(peer)
            else:
                peers[name] = peer
        return peers

    def _limits(self, work: Work) -> Limits:
        self._say("measuring the processor")
        return measure_limits(self.compiler, self.subject.work, self.subject.number, work.table_bytes)

    # Through Python.

    def _through_python(self, peers: dict[str, Any]) -> list[Timed]:
        entries: dict[str, PythonPeer] = self._ours()
        entries |= {name: peer for name, peer in peers.items() if isinstance(peer, PythonPeer)}
        wrong = {name: self._check(name, entry) for name, entry in entries.items()}
        entries = {name: entry for name, entry in entries.items() if wrong[name] is not None}
        self._say(f"timing {len(entries)} through Python")
        runners = [entry.runner for entry in entries.values()]
        times = race(runners, len(self.subject.rows), self.subject.batch, self.repeats)
        self._say("timing single calls")
        late = [latency_of(runner, time) for runner, time in zip(runners, times, strict=True)]
        for runner in runners:
            getattr(runner, "close", lambda: None)()
        return [
            Timed(
                name,
                entry.title,
                entry.version,
                "Python",
                time,
                wrong[name] or 0,
                len(self.expected),
                entry.bytes,
                latency,
                entry.like,
            )
            for (name, entry), time, latency in zip(entries.items(), times, late, strict=True)
        ]

    def _ours(self) -> dict[str, PythonPeer]:
        """Our C on an array, and on a frame where the original gets one."""
        model, batch = api.load(self.folder, self.name, "c"), self.subject.batch
        rows = self.subject.rows.astype(np.float64 if self.subject.number == "f64" else np.float32)
        size = self._library().stat().st_size
        plain = PythonPeer("svmcompile C", LocalRunner(model.predict, rows, batch), __version__, size)
        frame = self.subject.frame()
        if frame is None:
            return {"ours": plain}
        runner = LocalRunner(model.predict, frame, batch)
        framed = PythonPeer("svmcompile C, frames", runner, __version__, size, "ours-frames")
        return {"ours": plain, "ours-frames": framed}

    def _library(self) -> Path:
        return build_library(self.name, *read_c(self.folder, self.name))

    def _our_graph(self) -> dict[str, CPeer | PythonPeer]:
        """Our ONNX graph, from the folder or made now; none where there is no ONNX Runtime."""
        from svmcompile.targets.onnx.model import emit, public_name

        program, name = self.subject.program, f"{self.name}.onnx"
        try:
            import onnxruntime
        except ImportError:
            self.absent.append(Absent("ours-onnx", "onnxruntime is not installed"))
            return {}
        path = self.folder / name
        made, meaning = b"", "value" if self.subject.is_regressor else "label"
        if path.exists():
            made = path.read_bytes()
        if not (output := public_name(made, meaning) if made else ""):
            made, output = emit(program, self.name, self.subject.number)[name], meaning
        in_c = c_peer(OUR_GRAPH, made, output, self.subject)
        return {"ours-onnx": in_c or self._our_graph_in_python(made, onnxruntime.__version__)}

    def _our_graph_in_python(self, made: bytes, version: str) -> PythonPeer:
        from svmcompile.runtime.onnx import load_onnx

        program = self.subject.program
        model = load_onnx(made, program.labels, program.n_features)
        rows = self.subject.rows.astype(model.number)
        runner = LocalRunner(model.predict, rows, self.subject.batch)
        return PythonPeer(OUR_GRAPH, runner, version, len(made))

    def _check(self, name: str, entry: PythonPeer) -> int | None:
        """How many answers differ; None (and a note) if a rival gives none."""
        try:
            batch, single = entry.runner.answers(), entry.runner.single_answers(CHECKED_SINGLES)
            return differing(self.expected, batch, single, self.subject.is_regressor)
        except Exception as error:  # a rival's own errors have no common root
            if name.startswith("ours"):
                raise
            self.absent.append(Absent(name, f"failed: {type(error).__name__}: {first_line(error)}"))
            return None

    # In C.

    def _in_c(self, peers: dict[str, Any]) -> list[Timed]:
        entries = {"ours": Entry("ours", self._library(), self.name)}
        called = {name: peer for name, peer in peers.items() if isinstance(peer, CPeer)}
        for name, peer in called.items():
            self._say(f"building {name}")
            entries |= self._entry(name, peer)
        self._say(f"timing {len(entries)} in C")
        us = CPeer("svmcompile C", "ours", self.name, __version__)
        found = [(name, called.get(name, us), one) for name, one in self._outcomes(entries).items()]
        self.several = found[0][2].threads
        return [
            Timed(
                name,
                peer.title,
                peer.version,
                "C",
                one.times,
                self._differing(peer, one),
                len(self.expected),
                self._bytes(peer, entries[name]),
                one.latency,
            )
            for name, peer, one in found
        ]

    def _bytes(self, peer: CPeer, entry: Entry) -> int:
        """The library that is the model, or the file that a library reads."""
        if peer.library is None:
            return entry.library.stat().st_size
        return (self.subject.work / peer.argument.rpartition(":")[2]).stat().st_size

    def _entry(self, name: str, peer: CPeer) -> dict[str, Entry]:
        try:
            library = peer.library or build_library(name, peer.source, "")
        except ToolchainError as error:
            self.absent.append(Absent(name, f"cannot be built: {first_line(error)}"))
            return {}
        return {name: Entry(peer.kind, library, peer.argument)}

    def _outcomes(self, entries: dict[str, Entry]) -> dict[str, Outcome]:
        """By name. A rival that breaks the driver must not take our figures along."""
        try:
            found = race_in_c(
                list(entries.values()), self.subject, self.compiler, self.repeats, calls=MOST_CALLS,
                threads=self.threads,
            )  # fmt: skip
        except ToolchainError as error:
            if len(entries) == 1:
                raise
            # Graphs need a library whose functions are found by their places: they go first.
            kinds = {entry.kind for entry in entries.values()}
            going = {"onnx"} if "onnx" in kinds else kinds - {"ours"}
            reason = f"the driver failed: {first_line(error)}"
            self.absent += [Absent(name, reason) for name, entry in entries.items() if entry.kind in going]
            return self._outcomes({n: entry for n, entry in entries.items() if entry.kind not in going})
        return dict(zip(entries, found, strict=True))

    def _differing(self, peer: CPeer, outcome: Outcome) -> int:
        batch, single = outcome.batch, outcome.single
        if not peer.gives_labels:
            batch, single = self.subject.named(batch), self.subject.named(single)
        return differing(self.expected, batch, single, self.subject.is_regressor)

    # What the figures are about.

    def _facts(self) -> dict[str, Any]:
        program = self.subject.program
        report = read_report(self.folder, self.name)
        return {
            "name": self.name,
            "method": program.origin.method,
            "claim": program.claim.value,
            "precision": self.subject.number,
            "profile": report.get("profile", ""),
            "n_support_vectors": program.origin.n_support_vectors,
            "n_features": program.n_features,
            "n_classes": program.n_classes,
            "rows": self.subject.n_given,
            "batch": self.subject.batch,
            "repeats": self.repeats,
            "flags": " ".join(FLAGS),
            "machine": platform.machine(),
        }

    def _notes(self, present: set[str]) -> list[str]:
        """What a reader has to know to trust the figures."""
        subject = self.subject
        found = [
            f"least of {self.repeats} turns in rotation, processor time, one thread; each contender gets "
            f"rows in its own number type",
            "p50, p95, p99 and max: single calls on the wall clock, each timed by itself; size: what you "
            "ship (library, file or pickle)",
        ]
        if "ours-frames" in present:
            found.append(
                "the model was trained on a frame: scikit-learn gets frames, and so does one line of ours"
            )
        if "libsvm" in present:
            found.append("LIBSVM gets dense rows: its time includes making its sparse nodes")
        if present & {"onnxruntime", "ours-onnx"}:
            found.append(
                "ONNX graphs run in ONNX Runtime, called from C where its library can be opened and labels "
                "are integers; the graph of skl2onnx is reduced to labels or values"
            )
        if subject.svm is not None and subject.svm.front.nodes:
            found.append(
                "LIBSVM, m2cgen, numpy and intelex get preprocessed rows, so their times exclude "
                "preprocessing"
            )
        if subject.n_given < subject.batch:
            found.append(f"the data has {subject.n_given} rows, repeated to fill a batch")
        return found
