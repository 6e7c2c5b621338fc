"""Load charts of arms with closed loops: hand geometry and virtual work, MuJoCo, the same arm without linkages."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from load_witness import payloads

from dyn_nodes.analysis.load_chart import ChartSettings, limits_of, load_chart
from dyn_nodes.analysis.load_chart_output import table_rows
from dyn_nodes.analysis.load_statics import LoadChartError, LoadStatics
from dyn_nodes.model import load_machine
from dyn_nodes.model.posture import center_of_mass, link_poses

ROOT = Path(__file__).resolve().parents[2]
LEVEL = np.array([0.0, 0.0, -9.81])
ARM = ('boom_joint', 'arm_joint', 'bucket_joint')
CYLINDERS = ('boom', 'arm', 'bucket')


@cache
def machine_of(name):
    return load_machine(str(ROOT / 'urdf' / f'{name}.urdf'), str(ROOT / 'config' / f'{name}.yaml'))


@cache
def statics_of(name):
    return LoadStatics(machine_of(name))


# --------------------------------------------------------------- the excavator's linkages by plane geometry, by hand


def along(pin, barrel):
    """Return the angle of a cylinder about an axis (0, -1, 0) and the distance of its pins, in the plane x, z."""
    x, z = np.subtract(pin, barrel)
    return np.arctan2(z, x), np.hypot(x, z)


def turned(point, angle, origin):
    """Return a point (x, z) after a turn about (0, -1, 0) and a shift."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([origin[0] + c * point[0] - s * point[1], origin[1] + s * point[0] + c * point[1]])


def hand_positions(boom, arm, bucket, swing=0.0):
    """Return positions of all joints of the excavator, and the lengths of its cylinders, from its drawing."""
    at = {'swing_joint': swing, 'boom_joint': boom, 'arm_joint': arm, 'bucket_joint': bucket}
    lengths = {}
    pins = {
        'boom': (turned((1.930681636, 1.054736185), boom, (0.228, 0.837)), (0.632046479, 0.327837509), 1.6),
        'arm': (turned((-0.831750428, 0.175189113), arm, (5.648, 0.0)), (3.260838459, 0.742603378), 1.78),
    }
    idler, horn = np.array([2.509, -0.045]), turned((0.027587509, 0.389023045), bucket, (2.889, 0.0))
    # the pin of idler and coupler: circles of 0.7 m about the idler's axis and of 0.65 m about the horn's pin
    angle, distance = along(horn, idler)
    opening = np.arccos((0.7**2 + distance**2 - 0.65**2) / (2.0 * 0.7 * distance))
    at['idler_joint'] = angle + opening
    middle = idler + 0.7 * np.array([np.cos(at['idler_joint']), np.sin(at['idler_joint'])])
    at['coupler_joint'] = along(horn, middle)[0] - at['idler_joint']
    pins['bucket'] = (middle, (0.5, 0.66), 1.55)
    for name, (pin, barrel, closed) in pins.items():
        at[f'{name}_barrel_joint'], lengths[name] = along(pin, barrel)
        at[f'{name}_rod_joint'] = lengths[name] - closed
    return at, lengths


def potential_energy(machine, angles, payload):
    at, _ = hand_positions(*angles)
    load = replace(machine.payload, mass=payload)
    mass, center = center_of_mass(machine.links, link_poses(machine.links, machine.joints, at), load)
    return mass * 9.81 * center[2]


def hand_force(machine, angles, k, payload):
    """Return the force of a cylinder, N, by virtual work: rise of the weights per extension."""
    one, two = (np.array(angles, dtype=float) for _ in range(2))
    one[k], two[k] = one[k] - 1e-5, two[k] + 1e-5
    rise = potential_energy(machine, two, payload) - potential_energy(machine, one, payload)
    return rise / (hand_positions(*two)[1][CYLINDERS[k]] - hand_positions(*one)[1][CYLINDERS[k]])


def hand_lifting(machine, angles):
    """Return the payload at which the first cylinder needs 34.3 MPa, the other side at 0.2 MPa, kg."""
    areas = {
        'boom': (2.261947e-2, 1.127046e-2),
        'arm': (1.431388e-2, 7.225663e-3),
        'bucket': (1.038689e-2, 5.360342e-3),
    }
    payloads = []
    for k, name in enumerate(CYLINDERS):
        head, rod = areas[name]
        empty = hand_force(machine, angles, k, 0.0)
        per_kg = (hand_force(machine, angles, k, 1000.0) - empty) / 1000.0
        strength = 34.3e6 * head - 0.2e6 * rod if per_kg > 0.0 else 0.2e6 * head - 34.3e6 * rod
        payloads.append(max((strength - empty) / per_kg, 0.0))
    return min(payloads)


