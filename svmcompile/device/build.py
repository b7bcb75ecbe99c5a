"""Generated C goes in, an ELF image or a wasm module for one processor comes out."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from svmcompile.device.cpus import Cpu
from svmcompile.errors import ToolchainError

# Where things lie: what is read only from TEXT on, what changes from RAM on.
TEXT, RAM = 0x10000, 0x2000_0000
SCRIPT = """EXTERN({roots})
SECTIONS
{{
  . = {text};
  .text : {{ *(.text .text.*) }}
  .rodata : {{ *(.rodata .rodata.*) }}
  . = {ram};
  .data : {{ *(.data .data.*) }}
  .bss : {{ *(.bss .bss.* COMMON) }}
  /DISCARD/ : {{ *(.ARM.exidx* .ARM.extab* .eh_frame* .comment .ARM.attributes .riscv.attributes .note*) }}
}}
"""
FLAGS = ("-std=gnu99", "-ffreestanding", "-ffunction-sections", "-fdata-sections", "-fno-unwind-tables")
MISSING = "needs {what}, which is not installed; run: pip install svmcompile[device]"
TIMEOUT_SECONDS = 600


def require(module: str, what: str) -> None:
    """The module is there, or the message says how to get it."""
    if importlib.util.find_spec(module) is None:
        raise ToolchainError(f"running code for a device {MISSING.format(what=what)}")


def build(
    cpu: Cpu,
    files: Mapping[str, str],
    keep: Iterable[str],
    optimise: str = "-O2",
    flags: Iterable[str] = (),
) -> bytes:
    """Link every .c among the files; only what the functions `keep` need stays."""
    require("ziglang", "ziglang")
    roots = list(keep)
    # Without an entry the image is empty, without -g there are no symbols.
    linker = ["-Wl,--gc-sections", f"-Wl,--entry={roots[0]}", "-T", "device.ld", "-g"]
    if cpu.family == "wasm":
        linker = ["-Wl,--no-entry", "-Wl,--strip-all", *(f"-Wl,--export={one}" for one in roots)]
        linker += ["-Wl,--export=__heap_base", "-Wl,--export=__stack_pointer"]
    script = SCRIPT.format(roots=" ".join(roots), text=hex(TEXT), ram=hex(RAM))
    compiler = [sys.executable, "-m", "ziglang", "cc", *cpu.target]
    options = [*FLAGS, optimise, *flags, *linker]
    return link(compiler, options, {**files, "device.ld": script})


def link(compiler: list[str], options: list[str], files: Mapping[str, str]) -> bytes:
    """One run of a compiler over all .c files, in a folder of its own."""
    sources = [file for file in files if file.endswith(".c")]
    with tempfile.TemporaryDirectory(prefix="svmcompile-device-") as temporary:
        folder = Path(temporary)
        for file, text in files.items():
            (folder / file).write_text(text, encoding="utf-8")
        run([*compiler, *options, *sources, "-o", "image"], folder)
        return (folder / "image").read_bytes()


def run(command: list[str], folder: Path) -> str:
    """What a tool prints, wherever; an error of ours if it fails or is missing."""
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, errors="replace", timeout=TIMEOUT_SECONDS
        )
    except OSError as error:
        raise ToolchainError(f"{command[0]} cannot be run ({error.strerror})") from None
    except subprocess.TimeoutExpired:
        raise ToolchainError(f"{command[0]} took longer than {TIMEOUT_SECONDS} s") from None
    if done.returncode:
        raise ToolchainError(f"{' '.join(command)} failed:\n{done.stderr.strip()[:4000]}")
    return done.stdout + done.stderr
