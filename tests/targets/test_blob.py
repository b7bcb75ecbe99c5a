"""Target blob: a model as data gives what the interpreter and the compiled form give; damage is refused."""

from __future__ import annotations

import shutil
import struct
import subprocess
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PowerTransformer
from sklearn.svm import SVC, OneClassSVM

import svmcompile as sc
from svmcompile.accelerate.registry import accelerate
from svmcompile.errors import EmitError, OptionError, ReadError
from svmcompile.flow.form import Form
from svmcompile.optimise import optimise
from svmcompile.read import read
from svmcompile.targets.blob.blob import CODES, OPERATIONS
from svmcompile.targets.blob.model import runner
from tests.fuzz.blobs import build_fuzzer, mutate
from tests.targets.blob_cases import CASES, SMALL, X, Y, compare, program_of, rbf, some_rows

PROOF = Path(__file__).with_name("blob_proof.c")
EVA = "frama-c -eva -eva-precision 6 -eva-auto-loop-unroll 4096 -warn-special-float none".split()
MUTATIONS = 1000


@pytest.mark.parametrize("case", CASES)
def test_blobs_give_what_the_interpreter_gives(case: str) -> None:
    program, rows = program_of(case), some_rows(case)
    for number in ("f64", "f32"):
        model = Form(program, case, "blob", number).build()
        compare(program, rows, lambda name, own=model: getattr(own, name)(rows, allow_nan=True), number)


@pytest.mark.parametrize("case", ["two", "three", "poly", "linear"])
def test_blobs_give_every_bit_of_the_compiled_form(case: str) -> None:
    program, rows = program_of(case), some_rows(case)
    forms = [Form(program, case, target, "f32", "portable").build() for target in ("blob", "c")]
    for name in ("predict", "decision_function"):
        left, right = (getattr(form, name)(rows, allow_nan=True) for form in forms)
        assert np.array_equal(left, right, equal_nan=name != "predict")


def test_densities_are_those_of_the_interpreter() -> None:
    marks = np.repeat([-0.5, -0.2, 0.0, 0.1, 0.3], 2)
    svm = replace(read(OneClassSVM(gamma=1.0, nu=0.2).fit(X)), density_marks=marks)
    program, rows = optimise(accelerate(svm, None, "exact", {})), some_rows("outliers")
    wanted = program.predict_proba(rows)
    assert len(np.unique(wanted[:, 1])) > 5
    for number in ("f64", "f32"):
        found = Form(program, "density", "blob", number).build().predict_proba(rows, allow_nan=True)
        same = np.isclose(found, wanted, atol=1e-6, equal_nan=True).all(axis=1)
        assert same.mean() >= (1 if number == "f64" else 0.999)  # a score may be a mark but for rounding


