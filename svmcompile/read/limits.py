"""How large a model may be: checked before anything of that size is made."""

from __future__ import annotations

from svmcompile.errors import UnsupportedError

MAX_FEATURES = 1 << 24
MAX_ENTRIES = 1 << 28  # of a dense [vectors, features] table: 2 GiB of float64
MAX_DEGREE = 64


def check_dense_size(n_vectors: int, n_features: int, where: str, limit: int = MAX_ENTRIES) -> None:
    """Refuse vectors that are too many, or too wide, to be held as a dense table."""
    if n_features > MAX_FEATURES:
        raise UnsupportedError(
            f"{where}: {n_features} features are more than the limit of {MAX_FEATURES}; "
            "select or hash features before training"
        )
    if n_vectors * n_features > limit:
        raise UnsupportedError(
            f"{where}: {n_vectors} vectors of {n_features} features would make a dense table of "
            f"{n_vectors * n_features} numbers, above the limit of {limit} for this model; "
            "use fewer features, or a linear model"
        )
