"""What is wrong with the options of `compile` whatever the model holds is said before the model is read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from svmcompile.accelerate.options import check_options, parse_options
from svmcompile.accelerate.registry import METHODS, method, split_rule
from svmcompile.choose.wishes import read_seconds
from svmcompile.commands.helping import WISHES, settings
from svmcompile.commands.options import CompileOptions
from svmcompile.data.reading import detect
from svmcompile.device.cost import DeviceOptions
from svmcompile.errors import OptionError, find_name
from svmcompile.files.atomic import check_output_folder
from svmcompile.flow.emission import PROFILES, TABLES, Request, check_together, checked_kits
from svmcompile.flow.evaluation import TARGETS
from svmcompile.flow.precision import checked_precision
from svmcompile.flow.program import holds_program
from svmcompile.flow.seal import read_key
from svmcompile.ir.arithmetic import FIXED
from svmcompile.plugins.entries import find_plugged
from svmcompile.targets.kits import KIT_NAMES, default_profile
from svmcompile.targets.onnx.options import read_options
from svmcompile.targets.templating import check_name, name_from


def checked(options: CompileOptions) -> CompileOptions:
    """The options, with names as they are listed; an error for the first that makes no sense."""
    options = _named(options)
    for folder in filter(None, (options.output, options.dump_ir)):
        check_output_folder(folder)
    for file in filter(None, (options.data, options.test)):
        detect(file)
    if options.name is not None:
        check_name(options.name)
    if options.sign is not None:
        read_key(options.sign)
    read_seconds(options.time_limit, "--time-limit")
    read_options(options.onnx, options.target or ())
    if options.method == "auto" or options.replay or options.from_:
        from svmcompile.commands.auto import check_auto

        check_auto(options)
        return options
    _refuse_wishes(options)
    profile = profile_of(options)
    name, targets = options.name or name_from(options.model.stem), options.target or ["c"]
    request = Request.of(
        None, targets, name, options.number, profile, options.tables, options.soft_double,
        options.platform, options.onnx, options.api or (),
    )  # fmt: skip
    checked_kits(options.kit or (), request)
    if device_of(options) and "c" not in targets:
        raise OptionError("only C has a cost on a device; add target c")
    if (options.ranges or options.given) and options.number not in FIXED:
        raise OptionError("--ranges and --input are for precisions q15 and q7")
    check_together(request, options.number in FIXED, None)
    if options.prove and options.number not in FIXED:
        raise OptionError("--prove is for whole numbers; add --precision q15 or q7")
    if not holds_program(b"", str(options.model)):  # such a file says itself that it takes no options
        _check_method(options.method, settings(options.set_), options.data)
    return options


def profile_of(options: CompileOptions) -> str:
    """The profile asked for, or what processor and kits want."""
    return options.profile or ("device" if options.cpu else default_profile(options.kit or ()))


def device_of(options: CompileOptions) -> DeviceOptions | None:
    """The device the code is for, if one is named."""
    profile = profile_of(options)
    return DeviceOptions.of(options.cpu, options.flash, options.ram, options.energy, profile, options.clock)


def _named(options: CompileOptions) -> CompileOptions:
    def one(given: str | None, known: Iterable[str], what: str) -> str | None:
        return None if given is None else find_name(given, known, what)

    return replace(
        options,
        method=find_plugged(options.method, ("auto", *METHODS), "method"),
        target=[find_plugged(name, TARGETS, "target") for name in options.target or ()] or None,
        kit=[find_plugged(name, KIT_NAMES, "kit") for name in options.kit or ()] or None,
        precision=None if options.precision is None else checked_precision(options.precision),
        profile=one(options.profile, PROFILES, "profile"),
        tables=one(options.tables, TABLES, "table type"),
    )


def _refuse_wishes(options: CompileOptions) -> None:
    usual = CompileOptions(model=options.model, output=options.output)
    for name in WISHES[: WISHES.index("cpu")]:
        if getattr(options, name) != getattr(usual, name):
            flag = "--" + name.replace("_", "-")
            raise OptionError(f"{flag} is for --method auto, and the method is {options.method!r}")
    if options.pick is not None:
        raise OptionError("--pick needs --from explore.json")


def _check_method(name: str, chosen: Mapping[str, Any], data: Path | None) -> None:
    """The method's own options, and whether it has the rows it needs."""
    found = method(name)
    rule, own = split_rule(name, chosen)
    check_options(name, parse_options(name, found.options, own))
    if rule is not None:
        check_options(name, rule)
    if found.needs_data and data is None:
        raise OptionError(f"method {name!r} needs representative rows; add --data FILE")
