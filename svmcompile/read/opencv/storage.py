"""OpenCV's FileStorage: the text of an XML, YAML or JSON file in, a tree of nodes out.

OpenCV's YAML is not quite YAML (`%YAML:1.0`, `{ epsilon:1e-7 }`), so it is read here, as far as models
need it. A sequence of numbers stays text until someone asks for it: memory follows the file.

OpenCV itself reads the file once more when a model is compared with the original. It counts 2147483647
where it expects a number and meets a string, and follows what it counts; so what the two could take
otherwise, and OpenCV never writes, is refused: strings, tags, entities and escapes in place of numbers.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

import numpy as np

from svmcompile.errors import ReadError
from svmcompile.ir.arithmetic import Array
from svmcompile.read.libsvm.text import WHOLE, decimal, shown
from svmcompile.read.xml import MAX_DEPTH, Element, parse_xml

KEY = re.compile(r"([A-Za-z_][\w-]*)\s*:\s*(.*)", re.DOTALL)
TAG = re.compile(r"!{1,2}(\S+)\s*(.*)", re.DOTALL)
STRANGE = re.compile(rb"[^\t\n\x20-\x7e]")
XML_SIGNS, JSON_SIGNS = re.compile(rb"&|<!|xmlns"), re.compile(rb"\\")
OCTAL = re.compile(rb"[+-]?0[0-9]")
ITEM = "_"  # how XML calls the items of a sequence


@dataclass(slots=True)
class Node:
    """Text (a word, a number, numbers apart by spaces), items, or named nodes; and its place."""

    place: str
    value: str | list[Node] | dict[str, Node]
    tag: str = ""

    def error(self, text: str) -> ReadError:
        return ReadError(f"{self.place}: {text}")

    def __contains__(self, key: str) -> bool:
        return isinstance(self.value, dict) and key in self.value

    def __getitem__(self, key: str) -> Node:
        if not isinstance(self.value, dict) or key not in self.value:
            raise self.error(f"there is no {key!r} here; the file is damaged, save the model again")
        return self.value[key]

    def items(self, count: int, what: str) -> list[Node]:
        """The items of a sequence, of which there must be so many."""
        if isinstance(self.value, str):
            found = [Node(self.place, word) for word in self.untagged().split()]
        else:
            found = self.value if isinstance(self.value, list) else []
        if len(found) != count:
            raise self.error(f"{len(found)} {what}, expected {count}")
        return found

    def word(self) -> str:
        if not isinstance(self.value, str):
            raise self.error("expected a word")
        return self.value.strip('"')

    def untagged(self) -> str:
        """The text of numbers."""
        if self.tag:
            raise self.error(f"numbers have a type here ({self.tag[:40]}); save the model again")
        return self.value if isinstance(self.value, str) else ""

    def whole(self, low: int, high: int) -> int:
        return self.wholes(1, low, high)[0]

    def wholes(self, count: int, low: int, high: int) -> list[int]:
        found = []
        for word in self._words(count):
            if not WHOLE.fullmatch(word) or not low <= int(word) <= high:
                raise self.error(f"{shown(word)} is not an integer in {low}..{high}")
            found.append(int(word))
        return found

    def decimal(self) -> float:
        return float(self.decimals(1)[0])

    def decimals(self, count: int) -> Array:
        words = self._words(count)
        found = np.array([math.nan if (value := decimal(word)) is None else value for word in words])
        if not np.isfinite(found).all():
            raise self.error(f"{shown(words[int(np.isnan(found).argmax())])} is not a finite number")
        return found

    def _words(self, count: int) -> list[bytes]:
        words = self.untagged().encode().split()
        if len(words) != count:
            raise self.error(f"{len(words)} number(s), expected {count}")
        octal = next(filter(OCTAL.match, words), None)
        if octal:
            raise self.error(
                f"{shown(octal)} begins with a zero, which makes another number of it in OpenCV"
            )
        return words


def read_storage(content: bytes, where: str) -> Node:
    """The named nodes at the top of a file."""
    content = content.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n")
    _refuse(STRANGE, content, where)
    start = content.lstrip()[:1]
    if start == b"<":
        root = parse_xml(content, where)
        if root.tag != "opencv_storage":
            raise root.error(f"the root is <{root.tag[:40]}>, not <opencv_storage>: this is no OpenCV file")
        _refuse(XML_SIGNS, content, where)
        return _from_xml(root)
    text = content.decode("ascii")
    if start == b"{":
        _refuse(JSON_SIGNS, content, where)
        return _from_json(text, where)
    return _Yaml(text, where).document()


def _refuse(signs: re.Pattern[bytes], content: bytes, where: str) -> None:
    """Refuse what OpenCV does not write."""
    found = signs.search(content)
    if found:
        line = content.count(b"\n", 0, found.start()) + 1
        raise ReadError(
            f"{where}:{line}: {shown(found[0])} does not stand in what OpenCV writes; save the model again"
        )


def _from_xml(element: Element) -> Node:
    tag = element.attributes.get("type_id", "")
    if not element.children:
        return Node(element.place, element.text, tag)
    if element.text:
        raise element.error(f"text beside elements: {shown(element.text.encode())}")
    if all(child.tag == ITEM for child in element.children):
        return Node(element.place, [_from_xml(child) for child in element.children], tag)
    named: dict[str, Node] = {}
    for child in element.children:
        if child.tag in named:
            raise child.error(f"<{child.tag[:40]}> appears twice")
        named[child.tag] = _from_xml(child)
    return Node(element.place, named, tag)


def _from_json(text: str, where: str) -> Node:
    def refuse(word: str) -> str:
        raise ReadError(f"{where}: {word} is not a finite number")

    def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
        named = dict(found)
        if len(named) < len(found):
            raise ReadError(f"{where}: a name appears twice among {', '.join(list(named)[:5])}")
        return named

    try:
        tree = json.loads(
            text, parse_float=_Number, parse_int=_Number, parse_constant=refuse, object_pairs_hook=pairs
        )
        return _from_tree(tree, where)
    except json.JSONDecodeError as error:
        raise ReadError(
            f"{where}:{error.lineno}: is not JSON ({error.msg}, column {error.colno}); save the model again"
        ) from None
    except RecursionError:
        raise ReadError(f"{where}: objects within one another without end") from None


class _Number(str):
    """The text of a number, not of a string."""


def _from_tree(tree: Any, place: str) -> Node:
    """JSON has no lines once it is parsed: names say where a node is."""
    if isinstance(tree, dict):
        tag = str(tree.get("type_id", ""))
        return Node(place, {key: _from_tree(one, f"{place}: {key[:40]}") for key, one in tree.items()}, tag)
    if isinstance(tree, list) and not all(isinstance(one, _Number) for one in tree):
        return Node(place, [_from_tree(one, f"{place}[{at}]") for at, one in enumerate(tree)])
    if isinstance(tree, str) and not isinstance(tree, _Number):
        return Node(place, f'"{tree}"')
    return Node(place, " ".join(tree) if isinstance(tree, list) else str(tree))


class _Yaml:
    """The lines of a YAML file that say something, with their numbers and indents."""

    def __init__(self, text: str, where: str) -> None:
        self.where, self.at = where, 0
        self.lines = [
            (number, len(line) - len(line.lstrip(" ")), line.strip())
            for number, line in enumerate(text.split("\n"), 1)
            if line.strip() and not line.lstrip().startswith("#")
        ]
        heads = takewhile(lambda line: line[2].startswith(("%YAML", "---")), self.lines)
        del self.lines[: len(list(heads))]
        if self.lines and self.lines[-1][2] == "...":
            self.lines.pop()

    def document(self) -> Node:
        found = self.block(0, 0) if self.lines else Node(self.where, {})
        if self.at < len(self.lines):
            raise self.error("this line is indented less than the first")
        return found

    @property
    def place(self) -> str:
        return f"{self.where}:{self.lines[min(self.at, len(self.lines) - 1)][0]}"

    def error(self, text: str) -> ReadError:
        return ReadError(f"{self.place}: {text}")

    def block(self, least: int, depth: int) -> Node:
        """The lines from here on that are indented alike, at least so far: items or named nodes."""
        if depth > MAX_DEPTH:
            raise self.error(f"more than {MAX_DEPTH} blocks within one another")
        if self.at == len(self.lines) or self.lines[self.at][1] < least:
            return Node(self.place, "")
        place, indent = self.place, self.lines[self.at][1]
        named: dict[str, Node] = {}
        items: list[Node] = []
        while self.at < len(self.lines) and self.lines[self.at][1] == indent:
            line = self.lines[self.at][2]
            if line.startswith("-") and not named:
                items.append(self.value(line[1:].strip(), indent, depth))
            elif (found := KEY.fullmatch(line)) and not items:
                if found[1] in named:
                    raise self.error(f"{found[1][:40]} appears twice")
                named[found[1]] = self.value(found[2], indent, depth)
            else:
                raise self.error(f"{shown(line.encode())} is neither 'name: value' nor '- item'")
        if self.at < len(self.lines) and self.lines[self.at][1] > indent:
            raise self.error("this line is indented more than the one before")
        return Node(place, items or named)

    def value(self, text: str, indent: int, depth: int) -> Node:
        """What stands behind a name or a dash: on the same line, or indented below it."""
        place, tagged = self.place, TAG.fullmatch(text)
        tag, text = (tagged[1], tagged[2]) if tagged else ("", text)
        if not text:
            self.at += 1
            return Node(place, self.block(indent + 1, depth + 1).value, tag)
        if text[0] in "[{":
            return self.flow(text, place, tag)
        self.at += 1
        return Node(place, text, tag)

    def flow(self, text: str, place: str, tag: str) -> Node:
        """`[ 1, 2 ]` or `{ a:1, b:2 }`, over as many lines as it takes."""
        close, parts = "]" if text[0] == "[" else "}", [text]
        while not parts[-1].endswith(close):
            self.at += 1
            if self.at == len(self.lines) or self.lines[self.at][2].startswith(("---", "...", "%")):
                raise self.error(f"the file ends before the '{close}' that belongs to {place}")
            parts.append(self.lines[self.at][2])
        self.at += 1
        inner = " ".join(parts)[1:-1]
        if any(sign in inner for sign in "[]{}"):
            raise ReadError(f"{place}: sequences within a sequence are not known here")
        if close == "]":
            return Node(place, inner.replace(",", " "), tag)
        pairs = [KEY.fullmatch(one.strip()) for one in inner.split(",") if one.strip()]
        if not all(pairs):
            raise ReadError(f"{place}: {shown(inner.encode())} are not pairs 'name: value'")
        named = {pair[1]: Node(place, pair[2]) for pair in pairs if pair}
        if len(named) < len(pairs):
            raise ReadError(f"{place}: a name appears twice among {', '.join(list(named)[:5])[:40]}")
        return Node(place, named, tag)
