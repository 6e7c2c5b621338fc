"""Every writer of XML, YAML, HTML, JavaScript and of graphs: names are escaped.

A test requires every new module that writes markup to be in `WRITERS`.
"""

from __future__ import annotations

import ast
import html.parser
import re
from pathlib import Path
from types import SimpleNamespace as Simple
from unittest import mock
from xml.etree import ElementTree

import pytest
import yaml
from attacks import ATTACKS, CONTROL
from lxml import etree

from dyn_nodes.analysis import certificate_output, excitation, fit_lines, report
from dyn_nodes.analysis.sheets import machine_files
from dyn_nodes.analysis.standards.standard import Certificate, Effect, Input, ResultTable
from dyn_nodes.analysis.urdf_edit import with_elements
from dyn_nodes.commands import attach, graph, init_yaml
from dyn_nodes.commands.node_graph import NodeGraph
from dyn_nodes.common.printing import xml_remark, yaml_word
from dyn_nodes.control.voltage_profile import Segment, VoltageProfile
from dyn_nodes.governor.campaign import replay as governor_replay
from dyn_nodes.middleware.launching import SubstitutionError, interpret, literal
from dyn_nodes.model import load_machine
from dyn_nodes.studies import page
from dyn_nodes.studies.framework import Claim, Study, StudyResult
from dyn_nodes.viewer import gauges, page_script, player, replay
from dyn_nodes.viewer.snapshot import Margin
from roslite.bags import metadata
from roslite.launching.parameters import guess, to_yaml
from roslite.runtime.dds import domain_configuration

ROOT = Path(__file__).resolve().parents[2]
HOSTILE = {
    **ATTACKS,
    'quotes': '"\'`',
    'script': '<script>alert(1)</script>',
    'command': "$(command 'touch MARK')",
    'eval': "$(eval '1 + 1')",
    'comment': 'a --> <b/> <!-- --- b',
    'yaml list': '- a',
    'yaml key': 'a: {b: c}',
    'yaml word': 'yes',
    'yaml number': '0x1F',
    'yaml comment': 'a # b',
    'yaml end': '...',
    'yaml tag': '!!python/object/apply:os.system',
    'emoji': 'a\U0001f600b',
    'backslash': 'a\\nb\\',
    'template': '$title ${title}',
}
each = pytest.mark.parametrize('name', HOSTILE.values(), ids=HOSTILE)
each_text = pytest.mark.parametrize('name', [*HOSTILE.values(), *CONTROL.values()], ids=[*HOSTILE, *CONTROL])
WRITERS = {
    'analysis/certificate_output.py', 'analysis/fit_lines.py', 'analysis/report.py', 'analysis/urdf_edit.py',
    'analysis/shape_inertia.py', 'analysis/sheets/machine_files.py', 'commands/attach.py', 'commands/graph.py',
    'roslite/runtime/dds.py', 'studies/page.py', 'analysis/sweeps/replay.py', 'viewer/gauges.py', 'viewer/panel.py',
    'viewer/player.py', 'viewer/replay.py',
}  # fmt: skip
"""Modules that put texts into markup; `sweeps/replay.py` has its tests in test/sweeps/test_store.py."""
NO_MARKUP = re.compile(r'library/|model/schema_doc')
"""Modules with representations of Python objects, and a page of the documentation."""


class _Tags(html.parser.HTMLParser):
    """Collects tags, attributes and text of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ''

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data):
        self.text += data


def shape(text: str) -> tuple[list[str], list[str]]:
    """Return the tags and the names of the attributes of a page: names must not change them."""
    parser = _Tags()
    parser.feed(text)
    return parser.tags, [name for name, _ in parser.attributes]


def assert_same_shape(make, name: str) -> None:
    assert shape(make(name)) == shape(make('plain'))
    parser = _Tags()
    parser.feed(make(name))
    assert ''.join(name.split())[:10] in ''.join(parser.text.split())


# -- all writers are known ---


def _written(path: Path) -> bool:
    """Return whether a module has a text with a markup tag and a value in it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.JoinedStr):
            fixed = ''.join(part.value for part in node.values if isinstance(part, ast.Constant))
            values = len(node.values) > sum(isinstance(part, ast.Constant) for part in node.values)
            tagged = re.search(r'<(?:!--|/?[a-zA-Z]+(?:[ >][^ ]|/>))', fixed) and re.search(r'</|/>|="|-->', fixed)
            if values and tagged:
                return True
    return False


def test_every_module_that_writes_markup_is_tested_here():
    writing = {
        str(path.relative_to(ROOT)).removeprefix('dyn_nodes/')
        for package in ('dyn_nodes', 'roslite')
        for path in (ROOT / package).rglob('*.py')
        if _written(path)
    }
    assert {name for name in writing if not NO_MARKUP.match(name)} - WRITERS == set()


