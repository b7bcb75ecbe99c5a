"""Mutants of the templates of C: one operator, number or line of one template changed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from svmcompile.targets.templating import template_folder

# What a pattern may become. Patterns are searched in C, outside of comments and of tags of Jinja.
CHANGES: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"(?<![<>=!-])<(?![<=])", ("<=", ">")),
    (r"(?<![<>=!-])>(?![>=])", (">=", "<")),
    (r"<=(?!=)", ("<",)),
    (r">=(?!=)", (">",)),
    (r"==", ("!=",)),
    (r"!=", ("==",)),
    (r"&&", ("||",)),
    (r"\|\|", ("&&",)),
    (r" \+ ", (" - ",)),
    (r" - ", (" + ",)),
    (r" \* ", (" / ",)),
    (r" / ", (" * ",)),
    (r"\+=", ("-=", "=")),
    (r"-=", ("+=",)),
    (r"\*=", ("/=",)),
    (r"\+\+", ("--",)),
    (r" \? ([^:?]+?) : ([^:;]+);", (r" ? \2 : \1;",)),
    (r"(?<![\w.{\"%-])(\d+)(?![\w.}\"])", ("+1",)),
)
HIDDEN = re.compile(r"\{#.*?#\}|\{%.*?%\}|/\*.*?\*/|\"(?:[^\"\\]|\\.)*\"", re.DOTALL)
STATEMENT = re.compile(
    r"^\s+(?!\s|(const|static|return|typedef|break|continue|union|size_t|int|\{\{ real \}\}) )[^#].*;\s*$"
)


CONDITION = re.compile(r"^\{\{ \"yes\" if .*\}\}$", re.MULTILINE)  # what a macro says, or nothing


@dataclass(frozen=True, order=True)
class Mutant:
    """One line of one template, and what it becomes."""

    template: str
    line: int  # from 0
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.template}:{self.line + 1}: {self.old.strip()}  ->  {self.new.strip() or 'nothing'}"

    @property
    def macro(self) -> str:
        """The macro that the line is in; empty outside of macros."""
        before = "".join(read(self.template).splitlines(keepends=True)[: self.line])
        begun = re.findall(r"\{%-? macro (\w+)|\{%-? (endmacro)", before)
        return begun[-1][0] if begun else ""

    def source(self) -> str:
        """The text of the template with its line changed."""
        lines = read(self.template).splitlines(keepends=True)
        lines[self.line] = self.new
        return "".join(lines)


def templates() -> list[str]:
    folder = template_folder()
    paths = (path.relative_to(folder).as_posix() for path in (folder / "c").rglob("*.j2"))
    return sorted(path for path in paths if not path.endswith(".hpp.j2"))  # C++ has tests of its own


@cache
def read(template: str) -> str:
    return (template_folder() / template).read_text(encoding="utf-8")


def mutants(template: str) -> Iterator[Mutant]:
    """All mutants of a template."""
    text = read(template)
    plain = HIDDEN.sub(lambda found: re.sub(r"[^\n]", "\0", found[0]), text)
    lines, seen = text.splitlines(keepends=True), plain.splitlines(keepends=True)
    for at, (line, shown) in enumerate(zip(lines, seen, strict=True)):
        if shown.lstrip().startswith("#"):  # of the preprocessor: which compiler, not what is computed
            continue
        for pattern, others in CHANGES:
            for found in re.finditer(pattern, shown):
                for other in others:
                    new = str(int(found[1]) + 1) if other == "+1" else found.expand(other)
                    if "\0" not in new:
                        yield Mutant(template, at, line, line[: found.start()] + new + line[found.end() :])
        if STATEMENT.match(shown) and shown.count("(") == shown.count(")"):
            yield Mutant(template, at, line, "    ;\n")


def marked(template: str) -> str:
    """The template with a mark on every line of C, to see which programs a line goes into."""
    text = read(template)
    plain = HIDDEN.sub(lambda found: re.sub(r"[^\n]", "\0", found[0]), text)
    pairs = zip(text.splitlines(), plain.splitlines(), strict=True)
    return "".join(
        f"{line}\n" if not shown.strip("\0 ") or CONDITION.match(line) else f"{line} @{template}:{at}@\n"
        for at, (line, shown) in enumerate(pairs)
    )
