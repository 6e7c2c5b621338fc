"""Reader of untrusted XML files: no DTD, no entities, limited size, UTF-8 only."""

from __future__ import annotations

import re
from pathlib import Path
from typing import ClassVar

from lxml import etree
from lxml.etree import _Element as Element  # its only name

from dyn_nodes.common import textfile
from dyn_nodes.model.problems import Report, number, shorten

LARGEST_URDF = 16_000_000  # bytes; the largest humanoid descriptions have less than one
SAFE: dict[str, bool] = {
    'resolve_entities': False,
    'load_dtd': False,
    'no_network': True,
    'dtd_validation': False,
    'huge_tree': False,
}
UNDECLARED = etree.ErrorTypes.NS_ERR_UNDEFINED_NAMESPACE
_COMMENT = re.compile(r'<!--.*?-->', re.DOTALL)
_DECLARED_ENCODING = re.compile(r'^<\?xml[^>]*?encoding\s*=\s*["\']([^"\']*)["\']')
_ENCODINGS = {'utf-8', 'utf8', 'ascii', 'us-ascii'}


def read_text(path: Path, report: Report, largest: int) -> str | None:
    """Return the UTF-8 text of a file; report a fault and return None if it cannot be read."""
    try:
        return textfile.read_text(path, largest)
    except textfile.TextFileError as error:
        report.add(error.line, 'file', error.expected, error.found)
        return None


def read_urdf_text(path: Path, report: Report) -> str | None:
    """Return the text of a URDF; a xacro file is expanded if the `xacro` module can be imported."""
    text = read_text(path, report, LARGEST_URDF)
    if text is None:
        return None
    if not text.strip():
        report.add(0, 'file', 'a URDF', 'an empty file')
        return None
    return _expand_xacro(path, text, report) if path.suffix == '.xacro' else text


def parse_xml(text: str, report: Report) -> Element | None:
    """Return the root element; report a fault and return None if the text is rejected.

    A DTD is rejected before parsing, because entity bombs and external entities need one.
    """
    outside_comments = _COMMENT.sub(lambda match: '\n' * match.group().count('\n'), text)
    for mark in ('<!DOCTYPE', '<!ENTITY'):
        position = outside_comments.find(mark)
        if position >= 0:
            line = outside_comments.count('\n', 0, position) + 1
            report.add(line, 'document', 'no DTD and no entity declarations (they are rejected)', mark)
            return None
    declared = _DECLARED_ENCODING.match(text)
    if declared and declared.group(1).lower() not in _ENCODINGS:
        report.add(1, 'document', 'encoding UTF-8', declared.group(1))
        return None
    root = _parsed(text, report)
    if root is not None and root.getroottree().docinfo.internalDTD is not None:
        report.add(1, 'document', 'no DTD and no entity declarations (they are rejected)', 'a DTD')
        return None
    return root


def _parsed(text: str, report: Report) -> Element | None:
    """Return the root element without undeclared prefixes; report a fault and return None if it is not XML."""
    data = text.encode('utf-8')
    parser = etree.XMLParser(**SAFE)
    try:
        return etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        faults = [entry for entry in parser.error_log if entry.type != UNDECLARED]
        if faults or not len(parser.error_log):
            line, message = (faults[0].line, faults[0].message) if faults else (error.lineno, error.msg)
            report.add(line, 'document', 'well-formed XML', message or 'a syntax error')
            return None
    root = etree.fromstring(data, etree.XMLParser(recover=True, **SAFE))
    _leave_out_undeclared(root, report)
    return root


def _leave_out_undeclared(root: Element, report: Report) -> None:
    """Remove elements and attributes with undeclared prefixes, which extend URDF."""
    undeclared: dict[str, list[int]] = {}
    for element in list(root.iter(etree.Element)):
        tag, parent = str(element.tag), element.getparent()
        names = [str(key) for key in element.attrib if _has_prefix(str(key))]
        for name in names:
            del element.attrib[name]
        if _has_prefix(tag):
            names.append(tag)
            if parent is not None:
                parent.remove(element)
        for name in names:
            undeclared.setdefault(name.split(':')[0], []).append(int(element.sourceline or 0))
    for prefix, lines in undeclared.items():
        more = '' if len(lines) == 1 else f', {len(lines)} times'
        report.warn(lines[0], 'document', 'a prefix that an xmlns declares', f'{shorten(prefix)}:{more}, left out')


def _has_prefix(name: str) -> bool:
    """Return whether a name of lxml has an undeclared prefix; declared ones are `{namespace}`."""
    return ':' in name and not name.startswith('{')


def _expand_xacro(path: Path, text: str, report: Report) -> str | None:
    if '<!DOCTYPE' in text or '<!ENTITY' in text:
        line = text.count('\n', 0, max(text.find('<!DOCTYPE'), text.find('<!ENTITY'))) + 1
        report.add(line, 'document', 'no DTD and no entity declarations (they are rejected)', '<!DOCTYPE')
        return None
    if '<xacro:' not in text and '${' not in text and '$(' not in text:
        return text  # a plain URDF under another name
    try:
        import xacro
    except ImportError:
        advice = f'a URDF: expand it first with ROS 2, `xacro {path.name} > {path.name.split(".")[0]}.urdf`'
        report.add(0, 'document', advice, 'a xacro file (and no `xacro` module to expand it with)')
        return None
    try:
        expanded = xacro.process_file(str(path)).toprettyxml(indent='  ')
    except Exception as error:  # a xacro file is a program: it can fail in any way
        report.add(0, 'document', 'a xacro file that expands', f'{type(error).__name__}: {error}')
        return None
    if len(expanded) > LARGEST_URDF:
        report.add(0, 'document', f'at most {number(LARGEST_URDF)} bytes', f'{len(expanded)} after expansion')
        return None
    return expanded


class UrdfLines:
    """Lines of the elements of a URDF file; empty if it cannot be read."""

    _PARTS: ClassVar[dict[str, tuple[str, ...]]] = {
        'mass': ('inertial/mass',),
        'inertia': ('inertial/inertia',),
        'inertial': ('inertial/origin', 'inertial'),
        'visual': ('visual/geometry/*',),
        'geometry': ('collision/geometry/*', 'visual/geometry/*'),
    }

    def __init__(self, urdf: str) -> None:
        aside = Report(urdf)
        text = read_urdf_text(Path(urdf), aside)
        self._root = None if text is None else parse_xml(text, aside)

    def named(self, tag: str) -> dict[str, int]:
        """Return the lines of the elements of a tag (`link`, `joint`) by name."""
        if self._root is None:
            return {}
        return {(element.get('name') or '').strip(): int(element.sourceline or 0) for element in self._root.iter(tag)}

    def of(self, where: str) -> int:
        """Return the line of an element such as `link base_link, mass` or `joint boom_joint, limit effort`; 0: none."""
        thing, _, part = where.partition(', ')
        tag, _, name = thing.partition(' ')
        for element in self._root.iter(tag) if self._root is not None else ():
            if (element.get('name') or '').strip() != name:
                continue
            word = part.partition(' ')[0]
            inner = (element.find(path) for path in self._PARTS.get(word, (word,)))
            target = next((candidate for candidate in inner if candidate is not None), element)
            return int(target.sourceline or 0)
        return 0
