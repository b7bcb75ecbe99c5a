"""C that templates write, as tokens that a reader takes one by one."""

from __future__ import annotations

import re
from dataclasses import dataclass

TOKEN = re.compile(
    r"(?P<skip>\s+|/\*.*?\*/|(?<=\n)[ \t]*#(?:[^\n\\]|\\.|\\\n)*)|(?P<text>\"(?:[^\"\\]|\\.)*\"|'[^']*')"
    r"|(?P<number>\.?\d(?:[eEpP][+-]|[\w.])*)|(?P<name>[A-Za-z_]\w*)"
    r"|(?P<mark><<=|>>=|->|\+\+|--|<<|>>|[<>=!+\-*/%&|^]=|&&|\|\||.)",
    re.DOTALL,
)
TYPES = re.compile(
    r"(?:u?int\d+_t|size_t|int|char|float|double|void|const|static|unsigned|signed|long|short|\w+_FLASH)$"
)


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of text that is not space, comment or preprocessor line."""

    kind: str
    text: str
    start: int
    end: int


class NotUnderstood(Exception):
    """The text is not the C that templates write."""


@dataclass
class Tokens:
    """Some C and the place that is read."""

    source: str
    types: frozenset[str]  # names of types that this file declares
    at: int = 0

    def __post_init__(self) -> None:
        found = [one for one in TOKEN.finditer(self.source) if one.lastgroup != "skip"]
        self.tokens = [Token(one.lastgroup or "", one[0], one.start(), one.end()) for one in found]

    @property
    def now(self) -> str:
        return self.tokens[self.at].text if self.at < len(self.tokens) else ""

    def take(self, *wanted: str) -> int:
        """The place of the next token, one of those wanted."""
        if self.at >= len(self.tokens) or (wanted and self.now not in wanted):
            raise NotUnderstood(self.now)
        self.at += 1
        return self.at - 1

    def skip_group(self) -> None:
        """All up to the bracket that closes the one here."""
        depth = 0
        while True:
            text = self.tokens[self.take()].text
            depth += (text in "([{") - (text in ")]}")
            if not depth:
                return

    def is_type(self, at: int) -> bool:
        one = self.tokens[at] if at < len(self.tokens) else Token("", "", 0, 0)
        return one.kind == "name" and (one.text in self.types or TYPES.match(one.text) is not None)
