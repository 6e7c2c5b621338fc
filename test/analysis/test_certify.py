"""Calculations of standards: ISO 10567 against hand statics, the load chart and its outputs."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from test_load_linkage import hand_lifting, hand_positions

import dyn_nodes as dn
from dyn_nodes.analysis import certificate_output
from dyn_nodes.analysis.closed_hand import ClosedHand
from dyn_nodes.analysis.load_chart import ChartSettings, limits_of
from dyn_nodes.analysis.load_rest import rest_limits
from dyn_nodes.analysis.load_statics import LoadStatics
from dyn_nodes.analysis.standards import CertifyError, CertifySettings, certify, standards
from dyn_nodes.cli import build_parser
from dyn_nodes.commands import certify as command
from dyn_nodes.constraints import assemble
from dyn_nodes.model import load_machine
from dyn_nodes.model.posture import center_of_mass, link_poses

ROOT = Path(__file__).resolve().parents[2]
MACHINES = ('excavator', 'log_loader', 'log_loader_linkage')
LEVEL = np.array([[0.0, 0.0, -9.81]])


def files(name):
    return str(ROOT / 'urdf' / f'{name}.urdf'), str(ROOT / 'config' / f'{name}.yaml')


@cache
def machine_of(name):
    return load_machine(*files(name))


@cache
def statics_of(name):
    return LoadStatics(machine_of(name))


@cache
def certificate_of(name, rigid=False):
    return certify(machine_of(name), 'iso10567', CertifySettings(step=2.0, rigid=rigid, vary=False))


@cache
def closed_hand(name):
    return ClosedHand(machine_of(name), machine_of(name).payload.link)


def positions_of(name, record, shift=None):
    """Return positions of all joints of a cell, loops closed by other code, with a joint of the arm shifted."""
    at = {'swing_joint': record['swing'], **record['joints']}
    for joint, step in (shift or {}).items():
        at[joint] += step
    if name == 'excavator':
        arm = [at[joint] for joint in ('boom_joint', 'arm_joint', 'bucket_joint')]
        return hand_positions(*arm, swing=at['swing_joint'])[0]
    if name == 'log_loader':
        return at
    hand = closed_hand(name)
    q = hand.start.copy()
    for share in np.linspace(0.0, 1.0, 9)[1:]:  # in steps, so that no loop folds
        for joint, value in at.items():
            k = hand.names.index(joint)
            q[k] = hand.start[k] + share * (value - hand.start[k])
        q = assemble(hand.blocks, q, held=list(at))
    return dict(zip(hand.names, q.tolist()))


def lever_law(name, record):
    """Return the tipping load on rigid supports by the moments about the four edges, kg."""
    machine = machine_of(name)
    poses = link_poses(machine.links, machine.joints, positions_of(name, record))
    mass, center = center_of_mass(machine.links, poses, None)
    payload = machine.payload
    mount = poses[payload.link][:3, :3] @ payload.position + poses[payload.link][:3, 3]
    loads = [np.inf]
    for axis, half in enumerate((1.685, 1.1) if name == 'excavator' else (1.55, 1.10)):
        for sign in (1.0, -1.0):
            beyond = sign * mount[axis] - half
            if beyond > 0.0:
                loads.append(mass * (half - sign * center[axis]) / beyond)
    return min(loads)


def energy(name, at, payload):
    machine = machine_of(name)
    load = replace(machine.payload, mass=payload)
    mass, center = center_of_mass(machine.links, link_poses(machine.links, machine.joints, at), load)
    return 9.81 * mass * center[2]


def virtual_work_lifting(name, record):
    """Return the payload at which a cylinder of the log-loader needs 32 MPa, the other side at 0.2 MPa, kg."""
    machine, loads = machine_of(name), []
    for joint, actuator in (('boom_joint', machine.actuator('boom')), ('stick_joint', machine.actuator('stick'))):
        ends = [positions_of(name, record, {joint: step}) for step in (-1e-5, 1e-5)]
        if name == 'log_loader':
            t = actuator.linkage
            lengths = [
                np.sqrt(t.a**2 + t.b**2 - 2 * t.a * t.b * np.cos(t.direction * at[joint] + t.angle)) for at in ends
            ]
        else:
            lengths = [at[actuator.joint] for at in ends]
        force = [np.diff([energy(name, at, mass) for at in ends])[0] / np.diff(lengths)[0] for mass in (0.0, 1000.0)]
        empty, per_kg = force[0], (force[1] - force[0]) / 1000.0
        push = 32e6 * actuator.head_area - 0.2e6 * actuator.rod_area
        pull = 0.2e6 * actuator.head_area - 32e6 * actuator.rod_area
        loads.append(((push if per_kg > 0.0 else pull) - empty) / per_kg)
    return min(loads)


def test_each_standard_is_one_module_of_its_name():
    kinds = standards()
    assert 'iso10567' in kinds
    assert all(kind.__module__.endswith(f'.{name}') for name, kind in kinds.items())
    with pytest.raises(CertifyError, match=r"standard: expected .*iso10567.*, found 'iso10568' \(did you mean"):
        certify(machine_of('log_loader'), 'iso10568')


@pytest.mark.parametrize('name', MACHINES)
def test_tipping_loads_of_all_cells_are_those_of_the_lever_law(name):
    records = certificate_of(name, rigid=True).records
    assert {record['direction'] for record in records} == {'over front', 'over side', 'all round'}
    for record in records:
        assert record['tipping'] == pytest.approx(lever_law(name, record), rel=1e-5)


@pytest.mark.parametrize('name', MACHINES)
def test_lift_capacities_of_all_cells_are_those_of_virtual_work(name):
    for record in certificate_of(name).records:
        if record['direction'] != 'over front':
            continue
        expected = (
            hand_lifting(machine_of(name), list(record['joints'].values()))
            if name == 'excavator'
            else virtual_work_lifting(name, record)
        )
        assert record['lifting'] == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize('name', MACHINES)
def test_the_lift_point_is_in_its_cell_and_the_lesser_share_is_rated(name):
    machine, certificate = machine_of(name), certificate_of(name)
    payload = machine.payload
    origin = np.array([0.108, -0.034]) if name == 'excavator' else np.zeros(2)
    ground = 0.0 if name == 'excavator' else -1.5
    for record in certificate.records:
        poses = link_poses(machine.links, machine.joints, positions_of(name, record))
        mount = poses[payload.link][:3, :3] @ payload.position + poses[payload.link][:3, 3]
        assert np.hypot(*(mount[:2] - origin)) == pytest.approx(record['reach'], abs=1e-5)
        assert mount[2] - ground == pytest.approx(record['height'], abs=0.03)  # the base sinks into its springs
        assert record['rated'] == min(0.75 * record['tipping'], 0.87 * record['lifting'])
        assert record['limited_by'] == ('tipping' if record['rated'] == 0.75 * record['tipping'] else 'hydraulics')
    front, side, around = (
        [record for record in certificate.records if record['direction'] == direction]
        for direction in ('over front', 'over side', 'all round')
    )
    for one, two, three in zip(front, side, around):
        assert three['rated'] <= min(one['rated'], two['rated']) + 1e-9
        assert one['tips_when_slewed'] == (one['rated'] > three['tipping'])
    assert any(one['tips_when_slewed'] for one in front)


@pytest.mark.parametrize('name', MACHINES)
def test_no_posture_at_the_height_reaches_farther(name):
    """Against a fine grid of the arm's first two joints."""
    statics = statics_of(name)
    records = [each for each in certificate_of(name).records if each['direction'] == 'over front' and each['farthest']]
    lower, upper = statics.arm_limits
    grid = np.tile(list(records[0]['joints'].values()), (400 * 400, 1))
    both = np.meshgrid(np.linspace(lower[0], upper[0], 400), np.linspace(lower[1], upper[1], 400))
    grid[:, :2] = np.stack(both, axis=-1).reshape(-1, 2)
    q = statics.arm_positions(grid)
    reach, height = statics.reach(q), statics.height(q)
    for record in records:
        near = np.abs(height - record['height']) < 0.01
        assert record['reach'] == pytest.approx(reach[near].max(), abs=0.05)


