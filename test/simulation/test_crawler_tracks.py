"""Crawler tracks against closed forms: pressure, pull over slip, resistance to turning, steering, slopes, energy."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from types import SimpleNamespace

import casadi as ca
import numpy as np
import pytest
from scipy.optimize import fsolve
from tracked_machines import GAUGE, GRAVITY, LENGTH, MU, RADIUS, WEIGHT, carrier

from dyn_nodes.cli import main
from dyn_nodes.constraints import ConstraintBlocks, Loop, constrained_dynamics
from dyn_nodes.control.wheel_base import WheelBase
from dyn_nodes.control.wheel_drive import DriveLimits
from dyn_nodes.control.wheel_motion import JointValues, WheelMotion
from dyn_nodes.elements.contacts import contact_elements
from dyn_nodes.elements.forces.joint_elements import joint_elements
from dyn_nodes.measures import MEASURES
from dyn_nodes.middleware import deserialize_message
from dyn_nodes.model import MachineError, load_machine
from dyn_nodes.model.terrain import Rise
from dyn_nodes.multibody import build_tree
from dyn_nodes.multibody.elements import total_force
from dyn_nodes.nodes.balance_reports import BalanceReports
from dyn_nodes.simulation import NoEquilibriumError
from dyn_nodes.simulation.assembly import Assembly, gravity_vector
from dyn_nodes.simulation.guards.checks import BOOKS
from dyn_nodes.simulation.plant import Plant
from dyn_nodes.stability.equilibrium.standing import at_rest

ROLLERS, BRISTLES = 4, 60.0
PITCH = LENGTH / (ROLLERS - 1)
FREE = 0.3
RISE = Rise('rise', 'ramp', x=-0.5, y=0.0, heading=0.3, length=2.0, height=0.05, width=None)


@pytest.fixture(scope='module')
def machine(tmp_path_factory):
    return carrier(tmp_path_factory.mktemp('carrier'))


@pytest.fixture(scope='module')
def plant(machine):
    """Return the only machine that is compiled here; every test starts with a reset."""
    return Plant(machine, 'effort', 0.01, 0.001, measures=('static', 'load_share'))


@pytest.fixture
def rest(plant):
    plant.p[:] = plant.system.parameters()
    plant.reset()
    return plant


def loads(plant, track='left_track'):
    return np.array([plant.output(f'{track}/roller_{k + 1}/normal_force') for k in range(ROLLERS)])


def test_a_centred_load_gives_even_pressure_and_reactions_equal_to_the_weight(rest):
    """Ground reactions sum to the weight to 1e-9, and the tracks' ends are the corners of the polygon."""
    balance = rest.balance()
    assert loads(rest) == pytest.approx(WEIGHT / (2 * ROLLERS), rel=1e-9)
    assert balance.wheels == ('left_track', 'right_track')
    assert balance.forces == pytest.approx(np.array([[0, 0, WEIGHT / 2]] * 2), rel=1e-9, abs=1e-6)
    corners = {(round(float(x), 9), round(float(y), 9)) for x, y, _ in balance.corners}
    assert corners == {(x * LENGTH / 2, y * GAUGE / 2) for x in (1, -1) for y in (1, -1)}
    assert balance.margins['static'].edges == pytest.approx([LENGTH / 2, GAUGE / 2, LENGTH / 2, GAUGE / 2], rel=1e-9)
    assert balance.names('load_share') == balance.wheels


def test_the_pressure_under_an_eccentric_load_is_a_line(rest):
    """N = W / n (1 + e s / mean(s^2)): the linear law of a rigid frame on equal springs; e from the centre of mass."""
    rest.p[rest.system.index('parameter', 'payload_mass')] = 300.0
    rest.reset()
    weight, e = WEIGHT + 300.0 * GRAVITY, rest.output('center_of_mass_x')
    middle = 0.5 * (rest.output('left_track/roller_1/point_x') + rest.output(f'left_track/roller_{ROLLERS}/point_x'))
    offsets = (np.arange(ROLLERS) - 0.5 * (ROLLERS - 1)) * PITCH
    line = weight / (2 * ROLLERS) * (1.0 + (e - middle) * offsets / np.mean(offsets**2))
    assert loads(rest) == pytest.approx(line, rel=1e-4)
    assert rest.balance().points[0][0] == pytest.approx(e, rel=1e-9)  # centre of pressure below the centre of mass
    assert rest.balance().zmp[0] == pytest.approx(e, rel=1e-9)


