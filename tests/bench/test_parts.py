"""The parts of the benchmark by themselves: files for rivals, numpy's form, timing, charts."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.svm import SVC, SVR, LinearSVC, NuSVC, OneClassSVM

import svmcompile as sc
from svmcompile.bench import gemm, libsvm
from svmcompile.bench.charts import LogScale, dot_chart, line_chart, short
from svmcompile.bench.peers import LeftOut, Subject
from svmcompile.bench.probe import Work, parse_limits
from svmcompile.bench.result import LocalRunner, Timed, Times, compare, differing, race
from svmcompile.read import read

X, y = load_iris(return_X_y=True)
MODELS = {
    "rbf, 3 classes": SVC(),
    "poly": SVC(kernel="poly", coef0=1),
    "sigmoid": SVC(kernel="sigmoid", gamma=0.01),
    "linear": SVC(kernel="linear"),
    "nu": NuSVC(nu=0.3),
    "one-vs-rest": LinearSVC(),
    "one class": OneClassSVM(nu=0.2),
    "two classes": SVC(),
    "regressor": SVR(C=10),
}


def fitted(name):
    if name == "regressor":
        rows, values = load_diabetes(return_X_y=True)
        return MODELS[name].fit(rows * 20, values), rows * 20
    part = y > 0 if name == "two classes" else np.ones(len(y), dtype=bool)
    return MODELS[name].fit(X[part], y[part]), X[part]


def subject_of(model, rows, folder):
    program = sc.compile(model)
    return Subject(program, read(model), model, "f64", rows, len(rows), len(rows), folder, folder)


@pytest.mark.parametrize("name", MODELS)
def test_numpy_form_agrees(name, tmp_path):
    model, rows = fitted(name)
    answers = gemm.start(subject_of(model, rows, tmp_path)).runner.answers()
    assert differing(model.predict(rows), answers, answers[:3], name == "regressor") == 0


@pytest.mark.parametrize("name", [name for name in MODELS if name != "one-vs-rest"])
def test_libsvm_file_means_the_same(name, tmp_path):
    """Read back by our own reader, whose meaning is tested against LIBSVM elsewhere."""
    model, rows = fitted(name)
    libsvm.write_model(read(model), tmp_path / "model")
    again = sc.compile(tmp_path / "model", n_features=rows.shape[1])
    answers = again.predict(rows)
    if name != "regressor":
        answers = sc.compile(model).labels.array()[answers.astype(int)]
    assert differing(model.predict(rows), answers, answers, name == "regressor") == 0


def test_libsvm_has_no_one_vs_rest(tmp_path):
    model, _ = fitted("one-vs-rest")
    with pytest.raises(LeftOut, match="one-vs-rest"):
        libsvm.write_model(read(model), tmp_path / "model")


class Clockwork:
    """A runner that says how long it takes, and keeps a diary."""

    def __init__(self, name, diary, seconds):
        self.name, self.diary, self.seconds = name, diary, iter(seconds)

    def single(self, rows):
        return rows * 1e-4

    def batch(self):
        self.diary.append(self.name)
        return next(self.seconds)


def test_contenders_take_turns_and_the_least_time_counts():
    diary: list[str] = []
    first = Clockwork("a", diary, [0.5, 0.5, 0.3, 0.4])
    second = Clockwork("b", diary, [0.1, 0.1, 0.1, 0.1])
    times = race([first, second], rows=100, batch=10, repeats=3)
    assert diary[2:] == ["a", "b", "a", "b", "a", "b"]
    assert [time.batch for time in times] == pytest.approx([0.03, 0.01])
    assert [time.single for time in times] == pytest.approx([1e-4, 1e-4])


def test_slow_contenders_leave_after_two_turns():
    diary: list[str] = []
    race([Clockwork("slow", diary, [9] * 3), Clockwork("quick", diary, [0.1] * 9)], 10, 10, repeats=5)
    assert diary[2:].count("slow") == 2 and diary[2:].count("quick") == 5


def test_local_runner_answers_every_row():
    runner = LocalRunner(lambda part: part[:, 0], np.arange(10.0).reshape(5, 2), batch=2)
    assert runner.answers().tolist() == [0, 2, 4, 6, 8]
    assert runner.single_answers(2).tolist() == [0, 2]
    assert runner.single(3) >= 0 and runner.batch() >= 0


def test_differences_are_counted_once_per_row():
    expected = np.array([0, 1, 1, 0])
    assert differing(expected, np.array([0, 1, 0, 0]), np.array([1, 1, 0])) == 2
    assert differing(expected, expected, expected[:2]) == 0
    assert differing(expected, np.array([0]), expected) == 4


def test_values_may_differ_by_rounding():
    expected = np.linspace(0, 100, 11)
    assert differing(expected, expected + 1e-4, expected, are_values=True) == 0
    assert differing(expected, np.append(expected[:10], 105), expected, are_values=True) == 1
    assert differing(expected, np.full(11, np.nan), expected, are_values=True) == 11


def test_ratios_are_within_a_language():
    timed = [
        Timed("ours", "ours", "1", "C", Times(1e-6, 5e-7), 0),
        Timed("ours", "ours", "1", "Python", Times(1e-5, 1e-6), 0),
        Timed("libsvm", "LIBSVM", "3", "C", Times(1e-5, 1e-5), 2),
        Timed("numpy", "numpy", "2", "Python", Times(2e-5, 5e-7), 0),
    ]
    ratios = {(one.key, one.via): (one.ratio_single, one.ratio_batch) for one in compare(timed)}
    assert ratios["libsvm", "C"] == pytest.approx((10, 20))
    assert ratios["numpy", "Python"] == pytest.approx((2, 0.5))


def test_limits_and_shares():
    limits = parse_limits(
        "fma 128 30\nfma 256 100\nread 256 50\ncache 1 1000\ncache 2 100000\ncache 3 0\n", 5000
    )
    assert (limits.peak_gflops, limits.level, limits.caches) == (100, "L2", {"L1": 1000, "L2": 100000})
    shares = Work(flops=50_000, table_bytes=5000).shares(Times(single=1e-6, batch=1e-6), limits)
    assert shares is not None
    assert shares["fma_peak_batch"] == pytest.approx(0.5)
    assert shares["bandwidth_single"] == pytest.approx(0.1)


def test_work_of_a_linear_model_has_no_share():
    program = sc.compile(SVC(kernel="linear").fit(X, y))
    assert Work.of(program, "f32").shares(Times(1, 1), parse_limits("fma 128 1\nread 128 1", 1)) is None


def shapes(text, name):
    return list(ET.fromstring(text).iter(f"{{http://www.w3.org/2000/svg}}{name}"))


def contender(name, ours=False, single=50.0, batch=20.0, agreement=1.0, size=1234):
    figures = {"us_single": single, "us_batch": batch, "agreement": agreement, "bytes": size}
    return {"key": name, "name": name, "via": "C", "ours": ours, **figures}


def test_dot_chart():
    """Dots on one axis, fastest first, with figures beside them: no bar that starts at no origin."""
    ours = contender("ours", ours=True, single=0.5, batch=0.2, size=None)
    text = dot_chart("a <title>", "small", [contender("<&> rival", agreement=0.9955), ours], 2000)
    dots = {kind: [one for one in shapes(text, "circle") if one.get("class") == kind] for kind in KINDS}
    assert [len(dots[kind]) for kind in KINDS] == [2, 2, 4]
    assert len(shapes(text, "rect")) == 1  # the paper
    for kind, values in (("single", (0.5, 50)), ("batch", (0.2, 20))):
        across = [float(dot.get("cx")) for dot in dots[kind]]
        expected = math.log10(values[1] / values[0])
        decade = _decade(text)
        assert (across[1] - across[0]) / decade == pytest.approx(expected, abs=1e-3)
    assert dots["batch"][0].get("fill") != dots["batch"][1].get("fill")  # ours, and who is not
    words = [shape.text for shape in shapes(text, "text")]
    assert words.index("ours") < words.index("<&> rival")
    assert {"0.500", "0.200", "100.00%", "50.0", "20.0", "99.55%", "1.2 KB"} <= set(words)
    assert {"svmcompile", "others", "in batches of 2,000", "one row per call"} <= set(words)
    assert {"one row", "batches", "µs", "same", "answers", "size"} <= set(words)
    assert words.count("a <title>") == 1 and any("µs per row" in word for word in words)


KINDS = ("single", "batch", "legend")


def _decade(text):
    """Pixels from 1 to 10 on the axis."""
    ticks = {shape.text: float(shape.get("x")) for shape in shapes(text, "text")}
    return ticks["10"] - ticks["1"]


def test_charts_turn_dark():
    """Every colour that is drawn has another where the reader's screen is dark."""
    dots = dot_chart("title", "small", [contender("ours", ours=True), contender("rival")], 10)
    lines = line_chart("title", "small", "x", "y", {str(i): [(1, i + 1), (2, 3)] for i in range(7)})
    for text in (dots, lines):
        (style,) = shapes(text, "style")
        used = {
            (what, one.get(what))
            for one in ET.fromstring(text).iter()
            for what in ("fill", "stroke")
            if one.get(what)
        }
        assert all(f'[{what}="{colour}"]' in style.text for what, colour in used - {("fill", "none")})


def test_line_chart():
    series = {"ours": [(100, 1), (1000, 10)], "rival": [(100, 2), (1000, 11)]}
    text = line_chart("title", "small", "vectors", "us", series)
    assert len([shape for shape in shapes(text, "path") if shape.get("class") == "series"]) == 2
    names = [shape for shape in shapes(text, "text") if shape.text in series]
    assert abs(float(names[0].get("y")) - float(names[1].get("y"))) >= 15  # names do not overlap


def test_log_scale():
    scale = LogScale([0.3, 40], 0, 300)
    assert scale.decades() == pytest.approx([0.1, 1, 10, 100])
    assert [scale(value) for value in (0.1, 1, 100)] == pytest.approx([0, 100, 300])
    assert math.isclose(LogScale([5, 5], 0, 10)(10), 10)


@pytest.mark.parametrize(
    ("value", "text"), [(1234.5, "1,234"), (12.34, "12.3"), (1.234, "1.23"), (0.1234, "0.123")]
)
def test_short_figures(value, text):
    assert short(value) == text
