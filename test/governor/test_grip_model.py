"""Ground reactions of vehicles in planar motion, compared with the split of `admissible_reactions`; their balance."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dyn_nodes.control.trajectory import JointReference, JointTrajectory, TrajectoryPoint
from dyn_nodes.control.wheel_base import WheelBase
from dyn_nodes.governor.arm_efforts import ArmEfforts
from dyn_nodes.governor.arm_pace import EFFORT_USE, SLOWEST, ArmPace, slowed
from dyn_nodes.governor.grip_governor import GripGovernor
from dyn_nodes.governor.grip_model import GripModel, GripModelError, features, is_astray, joint_states
from dyn_nodes.governor.settings import GripSettings
from dyn_nodes.model.posture import initial_positions
from dyn_nodes.monitor.ground_compliance import ground_compliance
from dyn_nodes.nodes.machines import machine_of
from dyn_nodes.stability import admissible_reactions
from dyn_nodes.stability.equilibrium.standing import at_rest
from dyn_nodes.stability.grip import free_directions, grip_of

ARM = ('arm_turn', 'arm_shoulder', 'arm_elbow', 'arm_wrist')
DOWN = np.array([0.3, -0.2, -9.8])
PAYLOAD = 3.0


@pytest.fixture(scope='module')
def vehicle():
    machine = machine_of('agv_mecanum_arm', '')
    model = GripModel(machine, WheelBase.of(machine))
    rng = np.random.default_rng(5)
    q, v, a = (np.zeros(len(model.joints)) for _ in range(3))
    indices = [model.joints.index(name) for name in ARM]
    for part, size in ((q, 1.0), (v, 1.5), (a, 4.0)):
        part[indices] = rng.uniform(-size, size, len(indices))
    model.set_state(q[None], v[None], a[None], np.zeros(4), PAYLOAD, DOWN)
    return model, (q, v, a), (rng.uniform(-1.5, 1.5, (100, 3)), rng.uniform(-6.0, 6.0, (100, 3)))


def load_of(model, joints, twists, rates):
    """Return the load of motions, directly from the compiled model."""
    count = len(twists)
    q, v, a = (np.tile(part, (count, 1)) for part in joints)
    turns = (model.base.rolling_rows(np.zeros(4))[0] / model.base.reach[:, None]).T * model.base.turn
    wheels = [model.joints.index(wheel.drive) for wheel in model.base.wheels]
    v[:, wheels], a[:, wheels] = twists @ turns, rates @ turns
    base = np.zeros((count, 9))
    base[:, 2], base[:, 5] = twists[:, 2], rates[:, 2]
    level = np.array([1.0, 1.0, 0.0])
    base[:, 6:] = level * rates + np.cross(twists - level * twists, level * twists) - DOWN
    return model.load.evaluate_batch(q, v, a, base, np.full(count, PAYLOAD))


def test_reactions_are_the_split_of_least_norm_and_robust_within_the_reserve(vehicle):
    model, joints, (twists, rates) = vehicle
    forces = model.reactions(twists, rates)[0]
    load = load_of(model, joints, twists, rates)
    points = load.attachments.copy()
    points[..., 2] = -model.base.height
    grip = grip_of(model.machine)
    admissible = admissible_reactions(
        points,
        np.zeros(3),
        load.force,
        load.moment,
        friction=grip.friction,
        rolling=free_directions(grip, load.axles, np.ones(4, bool)),
        traction=grip.traction,
        tolerance=1e-6,
        ranges=False,
    )
    assert forces[..., 2] == pytest.approx(admissible.split[..., 2], abs=1e-6)
    sliding, wanted = (np.linalg.norm(split[..., :2], axis=-1) for split in (forces, admissible.split))
    assert sliding == pytest.approx(wanted, abs=1e-6)
    law = GripGovernor(model, GripSettings(1.0, 0.0, 0.3, 1.0))
    assert 10 < admissible.robust.sum() < 90, 'both kinds'
    assert ((law.margins(forces).min(axis=(1, 2)) >= 0.0) == admissible.robust).all()


def test_the_reactions_balance_the_load_of_any_motion(vehicle):
    model, joints, (twists, rates) = vehicle
    forces, load = model.reactions(twists, rates)[0], load_of(model, joints, twists, rates)
    points = load.attachments.copy()
    points[..., 2] = -model.base.height
    assert forces.sum(axis=1) == pytest.approx(-load.force, abs=1e-8)
    assert np.cross(points, forces).sum(axis=1) == pytest.approx(-load.moment, abs=1e-8)


def test_the_planar_load_equals_that_of_any_motion_and_of_a_rigid_vehicle(vehicle):
    model, joints, (twists, rates) = vehicle
    load = load_of(model, joints, twists, rates)
    planar = np.array([model.planar(*motion) for motion in zip(twists, rates)])
    assert planar == pytest.approx(-np.column_stack([load.force[:, :2], load.moment[:, 2]]), abs=1e-8)
    rigid, still = GripModel(model.machine, model.base), initial_positions(model.machine)
    q = np.array([[still[name] for name in rigid.joints]])
    rigid.set_state(q, 0 * q, 0 * q, np.zeros(4), model.machine.payload.mass, np.array([0.0, 0.0, -9.81]))
    inertia, (vx, vy, turn), rate = model.base.inertia, twists[0], rates[0]
    x, y, _ = inertia @ twists[0]
    assert rigid.planar(twists[0], rate) == pytest.approx(inertia @ rate + [-turn * y, turn * x, vx * y - vy * x])


def test_thirteen_motions_determine_all_others(vehicle):
    model, joints, (twists, rates) = vehicle
    q, v, a = (np.tile(part, (len(twists), 1)) for part in joints)
    straight, _ = model.evaluate(q, v, a, twists, rates, np.zeros(4), PAYLOAD, DOWN)
    assert model.reactions(twists, rates)[0] == pytest.approx(straight, abs=1e-9)
    assert features(twists, rates).shape == (100, 13)


def trajectory(duration, goal):
    rest = np.zeros(4)
    start = np.array([0.0, -0.6, 1.6, 0.5])
    points = [TrajectoryPoint(0.0, start, rest, rest), TrajectoryPoint(duration, goal, rest, rest)]
    return JointTrajectory.from_points(ARM, points)


def weaker(machine, name, effort):
    """Return a machine whose joint of that name has another effort limit."""
    joints = (replace(joint, effort_limit=effort) if joint.name == name else joint for joint in machine.joints)
    return replace(machine, joints=tuple(joints))


def pace(model, trajectory_, twist=(0.0, 0.0, 0.0), load_share=0.15):
    law = GripGovernor(model, GripSettings(load_share=load_share))
    still, level = np.zeros(len(model.joints)), np.array([0.0, 0.0, -9.81])
    return ArmPace(law, model, ARM).of(trajectory_, still, np.zeros(4), np.array(twist), PAYLOAD, level)


def test_an_arm_that_swings_too_fast_is_slowed_until_the_wheels_hold(vehicle):
    model = vehicle[0]
    goal = np.array([1.5, 0.4, 1.2, 0.5])
    assert pace(model, trajectory(3.0, goal)).factor == 1.0
    fast = trajectory(0.3, goal)
    limit = pace(model, fast)
    assert 0.05 < limit.factor < 0.9
    assert limit.name in model.names
    assert 0.0 <= limit.time <= 0.3
    slow = slowed(fast, limit.factor)
    assert slow.duration == pytest.approx(0.3 / limit.factor)
    assert slow.sample(slow.duration / 3).position == pytest.approx(fast.sample(0.1).position)
    assert pace(model, slow).factor == 1.0
    assert pace(model, slowed(fast, 1.05 * limit.factor)).factor < 1.0


def test_an_arm_whose_motors_are_too_weak_for_a_trajectory_is_slowed_until_they_follow(vehicle):
    machine = vehicle[0].machine
    weak = weaker(machine, 'arm_turn', 3.0)
    model, goal = GripModel(weak, WheelBase.of(weak)), np.array([1.5, -0.6, 1.6, 0.5])
    motion = trajectory(1.0, goal)
    limit = pace(model, motion)
    assert pace(vehicle[0], motion).factor == 1.0, 'the wheels hold'
    assert limit.name == 'arm_turn'
    assert 'of its effort limit' in limit.fault
    assert SLOWEST < limit.factor < 1.0
    efforts, still = ArmEfforts(weak, ARM), np.zeros((1, len(model.joints)))
    indices = [model.joints.index(name) for name in ARM]

    def greatest(motion):
        shares = []
        for time in np.linspace(0.0, motion.duration, 200)[:-1]:
            q, v, a = still.copy(), still.copy(), still.copy()
            q[0, indices], v[0, indices], a[0, indices] = motion.sample(float(time))
            shares.append(efforts.shares(q, v, a, *np.zeros((2, 1, 3)), PAYLOAD, np.array([0.0, 0.0, -9.81])).max())
        return max(shares)

    assert greatest(motion) > EFFORT_USE
    assert 0.5 * EFFORT_USE < greatest(slowed(motion, limit.factor)) <= EFFORT_USE


def test_a_posture_that_the_motors_cannot_hold_has_no_pace(vehicle):
    machine = vehicle[0].machine
    weak = weaker(machine, 'arm_shoulder', 30.0)
    limit = pace(GripModel(weak, WheelBase.of(weak)), trajectory(5.0, np.array([0.0, 1.0, 0.0, 0.0])))
    assert np.isnan(limit.factor)
    assert limit.name == 'arm_shoulder'


def test_an_arm_off_its_reference_moves_as_measured_and_one_on_it_as_planned():
    positions, velocities, indices = np.array([1.0, 2.0, 3.0]), np.array([9.0, 0.5, 0.6]), [1, 2]
    near = JointReference(np.array([2.1, 3.1]), np.array([0.1, 0.2]), np.array([1.0, 2.0]))
    far = near._replace(position=np.array([2.1, 3.3]))
    assert not is_astray(positions, indices, [near, far])
    assert is_astray(positions, indices, [far])
    assert not is_astray(positions, [], [])
    for first, moving in ((near, [0.0, 0.1, 0.2]), (far, [0.0, 0.5, 0.6])):
        q, v, a = joint_states(positions, velocities, indices, [first, near])
        assert q.tolist() == [[1.0, 2.0, 3.0], [1.0, 2.1, 3.1]]
        assert v.tolist() == [moving, [0.0, 0.1, 0.2]]
        assert a.tolist() == [[0.0, 1.0, 2.0]] * 2


def test_a_short_stroke_in_a_long_trajectory_is_detected(vehicle):
    """A hundred instants in ninety seconds would miss a stroke of half a second."""
    still, out = np.zeros(4), np.array([1.5, 0.4, 1.2, 0.5])

    def stroke(before):
        times = [before, before + 0.25, before + 0.5, 2.0 * before + 0.5]
        rows = zip(times, (still, out, still, still))
        points = [TrajectoryPoint(time, goal, np.zeros(4), np.zeros(4)) for time, goal in rows]
        return JointTrajectory.from_points(ARM, points).starting_from(still)

    short, long = pace(vehicle[0], stroke(0.5)), pace(vehicle[0], stroke(45.0))
    assert short.factor < 0.9
    assert long.factor == pytest.approx(short.factor, abs=0.01)
    assert 45.0 <= long.time <= 45.5


def test_the_pace_needs_few_evaluations_and_holds_in_all_states(vehicle, monkeypatch):
    """The commands of the wheels wait for it: a bisection with all states took eleven times as many as one check."""
    model, counts = vehicle[0], []
    motion, evaluate = trajectory(0.3, np.array([1.5, 0.4, 1.2, 0.5])), model.evaluate
    monkeypatch.setattr(model, 'evaluate', lambda q, *others: counts.append(len(q)) or evaluate(q, *others))
    limit = pace(model, motion, (0.5, 0.0, 0.5))
    assert limit.factor < 0.9
    whole = max(counts)
    assert sum(counts) < 3.5 * whole
    assert sum(count == whole for count in counts) <= 3
    counts.clear()
    assert pace(model, trajectory(3.0, np.array([1.5, 0.4, 1.2, 0.5]))).factor == 1.0
    assert len(counts) == 2, 'the start at rest, and all states at full speed'


def test_an_arm_on_a_vehicle_that_turns_is_slowed_more(vehicle):
    motion = trajectory(0.4, np.array([1.5, 0.4, 1.2, 0.5]))
    assert pace(vehicle[0], motion, (1.0, 0.0, 1.0)).factor < pace(vehicle[0], motion).factor


def test_a_posture_on_the_way_beyond_the_limits_at_rest_has_no_pace(vehicle):
    limit = pace(vehicle[0], trajectory(5.0, np.array([0.0, 1.3, 0.0, 0.0])), load_share=0.7)
    assert np.isnan(limit.factor)
    assert limit.fault == 'lift'
    assert limit.name.startswith('rear')


def test_an_arm_beyond_the_limits_may_retract_and_not_extend(vehicle):
    """At rest the rear wheels are below the reserve already; motions that do not reduce it pass."""
    model, rest = vehicle[0], np.zeros(4)
    far, farther, near = (np.array([0.0, shoulder, 0.0, 0.0]) for shoulder in (1.0, 1.3, -0.6))

    def move(goal):
        points = [TrajectoryPoint(0.0, far, rest, rest), TrajectoryPoint(3.0, goal, rest, rest)]
        motion = JointTrajectory.from_points(ARM, points)
        law = GripGovernor(model, GripSettings(load_share=0.7))
        positions = np.zeros(len(model.joints))
        positions[[model.joints.index(name) for name in ARM]] = far
        level = np.array([0.0, 0.0, -9.81])
        return ArmPace(law, model, ARM).of(motion, positions, np.zeros(4), np.zeros(3), PAYLOAD, level)

    assert move(near).factor >= SLOWEST, 'slowly: its start must not push a wheel up'
    assert np.isnan(move(farther).factor)


@pytest.mark.parametrize(('front', 'rear'), [(1.0, 1.0), (0.6, 1.8), (3.0, 1.0)])
def test_springs_share_the_load_at_rest_by_their_stiffness(vehicle, front, rear):
    machine, posture = vehicle[0].machine, dict(zip(ARM, (1.5, 1.0, 0.0, 0.0)))

    def with_scale(scaled):
        scale = front if scaled.name.startswith('front') else rear
        return replace(scaled, stiffness=scale * scaled.stiffness, free_length=0.1 + 0.0015 / scale)

    scaled = replace(
        machine,
        wheels=tuple(map(with_scale, machine.wheels)),
        payload=replace(machine.payload, mass=PAYLOAD),
        initial=replace(machine.initial, joint_positions=posture),
    )
    model, positions = GripModel(scaled, WheelBase.of(scaled)), initial_positions(scaled)
    q = np.array([[positions[name] for name in model.joints]])
    rest = np.zeros((1, 3))
    forces, _ = model.evaluate(q, 0 * q, 0 * q, rest, rest, np.zeros(4), PAYLOAD, np.array([0.0, 0.0, -9.81]))
    loads = at_rest(scaled)[1].loads
    assert np.ptp(loads) > 0.5 * loads.mean(), 'an arm across the vehicle'
    assert forces[0, :, 2] == pytest.approx(loads, abs=0.02 * loads.mean()), 'but for the tilt'


def test_springs_of_a_suspension_deflect_with_its_tyres():
    machine = machine_of('car', '')
    corner = 1.0 / 2.0e5 + 1.0 / 2.5e4
    assert ground_compliance(machine) == pytest.approx(np.diag([corner] * 4))
    rear = tuple(replace(joint, stiffness=5.0e4) if 'rear' in joint.joint else joint for joint in machine.joint_classes)
    compliance = np.diag(ground_compliance(replace(machine, joint_classes=rear)))
    assert compliance == pytest.approx([corner, corner, corner - 2.0e-5, corner - 2.0e-5])


def test_a_suspension_joint_without_a_spring_is_rejected_by_name():
    machine = machine_of('car', '')
    limp = tuple(
        replace(joint, stiffness=0.0) if joint.joint.startswith('front_left') else joint
        for joint in machine.joint_classes
    )
    with pytest.raises(GripModelError, match=r"car: expected a spring at joint 'front_left_suspension'"):
        GripModel(replace(machine, joint_classes=limp), WheelBase.of(machine))


def test_a_vehicle_on_tracks_is_rejected_by_name():
    machine = machine_of('excavator', '')
    with pytest.raises(GripModelError, match=r'excavator: expected wheels, found .*, a track'):
        GripModel(machine, WheelBase.of(machine))