# -- HTML ---


@each
def test_gauges_of_the_page(name):
    def made(text):
        margins = {text: Margin(0.5, (0.5, 0.6), (text, text))}
        return (
            gauges.gauges(margins, gauges.Scale())
            + gauges.friction_gauges({text: 0.5, 'b': 0.2})
            + gauges.banner('running', text, text)
            + gauges.dead_parts({text: (-1.0, 1.0)}, {text: 0.5})
            + gauges.spoken(text, 'ok', text)
            + replay._heading(text)
        )

    assert_same_shape(made, name)


@each
def test_words_of_an_animation(name):
    def made(text):
        shown = mock.MagicMock()
        shown.animation.title = shown.animation.note = text
        shown.animation.span, shown.animation.duration, shown.animation.bodies = 1.0, 1.0, {}
        shown.handles, shown._plots = {}, {}
        with mock.patch.object(player, 'TimeLine'):
            player.Player.show(shown, text)
        return shown._words.content

    assert_same_shape(made, name)


@each
def test_page_of_the_studies(name, tmp_path):
    def made(text):
        claim = Claim(text, text, text, text, text, 'exact', True)
        result = StudyResult(Study(text, text, print), [claim], [], [text], 1.0, text)
        page.write_page([result], tmp_path / 'page.html', text)
        return (tmp_path / 'page.html').read_text(encoding='utf-8')

    assert_same_shape(made, name)


@each
def test_tables_of_the_report(name):
    def made(text):
        plot = {key: Simple(svg=text.encode()) for key in report.CAPTIONS}
        return report.html_table((text, text), [(text, text)]) + ''.join(report._figures(plot)) + report.html_text(text)

    assert_same_shape(made, name)


@each
def test_page_of_a_certificate(name):
    def made(text):
        text = f'x{text}'  # cells of columns of words start with a letter
        table = ResultTable(text, text, (text, text), ((text, text),))
        effect = Effect((text,), text, text, text, 0.0, float('nan'))
        inputs = (Input(text, text, text),)
        parts = (text, (text,), text, inputs, (table,), (), (effect,), (text,), (text,), (text,))
        return certificate_output.as_html(Certificate(text, text, *parts), text)

    assert_same_shape(made, name)


def test_the_script_of_the_page_is_constant():
    """It is a constant without names, tokens and paths."""
    tree = ast.parse(Path(page_script.__file__).read_text())
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]
    assert page_script.with_script(b'<head></head>').count(page_script.SCRIPT.encode()) == 1


# -- XML ---


@each_text
def test_urdf_of_a_data_sheet(name):
    text = machine_files._urdf(Simple(links=()), name, name, name)
    root = ElementTree.fromstring(text.encode())
    assert (root.tag, list(root.attrib), list(root)) == ('robot', ['name'], [])


@each_text
def test_names_do_not_end_comments_of_xml(name):
    root = ElementTree.fromstring(f'<a><!-- {xml_remark(name)} --><b/></a>'.encode())
    assert [child.tag for child in root] == ['b']


@each
def test_lines_of_a_fit_name_the_joint_and_the_link(name):
    urdf = '<robot><joint name={0}><dynamics friction="1"/></joint><link name={0}><inertial/></link></robot>'
    urdf = urdf.format(fit_lines.quoteattr(name))
    fit = mock.MagicMock(used=(0.0, 1.0), log=name)
    fit.mechanics.dry = {name: Simple(value=2.0, half_width=0.1)}
    fit.machine.joint.return_value = Simple(damping=0.5)
    fit.mechanics.offsets = {name: Simple(value=0.2, half_width=0.1)}
    with (
        mock.patch.object(fit_lines, 'dry_is_seen', return_value=True),
        mock.patch.object(fit_lines, '_inertial_lines', return_value=[]),
    ):
        lines = fit_lines.urdf_lines(fit)
    edited = etree.fromstring(with_elements(urdf, lines))
    assert edited.find('joint').get('name') == name
    assert edited.find('joint/dynamics').get('friction') == '2'
    assert list(yaml.safe_load(fit_lines.offset_lines(fit))['joints']) == [name]


@each
def test_a_joined_machine_keeps_its_names(name, tmp_path, monkeypatch):
    from test_names import machine_files, names

    monkeypatch.chdir(tmp_path)
    machine = load_machine(*machine_files(name))
    args = Simple(to=names(name)['base'], prefix='p', platform='machine.urdf', arm='machine.urdf', xyz=[0] * 3,
                  rpy=[0] * 3, name=None, joint=None, mount=None, output=None)  # fmt: skip
    with (
        mock.patch.object(attach, '_name', return_value=name),
        mock.patch.object(attach, '_mount', return_value=name),
        mock.patch.object(attach, '_point_at_meshes'),
    ):
        text, _ = attach._joined(machine, machine, args)
    root = etree.fromstring(text.encode())
    assert root.get('name') == name
    assert {child.tag for child in root if isinstance(child.tag, str)} == {'link', 'joint'}


