"""Flags that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from svmcompile.commands.helping import METHODS

FILES = "LIBSVM, LIBLINEAR, SVM-light, OpenCV, PMML"
FORMATS = ".npz, .npy, .csv, .libsvm/.svmlight (both also .gz) or .parquet"

Model = Annotated[
    Path, Argument(metavar="MODEL", help=f"{FILES}, ONNX, skops, joblib/pickle or .svmc file")
]
Folder = Annotated[Path, Argument(metavar="FOLDER", help="a folder that `compile` wrote")]
DataFile = Annotated[Path, Option("--data", help=FORMATS)]
AnyData = Annotated[Path | None, Option("--data", help=FORMATS)]
DataFiles = Annotated[Path, Option("--data", help=f"{FORMATS}, or a folder of such files")]
Name = Annotated[str | None, Option(help="which model, if the folder has several")]
Method = Annotated[str, Option(help="see `svmcompile methods`", autocompletion=METHODS)]
TrustPickle = Annotated[
    bool, Option("--trust-pickle", help="read pickle and joblib files, which can run any code")
]
Features = Annotated[
    int | None, Option(help="number of features, for LIBSVM models, which do not store it")
]
Cluster = Annotated[
    str | None, Option(help="address of a Dask scheduler, or local:N for N processes on this machine")
]
Json = Annotated[bool, Option("--json", help="print only one JSON object")]
Key = Annotated[
    Path | None, Option("--check", help="refuse a folder that was not signed with the key in this file")
]
Sign = Annotated[
    Path | None, Option(help="sign the report with the key in this file (HMAC-SHA256), for --check")
]
NoRun = Annotated[
    bool, Option("--no-run", help="compare the program and all digests; build and run nothing")
]
