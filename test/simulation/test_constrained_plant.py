"""Plants with constraints against runs of the system, hand balances and closed forms."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from joint_machines import Part, machine_of

from dyn_nodes.constraints import constrained_dynamics
from dyn_nodes.model import load_machine
from dyn_nodes.simulation import Inputs, Settings, System
from dyn_nodes.simulation.constrained_machine import constrained_machine
from dyn_nodes.simulation.period import PlantStoppedError
from dyn_nodes.simulation.plant import Plant
from dyn_nodes.studies.yesiloglu_2007 import models

ROOT = Path(__file__).resolve().parents[2]
GRAVITY = 9.81
BASE, WHEEL, RADIUS, AXIAL = 20.0, 2.0, 0.2, 0.04
MASS = BASE + 4 * WHEEL
WHEELS = ('front_left', 'front_right', 'rear_left', 'rear_right')


def of_files(name):
    return load_machine(ROOT / 'urdf' / f'{name}.urdf', ROOT / 'config' / f'{name}.yaml')


def plant_of(machine, measures=('static', 'zmp', 'load_share'), **options):
    plant = Plant(machine, 'effort', 2e-3, 5e-4, measures, **options)
    assert plant.constraints is not None
    return plant


def cart(tmp_path, rise=0.1, keys='', ground='', wheel_keys='', start=''):
    """Return a platform on four driven wheels by constraint; its centre of mass is `rise` above the axles."""
    links, lines = '', ''
    for name, (x, y) in zip(WHEELS, ((0.5, 0.4), (0.5, -0.4), (-0.5, 0.4), (-0.5, -0.4))):
        links += (
            f'<link name="{name}_wheel"><inertial><mass value="{WHEEL}"/>'
            f'<inertia ixx="0.02" iyy="{AXIAL}" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link>'
            f'<joint name="{name}_axle" type="continuous"><parent link="base"/><child link="{name}_wheel"/>'
            f'<origin xyz="{x} {y} 0"/><axis xyz="0 1 0"/></joint>'
        )
        lines += (
            f'  {name}: {{kind: wheel, first: {{link: {name}_wheel}}, axis: [0, 1, 0], radius: {RADIUS}{ground}}}\n'
        )
    urdf, config = tmp_path / 'cart.urdf', tmp_path / 'cart.yaml'
    urdf.write_text(
        f'<robot name="cart"><link name="base"><inertial><origin xyz="0 0 {rise}"/><mass value="{BASE}"/>'
        f'<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>{links}</robot>'
    )
    config.write_text(
        f'name: cart\nbase: {{attachment: free}}\ninitial: {{base_position: [0, 0, {RADIUS}]{start}}}\n'
        f'constraints:\n{lines}{wheel_keys}{keys}'
    )
    return load_machine(urdf, config)


def driven(plant, efforts, steps):
    plant.set_efforts(np.asarray(efforts, dtype=float))
    for _ in range(steps):
        plant.advance()


def test_steps_of_a_plant_equal_a_run_of_the_system():
    """The stabilization, which the plant has and the run has not, has no effect beyond the drift."""
    machine = of_files('four_bar')
    plant = plant_of(machine)
    driven(plant, [14.0, 0.0, 0.0], 250)
    system = constrained_machine(machine)
    times = np.linspace(0, 0.5, 251)
    run = system.system.run(
        system.x,
        times,
        Inputs.constant({'crank_joint/effort': 14.0}),
        settings=Settings(step=5e-4),
    )
    assert plant.positions == pytest.approx(run.q[-1], abs=1e-9)
    assert plant.velocities == pytest.approx(run.v[-1], abs=1e-8)
    assert plant.x[-2] == pytest.approx(run.work[-1], rel=1e-9)
    assert run.state('crank_joint') == pytest.approx(run.position('crank_joint'))
    for name in ('crank_joint_acceleration', 'crank_joint/drive_effort', 'pin/force_x', 'kinetic_energy'):
        assert run.output(name)[-1] == pytest.approx(plant.output(name), rel=1e-6, abs=1e-6)


def test_a_system_with_constraints_has_the_methods_of_a_tree():
    """Rates, outputs and Jacobians at a state, with the names of a tree; vectors of another length are rejected."""
    start = constrained_machine(of_files('four_bar'))
    system, x = start.system, start.x
    u, p = np.array([3.0]), system.parameters({'gravity_z': -1.0})
    rate, outputs = system.rhs(x, u, p), system.outputs(x, u, p)
    crank = system.index('state', 'crank_joint_rate')
    assert rate[crank] == pytest.approx(outputs[system.index('output', 'crank_joint_acceleration')], rel=1e-12)
    by_state, by_input = system.jacobians(x, u, p)
    assert by_input[crank, 0] == pytest.approx(system.rhs(x, u + 1.0, p)[crank] - rate[crank], rel=1e-9)
    assert by_state[system.index('state', 'time')] == pytest.approx(0.0)
    with pytest.raises(ValueError, match='expected a state vector of'):
        system.rhs(x[1:], u, p)
    with pytest.raises(KeyError, match='unknown input'):
        system.index('input', 'crank_joint')


def test_spatial_arms_from_files_equal_those_of_the_study():
    """The same joint angles after 0.5 s of constant torques, from rest; the study's platform is rotated in space."""
    model = models.spatial_arms()
    system = System.of_blocks(model.name, model.blocks(), model.actuated)
    torques = dict(zip(model.actuated, models.SPATIAL_TORQUES))
    run = system.run(system.state(model.q, model.v), [0.0, 0.5], Inputs.constant(torques), settings=Settings(step=1e-3))
    plant = plant_of(of_files('spatial_arms'))
    driven(plant, models.SPATIAL_TORQUES, 250)
    assert plant.positions == pytest.approx(run.q[-1][7:19], abs=1e-6)
    plant.outputs()
    for name in ('grasp_1', 'grasp_2'):
        # in the axes of the grasp, equal to the axes of the arm's last link in both
        expected = run.force(name)[-1]
        assert np.linalg.norm(plant.constraints.reaction(name)[:3]) == pytest.approx(
            np.linalg.norm(expected[3:]), rel=1e-5
        )


