"""XML as elements that know their line. A document with a DTD is refused, so no entities are expanded."""

from __future__ import annotations

from dataclasses import dataclass, field
from xml.parsers import expat

from svmcompile.errors import ReadError

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
