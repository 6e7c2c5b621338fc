"""Calculations of standards with load cases, compared with statics by hand."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from standard_machines import hand_payload, hand_slope, handler, loader, truck

from dyn_nodes.analysis.standards import CertifyError, CertifySettings, certify
from dyn_nodes.analysis.standards.posed import Posed
from dyn_nodes.model import load_machine

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
    """All headings, laden and empty, straight and articulated: pivoted axes pass through the pivot, above the ground."""
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
    *(('iso22915_2', truck, options) for options in ({}, {'mass': 7500.0, 'wheelbase': 2.1, 'limit': 5200.0}, {'track': 0.85})),
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
    slopes = {each.name: float(each.value.split()[0]) for each in certificate.inputs if each.name.startswith('test slope')}
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
