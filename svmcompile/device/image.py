"""What an ELF image holds: bytes to load, symbols, and how much flash and memory it takes."""

from __future__ import annotations

import io
from dataclasses import dataclass

from svmcompile.device.build import require

ALLOCATED = 0x2  # the flag of sections that lie in the device's memory
WRITABLE = 0x1


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
