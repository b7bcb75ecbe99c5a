"""Kits: every example is built and run, every manifest is read by the rules of its system."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.svm import SVC, SVR, OneClassSVM

import svmcompile as sc
from svmcompile.errors import OptionError
from svmcompile.runtime.toolchain import find_compiler
from svmcompile.targets.kits import KITS, default_profile

pytestmark = pytest.mark.compile

X, Y = load_iris(return_X_y=True)
LABELS = {
    "text": np.array(['set"osa\\', "%d /*", "virg??/inica"]),
    "integers": np.array([-3, 0, 70000]),
    "wide": np.array([-1, 5, 1 << 40]),
    "real": np.array([1.0, -2.0, 3e6]),
    "fixed": np.array([1, 2, 3]),
}
ARDUINO = Path(__file__).parent / "arduino"


def model(kind: str) -> Any:
    if kind == "value":
        return SVR().fit(X, Y)
    return OneClassSVM(nu=0.2).fit(X) if kind == "one_class" else SVC().fit(X, LABELS[kind][Y])


@pytest.fixture(scope="module")
def kits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every kit of models with each type of label, and of a regressor."""
    folder = tmp_path_factory.mktemp("kits")
    for kind in (*LABELS, "value", "one_class"):
        precision = "q15" if kind == "fixed" else "f32"
        files = sc.emit(sc.compile(model(kind)), "c", kind, precision, "device", X=X, kit=KITS)
        sc.write(files, folder)
    return folder


KINDS = pytest.mark.parametrize("kind", [*LABELS, "value", "one_class"])


def shell(*command: object, cwd: Path | None = None) -> str:
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, cwd=cwd)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


def check_output(text: str, kind: str) -> None:
    """Each row is told with what was expected and found, which are the same."""
    rows = re.findall(r"^row \d+: expected (.*), found (.*)$", text, re.MULTILINE)
    assert len(rows) == 4 and "0 of 4 rows differ" in text, text
    if kind == "value":
        np.testing.assert_allclose([float(a) for a, _ in rows], [float(b) for _, b in rows], atol=1e-3)
        return
    known = (-1, 1) if kind == "one_class" else LABELS[kind]
    assert all(a == b for a, b in rows)
    assert {a for a, _ in rows} <= {str(label) for label in known}


EXAMPLES = {
    "cmake": "examples/classify.c",
    "platformio": "examples/classify/src/main.c",
    "zephyr": "samples/classify/src/main.c",
    "esp-idf": "examples/classify/main/main.c",
}
# All are made of one template, so one kit shows that every type of label is printed.
CASES = [("cmake", kind) for kind in (*LABELS, "value", "one_class")] + [
    (kit, kind) for kit in ("platformio", "zephyr", "esp-idf") for kind in ("text", "value")
]


@pytest.mark.parametrize(("kit", "kind"), CASES)
def test_examples_run(kit: str, kind: str, kits: Path, tmp_path: Path) -> None:
    folder = kits / kit / kind
    code = [folder / EXAMPLES[kit], folder / "src" / f"{kind}.c"]
    if kit == "esp-idf":  # whose run time calls it
        (tmp_path / "main.c").write_text("void app_main(void);\nint main(void) { app_main(); return 0; }\n")
        code.append(tmp_path / "main.c")
    flags = ["-std=c99", "-O0", "-Wall", "-Wextra", "-Werror", "-Wno-missing-prototypes"]
    shell(*find_compiler(), *flags, "-I", folder / "include", *code, "-o", tmp_path / "run")
    check_output(shell(tmp_path / "run"), kind)


@KINDS
def test_the_example_in_python_runs(kind: str, kits: Path) -> None:
    folder = kits / "micropython" / kind
    assert (folder / f"{kind}.py").is_file() == (kind != "fixed")  # whole numbers are for C
    if kind != "fixed":
        path = f"import sys; sys.path.insert(0, {str(folder)!r}); exec(open(sys.argv[1]).read())"
        check_output(shell(sys.executable, "-c", path, folder / "examples" / "classify.py"), kind)


def sketch(folder: Path, target: Path, name: str = "Classify") -> Path:
    """The sketch as the Arduino builder makes C++ of it."""
    text = (folder / "examples" / name / f"{name}.ino").read_text()
    target.write_text(f"#include <Arduino.h>\n{text}\nint main() {{ setup(); loop(); return 0; }}\n")
    return target


def built(folder: Path, kind: str, tmp_path: Path, name: str) -> Path:
    """The program of a sketch on this machine."""
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        pytest.skip("a sketch is C++, and no C++ compiler is installed")
    shell(*find_compiler(), "-c", folder / "src" / f"{kind}.c", "-o", tmp_path / "model.o")
    code = [sketch(folder, tmp_path / "sketch.cpp", name), tmp_path / "model.o"]
    shell(compiler, "-std=gnu++11", "-I", ARDUINO, "-I", folder / "src", *code, "-o", tmp_path / "run")
    return tmp_path / "run"


