"""auto: flags become wishes, and what is chosen, replayed or picked becomes the options of `compile`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from svmcompile.choose.choice import Rows, choose, data_digest, from_record
from svmcompile.choose.wishes import Wishes, read_wishes
from svmcompile.commands.data_options import reading
from svmcompile.commands.helping import WISHES
from svmcompile.commands.options import CompileOptions, WishOptions
from svmcompile.data import read_data
from svmcompile.errors import OptionError
from svmcompile.files.plain import json_text, read_json
from svmcompile.flow.program import Opened
from svmcompile.progress import say
from svmcompile.targets.kits import default_profile


def wishes_of(options: WishOptions, **more: Any) -> Wishes:
    """What the flags ask for."""
    return read_wishes({name: getattr(options, name) for name in WISHES} | more)


def read_rows(model: Opened, data: Path, report: Path | None, options: WishOptions) -> Rows:
    """The rows of the files, checked against the model."""
    how = reading(options, model.model)
    last = None if report is None else read_data(report, **how)
    return Rows(read_data(data, **how), last, str(data), None if report is None else str(report))


def check_auto(options: CompileOptions) -> None:
    """An error for options that contradict auto, a replay or a picked candidate, whatever the model."""
    recorded = options.replay or options.from_
    if options.replay and options.from_:
        raise OptionError("--replay and --from each name a candidate; leave one of them out")
    for name in ("set_", "tables", "rows", "measure", "profile", "ranges", "given"):
        if getattr(options, name):
            flag = {"set_": "set", "given": "input"}.get(name, name)
            chooser = f"{recorded} says" if recorded else "--method auto chooses"
            raise OptionError(f"--{flag} is what {chooser}; leave it out, or name a method")
    if recorded:
        return
    if options.time_limit is not None:
        raise OptionError(
            "--time-limit is for a single method; with auto use --budget, which keeps the best found so far"
        )
    if options.cpu is None and default_profile(options.kit or ()) == "device":
        raise OptionError("the kit is for devices; add --cpu, on which --method auto measures")
    if options.data is None:
        raise OptionError("--method auto needs representative rows; add --data FILE")
    _wishes(options)


def _wishes(options: CompileOptions) -> Wishes:
    target = "onnx" if set(options.target or ()) == {"onnx"} else "c"
    return wishes_of(options, targets=target, precision=options.precision)


def resolve(options: CompileOptions, model: Opened) -> tuple[CompileOptions, dict[str, Any]]:
    """Options that name what auto, a replay or a picked candidate says; the choice, to be reported."""
    if options.replay or options.from_:
        return _recorded(options, model), {}
    assert options.data
    rows, wishes = read_rows(model, options.data, options.test, options), _wishes(options)
    say(f"auto: searches for up to {wishes.budget_seconds:g} s (--budget)")
    choice = choose(model, rows, wishes)
    if choice.decision.winner is None:
        raise OptionError(choice.record["sentence"])
    return _named(options, choice.record, choice.decision.winner), {"choice": choice.record}


def _named(options: CompileOptions, record: dict[str, Any], winner: dict[str, Any]) -> CompileOptions:
    """The options that build a candidate."""
    one = from_record(winner)
    rows = record["rows"]
    reported = "" if rows["report_file"] else f"/{rows['report']}"
    return replace(
        options, method=one.method, set_=[f"{key}={value}" for key, value in one.options.items()],
        precision=one.precision, tables=one.tables, profile=one.profile, soft_double=one.soft_double,
        target=options.target or [one.target],
        rows=f"{rows['fit']}@{record['settings']['seed']}{reported}", replay=None, from_=None,
    )  # fmt: skip


def _recorded(options: CompileOptions, model: Opened) -> CompileOptions:
    """The same for a file that was written before."""
    path = options.replay or options.from_
    assert path
    try:
        record = read_json(path.read_bytes())
        number = options.pick or record["winner"]
        winner = next((one for one in record["candidates"] if one["number"] == number), None)
        count = len(record["candidates"])
        if winner is None:
            raise OptionError(f"{path}: has no candidate {number}; it has {count}, from 1 on")
        if model.trained().source.sha256 not in {one["sha256"] for one in record["models"]}:
            raise OptionError(f"{path}: was made from a different model, not {model.name}")
        if winner["state"] != "measured":
            raise OptionError(f"{path}: candidate {number} was not built: {winner['reason']}")
        _check_data(options, model, record["rows"])
        return _named(options, record, winner)
    except FileNotFoundError:
        raise OptionError(f"{path}: there is no such file") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise OptionError(
            f"{path}: is not a record of a choice ({type(error).__name__}: {error})"
        ) from None


def _check_data(options: CompileOptions, model: Opened, rows: dict[str, Any]) -> None:
    """An error unless the data are those of the record, whose rows the candidate is fitted to."""
    if options.data is None:
        raise OptionError(f"the candidate was fitted to rows of {rows['file']}; give it with --data")
    data = read_rows(model, options.data, None, options).data
    if data_digest(data) != rows["sha256"]:
        raise OptionError(
            f"{options.data}: has different rows from {rows['file']}, which the choice was made on"
        )


def choice_file(record: dict[str, Any]) -> str:
    """choice.json: what --replay needs, without the other candidates."""
    winner = next(one for one in record["candidates"] if one["number"] == record["winner"])
    slim = {key: record[key] for key in ("format", "sentence", "winner", "models", "settings", "rows")}
    return json_text(slim | {"candidates": [winner]})