@each_text
def test_peers_of_the_middleware(name):
    text = domain_configuration({'ROS_STATIC_PEERS': name, 'ROS_AUTOMATIC_DISCOVERY_RANGE': 'SUBNET'})
    peers = [peer.get('address') for peer in ElementTree.fromstring(text.encode()).iter('Peer')]
    wanted = [peer for peer in name.split(';') if peer and peer.isprintable()]
    assert ''.join(peers).split() == ''.join(wanted).split()


@each_text
def test_texts_of_launch_files(name, tmp_path):
    if not name.isprintable():
        with pytest.raises(SubstitutionError, match='expected printable characters'):
            literal(name)
        return
    value = fit_lines.quoteattr(literal(name))
    path = tmp_path / 'a.launch.xml'
    path.write_text(
        f'<launch><set_parameter name={value} value={value}/><node pkg="dyn_nodes" exec="recorder_node"/></launch>',
        encoding='utf-8',
    )
    words = interpret(path).children[0].arguments
    assert words[-1] == f'{name}:={to_yaml(guess(name))}'


# -- YAML ---


@each
def test_words_of_yaml(name):
    word = yaml_word(name)
    assert yaml.safe_load(f'{word}: [{word}, {{{word}: {word}}}]') == {name: [name, {name: name}]}
    assert yaml.safe_load(to_yaml({name: [name]})) == {name: [name]}


@each_text
def test_metadata_of_a_bag(name):
    topic = metadata.TopicRecord(name, name, name, ())
    content = yaml.safe_load(metadata.metadata_text('mcap', name, {topic: 3}, 0, 1, {name: name}))
    about = content['rosbag2_bagfile_information']
    assert about['relative_file_paths'] == [name]
    assert about['topics_with_message_count'][0]['topic_metadata']['name'] == name
    assert about['custom_data'] == {name: name}


def _profile(name):
    return VoltageProfile(name, 2.0, (Segment(name, 0.0, 1.0, 0.1, {name: 2.0}),))


@each
def test_tasks_that_repeat_a_run_of_the_governor(name):
    case = mock.MagicMock(mass=1.0, payload=1.0, known_payload=1.0, state_delay=0.0, command_delay=0.0, duration=1.0)
    case.pitch = case.roll = 0.0
    record = Simple(case=case, governed=True, outcome=Simple(overturned=False, lifted=False, time=1.0))
    with (
        mock.patch.object(governor_replay, 'lever_profile', return_value=_profile(name)),
        mock.patch.object(governor_replay, '_troubles', return_value=[]),
    ):
        text = governor_replay.task_text(name, record, (name,), Path('a.yaml'))
    assert yaml.safe_load(text)['segments'] == [{'name': name, 'start': 0, 'end': 1, 'ramp': 0.1, 'volts': {name: 2}}]


@each
def test_tasks_of_a_plan_of_excitation(name):
    text = excitation.task_text(Simple(profile=_profile(name)), Simple(actuators=[Simple(name=name)]), 1)
    assert yaml.safe_load(text)['segments'] == [
        {'name': name, 'start': 0.0, 'end': 1.0, 'ramp': 0.1, 'volts': {name: 2}}
    ]


@each_text
def test_first_machine_yaml(name):
    lines = init_yaml._explained(['joints:'], [(f'{yaml_word("a")}: 1', name)])
    assert yaml.safe_load(lines) == {'joints': {'a': 1}}
    assert yaml.safe_load(init_yaml._flow({'a': 'b'})) == {'a': 'b'}
    assert set(yaml.safe_load(init_yaml._assumed('1.0', name))) == {'value', 'assumed'}
    head = init_yaml.HEAD.format(name=yaml_word('a'), urdf=init_yaml.printable(name))
    assert yaml.safe_load(head) == {'name': 'a'}


# -- graphs ---


@each_text
def test_graphs_of_nodes(name):
    system = NodeGraph([name], {name: name}, {name: [name]}, {name: [name]})
    plain = NodeGraph(['a'], {'a': 'a'}, {'a': ['a']}, {'a': ['a']})
    for text in (graph.mermaid, graph.dot):
        assert len(text(system).splitlines()) == len(text(plain).splitlines())
    labels = [line for line in graph.mermaid(system).splitlines() if '[' in line]
    assert all(line.count('"') == 2 for line in labels)
    strings = re.findall(r'"(?:[^"\\]|\\.)*"', graph.dot(system))
    assert len(strings) == len(re.findall(r'"(?:[^"\\]|\\.)*"', graph.dot(plain)))
