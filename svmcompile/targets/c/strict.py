"""C as MISRA C:2012 wants it written: with all braces and parentheses, and `u` after unsigned constants.

Templates stay as people read and write them. Here the functions of a file are parsed and get what they
lack, and what a loop steps beside its counter moves to the end of its body: the meaning stays the same. A
function that is not understood stays as it is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from svmcompile.targets.c.tokens import NotUnderstood, Tokens

MAX_LINE = 120
FUNCTION = re.compile(
    r"^(?P<head>[A-Za-z_][^\n;={}]*(?:\n {4}[^\n;={}]*)*\))\n\{\n.*?^\}$", re.MULTILINE | re.DOTALL
)
UNSIGNED = frozenset({"size_t", "uint32_t", "uint64_t", "unsigned"})
RETURNS = re.compile(r"^(?:static )?(?:inline )?(?:const )?(\w+) \*?(\w+)\(", re.MULTILINE)
TABLE = re.compile(r"^static const (?:\w+_FLASH )?(\w+) (\w+)\[", re.MULTILINE)
MEMBER = re.compile(r"\b(size_t|uint32_t|uint64_t) (bits|whole);")
NAMED = re.compile(r"^typedef .*?\b(\w+);$", re.MULTILINE)
NAME = re.compile(r"[A-Za-z_]\w*")
SIZE = re.compile(r"[A-Z]\w*_N_[A-Z]+$")  # a constant of the header
LEVELS = {
    operator: level
    for level, operators in enumerate("|| && | ^ & ==,!= <,>,<=,>= <<,>> +,- *,/,%".split(), 3)
    for operator in operators.split(",")
}
ASSIGNMENT, CONDITIONAL, UNARY = 1, 2, 13
ASSIGNS = frozenset("= += -= *= /= %= &= |= ^= <<= >>=".split())
ENDS = 3  # a statement, or a block: in the order in which they are added
ORDER = {"u": 0, ")": 1, "{": 2, "}": ENDS, "(": 4, "(size_t)": 5}  # of what is added at one place
Kind = str  # "u": unsigned, of 32 bits or more; "n": constants alone; "": anything else


@dataclass(frozen=True, slots=True)
class Part:
    """An expression: its tokens, how tightly it binds, its kind, and the constants that make it."""

    first: int
    last: int
    level: int
    kind: Kind = ""
    constants: tuple[int, ...] = ()


def strict(source: str) -> str:
    """The file with every function as the rules want it."""
    known = {name: kind for kind, name in (*RETURNS.findall(source), *TABLE.findall(source))}
    known |= {name: kind for kind, name in MEMBER.findall(source)}
    types = frozenset(NAMED.findall(source))

    def rewritten(found: re.Match[str]) -> str:
        try:
            return _Function(found[0], types, known=dict(known)).text()
        except NotUnderstood:
            return found[0]

    return FUNCTION.sub(rewritten, source)


@dataclass
class _Function(Tokens):
    known: dict[str, str] = field(default_factory=dict)
    added: list[tuple[int, int, str, int]] = field(
        default_factory=list
    )  # place, order, text, what it replaces

    def text(self) -> str:
        """The function with what was added, in lines that are not too long."""
        self.head()
        self.statement()
        lines = self.between(0, len(self.source)).split("\n")
        return "\n".join(piece for line in lines for piece in _folded(line))

    def between(self, start: int, end: int) -> str:
        """The text from one place to another, with what was added."""
        pieces, last = [], start
        for place, _, text, upto in sorted(self.added, key=lambda one: one[:2]):
            if start <= place and upto <= end:
                pieces += [self.source[last:place], text]
                last = upto
        return "".join([*pieces, self.source[last:end]])

    def add(self, place: int, text: str) -> None:
        self.added.append((place, ORDER.get(text.strip(), ENDS), text, place))

    # Statements

    def head(self) -> None:
        """The parameters, whose types are noted."""
        while self.now != "{":
            at = self.take()
            if self.tokens[at].text in UNSIGNED and self.now == "*":
                self.take()
            if self.tokens[at].text in UNSIGNED and self.tokens[self.at].kind == "name":
                self.known[self.now] = "size_t"
            elif self.is_type(at) and self.tokens[self.at].kind == "name" and not self.is_type(self.at):
                self.known[self.now] = self.tokens[at].text

    def statement(self) -> None:
        word, one = self.now, self.tokens[self.at]
        after = self.tokens[self.at + 1].text if self.at + 1 < len(self.tokens) else ""
        if word == "{":
            self.take()
            while self.now != "}":
                self.statement()
            self.take()
        elif word in ("for", "while", "if", "switch"):
            self.controlled()
        elif word == "do":
            self.braced(self.take())
            self.take("while")
            self.expression()
            self.take(";")
        elif word in ("return", "break", "continue", "goto", "case", "default"):
            self.take()
            if self.now not in (";", ":"):
                self.expression()
            self.take(";", ":")
        elif one.kind == "name" and after == ":":
            self.take(), self.take()  # a label
        elif word in ("union", "struct") or self.is_type(self.at):
            self.declaration()
        elif one.kind == "name" and after == "for":
            self.take()  # a macro that guides the loop
            self.statement()
        elif word.startswith("__asm"):
            while self.tokens[self.take()].text != ";":
                pass
        else:
            if word != ";":
                self.expression()
            self.take(";")

    def controlled(self) -> None:
        keyword, moved = self.take(), ""
        self.take("(")
        if self.tokens[keyword].text == "for":
            if self.now == ";":
                self.take()
            elif self.is_type(self.at):
                self.declaration()
            else:
                self.expression()
                self.take(";")
            if self.now != ";":
                self.expression()
            self.take(";")
            moved = self.steps()
        else:
            self.expression()
        self.take(")")
        self.braced(keyword, moved)
        if self.tokens[keyword].text == "if" and self.now == "else":
            other = self.take()
            if self.now == "if":
                self.statement()
            else:
                self.braced(other)

    def steps(self) -> str:
        """What a loop steps beside its counter, which moves to the end of the body as statements."""
        first = self.at
        while self.now != ")":
            self.assignment()
            if self.now == ",":
                self.take()
        start, end = self.tokens[first].start, self.tokens[self.at].start
        parts = self.between(start, end).split(", ")
        names = NAME.findall(
            self.source[: self.tokens[first - 1].start].rpartition(";")[2]
        )  # of the condition
        at = next((at for at, one in enumerate(parts) if {*NAME.findall(one)[:1]} & {*names}), 0)
        late = any({*NAME.findall(parts[at])[:1]} & {*NAME.findall(one)} for one in parts[at + 1 :])
        if len(parts) == 1 or late or "continue" in self.source[end:]:
            return ""
        self.added = [one for one in self.added if not start <= one[0] <= end]
        self.added.append((start, 0, parts.pop(at), end))
        return "; ".join(parts) + ";"

    def braced(self, keyword: int, moved: str = "") -> None:
        """The statement behind a keyword and its condition, in braces, with another one at its end."""
        line = self.source[self.source.rfind("\n", 0, self.tokens[keyword].start) + 1 :]
        indent = line[: len(line) - len(line.lstrip())]
        if self.now == "{":
            self.statement()
            if moved:
                self.add(self.tokens[self.at - 1].start, f"    {moved}\n{indent}")
            return
        self.add(self.tokens[self.at - 1].end, " {")
        self.statement()
        end = self.tokens[self.at - 1].end
        rest = re.compile(r"(?: *(?:/\*[^\n]*\*/)?(?=\n))?").match(self.source, end)
        end = rest.end() if rest else end
        if moved:
            self.add(end, f"\n{indent}    {moved}")
        self.add(end, f"\n{indent}}}")

    def declaration(self) -> None:
        kind = ""
        while self.is_type(self.at) or self.now in ("union", "struct", "*", "{"):
            if self.now == "{":
                self.skip_group()
                continue
            text = self.tokens[self.take()].text
            kind = (
                text
                if text != "*" and not text.endswith("_FLASH") and text not in ("const", "static")
                else kind
            )
        while True:
            while self.now in ("*", "const"):
                self.take()
            self.known[self.tokens[self.take()].text] = kind
            while self.now == "[":
                self.skip_group()
            if self.now == "=":
                self.take()
                if self.now == "{":
                    self.skip_group()
                else:
                    self.binary(CONDITIONAL)
            if self.tokens[self.take(",", ";")].text == ";":
                return

    def expression(self) -> Part:
        """Assignments, separated by commas."""
        found = self.assignment()
        while self.now == ",":
            self.take()
            self.assignment()
        return found

    def assignment(self) -> Part:
        left = self.binary(CONDITIONAL)
        if self.now not in ASSIGNS:
            return left
        operator = self.tokens[self.take()].text
        right = self.assignment()
        if operator not in ("=", "<<=", ">>="):
            self.agree(left, right)
        return Part(left.first, right.last, ASSIGNMENT)

    def binary(self, lowest: int) -> Part:
        left = self.unary()
        while LEVELS.get(self.now, 0) >= max(lowest, 3):
            operator = self.tokens[self.take()].text
            level = LEVELS[operator]
            right = self.binary(level + 1)
            for side in (left, right):
                if side.level not in (level, UNARY):
                    self.wrap(side)
            kind: Kind = left.kind
            constants = left.constants
            if operator not in ("<<", ">>"):
                kind, constants = self.agree(left, right)
            if level < LEVELS["<<"] and operator not in "|^&":
                kind, constants = "", ()  # true or false
            left = Part(left.first, right.last, level, kind, constants)
        if self.now == "?" and lowest <= CONDITIONAL:
            self.take()
            yes = self.binary(CONDITIONAL)
            self.take(":")
            no = self.binary(CONDITIONAL)
            for side in (left, yes, no):
                if side.level != UNARY:
                    self.wrap(side)
            return Part(left.first, no.last, CONDITIONAL, *self.agree(yes, no))
        return left

    def wrap(self, part: Part) -> None:
        self.add(self.tokens[part.first].start, "(")
        self.add(self.tokens[part.last].end, ")")

    def agree(self, left: Part, right: Part) -> tuple[Kind, tuple[int, ...]]:
        """Constants beside what is unsigned are unsigned; the kind of both together."""
        kinds = {left.kind, right.kind}
        if kinds == {"u", "n"}:
            for at in left.constants + right.constants:
                one = self.tokens[at]
                self.add(*((one.start, "(size_t)") if one.kind == "name" else (one.end, "u")))
        if "u" in kinds and "" not in kinds:
            return "u", ()
        return ("n", left.constants + right.constants) if kinds == {"n"} else ("", ())

    def unary(self) -> Part:
        first = self.at
        if self.now in ("-", "+", "!", "~", "&", "*", "++", "--"):
            sign = self.tokens[self.take()].text
            inner = self.unary()
            return Part(first, inner.last, UNARY, inner.kind if sign in ("*", "~", "++", "--") else "")
        if self.now == "sizeof":
            self.take()
            if self.now == "(" and self.is_type(self.at + 1):
                self.skip_group()
            else:
                self.unary()
            return Part(first, self.at - 1, UNARY, "u")
        if self.now == "(" and self.is_type(self.at + 1):
            self.skip_group()
            types = {one.text for one in self.tokens[first : self.at]}
            inner = self.unary()
            return Part(first, inner.last, UNARY, "u" if types & UNSIGNED and "*" not in types else "")
        return self.postfix()

    def postfix(self) -> Part:
        first, one = self.at, self.tokens[self.take()]
        kind: Kind = ""
        constants: tuple[int, ...] = ()
        if one.text == "(":
            inner = self.expression()
            self.take(")")
            kind, constants = inner.kind, inner.constants
        elif one.kind == "number":
            if one.text.isdecimal():
                kind, constants = "n", (first,)
            elif one.text.lower().endswith("u"):
                kind = "u"
        elif one.kind == "name":
            kind = "u" if self.known.get(one.text) in UNSIGNED else ""
            if SIZE.match(one.text):
                kind, constants = "n", (first,)
        elif one.kind != "text":
            raise NotUnderstood(one.text)
        while self.now in ("[", "(", ".", "->", "++", "--"):
            mark = self.tokens[self.take()].text
            constants = ()
            if mark in (".", "->"):
                kind = "u" if self.known.get(self.tokens[self.take()].text) in UNSIGNED else ""
            elif mark in ("[", "(") and self.now not in ("]", ")"):
                self.expression()
            if mark in ("[", "("):
                self.take("]", ")")
        return Part(first, self.at - 1, UNARY, kind, constants)


def _folded(line: str) -> list[str]:
    """A line, broken before operators or behind commas where it is too long."""
    if len(line) <= MAX_LINE or '"' in line or "/*" in line:
        return [line]
    indent = len(line) - len(line.lstrip())
    breaks = [one.start() + 1 for one in re.finditer(r"(?<=,) | (?=(?:&&|\|\||[?:+*]) )", line[:MAX_LINE])]
    if not breaks or breaks[-1] <= indent + 4:
        return [line]
    rest = " " * (indent + 4) + line[breaks[-1] :]
    return [line[: breaks[-1]].rstrip(), *_folded(rest)]
