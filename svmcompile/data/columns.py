"""Which column is the label, which are the features, in which order.

A file's width and column names enter, with what the caller wants; column positions leave.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from svmcompile.data.limits import MAX_FEATURES
from svmcompile.errors import OptionError, ReadError

SHOWN = 10  # names listed in a message before it is cut


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the caller knows: the label column, and the model's features."""

    label: str | None = None
    n_features: int | None = None
    feature_names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.n_features is not None and not 1 <= self.n_features <= MAX_FEATURES:
            raise OptionError(f"n_features must be between 1 and {MAX_FEATURES}, got {self.n_features}")
        if self.feature_names and self.n_features not in (None, len(self.feature_names)):
            raise OptionError(f"{len(self.feature_names)} feature names for {self.n_features} features")

    @property
    def width(self) -> int | None:
        """The number of features, where known."""
        return len(self.feature_names) or self.n_features


@dataclass(frozen=True, slots=True)
class Columns:
    """Positions in the file: features in the model's order, and the label."""

    features: tuple[int, ...]
    label: int | None
    names: tuple[str, ...] = ()


def choose_columns(path: Path, width: int, names: tuple[str, ...], wanted: Wanted) -> Columns:
    """The columns to read; `names` is empty where the file has none."""
    label = None if wanted.label is None else find_label(path, width, names, wanted.label)
    features = [column for column in range(width) if column != label]
    if not features:
        raise ReadError(f"{path}: has no feature columns")
    if names and wanted.feature_names:
        features = _in_model_order(path, names, features, wanted)
    elif wanted.width is not None and len(features) != wanted.width:
        raise ReadError(_misfit(path, len(features), wanted))
    return Columns(tuple(features), label, tuple(names[column] for column in features) if names else ())


def find_label(path: Path, width: int, names: tuple[str, ...], label: str) -> int:
    """The label column's position, by name first, then by 0-based index (negative from the end)."""
    if names.count(label) > 1:
        raise OptionError(f"{path}: column {label!r} appears twice; give the label by its index")
    if label in names:
        return names.index(label)
    index = column_index(label)
    if index is not None and -width <= index < width:
        return index % width
    known = f"columns: {_listed(names)}" if names else "it has no column names"
    raise OptionError(
        f"{path}: no column {label!r} for the label; {known}, indices run from 0 to {width - 1}"
    )


def column_index(label: str) -> int | None:
    """The label option as an index, if it is one."""
    digits = label[1:] if label.startswith("-") else label
    return int(label) if digits.isdecimal() and len(digits) < 10 else None


def _in_model_order(path: Path, names: tuple[str, ...], features: list[int], wanted: Wanted) -> list[int]:
    present = [names[column] for column in features]
    missing = [name for name in wanted.feature_names if name not in present]
    unknown = [name for name in present if name not in wanted.feature_names]
    twice = [name for name in wanted.feature_names if present.count(name) > 1]
    problems = [f"missing {_listed(missing)}"] if missing else []
    problems += [f"unknown {_listed(unknown)}"] if unknown else []
    problems += [f"twice {_listed(twice)}"] if twice else []
    if problems:
        hint = (
            f"; if it holds the labels, add --label {unknown[0]}" if _may_be_label(unknown, wanted) else ""
        )
        raise ReadError(f"{path}: columns do not match the model's features: {', '.join(problems)}{hint}")
    return [features[present.index(name)] for name in wanted.feature_names]


def _may_be_label(unknown: list[str], wanted: Wanted) -> bool:
    return len(unknown) == 1 and wanted.label is None


def _misfit(path: Path, width: int, wanted: Wanted) -> str:
    message = f"{path}: has {width} feature columns, the model has {wanted.width} features"
    if wanted.label is None and width - 1 == wanted.width:
        message += "; if one column holds the labels, name it with --label"
    return message


def _listed(names: tuple[str, ...] | list[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:SHOWN])
    return shown + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")
