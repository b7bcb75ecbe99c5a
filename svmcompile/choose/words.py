"""words: what was chosen in a sentence a person can act on, and what else could be had."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from svmcompile.choose.decide import LABEL_LIMITS, Decision, Record, binding, decide
from svmcompile.choose.wishes import Limits, Wishes

LATE = "there was no time left to build it"
LIMIT_WORDS = {
    "same_labels": "every label kept",
    "agreement": "agreement",
    "accuracy_loss": "loss of accuracy",
    "latency_us": "time of one row",
    "batch_latency_us": "time in batches",
    "max_bytes": "bytes of tables",
    "flash": "flash",
    "ram": "memory and stack",
}


def sentence(record: Record, decision: Decision, wishes: Wishes) -> str:
    """What to take, its figures, and the next best thing for each limit that was binding."""
    winner = decision.winner
    assert winner
    told = [f"Take {name(winner)}: {', '.join(figures(winner, record, wishes, decision.tests))}."]
    records, rows = record["candidates"], record["rows"]["report"]
    for limit, other in binding(records, wishes, rows).items():
        agreement = percent(other["agreement"]["report"]["share"])
        if limit in LABEL_LIMITS:
            told.append(f"Fewer labels kept? {capital(name(other))}: {brief(other, wishes)}, {agreement}.")
        else:
            told.append(
                f"Without the limit on {LIMIT_WORDS[limit]}: {name(other)}, {brief(other, wishes)}."
            )
    kept = cheapest_proven(records, wishes, rows)
    if kept is not None and not winner["proven"]:
        told.append(f"Every label kept? {capital(name(kept))}: {brief(kept, wishes)}.")
    return " ".join(told)


def cheapest_proven(records: Sequence[Record], wishes: Wishes, rows: int) -> Record | None:
    """The best of those that change no label, whatever the other limits."""
    return decide(records, replace(wishes, limits=Limits(same_labels=True)), rows).winner


def capital(text: str) -> str:
    """With a capital letter, as at the start of a sentence."""
    return text[:1].upper() + text[1:]


def name(one: Record) -> str:
    """A candidate as a sentence names it."""
    title = str(one["title"]).replace(one["method"] + ", ", one["method"] + " with ", 1)
    return (
        title
        if one["precision"] == "f32" or one["precision"] in title
        else f"{title} in {one['precision']}"
    )


def figures(one: Record, record: Record, wishes: Wishes, tests: int) -> list[str]:
    """All that matters of the winner."""
    words = [brief(one, wishes, room=True)]
    report = one["agreement"]["report"]
    what = "the value of your SVM" if record["models"][0]["is_regressor"] else "the label of your SVM"
    if one["proven"]:
        words.append(
            f"every label of your SVM by proof (and on all {report['rows']:,} unseen rows)"
            if report["same"] == report["rows"]
            else f"{what} by proof"
        )
    else:
        low = report["low"][tests - 1] if wishes.limits.on_labels else report["low"][-1]
        words.append(
            f"{what} on {percent(report['share'])} of {report['rows']:,} unseen rows "
            f"(at least {percent(low, down=True)}, {wishes.confidence:.0%} confidence)"
        )
    if one["accuracy"]:
        words.append(
            f"accuracy {percent(one['accuracy']['share'])} (SVM {percent(record['models'][0]['accuracy'])})"
        )
    return words


def brief(one: Record, wishes: Wishes, room: bool = False) -> str:
    """Size and time, with the room there is for it if asked."""
    figures, device, words = one["figures"], wishes.device, []
    if device:
        limit = f" of {size(wishes.limits.flash)}" if wishes.limits.flash and room else ""
        words.append(f"{size(figures['flash_bytes'])}{limit} flash")
        if figures.get("time_us") is not None and wishes.clock_mhz:
            words.append(f"{duration(figures['time_us'])} at {wishes.clock_mhz:g} MHz")
        else:
            words.append(f"{figures['instructions']:,.0f} instructions")
        if figures.get("energy_nj") is not None:
            words.append(f"{figures['energy_nj']:,.3g} nJ")
        return ", ".join(words)
    if figures.get("time_us") is not None:
        words.append(
            f"{duration(figures['time_us'])} a row ({duration(figures['batch_time_us'])} in batches)"
        )
    words.append(f"{size(figures['table_bytes'])} of tables")
    return ", ".join(words)


def no_winner(record: Record, wishes: Wishes, near: Sequence[Record]) -> str:
    """Which limit could not be met, and what came nearest."""
    measured = [one for one in record["candidates"] if one["state"] == "measured"]
    if not measured:
        reasons = [one["reason"] for one in record["candidates"] if one["reason"]]
        return f"no candidate could be built: {reasons[0] if reasons else 'none applies to this model'}"
    hard = [limit for limit in wishes.limits.given() if not met_alone(record, wishes, limit)]
    which = " and ".join(LIMIT_WORDS[limit] for limit in hard)
    start = f"no candidate meets the limit on {which}" if hard else "no candidate meets all limits together"
    told = "; ".join(
        f"{name(one)} ({brief(one, wishes)}, {percent(one['agreement']['report']['share'])} the same)"
        for one in near
    )
    late = sum(one["reason"] == LATE for one in record["candidates"])
    more = f"; {late} more were not built in time, a longer --budget tries them" if late else ""
    return f"{start}; nearest: {told}{more}"


def met_alone(record: Record, wishes: Wishes, limit: str) -> bool:
    """Whether some candidate meets one limit by itself."""
    alone = Limits(**{limit: getattr(wishes.limits, limit)})
    found = decide(record["candidates"], replace(wishes, limits=alone), record["rows"]["report"])
    return found.winner is not None


def percent(share: float | None, down: bool = False) -> str:
    """A share for a person; a bound from below is rounded down, and only all of it is 100 %."""
    if share is None:
        return "unknown"
    value = 100 * share
    digits = 1 if value < 99 else 2
    shown = math.floor(value * 10**digits) / 10**digits if down else round(value, digits)
    return "100 %" if value >= 100 else f"{min(shown, 99.99):.{digits}f} %"


def size(count: float) -> str:
    """Bytes for a person, in the units that limits have."""
    for unit, scale in (("MB", 1024**2), ("KB", 1024)):
        if count >= scale:
            return f"{count / scale:.1f} {unit}"
    return f"{count:.0f} B"


def duration(microseconds: float) -> str:
    """A time for a person."""
    if microseconds < 1:
        return f"{1000 * microseconds:.3g} ns"
    return f"{microseconds:.3g} us" if microseconds < 1000 else f"{microseconds / 1000:.3g} ms"
