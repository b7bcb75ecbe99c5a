"""Form: a program and how it was emitted. Models are built from it, here or where their pickle wakes up."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from svmcompile import __version__
from svmcompile.files.plain import read_json
from svmcompile.ir.arithmetic import FIXED
from svmcompile.ir.interpret import features_filled_in
from svmcompile.ir.program import Program
from svmcompile.ir.store import from_bytes, to_bytes

TABLES = ("dense", "sparse", "f16")


@dataclass(frozen=True, slots=True)
class Form:
    """All it takes to build a model again, anywhere: data alone, no code."""

    program: Program
    name: str  # empty for one after the model's kind
    target: str
    precision: str
    profile: str = "host"
    tables: str | None = None

    @property
    def text(self) -> str:
        """For people."""
        return f"{self.target} in {self.precision}"

    def reduce(self, n_jobs: int) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """What a pickle holds: the program as .svmc stores it, and plain settings."""
        stored = to_bytes(self.program)
        return revive, (stored, self.name, self.target, self.precision, self.profile, self.tables, n_jobs)

    def build(self, n_jobs: int = 1, X: Any = None) -> Any:
        """The model: files are emitted as they were, and C is compiled unless the cache has it."""
        from svmcompile.flow.emission import Request, emit_targets, prepare

        target = "c" if self.target == "shared" else self.target
        request = Request.of(
            self.program, target, self.name or None, self.precision, self.profile, self.tables, True
        )
        ready, request = prepare(self.program, request, X, None, None)
        made = Form(ready, request.name, self.target, request.number, request.profile, request.tables)
        return made.model(emit_targets(ready, request, X).files, n_jobs)

    def model(self, files: Mapping[str, Any], n_jobs: int = 1) -> Any:
        """The model of files that were emitted, ready to predict."""
        labels, names = self.program.labels, self.program.input.feature_names
        found: Any
        if self.target == "onnx":
            from svmcompile.runtime.onnx import load_onnx

            content = files[f"{self.name}.onnx"]
            found = load_onnx(
                content, labels, self.program.n_features, names, self.name, self.program.categories
            )
        elif self.target == "wasm":
            from svmcompile.runtime.wasm import WasmModel

            found = WasmModel(self.name, files[f"{self.name}.wasm"], labels, names)
        elif self.target == "blob":
            from svmcompile.runtime.blob import BlobModel

            found = BlobModel(self.name, files[f"{self.name}.bin"], labels, names)
        elif self.target == "sql":
            from svmcompile.runtime.sql import SqlModel

            found = SqlModel(self.name, _text(files[f"{self.name}.sql"]), self.program)
        else:
            found = self._c_model(files, n_jobs)
        found.form, found.may_miss = self, features_filled_in(self.program)
        found.text, found.categories = self.program.input.text, self.program.categories
        return found

    def _c_model(self, files: Mapping[str, Any], n_jobs: int) -> Any:
        """The model of C, or of a library that is built already: a file, or what the cache kept of one."""
        from svmcompile.runtime.c import CModel
        from svmcompile.runtime.libraries import SUFFIX, keep_library, kept_library

        program, library, kept = self.program, f"{self.name}.{SUFFIX}", kept_library(self.name, self.key)
        source = files[library] if library in files else files[f"{self.name}.c"]
        if self.target == "shared" and library not in files and kept:
            source = kept
        header, names = files[f"{self.name}.h"], program.input.feature_names
        found = CModel(self.name, source, header, program.labels, names, n_jobs)
        if library in files:
            found.check_program(program.digest)
            keep_library(source, self.name, self.key)
        return found

    @property
    def key(self) -> str:
        """What tells libraries of this form from those of others."""
        told = (self.program.digest, self.precision, self.profile, self.tables, __version__)
        return hashlib.sha256(repr(told).encode()).hexdigest()


def _text(content: str | bytes) -> str:
    return content if isinstance(content, str) else content.decode(errors="replace")


def revive(
    stored: bytes, name: str, target: str, precision: str, profile: str, tables: str | None, n_jobs: int
) -> Any:
    """The model of a pickle, built where it wakes up. The program is checked as that of any file."""
    return Form(from_bytes(stored, f"pickle of {name}"), name, target, precision, profile, tables).build(
        n_jobs
    )


def form_in(folder: Path, name: str, target: str, program: Program) -> Form:
    """The form of what an output folder holds, as its report tells; where there is none, a likely one."""
    try:
        report = read_json((folder / f"{name}.json").read_bytes())
        tables, vectors = report["tables"], report["vectors"] or {}
        chosen = "f16" if tables == "f16" else vectors.get("storage")
        if chosen not in TABLES or report["precision"] in FIXED:
            chosen = None
        return Form(program, name, target, report["precision"], report["profile"], chosen)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return Form(program, name, target, program.number or "f32")