def test_a_load_beyond_the_kern_lifts_a_part_of_the_track(rest):
    """With 2 t ahead the rear rollers are unloaded; loads equal those of unilateral springs in NumPy."""
    rest.p[rest.system.index('parameter', 'payload_mass')] = 2000.0
    rest.reset()
    machine = rest.machine
    stance = at_rest(replace(machine, payload=replace(machine.payload, mass=2000.0)))[1]
    assert loads(rest) == pytest.approx(stance.loads[:ROLLERS], rel=1e-7, abs=1e-3)
    assert loads(rest)[0] == 0.0 < loads(rest)[1]


@pytest.mark.parametrize('slope', [(0.0, 0.25), (0.15, 0.1)])
def test_it_rests_on_a_slope_held_by_the_sprockets(rest, slope):
    """Friction is W sin, each sprocket has the torque of half of it at its radius, and nothing creeps in 0.5 s."""
    rest.p[:3] = gravity_vector(GRAVITY, slope)
    rest.reset()
    weight = WEIGHT / GRAVITY * rest.p[:3]
    balance = rest.balance()
    assert balance.forces.sum(axis=0) == pytest.approx(-weight, rel=1e-8)
    pull = [force[0] for force in balance.forces]
    assert rest.efforts == pytest.approx([RADIUS * pull[0], -RADIUS * pull[1]], rel=1e-8)
    moving, before = [name not in BOOKS for name in rest.system.state_names], rest.x.copy()
    for _ in range(50):
        rest.advance()
    assert rest.x[moving] == pytest.approx(
        before[moving], abs=1e-8
    )  # the equilibrium has an error of 1e-9 of the weight


def test_a_slope_steeper_than_the_friction_angle_is_rejected(rest):
    rest.p[:3] = gravity_vector(GRAVITY, (0.0, math.atan(MU) + 0.02))
    with pytest.raises(NoEquilibriumError, match='_track'):
        rest.reset()


def steady(plan, track, motion):
    """Return named outputs of a track at a constant motion of its link with steady deflections."""
    element = next(contact for contact in plan.contacts_on_ground if contact.name == track)
    names = [state.name for state in element.states]
    indices = [plan.states.names.index(name) for name in names]
    rates = ca.vertcat(*element.rates(plan.state, plan.symbols))
    outputs = element.outputs(plan.state, plan.symbols)
    wanted = [f'{track}/{part}' for part in ('friction_longitudinal', 'friction_lateral', 'moment_normal')]
    z = ca.vertcat(*(plan.x[index] for index in indices))
    function = ca.Function('f', [plan.x, plan.p], [rates, ca.jacobian(rates, z), *(outputs[name] for name in wanted)])
    x = np.array([{'base_qw': 1.0, 'base_z': FREE - 0.006, **motion}.get(name, 0.0) for name in plan.states.names])
    p = plan.default_parameters()
    for _ in range(2):  # the rates are linear in the deflections at a constant motion
        value, slope, *_ = (np.array(part) for part in function(x, p))
        x[indices] -= np.linalg.solve(slope, value).ravel()
    value, _, *results = (np.array(part) for part in function(x, p))
    assert np.abs(value).max() < 1e-12
    return [float(part.item()) for part in results]


def janosi(slip, modulus, length):
    """Return pull over the friction limit at a slip (Janosi and Hanamoto, 1961), for even pressure."""
    ratio = slip * length / modulus
    return 1.0 - (1.0 - math.exp(-ratio)) / ratio


@pytest.mark.parametrize('ahead', [1.0, -1.0])
def test_pull_over_slip_is_the_law_of_janosi_and_hanamoto(tmp_path, ahead):
    """Ahead and astern, the error over slips of 1 % to 100 % is of first order in the pitch, 0.5 % for 40 rollers."""
    speed, errors = 0.5, {}
    for rollers in (20, 40):
        plan = Assembly(carrier(tmp_path, rollers), 'effort')
        normal_force, contact = 8e5 * 0.006, LENGTH * rollers / (rollers - 1)
        errors_of_pull = []
        for slip in (0.01, 0.03, 0.1, 0.3, 0.99):
            motion = {'left_rate': ahead * speed / RADIUS, 'base_vx_rate': ahead * speed * (1.0 - slip)}
            pull, side, _ = steady(plan, 'left_track', motion)
            assert side == pytest.approx(0.0, abs=1e-9)
            errors_of_pull.append(ahead * pull / (MU * normal_force) - janosi(slip, MU / BRISTLES, contact))
        errors[rollers] = np.abs(errors_of_pull).max()
    assert errors[40] < 0.005
    assert errors[20] / errors[40] == pytest.approx(2.0, rel=0.1)