def test_the_pin_of_the_four_bar_holds_the_coupler_and_the_rocker():
    """At rest it carries half of the coupler's weight, and along the coupler the force that holds the rocker."""
    plant = plant_of(of_files('four_bar'))
    reaction = plant.constraints.reaction('pin')
    angle = np.radians(60)
    along = (3 * GRAVITY / 2 + 2 * GRAVITY / 2) * np.cos(angle) / np.sin(angle)
    assert reaction == pytest.approx([along, 0, 3 * GRAVITY / 2, 0, 0, 0], abs=1e-6)
    # the drive of the crank holds the other halves of coupler and rocker, and the crank
    assert plant.efforts[0] == pytest.approx((3 + 2) * GRAVITY * 0.5 * np.cos(angle), rel=1e-6)
    assert plant.efforts[1:] == pytest.approx([0, 0], abs=1e-9)


def test_the_servo_holds_only_driven_joints():
    plant = plant_of(of_files('planar_arms'))
    target = plant.positions.copy()
    target[1] += 0.01
    for _ in range(500):
        plant.set_efforts(plant.servo_efforts(target, np.zeros(6)))
        plant.advance()
    moved = plant.positions - target
    assert np.abs(moved[[1, 5]]).max() < 1e-6
    assert np.abs(moved[[0, 2, 3, 4]]).max() > 1e-3


def test_a_cart_on_four_wheels_has_loads_and_margins(tmp_path):
    plant = plant_of(cart(tmp_path))
    balance = plant.balance()
    assert balance.wheels == WHEELS
    assert balance.total_normal == pytest.approx(MASS * GRAVITY, rel=1e-9)
    assert balance.forces[:, 2] == pytest.approx([MASS * GRAVITY / 4] * 4, rel=1e-9)
    assert balance.zmp == pytest.approx([0, 0], abs=1e-9)
    height = RADIUS + BASE * 0.1 / MASS
    assert balance.center_of_mass == pytest.approx([0, 0, height], abs=1e-12)
    assert balance.margins['load_share'].value == pytest.approx(0.25, rel=1e-9)
    assert len(balance.corners) == 4
    driven(plant, [1.0] * 4, 250)
    acceleration = 4 * 1.0 / (RADIUS * (MASS + 4 * AXIAL / RADIUS**2))
    assert plant.base_twist()[0] == pytest.approx([0.5 * acceleration, 0, 0], abs=1e-9)
    balance = plant.balance()
    # the centre of pressure lags: inertia at its height, and the wheels' spin
    lag = (MASS * acceleration * height + 4 * AXIAL * acceleration / RADIUS) / (MASS * GRAVITY)
    assert balance.zmp[0] - plant.base_pose()[0][0] == pytest.approx(-lag, rel=1e-6)
    assert balance.forces[:, 0].sum() == pytest.approx(MASS * acceleration, rel=1e-9)
    names = plant.constraints.health().indeterminate
    assert 'front_left/lateral' in names