def test_the_load_chart_gives_the_same_limits():
    """The same cells with the kernels of the load chart, at all slew angles, on yielding and on rigid supports."""
    statics = statics_of('excavator')
    arm, swings = np.array([[0.5, -1.6, -1.0], [0.2, -0.7, 0.3], [-0.3, -0.9, 0.4]]), np.array([0.0, 0.7, 2.0])
    chart = limits_of(statics, ChartSettings(), arm, swings)
    payloads = chart.payloads(LEVEL)
    for rigid, tipping in ((True, payloads.tipping), (False, chart.equilibria(LEVEL, False)[1])):
        limits = rest_limits(statics, arm, swings, rigid)
        np.testing.assert_allclose(limits.tipping, tipping, rtol=1e-6)
        np.testing.assert_allclose(limits.lifting, payloads.lifting[:, 0], rtol=1e-9)


def test_every_assumed_value_is_varied_or_named_without_effect():
    machine = machine_of('excavator')
    certificate = certify(machine, 'iso10567', CertifySettings(step=3.0))
    varied = [key for effect in certificate.effects for key in effect.keys]
    assert sorted([*varied, *certificate.unaffected]) == sorted(machine.assumed)
    assert certificate.assumed == len(machine.assumed)
    by_key = {effect.keys[0]: effect for effect in certificate.effects}
    tracks = by_key['contacts.left_track.stiffness']
    assert tracks.keys == ('contacts.left_track.stiffness', 'contacts.right_track.stiffness')
    # the pressure of the pumps, from two complete calculations with changed files
    plain = {(r['direction'], r['cell']): r for r in certificate.records if r['direction'] != 'all round'}
    for factor, expected in ((0.9, by_key['defaults.supply.relief_pressure'].least), (1.1, None)):
        changed = load_machine(*files('excavator'), {'defaults.supply.relief_pressure': factor * 34.3e6})
        other = certify(changed, 'iso10567', CertifySettings(step=3.0, vary=False)).records
        change = [
            record['rated'] / plain[record['direction'], record['cell']]['rated'] - 1.0
            for record in other
            if record['direction'] != 'all round'
        ]
        if expected is not None:
            # the cells with extreme values have the greatest effect up to a third
            assert min(change) <= expected + 1e-9
            assert expected < 0.66 * min(change)
        else:
            assert by_key['defaults.supply.relief_pressure'].greatest <= max(change) + 1e-9


