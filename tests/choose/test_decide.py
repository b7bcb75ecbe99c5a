"""The rule of choice on records made up for it."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from svmcompile.choose.decide import binding, decide, mark_dominated, nearest
from svmcompile.choose.search import Search
from svmcompile.choose.statistics import TESTS, expected, loss_bound
from svmcompile.choose.wishes import Limits, Wishes
from svmcompile.choose.words import LATE, no_winner, percent, sentence, size
from svmcompile.statistics import lower_bound, upper_bound

ROWS, CHOOSE = 2000, 1000


def record(
    number: int, *, time: float, wrong: int = 0, held: int = 0, size: int = 1000, **more: Any
) -> Any:
    """A candidate with so many wrong rows among the choosing and the reporting ones."""
    differ = expected(wrong, CHOOSE, ROWS)
    levels = [0.05 / k for k in range(1, TESTS + 1)]
    return {
        "number": number, "method": "made-up", "title": f"made-up {number}", "precision": "f32",
        "state": "measured", "reason": "", "proven": False, "dominated": False, "claim": "APPROXIMATE",
        "agreement": {
            "choose": {"rows": CHOOSE, "same": CHOOSE - wrong},
            "report": {
                "rows": ROWS, "same": ROWS - held, "share": 1 - held / ROWS,
                "low": [lower_bound(ROWS - held, ROWS, level) for level in levels],
                "high": upper_bound(ROWS - held, ROWS, 0.05),
            },
            "expected_low": [lower_bound(ROWS - differ, ROWS, level) for level in levels],
        },
        "accuracy": {
            "share": 0.9, "loss": held / ROWS,
            "loss_high": [loss_bound(held, 0, ROWS, level) for level in levels],
            "expected_loss_high": [loss_bound(differ, 0, ROWS, level) for level in levels],
        },
        "figures": {"time_us": time, "batch_time_us": time, "table_bytes": size, "mean_flops": time},
        **more,
    }  # fmt: skip


def wishes(**limits: Any) -> Wishes:
    return Wishes(limits=Limits(**limits))


def winner(records: list[Any], asked: Wishes) -> int | None:
    found = decide(records, asked, ROWS).winner
    return found and found["number"]


EXACT = record(1, time=10.0, size=9000, proven=True)
CLOSE = record(2, time=2.0, wrong=1, held=2)
ROUGH = record(3, time=1.0, wrong=50, held=100)
ALL = [EXACT, CLOSE, ROUGH]


def test_without_limits_labels_come_first() -> None:
    assert winner(ALL, wishes()) == 1
    assert winner([CLOSE, ROUGH], wishes()) == 2


def test_the_fastest_within_the_agreement() -> None:
    assert winner(ALL, wishes(agreement=0.99)) == 2
    assert winner(ALL, wishes(agreement=0.9)) == 3
    assert winner(ALL, wishes(agreement=0.9995)) == 1
    assert winner(ALL, wishes(same_labels=True)) == 1


def test_costs_within_five_percent_are_equal_and_the_smaller_wins() -> None:
    small = record(4, time=1.04, wrong=50, held=100, size=500)
    assert winner([*ALL, small], wishes(agreement=0.9)) == 4
    assert (
        winner([*ALL, small | {"figures": {**small["figures"], "time_us": 1.06}}], wishes(agreement=0.9))
        == 3
    )


def test_reporting_rows_have_the_last_word() -> None:
    """What did well where it was chosen and badly where nothing was chosen is not taken."""
    lucky = record(5, time=0.1, wrong=0, held=100)
    decision = decide([*ALL, lucky], wishes(agreement=0.99), ROWS)
    assert decision.winner is CLOSE
    assert [one["number"] for one in decision.tested] == [5]
    many = [record(10 + n, time=0.1 + 0.01 * n, wrong=0, held=100) for n in range(9)]
    assert winner([*ALL, *many], wishes(agreement=0.99)) == 1, "after three failures only proof counts"


def test_limits_on_figures() -> None:
    assert winner(ALL, wishes(latency_us=5.0)) == 2
    assert winner(ALL, wishes(max_bytes=500)) is None
    assert winner(ALL, wishes(agreement=0.99, latency_us=1.5)) is None
    assert winner(ALL, wishes(flash=10**9)) is None, "a figure that is not known meets no limit"
    assert winner(ALL, wishes(accuracy_loss=0.01)) == 2
    assert winner([one | {"accuracy": None} for one in ALL], wishes(accuracy_loss=0.01)) == 1


def test_refused_and_skipped_never_win() -> None:
    gone = record(6, time=0.01) | {"state": "refused", "reason": "no", "agreement": None, "figures": {}}
    assert winner([gone, *ALL], wishes(agreement=0.99)) == 2
    assert winner([gone], wishes()) is None


def test_order_of_records_does_not_matter() -> None:
    generator = np.random.default_rng(0)
    for _ in range(50):
        records = [
            record(
                number, time=float(generator.uniform(0.1, 3)), wrong=int(generator.integers(0, 20)),
                held=int(generator.integers(0, 40)), size=int(generator.integers(1, 9)),
                proven=bool(generator.random() < 0.2),
            )
            for number in range(1, 13)
        ]  # fmt: skip
        asked = wishes(agreement=0.985)
        assert winner(records, asked) == winner(records[::-1], asked)


def test_binding_limits_name_the_next_best() -> None:
    found = binding(ALL, wishes(agreement=0.99, latency_us=3.0), ROWS)
    assert found["agreement"] is ROUGH
    assert binding(ALL, wishes(same_labels=True), ROWS)["same_labels"] is CLOSE
    tight = wishes(latency_us=1.5)
    assert binding(ALL, tight, ROWS)["latency_us"] is EXACT


def about(records: list[Any], asked: Wishes) -> Any:
    return {
        "candidates": records,
        "rows": {"report": ROWS},
        "models": [{"accuracy": 0.91, "is_regressor": False}],
    }


def test_the_sentence_tells_figures_bounds_and_what_else() -> None:
    asked = wishes(agreement=0.99)
    text = sentence(about(ALL, asked), decide(ALL, asked, ROWS), asked)
    assert text.startswith("Take made-up 2: 2 us a row")
    assert "99.90 % of 2,000 unseen rows (at least 99." in text
    assert "accuracy 90.0 % (SVM 91.0 %)" in text
    assert "Fewer labels kept? Made-up 3: 1 us" in text
    assert "Every label kept? Made-up 1: 10 us" in text


def test_what_cannot_be_met_is_named_with_what_came_nearest() -> None:
    asked = wishes(agreement=0.99, max_bytes=10)
    text = no_winner(about(ALL, asked), asked, nearest(ALL, asked))
    assert "bytes of tables" in text and "agreement" not in text.partition(";")[0]
    asked = wishes(agreement=0.99, latency_us=1.5)
    text = no_winner(about(ALL, asked), asked, nearest(ALL, asked))
    assert text.startswith("no candidate meets all limits together; nearest: made-up 2")
    assert "--budget" not in text
    late = record(8, time=1.0) | {"state": "skipped", "reason": LATE}
    text = no_winner(about([*ALL, late], asked), asked, nearest(ALL, asked))
    assert text.endswith("; 1 more were not built in time, a longer --budget tries them")


def test_dominated() -> None:
    worse = record(7, time=3.0, wrong=60, held=100, size=2000)
    records = [dict(one) for one in (*ALL, worse)]
    mark_dominated(records, wishes())
    assert [one["number"] for one in records if one["dominated"]] == [7]


@pytest.mark.parametrize(
    ("share", "down", "text"),
    [(1.0, False, "100 %"), (0.99999, False, "99.99 %"), (0.98765, True, "98.7 %"), (0.5, False, "50.0 %")],
)
def test_only_all_of_it_is_a_hundred_percent(share: float, down: bool, text: str) -> None:
    assert percent(share, down) == text


def test_minimise_bytes() -> None:
    small = record(8, time=9.0, wrong=1, held=2, size=10)
    assert winner([*ALL, small], replace(wishes(agreement=0.99), minimise="bytes")) == 8


def test_sizes_count_as_limits_do() -> None:
    """`--max-bytes 20K` is 20,480 bytes."""
    assert [size(count) for count in (1000, 20480, 3 << 20)] == ["1000 B", "20.0 KB", "3.0 MB"]


def test_a_search_says_what_it_does() -> None:
    """Between two candidates nothing is tried."""
    best, trying = SimpleNamespace(best=lambda: {"title": "exact"}), [(SimpleNamespace(title="linear"),)]
    assert Search._now(best, []) == "best so far: exact"  # type: ignore[arg-type]
    assert Search._now(best, trying) == "trying linear; best so far: exact"  # type: ignore[arg-type]
