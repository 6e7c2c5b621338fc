"""Loading of damaged files returns a Machine or raises a MachineError, nothing else."""

from __future__ import annotations

import re
import string
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dyn_nodes.commands.machine_summary import machine_summary
from dyn_nodes.model import Machine, MachineError, load_machine, load_machine_report
from dyn_nodes.model.magnitudes.machine import magnitude_warnings
from dyn_nodes.model.shapes import Shapes

ROOT = Path(__file__).resolve().parents[2]
URDF = (ROOT / 'urdf' / 'log_loader.urdf').read_text(encoding='utf-8')
CONFIG = (ROOT / 'config' / 'log_loader.yaml').read_text(encoding='utf-8')
# without shapes: faults affect relevant elements, and an example takes one or two milliseconds
BARE_URDF = re.sub(r'    <(visual|collision)>.*?</\1>\n|<!--.*?-->\n?', '', URDF, flags=re.DOTALL)
VALUES = st.sampled_from(
    [
        '',
        '0',
        '-1',
        '1e308',
        '-1e-308',
        '1e-320',
        'nan',
        'inf',
        '90',
        '1 2',
        '0 0 0',
        '1 1 1',
        '1e5 0 0',
        'x',
        'é',
        '&amp;',
        '<',
        'base_link',
        'boom_link',
        'boom_joint',
        'fixed',
        'floating',
        'revolute',
        'prismatic',
        'continuous',
    ]
)
YAML_VALUES = st.sampled_from(
    [
        '',
        '0',
        '-1',
        '1e308',
        '1e-320',
        '.nan',
        '.inf',
        '90',
        '[]',
        '{}',
        '[1, 2, 3]',
        '{value: 1}',
        '{assumed: x}',
        '~',
        'true',
        'text',
        '"1"',
        '*a',
        '&a 1',
        '!!float x',
        '- 1',
        '2001-01-01',
        '{a: b}',
        'boom_joint',
        'free',
        'planar',
    ]
)
SOME = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
"""An example takes 0.1 s; the slow test runs more of them, and `python -m faults` ten thousand."""
MANY = settings(SOME, max_examples=1000)


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp('mutations')


def check(folder: Path, urdf: str, config: str) -> None:
    urdf_path, config_path = folder / 'm.urdf', folder / 'm.yaml'
    urdf_path.write_text(urdf, encoding='utf-8', errors='surrogatepass')
    config_path.write_text(config, encoding='utf-8', errors='surrogatepass')
    machine, problems, _ = load_machine_report(urdf_path, config_path)
    if machine is None:
        assert problems
        for problem in problems:
            assert problem.file in (str(urdf_path), str(config_path))
            assert problem.line >= 0
            assert '\n' not in str(problem)
            assert 'yourdfpy' not in str(problem)  # the checks report everything before yourdfpy reads it
        return
    assert problems == ()
    assert isinstance(machine, Machine)
    assert all(np.isfinite(link.inertia).all() and np.isfinite(link.com).all() for link in machine.links)
    assert all(np.isfinite(joint.origin).all() for joint in machine.joints)
    machine_summary(machine)  # a loaded machine can be shown
    magnitude_warnings(machine, Shapes(machine.urdf), {})


def spots(pattern: str, text: str) -> list[tuple[int, int]]:
    return [match.span(1) for match in re.finditer(pattern, text, flags=re.MULTILINE)]


ATTRIBUTES = spots(r'="([^"]*)"', BARE_URDF)
ELEMENTS = spots(r'(<[a-z]+ [^>]*/>|<(?:inertial|link|joint).*?>|</[a-z]+>)', BARE_URDF)
SCALARS = spots(r': +([^\n]+?)(?: +#.*)?$', CONFIG)
KEYS = spots(r'^ *([a-z_]+):', CONFIG)
LINES = spots(r'^(.*\n)', CONFIG)
TAGS = st.sampled_from(['', '<x/>', 'twice'])
NAMES = st.sampled_from(['', 'x', 'value', 'link', '<<', '"a b"', '? [1]', 'stiffness', '1'])
BITS = st.sampled_from(['', '\n', '  ', '\t', 'x\n', ']\n', '- \n'])


def replaced(text: str, span: tuple[int, int], new: str) -> str:
    return text[: span[0]] + new + text[span[1] :]


def test_the_undamaged_files_load(folder):
    check(folder, BARE_URDF, CONFIG)
    assert load_machine(folder / 'm.urdf', folder / 'm.yaml').total_mass == 17481


@SOME
@given(st.sampled_from(ATTRIBUTES), VALUES)
def test_any_attribute_of_the_urdf(folder, span, value):
    check(folder, replaced(BARE_URDF, span, value), CONFIG)


@SOME
@given(st.sampled_from(ELEMENTS), TAGS)
def test_any_tag_of_the_urdf(folder, span, value):
    check(folder, replaced(BARE_URDF, span, 2 * BARE_URDF[slice(*span)] if value == 'twice' else value), CONFIG)


@SOME
@given(st.sampled_from(SCALARS), YAML_VALUES)
def test_any_value_of_the_yaml(folder, span, value):
    check(folder, BARE_URDF, replaced(CONFIG, span, value))


@SOME
@given(st.sampled_from(KEYS), NAMES)
def test_any_key_of_the_yaml(folder, span, value):
    check(folder, BARE_URDF, replaced(CONFIG, span, value))


@SOME
@given(st.sampled_from(LINES), BITS)
def test_any_line_of_the_yaml(folder, span, value):
    check(folder, BARE_URDF, replaced(CONFIG, span, value))


@SOME
@given(st.data())
def test_any_characters_anywhere_in_either_file(folder, data):
    text = data.draw(st.sampled_from([BARE_URDF, CONFIG]))
    start = data.draw(st.integers(0, len(text)))
    length = data.draw(st.integers(0, 30))
    noise = data.draw(st.text(st.sampled_from(string.printable + 'é\x00\ufeff\u2028\U0001f600'), max_size=5))
    damaged = text[:start] + noise + text[start + length :]
    check(folder, damaged if text is BARE_URDF else BARE_URDF, damaged if text is CONFIG else CONFIG)


@SOME
@given(st.binary(max_size=200), st.binary(max_size=200))
def test_any_bytes_at_all(folder, urdf, config):
    (folder / 'b.urdf').write_bytes(urdf)
    (folder / 'b.yaml').write_bytes(config)
    with pytest.raises(MachineError):
        load_machine(folder / 'b.urdf', folder / 'b.yaml')


@pytest.mark.slow
@MANY
@given(st.data())
def test_many_more_faults_of_every_kind(folder, data):
    kinds = [(ATTRIBUTES, VALUES), (ELEMENTS, TAGS), (SCALARS, YAML_VALUES), (KEYS, NAMES), (LINES, BITS)]
    spans, values = data.draw(st.sampled_from(kinds))
    span, value = data.draw(st.sampled_from(spans)), data.draw(values)
    if spans in (ATTRIBUTES, ELEMENTS):
        text = 2 * BARE_URDF[slice(*span)] if value == 'twice' else value
        check(folder, replaced(BARE_URDF, span, text), CONFIG)
    else:
        check(folder, BARE_URDF, replaced(CONFIG, span, value))
