"""E2 to E5, S3 to S6, S10: Kane's equations of RM-1 against other formulations, and at the reference state."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.constraints import constrained_dynamics
from dyn_nodes.constraints.kane import KaneEquations
from dyn_nodes.constraints.kane.parts import part_in
from dyn_nodes.multibody import Frame
from dyn_nodes.studies.formulations.natural_complement import natural_orthogonal_complement
from dyn_nodes.studies.formulations.witnesses import WITNESSES
from dyn_nodes.studies.framework import StudyRun, study
from dyn_nodes.studies.reference import tabulated
from dyn_nodes.studies.tanner_1998.generalized_speeds import link_speeds
from dyn_nodes.studies.tanner_1998.kanes_equations import KanesEquations, kanes_equations
from dyn_nodes.studies.tanner_1998.robot import AXLE, WHEELS
from dyn_nodes.studies.tanner_1998.runs import RunEnd, by_kane, by_multipliers, swinging
from dyn_nodes.studies.tanner_1998.vehicle import (
    ARM,
    RADIUS,
    S0,
    S0_RATES,
    S0_SPEED,
    S0_TURN,
    SPEEDS,
    T0_DRIVES,
    T0_JOINTS,
    VEHICLE_INERTIA,
    VEHICLE_MASS,
    Robot,
    axle_speeds,
    rm_1,
    steered_robot,
)

STATES = 200
AGREE = 1e-12
ROUND_OFF = 1e-10
ROBOTS = {'RM-1': rm_1, 'RM-1 on a steered wheel': steered_robot}
LABELS = {
    'multipliers': "Lagrange's equations with multipliers",
    'complement': 'the natural complement',
    'engine': 'the constraint engine',
    'speeds': 'those in other speeds',
}
STEERED_SPEEDS = (0.3, 0.35, 0.3, -0.4, 0.7)
STEERED_JOINTS, STEERED_TORQUES = (0.5, 18.0, 4.0), (2.0, 1.5)


def reference(robot: Robot | None = None) -> tuple[KaneEquations, Array]:
    """Return the equations of RM-1 in the source's speeds at state S0, and the efforts T0 (nv,)."""
    body = robot or rm_1()
    u = axle_speeds(float(S0[2]), S0_SPEED, S0_TURN, S0_RATES)
    here = kanes_equations(body.blocks, SPEEDS).at(body.position(S0), body.velocity(u))
    return here, body.efforts(T0_JOINTS, T0_DRIVES)


class Agreement(NamedTuple):
    """Greatest relative differences of Kane's equations from others over random states.

    Attributes:
        multipliers: of the accelerations from Lagrange's equations with multipliers.
        complement: from the natural orthogonal complement.
        engine: from the constraint engine.
        speeds: in speeds of the axle or of pivoting from those in the source's speeds.
        wrench: between arm and vehicle, rows of the extra speeds from Newton and Euler.
        idle: generalized forces of noncontributing forces, over the forces.
    """

    multipliers: float
    complement: float
    engine: float
    speeds: float
    wrench: float
    idle: float


def random_state(robot: Robot, kane: KanesEquations, rng: np.random.Generator) -> tuple[KaneEquations, Array]:
    """Return the equations at a random state, and random efforts (nv,)."""
    at = rng.uniform(-1.0, 1.0, 6) * (2.0, 2.0, 3.0, 3.0, 3.0, 3.0)
    if 'steer' in robot.blocks.tree.position_names:
        at[2] = rng.uniform(-1.0, 1.0)  # the wheel stays away from D = 0, where x and y do not give the turning
    here = kane.at(robot.position(at), robot.velocity(rng.normal(size=5)))
    tau = robot.efforts(tuple(10.0 * rng.normal(size=3)), tuple(3.0 * rng.normal(size=2)))
    return here, tau


