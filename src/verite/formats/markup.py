"""XML through the standard library's expat: no document types, no entities, bounded depth and text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from verite.errors import ReadError, excerpt
from verite.files import read_bytes
from verite.limits import limit, remedy


@dataclass
class Element:
    """A tag with its place in the file, attributes, text and children."""

    tag: str
    where: str
    attributes: dict[str, str]
    text: str = ""
    children: list[Element] = field(default_factory=list)

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
        return to_number(child.text.strip(), f"a number in <{tag}>", child.where)

    def attribute(self, name: str) -> str:
        """An attribute, or an error."""
        if name not in self.attributes:
            raise ReadError(self.where, expected=f"an attribute {name!r} of <{self.tag}>", found="none")
        return self.attributes[name]

    def attribute_number(self, name: str) -> float:
        return to_number(self.attribute(name), f"a number in {name!r}", self.where)


def to_number(text: str, expected: str, where: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ReadError(where, expected=expected, found=excerpt(text)) from None


def to_whole(value: float, expected: str, where: str) -> int:
    """A whole number such as an image side."""
    if value != value or value in (float("inf"), float("-inf")) or value != int(value):
        raise ReadError(where, expected=expected, found=str(value))
    return int(value)


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
        truncated = "was it cut off?" if found in ("no element found", "unclosed token") else ""
        raise ReadError(f"{path}:{error.lineno}", expected="well-formed XML", found=found, remedy=truncated) from None
    assert builder.root is not None
    return builder.root


class Builder:
    """Turns expat's events into elements."""

    parser: expat.XMLParserType

    def __init__(self, path: Path) -> None:
        self.path = path
        self.root: Element | None = None
        self.open: list[Element] = []
        self.depth, self.text = limit("xml_depth"), limit("xml_text")

    @property
    def where(self) -> str:
        return f"{self.path}:{self.parser.CurrentLineNumber}"

    def doctype(self, *_: object) -> None:
        raise ReadError(self.where, expected="XML without a DOCTYPE", found="one", remedy="remove it")

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        if len(self.open) >= self.depth:
            most = f"at most {self.depth} levels of nesting"
            raise ReadError(self.where, expected=most, found="more", remedy=remedy("xml_depth"))
        element = Element(tag, self.where, attributes)
        if self.open:
            self.open[-1].children.append(element)
        else:
            self.root = element
        self.open.append(element)

    def end(self, _: str) -> None:
        self.open.pop()

    def characters(self, text: str) -> None:
        element = self.open[-1]
        if len(element.text) + len(text) > self.text:
            most = f"at most {self.text} characters in <{element.tag}>"
            raise ReadError(self.where, expected=most, found="more", remedy=remedy("xml_text"))
        element.text += text