@pytest.mark.parametrize(
    ('torques', 'speed', 'turn', 'final_position', 'traction'),
    [
        ((0.5, 0.5), 0.625, 0.0, (0.625, 0.0), (2.1875, 2.1875)),
        ((-0.5, 0.5), 0.0, 2.777777778, (0.0, 0.0), (-2.083333333, 2.083333333)),
        ((0.25, 0.5), 0.46875, 0.694444444, (0.431972085, 0.156323687), (1.119791667, 2.161458333)),
    ],
    ids=['forward', 'centre', 'off centre'],
)
def test_the_two_wheeled_cart_from_files_meets_the_specification(torques, speed, turn, final_position, traction):
    """Section 6.9: traction at the start; after 2 s speed, yaw rate and position; here x is ahead."""
    plant = plant_of(of_files('cart'))
    plant.set_efforts(np.array(torques))
    for wheel, expected in zip(('left', 'right'), traction):
        point, axes, force = plant.constraints.ground_reaction(wheel)
        assert force == pytest.approx([expected, 0.0, 68.67], abs=1e-8)
        assert axes == pytest.approx(np.eye(3), abs=1e-12)
        assert point == pytest.approx([0.0, 0.3 if wheel == 'left' else -0.3, 0.0], abs=1e-12)
    driven(plant, torques, 1000)
    position, _ = plant.base_pose()
    assert position == pytest.approx([*final_position, 0.2], abs=1e-8)
    linear, angular = plant.base_twist()
    assert np.linalg.norm(linear) == pytest.approx(speed, abs=1e-8)
    assert np.hypot(angular[0], angular[2]) == pytest.approx(turn, abs=1e-8)
    assert plant.balance() is None
    lateral = [plant.constraints.ground_reaction(wheel)[2][1] for wheel in ('left', 'right')]
    assert lateral == pytest.approx([0.5 * 14 * speed * turn] * 2, abs=1e-6)


def test_a_slope_drives_the_cart(tmp_path):
    plant = plant_of(cart(tmp_path), slope=(0.0, 0.1))
    driven(plant, [0.0] * 4, 100)
    acceleration = MASS * GRAVITY * np.sin(0.1) / (MASS + 4 * AXIAL / RADIUS**2)
    assert plant.base_twist()[0][0] == pytest.approx(0.2 * acceleration, rel=1e-9)


def test_the_ground_lifts_the_cart(tmp_path):
    """All wheels have the same heights: the platform follows, and its weight changes by its acceleration."""
    profile = ', ground: {kind: points, times: [0, 0.2], values: [0, 0.02]}'
    plant = plant_of(cart(tmp_path, ground=profile))
    driven(plant, [0.0] * 4, 50)
    assert plant.base_pose()[0][2] - RADIUS == pytest.approx(0.01, abs=1e-9)
    assert plant.balance().total_normal == pytest.approx(MASS * GRAVITY, rel=1e-6)  # the turn of the acceleration
    driven(plant, [0.0] * 4, 50)
    assert plant.base_pose()[0][2] - RADIUS == pytest.approx(0.02, abs=1e-9)
    assert plant.base_twist()[0] == pytest.approx([0, 0, 0], abs=1e-9)
    assert plant.x[-2] == pytest.approx(MASS * GRAVITY * 0.02, rel=1e-7)  # work of the ground


def test_a_wheel_that_lifts_ends_the_run(tmp_path):
    """With a high centre of mass and a strong drive, the front wheels would need tension."""
    plant = plant_of(cart(tmp_path, rise=2.0))
    plant.set_efforts(np.full(4, 20.0))
    with pytest.raises(PlantStoppedError, match=r'cart: at t = 0.0000 s: front_(left|right)/normal would pull') as stop:
        plant.advance()
    assert stop.value.kind == 'contact_opened'
    assert plant.time == 0.0


def energy(plant):
    return plant.output('kinetic_energy') + plant.output('potential_energy')


def test_a_parallelogram_ends_before_it_lies_flat():
    """When it is flat, its rows are dependent and the direction of folding is undefined. Until then it falls."""
    plant = plant_of(of_files('four_bar'))
    before = energy(plant)
    with pytest.raises(PlantStoppedError, match='the rank of the constraints went from 2 to 1') as stop:
        driven(plant, [0.0, 0.0, 0.0], 1000)
    assert stop.value.kind == 'rank_changed'
    assert 0.0 < plant.positions[0] < 0.06
    assert energy(plant) == pytest.approx(before, abs=1e-9)
    plant.reset()
    assert plant.positions[0] == pytest.approx(np.pi / 3, abs=1e-9)
    plant.advance()