@KINDS
def test_the_sketch_runs(kind: str, kits: Path, tmp_path: Path) -> None:
    check_output(shell(built(kits / "arduino" / kind, kind, tmp_path, "Classify")), kind)


@pytest.mark.parametrize("kind", ["text", "value", "fixed"])
def test_the_zip_holds_the_library_whose_sketch_takes_rows(kind: str, kits: Path, tmp_path: Path) -> None:
    shutil.unpack_archive(kits / "arduino" / f"{kind}.zip", tmp_path)
    program = built(tmp_path / kind, kind, tmp_path, "FromSerial")
    rows = X[[3, 70, 140]]
    lines = [",".join(map(repr, row.tolist())) for row in rows]
    told = subprocess.run(
        [program], input="\n".join([*lines, "1 2", "", lines[0].replace(",", "  ")]) + "\n",
        capture_output=True, text=True, check=True,
    ).stdout.splitlines()  # fmt: skip
    assert told[3] == "2 numbers; a row has 4" and len(told) == 5
    assert told[4] == told[0]
    found = model(kind).predict(rows)
    if kind == "value":
        np.testing.assert_allclose([float(line) for line in told[:3]], found, atol=1e-3)
    else:
        assert told[:3] == [str(label) for label in found]


@pytest.mark.parametrize("kind", ["text", "value", "fixed"])
@pytest.mark.skipif(shutil.which("avr-gcc") is None, reason="no avr-gcc is installed")
def test_the_sketch_is_built_for_an_uno(kind: str, kits: Path, tmp_path: Path) -> None:
    folder, chip = kits / "arduino" / kind, ("-mmcu=atmega328p", "-Os", "-ffunction-sections")
    shell("avr-gcc", *chip, "-std=gnu11", "-c", folder / "src" / f"{kind}.c", "-o", tmp_path / "model.o")
    code = [sketch(folder, tmp_path / "sketch.cpp"), tmp_path / "model.o"]
    paths = ("-I", ARDUINO, "-I", folder / "src")
    shell("avr-g++", *chip, "-std=gnu++11", *paths, *code, "-Wl,--gc-sections", "-o", tmp_path / "run.elf")
    sections = shell("avr-size", "-A", tmp_path / "run.elf")
    assert int(re.search(r"^\.text +(\d+)", sections, re.MULTILINE).group(1)) < 32 * 1024  # type: ignore[union-attr]


def find_cmake() -> str | None:
    return shutil.which("cmake") or shutil.which("cmake", path=str(Path(sys.executable).parent))


@pytest.mark.skipif(find_cmake() is None, reason="no cmake is installed")
def test_cmake_builds_tests_and_installs(kits: Path, tmp_path: Path) -> None:
    cmake = find_cmake()
    assert cmake
    build, prefix = tmp_path / "build", tmp_path / "prefix"
    shell(cmake, "-S", kits / "cmake" / "text", "-B", build, f"-DCMAKE_INSTALL_PREFIX={prefix}")
    shell(cmake, "--build", build)
    told = shell(Path(cmake).with_name("ctest"), "--test-dir", build)
    assert re.search(r"100% tests passed(, 0 tests failed)? out of 2", told)
    shell(cmake, "--install", build)
    assert "CMAKE_BUILD_TYPE:STRING=Release" in (build / "CMakeCache.txt").read_text()
    app = tmp_path / "app"
    app.mkdir()
    (app / "main.cpp").write_text(
        '#include "text.hpp"\nint main() { return text::label_name(0).empty(); }\n'
    )
    (app / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.15)\nproject(app CXX)\nset(CMAKE_CXX_STANDARD 17)\n"
        "find_package(text 2.0 QUIET)\nif(text_FOUND)\nmessage(FATAL_ERROR other)\nendif()\n"
        "find_package(text 1.0 REQUIRED)\nadd_executable(app main.cpp)\nadd_executable(shared main.cpp)\n"
        "target_link_libraries(app text::text)\ntarget_link_libraries(shared text::shared)\n"
    )
    shell(cmake, "-S", app, "-B", app / "build", f"-DCMAKE_PREFIX_PATH={prefix}")
    shell(cmake, "--build", app / "build")
    shell(app / "build" / "app")
    shell(app / "build" / "shared")
    if sys.platform == "linux" and shutil.which("readelf"):
        library = next(prefix.rglob("libtext.so"))
        assert "soname: [libtext.so.1]" in shell("readelf", "-d", library)
        assert "svm_model" not in shell(
            "readelf", "-Ws", "--dyn-syms", library
        )  # a device has no part model
    if shutil.which("pkg-config"):
        pc = next(prefix.rglob("text.pc"))
        assert shell("pkg-config", "--modversion", pc).strip() == "1.0.0"
        assert "-ltext" in shell("pkg-config", "--libs", pc)


