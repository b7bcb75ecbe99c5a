"""The options of every command; the command line makes its flags of them. Light: typer is all it loads."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Protocol

from typer import Argument, Option

from svmcompile.commands.data_options import DataOptions
from svmcompile.commands.flags import (
    FORMATS,
    AnyData,
    Cluster,
    DataFile,
    DataFiles,
    Features,
    Folder,
    Json,
    Key,
    Method,
    Model,
    Name,
    NoRun,
    Sign,
    TrustPickle,
)
from svmcompile.commands.helping import CPUS, KITS, METHODS, PRECISIONS, PROFILES, TARGETS, list_cpus
from svmcompile.commands.onnx_options import OnnxFlags


class Options(Protocol):
    """What every command can be asked for."""

    @property
    def as_json(self) -> bool: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class WishOptions(DataOptions):
    """What `--method auto` and `explore` are asked for: limits, what should be least, how to search."""

    same_labels: Annotated[
        bool, Option("--same-labels", help="auto: never change a label of the model")
    ] = False
    agreement: Annotated[
        float | None,
        Option(help="auto: keep at least this share of labels on new rows, such as 0.995"),
    ] = None
    accuracy_loss: Annotated[
        float | None, Option(help="auto: lose no more accuracy than this, such as 0.002; needs labels")
    ] = None
    latency: Annotated[str | None, Option(help="auto: at most this time for one row, such as 2us")] = None
    batch_latency: Annotated[
        str | None, Option(help="auto: at most this time per row in batches, such as 500ns")
    ] = None
    max_bytes: Annotated[str | None, Option(help="auto: at most this size of tables, such as 20K")] = None
    methods: Annotated[
        str | None, Option(help="auto: methods to try, such as certified,reduced-set  [default: all]")
    ] = None
    minimise: Annotated[
        str, Option(help="auto: minimise time, batch-time or bytes; with --cpu also instructions or energy")
    ] = "time"
    budget: Annotated[str, Option(help="auto: how long to search, such as 30s, 2m or 1h")] = "2m"
    confidence: Annotated[float, Option(help="auto: confidence of its promise about new rows")] = 0.95
    tolerance: Annotated[
        float | None,
        Option(help="auto, regressors: how far a value may be off and still count as the same"),
    ] = None
    seed: Annotated[
        int, Option(help="auto: seed of the split into fitting, choosing and reporting rows")
    ] = 0
    jobs: Annotated[int, Option(help="auto: number of processes; 0 for one per core")] = 0
    cpu: Annotated[
        str | None,
        Option(
            help="report the cost on this processor or board, such as cortex-m4f or uno; profile device",
            autocompletion=CPUS,
        ),
    ] = None
    flash: Annotated[
        str | None, Option(help="with --cpu: available flash, such as 32K; refuse code that needs more")
    ] = None
    ram: Annotated[str | None, Option(help="with --cpu: available RAM, for memory and stack together")] = (
        None
    )
    clock: Annotated[str | None, Option(help="with --cpu: its clock, such as 64M; gives times")] = None
    list_cpus: Annotated[
        bool, Option("--list-cpus", help="list processors and boards", callback=list_cpus, is_eager=True)
    ] = False
    energy: Annotated[
        float | None,
        Option("--energy-per-instruction", help="with --cpu: energy in picojoules (AVR: per cycle)"),
    ] = None
    test: Annotated[
        Path | None,
        Option(
            "--test",
            "--report-data",
            help="held-out rows for the report  [default: part of --data]",
        ),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CompileOptions(WishOptions, OnnxFlags):
    """Compile a model to C, ONNX or WebAssembly: the main job."""

    model: Model
    output: Annotated[Path, Option("-o", "--output", help="folder to write to")]
    method: Annotated[
        str, Option(help="see `svmcompile methods`; auto chooses one", autocompletion=METHODS)
    ] = "exact"
    time_limit: Annotated[
        str | None,
        Option(help="end after this time, such as 40s or 2m; certified and anytime keep the best so far"),
    ] = None
    set_: Annotated[
        list[str] | None, Option("--set", metavar="KEY=VALUE", help="an option of the method (repeatable)")
    ] = None
    data: Annotated[Path | None, Option(help=f"representative rows: {FORMATS}")] = None
    target: Annotated[
        list[str] | None,
        Option(
            help="c, shared, onnx, wasm, blob or sql (repeatable)  [default: c]", autocompletion=TARGETS
        ),
    ] = None
    kit: Annotated[
        list[str] | None,
        Option(
            help="package C for arduino, platformio, cmake, zephyr, esp-idf, micropython or as wheel; "
            "ONNX for triton; a blob for java or rust; wasm for npm",
            autocompletion=KITS,
        ),
    ] = None
    platform: Annotated[
        str | None,
        Option(help="shared, wheel: linux-x86_64, windows-x86_64, macos-arm64, ...  [default: this one]"),
    ] = None
    rows: Annotated[
        str | None,
        Option(help="COUNT@SEED: fit to COUNT random rows of --data, report on the others"),
    ] = None
    replay: Annotated[
        Path | None, Option(help="build the choice in a choice.json that --method auto wrote")
    ] = None
    from_: Annotated[
        Path | None, Option("--from", help="build a candidate of an explore.json; see --pick")
    ] = None
    pick: Annotated[
        int | None, Option(help="with --from: number of the candidate  [default: the recommended one]")
    ] = None
    precision: Annotated[
        str | None,
        Option(
            help="f32 or f64; q15 or q7 for fixed point  [default: f32; auto: any]",
            autocompletion=PRECISIONS,
        ),
    ] = None
    ranges: Annotated[
        str | None, Option(help="q15, q7: LOW:HIGH of the features, or a file of rows  [default: --data]")
    ] = None
    given: Annotated[
        str | None, Option("--input", help="q15, q7: type of the input rows, u8 or i16  [default: float]")
    ] = None
    profile: Annotated[
        str | None,
        Option(
            help="host: vector instructions, for GCC and clang; portable: plain C99; device: for "
            "microcontrollers, see --cpu  [default: host; device with kits for devices]",
            autocompletion=PROFILES,
        ),
    ] = None
    tables: Annotated[
        str | None, Option(help="support vectors in C: dense, sparse  [default: the faster], or f16")
    ] = None
    api: Annotated[
        list[str] | None,
        Option(help="add a part to the C interface: sparse, model, cpp; or leave it out: no-sparse, ..."),
    ] = None
    name: Annotated[str | None, Option(help="prefix of files and C names  [default: from MODEL]")] = None
    features: Features = None
    most_probable: Annotated[
        bool, Option("--most-probable", help="return the most probable label, as svm-predict -b 1 does")
    ] = False
    trust_pickle: TrustPickle = False
    soft_double: Annotated[
        bool, Option("--soft-double", help="device: allow double in software where a claim needs it")
    ] = False
    measure: Annotated[
        bool, Option("--measure", help="build the method's variants and keep the fastest on --data")
    ] = False
    dump_ir: Annotated[Path | None, Option(help="write the program after each step to this folder")] = None
    prove: Annotated[
        bool,
        Option("--prove", help="q15, q7: prove the functions for all inputs; header and report say which"),
    ] = False
    sign: Sign = None
    as_json: Json = False

    @property
    def number(self) -> str:
        """The number type asked for."""
        return self.precision or "f32"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExploreOptions(WishOptions):
    """Try methods and options on a model, and write a page with the cost and agreement of each."""

    model: Model
    data: DataFile
    output: Annotated[Path, Option("-o", "--output", help="folder for explore.json and explore.html")]
    others: Annotated[
        list[Path] | None, Option("--model", help="another model to overlay (repeatable)")
    ] = None
    targets: Annotated[str, Option(help="c, onnx or c,onnx")] = "c"
    checkpoint: Annotated[
        Path | None, Option(help="folder for intermediate results, to resume a search")
    ] = None
    cluster: Cluster = None
    features: Features = None
    trust_pickle: TrustPickle = False
    as_json: Json = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainOptions(DataOptions):
    """Train a program on labelled data, without an SVM. `compile` turns it into C or ONNX."""

    data: DataFiles
    output: Annotated[Path, Option("-o", "--output", help=".svmc file")]
    method: Method = "dtsvm"
    set_: Annotated[
        list[str] | None, Option("--set", metavar="KEY=VALUE", help="a training option (repeatable)")
    ] = None
    test: Annotated[Path | None, Option(help="held-out labelled rows for the report")] = None
    cluster: Cluster = None
    as_json: Json = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvertOptions:
    """Write a model as LIBSVM text or as a scikit-learn estimator."""

    model: Model
    output: Annotated[Path, Option("-o", "--output", help=".model, .skops, .joblib or .pkl")]
    to: Annotated[str | None, Option(help="libsvm, skops or joblib  [default: by the suffix of -o]")] = None
    features: Features = None
    trust_pickle: TrustPickle = False
    as_json: Json = False


@dataclass(frozen=True, slots=True, kw_only=True)
class InspectOptions:
    """Show what is in a model, a program or an output folder."""

    thing: Annotated[Path, Argument(metavar="THING", help="a model, a .svmc program or an output folder")]
    features: Features = None
    trust_pickle: TrustPickle = False
    key: Key = None
    as_json: Json = False


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyOptions(DataOptions):
    """Compare C, ONNX and WebAssembly with the original model; exit 1 if a claim is broken.

    A program that `train` made has no original: give labelled data and no model.
    """

    folder: Folder
    data: AnyData = None
    model: Annotated[
        Path | None, Option(help="the original model; none for programs that `train` made")
    ] = None
    rows: Annotated[
        str | None, Option(help="number of random rows, or all  [default: as many as take about a minute]")
    ] = None
    min_agreement: Annotated[
        float | None, Option(help="exit 1 if the share of equal labels is smaller, such as 0.995")
    ] = None
    name: Name = None
    trust_pickle: TrustPickle = False
    certificate: Annotated[
        bool,
        Option("--certificate", help="check the certificates of `certified` in high precision instead"),
    ] = False
    prove: Annotated[
        bool,
        Option("--prove", help="prove the functions in whole numbers (q15, q7) instead; needs no data"),
    ] = False
    no_run: NoRun = False
    key: Key = None
    as_json: Json = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictOptions(DataOptions):
    """Score a file of any size in chunks, or the files of a folder, also on a cluster."""

    folder: Folder
    data: Annotated[Path, Option("--data", help=f"{FORMATS}; a folder of such files; - for standard input")]
    output: Annotated[
        Path, Option("-o", "--output", help=".csv, .csv.gz, .npy, .npz or .parquet; - prints CSV")
    ]
    name: Name = None
    target: Annotated[
        str | None,
        Option(
            help="shared, c, onnx, wasm, blob or sql  [default: the first that exists]",
            autocompletion=TARGETS,
        ),
    ] = None
    scores: Annotated[
        bool, Option("--scores", help="write decision values as well, in columns named by class")
    ] = False
    probabilities: Annotated[
        bool, Option("--probabilities", help="write probabilities as well, in columns named by class")
    ] = False
    keep: Annotated[str | None, Option(help="columns to copy to the output, such as id,date")] = None
    allow_missing: Annotated[
        bool,
        Option("--allow-missing", help="leave the label empty for rows with missing or infinite values"),
    ] = False
    jobs: Annotated[int, Option(help="threads; -1 for one per core")] = 1
    cluster: Cluster = None
    key: Key = None
    as_json: Json = False

    @property
    def kept(self) -> tuple[str, ...]:
        """The columns named by --keep."""
        return tuple(filter(None, (self.keep or "").split(",")))


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchOptions(DataOptions):
    """Time the model per row beside other ways to run it, from C and from Python."""

    folder: Folder
    data: DataFile
    model: Annotated[Path | None, Option(help="the original model, which most peers need")] = None
    against: Annotated[
        str | None, Option(help="sklearn,libsvm,onnxruntime,m2cgen,intelex,numpy  [default: all installed]")
    ] = None
    rows: Annotated[int | None, Option(help="rows of the data to use  [default: one batch]")] = None
    batch: Annotated[int, Option(help="rows per call in batches")] = 2000
    repeats: Annotated[int, Option(help="runs of each contender; the fastest counts")] = 7
    threads: Annotated[
        int | None, Option(help="time our C in 1 to this many threads  [default: one per core]")
    ] = None
    output: Annotated[
        Path | None, Option("-o", "--output", help="folder for bench.json, bench.svg and bench.html")
    ] = None
    name: Name = None
    trust_pickle: TrustPickle = False
    as_json: Json = False

    @property
    def peers(self) -> tuple[str, ...] | None:
        """The peers named; None for all."""
        return None if self.against is None else tuple(filter(None, self.against.split(",")))


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodsOptions:
    """List the methods, or explain one and its options."""

    name: Annotated[
        str | None,
        Argument(metavar="NAME", help="a method to explain  [default: list all]", autocompletion=METHODS),
    ] = None
    as_json: Json = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoOptions:
    """Train a digits SVM, compile it to C and ONNX, verify and time it, and print one table."""

    output: Annotated[Path, Option("-o", "--output", help="folder to write to")] = Path("out/demo")
    budget: Annotated[str, Option(help="how long to explore, such as 30s or 2m")] = "25s"
    as_json: Json = False
