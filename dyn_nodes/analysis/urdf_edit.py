"""Changes of elements of links and joints in the text of a URDF that keep comments, order and layout."""

from __future__ import annotations

from typing import NamedTuple
from xml.parsers import expat

from dyn_nodes.analysis.yaml_edit import EditError

OWNERS = ('link', 'joint')
Key = tuple[str, str]
"""Tag and name of a link or joint."""


class Elements(NamedTuple):
    """Byte offsets of one link or joint in a document.

    Attributes:
        children: start and end of the first child of each tag.
        content: start of its content.  end: start of its closing tag.
    """

    children: dict[str, tuple[int, int]]
    content: int
    end: int


def with_elements(urdf: str, lines: str) -> str:
    """Return the text of a URDF with changed children of links and joints.

    Args:
        urdf: well-formed document without a DTD.
        lines: `<link name="..."> <inertial>...</inertial> </link>` and `<joint>` in sequence, each with one
            element that replaces the element of its tag or is added; and comments.

    Raises:
        EditError: a text is not well-formed, or a link or joint is not in the URDF.
    """
    data, wanted = urdf.encode(), f'<lines>{lines}</lines>'.encode()
    existing, changes = _elements(data, 'the URDF'), list[tuple[int, int, bytes]]()
    for key, element in _elements(wanted, 'the lines').items():
        if key not in existing:
            raise EditError(f'expected a {key[0]} {key[1]!r} in the URDF, found none')
        if data[existing[key].end : existing[key].end + 2] != b'</':
            raise EditError(f'expected a {key[0]} {key[1]!r} with content in the URDF, found none')
        content = wanted[element.content : element.end].strip()
        for tag in element.children:
            if tag in existing[key].children:
                start, end = existing[key].children[tag]
                changes.append((start, end, content))
            else:
                end = len(data[: existing[key].end].rstrip())
                changes.append((end, end, b'\n    ' + content))
    for start, end, content in sorted(changes, reverse=True):
        data = data[:start] + content + data[end:]
    return data.decode()


def _elements(data: bytes, name: str) -> dict[Key, Elements]:
    parser = expat.ParserCreate()
    elements: dict[Key, Elements] = {}
    stack: list[tuple[str, int]] = []
    owner: list[Key] = []

    def start(tag: str, attributes: dict[str, str]) -> None:
        index = parser.CurrentByteIndex
        if len(stack) == 1 and tag in OWNERS:
            owner[:] = [(tag, attributes.get('name', ''))]
            elements[owner[0]] = Elements({}, data.index(b'>', _behind_values(data, index)) + 1, 0)
        stack.append((tag, index))

    def end(tag: str) -> None:
        index, start_index = parser.CurrentByteIndex, stack.pop()[1]
        if len(stack) == 2 and owner:
            opened = _behind_values(data, start_index)
            closed = opened + 1 if data[opened - 1 : opened] == b'/' else data.index(b'>', index) + 1
            elements[owner[0]].children.setdefault(tag, (start_index, closed))
        elif len(stack) == 1 and owner:
            elements[owner[0]] = elements[owner[0]]._replace(end=index)
            owner.clear()

    def reject(*_: object) -> None:
        raise EditError(f'{name}: expected no DTD, found one')

    parser.StartElementHandler, parser.EndElementHandler, parser.StartDoctypeDeclHandler = start, end, reject
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise EditError(f'{name}, line {error.lineno}: expected well-formed XML, found {error}') from None
    return elements


def _behind_values(data: bytes, index: int) -> int:
    """Return the index of the `>` that ends a tag; quoted values of the tag may contain a `>`."""
    quote = 0
    for position in range(index, len(data)):
        byte = data[position]
        if quote:
            quote = 0 if byte == quote else quote
        elif byte in b'"\'':
            quote = byte
        elif byte == ord('>'):
            return position
    return len(data)
