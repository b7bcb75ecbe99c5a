"""role: which scikit-learn class an object is, or derives from."""

from __future__ import annotations

from collections.abc import Iterable


def role(estimator: object, names: Iterable[str]) -> str | None:
    """The scikit-learn class, among `names`, that the estimator is or derives from."""
    known = set(names)
    for base in type(estimator).__mro__:
        if base.__name__ in known and from_sklearn(base):
            return base.__name__
    return None


def from_sklearn(base: type) -> bool:
    """Other libraries have an SVC too, and it need not mean the same."""
    return str(base.__module__).split(".")[0] == "sklearn"