def operations_of(blob: bytes) -> set[int]:
    words = struct.unpack(f"<{len(blob) // 4}I", blob[: len(blob) // 4 * 4])
    count, at = words[7], words[9] // 4
    return {words[at + 20 * i] for i in range(count)}


def blob_of(case: str, number: str = "f32") -> bytes:
    content: Any = sc.emit(program_of(case), target="blob", name="m", precision=number)["m.bin"]
    return bytes(content)


@pytest.fixture(scope="module", params=["f32", "f64"])
def fuzzer(request: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    return request.param, build_fuzzer(tmp_path_factory.mktemp("fuzz"), request.param)


def test_mutated_blobs_never_leave_their_memory(fuzzer: tuple[str, Path], tmp_path: Path) -> None:
    number, program = fuzzer
    covered, opened = set(), 0
    for seed, case in enumerate(CASES):
        blob = blob_of(case, number)
        covered |= operations_of(blob)
        (tmp_path / case).write_bytes(blob)
        done = mutate(program, tmp_path / case, MUTATIONS, seed)
        assert not done.returncode, (case, done.stderr[:3000])
        opened += int(done.stdout)
    assert covered == set(CODES.values()), [name for name in OPERATIONS if CODES[name] not in covered]
    assert opened > len(CASES) * 30  # many mutations leave a blob that makes sense, and runs


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("frama-c") is None, reason="no Frama-C is installed")
def test_a_proof_finds_no_run_time_error_for_any_row(tmp_path: Path) -> None:
    """For models that hold every operation but one: what `svm_open` checks is enough for what runs."""
    covered = set()
    for file, text in runner().items():
        (tmp_path / file).write_text(text)
    for case, make in SMALL.items():
        content: Any = sc.emit(make(), target="blob", name="m")["m.bin"]
        words = struct.unpack(f"<{len(content) // 4}I", content)
        (tmp_path / "words.h").write_text(", ".join(map(str, words)))
        sizes = f"-DWORDS={len(words)} -DFEATURES={words[10]} -DSCRATCH={words[5] - words[10]}"
        done = subprocess.run(
            [*EVA, f"-cpp-extra-args={sizes} -I{tmp_path}", str(PROOF)], capture_output=True, text=True
        )
        assert "0 alarms generated" in done.stdout, (case, done.stdout[-2000:])
        assert "Assertions        1 valid" in done.stdout, case  # the blob is sound
        covered |= operations_of(content)
    assert [name for name in OPERATIONS if CODES[name] not in covered] == ["UNLESS"]


def damaged(blob: bytes, at: int, word: int) -> bytes:
    """The blob with one word changed, and a checksum that fits."""
    new = bytearray(blob)
    struct.pack_into("<I", new, at, word)
    struct.pack_into("<I", new, 12, zlib.crc32(new[16:]))
    return bytes(new)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda blob: b"", "ends too early"),
        (lambda blob: blob[:-4], "ends too early"),
        (lambda blob: b"ELF!" + blob[4:], "not a blob"),
        (lambda blob: damaged(blob, 4, 2), "another version"),
        (lambda blob: damaged(blob, 16, 2), "another number type"),
        (lambda blob: blob[:-1] + bytes([blob[-1] ^ 1]), "checksum"),
        (lambda blob: damaged(blob, 20, 1), "makes no sense"),
        (lambda blob: damaged(blob, 44, 3), "different models"),
    ],
)
def test_damaged_blobs_are_refused_with_the_reason(change: Any, reason: str) -> None:
    program = program_of("linear")
    blob: Any = sc.emit(program, target="blob", name="m")["m.bin"]
    if reason == "different models":
        program = program_of("tanh")
        change = bytes
    with pytest.raises(ReadError, match=reason):
        Form(program, "m", "blob", "f32").model({"m.bin": change(blob)})


@pytest.mark.parametrize(
    ("options", "error", "reason"),
    [
        ({"method": "certified", "force": True}, EmitError, r"no operation for \w+|in double"),
        ({"method": "exact", "labels": "certain"}, EmitError, "labels that are certain"),
    ],
)
def test_what_blobs_do_not_cover_is_refused_by_name(options: Any, error: Any, reason: str) -> None:
    with pytest.raises(error, match=reason):
        sc.emit(sc.compile(rbf().fit(X, Y > 0), X=X, **options), target="blob")


def test_models_that_blobs_do_not_cover_are_told_what_helps() -> None:
    powers = make_pipeline(PowerTransformer(), SVC()).fit(X, Y > 0)
    with pytest.raises(EmitError, match=r"no operation for BoxCox .*: use target c"):
        sc.emit(sc.compile(powers), target="blob")
    process = GaussianProcessRegressor(RBF(), alpha=0.1, optimizer=None).fit(X, Y)
    with pytest.raises(EmitError, match="uncertainty=false"):
        sc.emit(sc.compile(process), target="blob")
    assert "m.bin" in sc.emit(sc.compile(process, uncertainty=False), target="blob", name="m")


def test_precomputed_kernels_whole_numbers_and_c_kits_are_refused() -> None:
    with pytest.raises(EmitError, match="no precomputed kernels"):
        sc.emit(sc.compile(SVC(kernel="precomputed").fit(X @ X.T, Y)), target="blob")
    program = sc.compile(rbf().fit(X, Y))
    with pytest.raises(OptionError, match="q15 and q7 are for target c"):
        sc.emit(program, target="blob", precision="q7", X=X)
    with pytest.raises(OptionError, match="add target c"):
        sc.emit(program, target="blob", kit="cmake")
