"""The excavator of the package on its tracks: closed loops, cylinders as bodies and travel motors in one system."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from dyn_nodes.common.share import find_resource
from dyn_nodes.control.drive_valves import DriveValves
from dyn_nodes.control.wheel_base import WheelBase
from dyn_nodes.control.wheel_drive import DriveLimits
from dyn_nodes.control.wheel_motion import JointValues, WheelMotion
from dyn_nodes.model import load_machine
from dyn_nodes.multibody.elements import ContactElement
from dyn_nodes.simulation.assembly import gravity_vector
from dyn_nodes.simulation.constrained_machine import constrained_machine
from dyn_nodes.simulation.plant import Plant

GRAVITY, RADIUS, GAUGE = 9.81, 0.36, 2.2
TRACKS = ('left_track', 'right_track')
STEEP = np.radians(15.0)


@pytest.fixture(scope='module')
def machine():
    return load_machine(find_resource('urdf/excavator.urdf'), find_resource('config/excavator.yaml'))


@pytest.fixture(scope='module')
def compiled(machine):
    """Return the only machine that is compiled here; every test starts with a reset."""
    return Plant(machine, 'hydraulic', 0.01, 0.001, measures=('static', 'zmp', 'load_share'))


@pytest.fixture
def plant(compiled):
    compiled.p[:] = compiled.system.parameters()
    compiled.u[:] = 0.0
    compiled.reset()
    return compiled


def run(plant, duration, **volts):
    plant.u[:] = 0.0
    plant.set_inputs({f'{name}/voltage': value for name, value in volts.items()})
    for _ in range(round(duration / plant.period)):
        plant.advance()


def belts(plant):
    return np.array([plant.output(f'{track}/belt_speed') for track in TRACKS])


def speeds(plant):
    """Return forward speed and yaw rate of the undercarriage."""
    return tuple(plant.x[plant.system.index('state', f'base_{name}_rate')] for name in ('vx', 'wz'))


def test_the_excavator_rests_on_its_tracks_with_its_loops_closed(machine):
    """At rest the ground carries the weight to 1e-8, without side force; the loops are closed, all rollers loaded."""
    start = constrained_machine(machine, actuation='hydraulic')
    blocks, rest = start.system.blocks, start.at_rest()
    points = [
        track.ground_points(blocks.state, blocks.parameters)
        for track in blocks.forces
        if isinstance(track, ContactElement)
    ]
    forces = ca.horzcat(*(point.force for group in points for point in group))
    ground = ca.Function('ground', [blocks.q, blocks.v, blocks.parameters.vector], [forces, blocks.rows.residual])
    pushes, gaps = (np.array(part) for part in ground(rest.q, np.zeros(blocks.tree.nv), blocks.numbers(rest.states)))
    weight = machine.total_mass * GRAVITY
    assert pushes.sum(axis=1) == pytest.approx([0.0, 0.0, weight], abs=1e-8 * weight)
    assert pushes.shape == (3, 16)
    assert (pushes[2] > 0.0).all()
    assert np.abs(gaps).max() < 1e-10
    assert rest.q[2] == pytest.approx(0.0, abs=1e-3)  # its base link is on the ground


@pytest.mark.slow
def test_it_stays_at_rest_for_a_minute_without_drift(plant):
    before = plant.x.copy()
    run(plant, 60.0)
    assert plant.balance().total_normal == pytest.approx(plant.machine.total_mass * GRAVITY, rel=1e-6)
    assert np.abs(plant.x - before)[: plant.system.nq].max() < 1e-8
    assert plant.take_events() == []


@pytest.mark.slow
@pytest.mark.parametrize('slope', [(STEEP, 0.0), (-STEEP, 0.0), (0.0, STEEP)])
def test_it_rests_on_a_slope_of_15_degrees_held_by_the_oil_of_its_travel_motors(plant, slope):
    """Reactions equal the weight to 1e-6, motors hold its downhill part at the sprockets, nothing creeps."""
    plant.p[[plant.system.index('parameter', f'gravity_{axis}') for axis in 'xyz']] = gravity_vector(GRAVITY, slope)
    plant.reset()
    weight = plant.machine.total_mass * np.array(gravity_vector(GRAVITY, slope))
    forces = plant.balance().forces
    assert forces.sum(axis=0) == pytest.approx(-weight, abs=1e-6 * np.linalg.norm(weight))
    efforts = dict(zip(plant.joints, plant.efforts))
    held = [efforts[f'{side}_sprocket_joint'] for side in ('left', 'right')]
    assert held == pytest.approx(RADIUS * forces[:, 0], rel=1e-6, abs=1.0)
    assert all(margin.value > 0.0 for margin in plant.balance().margins.values())
    before = plant.x.copy()
    run(plant, 10.0)
    assert np.abs(plant.x - before)[: plant.system.nq].max() < 1e-6


@pytest.mark.slow
def test_levers_drive_it_straight_and_in_a_turn(plant):
    """With both ahead it drives straight at belt speed; with the right one alone or opposite levers it turns."""
    start = plant.x[:3].copy()
    run(plant, 4.0, left_travel=5.0, right_travel=5.0)
    ahead, _ = speeds(plant)
    assert belts(plant) == pytest.approx(ahead, rel=0.01)
    assert ahead > 0.5
    assert abs(plant.x[1] - start[1]) < 0.01 * (plant.x[0] - start[0])
    run(plant, 2.0, right_travel=5.0)
    assert plant.output('yaw') > 0.05
    left, right = belts(plant)
    assert abs(left) < 0.1 * right
    run(plant, 3.0, left_travel=-5.0, right_travel=5.0)
    left, right = belts(plant)
    vx, wz = speeds(plant)
    assert wz < 0.8 * (right - left) / GAUGE  # it slips: the resistance to turning is a third of the drawbar pull
    assert abs(vx) < 0.1 * right
    run(plant, 3.0)
    assert np.abs(belts(plant)).max() < 0.01


@pytest.mark.slow
def test_its_valves_follow_cmd_vel_and_its_odometry_includes_slip(plant):
    """Steady twists have errors of 1 %; yaw by belt odometry has 3 %, without the slip law it is 1.5 times as great."""
    machine = plant.machine
    base = WheelBase.of(machine)
    motion = WheelMotion(base, plant.period, DriveLimits(linear_acceleration=0.5, angular_acceleration=0.5))
    valves = DriveValves(machine, base)
    inputs = [plant.system.input_names.index(f'{machine.actuators[k].name}/voltage') for k in valves.indices]
    indices = [plant.joints.index(name) for name in motion.joints]

    def joints():
        return JointValues(plant.positions[indices], plant.velocities[indices], plant.efforts[indices])

    motion.restart(joints())
    yaw = belts_yaw = without_slip = 0.0
    for twist, duration in (((0.5, 0.0, 0.0), 4.0), ((0.0, 0.0, 0.2), 6.0), ((-0.5, 0.0, 0.1), 8.0)):
        steady = []
        for k in range(round(duration / plant.period)):
            state = joints()
            motion.step(np.array(twist), plant.period, state)
            speeds_, efforts = (motion.about_axles(values) for values in (state.velocity, state.effort))
            plant.u[inputs] = valves.volts(motion.reference, plant.period, speeds_, efforts)
            plant.advance()
            without_slip += motion.odometry.rolling[2] * plant.period
            steady += [speeds(plant)] if k * plant.period > duration - 1.0 else []
        assert np.mean(steady, axis=0) == pytest.approx([twist[0], twist[2]], abs=0.005)
        turned, measured = plant.output('yaw') - yaw, motion.odometry.pose[2] - belts_yaw
        assert measured == pytest.approx(turned, rel=0.03, abs=1e-3)
        yaw, belts_yaw = yaw + turned, belts_yaw + measured
    assert without_slip > 1.5 * yaw
    assert motion.odometry.pose[:2] == pytest.approx(plant.x[:2], abs=0.1)
