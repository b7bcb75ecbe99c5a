"""Prebuilt libraries: C is built into a shared library for this machine, or by ziglang for another."""

from __future__ import annotations

import importlib.util
import sys
import sysconfig
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from svmcompile.errors import EmitError, ToolchainError
from svmcompile.extras import install
from svmcompile.files.atomic import write_file
from svmcompile.files.cache import find_kept, kept_path, private_cache
from svmcompile.runtime.toolchain import FLAGS, build, find_compiler
from svmcompile.targets.templating import render

SUFFIX = {"win32": "dll", "darwin": "dylib"}.get(sys.platform, "so")  # of this machine


@dataclass(frozen=True, slots=True)
class Platform:
    """Where a library runs: its suffix, ziglang's name for the platform, and that of wheels."""

    suffix: str
    triple: str  # empty for this machine and the compiler at hand
    tag: str


PLATFORMS = {
    "linux-x86_64": Platform("so", "x86_64-linux-gnu.2.17", "manylinux_2_17_x86_64"),
    "linux-aarch64": Platform("so", "aarch64-linux-gnu.2.17", "manylinux_2_17_aarch64"),
    "musl-x86_64": Platform("so", "x86_64-linux-musl", "musllinux_1_1_x86_64"),
    "musl-aarch64": Platform("so", "aarch64-linux-musl", "musllinux_1_1_aarch64"),
    "macos-x86_64": Platform("dylib", "x86_64-macos.11.0", "macosx_11_0_x86_64"),
    "macos-arm64": Platform("dylib", "aarch64-macos.11.0", "macosx_11_0_arm64"),
    "windows-x86_64": Platform("dll", "x86_64-windows-gnu", "win_amd64"),
    "windows-arm64": Platform("dll", "aarch64-windows-gnu", "win_arm64"),
}


def find_platform(name: str | None) -> Platform:
    """The platform of that name; without one, this machine."""
    if name is not None:
        return PLATFORMS[name]
    return Platform(SUFFIX, "", sysconfig.get_platform().replace("-", "_").replace(".", "_"))


def identity(name: str) -> str:
    """The declaration by which a library tells of which program it is."""
    return f"extern const char {name}_program_sha256[65];"


def build_shared(name: str, files: Mapping[str, str], digest: str, platform: Platform) -> bytes:
    """The library of NAME.c and NAME.h, which carries the program's digest and its self-test."""
    told = f'#include "{name}.h"\n{name.upper()}_EXPORT {identity(name)}\n'
    told += f'const char {name}_program_sha256[65] = "{digest}";\n'
    sources = {f"{name}.c": files[f"{name}.c"], f"{name}_identity.c": told}
    command: tuple[str, ...] = (*find_compiler(), *FLAGS) if not platform.triple else _cross(platform)
    tools: tuple[str, ...] = ()
    if platform.triple:
        tools = (version("ziglang"),)
        sources["svmcompile_cpu.c"] = render("library/cpu.c", {})
    options = (f"-D{name.upper()}_SELF_TEST", f"-D{name.upper()}_SHARED", *sources)
    contents = {**sources, f"{name}.h": files[f"{name}.h"]}
    return build(name, platform.suffix, (*command, *options), contents, tools).read_bytes()


def _cross(platform: Platform) -> tuple[str, ...]:
    """ziglang's compiler for a platform; nothing else on PyPI brings the libraries of all of them."""
    if not importlib.util.find_spec("ziglang"):
        raise ToolchainError(
            f"a library for a platform that you name is built by ziglang; run: {install('cc')}; "
            "without --platform the library is for this machine"
        )
    return (sys.executable, "-m", "ziglang", "cc", "-target", platform.triple, *FLAGS, "-s")


def kept_library(name: str, key: str) -> Path | None:
    """What the cache keeps of a prebuilt library; never one that others made, or that is damaged."""
    return find_kept(f"{name}-prebuilt-{key[:32]}", SUFFIX)


def keep_library(path: Path, name: str, key: str) -> None:
    """Keep a prebuilt library, so that pickles of its model wake up on this machine without a compiler."""
    with suppress(OSError, EmitError, ToolchainError):  # without a cache it can still be loaded
        private_cache()
        content = path.read_bytes()
        write_file(kept_path(f"{name}-prebuilt-{key[:32]}", SUFFIX, content), content)
