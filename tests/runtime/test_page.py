"""The page of target wasm in a real browser: what it shows is what the interpreter says."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from chromium import Browser, find_browser
from load_cases import regressor, written
from programs.categories import ENCODERS, frame, labels
from sklearn.datasets import load_digits, load_iris
from sklearn.linear_model import Ridge
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

import svmcompile as sc
from svmcompile.data.rows import side_by_side
from svmcompile.ir.bounds import error_bounds

pytestmark = [
    pytest.mark.compile,
    pytest.mark.skipif(find_browser() is None, reason="no Chromium is installed to open the page with"),
]
HOSTILE = (
    "</script><script>document.title='broken'</script>",
    "<img src=x onerror=\"document.title='broken'\">",
    "'\"`${document.title='broken'}\u2028\\",
)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    found = find_browser()
    assert found
    browser = Browser(found, tmp_path_factory.mktemp("browser"))
    yield browser
    browser.close()


def page_of(model: Any, folder: Path, X: Any = None, precision: str = "f32") -> tuple[Path, sc.Program]:
    program = sc.compile(model)
    sc.write(sc.emit(program, "wasm", "model", precision, X=X), folder)
    return folder / "model.html", program


def values(browser: Browser, place: str) -> Any:
    found = browser.ask(f"[...document.querySelectorAll('#{place} .number')].map((e) => e.dataset.value)")
    return np.array(found, dtype=np.float64)


def test_typed_rows(browser: Browser, tmp_path: Path) -> None:
    iris = load_iris(as_frame=True)
    model = SVC(probability=True, random_state=0).fit(iris.data, iris.target_names[iris.target])
    page, program = page_of(model, tmp_path, iris.data)
    rows = iris.data.to_numpy().astype(np.float32).astype(np.float64)[::40]
    bounds = error_bounds(program, rows, "f32")
    for index, row in enumerate(rows):
        browser.open(page, "#row=" + ",".join(map(str, row)))
        assert browser.ask("document.getElementById('label').textContent") == program.predict([row])[0]
        assert (
            np.abs(values(browser, "scores") - program.decision_function([row])[0]) <= bounds.scores[index]
        ).all()
        apart = np.abs(values(browser, "chances") - program.predict_proba([row])[0])
        assert (apart <= bounds.probabilities[index]).all()
    assert browser.ask("document.querySelector('#grid span').textContent") == "sepal length (cm)"
    assert "Self-test passed." in browser.ask("document.querySelector('footer').textContent")
    setting = (
        "f = document.querySelector('#grid input'); f.value = '{}'; f.dispatchEvent(new Event('input'))"
    )
    browser.ask(setting.format("99"))
    assert float(values(browser, "scores")[0]) != program.decision_function([rows[-1]])[0][0]
    browser.ask(setting.format(""))
    assert (
        browser.ask("document.getElementById('problem').textContent")
        == "sepal length (cm) is not a number."
    )


def test_several_values(browser: Browser, tmp_path: Path) -> None:
    X, row = load_iris().data, load_iris().data[70]
    model = Ridge().fit(X, X[:, :3] ** 2)
    page, _ = page_of(model, tmp_path, X, "f64")
    browser.open(page, "#row=" + ",".join(map(str, row)))
    shown = browser.ask("document.getElementById('label').dataset.value").split(",")
    np.testing.assert_allclose([float(one) for one in shown], model.predict([row])[0])


def test_sliders_and_per_cent(browser: Browser, tmp_path: Path) -> None:
    iris = load_iris(as_frame=True)
    model = SVC(probability=True, random_state=0).fit(iris.data, iris.target)
    page, _ = page_of(model, tmp_path, iris.data)
    browser.open(page)
    sliders = "[...document.querySelectorAll('#grid input[type=range]')]"
    ranges = browser.ask(f"{sliders}.map((one) => [Number(one.min), Number(one.max)])")
    assert np.allclose(ranges, iris.data.agg(["min", "max"]).to_numpy().T)
    before = values(browser, "scores")
    browser.ask(f"s = {sliders}[2]; s.value = s.min; s.dispatchEvent(new Event('input'))")
    assert browser.ask("document.querySelectorAll('#grid input[type=number]')[2].value") == "1"
    assert (values(browser, "scores") != before).any()
    shares = browser.ask("[...document.querySelectorAll('#chances .number')].map((e) => e.textContent)")
    found = [float(share.removesuffix("\u00a0%")) for share in shares]
    assert np.allclose(found, 100 * values(browser, "chances"), atol=0.051)
    browser.ask("document.querySelectorAll('#examples button')[0].click()")
    assert browser.ask("document.querySelector('#examples span').textContent") == "stored row 8 of 8"


@pytest.mark.filterwarnings("ignore")
def test_columns_of_text_are_chosen(browser: Browser, tmp_path: Path) -> None:
    rows = frame(300, missing=0.1)
    rows["colour"] = np.where(rows["size"] > 0, HOSTILE[0], rows["colour"])
    model = make_pipeline(ENCODERS["flags"], SVC()).fit(rows, labels(rows))
    page, program = page_of(model, tmp_path)
    lists = "[...document.querySelectorAll('#grid select')]"
    setting = "{0}[{1}].value = '{2}'; {0}[{1}].dispatchEvent(new Event('input'))"
    browser.open(page, "#row=0,0,0,0,0,0")
    names = browser.ask(f"{lists}.map((one) => [...one.options].map((option) => option.textContent))")
    known = [list(column.names) for column in program.categories.texts]
    assert [one[: len(own)] for one, own in zip(names, known, strict=True)] == known
    assert all(
        one[len(own) :] == ["(missing)", "(another)"] for one, own in zip(names[1:], known[1:], strict=True)
    )
    for place, code in ((0, 3), (1, 2), (1, -2), (2, -1)):
        row = np.zeros(6)
        row[program.categories.texts[place].feature] = code
        browser.open(page, "#row=0,0,0,0,0,0")
        browser.ask(setting.format(lists, place, code))
        assert values(browser, "scores")[0] == pytest.approx(program.decision_function([row])[0], abs=1e-4)
    browser.open(page, "#row=0,0,1,0,0,0")
    assert browser.ask(f"{lists}[1].selectedOptions[0].textContent") == known[1][1]
    assert browser.ask("document.title") != "broken"


def test_a_drawn_digit(browser: Browser, tmp_path: Path) -> None:
    X, y = load_digits(return_X_y=True)
    page, program = page_of(SVC(gamma=0.001, C=10).fit(X, y), tmp_path, X)
    browser.open(page)
    ring = [(0.5 + 0.24 * math.cos(t / 3), 0.5 + 0.38 * math.sin(t / 3)) for t in range(20)]
    bar = [(0.5, 0.1 + 0.08 * t) for t in range(11)]
    for drawing, digit in ((ring, "0"), (bar, "1")):
        browser.ask("document.getElementById('clear').click()")
        left, top, size = browser.ask(
            "r = document.getElementById('pad').getBoundingClientRect(); [r.left, r.top, r.width]"
        )
        browser.drag([(left + x * size, top + y * size) for x, y in drawing])
        browser.wait(f"document.getElementById('label').textContent === '{digit}'")
        row = browser.ask("Array.from(row)")  # the page's own variable
        assert min(row) == 0 and 8 <= max(row) <= 16, "ink has the range of the data"
        bounds = error_bounds(program, np.array([row]), "f32")
        assert (
            np.abs(values(browser, "scores") - program.decision_function([row])[0]) <= bounds.scores[0]
        ).all()


def test_a_hostile_label_stays_text(browser: Browser, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    X, y = load_iris(return_X_y=True)
    frame = pandas.DataFrame(X[:, :3], columns=list(HOSTILE))
    page, program = page_of(SVC().fit(frame, np.array(HOSTILE)[y]), tmp_path)
    for row in X[::50, :3]:
        browser.open(page, "#row=" + ",".join(map(str, row)))
        assert browser.ask("document.getElementById('label').textContent") == program.predict([row])[0]
        assert browser.ask("document.title") == "model"
        assert browser.ask("document.querySelectorAll('img, script').length") == 3
    assert browser.ask("document.querySelector('#grid span').textContent") == HOSTILE[0]


def test_many_features_and_a_regressor(browser: Browser, tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    X = generator.normal(size=(40, 300))
    page, program = page_of(SVC().fit(X, X[:, 0] > 0), tmp_path / "many", precision="f64")
    browser.open(page, "#row=" + ",".join(map(str, X[0])))
    assert browser.ask("document.getElementById('label').textContent") == str(program.predict(X[:1])[0])
    fill = "m = document.getElementById('many'); m.value = '1 2 three'; m.dispatchEvent(new Event('input'))"
    browser.ask(fill)
    assert browser.ask("document.getElementById('problem').textContent") == "Expected 300 numbers, found 2."
    folder = written(regressor(), tmp_path / "value", "wasm")
    browser.open(folder / "model.html", "#row=1,2,3,4")
    shown = float(browser.ask("document.getElementById('label').dataset.value"))
    assert shown == sc.load(folder).predict([[1, 2, 3, 4]])[0]


def test_several_labels(browser: Browser, tmp_path: Path) -> None:
    iris = load_iris(as_frame=True)
    tags = np.stack([iris.target > 0, iris.data.iloc[:, 0] > 6], axis=1).astype(int)
    names = np.stack([np.array([*HOSTILE])[iris.target], np.where(tags[:, 1], "long", "short")], axis=1)
    machine = SVC(probability=True, random_state=0)
    for model, Y in ((OneVsRestClassifier(machine), tags), (MultiOutputClassifier(machine), names)):
        page, program = page_of(model.fit(iris.data, Y), tmp_path, iris.data)
        for row in iris.data.to_numpy()[[0, 60, 140]]:
            browser.open(page, "#row=" + ",".join(map(str, row)))
            wanted = ", ".join(map(str, program.predict([row])[0]))
            assert browser.ask("document.getElementById('label').textContent") == wanted
            chances = side_by_side(program.predict_proba([row]))[0]
            np.testing.assert_allclose(values(browser, "chances"), chances, atol=1e-5)
            if model.__class__ is OneVsRestClassifier:
                found = program.decision_function([row])[0]
                np.testing.assert_allclose(values(browser, "scores"), found, atol=1e-4)
        who = browser.ask("[...document.querySelectorAll('#chances .who')].map((e) => e.textContent)")
        assert who[-1] == ("label 1" if Y is tags else "label 1: short")
        assert browser.ask("document.title") != "broken"
