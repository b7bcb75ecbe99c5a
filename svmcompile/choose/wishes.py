"""What a person asks of a compiled model: limits it must keep, and the figure that should be least."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from svmcompile.accelerate.registry import method_name
from svmcompile.device.cost import DeviceOptions, read_size
from svmcompile.errors import OptionError, find_name, suggestion

NUMBERS = ("f32", "f64", "q15", "q7")
MINIMISE = ("time", "batch-time", "instructions", "bytes", "energy")
SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
LONG_SECONDS = {"s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
QUANTITY = re.compile(r"\s*(\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)\s*([a-zA-Z]*)\s*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What the chosen program must keep; None where nothing is asked."""

    same_labels: bool = False
    agreement: float | None = None
    accuracy_loss: float | None = None
    latency_us: float | None = None
    batch_latency_us: float | None = None
    max_bytes: int | None = None
    flash: int | None = None
    ram: int | None = None

    @property
    def on_labels(self) -> bool:
        """Whether anything is asked about labels."""
        return self.same_labels or self.agreement is not None or self.accuracy_loss is not None

    def given(self) -> dict[str, Any]:
        """The limits that are set."""
        return {name: value for name, value in asdict(self).items() if value not in (None, False)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """Limits, what is to be least, how sure to be, and how long to search."""

    limits: Limits = field(default_factory=Limits)
    minimise: str = "time"
    device: DeviceOptions | None = None
    confidence: float = 0.95
    tolerance: float | None = None  # regressors: values this close count as the same
    budget_seconds: float = 120.0
    seed: int = 0
    jobs: int = 0  # processes; 0 for one per core
    targets: tuple[str, ...] = ("c",)
    precision: str | None = None  # None: chosen as well
    methods: tuple[str, ...] = ()  # those to try; all if none is named

    @property
    def cost_name(self) -> str:
        """The figure that is minimised."""
        if self.minimise == "bytes":
            return self.size_name
        if self.minimise == "energy":
            return "energy_nj"
        if self.minimise == "instructions" or (self.device and self.minimise == "time"):
            return "instructions"
        return {"time": "time_us", "batch-time": "batch_time_us"}[self.minimise]

    @property
    def clock_mhz(self) -> float | None:
        """The clock of the device."""
        return self.device.clock_mhz if self.device else None

    @property
    def needs_times(self) -> bool:
        """Whether times of this machine decide anything; without them equal input gives an equal choice."""
        timed = self.limits.latency_us is not None or self.limits.batch_latency_us is not None
        return self.device is None and (timed or self.minimise in ("time", "batch-time"))

    @property
    def size_name(self) -> str:
        """The figure that tells the size."""
        return "flash_bytes" if self.device else "table_bytes"


def read_wishes(given: Mapping[str, Any]) -> Wishes:
    """Wishes as users write them: numbers, or text with units; an error for what contradicts itself."""
    known = {
        *(limit.name.removesuffix("_us") for limit in fields(Limits)), "minimise", "cpu", "energy", "clock",
        "confidence", "tolerance", "budget", "seed", "jobs", "targets", "precision", "methods",
    }  # fmt: skip
    for name in given:
        if name not in known:
            near = suggestion(name, known)
            listed = ", ".join(sorted(known))
            raise OptionError(f"method 'auto' has no option {name!r}{near}; it has: {listed}")
    asked = {name: value for name, value in given.items() if value is not None}
    device = _device(asked)
    wishes = Wishes(
        limits=_limits(asked),
        minimise=find_name(asked.get("minimise", "time"), MINIMISE, "--minimise"),
        device=device,
        confidence=_share(asked, "confidence", 0.95),
        tolerance=_positive(asked, "tolerance") if "tolerance" in asked else None,
        budget_seconds=_quantity(asked, "budget", LONG_SECONDS, "s") if "budget" in asked else 120.0,
        seed=_whole(asked, "seed", 0),
        jobs=_whole(asked, "jobs", 0),
        targets=_targets(asked.get("targets", ("c",))),
        precision=find_name(asked["precision"], NUMBERS, "precision") if "precision" in asked else None,
        methods=_methods(asked.get("methods", ())),
    )
    return _check(wishes)


def _limits(asked: Mapping[str, Any]) -> Limits:
    same = asked.get("same_labels", False)
    if not isinstance(same, bool):
        raise OptionError(f"same_labels is {same!r}; it is True or False")
    size: dict[str, Any] = {
        name: read_size(str(asked[name]), _flag(name))
        for name in ("max_bytes", "flash", "ram")
        if name in asked
    }
    time: dict[str, Any] = {
        f"{name}_us": 1e6 * _quantity(asked, name, SECONDS, "us")
        for name in ("latency", "batch_latency")
        if name in asked
    }
    return Limits(
        same_labels=same,
        agreement=_share(asked, "agreement") if "agreement" in asked else None,
        accuracy_loss=_loss(asked) if "accuracy_loss" in asked else None,
        **size,
        **time,
    )


def _device(asked: Mapping[str, Any]) -> DeviceOptions | None:
    def text(name: str) -> str | None:
        return None if name not in asked else str(asked[name])

    energy = None if "energy" not in asked else _positive(asked, "energy")
    return DeviceOptions.of(text("cpu"), text("flash"), text("ram"), energy, "device", text("clock"))


def _check(wishes: Wishes) -> Wishes:
    """The wishes, if they can be held together."""
    limits, device = wishes.limits, wishes.device
    if device is None:
        if wishes.minimise in ("instructions", "energy"):
            raise OptionError(f"--minimise {wishes.minimise} needs --cpu")
    else:
        if wishes.minimise == "batch-time" or limits.batch_latency_us is not None:
            raise OptionError(
                "times of batches are measured on this machine; leave --cpu out, or use --latency"
            )
        if limits.latency_us is not None and wishes.clock_mhz is None:
            raise OptionError(
                f"--latency on {device.cpu.name} needs its clock; add for example --clock 48MHz"
            )
        if wishes.minimise == "energy" and device.picojoules is None:
            raise OptionError("--minimise energy needs --energy-per-instruction, in picojoules")
        if wishes.targets != ("c",):
            raise OptionError("--cpu is for target c")
        if limits.max_bytes and limits.flash and limits.max_bytes > limits.flash:
            raise OptionError("--max-bytes allows more than --flash; leave --max-bytes out")
    if limits.same_labels and limits.accuracy_loss is not None:
        raise OptionError("--same-labels loses no accuracy; leave --accuracy-loss out, or --same-labels")
    if limits.same_labels and limits.agreement is not None:
        raise OptionError("--same-labels asks for more than --agreement; leave one of them out")
    return wishes


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def _number(asked: Mapping[str, Any], name: str) -> float:
    try:
        value = float(asked[name])
    except (TypeError, ValueError):
        raise OptionError(f"{_flag(name)} {asked[name]!r} is not a number") from None
    if not math.isfinite(value):
        raise OptionError(f"{_flag(name)} {asked[name]!r} is not a finite number")
    return value


def _share(asked: Mapping[str, Any], name: str, default: float = 0.0) -> float:
    value = _number(asked, name) if name in asked else default
    if not 0 < value < 1:
        more = f"; for {value:g} % write {value / 100:g}" if 1 < value <= 100 else ""
        every = "; for every label use --same-labels" if name == "agreement" and value == 1 else ""
        raise OptionError(f"{_flag(name)} {value:g} is not between 0 and 1{more}{every}")
    return value


def _loss(asked: Mapping[str, Any]) -> float:
    value = _number(asked, "accuracy_loss")
    if not 0 <= value < 1:
        raise OptionError(f"--accuracy-loss {value:g} is not a share from 0 to 1; 0.002 is 0.2 points")
    return value


def _positive(asked: Mapping[str, Any], name: str) -> float:
    value = _number(asked, name)
    if value <= 0:
        raise OptionError(f"{_flag(name)} {value:g} is not above 0")
    return value


def _whole(asked: Mapping[str, Any], name: str, default: int) -> int:
    value = _number(asked, name) if name in asked else default
    if value != int(value) or value < 0:
        raise OptionError(f"{_flag(name)} {value:g} is not a whole number, 0 or more")
    return int(value)


def _quantity(asked: Mapping[str, Any], name: str, units: Mapping[str, float], usual: str) -> float:
    """A number with a unit, in the unit whose factor is 1; a bare number is in the usual unit."""
    match = QUANTITY.fullmatch(str(asked[name]))
    factor = units.get((match[2] or usual).lower()) if match else None
    if not match or factor is None or not 0 < float(match[1]) * factor < math.inf:
        raise OptionError(
            f"{_flag(name)} {asked[name]!r} is not a number with one of the units {', '.join(units)}; "
            f"without a unit it is in {usual}"
        )
    return float(match[1]) * factor


def read_seconds(text: str | None, flag: str) -> float | None:
    """A time such as 40s or 2m in seconds; None where none is given."""
    name = flag.removeprefix("--").replace("-", "_")
    return None if text is None else _quantity({name: text}, name, LONG_SECONDS, "s")


def _methods(value: Any) -> tuple[str, ...]:
    names = tuple(value.split(",")) if isinstance(value, str) else tuple(value)
    return tuple(method_name(name) for name in names)


def _targets(value: Any) -> tuple[str, ...]:
    names = tuple(value.split(",")) if isinstance(value, str) else tuple(value)
    for name in names:
        if name not in ("c", "onnx"):
            raise OptionError(f"target {name!r} cannot be measured; known: c, onnx")
    return names