POSTURES = [(0.5, -1.6, -1.0), (-0.3, -0.9, 0.4), (0.9, -2.4, -2.1), (0.2, -0.7, 0.3), (1.0, -0.8, -0.6)]


@pytest.mark.parametrize('angles', POSTURES)
def test_joints_of_the_loops_follow_the_drawing(angles):
    statics = statics_of('excavator')
    at, _ = hand_positions(*angles)
    for linkage in statics.linkages:
        x = np.array([at[linkage.coordinate]])
        expected = [at[name] for name in linkage.joints]
        np.testing.assert_allclose(linkage.positions(x)[0], expected, atol=2e-8)  # the file's pins have 9 decimals
        assert linkage.drive.endswith('_rod_joint')


@pytest.mark.parametrize('angles', POSTURES)
def test_hydraulic_lift_capacity_is_that_of_virtual_work(angles):
    machine = machine_of('excavator')
    unlimited = replace(machine, payload=replace(machine.payload, limit=1e6))
    limits = limits_of(LoadStatics(unlimited), ChartSettings(), np.array([angles]), np.zeros(1))
    lifting = float(limits.payloads(LEVEL[None]).lifting[0, 0])
    assert lifting == pytest.approx(hand_lifting(machine, angles), rel=1e-5)


@pytest.mark.parametrize('swing', [0.0, 0.4, np.pi / 2, -2.5])
def test_rigid_tipping_load_is_that_of_the_lever_law(swing):
    """The masses are those of the files with the loops closed by hand; the axes are middle lines and end rollers."""
    machine, angles = machine_of('excavator'), (0.2, -0.7, 0.3)
    limits = limits_of(statics_of('excavator'), ChartSettings(), np.array([angles]), np.array([swing]))
    tipping = float(limits.payloads(LEVEL[None]).tipping[0, 0])
    at, _ = hand_positions(*angles, swing=swing)
    poses = link_poses(machine.links, machine.joints, at)
    mass, center = center_of_mass(machine.links, poses, None)
    mount = poses['bucket_link'][:3, :3] @ [0.7, 0.0, -0.05] + poses['bucket_link'][:3, 3]
    levers = []
    for axis, half in ((0, 1.685), (1, 1.1)):
        for sign in (1.0, -1.0):
            beyond = sign * mount[axis] - half
            if beyond > 0.0:
                levers.append(mass * (half - sign * center[axis]) / beyond)
    assert tipping == pytest.approx(min(levers), rel=1e-6)


def test_linkages_are_computed_again_only_for_another_arm():
    machine = machine_of('excavator')
    linkages = LoadStatics(machine).linkages
    assert LoadStatics(replace(machine, payload=replace(machine.payload, mass=10.0))).linkages is linkages
    raised = {**machine.initial.joint_positions, 'boom_joint': 0.3}
    started = replace(machine, initial=replace(machine.initial, joint_positions=raised))
    shorter = replace(machine, joints=tuple(replace(joint, upper=0.9 * joint.upper) for joint in machine.joints))
    for other in (started, shorter):
        assert LoadStatics(other).linkages is not linkages


def test_a_chart_of_a_linkage_is_that_of_the_arm_without_it():
    """The log-loader has its cylinders as levers in one file, as bodies in another: same strength, other masses."""
    plain, linked = statics_of('log_loader'), statics_of('log_loader_linkage')
    arm = plain.arm_grid(5)[1:]
    q = plain.arm_positions(arm, 0.7)
    one, two = plain.demand(q, LEVEL), linked.demand(q, LEVEL)
    np.testing.assert_allclose(two.wrench_per_kg, one.wrench_per_kg, atol=1e-9)
    for k, linkage in enumerate(linked.linkages):
        rate = linkage.drive_rate(arm[:, k])
        np.testing.assert_allclose(two.effort_per_kg[:, k + 1] * rate, one.effort_per_kg[:, k + 1], atol=1e-9)
        for holding in (False, True):
            low, high = (np.sort(side[:, k + 1] * np.abs(rate)) for side in linked.capacities(q, holding))
            other = plain.capacities(q, holding)
            if rate[0] < 0.0:
                low, high = np.sort(-high), np.sort(-low)
            np.testing.assert_allclose(low, np.sort(other[0][:, k + 1]), rtol=1e-9)
            np.testing.assert_allclose(high, np.sort(other[1][:, k + 1]), rtol=1e-9)
    settings = ChartSettings(reach_step=1.0, swing_step=np.pi / 2)
    charts = [load_chart(machine_of(name), settings) for name in ('log_loader', 'log_loader_linkage')]
    assert charts[0].reaches[-1] == pytest.approx(charts[1].reaches[-1], abs=1e-6)
    # the arm with cylinders as bodies is heavier by 50 kg, and the cabin lighter
    np.testing.assert_allclose(charts[1].tipping[0, -1], charts[0].tipping[0, -1], rtol=0.05)


