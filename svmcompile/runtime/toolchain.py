"""Finding a C compiler and building a shared library, in a cache keyed by content."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import platform
import shlex
import shutil
import stat
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from svmcompile.errors import ToolchainError
from svmcompile.extras import install
from svmcompile.files.atomic import sync_file
from svmcompile.files.cache import OTHERS, find_kept, kept_path, private_cache, scratch

# No -std: in its own dialect GCC may use fused multiply-adds, which doubles the speed of the host profile.
FLAGS = ("-O2", "-fPIC", "-shared")
CANDIDATES = ("cc", "gcc", "clang")
TIMEOUT_SECONDS = 600


def find_compiler() -> tuple[str, ...]:
    """The command of the C compiler: $CC, else cc, gcc, clang, or ziglang's, whichever is there first."""
    try:
        chosen = shlex.split(os.environ.get("CC", ""))
    except ValueError:
        raise ToolchainError(
            f"CC={os.environ['CC']!r} has a quote that does not end; set CC to a command"
        ) from None
    if chosen:
        return tuple(chosen)
    for name in CANDIDATES:
        path = shutil.which(name)
        if path:
            return (path,)
    if importlib.util.find_spec("ziglang"):
        return (sys.executable, "-m", "ziglang", "cc")
    raise ToolchainError(
        f"no C compiler found (looked for cc, gcc, clang and ziglang); install one, or run: {install('cc')}"
    )


def build_library(name: str, source: str, header: str, afresh: bool = False) -> Path:
    """The shared library of NAME.c and NAME.h, built unless the cache has it; `afresh` builds anyway."""
    command, files = (*find_compiler(), *FLAGS, f"{name}.c"), {f"{name}.c": source, f"{name}.h": header}
    return build(name, "so", command, files, (sys.platform, platform.machine()), afresh)


def build(
    name: str, end: str, command: Sequence[str], files: Mapping[str, str], tools: Sequence[str] = (),
    afresh: bool = False,
) -> Path:  # fmt: skip
    """What a compiler makes of files, in a cache keyed by these, the command and what else tells tools."""
    key = hashlib.sha256()
    for part in (*command, *tools, *(part for item in sorted(files.items()) for part in item)):
        key.update(part.encode() + b"\0")
    place, stem = private_cache(), f"{name}-{key.hexdigest()[:32]}"
    try:
        if not afresh and (found := find_kept(stem, end)):
            return found
        with scratch() as folder:
            for file, text in files.items():
                (folder / file).write_text(text, encoding="utf-8")
            run_compiler([*command, "-o", f"library.{end}"], folder)
            library = folder / f"library.{end}"
            library.chmod(stat.S_IMODE(library.stat().st_mode) & ~OTHERS)
            sync_file(library)
            kept = kept_path(stem, end, library.read_bytes())
            library.replace(kept)  # atomic, so a killed build leaves nothing half-made
    except OSError as error:
        raise ToolchainError(
            f"cannot build in {place}: {error}; set SVMCOMPILE_CACHE to a writable folder"
        ) from None
    return kept


def run_compiler(command: list[str], folder: Path) -> None:
    """Run a compiler in a folder; its own words are in the error."""
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, errors="replace", timeout=TIMEOUT_SECONDS
        )
    except OSError as error:
        raise ToolchainError(
            f"the C compiler {command[0]!r} cannot be run ({error.strerror}); set CC to one that can"
        ) from None
    except subprocess.TimeoutExpired:
        raise ToolchainError(f"the C compiler took longer than {TIMEOUT_SECONDS} s") from None
    if done.returncode:
        raise ToolchainError(f"the C compiler failed ({' '.join(command)}):\n{done.stderr.strip()[:4000]}")
