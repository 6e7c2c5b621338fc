"""Parser for a small XML tree with line numbers and without entities.

It uses expat directly: the trees of the standard library have no line numbers, and an entity must be rejected at its
declaration, before it can expand or read a file.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from roslite.launching.errors import LaunchError

MAXIMUM_SIZE = 4 * 1024 * 1024
MAXIMUM_DEPTH = 100


@dataclass
class Element:
    """An XML element.

    Attributes:
        tag: name of the element.
        attributes: attributes in the order of the file.
        children: child elements.
        line: line of the start tag.
        path: file.
    """

    tag: str
    attributes: dict[str, str]
    line: int
    path: Path
    children: list[Element] = field(default_factory=list)

    def find_all(self, tag: str) -> Iterator[Element]:
        """Return the direct children with a tag."""
        return (child for child in self.children if child.tag == tag)

    def error(self, problem: str, attribute: str = '') -> LaunchError:
        """Return a `LaunchError` about this element or one of its attributes."""
        where = f'<{self.tag}>' + (f" attribute '{attribute}'" if attribute else '')
        return LaunchError(problem, self.path, self.line, where)


class _Builder:
    """Builds elements from the events of expat."""

    def __init__(self, path: Path):
        self.path = path
        self.root: Element | None = None
        self.open: list[Element] = []
        self.parser = expat.ParserCreate()
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text
        self.parser.EntityDeclHandler = self._entity
        self.parser.StartDoctypeDeclHandler = self._doctype
        self.parser.ExternalEntityRefHandler = self._external

    def _error(self, problem: str, where: str = '') -> LaunchError:
        return LaunchError(problem, self.path, self.parser.CurrentLineNumber, where)

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        element = Element(tag, attributes, self.parser.CurrentLineNumber, self.path)
        if self.open:
            self.open[-1].children.append(element)
        else:
            self.root = element
        self.open.append(element)
        if len(self.open) > MAXIMUM_DEPTH:
            raise self._error(f'expected at most {MAXIMUM_DEPTH} nested elements', f'<{tag}>')

    def _end(self, tag: str) -> None:
        self.open.pop()

    def _text(self, data: str) -> None:
        if data.strip():
            tag = self.open[-1].tag
            raise self._error(f'expected elements only, found the text {data.strip()[:40]!r}', f'<{tag}>')

    def _entity(self, name: str, *details: object) -> None:
        raise self._error(f"the entity '{name}' is rejected: launch files may not declare entities", '<!ENTITY>')

    def _doctype(self, name: str, system_id: str | None, public_id: str | None, internal: int) -> None:
        if system_id or public_id:
            raise self._error('an external document type is rejected', '<!DOCTYPE>')

    def _external(self, *details: object) -> int:
        raise self._error('an external entity is rejected')


def parse_xml(path: Path | str) -> Element:
    """Return the root element of an XML file.

    Args:
        path: the file, UTF-8 unless it declares another encoding, at most 4 MiB.

    Raises:
        LaunchError: the file cannot be read, is malformed, contains text between elements, or declares an entity.
    """
    path = Path(path)
    try:
        if path.exists() and not path.is_file():
            raise LaunchError(f'expected a file, found a {"directory" if path.is_dir() else "device or pipe"}', path)
        with path.open('rb') as file:
            data = file.read(MAXIMUM_SIZE + 1)
    except (OSError, ValueError) as error:
        raise LaunchError(f'the file cannot be read: {getattr(error, "strerror", None) or error}', path) from None
    if len(data) > MAXIMUM_SIZE:
        raise LaunchError(f'expected at most {MAXIMUM_SIZE} bytes, found more', path)
    builder = _Builder(path)
    try:
        builder.parser.Parse(data, True)
    except expat.ExpatError as error:
        problem = f'not well-formed XML: {expat.ErrorString(error.code)} (column {error.offset + 1})'
        raise LaunchError(problem, path, error.lineno) from None
    except (ValueError, LookupError) as error:  # an encoding that Python does not know
        raise LaunchError(f'not well-formed XML: {error}', path, 1) from None
    if builder.root is None:
        raise LaunchError('not well-formed XML: no element found', path, 1)
    return builder.root
