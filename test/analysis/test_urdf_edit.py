"""Elements of links and joints are changed or added; the rest of a URDF does not change."""

from __future__ import annotations

import pytest

from dyn_nodes.analysis.urdf_edit import with_elements
from dyn_nodes.analysis.yaml_edit import EditError

URDF = """\
<?xml version="1.0"?>
<robot name="crane">
  <!-- ü <joint name="boom"> -->
  <link name="a > b">
    <inertial><mass value="1"/></inertial>
    <visual><origin xyz="0 0 1"/></visual>
  </link>
  <link name="empty"/>
  <joint name="boom" type="revolute">
    <dynamics damping="0"/>
    <axis xyz="0 0 1"/>
  </joint>
  <joint name="stick" type="revolute">
    <axis xyz="0 0 1"/>
  </joint>
</robot>
"""


def test_elements_are_replaced_or_added_and_nothing_else_changes():
    lines = (
        '<!-- from first -->\n<joint name="boom"> <dynamics friction="7"/> <!-- +- 1 --> </joint>\n'
        '<joint name="stick"> <dynamics friction="8"/> </joint>\n'
        '<link name="a > b"> <inertial> <mass value="2"/> </inertial> </link>'
    )
    wanted = URDF.replace('<dynamics damping="0"/>', '<dynamics friction="7"/> <!-- +- 1 -->')
    wanted = wanted.replace('<inertial><mass value="1"/></inertial>', '<inertial> <mass value="2"/> </inertial>')
    head, _, tail = wanted.rpartition('<axis xyz="0 0 1"/>')
    assert with_elements(URDF, lines) == f'{head}<axis xyz="0 0 1"/>\n    <dynamics friction="8"/>{tail}'
    assert with_elements(URDF, '') == URDF


@pytest.mark.parametrize(
    ('lines', 'message'),
    [
        ('<link name="c"> <inertial/> </link>', "expected a link 'c' in the URDF, found none"),
        ('<link name="empty"> <inertial/> </link>', "expected a link 'empty' with content in the URDF, found none"),
        ('<link', 'the lines, line 1: expected well-formed XML, found '),
        ('</lines><lines>', 'the lines, line 1: expected well-formed XML, found '),
    ],
)
def test_wrong_lines_are_reported_in_one_line(lines, message):
    with pytest.raises(EditError, match=message):
        with_elements(URDF, lines)


def test_a_dtd_is_rejected():
    with pytest.raises(EditError, match='the URDF: expected no DTD, found one'):
        with_elements(URDF.replace('<robot', '<!DOCTYPE robot [<!ENTITY a "b">]>\n<robot', 1), '')
