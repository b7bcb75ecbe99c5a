"""Cost before flashing: what the command tells, what it refuses, and what it names instead."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from device_cases import NAME, digits, emitted
from sklearn.svm import SVC
from typer.testing import CliRunner

from svmcompile.cli import app
from svmcompile.device import cost as device_job
from svmcompile.device.cost import DeviceOptions, device_cost, read_size, shortfalls
from svmcompile.errors import OptionError, SvmCompileError

pytestmark = pytest.mark.device


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A stored model and its data."""
    from skops.io import dump

    place = tmp_path_factory.mktemp("models")
    model, X, _ = digits()
    dump(model, place / "digits.skops")
    np.savez(place / "rows.npz", X=X)
    return place


def run(folder: Path, *arguments: str) -> Any:
    command = ["compile", str(folder / "digits.skops"), "-o", str(folder / "out"), *arguments]
    return CliRunner().invoke(app, command)


def test_the_report_tells_the_cost(folder: Path) -> None:
    done = run(folder, "--cpu", "cortex-m4f", "--energy-per-instruction", "30", "--json")
    assert done.exit_code == 0, done.output
    cost = json.loads(done.stdout)["device"]
    assert cost["measured"] and cost["cpu"] == "cortex-m4f" and cost["unit"] == "instructions"
    assert 27_000 < cost["flash_bytes"] <= 28_000 and cost["ram_bytes"] == 0
    assert 0 < cost["stack_bytes"] <= 256
    assert 25_000 < cost["mean"] <= cost["worst"] <= 35_000
    assert cost["energy_nj"]["mean"] == pytest.approx(cost["mean"] * 0.03)
    assert json.loads((folder / "out" / "digits.json").read_text())["device"] == cost


def test_the_table_tells_the_cost(folder: Path) -> None:
    done = run(folder, "--cpu", "cortex-m4f", "--energy-per-instruction", "30")
    assert "on cortex-m4f" in done.stdout and "instructions per prediction" in done.stdout
    assert "energy per prediction" in done.stdout and "measured on" in done.stdout


@pytest.mark.parametrize(("limit", "fits"), [("16K", "--precision q15"), ("9K", "--precision q7")])
def test_what_does_not_fit_is_refused_and_what_fits_is_named(folder: Path, limit: str, fits: str) -> None:
    data = ("--data", str(folder / "rows.npz"))
    done = run(folder, "--cpu", "cortex-m4f", "--flash", limit, *data)
    assert isinstance(done.exception, OptionError)
    message = str(done.exception)
    assert "bytes of flash (limit" in message and f"this fits: {fits} (" in message
    assert run(folder, "--cpu", "cortex-m4f", "--flash", limit, *data, *fits.split()).exit_code == 0


def test_what_is_named_was_trained_for_its_number_type(folder: Path) -> None:
    """Its limit counts bytes of the type that is emitted: in the trial as in the command that is named."""
    flags = ("--cpu", "cortex-m4f", "--flash", "4K", "--data", str(folder / "rows.npz"))
    sizes = ("--set", "max_bytes=4096", "--set", "steps=20", "--set", "synthetic_rows=0")
    words = (*flags, "--method", "proto", *sizes)
    message = str(run(folder, *words).exception)
    assert "this fits: --precision q7 (" in message
    done = run(folder, *words, "--precision", "q7", "--json")
    assert f"q7 ({json.loads(done.stdout)['device']['flash_bytes']:,} bytes of flash, " in message


def test_without_data_fewer_vectors_are_tried(folder: Path) -> None:
    done = run(folder, "--cpu", "cortex-m4f", "--flash", "20K")
    message = str(done.exception)
    assert "this fits: --method reduced-set --set budget=" in message
    assert not (folder / "nothing").exists()


def test_nothing_fits(folder: Path) -> None:
    done = run(folder, "--cpu", "cortex-m4f", "--flash", "300")
    assert "nor does any of these fit: --method reduced-set --set budget=2 (" in str(done.exception)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--cpu", "z80"), "unknown CPU 'z80'"),
        (("--flash", "2K"), "need --cpu"),
        (("--cpu", "cortex-m0", "--flash", "much"), "--flash 'much' is not a size"),
        (("--cpu", "cortex-m0", "--ram", "-3"), "--ram '-3' is not a size"),
        (("--cpu", "cortex-m0", "--profile", "host"), "add --profile device"),
        (("--cpu", "cortex-m0", "--energy-per-instruction", "-1"), "is not a number of picojoules"),
        (("--cpu", "cortex-m0", "--target", "onnx"), "only C has a cost on a device"),
        (("--cpu", "cortex-m0", "--method", "anytime"), "--soft-double"),
    ],
)
def test_bad_options(folder: Path, arguments: tuple[str, ...], message: str) -> None:
    done = run(folder, *arguments)
    assert isinstance(done.exception, SvmCompileError)
    assert message in str(done.exception)


@pytest.mark.parametrize(
    ("text", "size"), [("32K", 32768), ("2048", 2048), ("1.5k", 1536), ("1 MiB", 1 << 20)]
)
def test_sizes(text: str, size: int) -> None:
    assert read_size(text, "--flash") == size


def test_memory_counts_the_stack() -> None:
    wanted = DeviceOptions.of("cortex-m0", None, "100", None, "device")
    assert wanted is not None
    cost = {"flash_bytes": 1, "ram_bytes": 40, "stack_bytes": 61}
    assert shortfalls(cost, wanted) == ["101 bytes of memory and stack (limit 100)"]


@pytest.mark.parametrize("cpu", ["cortex-m4f", "rv32imac"])
def test_predictions_are_near_what_is_measured(cpu: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _, files = emitted("digits")
    rows = digits()[2][:2]
    measured = device_cost(files, NAME, cpu, rows)
    monkeypatch.setattr(device_job, "can_measure", lambda cpu: False)
    predicted = device_cost(files, NAME, cpu, rows)
    assert not predicted["measured"] and predicted["worst"] is None
    for key in ("flash_bytes", "mean"):
        assert measured[key] / 2 < predicted[key] < measured[key] * 2


def test_a_stored_program_has_no_smaller_forms(folder: Path) -> None:
    assert run(folder).exit_code == 0
    command = ["compile", str(folder / "out" / "digits.svmc"), "-o", str(folder / "again")]
    done = CliRunner().invoke(app, [*command, "--cpu", "cortex-m4f", "--flash", "2K"])
    assert "give the original model, and data" in str(done.exception)


def test_models_without_support_vectors_of_their_own_are_measured_too() -> None:
    model = SVC(kernel="linear").fit(digits()[1], digits()[0].predict(digits()[1]))
    import svmcompile as sc

    files = sc.emit(sc.compile(model), "c", NAME, "f32", "device")
    assert device_cost(files, NAME, "cortex-m4f", digits()[2][:3])["flash_bytes"] < 1000
