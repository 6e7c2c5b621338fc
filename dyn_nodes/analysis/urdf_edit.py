"""Elements of links and joints in the text of a URDF, where comments, order and layout of everything else stay."""

from __future__ import annotations

from typing import NamedTuple
from xml.parsers import expat

from dyn_nodes.analysis.yaml_edit import EditError

OWNERS = ('link', 'joint')
Key = tuple[str, str]
"""Tag and name of a link or joint."""


class Elements(NamedTuple):
    """Places in a document of one link or joint, indices of bytes.

    Attributes:
        children: start and end of the first child of each tag.
        content: where its content begins.  end: where its closing tag begins.
    """

    children: dict[str, tuple[int, int]]
    content: int
    end: int


def with_elements(urdf: str, lines: str) -> str:
    """Return the text of a URDF with other children of links and joints.

    Args:
        urdf: well-formed, without a DTD.
        lines: `<link name="..."> <inertial>...</inertial> </link>` and `<joint>` one after another, each with one
            element to take the place of that of its tag, or to be added, and remarks.

    Raises:
        EditError: one of them is not well-formed, or a link or joint is not in the URDF.
    """
    data, wanted = urdf.encode(), f'<lines>{lines}</lines>'.encode()
    there, changes = _elements(data, 'the URDF'), list[tuple[int, int, bytes]]()
    for key, own in _elements(wanted, 'the lines').items():
        if key not in there:
            raise EditError(f'expected a {key[0]} {key[1]!r} in the URDF, found none')
        if data[there[key].end : there[key].end + 2] != b'</':
            raise EditError(f'expected a {key[0]} {key[1]!r} with content in the URDF, found none')
        content = wanted[own.content : own.end].strip()
        for tag in own.children:
            if tag in there[key].children:
                start, end = there[key].children[tag]
                changes.append((start, end, content))
            else:
                end = len(data[: there[key].end].rstrip())
                changes.append((end, end, b'\n    ' + content))
    for start, end, content in sorted(changes, reverse=True):
        data = data[:start] + content + data[end:]
    return data.decode()


def _elements(data: bytes, what: str) -> dict[Key, Elements]:
    parser = expat.ParserCreate()
    found: dict[Key, Elements] = {}
    stack: list[tuple[str, int]] = []
    owner: list[Key] = []

    def start(tag: str, attributes: dict[str, str]) -> None:
        index = parser.CurrentByteIndex
        if len(stack) == 1 and tag in OWNERS:
            owner[:] = [(tag, attributes.get('name', ''))]
            found[owner[0]] = Elements({}, data.index(b'>', _behind_values(data, index)) + 1, 0)
        stack.append((tag, index))

    def end(tag: str) -> None:
        index, begin = parser.CurrentByteIndex, stack.pop()[1]
        if len(stack) == 2 and owner:
            opened = _behind_values(data, begin)
            closed = opened + 1 if data[opened - 1 : opened] == b'/' else data.index(b'>', index) + 1
            found[owner[0]].children.setdefault(tag, (begin, closed))
        elif len(stack) == 1 and owner:
            found[owner[0]] = found[owner[0]]._replace(end=index)
            owner.clear()

    def refuse(*_: object) -> None:
        raise EditError(f'{what}: expected no DTD, found one')

    parser.StartElementHandler, parser.EndElementHandler, parser.StartDoctypeDeclHandler = start, end, refuse
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise EditError(f'{what}, line {error.lineno}: expected well-formed XML, found {error}') from None
    return found


def _behind_values(data: bytes, index: int) -> int:
    """Return an index behind the quoted values of the tag that begins at an index: they may hold a `>`."""
    quote = 0
    for place in range(index, len(data)):
        byte = data[place]
        if quote:
            quote = 0 if byte == quote else quote
        elif byte in b'"\'':
            quote = byte
        elif byte == ord('>'):
            return place
    return len(data)
