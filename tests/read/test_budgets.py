"""A small file costs little memory and processor time in any reader, whatever it claims."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MOST_MEGABYTES = 500  # of memory, beyond what Python and the libraries take
MOST_SECONDS = 20  # of processor time for each file


def numpy_files(folder: Path) -> None:
    """Headers that take long to parse."""
    import io
    import struct
    import zipfile

    blank = b"{" + b" \0" * 4990 + b"}"
    header = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(blank)) + blank
    (folder / "header.npy").write_bytes(header)
    inner = io.BytesIO()
    for target in (folder / "header.npz", inner):
        with zipfile.ZipFile(target, "w") as archive:
            archive.writestr("X.npy", header)
    with zipfile.ZipFile(folder / "header.svmc", "w") as archive:
        archive.writestr("program.json", "{}")
        archive.writestr("tables.npz", inner.getvalue())


def onnx_files(folder: Path) -> None:
    """Widths that are negative."""
    from onnx import TensorProto, helper

    wide, negative = (
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [None, width])
        for name, width in (("a", 2**31), ("b", 2 - 2**31))
    )
    attributes = {
        "classlabels_ints": [3, 5], "coefficients": [1.0, -1.0], "kernel_params": [0.5, 0.0, 3.0],
        "kernel_type": "RBF", "post_transform": "NONE", "rho": [0.25],
        "support_vectors": [1.0, 2.0, -1.0, 0.5], "vectors_per_class": [1, 1],
    }  # fmt: skip
    nodes = [
        helper.make_node("Concat", ["a", "b"], ["x"], axis=1),
        helper.make_node("SVMClassifier", ["x"], ["label", "scores"], domain="ai.onnx.ml", **attributes),
    ]
    leaving = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ("label", "scores")]
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 1)]
    graph = helper.make_graph(nodes, "g", [wide, negative], leaving)
    proto = helper.make_model(graph, opset_imports=imports)
    (folder / "negative.onnx").write_bytes(proto.SerializeToString())


def parquet_files(folder: Path) -> None:
    """Dictionaries and texts that repeat."""
    import numpy as np
    import pyarrow
    import pyarrow.parquet

    labels = pyarrow.DictionaryArray.from_arrays(np.zeros(3_000_000, np.int8), ["x" * 256])
    table = pyarrow.table({"f": np.zeros(3_000_000, np.float32), "label": labels})
    pyarrow.parquet.write_table(table, folder / "labels.parquet")
    texts = pyarrow.DictionaryArray.from_arrays(np.zeros(1_000_000, np.int8), ["x" * 8000])
    pyarrow.parquet.write_table(
        pyarrow.table({"text": texts}), folder / "texts.parquet", store_schema=False
    )
    texts = pyarrow.array(["x" * 8000] * 40_000)
    how = {"use_dictionary": False, "compression": "zstd"}
    pyarrow.parquet.write_table(pyarrow.table({"text": texts}), folder / "plain.parquet", **how)


def text_files(folder: Path) -> None:
    """Wide rows, and many classes."""
    rows = "".join(f"1 {n + 1}:1\n" for n in range(5000)) + "1 16000000:1\n"
    (folder / "wide.model").write_text(
        "svm_type one_class\nkernel_type rbf\ngamma 1\nnr_class 2\ntotal_sv 5001\nrho 0\nSV\n" + rows
    )
    (folder / "wide.libsvm").write_text("1 1:1\n" * 3000 + "1 16000000:1\n")
    weights = " ".join("0" * 60_000)
    (folder / "classes.model").write_text(
        f"solver_type MCSVM_CS\nnr_class 60000\nlabel {' '.join(map(str, range(60_000)))}\nnr_feature 1\n"
        f"bias -1\nw\n{weights}\n"
    )
    light = (ROOT / "tests" / "data" / "svmlight" / "rbf.model").read_text()
    (folder / "light.model").write_text(light.replace("3 # highest", "16000000 # highest"))


def nested_files(folder: Path) -> None:
    """Entities that multiply, and what is nested deep."""
    (folder / "bomb.xml").write_text(
        "<!DOCTYPE a [<!ENTITY b0 'x'>"
        + "".join(f"<!ENTITY b{n + 1} '{f'&b{n};' * 10}'>" for n in range(12))
        + "]><opencv_storage><a>&b12;</a></opencv_storage>"
    )
    (folder / "bomb.pmml").write_bytes(
        (folder / "bomb.xml").read_bytes().replace(b"opencv_storage", b"PMML")
    )
    (folder / "deep.xml").write_text("<opencv_storage>" + "<a>" * 300_000)
    (folder / "deep.json").write_text('{"opencv_ml_svm":' + "[" * 900_000)


def pmml_files(folder: Path) -> None:
    """Many fields and predictors."""
    discrete = (ROOT / "tests" / "data" / "pmml" / "discrete.pmml").read_text()
    names = "".join(f'<DerivedField name="d{n}"><FieldRef field="a"/></DerivedField>' for n in range(6000))
    wide = discrete.replace("<LocalTransformations>", "<LocalTransformations>" + names)
    fields = "".join(f'<FieldRef field="d{n}"/>' for n in range(6000))
    (folder / "wide.pmml").write_text(
        wide.replace("<VectorFields>", "<VectorFields>" + fields).replace(
            "<SupportVectorMachineModel ", '<SupportVectorMachineModel svmRepresentation="Coefficients" '
        )
    )
    claims = (ROOT / "tests" / "data" / "pmml" / "claims.pmml").read_text()
    many = "".join(f'<CategoricalPredictor name="age" value="{n}" coefficient="1"/>' for n in range(12_000))
    (folder / "many.pmml").write_text(claims.replace("</RegressionTable>", many + "</RegressionTable>"))


def opencv_files(folder: Path) -> None:
    """Many classes."""
    votes = (ROOT / "tests" / "data" / "opencv" / "votes.yml").read_text()
    (folder / "many.yml").write_text(votes.replace("class_count: 3", "class_count: 2147483647"))


def skops_files(folder: Path) -> None:
    """Zeros that compress well, and widths that are claimed."""
    import zipfile

    import numpy as np
    import skops.io
    from scipy import sparse
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import PolynomialFeatures
    from sklearn.svm import SVC

    X, y = np.eye(4), [0, 1, 0, 1]
    estimator = SVC().fit(X, y)
    estimator.support_vectors_ = np.zeros((30_000, 8_000), np.float32)
    skops.io.dump(estimator, folder / "zeros.skops", compression=zipfile.ZIP_DEFLATED, compresslevel=9)
    estimator.support_vectors_ = sparse.csr_matrix((20_000, 10_000))
    skops.io.dump(estimator, folder / "sparse.skops")
    powers = make_pipeline(PolynomialFeatures(2), SVC()).fit(X, y)
    powers[0].n_features_in_, powers[0].n_output_features_ = 20_000, 200_030_001
    skops.io.dump(powers, folder / "powers.skops")


def skops_lists(folder: Path) -> None:
    """A list that holds itself many times over, level by level."""
    import io
    import json
    import zipfile

    import numpy as np
    import skops.io
    from sklearn.svm import SVC

    row: dict[str, object] = {"__loader__": "JsonNode", "content": "1.5"}
    for level in range(4):
        again = [{"__loader__": "ListNode", "__id__": level - 1} if level else row] * 149
        row = {"__loader__": "ListNode", "__id__": level, "content": [row, *again]}
        row |= {"__module__": "builtins", "__class__": "list"}
    with zipfile.ZipFile(io.BytesIO(skops.io.dumps(SVC().fit(np.eye(4), [0, 1, 0, 1])))) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    described = json.loads(members["schema.json"])
    described["content"]["content"]["classes_"] = row
    with zipfile.ZipFile(folder / "lists.skops", "w", zipfile.ZIP_DEFLATED) as archive:
        for member, data in (members | {"schema.json": json.dumps(described).encode()}).items():
            archive.writestr(member, data)


def hostile_files(folder: Path) -> None:
    """Files of a few bytes to a few hundred kilobytes that once cost gigabytes or minutes."""
    for write in (
        numpy_files, onnx_files, parquet_files, text_files, nested_files, pmml_files, opencv_files,
        skops_files, skops_lists,
    ):  # fmt: skip
        write(folder)


READ = """
import resource, sys
from pathlib import Path
import numpy, onnx, pyarrow, sklearn.svm, scipy.sparse
from svmcompile.data import read_data
from svmcompile.errors import SvmCompileError
from svmcompile.flow.program import open_model

