"""Calculations of standards for cranes and work platforms, compared with statics by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from standard_machines import PADS, TYRES, G, crane, handler, moment_ratio, polygon_payload

from dyn_nodes.analysis.outriggers import OutriggerError, outrigger_states, outriggers_of
from dyn_nodes.analysis.standards import CertifyError, CertifySettings, certify

AGREES = 0.005
CRANES = ({}, {'mass': 22000.0, 'spread': 6.2}, {'base': 6.0, 'beams': False})
STATES = {
    ', outriggers raised': TYRES,
    ', outriggers retracted': PADS,
    ', outriggers half extended': PADS,
    ', outriggers extended': PADS,
    ', outriggers down': PADS,
    'on the left only': PADS,
    'on the right only': PADS,
}


def rigid(machine, standard, **settings):
    settings = CertifySettings(**{'rigid': True, 'vary': False, 'step': 9.0, **settings})
    return certify(machine, standard, settings)


def supports_of(name):
    return next(supports for state, supports in STATES.items() if name.endswith(state))


def head_mass(joints):
    """Return the mass of the boom at its head, kg: moments along the boom about its foot."""
    out = joints.get('tip_joint', 0.0)
    head = np.array([8.3 + out, -0.5])
    return (2500.0 * np.array([3.5, 0.0]) + 1200.0 * np.array([5.5 + out, 0.0])) @ head / (head @ head)


@pytest.mark.parametrize(('standard', 'options'), [*(('en13000', each) for each in CRANES), ('en12999', CRANES[1])])
def test_rated_loads_of_cranes_are_those_of_the_lever_law(tmp_path, standard, options):
    sketch = crane(limit=1e5, **options)
    certificate = rigid(sketch.load(tmp_path), standard)
    records = [record for record in certificate.records if record['unit'] == 'kg']
    states = {record['case'].partition(' m, ')[2] for record in records}
    assert len(states) == (4 if options.get('beams') is False else 6)
    for record in records:
        joints, names = record['joints'], supports_of(record['case'])
        if 'outriggers down on' in record['case']:
            continue  # two pads and the tyres of the other side
        radius = float(record['case'].partition('radius ')[2].partition(' m')[0])
        mount = sketch.mount(joints)
        assert np.hypot(mount[0] + 0.3, mount[1]) == pytest.approx(radius, abs=0.01)
        around = [
            polygon_payload(sketch, {**joints, 'column_joint': swing}, names)
            for swing in np.radians(np.arange(-180, 180, 15))
        ]
        assert record['limit'] == pytest.approx(min(around), rel=AGREES)
        share = 0.1 * head_mass(joints) if standard == 'en13000' else 0.0
        assert record['rated'] == pytest.approx(max((record['limit'] - share) / 1.25, 0.0), rel=1e-4)


def test_loads_of_pads_are_those_of_the_moments_about_their_middle(tmp_path):
    sketch = crane(stiffness=1e8)
    machine = sketch.load(tmp_path)
    certificate = rigid(machine, 'en13000')
    table = next(
        each for each in certificate.tables if 'slew angle' in each.title and 'outriggers extended,' in each.title
    )
    load = float(table.title.rpartition(', ')[2].removesuffix(' kg').replace(',', ''))
    name = table.title.partition(': ')[2].rpartition(', ')[0]
    joints = next(record for record in certificate.records if record['case'] == name)['joints']
    compared = 0
    for row in table.rows[:-2]:
        at = {**joints, 'column_joint': np.radians(float(row[0]))}
        mass, points = sketch.masses(at)
        mass, points = np.append(mass, load), np.vstack([points, sketch.mount(at)])
        feet = np.array(sketch.feet(at, [each.name for each in machine.supports]))
        pads = np.array(['pad' in each.name for each in machine.supports])
        (along, across), total = mass @ points[:, :2], mass.sum()
        shares = (
            total / 4
            + along * feet[:, 0] / (feet[pads, 0] ** 2).sum()
            + across * feet[:, 1] / (feet[pads, 1] ** 2).sum()
        )
        if shares[pads].min() < 0.0:
            continue  # one pad lifts
        expected = 1e-3 * G * np.where(pads, shares, 0.0)
        compared += 1
        np.testing.assert_allclose([float(cell) for cell in row[1:]], expected, atol=0.006 * expected.max())
    assert compared > 2
    greatest, pressure = table.rows[-2], table.rows[-1]
    assert float(pressure[1]) == pytest.approx(float(greatest[1]) / 0.25, rel=0.01)


def test_backward_stability_is_the_part_of_the_weight_on_the_side_of_the_boom(tmp_path):
    sketch = crane()
    certificate = rigid(sketch.load(tmp_path), 'en13000')
    record = next(each for each in certificate.records if each['case'] == 'boom over the rear, outriggers extended')
    mass, points = sketch.masses(record['joints'])
    center = (mass @ points / mass.sum())[0]
    assert record['limit'] == pytest.approx(0.5 - center / 5.0, rel=AGREES)
    assert (record['required'], record['meets']) == (0.15, True)


@pytest.mark.parametrize('options', CRANES)
def test_moments_of_work_platforms_are_those_of_statics_by_hand(tmp_path, options):
    sketch = crane(limit=230.0, **options)
    records = [each for each in rigid(sketch.load(tmp_path), 'en280').records if 'down on' not in each['case']]
    lean = np.tan(np.radians(0.5))
    for record in records:
        names = supports_of(record['case'])

        def ratio(joints, names=names):
            mass, points = sketch.masses(joints)
            ground = sketch.feet(joints, names)[0][2]
            heights = points[:, 2] - ground
            mount, moving = sketch.mount(joints)[2] - ground, [1, 2, 3]
            rotation, _ = sketch.poses(joints)['tip']
            forces = [
                (1.1 * 400.0, mount + 0.5 * rotation[2, 2]),
                (1.1 * 100.0 * 1.05 + (0.1 + lean) * 230.0 * G, mount),
            ]
            forces += [(0.1 * G * mass[k], heights[k]) for k in moving] + list(zip(lean * G * mass, heights))
            return moment_ratio(sketch, joints, names, 230.0, [*forces, (1.1 * 100.0 * 2.0, heights[2])])

        assert record['limit'] == pytest.approx(ratio(record['joints']), rel=AGREES), record['case']
        around = [ratio({**record['joints'], 'column_joint': swing}) for swing in np.radians(np.arange(-180, 180, 15))]
        assert record['limit'] <= (1.0 + AGREES) * min(around)
        assert record['meets'] == (record['limit'] >= 1.0)


@pytest.mark.parametrize('options', [{}, {'mass': 9000.0}, {'track': 2.3}])
def test_moments_with_a_suspended_load_are_those_of_statics_by_hand(tmp_path, options):
    sketch = handler(slews=True, **options)
    lean, swing = np.tan(np.radians([3.0, 5.0]))
    for record in rigid(sketch.load(tmp_path), 'en1459_4').records:
        load = 1.25 * (2000.0 if 'raised' in record['case'] else 500.0)

        def ratio(joints, load=load):
            mass, points = sketch.masses(joints)
            forces = [(load * G * (lean + swing), sketch.mount(joints)[2]), *zip(lean * G * mass, points[:, 2])]
            return moment_ratio(sketch, joints, TYRES, load, forces)

        assert record['limit'] == pytest.approx(ratio(record['joints']), rel=AGREES)
        around = [ratio({**record['joints'], 'column_joint': angle}) for angle in np.radians(np.arange(-180, 180, 15))]
        assert record['limit'] <= (1.0 + AGREES) * min(around)


def test_outriggers_are_found_and_reach_the_ground(tmp_path):
    machine = crane(stiffness=2e6).load(tmp_path)
    legs, beams, pads = outriggers_of(machine)
    assert (len(legs), len(beams)) == (4, 4)
    assert set(pads) == set(PADS)
    states = outrigger_states(machine)
    assert states['outriggers extended']['front_left_beam_joint'] == pytest.approx(1.6)
    assert states['outriggers half extended']['rear_right_beam_joint'] == pytest.approx(0.8)
    left = states['outriggers extended on the left only']
    assert (left['front_left_beam_joint'], left['front_right_beam_joint']) == (pytest.approx(1.6), 0.0)
    sag = machine.total_mass * G / (4 * 2e6)  # of the pads
    assert states['outriggers extended']['front_left_leg_joint'] == pytest.approx(0.4 + 0.05 + sag)
    assert states['outriggers raised']['front_left_leg_joint'] == 0.0
    short = crane(stiffness=2e6)
    short.bodies = [replace(body, limits=(0.0, 0.3)) if body.name.endswith('leg') else body for body in short.bodies]
    with pytest.raises(
        OutriggerError, match=r"outrigger 'front_left_leg_joint': expected limits that include 0\.\d+ m"
    ):
        outrigger_states(short.load(tmp_path))
    with pytest.raises(CertifyError, match="outrigger 'front_left_leg_joint'"):
        certify(short.load(tmp_path), 'en13000')
    assert outrigger_states(handler().load(tmp_path)) == {}
