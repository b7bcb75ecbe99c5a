"""verify: an output folder, its model and data in, a comparison of all its forms out."""

from __future__ import annotations

import json
from typing import Any

from svmcompile import api
from svmcompile.commands.options import VerifyOptions
from svmcompile.data import read_data
from svmcompile.flow.evaluation import find_program, read_file


def run(options: VerifyOptions) -> dict[str, Any]:
    """The comparison on a data file, or the check of certificates in the precision of the C code."""
    stem, program = find_program(options.folder, options.name)
    width, names = program.n_features, program.feature_names
    data = read_data(options.data, label=options.label, n_features=width, feature_names=names)
    trust = options.trust_pickle
    if options.certificate:
        precision = json.loads(read_file(options.folder / f"{stem}.json"))["precision"]
        check = api.check_certificate
        report = check(program, data.X, options.model, precision=precision, trust_pickle=trust)
    else:
        report = api.verify(options.folder, options.model, data.X, data.y, name=stem, trust_pickle=trust)
    found: dict[str, Any] = report.as_dict()
    return found
