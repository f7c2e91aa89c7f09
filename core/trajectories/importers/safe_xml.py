"""XML from strangers: no document type, no entities, nothing from outside, and limits on size, depth and number of elements."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from core.errors import InputError

LARGEST_FILE = 128 * 2**20
MOST_ELEMENTS = 4_000_000
DEEPEST = 40


class _UnsafeError(Exception):
    """The file holds something that is not read; the text says what."""


def read_xml(path: Path) -> Element:
    """The root of an XML file.

    Raises:
        InputError: The file cannot be read, is too large, is no XML, or has a document type or entities of its own.
    """
    try:
        size = path.stat().st_size
        data = path.read_bytes() if size <= LARGEST_FILE else b""
    except OSError as e:
        raise InputError(f'"{path}" cannot be read: {e.strerror or e}.') from e
    if size > LARGEST_FILE:
        raise InputError(f'"{path.name}" has {size:,} bytes; an XML file of at most {LARGEST_FILE:,} is read.')
    try:
        return _parse(data)
    except expat.ExpatError as e:
        raise InputError(f'"{path.name}" is no sound XML: line {e.lineno}, column {e.offset + 1}: {expat.ErrorString(e.code)}.') from e
    except (_UnsafeError, LookupError, ValueError) as e:
        raise InputError(f'"{path.name}" was not read: {e}.') from e


def _parse(data: bytes) -> Element:
    parser, builder = expat.ParserCreate(), TreeBuilder()
    depth = count = 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth, count
        depth, count = depth + 1, count + 1
        if depth > DEEPEST or count > MOST_ELEMENTS:
            raise _UnsafeError(f"it has more than {DEEPEST} levels or {MOST_ELEMENTS:,} elements")
        builder.start(tag, attributes)

    def end(tag: str) -> None:
        nonlocal depth
        depth -= 1
        builder.end(tag)

    def refuse(what: str) -> NoReturn:
        raise _UnsafeError(f"it has {what}, which a data file does not need and which can be used to attack")

    def outside(*_: str | None) -> int:
        refuse("a reference to something outside")

    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, builder.data
    parser.StartDoctypeDeclHandler = lambda *_: refuse("a document type (DOCTYPE)")
    parser.EntityDeclHandler = lambda *_: refuse("an entity of its own")
    parser.UnparsedEntityDeclHandler = lambda *_: refuse("an entity of its own")
    parser.ExternalEntityRefHandler = outside
    parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
    parser.Parse(data, True)
    return builder.close()
