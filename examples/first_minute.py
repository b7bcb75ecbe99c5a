"""The first minute of every reader: the pages for each role, played from an empty folder.

    python examples/first_minute.py [python c devices onnx research]

Every block of `docs/for-ROLE.md` runs in order, as a reader would paste it: Python in one session per page,
commands in a shell, C saved under the name that the page gives it. What fails ends the script.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from svmcompile.runtime.toolchain import find_compiler

ROOT = Path(__file__).resolve().parents[1]
ROLES = ("python", "c", "devices", "onnx", "research")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
SAVED = re.compile(r"[Ss]ave (?:this|it) as `(\w+\.c)`")
WARNINGS = ("-Wall", "-Wextra", "-Werror")


def play(page: Path) -> int:
    """Run the blocks of a page in the folder at hand; how many there were."""
    text, names, count, printed = page.read_text(encoding="utf-8"), dict[str, Any](), 0, ""
    for block in BLOCK.finditer(text):
        language, code = block.groups()
        if language == "text":  # a sketch
            continue
        begin, count = time.perf_counter(), count + 1
        if language == "output":
            assert printed == code, f"the block before prints {printed!r}"
        elif language == "c":
            nearest = min(SAVED.finditer(text), key=lambda found: abs(found.start() - block.start()))
            Path(nearest[1]).write_text(code)
        elif language == "python":
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec(code, names)
            printed = out.getvalue()
        else:
            command = ["sh", "-e", "-c", code]
            printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
        seconds = time.perf_counter() - begin
        print(f"  {language}: {code.splitlines()[-1][:70]} ({seconds:.1f} s)", flush=True)
    return count


def make_commands(folder: Path) -> None:
    """`svmcompile`, and a `cc` that takes warnings for errors, as a reader's path would have them."""
    words = {"svmcompile": [sys.executable, "-m", "svmcompile"], "cc": [*find_compiler(), *WARNINGS]}
    for name, command in words.items():
        path = folder / name
        path.write_text(f'#!/bin/sh\nexec {" ".join(command)} "$@"\n')
        path.chmod(0o755)
    os.environ["PATH"] = f"{folder}{os.pathsep}{os.environ['PATH']}"
    os.environ["PYTHONPATH"] = str(ROOT)


def main(roles: list[str]) -> None:
    unknown = sorted(set(roles) - set(ROLES))
    if unknown:
        raise SystemExit(f"unknown role {unknown[0]!r}; there are: {', '.join(ROLES)}")
    with tempfile.TemporaryDirectory() as place:
        commands = Path(place) / "commands"
        commands.mkdir()
        make_commands(commands)
        for role in roles or ROLES:
            folder = Path(place) / role
            folder.mkdir()
            os.chdir(folder)
            print(f"docs/for-{role}.md")
            print(f"  {play(ROOT / 'docs' / f'for-{role}.md')} blocks ran")
        os.chdir(ROOT)


if __name__ == "__main__":
    if {"-h", "--help"} & set(sys.argv):
        print(__doc__)
    else:
        main(sys.argv[1:])
