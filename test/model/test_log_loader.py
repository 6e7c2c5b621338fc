"""The log-loader's files describe the machine of abo-shanab-2003, chapter 7."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dyn_nodes.model import load_machine
from dyn_nodes.model.linkage import piston_position
from dyn_nodes.model.posture import link_poses
from dyn_nodes.stability.equilibrium.standing import at_rest

ROOT = Path(__file__).resolve().parents[2]

# table 7.2 and the readings of table 7.3, in the frames of the source
MASSES = {'base_link': 6932, 'cabin_link': 8031, 'boom_link': 1830, 'stick_link': 688}
CENTERS = {
    'base_link': (-0.056, 0, -0.23),
    'cabin_link': (-1.4, 0, -0.16),
    'boom_link': (-2.9, 0.2, 0),
    'stick_link': (-0.9, 0.1, 0),
}
SECOND_MOMENTS = {
    'cabin_link': np.diag([15700.0, 0, 200]),
    'boom_link': np.array([[15400.0, -1100, 0], [-1100, 100, 0], [0, 0, 0]]),
    'stick_link': np.diag([600, 6.9, 0]),
}


def dh(theta: float, d: float, a: float, alpha: float) -> np.ndarray:
    """Return the DH transform of the spec, section 2.0."""
    c, s, ca, sa = np.cos(theta), np.sin(theta), np.cos(alpha), np.sin(alpha)
    return np.array([[c, -ca * s, sa * s, a * c], [s, ca * c, -sa * c, a * s], [0, sa, ca, d], [0, 0, 0, 1]])


def source_frames(q: np.ndarray) -> dict[str, np.ndarray]:
    """Return the frames 6 to 9 of table 7.1 in the world, at the nine coordinates of the source."""
    half = np.pi / 2
    rows = {
        'base_link': [
            dh(half, q[0], 0, half),
            dh(half, q[1], 0, half),
            dh(0, q[2], 0, 0),
            dh(q[3], 0, 0, -half),
            dh(q[4], 0, 0, -half),
            dh(q[5], 0.23, 0, 0),
            dh(0, 0, 0.2, 0),
        ],
        'cabin_link': [dh(q[6], 0, 0.35, half), dh(0, 0.12, 0, 0)],
        'boom_link': [dh(q[7], 0, 5.2, 0)],
        'stick_link': [dh(q[8], 0, 1.8, 0)],
    }
    frames, pose = {}, np.eye(4)
    for name, factors in rows.items():
        for factor in factors:
            pose = pose @ factor
        frames[name] = pose
    return frames


@pytest.fixture(scope='module')
def machine():
    return load_machine(ROOT / 'urdf' / 'log_loader.urdf', ROOT / 'config' / 'log_loader.yaml')


def postures() -> list[np.ndarray]:
    reference = np.array([1.2, 0.1, -0.2, 0.03, -np.pi / 2 + 0.04, -np.pi / 2 + 0.05, 0.4, 0.5, -1.2])  # spec 6.9
    generator = np.random.default_rng(7)
    others = [reference + generator.uniform(-0.3, 0.3, 9) for _ in range(5)]
    return [np.array([1, 0, 0, 0, -np.pi / 2, -np.pi / 2, 0, 0, 0]), reference, *others]


@pytest.mark.parametrize('q', postures())
def test_every_link_has_the_mass_distribution_of_the_source_in_the_world(machine, q):
    frames = source_frames(q)
    joints = dict(zip(('swing_joint', 'boom_joint', 'stick_joint'), q[6:]))
    poses = link_poses(machine.links, machine.joints, joints, frames['base_link'])
    for name, mass in MASSES.items():
        link, pose, frame = machine.link(name), poses[name], frames[name]
        assert link.mass == mass
        center = frame[:3, :3] @ CENTERS[name] + frame[:3, 3]
        np.testing.assert_allclose(pose[:3, :3] @ link.com + pose[:3, 3], center, atol=1e-12)
        moments = SECOND_MOMENTS.get(name)
        tensor = np.diag([3340.0, 6683, 9778]) if moments is None else np.trace(moments) * np.eye(3) - moments
        expected = frame[:3, :3] @ tensor @ frame[:3, :3].T
        np.testing.assert_allclose(pose[:3, :3] @ link.inertia @ pose[:3, :3].T, expected, atol=1e-8)
    tip = poses['payload_link'][:3, 3]
    np.testing.assert_allclose(tip, frames['stick_link'][:3, 3], atol=1e-12)


def test_the_reference_state_of_the_source_has_its_base_and_tip(machine):
    q = postures()[1]
    frames = source_frames(q)
    np.testing.assert_allclose(frames['base_link'][:3, 3], [0.306566, -0.199210, 1.424121], atol=1e-6)
    joints = dict(zip(('swing_joint', 'boom_joint', 'stick_joint'), q[6:]))
    poses = link_poses(machine.links, machine.joints, joints, frames['base_link'])
    np.testing.assert_allclose(poses['payload_link'][:3, 3], [6.063249, 2.373308, 2.689459], atol=1e-6)


def test_masses_sum_to_17481_kg(machine):
    assert machine.total_mass == 17481
    assert machine.payload.mass == 5100
    assert machine.payload.limit == 6000


def test_positive_boom_angle_raises_the_boom(machine):
    poses = link_poses(machine.links, machine.joints, {'boom_joint': 0.5})
    assert poses['stick_link'][2, 3] == pytest.approx(5.2 * np.sin(0.5))


def test_wheels_and_friction_are_those_of_the_source(machine):
    assert [wheel.name for wheel in machine.wheels] == ['front_right', 'front_left', 'rear_right', 'rear_left']
    corners = [(1.55, -1.1, -1.2), (1.55, 1.1, -1.2), (-1.55, -1.1, -1.2), (-1.55, 1.1, -1.2)]
    for wheel, corner in zip(machine.wheels, corners):
        assert tuple(wheel.position) == corner
        assert (wheel.stiffness, wheel.damping, wheel.free_length) == (1.75e6, 7.5e4, 0.3)
        friction = wheel.friction
        assert (friction.static, friction.kinetic, friction.stribeck_speed) == (0.9, 0.5, 12.5)
        assert (friction.bristle_stiffness, friction.bristle_damping, friction.viscous) == (40, 4.9487, 0.0018)


def test_heave_has_the_frequency_and_damping_of_section_7_2(machine):
    stiffness = sum(wheel.stiffness for wheel in machine.wheels)
    damping = sum(wheel.damping for wheel in machine.wheels)
    natural = np.sqrt(stiffness / machine.total_mass)
    assert natural / (2 * np.pi) == pytest.approx(3.185, abs=5e-4)
    assert damping / (2 * machine.total_mass * natural) == pytest.approx(0.4288, abs=5e-5)


def test_the_machine_rests_as_the_spec_computes(machine):
    stance = at_rest(machine)[1]
    np.testing.assert_allclose(stance.loads, [88610, 85816, 24944, 22150], rtol=1e-4)
    assert stance.loads.sum() == pytest.approx(22581 * 9.81, rel=1e-12)
    assert np.degrees(stance.pitch) == pytest.approx(0.672, abs=5e-4)
    assert np.degrees(stance.roll) == pytest.approx(0.042, abs=5e-4)


@pytest.mark.parametrize(
    ('name', 'degrees', 'extension'),
    [
        ('boom', -10, 0.422321),
        ('boom', 0, 0.552694),
        ('boom', 30, 0.966805),
        ('boom', 60, 1.333602),
        ('stick', -110, 1.249971),
        ('stick', -60, 0.813714),
        ('stick', 0, 0.122741),
    ],
)
def test_cylinders_have_the_lengths_of_the_spec(machine, name, degrees, extension):
    actuator = machine.actuator(name)
    assert piston_position(actuator.linkage, np.radians(degrees)) == pytest.approx(extension, abs=1e-6)


def test_hydraulics_are_the_set_of_the_spec(machine):
    boom, stick, swing = (machine.actuator(name) for name in ('boom', 'stick', 'swing'))
    assert (boom.kind, swing.kind) == ('cylinder', 'motor')
    assert boom.head_area == pytest.approx(2 * np.pi / 4 * 0.12**2, rel=1e-6)
    assert boom.rod_area == pytest.approx(2 * np.pi / 4 * (0.12**2 - 0.085**2), rel=1e-6)
    assert stick.head_area == pytest.approx(np.pi / 4 * 0.14**2, rel=1e-6)
    assert stick.rod_area == pytest.approx(np.pi / 4 * (0.14**2 - 0.1**2), rel=1e-6)
    for actuator in (boom, stick, swing):
        assert actuator.supply.bulk_modulus == pytest.approx(120e3 * 6894.757, rel=1e-7)
        assert actuator.supply.orifice_coefficient == pytest.approx(0.6 * np.sqrt(2 / 850), rel=1e-6)
    assert [actuator.supply.flow for actuator in (boom, stick, swing)] == [3e-3, 2e-3, 3e-3]
    assert [actuator.valve.inlet_gain for actuator in (boom, stick, swing)] == [1.2e-2, 1.2e-2, 2e-2]
    assert [actuator.valve.outlet_gain for actuator in (boom, stick, swing)] == [6e-3, 6e-3, 2e-2]
    assert boom.supply.line_relief_pressure == 35.2e6
    assert swing.supply.line_relief_pressure == 22e6
    assert swing.displacement * 22e6 == pytest.approx(64e3, rel=0.01)


def test_values_that_the_source_does_not_have_are_marked_with_a_reason(machine):
    for key in ('wheels.front_right.position', 'actuators.boom.linkage.a', 'defaults.valve.time_constant'):
        assert machine.assumed[key]
    for key in ('defaults.wheel.stiffness', 'defaults.supply.bulk_modulus', 'payload.mass'):
        assert key not in machine.assumed
    assert all(reason.strip() for reason in machine.assumed.values())


def test_the_reactions_of_swing_bearing_and_boom_foot_are_published(machine):
    assert machine.reactions == ('swing_joint', 'boom_joint')
