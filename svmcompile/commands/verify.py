"""verify: an output folder, its model and data in, a comparison of all its forms out."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from svmcompile import api
from svmcompile.commands.options import VerifyOptions, reading
from svmcompile.data import Data, read_data
from svmcompile.errors import OptionError
from svmcompile.flow.evaluation import find_program, read_file
from svmcompile.ir.program import Program

MOST_FLOPS = 5_000_000_000  # of the original; it takes about a minute for them in the slowest library
LEAST_ROWS = 200


def run(options: VerifyOptions) -> dict[str, Any]:
    """The comparison on a data file, or the check of certificates in the precision of the C code."""
    stem, program = find_program(options.folder, options.name)
    least = _least(options, program)
    data = read_data(options.data, **reading(options, program))
    given, trust = len(data.X), options.trust_pickle
    data, notes = _some(data, options.rows, program)
    if options.certificate:
        precision = json.loads(read_file(options.folder / f"{stem}.json"))["precision"]
        check = api.check_certificate
        report = check(program, data.X, options.model, precision=precision, trust_pickle=trust)
    else:
        report = api.verify(options.folder, options.model, data.X, data.y, name=stem, trust_pickle=trust)
    found: dict[str, Any] = report.as_dict()
    found |= {"rows_given": given, "notes": notes}
    if least is not None:
        share = "accuracy" if options.model is None else "agreement"
        below = [one["backend"] for one in found["comparisons"] if one[share] < least]
        found |= {"min_agreement": least, "below": below, "ok": found["ok"] and not below}
    return found


def _least(options: VerifyOptions, program: Program) -> float | None:
    """The agreement asked for, if that makes sense."""
    least = options.min_agreement
    if least is not None and not 0 < least <= 1:
        raise OptionError(f"--min-agreement {least:g}: must be above 0 and at most 1, such as 0.995")
    if least is not None and (program.labels is None or options.certificate):
        raise OptionError("--min-agreement needs labels to compare, and there are none")
    return least


def _some(data: Data, wanted: str | None, program: Program) -> tuple[Data, list[str]]:
    """The rows asked for, drawn at random; by default as many as the original can answer in good time."""
    rows = len(data.X)
    if wanted is None:
        most = max(LEAST_ROWS, MOST_FLOPS // max(1, program.origin.exact_flops))
    elif wanted == "all":
        return data, []
    elif wanted.isdecimal() and int(wanted):
        most = int(wanted)
    else:
        raise OptionError(f"--rows {wanted!r}: must be a number of rows, or all")
    if rows <= most:
        return data, []
    picks = np.sort(np.random.default_rng(0).permutation(rows)[:most])
    note = f"{most:,} of {rows:,} rows, drawn at random with seed 0; --rows all uses every row"
    return data.take(picks), [note]
