"""Finding a compiler, building once, and saying clearly what went wrong."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from load_cases import classifier, runs, sample, script, tracing_compiler, written

import svmcompile as sc
from svmcompile.errors import ToolchainError
from svmcompile.extras import install
from svmcompile.files.cache import cache_folder, scratch
from svmcompile.runtime import toolchain
from svmcompile.runtime.toolchain import build_library, find_compiler

pytestmark = pytest.mark.compile

SOURCE = '#include "m.h"\nint m(void) { return 7; }\n'
HEADER = "int m(void);\n"


@pytest.fixture
def tracer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """CC is a compiler whose runs can be counted; its path has a space in it."""
    monkeypatch.setenv("CC", f"{shlex.quote(str(tracing_compiler(tmp_path / 'bin')))} -DTRACED=1")
    return tmp_path / "bin"


@pytest.fixture
def nothing_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CC", raising=False)
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))


def without_ziglang(monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(
        toolchain.importlib.util, "find_spec", lambda name: None if name == "ziglang" else found(name)
    )


# Which compiler


def test_cc_may_have_arguments(tracer: Path) -> None:
    assert find_compiler() == (str(tracer / "my cc"), "-DTRACED=1")
    build_library("m", SOURCE, HEADER)
    (line,) = runs(tracer)
    assert line.startswith("-DTRACED=1 ") and " m.c " in line


def test_empty_cc_is_no_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CC", raising=False)
    usual = find_compiler()
    monkeypatch.setenv("CC", "  ")
    assert find_compiler() == usual


def test_first_of_the_usual_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nothing_installed: None
) -> None:
    for name in ("clang", "gcc", "cc"):
        path = script(tmp_path / "empty" / name, "exit 1")
        assert find_compiler() == (str(path),)


def test_no_compiler_at_all(nothing_installed: None, monkeypatch: pytest.MonkeyPatch) -> None:
    without_ziglang(monkeypatch)
    with pytest.raises(ToolchainError, match="no C compiler found.*" + re.escape(install("cc"))) as caught:
        build_library("m", SOURCE, HEADER)
    assert caught.value.exit_code == 3


@pytest.mark.slow
def test_ziglang_is_enough(
    tmp_path: Path, nothing_installed: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert find_compiler() == (sys.executable, "-m", "ziglang", "cc")
    model = sc.load(written(classifier(), tmp_path / "out"))
    assert model.self_test() == 0
    assert (model.predict(sample()) == classifier().predict(sample())).all()


# Compilers that fail


def test_failing_compiler_is_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cc = script(tmp_path / "cc", "echo 'm.c:1: that is no C' >&2; exit 4")
    monkeypatch.setenv("CC", str(cc))
    with pytest.raises(ToolchainError, match=r"m\.c:1: that is no C") as caught:
        build_library("m", SOURCE, HEADER)
    assert caught.value.exit_code == 3
    assert not list(cache_folder().iterdir())


def test_code_that_does_not_compile(tracer: Path) -> None:
    with pytest.raises(ToolchainError, match="error"):
        build_library("m", "int m(void) { return; }}", HEADER)


@pytest.mark.parametrize("kind", ["missing", "not executable"])
def test_cc_that_cannot_be_run(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "cc"
    if kind == "not executable":
        path.write_text("no program")
    monkeypatch.setenv("CC", str(path))
    with pytest.raises(ToolchainError, match=r"cannot be run \(.*\); set CC"):
        build_library("m", SOURCE, HEADER)


def test_compiler_that_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sleep = f"exec '{sys.executable}' -c 'import time; time.sleep(30)'"
    monkeypatch.setenv("CC", str(script(tmp_path / "cc", sleep)))
    monkeypatch.setattr(toolchain, "TIMEOUT_SECONDS", 0.2)
    with pytest.raises(ToolchainError, match="took longer than"):
        build_library("m", SOURCE, HEADER)


# The cache


def test_second_build_runs_no_compiler(tracer: Path, cache: Path) -> None:
    first = build_library("m", SOURCE, HEADER)
    assert build_library("m", SOURCE, HEADER) == first
    assert len(runs(tracer)) == 1
    assert [path.name for path in cache.iterdir()] == [first.name]


def test_key_follows_content_and_compiler(tracer: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built = {
        build_library("m", SOURCE, HEADER),
        build_library("m", SOURCE + "\n", HEADER),
        build_library("m", SOURCE, HEADER + "\n"),
    }
    monkeypatch.setenv("CC", os.environ["CC"].replace("TRACED=1", "TRACED=2"))
    built.add(build_library("m", SOURCE, HEADER))
    monkeypatch.setattr(toolchain.platform, "machine", lambda: "another")
    built.add(build_library("m", SOURCE, HEADER))
    assert len(built) == len(runs(tracer)) == 5


def half(content: bytes) -> bytes:
    return content[: len(content) // 2]


def without_a_page(content: bytes) -> bytes:
    return content[:4096] + bytes(4096) + content[8192:]


@pytest.mark.parametrize("damage", [half, without_a_page, lambda content: b"half a libr"])
def test_damaged_library_is_built_again(damage: Any, tracer: Path, tmp_path: Path, cache: Path) -> None:
    """Some damage the loader finds; the other would end the process, with a signal."""
    folder = written(classifier(), tmp_path / "out")
    source, header = ((folder / f"model{suffix}").read_text() for suffix in (".c", ".h"))
    library = build_library("model", source, header)
    library.write_bytes(damage(library.read_bytes()))
    assert sc.load(folder).self_test() == 0
    assert len(runs(tracer)) == 2
    assert [path.name for path in cache.iterdir()] == [library.name]


def test_library_that_never_loads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", str(script(tmp_path / "cc", "echo rubbish > library.so")))
    with pytest.raises(ToolchainError, match="cannot be loaded"):
        sc.load(written(classifier(), tmp_path / "out"))


def test_cache_that_is_a_file(cache: Path) -> None:
    cache.write_text("")
    with pytest.raises(ToolchainError, match="SVMCOMPILE_CACHE"):
        build_library("m", SOURCE, HEADER)


@pytest.mark.skipif(sys.platform == "win32", reason="no permission bits")
def test_a_library_that_others_could_change_is_not_loaded(tracer: Path, cache: Path) -> None:
    library = build_library("m", SOURCE, HEADER)
    assert library.stat().st_mode & 0o022 == 0
    library.chmod(0o777)
    with pytest.raises(ToolchainError, match="others may write to it"):
        build_library("m", SOURCE, HEADER)
    library.chmod(0o700)
    cache.chmod(0o777)
    with pytest.raises(ToolchainError, match=r"chmod go-w"):
        build_library("m", SOURCE, HEADER)
    cache.chmod(0o700)
    if os.geteuid() == 0:
        os.chown(library, 12345, 12345)
        with pytest.raises(ToolchainError, match="belongs to another user"):
            build_library("m", SOURCE, HEADER)


def test_work_in_progress_is_private_and_goes(cache: Path) -> None:
    with scratch() as folder:
        assert folder.parent.parent == cache and folder.parent.stat().st_mode & 0o077 == 0
        left = cache / (".work.svmcompile-" + "0" * 16)
        left.mkdir()
        (left / "half").touch()
        with scratch():
            assert folder.exists() and not left.exists(), "what runs stays, what was killed goes"
    assert not list(cache.iterdir())


def test_no_home_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise RuntimeError("no home")

    monkeypatch.setattr(Path, "home", homeless)
    for name in ("SVMCOMPILE_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ToolchainError, match="set SVMCOMPILE_CACHE"):
        build_library("m", SOURCE, HEADER)


def test_cache_is_private(tracer: Path, cache: Path) -> None:
    build_library("m", SOURCE, HEADER)
    assert cache.stat().st_mode & 0o077 == 0


def test_where_the_cache_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SVMCOMPILE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "svmcompile"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "svmcompile"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SVMCOMPILE_CACHE", ".")
    assert cache_folder() == tmp_path  # a loader takes a name without a folder for one of the system
    monkeypatch.delenv("SVMCOMPILE_CACHE")
    monkeypatch.setattr(Path, "home", _no_home)
    with pytest.raises(ToolchainError, match="no home folder"):
        cache_folder()


def _no_home() -> Path:
    raise RuntimeError


LOAD_AND_TEST = "import sys, svmcompile as sc; sys.exit(sc.load(sys.argv[1]).self_test())"


def test_two_processes_build_at_once(tmp_path: Path, cache: Path) -> None:
    folder = written(classifier(), tmp_path / "out")
    both: list[Any] = [
        subprocess.Popen([sys.executable, "-c", LOAD_AND_TEST, str(folder)]) for _ in range(2)
    ]
    assert [process.wait(timeout=120) for process in both] == [0, 0]
    assert len(list(cache.iterdir())) == 1