def test_resistance_to_turning_is_a_quarter_of_friction_times_length(machine):
    """M = mu W L / 4 for a track that turns about its middle with a blocked belt (Wong, Theory of Ground Vehicles)."""
    plan, rate = Assembly(machine, 'effort'), 0.5
    motion = {'base_wz_rate': rate, 'base_vx_rate': 0.5 * GAUGE * rate}  # the middle of the left track does not move
    pull, side, moment = steady(plan, 'left_track', motion)
    normal_force, contact = 8e5 * 0.006, ROLLERS * PITCH
    assert moment == pytest.approx(-MU * normal_force * contact / 4.0, rel=1e-6)
    assert (pull, side) == pytest.approx((0.0, 0.0), abs=1e-6)


def reported(balance):
    """Return the messages that a node publishes for a balance, by topic."""
    sent = {}

    class Node:
        def create_publisher(self, kind, topic, qos):
            def publish(msg):
                sent[topic] = deserialize_message(msg, kind) if isinstance(msg, (bytes, bytearray)) else msg

            return SimpleNamespace(publish=publish)

    levels = {name: MEASURES[name].levels(len(margin.edges)) for name, margin in balance.margins.items()}
    reports = BalanceReports(Node(), balance.wheels, levels, None, 'odom', 1e5)
    reports.publish(lambda: balance, 0, with_markers=True)
    return sent


def turn(speeds, contact_weight):
    """Return speed, side speed and yaw rate of a steady turn from the shear of both tracks, without inertia."""
    offsets = (np.arange(ROLLERS) - 0.5 * (ROLLERS - 1)) * PITCH

    def shear(u, v, rate, y, belt):
        along, across = u - rate * y - belt, v + rate * offsets
        z, total = np.zeros(2), np.zeros(3)
        for k in range(ROLLERS - 1, -1, -1):  # ahead: shoes come down in front
            slip = np.array([along, across[k]])
            z = (slip + belt / PITCH * z) / (np.hypot(*slip) * BRISTLES / MU + belt / PITCH)
            force = -contact_weight * BRISTLES * z
            total += [force[0], force[1], offsets[k] * force[1] - y * force[0]]
        return total

    def unbalanced(unknown):
        return sum(shear(*unknown, y, belt) for y, belt in zip((0.5 * GAUGE, -0.5 * GAUGE), speeds))

    mean, difference = 0.5 * sum(speeds), speeds[1] - speeds[0]
    return fsolve(unbalanced, [mean, 0.0, 0.5 * difference / GAUGE], xtol=1e-12)


def test_two_track_speeds_turn_it_with_the_radius_that_the_slip_law_gives(rest):
    """Sprockets at 0.10 and 0.20 m/s: the radius is far above the one without slip, as computed by hand."""
    speeds = np.array([0.10, 0.20])
    signs = np.array([1.0, -1.0])
    held = np.zeros(2)
    for _ in range(1500):
        error = signs * speeds / RADIUS - rest.velocities
        held += 5.0 * error
        rest.set_efforts(held + 50.0 * error)
        rest.advance()
    assert signs * rest.velocities * RADIUS == pytest.approx(speeds, rel=1e-3)
    belts = signs * rest.velocities * RADIUS
    u, side, rate = turn(belts, WEIGHT / (2 * ROLLERS))
    wz, vx = (rest.x[rest.system.index('state', name)] for name in ('base_wz_rate', 'base_vx_rate'))
    assert wz == pytest.approx(rate, rel=1e-3)  # the computation by hand neglects inertia and load shift
    assert vx == pytest.approx(u, rel=1e-3)
    assert WheelBase.of(rest.machine).moved(
        np.array([belts.mean(), 0.0, (belts[1] - belts[0]) / GAUGE])
    ) == pytest.approx([u, side, rate], rel=1e-3, abs=1e-6)
    free = GAUGE / 2 * (belts[1] + belts[0]) / (belts[1] - belts[0])
    assert vx / wz > 1.3 * free
    balance = rest.balance()
    assert balance.moments[0][2] < 0.0 > balance.moments[1][2]  # the ground resists the turn
    sent = reported(balance)
    assert [sent[f'ground_reactions/{name}'].wrench.torque.z for name in balance.wheels] == list(balance.moments[:, 2])
    assert len(sent['stability/support_polygon'].polygon.points) == 4


