"""Generated C goes in, an ELF image or a wasm module comes out; and what an image holds."""

from __future__ import annotations

import importlib.util
import io
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from svmcompile.device.cost import Cpu
from svmcompile.errors import ToolchainError
from svmcompile.extras import install
from svmcompile.files.cache import scratch

Sources = Mapping[str, str]
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
TIMEOUT_SECONDS = 600
ALLOCATED = 0x2  # the flag of sections that lie in the device's memory
WRITABLE = 0x1


def require(module: str, what: str) -> None:
    """The module is there, or the message says how to get it."""
    if importlib.util.find_spec(module) is None:
        run_this = install("device")
        raise ToolchainError(
            f"running code for a device needs {what}, which is not installed; run: {run_this}"
        )


def build(
    cpu: Cpu, files: Sources, keep: Iterable[str], optimise: str = "-O2", flags: Iterable[str] = ()
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


def link(compiler: list[str], options: list[str], files: Sources) -> bytes:
    """One run of a compiler over all .c files, in a folder of its own."""
    sources = [file for file in files if file.endswith(".c")]
    with scratch() as temporary:
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


@dataclass(frozen=True, slots=True)
class Image:
    """A linked program."""

    parts: tuple[tuple[int, bytes], ...]  # address, content
    symbols: dict[str, int]
    flash: int  # bytes of code, constants and starting values
    ram: int  # bytes of variables


def read_image(content: bytes) -> Image:
    """An ELF file as the emulator needs it."""
    require("elftools", "pyelftools")
    from elftools.elf.elffile import ELFFile

    elf = ELFFile(io.BytesIO(content))
    parts, flash, ram = [], 0, 0
    for section in elf.iter_sections():
        if not section["sh_flags"] & ALLOCATED:
            continue
        size = section["sh_size"]
        ram += size if section["sh_flags"] & WRITABLE else 0
        if section["sh_type"] != "SHT_NOBITS":
            flash += size
            parts.append((section["sh_addr"], section.data()))
    table = elf.get_section_by_name(".symtab")
    names = {} if table is None else {item.name: item["st_value"] for item in table.iter_symbols()}
    return Image(tuple(parts), names, flash, ram)