def compare(name: str, states: int | None = None) -> Agreement:
    """Return the differences between Kane's equations of a robot and the other formulations."""
    robot = ROBOTS[name]()
    blocks, rng = robot.blocks, np.random.default_rng(1)
    kane, noc = kanes_equations(blocks, SPEEDS), natural_orthogonal_complement(blocks, SPEEDS)
    others = [kanes_equations(blocks)]
    if 'axle' in blocks.tree.frames:
        along = {'V': ('axle', 'vx'), 'omega': ('axle', 'wz')}
        others.append(kanes_equations(blocks, speeds=link_speeds(blocks.tree, along, ARM)))
    lagrange, worst = WITNESSES['multipliers'](blocks), np.zeros(6)
    for _ in range(states or STATES):
        here, tau = random_state(robot, kane, rng)
        a = here.accelerations(tau)
        accelerations = [lagrange(here.q, here.v, tau).acceleration, noc.at(here.q, here.v).accelerations(tau)]
        accelerations.append(constrained_dynamics(blocks, here.q, here.v, tau, method='saddle').acceleration)
        apart = [_apart(other, a) for other in accelerations]
        apart.append(max(_apart(other.at(here.q, here.v).accelerations(tau), a) for other in others))
        wrench, sum_of = here.mount_wrench(robot.mount, tau), here.newton_euler_wrench(robot.mount, tau)
        apart.append(_apart(np.append(wrench.force, wrench.torque), np.append(sum_of.force, sum_of.torque)))
        apart.append(idle_forces(robot, here, tau))
        worst = np.maximum(worst, apart)
    return Agreement(*(float(value) for value in worst))


def idle_forces(robot: Robot, here: KaneEquations, tau: Array) -> float:
    """Return the greatest generalized force of noncontributing forces, N, over the greatest of these forces.

    These are ground reactions, weight of the vehicle and forces between its body and a wheel. The wrench between arm
    and vehicle does not enter their sum; the residual of the vehicle alone under this wrench is therefore included.
    """
    reactions, tree = here.multipliers(tau), robot.blocks.tree
    ground = here.W.T @ here.numbers.J.T @ reactions
    carrier, a = robot.mount.frame.body, here.accelerations(tau)
    vehicle = part_in(here.placements[carrier], carrier, VEHICLE_MASS, np.zeros(3), np.diag(VEHICLE_INERTIA))
    weight = vehicle.mass * (vehicle.moving @ here.W).T @ here.numbers.gravity
    wheel = tree.body(robot.drives[0])
    body = tree.bodies[wheel]
    force = np.array([30.0, -20.0, 200.0])
    across = np.cross(here.placements[wheel].R @ body.axis, force)
    hub = Frame(body.parent, np.eye(3), body.p0)
    between = here.generalized_force(tree.frame(body.name), force, across) - here.generalized_force(hub, force, across)
    wrench = here.mount_wrench(robot.mount, tau)
    drives = tau.copy()
    drives[[tree.velocity_index(name) for name in ARM]] = 0.0
    momentum = vehicle.mass * (vehicle.moving @ a + vehicle.acceleration)
    turned = vehicle.inertia_torque(vehicle.turning @ a + vehicle.alpha)
    alone = here.efforts(drives) + here.generalized_force(robot.mount.frame, wrench.force, wrench.torque)
    alone = alone - (vehicle.moving @ here.W).T @ momentum + (vehicle.turning @ here.W).T @ turned
    size = max(np.abs(reactions).max(), np.abs(wrench.force).max(), np.abs(force).max())
    return float(max(np.abs(part).max() for part in (ground, weight, between, alone)) / size)


def _apart(measured: Array, expected: Array) -> float:
    return float(np.abs(measured - expected).max() / np.abs(expected).max())


@study(
    'tanner-1998/e2', 'Kane against Lagrange, natural complement and constraint engine, 200 states (E2, S3, S4, S10)'
)
def e2(s: StudyRun) -> None:
    """Check that accelerations agree, that idle forces do no work, and both methods for the wrench at the mount."""
    for name, agreement in zip(ROBOTS, s.map(compare, tuple(ROBOTS), 'robots')):
        for method in ('multipliers', 'complement', 'engine', 'speeds'):
            label = f'{name}: accelerations differ from {LABELS[method]}, relative'
            s.near(
                label, 'E2, S10', 0.0, getattr(agreement, method), absolute=ROUND_OFF if method == 'speeds' else AGREE
            )
        s.near(f'{name}: wrench at the mount, extra speeds from Newton and Euler, relative', 'S4', 0.0,
               agreement.wrench, absolute=ROUND_OFF)  # fmt: skip
        s.near(f'{name}: generalized forces of noncontributing forces, relative', 'S3', 0.0, agreement.idle,
               absolute=AGREE)  # fmt: skip


