"""A few mutants of `make mutants`: wrong code is killed, and the templates are as before."""

from __future__ import annotations

import re
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from programs.taylor_votes import vote_of
from sklearn.svm import SVC
from targets.bounded_cases import voting_machine
from targets.c_cases import normal_rows, program_of

import svmcompile as sc
from tests.crossing.driven import write_driver
from tests.mutants import kept
from tests.mutants.doubtful import doubtful
from tests.mutants.equivalent import reason
from tests.mutants.interface import interface_driver
from tests.mutants.jobs import DOUBT, Job, instead, job, users
from tests.mutants.mutation import Mutant, mutants, read, templates
from tests.mutants.run import fate
from tests.mutants.small import certain_planes, crossed_programs, text_programs
from tests.mutants.unusual import constant_kernel
from tests.mutants.worded import write_word_driver


@pytest.fixture(scope="module")
def small() -> Job:
    return job("rbf_two", program_of("rbf_two"), normal_rows(60, "f64"), "portable")


def mutant_of(template: str, old: str, new: str, job: Job, used: bool) -> Mutant:
    lines = users([job])
    found = [one for one in mutants(template) if old in one.old and new in one.new]
    found = [one for one in found if ((template, one.line) in lines) is used]
    assert found, f"no mutant makes {old!r} into {new!r}"
    return found[0]


@pytest.mark.compile
@pytest.mark.parametrize(
    ("template", "old", "new", "what"),
    [
        (
            "c/functions.j2",
            "for (size_t i = 0; i < rows; i++)",
            "i <= rows",
            "killed",
        ),  # a sanitizer sees it
        ("c/math.j2", "p = p * f + {{ coefficient }};", "p = p * f - {{ coefficient }};", "killed"),
        ("c/row_sums.j2", "even += a[j] * b[j];", "even -= a[j] * b[j];", "unchanged"),  # of other profiles
        ("c/self_test.j2", "int failed = 0;", "int failed = 1;", "killed"),
    ],
)
def test_fates(small: Job, template: str, old: str, new: str, what: str) -> None:
    before = small.files()
    assert fate(mutant_of(template, old, new, small, what == "killed"), [small])[0] == what
    assert small.files() == before


@pytest.mark.compile
@pytest.mark.parametrize(("profile", "count"), [("portable", 6), ("host", 2)])
def test_code_holds_to_the_bounds_that_a_node_states(profile: str, count: int, tmp_path: Path) -> None:
    """Where bounds and exact answers differ, and the interpreter tells which of them decides."""
    svm, X = voting_machine("iris")
    known = job("vote", vote_of(svm, X, leaves=1, order=2, rank=2), X, profile)
    for one in islice(doubtful(known), count):
        one.check(one.files(), tmp_path, "best")
        assert one.expected.bounds.unstable.mean() < 0.2


@pytest.mark.compile
def test_a_bound_that_is_too_small_is_killed() -> None:
    """Answers are the same for all rows, but not where its bounds are wide."""
    program, rows = certain_planes()["certain plane 5"]
    one = job("plane", program, rows, "portable")
    wide = [*doubtful(one)]
    (mutant,) = (one for one in mutants("c/row_sums.j2") if '"length"' in one.old and "-=" in one.new)
    assert fate(mutant, [one])[0] in ("survived", "slower")
    what, where = fate(mutant, [one, *wide])
    assert what == "killed" and DOUBT in where


@pytest.mark.filterwarnings("ignore")
def test_programs_of_other_tests_are_made() -> None:
    """Whose makers may change: `make mutants` is run by hand."""
    for name, (program, rows) in (crossed_programs() | constant_kernel()).items():
        assert np.asarray(rows).shape[1] == program.n_features, name


def test_lines_are_traced_to_programs(small: Job) -> None:
    found = users([small])
    line = read("c/math.j2").splitlines().index("    p = {{ e.coefficients[-1] }};")
    assert found["c/math.j2", line] == [small]
    assert {template for template, _ in found} < set(templates())


