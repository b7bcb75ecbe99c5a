"""Finding a C compiler and building a shared library, in a cache keyed by content."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from svmcompile.errors import ToolchainError

# No -std: in its own dialect GCC may use fused multiply-adds, which doubles the speed of the host profile.
FLAGS = ("-O2", "-fPIC", "-shared")
CANDIDATES = ("cc", "gcc", "clang")
TIMEOUT_SECONDS = 600


def find_compiler() -> tuple[str, ...]:
    """The command of the C compiler: $CC, else cc, gcc, clang, or ziglang's, whichever is there first."""
    chosen = shlex.split(os.environ.get("CC", ""))
    if chosen:
        return tuple(chosen)
    for name in CANDIDATES:
        path = shutil.which(name)
        if path:
            return (path,)
    if importlib.util.find_spec("ziglang"):
        return (sys.executable, "-m", "ziglang", "cc")
    raise ToolchainError(
        "no C compiler found (looked for cc, gcc, clang and ziglang); "
        "install one, or run: pip install svmcompile[cc]"
    )


def cache_folder() -> Path:
    """Where built libraries are kept: $SVMCOMPILE_CACHE, else the user's cache folder."""
    chosen = os.environ.get("SVMCOMPILE_CACHE")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "svmcompile"


def build_library(name: str, source: str, header: str, afresh: bool = False) -> Path:
    """The shared library of NAME.c and NAME.h, built unless the cache has it; `afresh` builds anyway."""
    command = find_compiler()
    key = hashlib.sha256()
    for part in (*command, *FLAGS, sys.platform, platform.machine(), name, source, header):
        key.update(part.encode() + b"\0")
    folder = cache_folder()
    library = folder / f"{name}-{key.hexdigest()[:32]}.so"
    if afresh or not library.exists():
        _build(command, name, source, header, library)
    return library


def _build(command: tuple[str, ...], name: str, source: str, header: str, library: Path) -> None:
    try:
        library.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.TemporaryDirectory(dir=library.parent, prefix="build-") as temporary:
            folder = Path(temporary)
            (folder / f"{name}.c").write_text(source, encoding="utf-8")
            (folder / f"{name}.h").write_text(header, encoding="utf-8")
            run_compiler([*command, *FLAGS, f"{name}.c", "-o", "library.so"], folder)
            (folder / "library.so").replace(library)  # atomic, so a killed build leaves nothing half-made
    except OSError as error:
        raise ToolchainError(
            f"cannot build in {library.parent}: {error}; set SVMCOMPILE_CACHE to a writable folder"
        ) from None


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
