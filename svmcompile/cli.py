"""The command line: parse, call, print. Heavy modules are imported inside each command."""

from __future__ import annotations

import json
import sys
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from svmcompile.errors import OptionError, SvmCompileError

if TYPE_CHECKING:
    from svmcompile.data import Data

app = typer.Typer(
    name="svmcompile",
    help="Compile trained support vector machines to standalone C and ONNX.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

Model = Annotated[
    Path, typer.Argument(help="LIBSVM text, ONNX, skops, joblib/pickle or .svmc file", show_default=False)
]
Folder = Annotated[Path, typer.Argument(help="a folder that `compile` wrote", show_default=False)]
FORMATS = ".npz, .npy, .csv, .libsvm/.svmlight or .parquet"
DataFile = Annotated[Path, typer.Option("--data", help=FORMATS, show_default=False)]
DataFiles = Annotated[
    Path, typer.Option("--data", help=f"{FORMATS}, or a folder of such files", show_default=False)
]
OptionalData = Annotated[Path | None, typer.Option("--data", help=FORMATS)]
Label = Annotated[
    str | None, typer.Option(help="label column of a .csv or .parquet file, by name or number")
]
Name = Annotated[str | None, typer.Option(help="which model, if the folder holds several")]
MostProbable = Annotated[
    bool, typer.Option("--most-probable", help="labels by probability, as LIBSVM's predict -b 1")
]
TrustPickle = Annotated[
    bool, typer.Option("--trust-pickle", help="read pickle and joblib files, which can run any code")
]
Features = Annotated[
    int | None, typer.Option(help="number of features, for LIBSVM models, which do not store it")
]
Settings = Annotated[
    list[str] | None, typer.Option("--set", help="an option of the method, KEY=VALUE (repeatable)")
]
Ranges = Annotated[
    str | None, typer.Option(help="q15, q7: LOW:HIGH of features, or a file of rows  [default: of --data]")
]
Given = Annotated[
    str | None, typer.Option("--input", help="q15, q7: rows of whole numbers, u8 or i16  [default: float]")
]
Cluster = Annotated[
    str | None, typer.Option(help="a Dask scheduler's address, or local:N for N processes of this machine")
]
Targets = Annotated[list[str] | None, typer.Option(help="c, onnx or wasm (repeatable)  [default: c]")]
Kits = Annotated[
    list[str] | None,
    typer.Option(help="C also as arduino, platformio, cmake, zephyr or esp-idf package (repeatable)"),
]
Profile = Annotated[
    str | None,
    typer.Option(
        help="host: vector instructions, GCC or clang; portable: plain C99; device: microcontrollers, "
        "see --cpu  [default: host, device with kits for devices]"
    ),
]
Tables = Annotated[
    str | None, typer.Option(help="support vectors in C: dense, sparse  [default: by speed], or f16")
]
Prefix = Annotated[str | None, typer.Option(help="prefix of files and C names  [default: from MODEL]")]
DumpIr = Annotated[Path | None, typer.Option(help="write the program after each step to this folder")]
SoftDouble = Annotated[
    bool, typer.Option("--soft-double", help="profile device: double in software where a claim needs it")
]
CpuName = Annotated[
    str | None, typer.Option("--cpu", help="tell the cost on it, for example cortex-m4f; profile device")
]
Flash = Annotated[str | None, typer.Option(help="with --cpu: refuse what needs more, for example 32K")]
Ram = Annotated[str | None, typer.Option(help="with --cpu: the same for memory and stack")]
Energy = Annotated[
    float | None,
    typer.Option("--energy-per-instruction", help="with --cpu: in picojoules (AVR: of a cycle)"),
]
Measure = Annotated[
    bool, typer.Option("--measure", help="build the method's variants and keep what is quickest on --data")
]
Json = Annotated[bool, typer.Option("--json", help="print one JSON object and nothing else")]


def main() -> None:
    """Entry point: errors made on purpose end in a message and their exit code, without a traceback."""
    try:
        app()
    except SvmCompileError as error:
        print(f"svmcompile: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        print("svmcompile: stopped", file=sys.stderr)
        sys.exit(130)


def _version(wanted: bool) -> None:
    if wanted:
        from svmcompile import __version__

        print(f"svmcompile {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True)] = False,
) -> None:
    """Compile trained support vector machines to standalone C and ONNX."""


@app.command()
def compile(
    model: Model,
    output: Annotated[Path, typer.Option("-o", "--output", help="folder to write to", show_default=False)],
    method: Annotated[str, typer.Option(help="see `svmcompile methods`")] = "exact",
    set_: Settings = None,
    data: OptionalData = None,
    label: Label = None,
    target: Targets = None,
    kit: Kits = None,
    precision: Annotated[str, typer.Option(help="f32, f64; in whole numbers q15, q7")] = "f32",
    ranges: Ranges = None,
    given: Given = None,
    profile: Profile = None,
    tables: Tables = None,
    name: Prefix = None,
    features: Features = None,
    most_probable: MostProbable = False,
    trust_pickle: TrustPickle = False,
    soft_double: SoftDouble = False,
    cpu: CpuName = None,
    flash: Flash = None,
    ram: Ram = None,
    energy: Energy = None,
    measure: Measure = False,
    dump_ir: DumpIr = None,
    as_json: Json = False,
) -> None:
    """Compile a model: the main job."""
    from svmcompile.commands import jobs, show
    from svmcompile.device.cost import DeviceOptions
    from svmcompile.targets.kits import default_profile

    profile = profile or ("device" if cpu else default_profile(kit or ()))
    wanted = jobs.CompileOptions(
        method=method, options=_settings(set_ or []), targets=tuple(target or ["c"]), kits=tuple(kit or ()),
        precision=precision, ranges=ranges, given=given, profile=profile, tables=tables, name=name,
        soft_double=soft_double, trust_pickle=trust_pickle, n_features=features, dump_ir=dump_ir,
        most_probable=most_probable, device=DeviceOptions.of(cpu, flash, ram, energy, profile),
        measure=measure,
    )  # fmt: skip
    with showing_progress(as_json):
        report, files = jobs.compile_model(
            model, output, wanted, lambda svm: _read_data(data, label, svm.n_features, svm.feature_names)
        )
    _print(as_json, report, lambda: show.compiled(report, output, files))


@app.command()
def train(
    data: DataFiles,
    output: Annotated[Path, typer.Option("-o", "--output", help=".svmc file", show_default=False)],
    method: Annotated[str, typer.Option(help="see `svmcompile methods`")] = "dtsvm",
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="a training option, KEY=VALUE (repeatable)")
    ] = None,
    label: Label = None,
    cluster: Cluster = None,
    as_json: Json = False,
) -> None:
    """Train a program on labelled data, without an SVM; `compile` makes C or ONNX of it."""
    from svmcompile.commands import jobs, show

    with showing_progress(as_json):
        report = jobs.train_model(method, data, label, output, _settings(set_ or []), cluster)
    _print(as_json, report, lambda: show.trained(report))