def used():
    return resource.getrusage(resource.RUSAGE_SELF)

FINE = ("texts.parquet",)  # equal texts are one
before = used().ru_maxrss >> 10
for path in map(Path, sys.argv[2:]):
    end = int(used().ru_utime + used().ru_stime) + int(sys.argv[1])
    resource.setrlimit(resource.RLIMIT_CPU, (end, resource.RLIM_INFINITY))
    told = {"label": "label"} if path.stem == "labels" else {"takes_text": True}
    told = told if path.suffix == ".parquet" else {}
    try:
        data = path.suffix in (".npy", ".npz", ".parquet", ".libsvm")
        read_data(path, **told) if data else open_model(path)
        wrong = path.name not in FINE
    except SvmCompileError:
        wrong = path.name in FINE
    print(path.name, 10_000 * wrong + (used().ru_maxrss >> 10) - before, flush=True)
"""
NAMES = (
    "header.npy", "header.npz", "header.svmc", "negative.onnx", "labels.parquet", "texts.parquet",
    "plain.parquet", "wide.model",
    "wide.libsvm", "zeros.skops", "sparse.skops", "powers.skops", "lists.skops", "bomb.xml", "bomb.pmml",
    "wide.pmml", "many.pmml", "deep.xml", "deep.json", "many.yml", "classes.model", "light.model",
)  # fmt: skip


@pytest.mark.skipif(not hasattr(resource, "RLIMIT_CPU"), reason="needs limits of resources")
def test_a_small_file_costs_little(tmp_path: Path) -> None:
    hostile_files(tmp_path)
    files = [tmp_path / name for name in NAMES]
    assert sorted(tmp_path.iterdir()) == sorted(files)
    assert all(file.stat().st_size < 1 << 20 for file in files)
    command = [sys.executable, "-c", READ, str(MOST_SECONDS), *map(str, files)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    told = dict(line.split() for line in done.stdout.splitlines())
    assert list(told) == list(NAMES), f"the next one was read, or took too long, or failed: {done.stderr}"
    assert max(map(int, told.values())) < MOST_MEGABYTES
