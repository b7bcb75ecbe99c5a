"""The whole peer comparison: trains, compiles and races seven models, then rewrites docs/measured.md.

    python examples/peers/peers.py               all models
    python examples/peers/peers.py digits a9a    some, without touching the page

Figures and charts go to out/peers/NAME/{bench.json, bench.svg}. Set
SVMCOMPILE_DATA to a folder of real data (see peer_data.py); without it,
generated data of the same shapes is used and the page is left alone.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from peer_checks import checks, checks_table
from peer_data import CASES, Case, data_folder, trained

import svmcompile as sc
from svmcompile.commands import bench
from svmcompile.commands.options import BenchOptions
from svmcompile.files import write_file
from svmcompile.flow.emission import PROFILES

OUTPUT = Path("out/peers")
PAGE = Path(__file__).resolve().parents[2] / "docs/measured.md"
BEGIN, END = "<!-- peers: begin -->", "<!-- peers: end -->"
PROFILE = "host" if "host" in PROFILES else "portable"

# Title of a column, and the peers whose fastest stands in it.
COLUMNS = {
    "scikit-learn": ("sklearn", "sklearn-csr"),
    "skl2onnx in ONNX Runtime": ("onnxruntime",),
    "our ONNX": ("ours-onnx",),
    "numpy float32": ("numpy",),
    "scikit-learn-intelex": ("intelex",),
    "LIBSVM": ("libsvm",),
    "m2cgen": ("m2cgen",),
}

TEXT = """\
`python examples/peers/peers.py` made this table: {precision}, {profile} profile, {machine}, one thread,
processor time, in turn. A pair is *one row per call / batches of 2000*; a peer's figures say how many
times as long it takes as our C called from the same language.
Called from C: {from_c}; from Python: the others.
LIBSVM makes its nodes from dense rows within its time; scikit-learn is the faster of dense and CSR rows;
skl2onnx's graph is cut down to labels; m2cgen is tried on small models only, intelex on two classes. The
last column is our C beside what one core can read from that cache, and its multiply-add peak
({peak:.0f} GF/s), measured in the same run; it passes 100% where zeros are skipped. Labels of ours that
differ from scikit-learn's: {wrong} of {rows:,}.
"""


def race(case: Case) -> dict[str, Any]:
    """Train (or take the kept model), compile, and time beside the peers."""
    folder = OUTPUT / case.name
    model, rows, _ = trained(case, folder)
    program = sc.compile(model, trust_pickle=True)
    sc.write(sc.emit(program, ("c", "onnx"), case.name, profile=PROFILE), folder)
    print(f"{case.name}: {program.origin.n_support_vectors:,} support vectors", file=sys.stderr)
    options = BenchOptions(folder=folder, data=rows, model=model, trust_pickle=True, output=folder)
    result = bench.run(options)
    return {**result, "checks": checks(model, rows, folder, PROFILE, result)}


def table(results: Mapping[str, dict[str, Any]]) -> str:
    """Markdown: our times, then how many times as long each peer takes, single / batch."""
    titles = ["model", "our C, us per row", *COLUMNS, "of bandwidth / of peak"]
    lines = [titles, ["---"] * len(titles)]
    for case in CASES:
        if case.name in results:
            lines.append(_line(case, results[case.name]))
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def _line(case: Case, result: dict[str, Any]) -> list[str]:
    ours = next(one for one in _of(result, "ours") if one["via"] == "C")
    classes = f", {result['n_classes']} classes" if result["n_classes"] > 2 else ""
    shape = f"{result['n_support_vectors']:,} SVs x {result['n_features']}{classes}"
    share, cache = result["share"], result["limits"]["table_in"]
    return [
        f"{case.name}: {shape}; {case.train_rows:,} training rows",
        f"{ours['us_single']:.3g} / {ours['us_batch']:.3g}",
        *(_ratios(result, peers) for peers in COLUMNS.values()),
        f"{share['bandwidth_single']:.0%} ({cache}) / {share['fma_peak_batch']:.0%}",
    ]


def _ratios(result: dict[str, Any], peers: tuple[str, ...]) -> str:
    """The fastest of the peers over ours; labels that differ are shown."""
    found = _of(result, *peers)
    if not found:
        return "-"
    single, batch = (min(one[key] for one in found) for key in ("ratio_single", "ratio_batch"))
    wrong = max(one["labels_differing"] for one in found)
    return f"{_short(single)} / {_short(batch)}" + (f" ({wrong} labels differ)" if wrong else "")


def _short(ratio: float) -> str:
    return f"{ratio:.2f}" if ratio < 1 else f"{ratio:.1f}" if ratio < 10 else f"{ratio:,.0f}"


def report(results: Mapping[str, dict[str, Any]]) -> str:
    """What stands between the page's markers."""
    some = next(iter(results.values()))
    ours = {name: _of(result, "ours") for name, result in results.items()}
    text = TEXT.format(
        precision=some["precision"],
        from_c=", ".join(title for title, peers in COLUMNS.items() if _called_from_c(results, peers)),
        profile=some["profile"],
        machine=some["machine"],
        peak=max(result["limits"]["peak_gflops"] for result in results.values()),
        wrong=sum(max(one["labels_differing"] for one in found) for found in ours.values()),
        rows=sum(result["rows"] for result in results.values()),
    )
    found = {name: result["checks"] for name, result in results.items()}
    return f"{text}\n{table(results)}\n\n{checks_table(found)}"


def _called_from_c(results: Mapping[str, dict[str, Any]], peers: tuple[str, ...]) -> bool:
    return all(one["via"] == "C" for result in results.values() for one in _of(result, *peers)) and any(
        _of(result, *peers) for result in results.values()
    )


def _of(result: dict[str, Any], *keys: str) -> list[dict[str, Any]]:
    return [one for one in result["contenders"] if one["key"] in keys]


def rewrite(text: str, content: str) -> str:
    """The page with new content between the markers."""
    head, begin, rest = text.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not (begin and end):
        raise SystemExit(f"{PAGE.name} has no {BEGIN} ... {END}")
    return f"{head}{BEGIN}\n{content}\n{END}{tail}"


def main(words: list[str]) -> None:
    """Race the models named, all by default."""
    if data_folder() is None:
        print("SVMCOMPILE_DATA is not set: generated data of the same shapes stands in", file=sys.stderr)
    results = {case.name: race(case) for case in CASES if not words or case.name in words}
    if not results:
        raise SystemExit(f"no such model; known: {', '.join(case.name for case in CASES)}")
    content = report(results)
    print(content)
    if data_folder() is not None and not words:
        write_file(PAGE, rewrite(PAGE.read_text(encoding="utf-8"), content))


if __name__ == "__main__":
    main(sys.argv[1:])
