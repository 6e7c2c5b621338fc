"""The log-loader with bodies of its cylinders: the joints move as with the formula, and nothing of the mass is lost."""

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
    """The log-loader whose cylinders act by the formula."""
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


def test_both_joints_move_with_the_pistons_as_the_formula_says(plain, machine):
    """The ends of every loop meet where the pistons stand as the formula of the other machine puts them."""
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


def test_the_files_have_the_places_of_the_design(plain, machine):
    places, poses = design(plain), {joint.name: joint.origin[:3, 3] for joint in machine.joints}
    loops = {loop.name: loop for loop in machine.constraints}
    found = [
        poses['boom_barrel_joint'], loops['boom_pin'].second.position, poses['rocker_joint'],
        poses['stick_barrel_joint'], loops['rocker_pin'].second.position, poses['coupler_joint'],
        loops['horn_pin'].second.position,
        loops['horn_pin'].first.position,
    ]  # fmt: skip
    wanted = [
        places.cabin_pin, places.boom_pin, places.rocker_axis, places.stick_pin, places.rocker_pin, places.rocker_end,
        places.horn, places.coupler_end,
    ]  # fmt: skip
    assert np.array(found) == pytest.approx(np.array(wanted), abs=1e-12)
    for name in ('boom', 'stick'):
        length = triangle(plain, name).retracted_length
        assert poses[f'{name}_rod_joint'] == pytest.approx([length, 0.0, 0.0])
    for joint in plain.joints:
        assert machine.joint(joint.name).origin == pytest.approx(joint.origin)


def test_the_start_is_that_of_the_plain_log_loader(plain, machine):
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


def test_the_centre_of_mass_at_the_start_is_that_of_the_plain_log_loader(plain, machine):
    found = [
        center_of_mass(own.links, link_poses(own.links, own.joints, initial_positions(own)), own.payload)[1]
        for own in (machine, plain)
    ]
    assert found[0] == pytest.approx(found[1], abs=1e-6)


def test_oil_payload_and_wheels_are_those_of_the_plain_log_loader(plain, machine):
    """The machine file repeats these numbers: they are the same, one by one."""
    for own in plain.actuators:
        other = machine.actuator(own.name)
        if own.kind == 'cylinder':
            assert other.linkage == SlidingRod(own.linkage.stroke)
            other = replace(other, joint=own.joint, linkage=own.linkage)
        assert other == own
    assert (machine.gravity, machine.slope, machine.overturn_angle) == (9.81, (0.0, 0.0), plain.overturn_angle)
    assert (machine.payload.mass, machine.payload.limit) == (plain.payload.mass, plain.payload.limit)
    assert machine.reactions == plain.reactions
    wheels = [[{**vars(own), 'position': own.position.tolist()} for own in of.wheels] for of in (plain, machine)]
    assert wheels[0] == wheels[1]
    assert len(wheels[0]) == 4
