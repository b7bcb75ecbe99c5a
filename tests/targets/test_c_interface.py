"""The C interface: the same functions for every model of a kind, parts by name, one struct, C++."""

from __future__ import annotations

import re
import subprocess
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from c_build import SANITIZE, compile_c, compilers, cxx_compilers, sanitizing_compiler
from scipy.sparse import csr_matrix
from sklearn.datasets import load_iris
from sklearn.svm import SVC, SVR, LinearSVC, OneClassSVM

import svmcompile as sc
from svmcompile.errors import EmitError, OptionError
from svmcompile.ir.node import Node
from svmcompile.targets.c.parts import PARTS
from svmcompile.targets.c.table_comments import MEANINGS
from svmcompile.targets.kits import FUNCTION
from svmcompile.targets.templating import render

pytestmark = pytest.mark.compile
X, Y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])
ROOT = Path(__file__).parents[2]
ONE = ("predict", "predict_batch")
SPARSE = ("predict_sparse", "predict_sparse_batch")
ALWAYS = {"label_name", "self_test", "get", *ONE, *SPARSE}


def of(function: str) -> set[str]:
    return {function, f"{function}_batch", f"{function}_sparse", f"{function}_sparse_batch"}


def declared(model: Any, profile: str = "host", **options: Any) -> set[str]:
    options = {"precision": "f32", **options}
    header = sc.emit(sc.compile(model), "c", "m", profile=profile, X=X, **options)["m.h"]
    return {one.removeprefix("m_") for one in FUNCTION.findall(str(header)) if one.startswith("m_")}


@pytest.mark.parametrize("profile", ["host", "portable"])
def test_functions_depend_on_the_kind_of_model_alone(profile: str) -> None:
    zeros = np.where(np.random.default_rng(0).random((150, 40)) < 0.05, 1.0, 0.0)
    classifier = ALWAYS | of("decision_function")
    for model in (SVC().fit(X, Y), SVC(gamma=1.0).fit(zeros, Y), LinearSVC().fit(X, Y > 0)):
        assert declared(model, profile) == classifier
    assert declared(SVC(probability=True).fit(X, Y), profile) == classifier | of("predict_proba")
    assert declared(OneClassSVM().fit(X), profile) == classifier | of("score_samples")
    assert declared(SVR().fit(X, Y), profile) == ALWAYS - {"label_name"}
    assert declared(SVC().fit(X, Y), "portable", precision="q15") >= classifier


def test_parts_are_added_and_left_out_by_name() -> None:
    model = SVC().fit(X, Y)
    host, device = declared(model), declared(model, "device")
    assert device == {one for one in host if not one.endswith(("_sparse", "_sparse_batch"))} - {"get"}
    assert declared(model, api="no-sparse") == device | {"get"}
    assert declared(model, "device", api=["model"]) == device | {"get"}
    assert set(sc.emit(sc.compile(model), "c", "m", api="cpp")) >= {"m.h", "m.hpp"}
    with pytest.raises(
        OptionError, match=r"unknown part of the C interface 'spars' \(did you mean 'sparse'\?\)"
    ):
        declared(model, api="no-spars")
    with pytest.raises(OptionError, match="which devices lack"):
        declared(model, "device", api="sparse")
    with pytest.raises(OptionError, match="add --target c"):
        sc.emit(sc.compile(model), "onnx", api="cpp")
    wide = sc.compile(SVC(kernel="linear").fit(np.eye(3, 300_000), [0, 1, 2]))
    with pytest.raises(EmitError, match="--api no-sparse"):
        sc.emit(wide, "c", tables="dense")


@pytest.mark.parametrize("profile", ["host", "portable"])
def test_code_without_parts_has_no_warnings(profile: str, tmp_path: Path) -> None:
    zeros = np.where(np.random.default_rng(0).random((150, 40)) < 0.05, 1.0, 0.0)
    program = sc.compile(SVC(gamma=1.0).fit(zeros, Y))
    for part in ("sparse", "model"):
        for tables in ("dense", "sparse"):
            files = sc.emit(program, "c", "m", profile=profile, tables=tables, api=f"no-{part}")
            sc.write({name: files[name] for name in ("m.c", "m.h")}, tmp_path)
            compile_c(
                next(iter(compilers().values())),
                tmp_path,
                "-Wall",
                "-Wextra",
                "-Werror",
                "-c",
                "m.c",
                "-o",
                "m.o",
            )


