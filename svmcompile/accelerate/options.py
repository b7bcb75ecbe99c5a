"""Options of methods: each field of a dataclass says what it does and which values make sense."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import Any

from svmcompile.errors import OptionError, suggestion
from svmcompile.ir.program import Scalar

TYPES = {
    "str": "text",
    "int": "whole number",
    "float": "number",
    "bool": "true or false",
    "Numbers": "numbers",
    "ShareList": "shares",
    "CalibrationRows": "data file",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """Values that make sense: a number within limits, or one of a few words; some mean something else."""

    among: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None
    above: float | None = None
    below: float | None = None
    special: tuple[float, ...] = ()  # as -1, which leaves the choice to the method
    infinite: bool = False
    words: str = ""  # where the class itself checks, what it asks for

    def holds(self, value: float) -> bool:
        """Whether a number is within the limits."""
        return value in self.special or (
            (self.least is None or value >= self.least)
            and (self.most is None or value <= self.most)
            and (self.above is None or value > self.above)
            and (self.below is None or value < self.below)
        )

    def text(self) -> str:
        """The range as a person reads it; empty where any value will do."""
        if self.words or self.among:
            return self.words or ", ".join(self.among)
        low, high = self._ends()
        if self.least is not None and self.most is not None:
            limits = f"from {_short(self.least)} to {_short(self.most)}"
        elif self.above is not None and self.below is not None:
            limits = f"between {_short(self.above)} and {_short(self.below)}"
        else:
            limits = " and ".join(filter(None, (low, high)))
        return " or ".join([*map(_short, self.special), *filter(None, [limits])])

    def _ends(self) -> tuple[str, str]:
        low = "" if self.least is None else f"at least {_short(self.least)}"
        low = low if self.above is None else f"above {_short(self.above)}"
        high = "" if self.most is None else f"at most {_short(self.most)}"
        return low, high if self.below is None else f"below {_short(self.below)}"


def _short(number: float) -> str:
    return f"{number:,}" if isinstance(number, int) else f"{number:g}"


def option(default: Any, text: str, *, recorded: bool | None = True, **limits: Any) -> Any:
    """A field with its default, a sentence on what it does, and its range (see `Range`).

    What only says how the work is done, and changes nothing that comes out, is not recorded; with None
    an option is where it is not the default.
    """
    return field(default=default, metadata={"text": text, "range": Range(**limits), "recorded": recorded})


@dataclass(frozen=True, slots=True)
class Option:
    """One option of a method, as its dataclass declares it."""

    name: str
    type: str
    default: Any
    range: str
    text: str


def listed(options: type) -> list[Option]:
    """Every option of a dataclass."""
    found = []
    for one in fields(options):
        limits, kind = one.metadata.get("range", Range()), TYPES.get(str(one.type), str(one.type))
        found.append(
            Option(one.name, kind, plain(one.default), limits.text(), one.metadata.get("text", ""))
        )
    return found


def plain(value: Any) -> Scalar:
    """An option as reports and files hold it."""
    return value if isinstance(value, (bool, int, float, str)) else str(value)


def parse_options(name: str, wanted: type, given: Mapping[str, Any]) -> Any:
    """The option dataclass from names and values; strings are converted to the declared type."""
    known = {field.name: field for field in fields(wanted)}
    loose = {key.lower(): key for key in known}
    values = {}
    for key, value in given.items():
        own = loose.get(key.lower().replace("-", "_"))
        if own is None:
            listed_names = ", ".join(known) or "none"
            raise OptionError(
                f"method {name!r} has no option {key!r}{suggestion(key, known)}; it has: {listed_names}"
            )
        default = known[own].default
        assert default is not MISSING, "every option has a default"
        values[own] = _convert(name, own, value, type(default))
    return wanted(**values)


def check_options(name: str, options: Any) -> None:
    """Refuse values outside the ranges of their fields, and numbers that are not finite."""
    for one in fields(options):
        limits, value = one.metadata.get("range", Range()), getattr(options, one.name)
        if limits.among and value not in limits.among:
            near, texts = suggestion(value, limits.among), ", ".join(limits.among)
            raise OptionError(f"{name}: {one.name}={value!r} is unknown{near}; known: {texts}")
        if not limits.among and not all(map(limits.holds, getattr(value, "values", (value,)))):
            raise OptionError(f"{name}: {one.name} must be {limits.text()}, got {value}")
        refused = math.isnan if limits.infinite else _not_finite
        if isinstance(value, float) and refused(value):
            raise OptionError(f"{name}: {one.name} is not a finite number")


def _not_finite(number: float) -> bool:
    return not math.isfinite(number)


def _convert(method_name: str, key: str, value: Any, wanted: type) -> Any:
    try:
        if wanted is bool and isinstance(value, str):
            return {"true": True, "false": False}[value.lower()]
        if wanted is int and isinstance(value, float) and not value.is_integer():
            raise ValueError
        return wanted(value)
    except (KeyError, TypeError, ValueError, OverflowError):
        kind = TYPES.get(wanted.__name__, wanted.__name__)
        kind = f"a {kind}" if kind.endswith("number") else kind
        raise OptionError(f"{method_name}: {key} must be {kind}, got {value!r}") from None


CHECKED, KEPT = 0.1, ("none", "calibrate", "anyway")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbabilityOptions:
    """What becomes of probabilities, of every method that approximates decision values."""

    probabilities: str = option(
        str(CHECKED),
        "Largest error of probabilities on held-out rows before the method refuses; or none leaves them "
        "out, calibrate refits them to labelled rows, anyway keeps them as they are.",
        recorded=False, words=f"a number within 0 and 1, or {', '.join(KEPT)}",
    )  # fmt: skip

    def __post_init__(self) -> None:
        if self.probabilities not in KEPT and not 0 <= self.limit <= 1:
            raise OptionError(
                f"probabilities={self.probabilities!r} is neither a number within 0 and 1 nor one of: "
                f"{', '.join(KEPT)}"
            )

    @property
    def limit(self) -> float:
        """The largest error that passes; below 0 where the text is none."""
        if self.probabilities in KEPT:
            return math.inf if self.probabilities == "anyway" else CHECKED
        try:
            return float(self.probabilities)
        except ValueError:
            return -1.0
