"""The pages for operators and researchers say what the machine does and what there is."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import dyn_nodes as dn

pytestmark = pytest.mark.timeout(900)  # the first that needs them compiles the kernels of a machine
DOCS = Path(__file__).resolve().parents[2] / 'docs'
JOINTS = {'boom_joint': 0.6, 'stick_joint': -1.2, 'swing_joint': 0.0}


@pytest.fixture(scope='module')
def loader():
    return dn.load('log_loader')


@pytest.mark.parametrize('lever', ['boom', 'stick', 'swing'])
def test_volts_of_the_operators_page_move_what_it_says(loader, lever):
    text = (DOCS / 'tutorials' / 'operator.md').read_text()
    head = re.search(r'^\| lever \|(.*)\| moves \|$', text, re.MULTILINE).group(1)
    volts = [float(word.removesuffix(' V')) for word in re.findall(r'-?\d V', head)]
    row = re.search(rf'^\| {lever} \|(.*)$', text, re.MULTILINE).group(1).split('|')[: len(volts)]
    for voltage, told in zip(volts, row):
        run = loader.simulate(1.5, voltage={lever: voltage}, joints=JOINTS, payload=1000.0)
        angle = run[f'{lever}_joint']
        speed = np.degrees(angle[-1] - angle[100]) / (run.times[-1] - run.times[100])
        assert float(told) == pytest.approx(speed, abs=0.06), voltage


def test_three_volts_do_not_lift_the_boom_and_four_do(loader):
    rises = []
    for voltage in (3.0, 4.0, 5.0):
        boom = loader.simulate(1.5, voltage={'boom': voltage}, joints=JOINTS, payload=1000.0)['boom_joint']
        rises.append(np.degrees(boom[-1] - boom[100]))
    assert abs(rises[0]) < 0.02 < rises[1] < rises[2]


def test_gauges_of_the_operators_page_are_those_of_the_measures():
    from dyn_nodes.measures import DEFAULT_MEASURES, MEASURES

    text = (DOCS / 'tutorials' / 'operator.md').read_text()
    for name in DEFAULT_MEASURES:
        unit = f', {MEASURES[name].display_unit}' if MEASURES[name].unit != '1' or name == 'load_share' else ''
        display = unit.replace(', N m', ', kN m').replace(', J', ', kJ')
        assert f'| {MEASURES[name].label}{display} |' in text, name


def test_every_study_stands_on_the_page_of_its_source():
    from dyn_nodes.studies.listing import listed_studies

    names = set(listed_studies())
    pages = {path.stem.replace('_', '-'): path.read_text() for path in (DOCS / 'sources').glob('*.md')}
    assert len(pages) == 5
    for name in names:
        assert f'`{name}`' in pages[name.partition('/')[0]], name
    for source, text in pages.items():
        assert set(re.findall(rf'`({source}/[\w-]+)`', text)) <= names, source


def test_the_picture_of_the_layers_has_every_room():
    import ast

    picture = (DOCS / 'images' / 'architecture.svg').read_text()
    (layers,) = re.findall(r'^LAYERS = (\(.*?^\))', (DOCS.parent / 'test' / 'test_layers.py').read_text(), re.M | re.S)
    rooms = set().union(*ast.literal_eval(layers)) - {'cli', 'entry'}
    missing = [room for room in rooms if f'>{room}/<' not in picture]
    assert not missing, 'python docs/architecture.py docs/images/architecture.svg'


@pytest.mark.parametrize('page', ['tutorials/control_engineer', 'contributing/first_change', 'tutorials/researcher'])
def test_python_of_the_reader_pages_runs(page):
    names: dict = {'__name__': page}
    for block in re.findall(r'^```python\n(.*?)^```', (DOCS / f'{page}.md').read_text(), re.M | re.S):
        exec(block, names)
    if page == 'control_engineer':  # the law with its limits lowers the load; without them the machine overturns
        run, boom = names['run'], names['boom']
        assert run.status == 'done'
        assert run['boom_joint'][-1] == pytest.approx(0.6, abs=0.05)
        rash = names['machine'].simulate(
            8.0, voltage=lambda t, x: {'boom': float(np.clip(40.0 * (0.6 - x[boom]), -8.0, 8.0))}, period=0.005
        )
        assert rash.overturned
        assert rash.times[-1] == pytest.approx(4.5, abs=0.1)


def test_the_map_names_files_that_exist_and_an_afternoon_is_short():
    text = (DOCS / 'contributing' / 'architecture.md').read_text()
    paths = {
        path: DOCS.parent / 'dyn_nodes' / path for path in re.findall(r'`([\w/]+\.py)`', text) if path[:5] != 'test/'
    }
    assert [path for path, file in paths.items() if not file.is_file()] == []
    (afternoon,) = re.findall(r'^## The first afternoon\n(.*?)^## ', text, re.M | re.S)
    files = re.findall(r'^\| `([\w/]+\.py)` \|', afternoon, re.M)
    assert len(files) == len(set(files)) <= 27
    assert sum(len(paths[path].read_text().splitlines()) for path in files) < 7000
    source = {path: file.read_text() for path, file in paths.items()}
    for name, path in re.findall(r'`([A-Z]\w+|\w+_\w+)(?:\.\w+)?`[\w\s]* \(`([\w/]+\.py)`\)', text):
        assert re.search(rf'^\s*(?:class|def) {name}\b|^{name}\b', source[path], re.M), (name, path)
