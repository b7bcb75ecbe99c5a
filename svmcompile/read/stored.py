"""Estimators in files: skops, which is safe to open, and pickle, which needs the user's consent."""

from __future__ import annotations

import importlib
import io

from svmcompile.errors import ReadError

# Types that skops does not trust by itself, but that estimators hold which can be compiled: plain data and
# pure functions, none of which can run code from the file or reach beyond it.
TRUSTED = {
    *(f"scipy.sparse._{kind}.{kind}_{form}" for kind in ("csr", "csc") for form in ("matrix", "array")),
    "numpy.dtype",
}
TRUSTED_MODULES = (
    "sklearn.calibration",
    "sklearn.feature_selection._univariate_selection",
    "sklearn.metrics._classification",
    "sklearn.metrics._ranking",
    "sklearn.metrics._regression",
    "sklearn.metrics._scorer",
    "sklearn.model_selection._search_successive_halving",
    "sklearn.model_selection._split",
)


def load_pickle(content: bytes, where: str, *, trust_pickle: bool, n_features: int | None = None) -> object:
    """The object in a pickle or joblib file; nothing is unpickled without consent."""
    if not trust_pickle:
        raise ReadError(
            f"{where}: is a pickle, and opening a pickle can run any code in it; if you trust where it "
            "comes from, say so with --trust-pickle (Python: trust_pickle=True), "
            "or save the model with skops.io.dump or as LIBSVM text instead"
        )
    import joblib

    try:
        return joblib.load(io.BytesIO(content))
    except Exception as error:  # unpickling runs foreign code
        raise ReadError(f"{where}: cannot be unpickled ({type(error).__name__}: {error})") from None


def load_skops(
    content: bytes, where: str, *, trust_pickle: bool = False, n_features: int | None = None
) -> object:
    """The object in a skops file that holds trusted types only."""
    import skops.io

    try:
        unknown = skops.io.get_untrusted_types(data=content)
    except Exception as error:  # the file may be anything
        raise ReadError(f"{where}: is a damaged skops file ({type(error).__name__}: {error})") from None
    refused = [name for name in unknown if not _is_trusted(name)]
    if refused:
        raise ReadError(
            f"{where}: holds types that skops does not trust: {', '.join(refused)}; save a plain "
            "scikit-learn estimator or Pipeline without them, or, if you trust where the file comes from, "
            "load it with skops.io.load(file, trusted=[...]) and pass the estimator to svmcompile.compile"
        )
    try:
        return skops.io.loads(content, trusted=list(unknown))
    except Exception as error:
        raise ReadError(f"{where}: is a damaged skops file ({type(error).__name__}: {error})") from None


def _is_trusted(name: str) -> bool:
    """Whether a type is on the list, or defined (not just imported) in a module that is."""
    module, _, own = name.rpartition(".")
    if name in TRUSTED or module not in TRUSTED_MODULES:
        return name in TRUSTED
    return getattr(getattr(importlib.import_module(module), own, None), "__module__", "") == module
