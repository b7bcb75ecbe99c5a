"""predict: an output folder and data in, a file of predictions out."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from svmcompile import api
from svmcompile.commands.options import PredictOptions
from svmcompile.data import PredictionWriter, count_rows, iter_data, partition_files
from svmcompile.errors import OptionError
from svmcompile.flow.evaluation import find_program
from svmcompile.progress import steps


def run(options: PredictOptions) -> dict[str, Any]:
    """Score a data file, or the files of a folder, chunk by chunk; how many rows there were."""
    if options.cluster:
        from svmcompile.cluster import predict_partitions

        return predict_partitions(
            options.cluster, options.folder, options.data, options.output, options.label, options.name,
            options.scores,
        )  # fmt: skip
    stem, program = find_program(options.folder, options.name)
    model = api.load(options.folder, stem, options.target, options.jobs)
    if options.scores and program.output("scores") is None:
        raise OptionError("--scores: this model has no decision function")
    width, names = program.n_features, program.input.feature_names
    files = partition_files(options.data)
    chunks = (
        chunk
        for file in files
        for chunk in iter_data(file, label=options.label, n_features=width, feature_names=names)
    )
    done = 0
    kind: Literal["label", "value"] = "value" if program.labels is None else "label"
    with (
        steps(f"scoring {options.data.name}", _rows_of(files)) as advance,
        PredictionWriter(options.output, kind) as sink,
    ):
        for chunk in chunks:
            sink.write(model.predict(chunk.X), model.decision_function(chunk.X) if options.scores else None)
            done += len(chunk.X)
            advance(len(chunk.X))
    return {"model": stem, "rows": done, "output": str(options.output)}


def _rows_of(files: list[Path]) -> int:
    """Rows in all, where that is cheap to say; else 0."""
    counts = [count_rows(file) for file in files]
    return 0 if None in counts else sum(count or 0 for count in counts)