DRIVER = """
#include <stdio.h>
#include "m.h"
int main(void)
{
    const size_t starts[] = {0, 3, 3, 5};
    const int32_t indices[] = {3, 0, 99, -1, 1}; /* two are out of range */
    const double values[] = {1.8, 5.9, 7.0, 8.0, 3.0}, x[3][4] = {{5.9, 0, 0, 1.8}, {0}, {0, 3.0}};
    int32_t labels[3], same[3];
    double scores[3 * M_N_SCORES], one[M_N_SCORES];
    m_predict_batch(x[0], 3, same);
    m_predict_sparse_batch(starts, indices, values, 3, labels);
    m_decision_function_sparse_batch(starts, indices, values, 3, scores);
    m_get()->predict_sparse(starts, indices, values, 3, same);
    m_decision_function_sparse(indices, values, 3, one);
    for (int i = 0; i < 3; i++)
        if (labels[i] != same[i] || labels[i] != m_predict(x[i]) || one[i] != scores[i])
            return i + 1;
    m_decision_function(x[2], one);
    for (int k = 0; k < M_N_SCORES; k++)
        if (one[k] - scores[2 * M_N_SCORES + k] > 1e-12 || one[k] - scores[2 * M_N_SCORES + k] < -1e-12)
            return 4;
    return m_predict_sparse(indices, values, 3) != labels[0];
}
"""


@pytest.mark.parametrize("profile", ["host", "portable"])
def test_sparse_rows_of_models_without_zeros(profile: str, tmp_path: Path) -> None:
    files = sc.emit(sc.compile(SVC().fit(X, Y)), "c", "m", "f64", profile)
    (tmp_path / "main.c").write_text(DRIVER)
    sc.write({name: files[name] for name in ("m.c", "m.h")}, tmp_path)
    flags = [flag for flag in SANITIZE if profile != "host" or flag != "-std=c99"]
    compile_c(sanitizing_compiler(), tmp_path, *flags, "main.c", "m.c", "-o", "main")
    assert subprocess.run([tmp_path / "main"]).returncode == 0
    sc.write(files, tmp_path / "out")
    fast = sc.load(tmp_path / "out")
    np.testing.assert_array_equal(fast.decision_function(csr_matrix(X)), fast.decision_function(X))


