"""Generated C takes UTF-8: the same tokens, counts and scores as scikit-learn, for any string."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from programs.texts import ANY_TEXT, KINDS, LABELS, ODD, TEXTS
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.pipeline import make_pipeline, make_union
from sklearn.svm import SVC, SVR, LinearSVC
from targets.c_build import SANITIZE, WARNINGS, attempt, compile_c, sanitizing_compiler

import svmcompile as sc
from svmcompile.errors import EmitError, OptionError

pytestmark = [pytest.mark.compile, pytest.mark.filterwarnings("ignore")]
PROFILES = ("portable", "host", "device")


def fitted(vectorizer, machine=None):
    return make_pipeline(vectorizer, machine or LinearSVC()).fit(TEXTS, LABELS)


@pytest.mark.parametrize("name", KINDS)
def test_any_string_is_cut_as_python_cuts_it(name):
    """Scores in double: one term more or less would show."""
    model = fitted(KINDS[name])
    fast = sc.build(model, profile="portable", precision="f64")
    assert fast.self_test() == 0

    @settings(max_examples=60, deadline=None)
    @given(st.lists(ANY_TEXT, min_size=1, max_size=4))
    def check(texts):
        np.testing.assert_allclose(
            fast.decision_function(texts), model.decision_function(texts), rtol=1e-11, atol=1e-12
        )

    check()


def many_texts(count):
    rng = random.Random(0)
    words = [*" ".join(TEXTS).split(), "unknown", "x", ODD]
    pieces = [*words, *(word.upper() for word in words), *ODD, ", ", "  "]
    return [" ".join(rng.choices(pieces, k=rng.randrange(60))) for _ in range(count)]


@pytest.mark.parametrize(
    ("profile", "precision"), [("portable", "f32"), ("host", "f64"), ("device", "f32")]
)
def test_ten_thousand_texts(profile, precision):
    model = fitted(TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True))
    texts = many_texts(10_000)
    fast = sc.build(model, profile=profile, precision=precision)
    wanted = model.decision_function(texts)
    found = fast.decision_function(texts)
    error = np.abs(found - wanted).max()
    assert error < (2e-6 if precision == "f32" else 1e-13)
    top = np.sort(wanted, axis=1)
    sure = top[:, -1] - top[:, -2] > 2 * error
    assert (fast.predict(texts) == model.predict(texts))[sure].all()
    np.testing.assert_allclose(fast.decision_function(sc.compile(model).counts(texts[:50])), found[:50])


@pytest.mark.parametrize("target", ["onnx", "wasm"])
def test_other_targets_take_texts_in_python(target):
    if target == "wasm":
        pytest.importorskip("wasmtime")
        pytest.importorskip("ziglang")
    model, texts = fitted(TfidfVectorizer(ngram_range=(1, 2))), many_texts(500)
    fast = sc.build(model, target=target, precision="f64")
    np.testing.assert_allclose(fast.decision_function(texts), model.decision_function(texts), atol=1e-12)
    assert (fast.predict(texts) == model.predict(texts)).all()


MACHINES = {
    "rbf": SVC(decision_function_shape="ovo"),
    "pairs": SVC(kernel="linear", decision_function_shape="ovo"),
    "svr": SVR(),
    "united": None,
}


@pytest.mark.parametrize("profile", ["portable", "device"])
@pytest.mark.parametrize("name", MACHINES)
def test_machines_that_need_the_whole_row(name, profile):
    vectorizer = TfidfVectorizer()
    if name == "united":
        vectorizer = make_union(
            vectorizer, HashingVectorizer(n_features=40, analyzer="char", ngram_range=(2, 2))
        )
    model, texts = fitted(vectorizer, MACHINES[name]), many_texts(300)
    fast = sc.build(model, profile=profile, precision="f64")
    function = "predict" if name == "svr" else "decision_function"
    np.testing.assert_allclose(
        getattr(fast, function)(texts), getattr(model, function)(texts), rtol=1e-9, atol=1e-11
    )


def test_texts_with_more_terms_than_are_counted_at_once():
    words = [f"word{at}" for at in range(3000)]
    texts = [" ".join(words[at::7]) for at in range(7)] + [" ".join(words)]
    model = make_pipeline(TfidfVectorizer(ngram_range=(1, 2)), LinearSVC()).fit(texts, np.arange(8) % 2)
    backwards = [" ".join(reversed(words)), " ".join(random.Random(1).choices(words, k=5000))]
    for profile in PROFILES:
        fast = sc.build(model, profile=profile, precision="f64")
        np.testing.assert_allclose(
            fast.decision_function(texts + backwards),
            model.decision_function(texts + backwards),
            atol=1e-12,
        )


MAIN = r"""
#include <stdio.h>
#include "m.h"
int main(void)
{
    static const char *const texts[] = {TEXTS};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        double scores[M_N_SCORES];
        printf("%d", m_predict_text(texts[i]));
        m_decision_function_text(texts[i], scores);
        for (size_t k = 0; k < M_N_SCORES; k++)
            printf(" %a", (double)scores[k]);
        printf("\n");
    }
    return m_self_test();
}
"""


@pytest.mark.parametrize("profile", PROFILES)
def test_bytes_that_are_no_utf8_count_as_python_replaces_them(profile, tmp_path):
    """Compiled with every warning and with sanitizers, called from C."""
    pieces = [
        b"\xff",
        b"\xc3",
        b"\xe2\x82",
        b"\xf0\x9f\x98",
        b"\xed\xa0\x80",
        b"\xc0\xaf",
        b"\xf5a",
        b"\xe9 caf\xc3\xa9",
    ]
    contents = [b"the fox " + piece + b"dog" + piece for piece in pieces] + [b"", b"fox", b"\xe0\x80quick"]
    model = fitted(TfidfVectorizer(analyzer="char_wb", ngram_range=(1, 3)))
    files = sc.emit(sc.compile(model), "c", "m", "f64", profile)
    literals = ", ".join('"' + "".join(f"\\{byte:03o}" for byte in content) + '"' for content in contents)
    main = MAIN.replace("TEXTS", literals)
    for file in ("m.c", "m.h"):
        (tmp_path / file).write_text(files[file])
    (tmp_path / "main.c").write_text(main)
    compile_c(sanitizing_compiler(), tmp_path, *SANITIZE, *WARNINGS, "m.c", "main.c", "-o", "main")
    found = attempt(("./main",), tmp_path).stdout
    lines = [line.split() for line in found.splitlines()]
    texts = [content.decode("utf-8", "replace") for content in contents]
    scores = np.array([[float.fromhex(value) for value in line[1:]] for line in lines])
    np.testing.assert_allclose(scores, model.decision_function(texts), atol=1e-12)
    assert [int(line[0]) for line in lines] == list(model.predict(texts))


def test_what_text_does_not_go_with(monkeypatch):
    program = sc.compile(fitted(CountVectorizer()))
    with pytest.raises(OptionError, match="its examples have rows of numbers"):
        sc.emit(program, "c", kit="cmake")
    with pytest.raises((EmitError, OptionError), match="whole numbers"):
        sc.emit(program, "c", precision="q15", X=TEXTS, given="u8")
    with pytest.raises(OptionError, match="do not take models of text"):
        sc.compile(fitted(CountVectorizer()), method="auto", X=TEXTS)
    monkeypatch.setattr("svmcompile.targets.c.text.MOST_ROW", 64)
    with pytest.raises(EmitError, match="of the stack"):
        sc.emit(sc.compile(fitted(CountVectorizer(), SVC())), "c")


def test_whole_numbers_take_text():
    model = fitted(TfidfVectorizer())
    files = sc.emit(sc.compile(model), "c", "m", precision="q15", X=TEXTS)
    assert "m_predict_text(const char *utf8)" in files["m.h"]