@study('tanner-1998/e3', 'RM-1 at its reference state: M, C, G, accelerations, wrench at the mount (E3, S4, S5)')
def e3(s: StudyRun) -> None:
    """Check the closed form at S0 and T0."""
    here, tau = reference()
    expected, _ = tabulated('tanner-1998/6.2/rates')
    s.near('rates of the speeds, greatest difference', '6.2', 0.0,
           float(np.abs(here.speed_rates(tau) - expected).max()), absolute=1e-7)  # fmt: skip
    wrench = here.mount_wrench(rm_1().mount, tau)
    expected = tabulated('tanner-1998/6.2/mount')[0]
    for axis, value, component in zip('xyz', expected[:3], wrench.force):
        s.near(f'force of the arm on the vehicle along {axis}, N', '6.2', value, float(component), relative=1e-7)
    for axis, value, component in zip('xyz', expected[3:], wrench.torque):
        s.near(f'torque of the arm on the vehicle about {axis}, N m', '6.2', value, float(component), relative=1e-7)
    rows = len(here.u) + 6
    s.holds('rows: equations of motion and of the wrench', 'S4', rows == 11, expected=11, value=rows)
    least, M = float(np.linalg.eigvalsh(here.inertia)[0]), here.inertia
    s.holds('M is symmetric and positive', 'S5', least > 0.0 and np.abs(M - M.T).max() < 1e-12)
    s.near('kinetic energy, J', '6.2', tabulated('tanner-1998/6.2/energy')[0][0], here.kinetic_energy, relative=1e-9)


@study('tanner-1998/e4', 'Runs of RM-1, free and driven: end states, energy, Kane against multipliers (E4, S1)')
def e4(s: StudyRun) -> None:
    """Check that a reduced run conserves energy and rolling and equals the unreduced run."""
    results = dict(zip(RUNS, s.map(run, RUNS, 'runs')))
    for name, (end, apart) in results.items():
        s.near(f'{name}: energy gained less work, J', 'E4', 0.0, end.gain - end.work, absolute=1e-7)
        s.near(f'{name}: lateral velocity of the wheels at the end, m/s', 'S1', 0.0, end.lateral, absolute=1e-10)
        s.near(f'{name}: positions differ from the run with multipliers, m or rad', '6.2', 0.0, apart, absolute=1e-6)


RUNS = ('free', 'driven', 'swinging', 'steered')


def run(name: str) -> tuple[RunEnd, float]:
    """Return the end of a run of half a second and its difference from the run with multipliers."""
    robot = steered_robot() if name == 'steered' else rm_1()
    u = axle_speeds(float(S0[2]), S0_SPEED, S0_TURN, S0_RATES)
    torques = {
        'free': lambda t: np.zeros(robot.blocks.tree.nv),
        'driven': lambda t: robot.efforts(STEERED_JOINTS, T0_DRIVES),
        'swinging': swinging(robot),
        'steered': lambda t: robot.efforts(STEERED_JOINTS, STEERED_TORQUES),
    }[name]
    if name == 'steered':
        u = np.array(STEERED_SPEEDS)
    end = by_kane(robot, S0, u, torques, 0.5, 1e-9)
    other = by_multipliers(robot, S0, u, torques, 0.5)
    return end, float(np.abs(end.q - other.q).max())


def vehicle_alone() -> tuple[float, float]:
    """Return the rates of speed, m/s2, of the axle's middle and of turning, rad/s2, of RM-1 without its arm at S0."""
    robot = rm_1(arm_scale=1e-9)
    here, _ = reference(robot)
    a = here.accelerations(robot.efforts((0.0, 0.0, 0.0), T0_DRIVES))
    axle = robot.blocks.tree.frame('axle')
    placement = here.placements[axle.body]
    middle = placement.p + placement.R @ axle.p
    ahead = placement.R[:, 0] @ (placement.moving_at(middle) @ a + placement.acceleration_at(middle))
    return float(ahead), float(a[robot.blocks.tree.velocity_index('yaw')])


@study('tanner-1998/e5', 'The vehicle of RM-1 without its arm accelerates in closed form (E5)')
def e5(s: StudyRun) -> None:
    """Check rates of speed and of turning against the numbers of the specification, and against the closed form."""
    ahead, turning = vehicle_alone()
    left, right = T0_DRIVES
    half, mass, about = float(WHEELS[0][1]), VEHICLE_MASS, VEHICLE_INERTIA[2] + VEHICLE_MASS * AXLE**2
    driven = (left + right) / (RADIUS * mass) + AXLE * S0_TURN**2
    turned = (half * (right - left) / RADIUS - mass * AXLE * S0_TURN * S0_SPEED) / about
    rates = tabulated('tanner-1998/6.2/vehicle')
    for label, source, expected, value in (
        ('rate of speed, m/s2', '6.2', rates[0], ahead),
        ('rate of turning, rad/s2', '6.2', rates[1], turning),
        ('rate of speed in closed form, m/s2', 'E5', driven, ahead),
        ('rate of turning in closed form, rad/s2', 'E5', turned, turning),
    ):
        s.near(label, source, expected, value, absolute=1e-9)
