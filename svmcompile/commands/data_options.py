"""Options of every command that reads a data file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from typer import Option

from svmcompile.errors import OptionError

LIBRARIES = ("LIBSVM", "ThunderSVM", "LIBLINEAR", "SVM-light")  # whose rows have numbered features


@dataclass(frozen=True, slots=True, kw_only=True)
class DataOptions:
    """How a data file is to be read."""

    label: Annotated[
        str | None, Option(help="label column of a .csv or .parquet file, by name or number")
    ] = None
    ignore_extra: Annotated[
        bool, Option("--ignore-extra", help="ignore columns that the model does not know")
    ] = False
    zero_based: Annotated[
        bool | None,
        Option(
            "--zero-based/--one-based",
            help=".libsvm/.svmlight: whether indices start at 0 or at 1  [default: detect]",
            show_default=False,
        ),
    ] = None
    separator: Annotated[str | None, Option(help=".csv: comma, semicolon or tab  [default: detect]")] = None
    text: Annotated[
        str | None, Option(help="column of a .csv or .parquet file that holds the text, for models of text")
    ] = None
    decimal: Annotated[str | None, Option(help=".csv: decimal point, . or ,  [default: detect]")] = None


def reading(options: DataOptions, model: Any = None) -> dict[str, Any]:
    """What `read_data` is to know: the options, and the features of an SVM or a Program."""
    given = options.zero_based
    found: dict[str, Any] = {
        "label": options.label,
        "ignore_extra": options.ignore_extra,
        "base": None if given is None else int(not given),
        "separator": options.separator,
        "decimal": options.decimal,
    }
    text = None if model is None else model.input.text if hasattr(model, "input") else model.text
    if options.text is not None and not text:
        raise OptionError("--text is for models of text, and this one takes numbers; leave it out")
    if text:
        return found | {"takes_text": True, "text": options.text}
    if model is not None:
        found |= {"n_features": model.n_features, "feature_names": model.feature_names}
        found |= {"categories": model.categories} if model.categories else {}
        source = model.origin.source if hasattr(model, "origin") else model.source.kind
        if given is None and source.startswith(LIBRARIES):
            found["base"] = int("zero-based" not in source)  # as the library itself reads such files
    return found
