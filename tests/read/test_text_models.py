"""Vectorizers of scikit-learn: what is read of them counts as they do; what cannot be is refused."""

from __future__ import annotations

import numpy as np
import pytest
import skops.io
from hypothesis import given, settings
from hypothesis import strategies as st
from programs.texts import ANY_TEXT, KINDS, LABELS, TEXTS
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import (
    CountVectorizer,
    HashingVectorizer,
    TfidfTransformer,
    TfidfVectorizer,
)
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

import svmcompile as sc
from svmcompile.errors import OptionError, ReadError, UnsupportedError
from svmcompile.ir.bounds import error_bounds
from svmcompile.read.sklearn.fitted import Fitted
from svmcompile.read.sklearn.text import VECTORIZERS
from svmcompile.verification.texts import bounded

pytestmark = pytest.mark.filterwarnings("ignore")


def counts_of(vectorizer):
    """What is read of a vectorizer that was fitted."""
    name = type(vectorizer).__name__
    return VECTORIZERS[name](Fitted(vectorizer, name, "a test"))


@pytest.mark.parametrize("name", KINDS)
def test_texts_are_counted_as_scikit_learn_counts_them(name):
    vectorizer = KINDS[name].fit(TEXTS)
    front = counts_of(vectorizer)

    @settings(max_examples=80, deadline=None)
    @given(st.lists(ANY_TEXT, min_size=1, max_size=4))
    def check(texts):
        found = front.run(front.text.rows(texts))
        np.testing.assert_allclose(found, vectorizer.transform(texts).toarray(), rtol=1e-12, atol=1e-14)

    check()


PIPELINES = {
    "tfidf": (TfidfVectorizer(), LinearSVC()),
    "counted": (
        CountVectorizer(ngram_range=(1, 2)),
        TfidfTransformer(sublinear_tf=True),
        SVC(kernel="linear"),
    ),
    "hashed": (HashingVectorizer(n_features=256), SGDClassifier(random_state=0)),
    "selected": (TfidfVectorizer(), SelectKBest(k=5), StandardScaler(with_mean=False), LinearSVC()),
    "united": (
        make_union(TfidfVectorizer(), CountVectorizer(analyzer="char", ngram_range=(2, 3))),
        LinearSVC(),
    ),
    "rbf": (TfidfVectorizer(), SVC()),
    "calibrated": (TfidfVectorizer(), CalibratedClassifierCV(LinearSVC(), cv=2)),
}


@pytest.mark.parametrize("name", PIPELINES)
def test_pipelines_from_objects_and_files(name, tmp_path):
    model = make_pipeline(*PIPELINES[name]).fit(TEXTS, LABELS)
    skops.io.dump(model, tmp_path / "a.skops")
    texts = [*TEXTS, "", "nothing known", "fox fox dog ςσΣ"]
    for source in (model, tmp_path / "a.skops"):
        program = sc.compile(source)
        assert list(program.predict(texts)) == list(model.predict(texts))
        if hasattr(model, "decision_function"):
            np.testing.assert_allclose(
                program.decision_function(texts), model.decision_function(texts), atol=1e-12
            )
        program.save(tmp_path / "a.svmc")
        again = sc.Program.load(tmp_path / "a.svmc")
        assert again == program and list(again.predict(np.array(texts))) == list(model.predict(texts))
        assert (program.counts(texts) != again.counts(texts)).nnz == 0


REFUSED = {
    "analyzer": CountVectorizer(analyzer=str.split),
    "tokenizer": CountVectorizer(tokenizer=str.split),
    "preprocessor": TfidfVectorizer(preprocessor=str.strip),
    "strip_accents": TfidfVectorizer(strip_accents="unicode"),
    "token_pattern": CountVectorizer(token_pattern=r"[a-z]+"),
    "dtype": TfidfVectorizer(dtype=np.float32),
    "3 to 99 tokens": CountVectorizer(analyzer="char", ngram_range=(3, 99)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_compiled_is_refused_by_name(name):
    model = make_pipeline(REFUSED[name], LinearSVC()).fit(TEXTS, LABELS)
    with pytest.raises(UnsupportedError, match=name):
        sc.compile(model)


def test_text_beside_numbers_is_refused():
    columns = ColumnTransformer([("text", CountVectorizer(), 0)])
    rows = np.array([[text, "x"] for text in TEXTS], dtype=object)
    with pytest.raises(UnsupportedError, match="column of text"):
        sc.compile(make_pipeline(columns, LinearSVC()).fit(rows, LABELS))


def test_machines_with_vectorizers_of_their_own_are_refused():
    texts = [f"{text} word{at}" for at, text in enumerate(TEXTS)]
    model = CalibratedClassifierCV(make_pipeline(TfidfVectorizer(), LinearSVC()), cv=2).fit(texts, LABELS)
    with pytest.raises((ReadError, UnsupportedError), match="vectorizers of their own"):
        sc.compile(model)


@pytest.mark.parametrize(
    "damage",
    [
        {"vocabulary_": {"a": 0, "b": 2}},
        {"vocabulary_": {"a": "x"}},
        {"vocabulary_": {1: 0}},
        {"vocabulary_": {}},
        {"vocabulary_": {"\ud800": 0}},
        {"ngram_range": (2, 1)},
        {"ngram_range": 3},
        {"stop_words": 7},
        {"stop_words": [1]},
        {"lowercase": "yes"},
        {"_tfidf": None},
    ],
)
def test_damaged_vectorizers_are_refused(damage):
    model = make_pipeline(TfidfVectorizer(), LinearSVC()).fit(TEXTS, LABELS)
    vars(model[0]).update(damage)
    with pytest.raises((ReadError, UnsupportedError)):
        sc.compile(model)


def test_input_that_is_no_text_is_refused():
    program = sc.compile(make_pipeline(TfidfVectorizer(), LinearSVC()).fit(TEXTS, LABELS))
    for data, says in (
        ("one text", "got one"),
        (["a", None], "text 1 is NoneType"),
        (["\ud800"], "Unicode"),
    ):
        with pytest.raises(OptionError, match=says):
            program.predict(data)
    with pytest.raises(OptionError, match="takes numbers"):
        sc.compile(SVC().fit(np.eye(4), range(4))).counts(["a"])


BOUNDED = {
    "affine": (make_pipeline(TfidfVectorizer(sublinear_tf=True), LinearSVC()), 1.0),
    "products": (make_pipeline(TfidfVectorizer(), SVC(kernel="poly", degree=2)), 1.0),
    "distances": (make_pipeline(TfidfVectorizer(), SVC()), None),
    "moved": (make_pipeline(TfidfVectorizer(), SelectKBest(k=5), LinearSVC()), None),
}


@pytest.mark.parametrize("name", BOUNDED)
def test_bounds_of_texts_are_those_of_their_counts(name):
    """Features that no text has add nothing, so bounds may leave them out, and then are no larger."""
    model, share = BOUNDED[name]
    program = sc.compile(model.fit(TEXTS, LABELS))
    rows = np.array([*TEXTS[:70], "", "never seen"], dtype=object)
    wanted = error_bounds(program, program.input.text.rows(rows), "f32")
    found = bounded(rows, lambda x, *told: error_bounds(told[0], x, told[1]), program, "f32")
    assert (found.unstable == wanted.unstable).all()
    if share is None:
        np.testing.assert_array_equal(found.scores, wanted.scores)
    else:
        assert (found.scores <= wanted.scores).all() and (found.scores > 0.2 * wanted.scores).all()
