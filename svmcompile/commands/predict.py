"""predict: an output folder and data in, a file of predictions out."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal

from svmcompile import api
from svmcompile.commands.data_options import reading
from svmcompile.commands.options import PredictOptions
from svmcompile.data import PredictionWriter, common_base, count_rows, iter_data, partition_files
from svmcompile.errors import OptionError, SvmCompileError
from svmcompile.files.atomic import check_output
from svmcompile.flow.evaluation import find_program
from svmcompile.flow.scoring import Scoring, chance_names, score, score_names
from svmcompile.flow.seal import read_key
from svmcompile.ir.program import Program
from svmcompile.progress import steps

STANDARD = Path("-")  # input or output
FORMULA = re.compile(r"[=@\t\r]|[+-](?![\d.eE+-]*$)")  # what spreadsheets compute; a number is none


def run(options: PredictOptions) -> dict[str, Any]:
    """Score a data file, or the files of a folder, chunk by chunk; how many rows, and how fast."""
    _check(options)
    key = None if options.key is None else read_key(options.key)
    stem, program = find_program(options.folder, options.name, key)
    wanted = Scoring(options.scores, options.probabilities, options.allow_missing)
    wanted.check(program)
    start = time.perf_counter()
    with _input(options.data) as data:
        files = partition_files(data)
        _check_inputs(options, files)
        read = reading(options, program)
        read |= {"keep": options.kept, "missing": options.allow_missing, "with_labels": False}
        read["sparse"] = True
        read["base"] = common_base(files, str(data), **read)
        if options.cluster:
            from svmcompile.cluster import predict_partitions

            done = predict_partitions(
                options.cluster, options.folder, stem, files, options.output, wanted, read
            )
        else:
            done = _score_files(options, stem, program, files, wanted, read)
    seconds = time.perf_counter() - start
    return {
        "model": stem, **done, "output": str(options.output), "seconds": seconds,
        "rows_per_second": done["rows"] / seconds, "notes": _notes(program, options.output),
    }  # fmt: skip


def _notes(program: Program, output: Path) -> list[str]:
    """A label that a spreadsheet would compute; it is written as it is, since others compare it."""
    labels = program.labels.values if program.labels and output.suffix != ".parquet" else ()
    found = [one for one in labels if isinstance(one, str) and FORMULA.match(one)]
    return [f"a spreadsheet may take {one!r} for a formula: import the column as text" for one in found[:1]]


def _score_files(
    options: PredictOptions,
    stem: str,
    program: Any,
    files: list[Path],
    wanted: Scoring,
    read: dict[str, Any],
) -> dict[str, int]:
    model = api.load(options.folder, stem, options.target, options.jobs)
    kind: Literal["label", "value"] = "value" if program.labels is None else "label"
    done = unscored = 0
    with (
        steps(f"scoring {options.data.name}", _rows_of(files)) as advance,
        PredictionWriter(options.output, kind, score_names(program), chance_names(program)) as sink,
    ):
        for file in files:
            first = 1
            for chunk in iter_data(file, **read):
                found = score(model, chunk, wanted, str(file), first)
                sink.write(found.values, found.scores, **found.as_keywords())
                first += len(chunk.X)
                unscored += 0 if found.unscored is None else int(found.unscored.sum())
                advance(len(chunk.X))
            done += first - 1
    return {"rows": done, "unscored": unscored}


def _check(options: PredictOptions) -> None:
    """Refuse what could only fail after the work."""
    if options.output == STANDARD:
        if options.as_json:
            raise OptionError("-o - writes predictions to standard output; leave out --json")
        return
    if options.output.suffix.lower() == ".npy" and (
        options.scores or options.probabilities or options.kept
    ):
        raise OptionError(f"{options.output}: can hold labels or values only; write .npz, .csv or .parquet")
    PredictionWriter(options.output)  # knows the suffix
    check_output(options.output)


def _check_inputs(options: PredictOptions, files: list[Path]) -> None:
    """Never write over what is read, by whatever name."""
    if options.output == STANDARD:
        return
    read = [file.stat() for file in files if file.exists()]
    if options.data == STANDARD:
        with suppress(OSError, ValueError, AttributeError):  # it may be no file at all
            read.append(os.fstat(sys.stdin.fileno()))
    written = options.output.exists() and options.output.stat()
    if written and any(os.path.samestat(one, written) for one in read):
        raise OptionError(f"{options.output}: is the file to score; choose another name for -o")
    if options.data.is_dir() and options.output.resolve().parent == options.data.resolve():
        raise OptionError(
            f"{options.output}: is in the folder to score, so the next run would read it as data; write "
            "it elsewhere"
        )


@contextmanager
def _input(data: Path) -> Iterator[Path]:
    """The data; standard input is put into a file first, since some formats are read twice."""
    if data != STANDARD:
        yield data
        return
    with tempfile.TemporaryDirectory(prefix="svmcompile-") as folder:
        spooled = Path(folder) / "input"
        source = getattr(sys.stdin, "buffer", sys.stdin)
        with spooled.open("wb") as stream:
            shutil.copyfileobj(source, stream)
        try:
            yield spooled
        except SvmCompileError as error:
            raise type(error)(str(error).replace(str(spooled), "standard input")) from None


def _rows_of(files: list[Path]) -> int:
    """Rows in all, where that is cheap to say; else 0."""
    counts = [count_rows(file) for file in files]
    return 0 if None in counts else sum(count or 0 for count in counts)
