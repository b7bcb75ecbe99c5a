"""What helps at the command line: panels of options, names that a shell completes, KEY=VALUE. Light."""

from __future__ import annotations

import importlib
from collections.abc import Callable

from svmcompile.errors import OptionError

# In which panel of its help an option of a command with many stands, and in which order.
PANELS = {
    "Method": ("method", "set_", "measure", "time_limit"),
    "Rows": (
        "data", "test", "rows", "label", "text", "ignore_extra", "zero_based", "separator", "decimal",
    ),
    "Output": (
        "output", "target", "targets", "kit", "platform", "name", "precision", "profile", "tables",
        "api", "ranges", "given", "soft_double", "dump_ir", "checkpoint", "prove", "sign",
    ),
    "ONNX": (
        "opset", "onnx_form", "onnx_names", "onnx_outputs", "onnx_input", "onnx_batch", "zipmap",
        "model_version", "doc_string",
    ),
    "Device": ("cpu", "list_cpus", "flash", "ram", "clock", "energy"),
    "Limits for --method auto and explore": (
        "same_labels", "agreement", "accuracy_loss", "latency", "batch_latency", "max_bytes",
    ),
    "Search of --method auto and explore": (
        "minimise", "methods", "budget", "confidence", "tolerance", "seed", "jobs", "cluster", "replay",
        "from_", "pick",
    ),
    "Model": ("others", "features", "most_probable", "trust_pickle"),
}  # fmt: skip
# What auto and explore are asked for, as they name it; from cpu on, compile takes these for any method.
WISHES = (
    "same_labels", "agreement", "accuracy_loss", "latency", "batch_latency", "max_bytes", "methods",
    "minimise", "budget", "confidence", "tolerance", "seed", "jobs", "cpu", "flash", "ram", "clock",
    "energy",
)  # fmt: skip
PANEL = {name for names in PANELS.values() for name in names}
MANY = 20  # options


def complete(where: str, *more: str) -> Callable[[str], list[str]]:
    """Names that a shell completes: those of a table, "module:name", which is loaded when asked for."""
    module, name = where.split(":")

    def names(incomplete: str) -> list[str]:
        known = getattr(importlib.import_module(module), name)
        return [one for one in (*more, *known) if one.startswith(incomplete)]

    return names


def list_cpus(wanted: bool) -> None:
    """Print the processors with their boards, and leave."""
    if not wanted:
        return
    from typer import Exit

    from svmcompile.commands.tables import console, titled
    from svmcompile.device.boards import CORES
    from svmcompile.device.cost import CPUS, can_measure

    table = titled("Processors for --cpu", "processor", "floats", "cost", "boards and chips")
    for cpu in CPUS.values():
        cost = f"{cpu.unit}, {'measured' if can_measure(cpu) else 'predicted'}"
        floats = "in hardware" if cpu.hard_float or cpu.family == "wasm" else "in software"
        table.add_row(cpu.name, floats, cost, ", ".join(CORES.get(cpu.name, ())))
    console.print(table)
    raise Exit


def settings(pairs: list[str] | None) -> dict[str, str]:
    """KEY=VALUE, as --set takes them, as a table."""
    found = {}
    for pair in pairs or ():
        key, separator, value = pair.partition("=")
        if not separator or not key:
            raise OptionError(f"--set {pair!r} is not of the form KEY=VALUE")
        found[key.replace("-", "_")] = value
    return found


METHODS = complete("svmcompile.accelerate.registry:METHODS", "auto")
TARGETS = complete("svmcompile.flow.evaluation:TARGETS")
PRECISIONS = complete("svmcompile.choose.wishes:NUMBERS")
PROFILES = complete("svmcompile.flow.emission:PROFILES")
KITS = complete("svmcompile.targets.kits:KIT_NAMES")
CPUS = complete("svmcompile.device.cost:CPUS")
