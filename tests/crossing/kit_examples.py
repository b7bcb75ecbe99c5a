"""Examples of kits, built without a warning and run here."""

from __future__ import annotations

import io
import shutil
import sys
import zipfile
from pathlib import Path
from typing import Any

from targets.c_build import attempt

from svmcompile.runtime.toolchain import find_compiler

EXAMPLES = {
    "cmake": "examples/classify.c",
    "platformio": "examples/classify/src/main.c",
    "zephyr": "samples/classify/src/main.c",
    "esp-idf": "examples/classify/main/main.c",
}
# Kits that hold a file as it is; tests/end_to_end/test_languages.py runs it in their language.
HELD = {"java": "model.bin", "rust": "model.bin", "npm": "model.wasm", "triton": "model.onnx"}
ARDUINO = Path(__file__).parents[1] / "end_to_end" / "arduino"
FLAGS = ("-std=c99", "-O0", "-Wall", "-Wextra", "-Werror", "-Wno-missing-prototypes")


def check_example(files: dict[str, Any], kit: str, folder: Path) -> None:
    """The kit holds the C that was emitted, and its example finds nothing that differs."""
    if kit in HELD:
        assert files[HELD[kit]] in [
            content for path, content in files.items() if path.startswith(f"{kit}/")
        ]
        return
    if kit == "wheel":
        _check_wheel(files, folder)
        return
    home = folder / kit / "model"
    for path, content in files.items():
        if path.startswith(f"{kit}/"):
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content if isinstance(content, bytes) else content.encode())
    if kit == "micropython":
        _check_python(files, home)
        return
    assert (home / "src" / "model.c").read_text() == files["model.c"]
    compiler, code = find_compiler(), [str(home / "src" / "model.c")]
    if kit == "arduino":
        sketch = (home / "examples" / "Classify" / "Classify.ino").read_text()
        text = f"#include <Arduino.h>\n{sketch}\nint main() {{ setup(); loop(); return 0; }}\n"
        (folder / "sketch.cpp").write_text(text)
        _run(compiler, folder, "-std=c99", "-c", *code, "-o", "example.o")
        compiler = (shutil.which("g++") or shutil.which("clang++") or "c++",)
        flags = ["-std=gnu++11", "-I", str(ARDUINO), "-I", str(home / "src")]
        _run(compiler, folder, *flags, "sketch.cpp", "example.o", "-o", "example")
    else:
        if kit == "esp-idf":  # whose run time calls it
            (folder / "main.c").write_text(
                "void app_main(void);\nint main(void) { app_main(); return 0; }\n"
            )
            code.append("main.c")
        code.append(str(home / EXAMPLES[kit]))
        _run(compiler, folder, *FLAGS, "-I", str(home / "include"), *code, "-o", "example")
    told = _run((str(folder / "example"),), folder)
    assert "0 of " in told and "rows differ" in told, told


def _check_python(files: dict[str, Any], home: Path) -> None:
    """The example in Python, where the program can be written in it."""
    assert (home / "native" / "model.c").read_text() == files["model.c"]
    if (home / "model.py").exists():
        code = "import sys; sys.path.insert(0, '.'); exec(open('examples/classify.py').read())"
        told = _run((sys.executable, "-c", code), home)
        assert "0 of " in told and "rows differ" in told, told


def _check_wheel(files: dict[str, Any], folder: Path) -> None:
    """The package as pip would lay it out runs its own test."""
    (content,) = (content for name, content in files.items() if name.endswith(".whl"))
    zipfile.ZipFile(io.BytesIO(content)).extractall(folder / "wheel")
    _run((sys.executable, "-m", "model"), folder / "wheel")


def _run(command: Any, folder: Path, *arguments: str) -> str:
    done = attempt(command, folder, *arguments)
    assert done.returncode == 0, done.stderr
    return str(done.stdout)
