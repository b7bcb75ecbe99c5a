"""verify: an output folder, its model and data in, a comparison of all its forms out."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from svmcompile import api
from svmcompile.commands.data_options import reading
from svmcompile.commands.options import VerifyOptions
from svmcompile.data import Data, read_data
from svmcompile.errors import OptionError
from svmcompile.flow.evaluation import find_program
from svmcompile.flow.seal import check_seal, read_key, read_report
from svmcompile.ir.program import Program
from svmcompile.read import content_of

MOST_FLOPS = 5_000_000_000  # of the original; it takes about a minute for them in the slowest library
LEAST_ROWS = 200


def run(options: VerifyOptions) -> dict[str, Any]:
    """The comparison on a data file, the check of certificates in the precision of the C, or proofs."""
    if options.prove:
        proven: dict[str, Any] = api.prove(options.folder, name=options.name).as_dict()
        return proven
    if options.data is None:
        raise OptionError("verify compares rows: give some with --data FILE")
    key = None if options.key is None else read_key(options.key)
    stem, program = find_program(options.folder, options.name, key)
    sealed = check_seal(options.folder, stem, key=key)
    least = _least(options, program)
    data = read_data(options.data, **reading(options, program), sparse=True)
    given, trust = len(data.X), options.trust_pickle
    data, notes = _some(data, options.rows, program)
    if options.certificate:
        precision = str(read_report(options.folder, stem).get("precision"))
        check = api.check_certificate
        report = check(program, data.X, options.model, precision=precision, trust_pickle=trust)
    else:
        report = api.verify(
            options.folder, options.model, data.X, data.y, name=stem, trust_pickle=trust,
            run=not options.no_run,
        )  # fmt: skip
    found: dict[str, Any] = report.as_dict()
    found |= {"rows_given": given, "notes": notes + _origins(options, program, sealed)}
    found |= {"files_checked": sealed, "signature_checked": key is not None}
    if least is not None:
        share = "accuracy" if options.model is None else "agreement"
        below = [one["backend"] for one in found["comparisons"] if one[share] < least]
        found |= {"min_agreement": least, "below": below, "ok": found["ok"] and not below}
    return found


def _origins(options: VerifyOptions, program: Program, sealed: int | None) -> list[str]:
    """What is to be said of where the folder comes from."""
    notes = []
    if options.model is not None:
        given = hashlib.sha256(content_of(options.model)).hexdigest()
        if given != program.origin.sha256:
            notes.append(f"{options.model} is not the file this was compiled from (another sha256)")
    if sealed is None:
        notes.append("the report holds no digests, so changes of files are not noticed; compile again")
    return notes


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
