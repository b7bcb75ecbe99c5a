"""What `svmcompile convert` does: a model file in, the same model in another library's format out."""

from __future__ import annotations

import io
import warnings
from typing import Any

import numpy as np

from svmcompile.accelerate.registry import accelerate
from svmcompile.api import open_model
from svmcompile.commands.options import ConvertOptions
from svmcompile.convert.estimator import estimator_of
from svmcompile.convert.libsvm import libsvm_files
from svmcompile.errors import OptionError, UnsupportedError
from svmcompile.files import write_files
from svmcompile.files.atomic import check_output
from svmcompile.ir.bounds import error_bounds
from svmcompile.model.svm import SVM

FORMATS = {".model": "libsvm", ".skops": "skops"} | dict.fromkeys((".joblib", ".pkl", ".pickle"), "joblib")
ROWS = 64


def run(options: ConvertOptions) -> dict[str, Any]:
    """Write the model to `output`; what was written, and what the format cannot hold."""
    output = options.output
    wanted = options.to or FORMATS.get(output.suffix.lower(), "")
    if wanted not in FORMATS.values():
        known = ", ".join(dict.fromkeys(FORMATS.values()))
        raise OptionError(
            f"{output}: say what to convert to with --to ({known}), or by {', '.join(FORMATS)}"
        )
    check_output(output)
    model = open_model(options.model, trust_pickle=options.trust_pickle, n_features=options.features)
    svm = model.trained()
    files: dict[str, str | bytes] = {}
    notes: tuple[str, ...] = ()
    if wanted == "libsvm":
        text, notes = libsvm_files(svm, output.name)
        files.update(text)
    else:
        estimator = checked_estimator(svm) if model.source == options.model else model.source
        files[output.name] = _dumped(estimator, wanted)
        notes = _left_out(svm)
    write_files(files, output.parent, in_place=True)
    return {
        "source": svm.source.kind,
        "format": wanted,
        "features": svm.n_features,
        "support_vectors": svm.n_vectors,
        "files": sorted(files),
        "notes": [*svm.notes, *notes],
    }


def _left_out(svm: SVM) -> tuple[str, ...]:
    """What LIBSVM's -b 1 gives for models that scikit-learn has no probabilities for."""
    if svm.noise_scale is None and svm.density_marks is None:
        return ()
    return ("scikit-learn has no probabilities for this type of model; they were left out",)


def checked_estimator(svm: SVM) -> Any:
    """A scikit-learn estimator that predicts what the SVM does, on random rows near its vectors."""
    svm = svm.dense("an estimator of scikit-learn", "convert to LIBSVM text (--to libsvm)")
    estimator = estimator_of(svm)
    program = accelerate(svm, None, "exact", {})
    random = np.random.default_rng(0)
    some = svm.vectors[random.integers(svm.n_vectors, size=ROWS)]
    rows = svm.front.source(some + random.normal(size=some.shape) * (0.1 + some.std(axis=0)))
    bounds = error_bounds(program, rows, "f64")
    with warnings.catch_warnings():  # that rows have no names is known
        warnings.filterwarnings("ignore", message=".*feature names", category=UserWarning)
        found, meant = np.asarray(estimator.predict(rows)), program.predict(rows)
    same = np.abs(found - meant) <= 16 * bounds.scores[:, 0] if svm.labels is None else found == meant
    if not (same | bounds.unstable).all():
        raise UnsupportedError(
            "this version of scikit-learn does not accept the model; convert to LIBSVM text instead"
        )
    return estimator


def _dumped(estimator: Any, wanted: str) -> bytes:
    if wanted == "skops":
        import skops.io

        return bytes(skops.io.dumps(estimator))
    import joblib

    buffer = io.BytesIO()
    joblib.dump(estimator, buffer)
    return buffer.getvalue()