def test_a_service_loads_any_model(tmp_path: Path) -> None:
    """One binary, built without any model: float and double, labels of text, values, whole numbers."""
    header = render("kits/cmake/include/svmcompile_model.h.j2", {"compiler": "1"})
    (tmp_path / "svmcompile_model.h").write_text(header)
    warnings = ("-std=c99", "-D_DEFAULT_SOURCE", "-Wall", "-Wextra", "-Werror")
    compile_c(
        ("cc",), tmp_path, *warnings, str(ROOT / "examples/any_model.c"), "-I.", "-ldl", "-o", "service"
    )
    models: list[tuple[Any, dict[str, Any]]] = [
        (SVC().fit(X, NAMES[Y]), {}), (SVR().fit(X, Y), {"precision": "f64"}),
        (OneClassSVM().fit(X), {"precision": "q15"}), (LinearSVC().fit(X, Y), {"profile": "portable"}),
    ]  # fmt: skip
    rows = X[::50].astype(np.float32)
    for number, (model, options) in enumerate(models):
        folder = tmp_path / str(number)
        sc.write(sc.emit(sc.compile(model), "shared", "m", X=X, **options), folder)
        library = next(path for path in folder.iterdir() if path.suffix in (".so", ".dylib"))
        text = "\n".join(" ".join(map(str, row)) for row in rows)
        done = subprocess.run([tmp_path / "service", library], input=text, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        head, *answers = done.stdout.splitlines()
        assert head.startswith("m 1.0.0: exact, EXACT, 4 features") or options == {"precision": "q15"}
        fast = sc.load(folder)
        for answer, told in zip(answers, fast.predict(rows), strict=True):
            if isinstance(model, SVR):
                assert answer == f"value {told:g}"
            else:
                assert answer.split()[:2] == ["label", str(told)] and len(answer.split()) > 2


def test_versions_exports_and_two_models_in_one_file(tmp_path: Path) -> None:
    program = sc.compile(SVC().fit(X, Y))
    for name in ("m", "n"):
        header = str(sc.emit(program, "c", name)[f"{name}.h"])
        (tmp_path / f"{name}.h").write_text(header)
        assert f'#define {name.upper()}_ABI_VERSION 1\n#define {name.upper()}_VERSION "1.0.0"\n' in header
    assert header.count("\nN_EXPORT ") == len(FUNCTION.findall(header))  # and labels, but no typedef
    (tmp_path / "two.c").write_text(
        '#include "m.h"\n#include "n.h"\nconst svm_model *(*one)(void) = m_get;\n'
    )
    compile_c(next(iter(compilers().values())), tmp_path, "-Werror", "-fsyntax-only", "two.c")


CPP = """
#include <array>
#include <cstdio>
#include <vector>
#include "iris.hpp"
#include "value.hpp"

int main()
{
    const std::array<float, iris::n_features> flower{5.9f, 3.0f, 5.1f, 1.8f};
    const float two[] = {5.9f, 3.0f, 5.1f, 1.8f, 5.1f, 3.5f, 1.4f, 0.2f};
    std::vector<float> scores(2 * iris::n_scores);
    std::int32_t found[2];
    const std::size_t starts[] = {0, 4, 4};
    const std::int32_t indices[] = {0, 1, 2, 3};
    const iris::sparse_rows sparse{starts, indices, flower};
    if (iris::label_name(iris::predict(flower)) != "virginica" || iris::predict(two) != -1)
        return 1;
    if (!iris::predict(two, found) || found[0] != 2 || found[1] || !iris::decision_function(two, scores))
        return 2;
    if (iris::decision_function(flower, scores) || iris::predict({two, 3}, found))
        return 3; /* sizes that do not fit */
    if (!iris::predict(sparse, found) || found[0] != 2 || iris::predict(sparse, {found, 1}))
        return 4;
    if (value::predict({two, 3}) == value::predict({two, 3}) || !(value::predict(flower) > 1.0f))
        return 5; /* NaN is not itself */
    return iris_self_test();
}
"""


def test_the_header_for_cpp(tmp_path: Path) -> None:
    if not cxx_compilers():
        pytest.skip("no C++ compiler is installed")
    for name, model in {"iris": SVC().fit(X, NAMES[Y]), "value": SVR().fit(X, Y)}.items():
        files = sc.emit(sc.compile(model), "c", name, profile="portable", api="cpp")
        sc.write(
            {file: text for file, text in files.items() if file.endswith((".c", ".h", ".hpp"))}, tmp_path
        )
        compile_c(next(iter(compilers().values())), tmp_path, "-c", f"{name}.c", "-o", f"{name}.o")
    (tmp_path / "main.cpp").write_text(CPP)
    flags = (
        "-std=c++17",
        "-fno-exceptions",
        "-fno-rtti",
        "-Wall",
        "-Wextra",
        "-Wpedantic",
        "-Wconversion",
        "-Werror",
    )
    for command in cxx_compilers().values():
        compile_c(command, tmp_path, *flags, "main.cpp", "iris.o", "value.o", "-o", "main")
        assert subprocess.run([tmp_path / "main"]).returncode == 0


def test_every_part_is_documented() -> None:
    page = (ROOT / "docs/c.md").read_text()
    assert all(f"`{part}`" in page for part in PARTS)


def test_every_table_says_what_it_holds() -> None:
    """Fields that are tables have a meaning, and files tell it with the shape."""
    found = {
        one.name for node in _nodes(Node) for one in fields(node) if one.type in ("Table", "IndexTable")
    }
    assert found == set(MEANINGS), "say in table_comments.py what the numbers are"
    text = str(sc.emit(sc.compile(SVC().fit(X, Y)), "c", "m", profile="portable")["m.c"])
    assert re.search(r"support vectors, or the vectors in their place, \d+ x 4 \*/", text)


def _nodes(kind: type) -> list[Any]:
    return [
        node for one in kind.__subclasses__() for node in ([one] if is_dataclass(one) else []) + _nodes(one)
    ]
