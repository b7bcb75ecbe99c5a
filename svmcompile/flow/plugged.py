"""Targets and kits of plugins, as emission wants them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from svmcompile.flow.evaluation import TARGETS
from svmcompile.ir.program import Program
from svmcompile.plugins import Kit, Target
from svmcompile.plugins.entries import checked_files, find_plugin, guarded, load
from svmcompile.targets.kits import KIT_NAMES

Files = Mapping[str, str | bytes]
OWN = ("svmc", "json", "c", "h", "hpp", "onnx", "bin", "sql", "wasm", "html")  # suffixes of our own files


def target_emitter(target: str) -> Callable[[Program, Any], Files]:
    """What writes the files of a plugin's target."""
    plugin = find_plugin(target, TARGETS, "target")
    emit = guarded(plugin, load(plugin, Target).emit)

    def emitted(program: Program, request: Any) -> Files:
        files = checked_files(plugin, emit(program, request.name, request.number), request.name)
        clash = sorted({*files} & {f"{request.name}.{suffix}" for suffix in OWN})
        if clash:
            raise plugin.error(f"writes {', '.join(clash)}, which svmcompile itself writes")
        return files

    return emitted


def kit_target(kit: str) -> str:
    """The target that a plugin's kit is made of."""
    return load(find_plugin(kit, KIT_NAMES, "kit"), Kit).target


def kit_files(kit: str, program: Program, request: Any, files: Files) -> dict[str, str | bytes]:
    """The files of a plugin's kit by their path, KIT/NAME/..."""
    plugin = find_plugin(kit, KIT_NAMES, "kit")
    made = guarded(plugin, load(plugin, Kit).emit)(program, request.name, request.number, dict(files))
    return {f"{kit}/{request.name}/{path}": text for path, text in checked_files(plugin, made, "").items()}
