"""Read an XML file that nobody has vouched for: no DTD, no entities, no surprises of size or encoding."""

from __future__ import annotations

import re
from pathlib import Path

from lxml import etree

from dyn_nodes import textfile
from dyn_nodes.model.problems import Report, number

LARGEST_URDF = 16_000_000  # bytes; the largest humanoid descriptions have less than one
_COMMENT = re.compile(r'<!--.*?-->', re.DOTALL)
_DECLARED_ENCODING = re.compile(r'^<\?xml[^>]*?encoding\s*=\s*["\']([^"\']*)["\']')
_ENCODINGS = {'utf-8', 'utf8', 'ascii', 'us-ascii'}


def read_text(path: Path, report: Report, largest: int) -> str | None:
    """Return the UTF-8 text of a file, or None after recording why it can't be read."""
    try:
        return textfile.read_text(path, largest)
    except textfile.TextFileError as error:
        report.add(error.line, 'file', error.expected, error.found)
        return None


def read_urdf_text(path: Path, report: Report) -> str | None:
    """Return the text of a URDF; a xacro file is expanded where the `xacro` module can be imported."""
    text = read_text(path, report, LARGEST_URDF)
    if text is None:
        return None
    if not text.strip():
        report.add(0, 'file', 'a URDF', 'an empty file')
        return None
    return _expand_xacro(path, text, report) if path.suffix == '.xacro' else text


def parse_xml(text: str, report: Report) -> etree._Element | None:
    """Return the root element, or None after recording why the text is refused.

    A DTD is refused before a parser sees it: entity bombs and external entities need one.
    """
    outside_comments = _COMMENT.sub(lambda match: '\n' * match.group().count('\n'), text)
    for mark in ('<!DOCTYPE', '<!ENTITY'):
        place = outside_comments.find(mark)
        if place >= 0:
            line = outside_comments.count('\n', 0, place) + 1
            report.add(line, 'document', 'no DTD and no entity declarations (they are refused)', mark)
            return None
    declared = _DECLARED_ENCODING.match(text)
    if declared and declared.group(1).lower() not in _ENCODINGS:
        report.add(1, 'document', 'encoding UTF-8', declared.group(1))
        return None
    parser = etree.XMLParser(
        resolve_entities=False, load_dtd=False, no_network=True, dtd_validation=False, huge_tree=False
    )
    try:
        root = etree.fromstring(text.encode('utf-8'), parser)
    except etree.XMLSyntaxError as error:
        report.add(error.lineno, 'document', 'well-formed XML', error.msg or 'a syntax error')
        return None
    if root.getroottree().docinfo.internalDTD is not None:
        report.add(1, 'document', 'no DTD and no entity declarations (they are refused)', 'a DTD')
        return None
    return root


def _expand_xacro(path: Path, text: str, report: Report) -> str | None:
    if '<!DOCTYPE' in text or '<!ENTITY' in text:
        line = text.count('\n', 0, max(text.find('<!DOCTYPE'), text.find('<!ENTITY'))) + 1
        report.add(line, 'document', 'no DTD and no entity declarations (they are refused)', '<!DOCTYPE')
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