@app.command()
def convert(
    model: Model,
    output: Annotated[
        Path, typer.Option("-o", "--output", help=".model, .skops, .joblib or .pkl", show_default=False)
    ],
    to: Annotated[
        str | None, typer.Option(help="libsvm, skops or joblib  [default: by the suffix of -o]")
    ] = None,
    features: Features = None,
    trust_pickle: TrustPickle = False,
    as_json: Json = False,
) -> None:
    """Write a model as LIBSVM text or as a scikit-learn estimator."""
    from svmcompile.commands import show
    from svmcompile.commands.convert import convert_model

    report = convert_model(model, output, to, trust_pickle, features)
    _print(as_json, report, lambda: show.converted(report, output.parent))


@app.command()
def inspect(
    thing: Annotated[Path, typer.Argument(help="a model, a .svmc program or an output folder")],
    features: Features = None,
    trust_pickle: TrustPickle = False,
    as_json: Json = False,
) -> None:
    """Show what a model, a program or an output folder holds."""
    from svmcompile.commands import jobs, show

    facts, listing = jobs.inspect(thing, trust_pickle, features)
    _print(as_json, facts, lambda: show.facts(facts, listing))


@app.command()
def verify(
    folder: Folder,
    model: Annotated[Path, typer.Option(help="the original model", show_default=False)],
    data: DataFile,
    label: Label = None,
    name: Name = None,
    trust_pickle: TrustPickle = False,
    certificate: Annotated[
        bool, typer.Option("--certificate", help="check Taylor certificates in many digits instead")
    ] = False,
    as_json: Json = False,
) -> None:
    """Run original, interpreter, C, ONNX and WebAssembly side by side; exit 1 if a claim is broken."""
    from svmcompile.commands import jobs, show

    if certificate:
        with showing_progress(as_json):
            found = jobs.check_certificates(folder, model, name, trust_pickle, _reader(data, label))
        _print(as_json, found.as_dict(), lambda: show.certificates(found))
        if not found.ok:
            raise typer.Exit(1)
        return
    report = jobs.verify_folder(folder, model, name, trust_pickle, _reader(data, label))
    _print(as_json, report.as_dict(), lambda: show.verified(report))
    if not report.ok:
        raise typer.Exit(1)


