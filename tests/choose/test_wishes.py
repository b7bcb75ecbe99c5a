"""Wishes as users write them; what contradicts itself is refused by name."""

from __future__ import annotations

from typing import Any

import pytest

from svmcompile.choose.wishes import read_wishes
from svmcompile.errors import OptionError


def test_units() -> None:
    wishes = read_wishes({"latency": "2us", "batch_latency": "0.5 us", "max_bytes": "20K", "budget": "2m"})
    assert wishes.limits.latency_us == pytest.approx(2)
    assert wishes.limits.batch_latency_us == pytest.approx(0.5)
    assert wishes.limits.max_bytes == 20 * 1024
    assert wishes.budget_seconds == 120
    assert read_wishes({"latency": 3}).limits.latency_us == pytest.approx(3)
    assert read_wishes({"budget": 30}).budget_seconds == 30
    device = read_wishes({"cpu": "cortex-m4f", "clock": "48MHz", "latency": "1ms", "flash": "64K"})
    assert device.clock_mhz == 48
    assert device.cost_name == "instructions"
    assert device.size_name == "flash_bytes"


def test_defaults_keep_labels_and_take_the_fastest() -> None:
    wishes = read_wishes({})
    assert not wishes.limits.given()
    assert (wishes.minimise, wishes.cost_name, wishes.needs_times) == ("time", "time_us", True)
    assert not read_wishes({"minimise": "bytes"}).needs_times


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"agreement": 99.5}, "write 0.995"),
        ({"agreement": 1.0}, "--same-labels"),
        ({"agreement": "many"}, "not a number"),
        ({"agreement": float("nan")}, "finite"),
        ({"accuracy_loss": -0.1}, "--accuracy-loss"),
        ({"latency": "2 parsecs"}, "one of the units"),
        ({"latency": "-2us"}, "--latency"),
        ({"budget": "0s"}, "--budget"),
        ({"max_bytes": "huge"}, "--max-bytes"),
        ({"minimise": "beauty"}, "known: time"),
        ({"minimise": "instructions"}, "needs --cpu"),
        ({"minimise": "energy", "cpu": "cortex-m0"}, "--energy-per-instruction"),
        ({"flash": "32K"}, "need"),
        ({"clock": "48MHz"}, "need"),
        ({"cpu": "pentium"}, "unknown CPU"),
        ({"cpu": "cortex-m0", "latency": "1ms"}, "--clock"),
        ({"cpu": "cortex-m0", "batch_latency": "1ms"}, "batches"),
        ({"cpu": "cortex-m0", "flash": "1K", "max_bytes": "2K"}, "--max-bytes allows more"),
        ({"same_labels": True, "agreement": 0.99}, "leave one of them out"),
        ({"same_labels": True, "accuracy_loss": 0.01}, "--accuracy-loss"),
        ({"same_labels": "yes"}, "True or False"),
        ({"targets": "wasm"}, "cannot be measured"),
        ({"precision": "f8"}, "unknown precision"),
        ({"methods": "exact,magic"}, "unknown method 'magic'"),
        ({"speed": 1}, "no option 'speed'"),
        ({"seed": -1}, "--seed"),
        ({"confidence": 2}, "--confidence"),
    ],
)
def test_refusals(given: dict[str, Any], words: str) -> None:
    with pytest.raises(OptionError) as error:
        read_wishes(given)
    assert words in str(error.value)
