"""XML as elements that know their line. A document with a DTD is refused, so no entities are expanded."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from xml.parsers import expat

from svmcompile.errors import ReadError, UnsupportedError
from svmcompile.read.libsvm.text import decimal, shown

MAX_DEPTH = 100


@dataclass(slots=True)
class Element:
    """A tag without its namespace, attributes, the text around the children, and the children."""

    tag: str
    attributes: dict[str, str]
    place: str  # file and line, for messages
    text: str = ""
    children: list[Element] = field(default_factory=list)

    def error(self, text: str) -> ReadError:
        return ReadError(f"{self.place}: {text}")

    def refuse(self, text: str) -> UnsupportedError:
        return UnsupportedError(f"{self.place}: {text}")

    def all(self, *tags: str) -> list[Element]:
        """The children of some names."""
        return [child for child in self.children if child.tag in tags]

    def one(self, tag: str) -> Element:
        """The only child of a name."""
        found = self.all(tag)
        if len(found) != 1:
            raise self.error(f"<{self.tag[:40]}> has {len(found)} <{tag}>, expected one")
        return found[0]

    def get(self, name: str, default: str | None = None) -> str:
        """An attribute, which must be there unless there is a default."""
        found = self.attributes.get(name, default)
        if found is None:
            raise self.error(f"<{self.tag[:40]}> has no attribute {name!r}")
        return found

    def choice(self, name: str, known: Iterable[str], default: str | None = None) -> str:
        """An attribute that is one of some words."""
        found = self.get(name, default)
        if found not in known:
            raise self.refuse(f"{name} {found[:40]!r} is not supported; supported: {', '.join(known)}")
        return found

    def number(self, name: str, default: str | None = None) -> float:
        """An attribute that is a finite number."""
        return numbers(self, self.get(name, default), 1)[0]


def numbers(element: Element, text: str, count: int | None = None) -> list[float]:
    """Finite numbers apart by spaces; as many as are expected, if that is known."""
    words = text.encode().split()
    if count is not None and len(words) != count:
        raise element.error(f"{len(words)} number(s) in <{element.tag[:40]}>, expected {count}")
    found = []
    for word in words:
        value = decimal(word)
        if value is None:
            raise element.error(f"{shown(word)} in <{element.tag[:40]}> is not a finite number")
        found.append(value)
    return found


def parse_xml(content: bytes, where: str) -> Element:
    """The root of a document; an error with file and line for anything else."""
    builder = _Builder(where)
    try:
        builder.parser.Parse(content, True)
    except expat.ExpatError as error:
        problem = expat.errors.messages[error.code]
        raise ReadError(
            f"{where}:{error.lineno}: is not well-formed XML ({problem}, column {error.offset + 1}); "
            "save the model again"
        ) from None
    except (LookupError, ValueError) as error:  # an encoding that Python does not have
        raise ReadError(f"{where}: is not readable XML ({error}); save the model as UTF-8") from None
    return builder.root


class _Builder:
    """Takes what the parser meets, and keeps the elements that are open."""

    root: Element

    def __init__(self, where: str) -> None:
        self.where, self.open, self.texts = where, list[Element](), list[list[str]]()
        self.parser = expat.ParserCreate(namespace_separator=" ")
        self.parser.buffer_text = True
        self.parser.StartDoctypeDeclHandler = self.doctype
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.characters

    @property
    def place(self) -> str:
        return f"{self.where}:{self.parser.CurrentLineNumber}"

    def doctype(self, *declaration: object) -> None:
        raise ReadError(
            f"{self.place}: the file has a DTD, which could make a small file expand without end; "
            "remove the <!DOCTYPE ...> if you trust it"
        )

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if len(self.open) == MAX_DEPTH:
            raise ReadError(f"{self.place}: more than {MAX_DEPTH} elements within one another")
        element = Element(name.rpartition(" ")[2], attributes, self.place)
        if self.open:
            self.open[-1].children.append(element)
        else:
            self.root = element
        self.open.append(element)
        self.texts.append([])

    def characters(self, text: str) -> None:
        self.texts[-1].append(text)

    def end(self, name: str) -> None:
        self.open.pop().text = "".join(self.texts.pop()).strip()
