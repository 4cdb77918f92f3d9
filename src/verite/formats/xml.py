"""XML through the standard library's expat: no document types, no entities, bounded depth and text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from verite.errors import ReadError, excerpt
from verite.files import read_bytes, read_text
from verite.formats.text_lines import to_number
from verite.limits import limit, remedy


@dataclass(slots=True)
class Element:
    """A tag with its place in the file, attributes, text and children."""

    tag: str
    path: Path
    line: int
    attributes: dict[str, str]
    pieces: list[str] = field(default_factory=list)
    children: list[Element] = field(default_factory=list)

    @property
    def where(self) -> str:
        return f"{self.path}:{self.line}"

    @property
    def text(self) -> str:
        return "".join(self.pieces)

    def all(self, tag: str) -> Iterator[Element]:
        """The children of this name."""
        return (child for child in self.children if child.tag == tag)

    def find(self, tag: str) -> Element | None:
        """The first child of this name."""
        return next(self.all(tag), None)

    def need(self, tag: str) -> Element:
        """The first child of this name, or an error."""
        found = self.find(tag)
        if found is None:
            raise ReadError(self.where, expected=f"<{tag}> in <{self.tag}>", found="none")
        return found

    def word(self, tag: str, default: str = "") -> str:
        """The text of the first child of this name."""
        found = self.find(tag)
        return found.text.strip() if found is not None else default

    def number(self, tag: str) -> float:
        """The number in the first child of this name."""
        child = self.need(tag)
        return to_number(child.text.strip(), child.where, f"a number in <{tag}>")

    def attribute(self, name: str) -> str:
        """An attribute, or an error."""
        if name not in self.attributes:
            raise ReadError(self.where, expected=f"an attribute {name!r} of <{self.tag}>", found="none")
        return self.attributes[name]

    def attribute_number(self, name: str) -> float:
        return to_number(self.attribute(name), self.where, f"a number in {name!r}")


def to_whole(value: float, expected: str, where: str) -> int:
    """A whole number such as an image side.

    Parameters
    ----------
    value
        A number, which XML may write as 640.0.
    expected
        What it is, for the message.
    where
        The element, for the message.
    """
    if value != value or value in (float("inf"), float("-inf")) or value != int(value):
        raise ReadError(where, expected=expected, found=str(value))
    return int(value)


CUT_OFF = {"no element found": "the end of the file", "unclosed token": "the end of the file inside a tag"}


def parse(path: Path) -> Element:
    """The root element of an XML file."""
    data = read_bytes(path)
    builder = Builder(path)
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.characters
    parser.StartDoctypeDeclHandler = builder.doctype
    builder.parser = parser
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        found = expat.errors.messages[error.code]
        if found == "not well-formed (invalid token)":
            read_text(path)  # a byte that is no UTF-8 gets its own word
        remedy = "was it cut off? (V403)" if found in CUT_OFF else ""
        found = CUT_OFF.get(found, found)
        raise ReadError(f"{path}:{error.lineno}", expected="well-formed XML", found=found, remedy=remedy) from None
    except ReadError:
        raise
    except (LookupError, ValueError) as error:  # from the codec that the first line names
        raise ReadError(
            path, expected="an encoding that XML readers know", found=str(error), remedy="save the file as UTF-8"
        ) from None
    assert builder.root is not None
    return builder.root


class Builder:
    """Turns expat's events into elements."""

    parser: expat.XMLParserType

    def __init__(self, path: Path) -> None:
        self.path = path
        self.root: Element | None = None
        self.open: list[Element] = []
        self.lengths: list[int] = []  # of the texts of the open elements
        self.most_depth, self.most_text = limit("xml_depth"), limit("xml_text")

    @property
    def where(self) -> str:
        return f"{self.path}:{self.parser.CurrentLineNumber}"

    def doctype(self, *_: object) -> None:
        raise ReadError(self.where, expected="XML without a DOCTYPE", found="one", remedy="remove it")

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        if len(self.open) >= self.most_depth:
            most = f"at most {self.most_depth} levels of nesting"
            raise ReadError(self.where, expected=most, found="more", remedy=remedy("xml_depth"))
        element = Element(tag, self.path, self.parser.CurrentLineNumber, attributes)
        if self.open:
            self.open[-1].children.append(element)
        else:
            self.root = element
        self.open.append(element)
        self.lengths.append(0)

    def end(self, _: str) -> None:
        self.open.pop()
        self.lengths.pop()

    def characters(self, text: str) -> None:
        element = self.open[-1]
        self.lengths[-1] += len(text)
        if self.lengths[-1] > self.most_text:
            most = f"at most {self.most_text} characters in <{element.tag[:60]}>"
            raise ReadError(self.where, expected=most, found="more", remedy=remedy("xml_text"))
        element.pieces.append(text)


NO_XML = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def check_writable(path: Path, what: str, names: Iterable[str]) -> None:
    """XML cannot hold control characters, its readers read \\r as \\n and strip blanks from the ends of texts.

    Parameters
    ----------
    path
        The file to be written.
    what
        What the names are, for the message.
    names
        Names to check before anything is written.
    """
    for name in names:
        if NO_XML.search(name) or name != name.strip():
            raise ReadError(path, expected=f"{what} that XML can hold", found=excerpt(name), remedy="rename it")