def test_an_effect_is_the_change_of_the_calculation():
    """Heavier springs of the log-loader: the changed file gives the changed values of the extreme cells."""
    machine = machine_of('log_loader_linkage')
    result = certify(machine, 'iso10567', CertifySettings(step=3.0))
    effect = next(each for each in result.effects if each.keys == ('payload.position',))
    assert effect.change == 'each component ± 0.1'
    statics = statics_of('log_loader_linkage')
    front = [r for r in result.records if r['direction'] == 'over front' and r['limited_by'] == 'tipping']
    far = min(front, key=lambda record: record['rated'])
    arm = np.array([list(far['joints'].values())])
    moved = replace(machine, payload=replace(machine.payload, position=np.array([0.1, 0.0, 0.0])))
    farther = rest_limits(LoadStatics(moved), arm, np.zeros(1)).tipping[0, 0]
    change = farther / rest_limits(statics, arm, np.zeros(1)).tipping[0, 0] - 1.0
    assert -0.15 < effect.least <= change < 0.0


def test_machines_outside_the_standard_are_rejected_by_name():
    with pytest.raises(
        CertifyError, match='telehandler: iso10567: expected an arm with hydraulic actuators, found luff'
    ):
        certify(load_machine(*files('telehandler')), 'iso10567')
    with pytest.raises(CertifyError, match=r"posture: expected a joint out of .*, found 'bucket'"):
        certify(machine_of('excavator'), 'iso10567', CertifySettings(posture={'bucket': 0.0}))


