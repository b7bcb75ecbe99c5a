"""constant_time=true: every row takes the same instructions and reads the same places, in emulators."""

from __future__ import annotations

import hashlib
from functools import cache
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC, LinearSVC

import svmcompile as sc
from svmcompile.device.build import TEXT, build, read_image
from svmcompile.device.cost import Cpu, Rates, find_cpu
from svmcompile.device.emulate import Core, row_functions

unicorn = pytest.importorskip("unicorn")
pytestmark = pytest.mark.device
ROWS = 1000
X, Y = make_blobs(60, 4, centers=3, cluster_std=2.0, random_state=3)
X = X.astype(np.float32).astype(np.float64)
MODELS: dict[str, Any] = {
    "linear": LinearSVC(),
    "degree 2": SVC(kernel="poly", degree=2),
    "degree 3": SVC(kernel="poly", degree=3, coef0=1.0),
    "rbf": make_pipeline(StandardScaler(), SVC(C=10.0)),
    "rest": OneVsRestClassifier(SVC(gamma=0.05)),
    "pairs": OneVsOneClassifier(LinearSVC()),
    "ties": SVC(break_ties=True),
}
X86 = Cpu(
    "x86-64", "x86", ("-target", "x86_64-freestanding-none", "-mcmodel=small"), Rates(1.0, 1.0, 1), "", True
)
EXIT, STACK, STACK_BYTES, ROW, OUT = 0x1000, 0x4000_0000, 0x10000, 0x5000_0000, 0x5100_0000


class X86Core:
    """A freestanding image on an emulated x86-64."""

    def __init__(self, image: Any) -> None:
        from unicorn import x86_const

        self.image, self.registers = image, x86_const
        self._machine = unicorn.Uc(unicorn.UC_ARCH_X86, unicorn.UC_MODE_64)
        for base, size in ((EXIT, 0x1000), (STACK, STACK_BYTES), (ROW, 0x1000), (OUT, 0x1000)):
            self._machine.mem_map(base, size)
        for address, content in image.parts:
            self._map(address, len(content))
            self._machine.mem_write(address, content)

    def _map(self, address: int, size: int) -> None:
        for page in range(address & ~0xFFF, address + size, 0x1000):
            if not any(low <= page <= high for low, high, _ in self._machine.mem_regions()):
                self._machine.mem_map(page, 0x1000)

    def call(self, function: Any, row: Any) -> Any:
        write, top = self._machine.reg_write, STACK + STACK_BYTES - 0x100
        self._machine.mem_write(ROW, np.ascontiguousarray(row, function.row_dtype).tobytes())
        self._machine.mem_write(top - 8, EXIT.to_bytes(8, "little"))
        write(self.registers.UC_X86_REG_RDI, ROW)
        write(self.registers.UC_X86_REG_RSI, OUT)
        write(self.registers.UC_X86_REG_RSP, top - 8)
        self._machine.emu_start(self.image.symbols[function.symbol], EXIT)
        return self._machine.reg_read(self.registers.UC_X86_REG_RAX) & 0xFFFF_FFFF


def hostile_rows(count: int, kind: str) -> Any:
    """Ordinary rows, rows between classes, and numbers that are huge, tiny, infinite or none."""
    rng = np.random.default_rng(0)
    rows = X[rng.integers(len(X), size=count)] + rng.normal(size=(count, 4))
    rows[::3] = (
        X[rng.integers(len(X), size=len(rows[::3]))] + X[rng.integers(len(X), size=len(rows[::3]))]
    ) / 2
    odd = [0.0, -0.0, 1e-40, 1e10, -1e18, 3e38, -3e38, np.inf, -np.inf, np.nan]
    rows[::7, 1] = rng.choice(odd, len(rows[::7]))
    rows[::11] = rng.choice(odd, rows[::11].shape)
    with np.errstate(over="ignore"):
        return rows.astype("f4" if kind == "f32" else "f8")


@cache
def emitted(model: str, classes: int, profile: str, precision: str, steady: bool = True) -> Any:
    fitted = MODELS[model].fit(X[classes > Y], Y[classes > Y])
    program = sc.compile(fitted, constant_time=steady)
    return program, sc.emit(program, name="m", profile=profile, precision=precision)