def test_the_drift_of_a_long_run_stays_small():
    """For ten seconds a slider-crank swings freely through both dead centres."""
    plant = plant_of(of_files('slider_crank'))
    driven(plant, [3.0, 0.0, 0.0], 100)
    start = energy(plant)
    drifts = []
    plant.set_efforts(np.zeros(3))
    for _ in range(5000):
        plant.advance()
        drifts.append(plant.output('constraint_drift'))
    assert max(drifts) < 1e-8
    assert max(drifts[2500:]) < 2 * max(drifts[:2500])
    assert energy(plant) == pytest.approx(start, abs=1e-5)
    health = plant.constraints.health()
    assert (health.rows, health.rank, health.mobility, health.indeterminate) == (2, 2, 1, ())


PRESCRIBED = """
constraints:
  pin: {kind: line, first: {link: rod, position: [0.5, 0, 0]}, second: {link: piston}, axis: [0, 1, 0]}
  drive:
    kind: prescribed
    joint: crank_joint
    profile: {kind: sine, offset: 0.6, amplitude: 0.4, frequency: 1.0}
"""


def test_a_prescribed_joint_follows_its_profile(tmp_path):
    """The position follows the profile; the work of its effort equals the energy of the mechanism."""
    text = (ROOT / 'config' / 'slider_crank.yaml').read_text()
    config = tmp_path / 'slider_crank.yaml'
    config.write_text(text[: text.index('constraints:')] + PRESCRIBED.lstrip() + text[text.index('joints:') :])
    plant = plant_of(load_machine(ROOT / 'urdf' / 'slider_crank.urdf', config))
    assert plant.actuated == ()
    assert plant.velocities[0] == pytest.approx(0.4 * 2 * np.pi, rel=1e-9)
    before = plant.output('kinetic_energy') + plant.output('potential_energy')
    power = []
    for _ in range(200):
        power.append(plant.efforts[0] * plant.velocities[0])
        plant.advance()
    power.append(plant.efforts[0] * plant.velocities[0])
    turn = 2 * np.pi * plant.time
    assert plant.positions[0] == pytest.approx(0.6 + 0.4 * np.sin(turn), abs=1e-8)
    after = plant.output('kinetic_energy') + plant.output('potential_energy')
    assert plant.x[-2] == pytest.approx(after - before, abs=1e-7)
    assert np.trapezoid(power, dx=2e-3) == pytest.approx(after - before, abs=1e-3)


def test_joint_reactions_are_reported(tmp_path):
    """The crank's bearing carries the weight of the mechanism less the load of the rocker's bearing."""
    machine = replace(of_files('four_bar'), reactions=('crank_joint', 'rocker_joint'))
    plant = plant_of(machine)
    crank, rocker = plant.joint_reactions()
    total = np.zeros(2)
    for (fx, _, fz, *_), angle in ((crank, np.pi / 3), (rocker, np.pi / 3)):
        c, s = np.cos(angle), np.sin(angle)
        total += c * fx - s * fz, s * fx + c * fz
    assert total == pytest.approx([0, 7 * GRAVITY], abs=1e-6)
    assert plant.machine.reactions == ('crank_joint', 'rocker_joint')


def test_a_joint_stops_at_its_limit():
    """The crank drives the piston against a stop at 0.62 m; it could reach 0.65 m."""
    machine = of_files('slider_crank')
    joints = tuple(replace(joint, upper=0.62) if joint.name == 'piston_joint' else joint for joint in machine.joints)
    plant = plant_of(replace(machine, joints=joints), values={'joint_stop_scale': 1.0})
    driven(plant, [-3.0, 0, 0], 400)
    events = [event for event in plant.take_events() if event.kind == 'joint_limit']
    assert events[0].details['joint'] == 'piston_joint'
    assert events[0].details['limit'] == 'upper'
    assert 0.62 < plant.positions[2] < 0.63
    without = plant_of(replace(machine, joints=joints))
    driven(without, [-3.0, 0, 0], 60)
    assert without.positions[2] > 0.64


