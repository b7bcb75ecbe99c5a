"""compile: a model file in, a folder of files out."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import numpy as np

from svmcompile import api
from svmcompile.accelerate.registry import fits_rows, method, tuned
from svmcompile.choose.wishes import read_seconds
from svmcompile.commands.checked import checked, device_of, profile_of
from svmcompile.commands.data_options import reading
from svmcompile.commands.device_fit import Asked, refuse
from svmcompile.commands.helping import settings
from svmcompile.commands.limit import limited
from svmcompile.commands.options import CompileOptions
from svmcompile.data import Data, read_data
from svmcompile.device.cost import device_cost, rows_for, shortfalls, with_cost
from svmcompile.errors import OptionError
from svmcompile.files import write_files
from svmcompile.flow.emission import Files
from svmcompile.flow.estimate import announce, quicker
from svmcompile.flow.held_out import hold_out
from svmcompile.flow.program import Opened, Watcher
from svmcompile.flow.seal import read_key, sealed
from svmcompile.ir.arithmetic import FIXED
from svmcompile.ir.program import Program
from svmcompile.targets.templating import name_from

ROWS = re.compile(r"(\d+)@(\d+)(?:/(\d+))?")


def run(options: CompileOptions) -> dict[str, Any]:
    """The report of what was written, with the sizes of the files."""
    options = checked(options)
    listings: dict[str, str] = {}

    def watch(step: str, program: Program) -> None:
        listings[f"{len(listings):02d}-{step}.txt"] = program.text()

    limit = read_seconds(options.time_limit, "--time-limit")
    fewer = "fewer rows (--rows COUNT@SEED)" if options.data else ""
    advice = quicker(options.method, fewer) if limit else ""
    with limited(limit, options.method, advice):
        model = api.open_model(
            options.model, trust_pickle=options.trust_pickle, n_features=options.features,
            most_probable=options.most_probable,
        )  # fmt: skip
        files, name, seconds = _make(options, model, watch if options.dump_ir else None)
    _write(files, listings, options)
    sizes = {key: len(value.encode() if isinstance(value, str) else value) for key, value in files.items()}
    # The time is told, never stored: equal input gives equal files.
    return {**json.loads(files[f"{name}.json"]), "seconds": seconds, "files": sizes}


def _write(files: Files, listings: dict[str, str], options: CompileOptions) -> None:
    """All in one step, unless listings go to a folder elsewhere: then they come first."""
    output, place = options.output.resolve(), options.dump_ir and options.dump_ir.resolve()
    if place and output in place.parents:
        below = place.relative_to(output).as_posix()
        files = files | {f"{below}/{listing}": text for listing, text in listings.items()}
    elif options.dump_ir:
        write_files(listings, options.dump_ir)
    api.write(files, options.output)


def _make(options: CompileOptions, model: Opened, watch: Watcher | None) -> tuple[Files, str, float]:
    """The files, the name in theirs, and the seconds that the method took."""
    options, figures = _resolve(options, model)
    profile, chosen = profile_of(options), settings(options.set_)
    device = device_of(options)
    if options.number in FIXED and model.svm and method(options.method).bends_probabilities:
        chosen = {"probabilities": "none", **chosen}  # whole numbers have none
    data, held = _read(options, model, chosen)
    X, y = (None, None) if data is None else (data.X, data.y)
    if model.svm:
        announce(model.svm, options.method, 0 if X is None else len(X))
    begin = time.perf_counter()
    program = api.compile(
        model, method=options.method, X=X, y=y, measure=options.measure, watch=watch, held_out=held,
        **(tuned(options.method, chosen, profile, options.number) if model.svm else chosen),
    )  # fmt: skip
    seconds = time.perf_counter() - begin if model.svm else 0.0
    name = name_from(options.model.stem) if options.name is None else options.name
    files = api.emit(
        program, tuple(options.target or ["c"]), name, options.number, profile, options.tables, figures,
        watch, X=X, y=y, model=model if model.svm else None, kit=tuple(options.kit or ()),
        ranges=_ranges(options.ranges, program), given=options.given, soft_double=options.soft_double,
        held_out=held, platform=options.platform, api=options.api or (), **options.onnx,
    )  # fmt: skip
    if device:
        cost = device_cost(files, name, device, rows_for(program, X))
        if shortfalls(cost, device):
            raise refuse(Asked(model, program, data, held, options, name), cost, device)
        files = with_cost(files, name, cost)
    if options.prove:
        from svmcompile.proofs.told import with_proof

        files = with_proof(files, name)
    if "choice" in figures:
        from svmcompile.commands.auto import choice_file

        files["choice.json"] = choice_file(figures["choice"])
    return sealed(files, name, None if options.sign is None else read_key(options.sign)), name, seconds


def _resolve(options: CompileOptions, model: Opened) -> tuple[CompileOptions, dict[str, Any]]:
    """Options with a method named, and the choice, where one was to be made or repeated."""
    if options.method == "auto" or options.replay or options.from_:
        from svmcompile.commands.auto import resolve

        return resolve(options, model)
    return options, {}


def _read(
    options: CompileOptions, model: Opened, chosen: dict[str, Any]
) -> tuple[Data | None, Data | None]:
    """Rows to fit to, and rows held out to report on: those of --test, else a part of those given."""

    def read(path: Path | None) -> Data | None:
        return None if path is None else read_data(path, **reading(options, model.model), sparse=True)

    data, test = read(options.data), read(options.test)
    if data is None:
        return None, test
    if options.rows is not None:
        fit, others = _drawn(data, options.rows)
        return fit, test or others
    fitted = fits_rows(options.method, chosen) or options.number in FIXED
    return hold_out(data) if test is None and fitted and model.svm else (data, test)


def _drawn(data: Data, text: str) -> tuple[Data, Data]:
    """COUNT@SEED or COUNT@SEED/LAST: rows drawn to fit to, and the others, or the last of them."""
    match, total = ROWS.fullmatch(text), len(data.X)
    fit, last = (int(match[1]), int(match[3] or total)) if match else (0, 0)
    if not match or not 0 < fit <= total or not last:
        raise OptionError(f"--rows {text!r} is not COUNT@SEED with a count from 1 to {total}")
    order = np.random.default_rng(int(match[2])).permutation(total)
    return data.take(order[:fit]), data.take(order[fit:][-last:])


def _ranges(text: str | None, program: Program) -> tuple[Any, Any] | None:
    """The range of all features from LOW:HIGH, or of each from the rows of a file."""
    if text is None:
        return None
    low, colon, high = text.partition(":")
    if colon and not Path(text).exists():
        try:
            return float(low), float(high)
        except ValueError:
            raise OptionError(f"--ranges {text!r} is neither LOW:HIGH nor a file") from None
    rows = read_data(Path(text), n_features=program.n_features, feature_names=program.feature_names).X
    return rows.min(axis=0), rows.max(axis=0)