def test_cmd_vel_drives_it_by_torques_and_its_odometry_includes_slip(rest):
    """Twists have errors of 5 mm/s and 5 mrad/s; belt odometry is 6 cm and 1 degree off, without the slip law 105."""
    motion = WheelMotion(WheelBase.of(rest.machine), rest.period, DriveLimits(linear_acceleration=0.5))
    indices = [rest.joints.index(name) for name in motion.joints]

    def joints():
        return JointValues(rest.positions[indices], rest.velocities[indices], rest.efforts[indices])

    motion.restart(joints())
    without_slip = 0.0
    for twist, duration in (((0.3, 0.0, 0.0), 2.0), ((0.2, 0.0, 0.4), 4.0), ((0.0, 0.0, 0.3), 4.0)):
        for _ in range(round(duration / rest.period)):
            command = motion.step(np.array(twist), rest.period, joints())
            rest.set_efforts(command.effort)
            rest.advance()
            without_slip += motion.odometry.rolling[2] * rest.period
        vx, wz = (rest.x[rest.system.index('state', f'base_{name}_rate')] for name in ('vx', 'wz'))
        assert (vx, wz) == pytest.approx((twist[0], twist[2]), abs=5e-3)
        assert motion.infeasible == ()
    x, y, yaw = *rest.x[:2], rest.output('yaw')
    assert motion.odometry.pose[:2] == pytest.approx([x, y], abs=0.06)
    assert motion.odometry.pose[2] == pytest.approx(yaw, abs=0.02)
    assert yaw > 2.0
    assert without_slip - yaw > 1.7


def moving(plan, seed):
    """Return a state near the ground, all parts moving, some rollers in the air."""
    rng = np.random.default_rng(seed)
    x = 0.05 * rng.standard_normal(len(plan.states.names))
    for k, name in enumerate(plan.states.names):
        if 'bristle' in name:
            x[k] *= 0.1
        x[k] = {'base_qw': 1.0, 'base_z': FREE - 0.01}.get(name, x[k])
    return x


def turning_plane(plan, track, flow):
    """Return the power of the springs due to the turning tangent plane of curved ground, W; zero on planes.

    The height is measured from the plane that touches the ground below a roller; its rate neglects the plane's.
    """
    power = ca.SX(0)
    for contact in track.contacts(plan.state, plan.symbols):
        rate = ca.jtimes(contact.height, plan.x, flow)
        push = track.stiffness(plan.symbols) * ca.fmax(FREE - contact.height, 0.0)
        power -= push * (rate - contact.height_rate)
    return power


@pytest.mark.parametrize('terrain', [(), (RISE,)])
def test_the_power_of_a_track_equals_stored_and_dissipated_power(machine, terrain):
    """force . v = -d(energy)/dt - dissipated power at any state, including the sprocket."""
    plan = Assembly(replace(machine, terrain=terrain), 'effort')
    flow = ca.vertcat(plan.state.position_rate, ca.SX(len(plan.states.names) - plan.tree.nq, 1))
    for contact in plan.contacts_on_ground:
        power = ca.dot(total_force(contact, plan.state, plan.symbols), plan.state.v)
        stored = ca.jtimes(contact.potential_energy(plan.state, plan.symbols), plan.x, flow)
        lost = contact.dissipated_power(plan.state, plan.symbols) - turning_plane(plan, contact, flow)
        accounts = sum(contact.work_accounts(plan.state, plan.symbols).values())
        sprocket = ca.dot(contact.generalized_force(plan.state, plan.symbols), plan.state.v)
        check = ca.Function('check', [plan.x, plan.p], [power, stored, lost, accounts, sprocket])
        for seed in range(3):
            powers = check(moving(plan, seed), plan.default_parameters())
            power_, stored_, lost_, accounts_, sprocket_ = (float(value) for value in powers)
            assert power_ == pytest.approx(accounts_ + sprocket_, rel=1e-10)
            assert power_ + stored_ + lost_ == pytest.approx(0.0, abs=1e-10 * (abs(power_) + abs(stored_)))


