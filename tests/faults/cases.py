"""Commands that write, each over what an earlier run and a user left there."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Run = Callable[[Path], None]
OLD = {"m.c": "old c", "m.h": "old h", "kits/z/src/m.c": "old kit", "m.json": "old json"}
NEW = {"m.c": "new c", "m.h": "new h", "kits/z/src/m.c": "new kit", "m.json": "new json", "kits/y/a": "new"}


@dataclass(frozen=True)
class Case:
    """What is there before, and what is run; both get the folder all of it happens in."""

    name: str
    before: Run
    run: Run
    inside: bool = False  # run with the output folder as the current one
    quick: bool = False  # among those that the tests run


def furnish(out: Path) -> None:
    """What a user keeps in an output folder."""
    for path in ("notes.txt", "own/deep/file", "kits/z/own.c", "kits/mine/file"):
        (out / path).parent.mkdir(parents=True, exist_ok=True)
        (out / path).write_text("mine")
    (out / "link").symlink_to("own/deep")
    (out / "own/empty").mkdir()
    (out / "own").chmod(0o750)


def writes(name: str, folder: str = "out", *, old: bool = True, inside: bool = False) -> Case:
    """Files alone, without a command around them."""
    from svmcompile.files import write_files

    def before(root: Path) -> None:
        if old:
            write_files(OLD, root / folder)
            furnish(root / folder)

    def run(root: Path) -> None:
        write_files(NEW, root / folder)

    return Case(name, before, run, inside, quick=True)


def predictions(suffix: str, quick: bool = False) -> Case:
    """Predictions over a private file."""
    import numpy as np

    from svmcompile.data import PredictionWriter

    def write(root: Path, rows: int) -> None:
        with PredictionWriter(root / "out" / f"p{suffix}", "label") as sink:
            for _ in range(3):
                sink.write(np.arange(rows))

    def before(root: Path) -> None:
        (root / "out").mkdir()
        write(root, 2)
        (root / "out" / f"p{suffix}").chmod(0o600)
        (root / "out" / "notes.txt").write_text("mine")

    return Case(f"predictions {suffix}", before, lambda root: write(root, 3000), quick=quick)


def small_cases() -> list[Case]:
    """Those that need no model."""
    return [
        writes("new folder", "out/deep", old=False),
        writes("old folder"),
        writes("current folder", inside=True),
        predictions(".csv", quick=True),
    ]


def commands(work: Path) -> list[Case]:
    """Every command that writes; `work` holds the models and data they read."""
    import numpy as np
    import skops.io
    from sklearn.datasets import load_iris
    from sklearn.svm import SVC

    X, y = load_iris(return_X_y=True)
    for which, C, rows in (("old", 0.1, slice(None, None, 7)), ("new", 10.0, slice(None))):
        skops.io.dump(SVC(C=C).fit(X, y), work / f"{which}.skops")
        np.savez(work / f"{which}.npz", X=X[rows], y=y[rows])
    remember_files()
    compiled = work / "compiled"
    call("compile", "Compile", model=work / "new.skops", output=compiled, name="m")

    def compile_(name: str, inside: bool = False, listings: bool = False, **more: Any) -> Case:
        def run(root: Path, which: str) -> None:
            told = {"dump_ir": root / "out" / "listings"} if listings else {}
            model = work / f"{which}.skops"
            call("compile", "Compile", model=model, output=root / "out", name="m", **told, **more)

        (ahead := work / name).mkdir()
        run(ahead, "new")
        return _over(name, run, inside)

    def convert(root: Path, which: str) -> None:
        call("convert", "Convert", model=work / f"{which}.skops", output=root / "out" / "m.model")

    def predict(root: Path, which: str) -> None:
        output = root / "out" / "p.csv"
        call("predict", "Predict", folder=compiled, data=work / f"{which}.npz", output=output, label="y")

    def train(root: Path, which: str) -> None:
        rows, output = work / f"{which}.npz", root / "out" / "m.svmc"
        call("train", "Train", data=rows, output=output, method="dtsvm", label="y")

    return [
        compile_("compile"),
        compile_("compile, current folder", inside=True),
        compile_("compile with kits", target=["c", "onnx"], kit=["zephyr", "cmake"]),
        compile_("compile, listings", listings=True),
        _over("convert", convert),
        _over("predict", predict),
        _over("train", train),
        *_measured_once(work, compiled),
        predictions(".csv.gz"),
        predictions(".npy"),
        predictions(".npz"),
        predictions(".parquet"),
    ]


def remember_files() -> None:
    """From now on `compile` makes files once, here, and writes them in each process that is tried."""
    from svmcompile.commands import compile

    known: dict[str, tuple[Any, list[Any]]] = {}
    make = compile._make

    def remembered(options: Any, model: Any, watch: Any) -> Any:
        asked, steps = f"{options.model} {options.target} {options.kit} {bool(watch)}", []
        if asked not in known:
            known[asked] = make(options, model, watch and (lambda *step: steps.append(step))), steps
        made, steps = known[asked]
        for step in steps:
            watch(*step)
        return made

    compile._make = remembered


def call(command: str, options: str, **given: Any) -> None:
    """A command as `svmcompile.commands` has it."""
    import svmcompile.commands.options as known

    module = importlib.import_module(f"svmcompile.commands.{command}")
    module.run(getattr(known, f"{options}Options")(**given))


def _over(name: str, run: Callable[[Path, str], None], inside: bool = False) -> Case:
    """A command over what it wrote before and what a user put beside."""

    def before(root: Path) -> None:
        (root / "out").mkdir()
        run(root, "old")
        furnish(root / "out")

    return Case(name, before, lambda root: run(root, "new"), inside)


def _measured_once(work: Path, compiled: Path) -> list[Case]:
    """bench and explore with figures made up: what they write is what is tested."""
    from svmcompile.commands import bench, explore
    from svmcompile.commands.options import BenchOptions

    measured = bench.measure(
        BenchOptions(
            folder=compiled, data=work / "new.npz", against="numpy", batch=50, repeats=1, threads=1
        )
    )

    def run_bench(root: Path, which: str) -> None:
        bench._in_child = lambda options: {**measured, "name": which}
        call("bench", "Bench", folder=compiled, data=work / "new.npz", output=root / "out")

    def run_explore(root: Path, which: str) -> None:
        files = {"explore.html": f"<p>{which}</p>", "explore.json": f'"{which}"'}
        explore.explore = lambda *given: ({}, files)
        explore.read_rows = lambda *given: None
        call("explore", "Explore", model=work / "new.skops", data=work / "new.npz", output=root / "out")

    return [_over("bench", run_bench), _over("explore", run_explore)]
