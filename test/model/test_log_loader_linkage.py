"""The log-loader with bodies of its cylinders: the joints move by the formula, and the total mass is unchanged."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from linkage_design import BARS, HORN_ANGLE, ROCKER_ANGLE, design, lighter_links, linkage_positions, triangle

from dyn_nodes.model import load_machine, load_machine_report
from dyn_nodes.model.machine import SlidingRod
from dyn_nodes.model.posture import center_of_mass, initial_positions, link_poses

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope='module')
def plain():
    """Return the log-loader whose cylinders act by the formula."""
    return load_machine(ROOT / 'urdf' / 'log_loader.urdf', ROOT / 'config' / 'log_loader.yaml')


@pytest.fixture(scope='module')
def report():
    return load_machine_report(ROOT / 'urdf' / 'log_loader_linkage.urdf', ROOT / 'config' / 'log_loader_linkage.yaml')


@pytest.fixture(scope='module')
def machine(report):
    return report.machine


def postures(plain):
    ranges = (plain.joint(name) for name in ('boom_joint', 'stick_joint'))
    boom, stick = (np.linspace(joint.lower, joint.upper, 12) for joint in ranges)
    return [(a, b) for a in boom for b in stick]


def test_the_files_are_sound(report):
    assert [str(problem) for problem in (*report.problems, *report.warnings)] == []


def test_both_joints_move_with_the_pistons_by_the_formula(plain, machine):
    """The ends of every loop meet at the piston positions from the formula of the plain machine."""
    for boom, stick in postures(plain):
        positions = linkage_positions(plain, boom, stick)
        poses = link_poses(machine.links, machine.joints, positions)
        for loop in machine.constraints:
            first, second = (poses[end.link] @ [*end.position, 1.0] for end in (loop.first, loop.second))
            assert first == pytest.approx(second, abs=1e-11), loop.name


def test_every_joint_stays_within_its_limits_over_the_ranges_of_boom_and_stick(plain, machine):
    for boom, stick in postures(plain):
        for name, position in linkage_positions(plain, boom, stick).items():
            joint = machine.joint(name)
            assert joint.lower - 1e-9 <= position <= joint.upper + 1e-9, name


def test_the_coupler_keeps_away_from_its_dead_centres(plain):
    """The parallelogram is never flat: its sides stay 25 degrees apart."""
    stick = plain.joint('stick_joint')
    angles = np.degrees(HORN_ANGLE + np.array([stick.lower, stick.upper]) - ROCKER_ANGLE)
    assert angles == pytest.approx([-155.0, -25.0], abs=1e-4)


def test_the_files_have_the_points_of_the_design(plain, machine):
    points, poses = design(plain), {joint.name: joint.origin[:3, 3] for joint in machine.joints}
    loops = {loop.name: loop for loop in machine.constraints}
    actual = [
        poses['boom_barrel_joint'], loops['boom_pin'].second.position, poses['rocker_joint'],
        poses['stick_barrel_joint'], loops['rocker_pin'].second.position, poses['coupler_joint'],
        loops['horn_pin'].second.position,
        loops['horn_pin'].first.position,
    ]  # fmt: skip
    expected = [
        points.cabin_pin, points.boom_pin, points.rocker_axis, points.stick_pin, points.rocker_pin, points.rocker_end,
        points.horn, points.coupler_end,
    ]  # fmt: skip
    assert np.array(actual) == pytest.approx(np.array(expected), abs=1e-12)
    for name in ('boom', 'stick'):
        length = triangle(plain, name).retracted_length
        assert poses[f'{name}_rod_joint'] == pytest.approx([length, 0.0, 0.0])
    for joint in plain.joints:
        assert machine.joint(joint.name).origin == pytest.approx(joint.origin)


def test_the_start_equals_the_plain_log_loaders(plain, machine):
    start = initial_positions(plain)
    expected = linkage_positions(plain, start['boom_joint'], start['stick_joint'])
    assert initial_positions(machine) == pytest.approx({**start, **expected}, abs=1e-12)


def test_the_bodies_take_their_masses_from_the_links_that_carried_them(plain, machine):
    for name, bar in BARS.items():
        link = machine.link(name)
        assert (link.mass, np.linalg.norm(link.com)) == pytest.approx((bar.mass, abs(bar.center)), abs=1e-6)
        assert np.linalg.eigvalsh(link.inertia) == pytest.approx(np.sort(bar.moments), abs=1e-5)
    for name, link in lighter_links(plain).items():
        assert machine.link(name).mass == pytest.approx(link.mass, abs=1e-6)
        assert machine.link(name).com == pytest.approx(link.com, abs=1e-6)
        assert machine.link(name).inertia == pytest.approx(link.inertia, abs=1e-5)
    assert machine.total_mass == pytest.approx(plain.total_mass, abs=1e-5)


def test_the_centre_of_mass_at_the_start_equals_the_plain_log_loaders(plain, machine):
    centres = [
        center_of_mass(
            loader.links, link_poses(loader.links, loader.joints, initial_positions(loader)), loader.payload
        )[1]
        for loader in (machine, plain)
    ]
    assert centres[0] == pytest.approx(centres[1], abs=1e-6)


def test_oil_payload_and_wheels_equal_the_plain_log_loaders(plain, machine):
    """The machine file repeats these numbers."""
    for actuator in plain.actuators:
        other = machine.actuator(actuator.name)
        if actuator.kind == 'cylinder':
            assert other.linkage == SlidingRod(actuator.linkage.stroke)
            other = replace(other, joint=actuator.joint, linkage=actuator.linkage)
        assert other == actuator
    assert (machine.gravity, machine.slope, machine.overturn_angle) == (9.81, (0.0, 0.0), plain.overturn_angle)
    assert (machine.payload.mass, machine.payload.limit) == (plain.payload.mass, plain.payload.limit)
    assert machine.reactions == plain.reactions
    wheels = [
        [{**vars(wheel), 'position': wheel.position.tolist()} for wheel in loader.wheels] for loader in (plain, machine)
    ]
    assert wheels[0] == wheels[1]
    assert len(wheels[0]) == 4