def test_jobs_are_kept_until_code_changes(
    small: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []

    def make() -> list[Job]:
        made.append(small)
        return [small]

    monkeypatch.setattr(kept, "FOLDER", tmp_path)
    monkeypatch.setattr(kept, "makers", lambda _: [("one", make, ("tests/mutants/small.py",))])
    found = kept.Kept()
    users(found.jobs())
    found.save()
    again = kept.Kept().jobs()[0]
    assert again.files() == small.files() and again.lines == small.lines and len(made) == 1
    monkeypatch.setattr(kept, "digest", lambda _: "other")
    kept.Kept()
    assert len(made) == 2 and len([*tmp_path.iterdir()]) == 1


@pytest.mark.parametrize(
    ("old", "new", "is_same"),
    [
        ("double sums[2];", "double sums[3];", True),
        (
            "{{ real }} p{{ t }}[4] = { {{- n.zero -}} };",
            "{{ real }} p{{ t }}[5] = { {{- n.zero -}} };",
            True,
        ),
        ("double lanes[4] = {0}, total = 0;", "double lanes[5] = {0}, total = 0;", True),
        ("int32_t picks[{{ n.width + 16 }}];", "int32_t picks[{{ n.width + 17 }}];", True),
        ("int32_t picks[{{ n.width + 16 }}];", "int32_t picks[{{ n.width - 16 }}];", False),
        ("double lanes[4] = {0}, total = 0;", "double lanes[4] = {0}, total = 1;", False),
        ("const {{ real }} y[2] = {z[0], z[1]};", "const {{ real }} y[2] = {z[0], z[2]};", False),
        ("b = rival < own ? own : rival;", "b = rival <= own ? own : rival;", True),
        (
            "f({{ n.a }} < {{ b }} ? {{ n.a }} : {{ b }});",
            "f({{ n.a }} <= {{ b }} ? {{ n.a }} : {{ b }});",
            True,
        ),
        (
            "f({{ n.a }} < {{ b }} ? {{ n.a }} : {{ c }});",
            "f({{ n.a }} <= {{ b }} ? {{ n.a }} : {{ c }});",
            False,
        ),
        ("b = rival < own ? own : other;", "b = rival <= own ? own : other;", False),
        ("z = z > {{ n.limit }} ? {{ n.limit }} : z;", "z = z >= {{ n.limit }} ? {{ n.limit }} : z;", True),
        ("return f(t < 0 ? 0 : t);", "return f(t < 1 ? 0 : t);", True),
        ("votes[pairs[p] > 0 ? a : b]++;", "votes[pairs[p] >= 0 ? a : b]++;", False),
        ("(void)x;", ";", True),
    ],
)
def test_what_is_equivalent(old: str, new: str, is_same: bool) -> None:
    assert bool(reason(Mutant("c/portable/any.j2", 0, f"    {old}", f"    {new}"))) is is_same


def test_a_reason_holds_in_its_macro_alone() -> None:
    old, new = (f"    for (size_t i = {at}; i < count; i++) {{" for at in (0, 1))
    template, loop = "c/host/taylor_votes.j2", "for (size_t i = 0; i < count; i++) {"
    lines = [at for at, line in enumerate(read(template).splitlines()) if loop in line]
    found = {one.macro: reason(one) for one in (Mutant(template, at, old, new) for at in lines)}
    assert found["plain_parts"] and not found["second"] and len(found) == 2


def test_drivers_call_every_function_of_the_header(tmp_path: Path) -> None:
    """But typedefs, and functions that ask the caller's kernel, which those of rows call."""
    X = normal_rows(60, "f64")
    made = [job("two", program_of("rbf_two"), X, *how) for how in (("host",), ("device", "q15"))]
    words = [(program, texts) for program, texts in text_programs().values()][:1]
    made += [job("text", *words[0], "portable")]
    products = X @ X[:30].T
    asking = SVC(kernel="precomputed").fit(products[:30], X[:30, 0] > 0)
    made += [job("asking", sc.compile(asking), products, "portable")]
    never = set()
    for one in made:
        assert one.emitted.code
        code, header = one.emitted.code.program, one.emitted.c["model.h"]
        drivers = [interface_driver(code, header)] if "model_get(" in header else []
        write_driver(one.emitted.c, code, tmp_path)
        drivers.append((tmp_path / "driver.c").read_text())
        if code.input.text:
            write_word_driver(code, tmp_path)
            drivers.append((tmp_path / "driver.c").read_text())
        plain = re.sub(r"(?s)/\*.*?\*/|#define[^\n]*", "", header)
        declared = set(re.findall(r"\b(model_\w+)\(", plain))
        never |= {name for name in declared if not any(f"{name}(" in driver for driver in drivers)}
    assert never <= {"model_kernel", "model_predict_with", "model_decision_function_with"}


def test_mutants_change_code_alone() -> None:
    for one in mutants("c/portable/sums.j2"):
        assert one.old != one.new and not one.old.lstrip().startswith(("#", "{%", "{#", "/*"))
    with instead({"c/api.j2": "other"}):
        pass
    assert len({one for template in templates() for one in mutants(template)}) > 5000