def test_other_start_positions_are_assembled():
    plant = plant_of(of_files('slider_crank'), joints={'crank_joint': 1.2})
    lean = np.arcsin(0.15 / 0.5 * np.sin(1.2))
    assert plant.positions[0] == pytest.approx(1.2, abs=1e-9)
    assert plant.positions[2] == pytest.approx(0.15 * np.cos(1.2) + 0.5 * np.cos(lean), abs=1e-9)
    driven(plant, [0.5, 0, 0], 20)
    plant.reset()
    assert plant.positions[0] == pytest.approx(1.2, abs=1e-9)
    assert plant.time == 0.0


def test_feet_on_springs_share_the_weight_with_wheels_by_constraint(tmp_path):
    """Three feet are compressed by half a millimetre: the wheels by constraint carry the remaining weight."""
    spring = 'stiffness: 1e5, damping: 100, free_length: 0.1005'
    corners = enumerate(((1, 0), (-1, 1), (-1, -1)))
    feet = [f'  foot_{k}: {{link: base, position: [{x}, {y}, -0.1], {spring}}}\n' for k, (x, y) in corners]
    start = constrained_machine(cart(tmp_path, keys='wheels:\n' + ''.join(feet)))
    blocks = start.system.blocks
    assert start.q[2] == pytest.approx(RADIUS, abs=1e-12)
    solution = constrained_dynamics(blocks, start.q, start.v, np.zeros(blocks.tree.nv), method='reduced')
    carried = sum(solution.multipliers[blocks.row_names.index(f'{name}/normal')] for name in WHEELS)
    assert carried == pytest.approx(MASS * GRAVITY - 3 * 50.0, rel=1e-9)
    assert np.abs(solution.acceleration).max() < 1e-9


def test_a_payload_adds_weight_until_its_release(tmp_path):
    payload = 'payload: {link: base, position: [0, 0, 0.5], mass: 5, limit: 10}\n'
    plant = plant_of(cart(tmp_path, keys=payload))
    plant.drop_time = 0.011
    assert plant.balance().total_normal == pytest.approx((MASS + 5) * GRAVITY, rel=1e-9)
    driven(plant, [0.0] * 4, 10)
    assert plant.payload == 0.0
    (event,) = plant.take_events()
    assert (event.kind, event.time) == ('payload_drop', 0.011)
    assert plant.balance().total_normal == pytest.approx(MASS * GRAVITY, rel=1e-9)
    plant.reset()
    assert plant.payload == 5.0


def test_an_unknown_contact_model_is_named_with_constraints_too():
    with pytest.raises(ValueError, match="expected compliant or rigid, found 'soft'"):
        plant_of(of_files('four_bar'), contact_model='soft')


def test_joint_events_are_located_within_the_step(tmp_path):
    """A slide falls freely and reaches its lower limit after sqrt(2 h / g); the friction of another one slips."""
    height, friction = 0.05, 4.0
    slide = Part('slide', kind='prismatic', axis='0 0 1', limits=f'lower="{-height}" upper="1"')
    rough = Part('rough', kind='prismatic', axis='0 0 1', origin='0 1 0', dynamics=f'friction="{friction}"')
    machine = machine_of(tmp_path, [slide, rough, Part('flap', axis='0 0 1')], 'joints:\n  flap: {class: pseudo}\n')
    plant = plant_of(machine, values={'joint_stop_scale': 1.0})
    positions = []
    plant.set_efforts(np.zeros(3))
    for _ in range(200):
        plant.advance()
        positions.append(plant.positions[0])
    events = {event.kind: event for event in reversed(plant.take_events())}
    reached = events['joint_limit']
    assert reached.time == pytest.approx(np.sqrt(2 * height / GRAVITY), abs=1e-9)
    assert reached.details == {'joint': 'slide', 'limit': 'lower', 'position': pytest.approx(-height, abs=1e-9)}
    assert -1.2 * height < min(positions) < -height
    # the foot of 20 Hz is stretched to F / k some milliseconds after the start
    assert events['joint_slip'].details['joint'] == 'rough'
    assert 0.0 < events['joint_slip'].time < 0.01
    assert plant.output('rough/friction_effort') == pytest.approx(friction, rel=1e-6)
    assert plant.output('rough/drive_effort') == 0.0
    start, settings = constrained_machine(machine), Settings(step=5e-4, watch=True)
    parameters = {'joint_stop_scale': 1.0}
    run = start.system.run(start.x, [0.0, 0.2], p=parameters, settings=settings)
    again = {event.kind: event for event in reversed(run.events)}
    assert again['joint_limit'].details['limit'] == 'lower'
    for kind in ('joint_limit', 'joint_slip'):
        assert again[kind].time == pytest.approx(events[kind].time, abs=1e-9)
