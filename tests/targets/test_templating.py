"""Templates are found beside the package, and a package without them says so."""

from __future__ import annotations

from pathlib import Path

import pytest
from jinja2 import UndefinedError

import svmcompile
from svmcompile.errors import EmitError
from svmcompile.targets import templating


def test_found_in_the_checkout_or_the_package() -> None:
    package = Path(svmcompile.__file__).parent
    assert templating.template_folder() in (package / "templates", package.parent / "templates")
    assert (templating.template_folder() / "c" / "model.h.j2").is_file()


def test_the_package_s_own_come_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(templating, "__file__", str(tmp_path / "svmcompile" / "targets" / "templating.py"))
    for folder in (tmp_path / "templates", tmp_path / "svmcompile" / "templates"):
        (folder / "c").mkdir(parents=True)
        (folder / "c" / "model.c.j2").write_text("")
        assert templating.template_folder() == folder.resolve()


def test_missing_templates_are_an_emit_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(templating, "__file__", str(tmp_path / "svmcompile" / "targets" / "templating.py"))
    with pytest.raises(EmitError, match="templates are missing; reinstall"):
        templating.template_folder()


def test_a_name_the_context_lacks_is_an_error() -> None:
    with pytest.raises(UndefinedError):
        templating.render("c/model.h.j2", {})