def properties(path: Path) -> dict[str, str]:
    return dict(line.split("=", 1) for line in path.read_text().splitlines() if line)


def test_arduino_manifest(kits: Path) -> None:
    """The fields the library specification demands, and its rules for them."""
    folder = kits / "arduino" / "text"
    found = properties(folder / "library.properties")
    needed = {
        "name",
        "version",
        "author",
        "maintainer",
        "sentence",
        "paragraph",
        "category",
        "url",
        "architectures",
    }
    assert set(found) >= needed and all(found.values())
    assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9 _.-]{0,62}", found["name"])
    assert re.fullmatch(r"\d+\.\d+\.\d+", found["version"]) and found["category"] == "Data Processing"
    assert (folder / "src" / found["includes"]).is_file()
    words = [line.split("\t") for line in (folder / "keywords.txt").read_text().splitlines()]
    assert all(len(word) == 2 and word[1] in ("KEYWORD1", "KEYWORD2", "LITERAL1") for word in words)
    assert {"text_predict", "text_self_test", "TEXT_N_FEATURES"} <= {word[0] for word in words}


def test_arduinos_own_names_are_left_to_arduino() -> None:
    files = sc.emit(sc.compile(model("text")), "c", "arduino_iris", profile="portable", kit="arduino")
    assert "name=SVM_arduino_iris\n" in files["arduino/arduino_iris/library.properties"]


def test_platformio_manifest(kits: Path) -> None:
    folder = kits / "platformio" / "text"
    found = json.loads((folder / "library.json").read_text())
    assert set(found) >= {"name", "version", "description", "keywords", "authors"}
    assert len(found["name"]) <= 50 and len(found["description"]) <= 255
    assert not set(found["name"]) & set(":;/,@<>") and (folder / "include" / found["headers"]).is_file()
    assert "lib_deps = symlink://../.." in (folder / "examples/classify/platformio.ini").read_text()


def test_zephyr_and_esp_idf_manifests(kits: Path) -> None:
    yaml = pytest.importorskip("yaml")
    zephyr, idf = kits / "zephyr" / "text", kits / "esp-idf" / "text"
    module = yaml.safe_load((zephyr / "zephyr" / "module.yml").read_text())
    assert module["name"] == "text" and (zephyr / module["build"]["kconfig"]).is_file()
    assert (zephyr / module["build"]["cmake"] / "CMakeLists.txt").is_file()
    assert (zephyr / module["samples"][0]).is_dir()
    assert (zephyr / "Kconfig").read_text().startswith('config SVM_TEXT\n\tbool "')
    assert (zephyr / "samples/classify/prj.conf").read_text() == "CONFIG_SVM_TEXT=y\n"
    sample = yaml.safe_load((zephyr / "samples/classify/sample.yaml").read_text())
    assert sample["sample"]["name"] and sample["tests"]["sample.svm.text"]["harness"] == "console"
    manifest = yaml.safe_load((idf / "idf_component.yml").read_text())
    assert re.fullmatch(r"\d+\.\d+\.\d+", manifest["version"]) and manifest["description"]
    assert (idf / manifest["examples"][0]["path"]).is_dir()
    needs = yaml.safe_load((idf / "examples/classify/main/idf_component.yml").read_text())["dependencies"]
    assert (idf / "examples/classify/main" / needs["text"]["override_path"]).resolve() == idf.resolve()
    assert (
        'idf_component_register(SRCS "src/text.c" INCLUDE_DIRS "include")'
        in (idf / "CMakeLists.txt").read_text()
    )


def test_what_cannot_be_is_refused() -> None:
    program = sc.compile(model("text"))
    with pytest.raises(OptionError, match="unknown kit 'mbed'; known: arduino"):
        sc.emit(program, "c", kit="mbed", profile="portable")
    with pytest.raises(OptionError, match="kit arduino is for devices"):
        sc.emit(program, "c", kit="arduino")
    with pytest.raises(OptionError, match="add target c"):
        sc.emit(program, "onnx", kit="cmake")
    assert default_profile(["cmake"]) == "host" and default_profile(["cmake", "zephyr"]) == "device"


def test_the_command_writes_kits(run: Any, iris: Any, tmp_path: Path) -> None:
    done = run("compile", iris.file("iris.skops"), "-o", tmp_path, "--kit", "arduino", "--kit", "cmake")
    assert done.code == 0, done.err
    for file in ("arduino/iris/src/iris.c", "cmake/iris/src/iris.c"):
        assert (tmp_path / file).read_bytes() == (tmp_path / "iris.c").read_bytes()
