"""What `sc.load` makes of output folders, whole and broken."""

from __future__ import annotations

from pathlib import Path

import pytest
from load_cases import classifier, regressor, sample, written
from programs.seals import unseal

import svmcompile as sc
from svmcompile.errors import OptionError, ReadError
from svmcompile.runtime.c import CModel
from svmcompile.runtime.onnx import OnnxModel


@pytest.mark.compile
def test_one_of_several_models(tmp_path: Path) -> None:
    written(classifier(), tmp_path, name="first")
    written(regressor(), tmp_path, name="second")
    with pytest.raises(OptionError, match=r"several models \(first, second\); name one"):
        sc.load(tmp_path)
    assert sc.load(tmp_path, name="first").labels is not None
    assert sc.load(tmp_path, name="second").labels is None
    with pytest.raises(ReadError, match="'third'"):
        sc.load(tmp_path, name="third")


def test_no_model(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="holds no model"):
        sc.load(tmp_path)
    with pytest.raises(ReadError, match="not a folder"):
        sc.load(tmp_path / "nowhere")
    (tmp_path / "iris").mkdir()
    (tmp_path / "iris/iris.svmc").touch()
    with pytest.raises(ReadError, match=r"holds no model .*; there are models in .*iris"):
        sc.load(tmp_path)


def test_onnx_only(tmp_path: Path) -> None:
    written(classifier(), tmp_path, "onnx")
    model = sc.load(tmp_path)
    assert isinstance(model, OnnxModel)
    assert (model.predict(sample()) == classifier().predict(sample())).all()
    with pytest.raises(ReadError, match="holds no c code"):
        sc.load(tmp_path, target="c")


@pytest.mark.compile
def test_c_comes_first_where_both_are(tmp_path: Path) -> None:
    written(classifier(), tmp_path, ("onnx", "c"))
    assert isinstance(sc.load(tmp_path), CModel)
    assert isinstance(sc.load(tmp_path, target="onnx"), OnnxModel)


def test_header_without_declarations(tmp_path: Path) -> None:
    written(classifier(), tmp_path)
    (unseal(tmp_path, "model") / "model.h").write_text("/* nothing */\n")
    with pytest.raises(ReadError, match=r"model\.h holds no svmcompile declarations"):
        sc.load(tmp_path)


def test_header_with_broken_declarations(tmp_path: Path) -> None:
    written(classifier(), tmp_path)
    path = unseal(tmp_path, "model") / "model.h"
    path.write_text(path.read_text().replace("enum {\n", "enum {{\n", 1))
    with pytest.raises(ReadError, match=r"model\.h"):
        sc.load(tmp_path)


@pytest.mark.compile
def test_header_of_another_model(tmp_path: Path) -> None:
    written(classifier(), tmp_path / "a")
    written(classifier(), tmp_path / "b", name="other")
    (unseal(tmp_path / "a", "model") / "model.h").write_text((tmp_path / "b" / "other.h").read_text())
    with pytest.raises(ReadError, match="declares no MODEL_N_FEATURES"):
        sc.load(tmp_path / "a")


@pytest.mark.compile
def test_program_of_another_model(tmp_path: Path) -> None:
    written(classifier(), tmp_path / "a")
    written(regressor(), tmp_path / "b")
    unseal(tmp_path / "a", "model")
    (tmp_path / "a" / "model.svmc").write_bytes((tmp_path / "b" / "model.svmc").read_bytes())
    with pytest.raises(ReadError, match="different models"):
        sc.load(tmp_path / "a")


def test_header_that_is_missing(tmp_path: Path) -> None:
    written(classifier(), tmp_path)
    (tmp_path / "model.h").unlink()
    with pytest.raises(ReadError, match=r"model\.h"):
        sc.load(tmp_path)


@pytest.mark.compile
def test_a_moved_folder_still_loads(tmp_path: Path) -> None:
    written(classifier(), tmp_path / "here")
    (tmp_path / "here").rename(tmp_path / "there, with spaces")
    assert sc.load(tmp_path / "there, with spaces").self_test() == 0