def test_a_coarse_grid_has_the_greatest_reach_alone():
    records = certify(machine_of('log_loader'), 'iso10567', CertifySettings(step=30.0, vary=False)).records
    assert {(record['height'], record['farthest']) for record in records} == {(0.0, True)}


def test_joints_outside_the_grid_keep_the_posture_of_the_option():
    result = certify(machine_of('excavator'), 'iso10567', CertifySettings(3.0, {'bucket_joint': 0.3}, vary=False))
    assert {record['joints']['bucket_joint'] for record in result.records} == {0.3}
    kept = next(each for each in result.inputs if each.name.startswith('bucket_joint'))
    assert (kept.value, kept.source) == ('0.3 rad or m', '--posture')


def test_the_library_gives_the_same():
    result = dn.certify('log_loader', 'iso10567', step=2.0, vary=False)
    assert list(result.records) == list(certificate_of('log_loader').records)


def test_the_command_writes_page_json_csv_and_text(tmp_path, capsys):
    urdf, config = files('log_loader')
    words = ['certify', urdf, '--config', config, '--standard', 'iso10567', '--step', '3', '--out', str(tmp_path)]
    assert command.run(build_parser(['certify']).parse_args(words)) == 0
    shown = capsys.readouterr().out
    count = len(machine_of('log_loader').assumed)
    assert f'{count} values of the machine file are assumed' in shown
    facts = json.loads((tmp_path / 'iso10567.json').read_text())
    with (tmp_path / 'iso10567.csv').open(newline='') as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(facts['results'])
    np.testing.assert_allclose([float(row['rated']) for row in rows], [each['rated'] for each in facts['results']])
    assert {'boom_joint', 'stick_joint', 'tipping', 'lifting', 'limited_by'} <= set(rows[0])
    page, text = (tmp_path / 'iso10567.html').read_text(), (tmp_path / 'iso10567.txt').read_text()
    for part in ('ISO 10567:2007', 'Rated lift capacity, kg, over side', f'{count} values', 'lift test on the real'):
        assert part in page
        assert part in text
    assert 'dyn-nodes certify' in page
    assert '<script' not in page
    assert facts['supports'].startswith(
        'Springs, tyres and tracks yield as in the machine file. If they are rigid, the'
    )


def test_a_load_below_the_ground_is_rated_by_the_balance_of_moments():
    """Below the front wheels the load swings inward as the machine leans: it never loses its equilibrium."""
    machine = load_machine(*files('log_loader_planar'))
    records = certify(machine, 'iso10567', CertifySettings(vary=False)).records
    low = next(each for each in records if (each['height'], each['reach']) == (-1.5, 4.5))
    statics, arm = LoadStatics(machine), np.array([list(low['joints'].values())])
    assert np.isinf(rest_limits(statics, arm, np.zeros(1)).tipping).all()
    balance = limits_of(statics, ChartSettings(), arm, np.zeros(1)).payloads(LEVEL).tipping
    assert low['tipping'] == pytest.approx(float(balance[0, 0]), rel=1e-9)


def test_the_state_of_the_supports_is_stated_with_its_effect():
    yielding, rigid = certificate_of('log_loader'), certificate_of('log_loader', rigid=True)
    changes = [100.0 * (b['rated'] / a['rated'] - 1.0) for a, b in zip(yielding.records, rigid.records)]
    assert max(changes) > 0.1
    assert f'changes by {min(changes):+.1f} to {max(changes):+.1f} %.' in yielding.supports
    assert rigid.supports.startswith('Springs, tyres and tracks are rigid. If they yield, the rated lift capacity')


def test_a_name_is_text_on_the_page():
    certificate = replace(certificate_of('log_loader'), machine='<b>&$title')
    page = certificate_output.as_html(certificate)
    assert '&lt;b&gt;&amp;$title' in page
    assert '<b>&' not in page