def test_limits_of_linkages_are_those_of_each_state():
    """Stops included: the kernels for many states against inverse dynamics of each state."""
    statics = statics_of('excavator')
    settings = ChartSettings()
    arm, swings = np.array(POSTURES), np.array([0.0, 1.0, 2.5])
    limits = limits_of(statics, settings, arm, swings)
    gravity = np.array([9.81 * np.sin(0.1), 0.0, -9.81 * np.cos(0.1)])
    result = limits.payloads(gravity[None])
    expected = payloads(statics, settings, limits.positions, 0.1, [0.0])
    for values, other in zip(result, expected):
        np.testing.assert_allclose(values.ravel(), other, rtol=1e-7, atol=1e-6)


def test_accelerations_of_the_loops_are_those_of_the_drawing():
    """Effort of a moving arm against the finite difference of its energy, by hand positions over time."""
    statics, machine = statics_of('excavator'), machine_of('excavator')
    q, rate = np.array([[0.0, 0.5, -1.6, -1.0]]), np.array([[0.0, 0.3, -0.4, 0.5]])
    acceleration = np.array([[0.0, 0.2, 0.1, -0.3]])
    _, effort = statics.forces(q, LEVEL, rate, acceleration, 0.0)
    at = [hand_positions(*(q + h * rate + 0.5 * h * h * acceleration)[0, 1:])[1] for h in (-1e-4, 0.0, 1e-4)]
    speeds = np.array([(at[2][name] - at[0][name]) / 2e-4 for name in CYLINDERS])
    power = float(effort[0, 1:] @ speeds)

    def energy(h):
        step = 1e-4
        poses = []
        for time in (h - step, h, h + step):
            moved = (q + time * rate + 0.5 * time**2 * acceleration)[0, 1:]
            poses.append(link_poses(machine.links, machine.joints, hand_positions(*moved)[0]))
        total = 0.0
        for link in machine.links:
            before, here, after = (pose[link.name] for pose in poses)
            point = [pose[:3, :3] @ link.com + pose[:3, 3] for pose in (before, here, after)]
            speed = (point[2] - point[0]) / (2.0 * step)
            spin = here[:3, :3].T @ (after[:3, :3] - before[:3, :3]) / (2.0 * step)
            turn = np.array([spin[2, 1], spin[0, 2], spin[1, 0]])
            total += 0.5 * link.mass * speed @ speed + 0.5 * turn @ link.inertia @ turn + link.mass * 9.81 * point[1][2]
        return total

    assert power == pytest.approx((energy(1e-3) - energy(-1e-3)) / 2e-3, rel=1e-4)


def test_the_chart_of_the_excavator_names_its_limits():
    machine = machine_of('excavator')
    chart = load_chart(machine, ChartSettings(reach_step=2.0, swing_step=np.pi / 2, height=2.0))
    assert chart.joints == ARM
    reached = np.isfinite(chart.heights)
    np.testing.assert_allclose(chart.heights[reached], 2.0, atol=1e-4)
    for posture, lifting in zip(chart.postures[reached], chart.lifting[0, reached, 0]):
        assert lifting == pytest.approx(hand_lifting(machine, posture), rel=1e-4)
    assert {cell.split()[-1].rstrip('*') for row in table_rows(chart, 0) for cell in row[3:]} <= set('THDPL')


@pytest.mark.parametrize(
    ('changes', 'message'),
    [
        (
            'two drives',
            r"one freedom and one drive, found 1 freedoms and the drives boom_joint, boom_rod_joint with 'boom_pin'",
        ),
        ('no drive', r"one freedom and one drive, found 1 freedoms and the drives none with 'boom_pin'"),
    ],
)
def test_loops_without_one_drive_are_rejected_by_name(changes, message):
    machine = machine_of('excavator')
    if changes == 'two drives':
        machine = replace(machine, joint_classes=tuple(e for e in machine.joint_classes if e.joint != 'boom_joint'))
    else:
        boom = machine.actuator('boom')
        passive = [replace(j, effort_limit=0.0) if j.name == boom.joint else j for j in machine.joints]
        machine = replace(
            machine, joints=tuple(passive), actuators=tuple(a for a in machine.actuators if a.name != 'boom')
        )
    with pytest.raises(LoadChartError, match=message):
        LoadStatics(machine)
