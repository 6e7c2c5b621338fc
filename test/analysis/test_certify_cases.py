"""Calculations of standards with load cases, compared with statics by hand."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from standard_machines import TYRES, hand_payload, hand_slope, handler, loader, polygon_payload, side_boom, truck
from test_certify import virtual_work_lifting

from dyn_nodes.analysis import certificate_output
from dyn_nodes.analysis.standards import CertifyError, CertifySettings, certify
from dyn_nodes.analysis.standards.iso14397_1 import LIFTS, lift_capacity
from dyn_nodes.analysis.standards.posed import Posed
from dyn_nodes.cli import build_parser
from dyn_nodes.commands import certify as command
from dyn_nodes.model import load_machine
from dyn_nodes.model.posture import initial_positions

ROOT = Path(__file__).resolve().parents[2]
AGREES = 0.005
LOADERS = ({}, {'mass': 12000.0, 'wheelbase': 3.0}, {'mass': 7000.0, 'track': 1.6})


@cache
def machine_of(name):
    return load_machine(ROOT / 'urdf' / f'{name}.urdf', ROOT / 'config' / f'{name}.yaml')


def by_case(machine, standard, values=None, **settings):
    """Return the records by case, and the certificate, on rigid supports without effects."""
    settings = CertifySettings(**{'rigid': True, 'vary': False, 'values': values or {}, **settings})
    certificate = certify(machine, standard, settings)
    return {record['case']: record for record in certificate.records}, certificate


@pytest.mark.parametrize('options', LOADERS)
def test_tipping_loads_of_loaders_are_those_of_the_lever_law(tmp_path, options):
    sketch = loader(**options)
    records, certificate = by_case(sketch.load(tmp_path), 'iso14397_1')
    assert list(records) == ['straight', 'articulated fully left', 'articulated fully right']
    for name, record in records.items():
        joints = record['joints']
        reach = [sketch.mount({**joints, 'arm_joint': q, 'front_joint': 0.0})[0] for q in np.linspace(-0.8, 0.8, 2001)]
        straight = {**joints, 'front_joint': 0.0}
        assert sketch.mount(straight)[0] == pytest.approx(max(reach), abs=1e-4)
        expected = hand_payload(sketch, joints)
        assert record['limit'] == pytest.approx(expected, rel=AGREES), name
        assert record['rated'] == 0.5 * record['limit']
    assert records['articulated fully left']['limit'] < 0.95 * records['straight']['limit']
    assert f'{min(record["rated"] for record in records.values()):,.0f}' == certificate.tables[-1].rows[-1][1]


@pytest.mark.parametrize('options', LOADERS)
def test_slopes_on_rigid_supports_are_those_of_the_weight_over_the_axes(tmp_path, options):
    """All headings, laden and empty, straight and articulated; pivoted axes pass through the pivot."""
    sketch = loader(**options)
    machine = sketch.load(tmp_path)
    for joints in ({}, {'front_joint': 0.5, 'arm_joint': 0.4}):
        posed = Posed(machine, joints, rigid=True)
        for heading in np.radians([0.0, 60.0, 90.0, -120.0, 180.0]):
            for payload in (0.0, 2000.0):
                tips = posed.slope(payload, heading)
                expected = hand_slope(sketch, joints, [heading], payload)
                assert np.tan(tips.value) == pytest.approx(np.tan(expected), rel=AGREES), (joints, heading, payload)


FRONT, SIDES = [0.0], [np.pi / 2, -np.pi / 2]
TRUCKS = (
    *(
        ('iso22915_2', truck, options)
        for options in ({}, {'mass': 7500.0, 'wheelbase': 2.1, 'limit': 5200.0}, {'track': 0.85})
    ),
    *(('iso22915_3', truck, {'reach': True, **options}) for options in ({}, {'mass': 4000.0}, {'wheelbase': 1.9})),
    *(('iso22915_14', handler, options) for options in ({}, {'mass': 9000.0, 'track': 2.1}, {'wheelbase': 2.6})),
    *(('iso22915_24', handler, {'slews': True, **options}) for options in ({}, {'mass': 9000.0}, {'track': 2.2})),
)
REQUIRED = {'stacking': 7.0, 'reach': 7.0, 'lateral': 12.0}


@pytest.mark.parametrize(('standard', 'build', 'options'), TRUCKS)
def test_tilt_tables_of_trucks_are_those_of_statics_by_hand(tmp_path, standard, build, options):
    sketch = build(**options)
    records, certificate = by_case(sketch.load(tmp_path), standard)
    heavy = options.get('limit', 0.0) > 5000.0
    for name, record in records.items():
        headings = SIDES if name.startswith('Lateral') else FRONT
        joints = record['joints']
        if record['unit'] == 'kg':
            slope = np.arctan(0.12 if headings is SIDES else 0.07)
            expected = min(hand_payload(sketch, joints, slope, heading) for heading in headings)
        else:
            load = 0.0 if 'without load' in name else sketch.limit
            expected = 100.0 * np.tan(hand_slope(sketch, joints, headings, load))
            assert record['meets'] == (record['limit'] >= record['required'])
        assert record['limit'] == pytest.approx(expected, rel=AGREES), name
    slopes = {
        each.name: float(each.value.split()[0]) for each in certificate.inputs if each.name.startswith('test slope')
    }
    if standard == 'iso22915_2':
        assert slopes['test slope, longitudinal, stacking'] == (3.5 if heavy else 4.0)


def test_postures_of_a_forklift_are_raised_vertical_and_lowered_backward(tmp_path):
    records, _ = by_case(truck().load(tmp_path), 'iso22915_2')
    stacking, travel = records['Longitudinal, stacking']['joints'], records['Longitudinal, travelling']['joints']
    assert (stacking.get('mast_joint', 0.0), stacking['fork_joint']) == (0.0, pytest.approx(3.3))
    assert travel['mast_joint'] == pytest.approx(-0.1)
    assert records['Lateral, stacking']['joints'] == pytest.approx({'mast_joint': -0.1, 'fork_joint': 3.3})
    extended, _ = by_case(truck(reach=True).load(tmp_path), 'iso22915_3')
    slides = [each['joints'].get('slide_joint', 0.0) for each in extended.values()]
    assert slides == pytest.approx([0.6, 0.0, 0.0, 0.0], abs=1e-6)


def test_a_telehandler_keeps_its_forks_level(tmp_path):
    sketch = handler()
    records, _ = by_case(sketch.load(tmp_path), 'iso22915_14')
    raised, travel = records['Longitudinal, load raised']['joints'], records['Longitudinal, travelling']['joints']
    assert raised['boom_joint'] == pytest.approx(1.1, abs=1e-6)
    assert raised['fork_joint'] == pytest.approx(-1.1, abs=1e-6)
    assert raised['tip_joint'] == pytest.approx(2.5, abs=1e-6)
    assert travel.get('tip_joint', 0.0) == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize('options', LOADERS)
def test_overturning_angles_of_agricultural_machines_are_those_of_statics_by_hand(tmp_path, options):
    sketch = loader(**options)
    machine = sketch.load(tmp_path)
    records, certificate = by_case(machine, 'iso16231_2', {'load': 800.0, 'required_angle': 25.0})
    headings = {
        'downhill ahead': 0.0,
        'downhill left': np.pi / 2,
        'downhill behind': np.pi,
        'downhill right': -np.pi / 2,
    }
    for name, record in records.items():
        heading, _, loaded = name.partition(', ')
        around = [headings[heading]] if heading in headings else np.radians(np.arange(60.0, 130.0, 5.0))
        expected = np.degrees(hand_slope(sketch, {}, around, 800.0 if loaded == 'laden' else 0.0))
        assert np.tan(np.radians(record['limit'])) == pytest.approx(np.tan(np.radians(expected)), rel=AGREES), name
        assert record['meets'] == (record['limit'] >= 25.0)
    rows = dict(certificate.tables[-1].rows)
    mass, points = sketch.masses({})
    center = mass @ points / mass.sum()
    assert float(rows['centre of gravity ahead of the base'].split()[0]) == pytest.approx(center[0], abs=2e-3)
    # a real second weighing: front axle load about the rear contact line
    angle = np.radians(10.0)
    front = sketch.feet({}, ('front_left',))[0][0]
    reading = mass.sum() * (np.cos(angle) * center[0] - np.sin(angle) * center[2]) / (np.cos(angle) * front)
    expected = float(rows['front scales, nose up by 10 deg, expected'].split()[0].replace(',', ''))
    assert expected == pytest.approx(reading, rel=AGREES)
    _, weighed = by_case(machine, 'iso16231_2', {'front_reading': reading})
    height = dict(weighed.tables[-1].rows)['centre of gravity above the ground, from --set front_reading']
    assert float(height.split()[0]) == pytest.approx(center[2], rel=AGREES)


@pytest.mark.parametrize('options', [{}, {'mass': 20000.0}, {'track': 2.4}])
def test_lift_capacities_of_side_booms_are_those_of_statics_by_hand(tmp_path, options):
    """Free, the tipping axis passes through the pivot of the axle; locked, through its wheel."""
    sketch = side_boom(**options)
    records, _ = by_case(sketch.load(tmp_path), 'iso8813')
    assert {name.partition(', ')[2] for name in records} == {'oscillating axle', 'axle locked'}
    for name, record in records.items():
        joints = record['joints']
        overhang = sketch.mount(joints)[1] - sketch.wheels['front_left'][1][1]
        assert overhang == pytest.approx(float(name.split()[1]), abs=0.01)
        if name.endswith('axle locked'):
            expected = polygon_payload(sketch, joints, TYRES)
        else:
            expected = hand_payload(sketch, joints)
        assert record['limit'] == pytest.approx(expected, rel=AGREES)
        assert record['rated'] == pytest.approx(min(0.85 * record['limit'], sketch.limit))
    free, locked = (records[name] for name in records if name.startswith('overhang 3.00'))
    assert free['limit'] < 0.9 * locked['limit']


HOSTILE = (
    ('iso22915_14', 'excavator', 'iso22915_14: expected a truck without slewing arm, found the slew joint'),
    ('iso22915_24', 'telehandler', 'iso22915_24: expected a slewing arm, found no joint that slews it'),
    ('en13000', 'telehandler', 'en13000: expected a crane that slews, found no joint that slews the arm'),
    (
        'iso14397_1',
        'log_loader',
        "iso14397_1: expected a loader, with an arm that only lifts, found the slew joint 'swing_joint'",
    ),
    ('iso8813', 'forwarder', "iso8813: expected a boom that does not slew, found the slew joint 'slew_joint'"),
    ('en280', 'car', 'en280: car: a load chart needs a payload'),
    ('iso16231_2', 'arm_pa10', 'the base is fixed to the world and cannot tip over'),
    ('iso14397_1', 'walker', 'iso14397_1: walker: a load chart needs a payload'),
)


@pytest.mark.parametrize(('standard', 'name', 'message'), HOSTILE)
def test_machines_that_a_standard_does_not_cover_are_rejected_by_name(standard, name, message):
    with pytest.raises(CertifyError) as error:
        certify(machine_of(name), standard, CertifySettings(vary=False))
    assert message in str(error.value)


def test_values_of_a_standard_are_checked_and_named(tmp_path):
    machine = loader().load(tmp_path)
    for values, message in (
        ({'shape': 0.5}, r"iso14397_1: --set: expected share, found 'shape'"),
        ({'share': -0.5}, 'iso14397_1: --set share: expected 0 or more, found -0.5'),
        ({'share': np.nan}, 'iso14397_1: --set share: expected 0 or more, found nan'),
    ):
        with pytest.raises(CertifyError, match=message):
            certify(machine, 'iso14397_1', CertifySettings(vary=False, values=values))
    for posture, message in (
        ({'bucket': 0.1}, "posture: expected a joint out of .*, found 'bucket'"),
        ({'arm_joint': 2.0}, 'posture: arm_joint: expected -0.8 to 0.8, found 2'),
        ({'arm_joint': np.nan}, 'posture: arm_joint: expected -0.8 to 0.8, found nan'),
    ):
        with pytest.raises(CertifyError, match=message):
            certify(machine, 'iso14397_1', CertifySettings(vary=False, posture=posture))


def test_assumed_numbers_of_a_standard_are_named_with_their_effect(tmp_path):
    machine = loader().load(tmp_path)
    certificate = certify(side_boom().load(tmp_path), 'iso8813', CertifySettings(step=2.0))
    share = next(each for each in certificate.effects if each.keys == ('--set share',))
    assert (share.least, share.greatest) == (pytest.approx(-0.1), pytest.approx(0.1))
    source = next(each for each in certificate.inputs if each.name.startswith('rated share'))
    assert source.source.startswith('share: assumed, not confirmed')
    assert certificate.unconfirmed == ('share',)
    assert certificate.assumed == len(side_boom().load(tmp_path).assumed)
    text = certificate_output.statements(certificate)[0]
    assert text.endswith('Numbers of the standard without a public source, to be entered with --set: share.')
    chosen = certify(machine, 'iso14397_1', CertifySettings(values={'share': 0.8}))
    assert not any('--set share' in each.keys for each in chosen.effects)
    assert next(each for each in chosen.inputs if each.name.startswith('rated share')).source == 'share: --set'


def test_yielding_tyres_lower_the_tipping_load_and_are_stated(tmp_path):
    machine = loader(stiffness=4e5).load(tmp_path)
    soft, certificate = by_case(machine, 'iso14397_1', rigid=False)
    hard, _ = by_case(machine, 'iso14397_1')
    for name, record in soft.items():
        assert record['limit'] < 0.995 * hard[name]['limit']
        assert record['limit_other_supports'] == pytest.approx(hard[name]['limit'])
    assert 'If they are rigid, the rated operating capacity changes by +' in certificate.supports


@pytest.mark.slow
def test_the_lift_capacity_of_a_loader_is_the_least_of_virtual_work_over_the_range_of_its_boom():
    machine = machine_of('log_loader')
    boom, stick = machine.joint('boom_joint'), initial_positions(machine)['stick_joint']
    expected = min(
        virtual_work_lifting('log_loader', {'swing': 0.0, 'joints': {'boom_joint': q, 'stick_joint': stick}})
        for q in np.linspace(boom.lower, boom.upper, LIFTS)
    )
    assert lift_capacity(machine) == pytest.approx(expected, rel=AGREES)
    assert lift_capacity(machine_of('telehandler')) is None


STANDARDS = {
    'telehandler': ('iso14397_1', 'iso22915_14', 'en1459_4', 'iso16231_2'),
    'log_loader': ('en13000', 'en12999', 'en280'),
}


@pytest.mark.parametrize(('name', 'standard'), [(name, each) for name, some in STANDARDS.items() for each in some])
def test_the_command_writes_all_formats_of_every_standard(tmp_path, capsys, name, standard):
    files = str(ROOT / 'urdf' / f'{name}.urdf'), '--config', str(ROOT / 'config' / f'{name}.yaml')
    words = ['certify', *files, '--standard', standard, '--step', '9', '--no-effects', '--out', str(tmp_path)]
    assert command.run(build_parser(['certify']).parse_args(words)) == 0
    facts = json.loads((tmp_path / f'{standard}.json').read_text())
    assert {'limit', 'unit', 'case', 'meets', 'axis'} <= set(facts['results'][0])
    page, text = (tmp_path / f'{standard}.html').read_text(), (tmp_path / f'{standard}.txt').read_text()
    for part in (facts['standard'].split(',')[0], facts['results'][0]['subject'], facts['not_shown'][0].split(',')[0]):
        assert part in page
        assert part in text
    assert len((tmp_path / f'{standard}.csv').read_text().splitlines()) == 1 + len(facts['results'])
    assert facts['results'][0]['subject'] in capsys.readouterr().out