def test_a_vacuous_constraint_does_not_change_a_track(machine):
    """Accelerations and rates of the bristles with a loop that is always closed."""
    plan = Assembly(machine, 'effort')
    frame = plan.tree.frame('base_link')
    elements = (*contact_elements(machine), *joint_elements(machine))
    gravity = gravity_vector(machine.gravity, machine.slope)
    blocks = ConstraintBlocks(build_tree(machine), [Loop.point('nothing', frame, frame)], elements, gravity)
    changes = ca.Function('changes', [blocks.q, blocks.v, blocks.parameters.vector], [blocks.element_rates])
    tree = ca.Function('tree', [plan.x, plan.u, plan.p], [plan.accelerations, plan.rhs])
    for seed in range(3):
        x = moving(plan, seed)
        a, rhs = (np.array(part).ravel() for part in tree(x, 0.0, plan.default_parameters()))
        values = dict(zip(plan.states.names, x))
        numbers = blocks.numbers({name: values[name] for name in blocks.parameters.states})
        q, v = x[plan.q_slice], x[plan.v_slice]
        solution = constrained_dynamics(blocks, q, v, np.zeros(plan.tree.nv), numbers, method='saddle')
        assert np.abs(solution.acceleration - a).max() <= 1e-12 * np.abs(a).max()
        assert np.array(changes(q, v, numbers)).ravel() == pytest.approx(rhs[plan.element_slice], rel=1e-12, abs=1e-15)


def test_a_track_that_loses_the_ground_reports_it_once(rest):
    """After a drop from 2 cm: one lift-off at once, one touch-down of each track after the fall."""
    rest.x[rest.system.index('state', 'base_z')] = FREE + 0.02
    for _ in range(12):
        rest.advance()
    events = [(event.kind, event.details['track']) for event in rest.take_events()]
    assert sorted(events[:2]) == [('lift_off', 'left_track'), ('lift_off', 'right_track')]
    assert sorted(events[2:4]) == [('touch_down', 'left_track'), ('touch_down', 'right_track')]
    assert len(events) == 4


@pytest.mark.parametrize(
    ('old', 'new', 'message'),
    [
        ('sprocket: left', 'sprocket: lefd', 'sprocket: expected a joint of the URDF, found .*left'),
        ('rollers: 4', 'rollers: 4.5', 'rollers: expected a whole number from 2 to 40, found 4.5'),
        ('type: track', 'type: trak', 'type: expected track, found .*track'),
        (
            'link: base_link\n    position',
            'link: left_wheel\n    position',
            'sprocket: expected a joint on link left_wheel',
        ),
        ('length: 1.5', 'length: -1.5', 'length'),
    ],
)
def test_a_fault_in_a_track_is_reported_in_one_line(tmp_path, old, new, message):
    carrier(tmp_path)
    config = tmp_path / 'carrier.yaml'
    config.write_text(config.read_text().replace(old, new, 1))
    with pytest.raises(MachineError, match=message) as error:
        load_machine(tmp_path / 'carrier.urdf', config)
    assert len(error.value.problems) == 1


def test_check_shows_tracks_and_the_unit_of_every_margin(machine, capsys):
    """Moment-height is M I / h: by hand for a point mass above the middle, in its unit and not in N m."""
    urdf, config = map(str, machine.sources)
    assert main(['check', urdf, '--config', config]) == 0
    shown = capsys.readouterr().out
    (center,) = (
        float(text) for text in re.findall(r'centre of mass 0.000, 0.000, (\S+) m$', shown, flags=re.MULTILINE)
    )
    value = WEIGHT * GAUGE / 2 * WEIGHT / GRAVITY * ((GAUGE / 2) ** 2 + center**2) / center
    assert f'{value / 1e6:.3g} MN kg m2' in next(line for line in shown.splitlines() if 'moment-height' in line)
    assert 'left_track 50 %' in shown


def test_rigid_ground_rejects_tracks(machine):
    with pytest.raises(ValueError, match='expected compliant for left_track, right_track'):
        Plant(machine, 'effort', 0.01, 0.001, contact_model='rigid')
