"""Every table of the papers, beside the published figures: `python examples/papers`.

    python examples/papers --list                 papers, tables, sets they need, what is measured
    python examples/papers --quick                small tables on bundled and generated sets
    python examples/papers --paper sv-tree        one paper
    python examples/papers --paper dtsvm table-13 some of its tables
    python examples/papers --print                the page of what is measured, without measuring

Set SVMCOMPILE_DATA to a folder of data sets; `--sets` says which are needed, where they come from and how
to place them. Finished cells are kept in out/papers/cells: a run that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from cells import Cell, Store
from common import OUTPUT
from page import Grid, Paper, Read, Table, section
from sets import describe, present

KEYS = ("sv-tree", "anytime", "metric-tree", "dtsvm", "h1-tree", "beyond")
PAGE = Path(__file__).parents[2] / "docs" / "papers.md"
QUICK = "On bundled and generated sets"


def main(words: Sequence[str] | None = None) -> None:
    given = _parser().parse_args(words)
    papers = load_papers(given.paper or KEYS)
    unknown = set(given.tables) - {table.key for paper in papers for table in paper.tables}
    if unknown:
        raise SystemExit(f"no table {sorted(unknown)[0]!r}; --list shows those there are")
    store = Store(OUTPUT / "cells", given.fresh)
    if given.sets or given.list:
        print("\n".join(set_lines(papers) if given.sets else list_lines(papers, store)))
        return
    if not given.print:
        for paper in papers:
            run(paper, pick(paper, given.tables, given.quick), store)
    lines = quick_lines(papers, store) if given.quick else page_lines(papers, store)
    if given.output or not (given.quick or given.paper):
        (given.output or PAGE).write_text("\n".join(lines).rstrip() + "\n")
    else:
        print("\n".join(lines).rstrip())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "python examples/papers", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tables", nargs="*", metavar="TABLE", help="only these tables (see --list)")
    parser.add_argument("--paper", action="append", choices=KEYS, help="only this paper; may be repeated")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK.lower()}, in a minute")
    parser.add_argument("--list", action="store_true", help="list papers and tables, and measure nothing")
    parser.add_argument("--sets", action="store_true", help="list the data sets and where they come from")
    parser.add_argument("--print", action="store_true", help="show what is measured, and measure nothing")
    parser.add_argument("--fresh", action="store_true", help="measure finished cells anew")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="write the page here")
    return parser


def load_papers(keys: Sequence[str]) -> list[Paper]:
    return [importlib.import_module(f"pages.{key.replace('-', '_')}").PAPER for key in keys]


def pick(paper: Paper, keys: Sequence[str], quick: bool) -> list[Table | Grid]:
    tables = paper.quick if quick else paper.tables
    return [table for table in tables if not keys or table.key in keys]


def run(paper: Paper, tables: Sequence[Table | Grid], store: Store) -> None:
    """Measure what is not measured yet and whose sets are there; say what was left out."""
    cells = {cell.key: cell for table in tables for cell in table.cells}
    waiting = [cell for cell in cells.values() if store.fresh or store.read(paper.key, cell) is None]
    ready = [cell for cell in waiting if all(map(present, cell.needs))]
    absent = sorted({name for cell in waiting for name in cell.needs if not present(name)})
    if absent:
        print(f"{paper.key}: needs {', '.join(absent)}; `--sets` says how to get them", file=sys.stderr)
    begin = time.monotonic()
    for at, cell in enumerate(ready):
        left = (time.monotonic() - begin) / at * (len(ready) - at) if at else 0.0
        rest = f", about {left / 60:.0f} min left" if left > 60 else ""
        print(f"{paper.key}: {cell.key} ({at + 1} of {len(ready)}{rest})", file=sys.stderr, flush=True)
        store.measure(paper.key, cell)


def reader(paper: Paper, store: Store) -> Read:
    def read(cell: Cell) -> dict[str, float] | None:
        return store.read(paper.key, cell)

    return read


def page_lines(papers: Sequence[Paper], store: Store) -> Iterator[str]:
    yield "# The papers' tables, beside ours"
    yield ""
    yield (
        "`SVMCOMPILE_DATA=FOLDER python examples/papers` measures all of it and writes this page "
        "(`--list` shows the tables, `--sets` the data sets and where they come from). *As published* is "
        "the paper's own method, *by default* what you get without options. A figure of several splits has "
        "its standard deviation behind it. *Why* is said where we differ from the paper by more than that."
    )
    yield ""
    for paper in papers:
        yield f"- [{paper.title}](#{_anchor(paper.title)})"
    yield ""
    for paper in papers:
        yield from paper_lines(paper, store)
    yield from quick_lines(papers, store)


def paper_lines(paper: Paper, store: Store) -> Iterator[str]:
    read = reader(paper, store)
    yield from (f"## {paper.title}", "")
    if paper.about:
        yield from (paper.about, "")
    for table in paper.tables:
        yield from section(table, read)
    if paper.missing:
        yield from ("Sets that cannot be had:", "")
        yield from (f"- {name}: {why}" for name, why in paper.missing.items())
        yield ""


def quick_lines(papers: Sequence[Paper], store: Store) -> Iterator[str]:
    yield from (f"## {QUICK}", "")
    yield from ("`python examples/papers --quick` prints these; they need no data folder.", "")
    for paper in papers:
        for table in paper.quick:
            yield from section(table, reader(paper, store))


def list_lines(papers: Sequence[Paper], store: Store) -> Iterator[str]:
    for paper in papers:
        yield f"{paper.key}: {paper.title}"
        read = reader(paper, store)
        for table in (*paper.tables, *paper.quick):
            done = sum(read(cell) is not None for cell in table.cells)
            took = f" in {store.seconds(paper.key, table.cells):.0f} s" if done else ""
            state = f"{done} of {len(table.cells)} cells measured{took}"
            needs = sorted({name for cell in table.cells for name in cell.needs}) or ["nothing"]
            yield f"  {table.key}: {table.title} ({state}; needs {', '.join(needs)})"


def set_lines(papers: Sequence[Paper]) -> Iterator[str]:
    cells = [cell for paper in papers for table in paper.tables for cell in table.cells]
    yield from describe(sorted({name for cell in cells for name in cell.needs}))


def _anchor(title: str) -> str:
    kept = "".join(letter for letter in title.lower() if letter.isalnum() or letter in " -_")
    return kept.replace(" ", "-")


if __name__ == "__main__":
    main()