def traces(files: Any, cpu: Any, rows: Any, function: str) -> set[str]:
    """A digest of what each row runs and reads: program counters of all blocks, addresses of all reads."""
    found = row_functions("m", files["m.h"])[function]
    sources = {name: files[name] for name in ("m.c", "m.h")}
    image = read_image(build(cpu, sources, [found.symbol]))
    core: Any = X86Core(image) if cpu is X86 else Core(cpu, image)
    seen: list[int] = []
    core._machine.hook_add(
        unicorn.UC_HOOK_BLOCK, lambda _, address, size, data: seen.extend((address, size))
    )
    core._machine.hook_add(
        unicorn.UC_HOOK_MEM_READ, lambda _, access, address, size, value, data: seen.append(address)
    )
    digests = set()
    for row in rows:
        seen.clear()
        core.call(found, row)
        assert len(seen) > 10 and min(seen[::2]) < TEXT * 0x1000
        digests.add(hashlib.sha256(np.array(seen, np.uint64).tobytes()).hexdigest())
    return digests


CASES = [
    ("rbf", 3, "device", "f32", "cortex-m4f"), ("rbf", 2, "device", "f32", "cortex-m4f"),
    ("rbf", 3, "portable", "f32", "x86"), ("rbf", 2, "portable", "f64", "x86"),
    ("degree 3", 3, "device", "f32", "cortex-m4f"), ("degree 3", 2, "portable", "f32", "x86"),
    ("degree 2", 3, "portable", "f32", "x86"), ("linear", 3, "device", "f32", "cortex-m4f"),
    ("linear", 2, "portable", "f32", "x86"), ("rest", 3, "device", "f32", "cortex-m4f"),
    ("linear", 3, "portable", "f32", "x86"), ("linear", 3, "portable", "f64", "x86"),
    ("rest", 3, "portable", "f32", "x86"), ("pairs", 3, "portable", "f32", "x86"),
    ("ties", 3, "portable", "f64", "x86"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_every_row_takes_the_same_way(case):
    *what, cpu = case
    _, files = emitted(*what)
    rows = hostile_rows(ROWS, what[-1])
    assert len(traces(files, X86 if cpu == "x86" else find_cpu(cpu), rows, "predict")) == 1


@pytest.mark.parametrize("profile", ["portable", "device"])
def test_decision_values_too(profile):
    cpu = X86 if profile == "portable" else find_cpu("cortex-m4f")
    assert (
        len(
            traces(emitted("rbf", 3, profile, "f32")[1], cpu, hostile_rows(100, "f32"), "decision_function")
        )
        == 1
    )


def test_without_it_rows_differ():
    files = emitted("rbf", 3, "device", "f32", False)[1]
    assert len(traces(files, find_cpu("cortex-m4f"), hostile_rows(100, "f32"), "predict")) > 1


@pytest.mark.compile
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("profile", ["portable", "device"])
def test_results_are_the_same(model, profile):
    """Labels and values of the interpreter; a row with NaN or infinity has NaN."""
    program, _ = emitted(model, 3, profile, "f32")
    fast = sc.build(program, profile=profile)
    plain = sc.build(emitted(model, 3, profile, "f32", False)[0], profile=profile)
    rows = hostile_rows(300, "f32").astype(np.float64)
    np.testing.assert_array_equal(fast.predict(rows, allow_nan=True), plain.predict(rows, allow_nan=True))
    close = {"rtol": 2e-5, "atol": 2e-5}
    found, meant = (one.decision_function(rows, allow_nan=True) for one in (fast, plain))
    np.testing.assert_allclose(found, meant, **close)


@pytest.mark.parametrize(
    ("model", "emit", "message"),
    [
        (SVC(kernel="sigmoid"), {"profile": "portable"}, "a sigmoid kernel takes branches"),
        (SVC(), {"profile": "host"}, "profile host is not checked"),
        (make_pipeline(MinMaxScaler(clip=True), SVC()), {"profile": "portable"}, "Clip takes branches"),
    ],
)
def test_what_cannot_be_is_refused(model, emit, message):
    program = sc.compile(model.fit(X, Y), constant_time=True)
    with pytest.raises(sc.EmitError, match=message):
        sc.emit(program, name="m", **emit)


def test_fixed_point_and_certain_labels_are_refused():
    program = sc.compile(SVC().fit(X, Y), constant_time=True)
    with pytest.raises(sc.EmitError, match="q7 looks kernel values up"):
        sc.emit(sc.quantise(program, "q7", X), name="m", precision="q7", profile="portable")
    for target in ("onnx", "blob", "wasm"):
        with pytest.raises(sc.EmitError, match=f"what runs target {target} chooses its instructions"):
            sc.emit(program, target, name="m")
    kit = sc.emit(program, "c", name="m", profile="device", kit="micropython")
    assert "micropython/m/native/m.c" in kit and "micropython/m/m.py" not in kit
    with pytest.raises(sc.OptionError, match="labels=certain evaluates some rows again"):
        sc.compile(SVC().fit(X, Y), constant_time=True, labels="certain")