@app.command()
def predict(
    folder: Folder,
    data: DataFiles,
    output: Annotated[
        Path, typer.Option("-o", "--output", help=".csv, .npy, .npz or .parquet", show_default=False)
    ],
    label: Label = None,
    name: Name = None,
    target: Annotated[str | None, typer.Option(help="c, onnx or wasm  [default: what is there]")] = None,
    scores: Annotated[bool, typer.Option("--scores", help="write decision values as well")] = False,
    jobs_: Annotated[int, typer.Option("--jobs", help="threads; -1 for one per core")] = 1,
    cluster: Cluster = None,
    as_json: Json = False,
) -> None:
    """Score a file of any size in chunks, or the files of a folder on a cluster."""
    from svmcompile.commands import jobs, show

    if cluster:
        from svmcompile.cluster import predict_partitions

        with showing_progress(as_json):
            figures = predict_partitions(cluster, folder, data, output, label, name, scores)
        _print(as_json, figures, lambda: show.predicted(figures))
        return
    figures = jobs.predict_file(folder, data, output, label, name, target, scores, jobs_, quiet=as_json)
    _print(as_json, figures, lambda: show.predicted(figures))


@app.command()
def bench(
    folder: Folder,
    data: DataFile,
    model: Annotated[Path | None, typer.Option(help="the original model, which most peers need")] = None,
    against: Annotated[
        str | None,
        typer.Option(help="sklearn,libsvm,onnxruntime,m2cgen,intelex,numpy  [default: all installed]"),
    ] = None,
    rows: Annotated[int | None, typer.Option(help="rows of the data to use  [default: one batch]")] = None,
    batch: Annotated[int, typer.Option(help="rows per call in batches")] = 2000,
    repeats: Annotated[int, typer.Option(help="turns of each contender; the least time counts")] = 7,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="folder for bench.json and bench.svg")
    ] = None,
    label: Label = None,
    name: Name = None,
    trust_pickle: TrustPickle = False,
    as_json: Json = False,
) -> None:
    """Time per row beside other ways to run the model, in C and through Python, one thread."""
    from svmcompile.commands import show
    from svmcompile.commands.bench import BenchOptions, bench

    options = BenchOptions(
        folder=str(folder),
        data=str(data),
        model=None if model is None else str(model),
        against=None if against is None else tuple(filter(None, against.split(","))),
        rows=rows,
        batch=batch,
        repeats=repeats,
        label=label,
        name=name,
        trust_pickle=trust_pickle,
    )
    result = bench(options, output, quiet=as_json)
    _print(as_json, result, lambda: show.benched(result, output))


@app.command()
def methods(as_json: Json = False) -> None:
    """List the methods with claim, needs, options and defaults."""
    from svmcompile.commands import jobs, show

    found = jobs.list_methods()
    _print(as_json, {"methods": found}, lambda: show.methods(found))


@app.command()
def demo(
    output: Annotated[Path, typer.Option("-o", "--output", help="folder to write to")] = Path("out/demo"),
    as_json: Json = False,
) -> None:
    """Train a digits SVM, compile it to C and ONNX, verify, time it, print one table."""
    from svmcompile.commands import show
    from svmcompile.commands.demo import run_demo

    result = run_demo(output, quiet=as_json)
    _print(as_json, result, lambda: show.demo(result))
    if not result["ok"]:
        raise typer.Exit(1)


def showing_progress(quiet: bool) -> AbstractContextManager[None]:
    """Long work within shows bars on standard error."""
    from svmcompile.commands.show import progress
    from svmcompile.progress import showing

    return showing(lambda what, total: progress(what, total, quiet))


def _settings(pairs: list[str]) -> dict[str, str]:
    settings = {}
    for pair in pairs:
        key, separator, value = pair.partition("=")
        if not separator or not key:
            raise OptionError(f"--set {pair!r} is not of the form KEY=VALUE")
        settings[key.replace("-", "_")] = value
    return settings


def _read_data(
    data: Path | None, label: str | None, n_features: int, feature_names: tuple[str, ...]
) -> Data | None:
    if data is None:
        return None
    from svmcompile.data import read_data

    return read_data(data, label=label, n_features=n_features, feature_names=feature_names)


def _reader(data: Path, label: str | None) -> Any:
    return lambda n_features, feature_names: _read_data(data, label, n_features, feature_names)


def _print(as_json: bool, result: Any, show: Any) -> None:
    if as_json:
        print(json.dumps(result, indent=2, sort_keys=True, default=str))
    else:
        show()
