"""The passenger car in motion: suspension, trapezoid with a tie rod, tyres that yield, terrain (C16, set P-D).

x to the right, y forward, z up, as in `car`. Body, four suspensions, two king pins, four wheels; the tie rod is a body
between two ball joints. A tyre is a contact point on springs and dampers along the wheel, across it and upright (set
P-D). The point follows the height of the ground, a function of time under each wheel, and creeps on it: the force is
-C / V times its slip velocity, C being the creep stiffness. So 34 velocities and 10 rows leave 24 independent motions,
including the idle spin of the tie rod.

The masses of the treads at the contact points and of the rod, and the creep stiffnesses, are not in any source; they
are assumed here.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.constraints import Coupling, Loop, Prescribed, world_frame
from dyn_nodes.constraints.rows import Constraint
from dyn_nodes.elements.forces.joint_spring import JointSpring
from dyn_nodes.multibody import Frame, Tree, TreeBuilder, TreeState
from dyn_nodes.multibody.elements import ForceElement, Symbols
from dyn_nodes.multibody.spatial import Expression, cross, dot
from dyn_nodes.studies.yesiloglu_2007 import car
from dyn_nodes.studies.yesiloglu_2007.models import X, Y, Z

TREAD, ROD = 3.0, 2.0
"""Masses of a tread and of the tie rod, kg; assumed."""
CREEP_ACROSS = {'front': 55e3, 'rear': 65e3}
CREEP_ALONG = 80e3
"""Creep stiffnesses of one tyre, N per unit of slip; assumed. The front tyres are softer: the car understeers."""
PIN_DISTANCE, STEERING_ARM = 1.4, 0.15
LEAN = float(np.arctan2(0.5 * PIN_DISTANCE, car.WHEELBASE))
ALONG, ALONG_DAMPING = 200e3, 500.0
SLOWEST = 0.1
"""Speed below which creep forces no longer grow as the car stops, m/s."""
FRONT = ('front_left', 'front_right')
STEERED = ('front_left_steer', 'front_right_steer')
SWAY_SCALE = 8 / (3 * np.sqrt(3))
"""One over the greatest value of sin(2 x) sin(x)^2."""


@dataclass(frozen=True, eq=False)
class Creep(ForceElement):
    """Creep of a tyre's contact point: a force against its slip along and across the wheel, C / V times the slip.

    Attributes:
        tyre: name.
        point: of contact, moves with the wheel's carrier.
        centre: of the wheel, in the carrier; its x axis is the axle.
        spin: joint of the wheel about its axle.
        along, across: C, N per unit of slip.
    """

    tyre: str
    point: Frame
    centre: Frame
    spin: str
    along: float
    across: float

    @property
    def name(self) -> str:
        """Name of the element."""
        return f'{self.tyre}/creep'

    def _slip(self, state: TreeState) -> tuple[Expression, Expression, Expression]:
        """Return slip (2,) along and across, m/s; its Jacobian (2, width); speed of the wheel centre along it, m/s."""
        axle = state.frame_pose(self.centre).R[:, 0]
        up = ca.SX(Z)
        forward = cross(up, axle)
        forward = forward / ca.sqrt(dot(forward, forward))
        side = cross(forward, up)
        arm = state.frame_pose(self.point).p - state.frame_pose(self.centre).p
        index = state.tree.bodies[state.tree.body(self.spin)].v
        rolling = cross(axle, arm)
        jacobian = ca.densify(state.jacobian(self.point)[3:6, :])
        velocity = state.frame_velocity(self.point).v + rolling * state.v[index]
        jacobian[:, index] = jacobian[:, index] + rolling
        slip = ca.vertcat(dot(forward, velocity), dot(side, velocity))
        rows = ca.vertcat(ca.mtimes(forward.T, jacobian), ca.mtimes(side.T, jacobian))
        return slip, rows, dot(forward, state.frame_velocity(self.centre).v)

    def _force(self, slip: Expression, speed: Expression) -> Expression:
        return -ca.vertcat(self.along, self.across) * slip / ca.sqrt(speed**2 + SLOWEST**2)

    def generalized_force(self, state: TreeState, symbols: Symbols) -> Expression:
        """Return the force (width,) along every generalized velocity."""
        slip, rows, speed = self._slip(state)
        return ca.mtimes(rows.T, self._force(slip, speed))

    def dissipated_power(self, state: TreeState, symbols: Symbols) -> Expression:
        """Return the power lost by slip, W."""
        slip, _, speed = self._slip(state)
        return -ca.dot(self._force(slip, speed), slip)


@dataclass(frozen=True, eq=False)
class DrivenCar:
    """The car with its constraints and force elements.

    Attributes:
        tree: of bodies. q: position of static equilibrium.
        balls, grounds, steering: constraints.
        forces: springs and creep.
    """

    tree: Tree
    q: Array
    balls: tuple[Constraint, ...]
    grounds: tuple[Constraint, ...]
    steering: Constraint
    forces: tuple[ForceElement, ...]


def bump(time: Expression, height: Expression, start: Expression) -> Expression:
    """Return the height of the ground, m: height sin^4(pi (t - start) / T) for the duration T of the bump."""
    s = (time - start) / car.BUMP_TIME
    return ca.if_else(ca.logic_and(s > 0, s < 1), height * ca.sin(ca.pi * s) ** 4, 0)


def steering(
    time: Expression, angle: Expression, sway: Expression, start: Expression, period: Expression
) -> Expression:
    """Return the steering angle, rad: a smooth step to `angle` plus one sway of amplitude `sway` to both sides.

    Both start at `start` and take one period, s; their second derivative is continuous.
    """
    s = ca.fmin(ca.fmax((time - start) / period, 0), 1)
    turn = s**3 * (10 - 15 * s + 6 * s**2)
    return angle * turn + sway * SWAY_SCALE * ca.sin(2 * ca.pi * s) * ca.sin(ca.pi * s) ** 2


def static_loads(corner: str) -> tuple[float, float]:
    """Return the static force of a suspension and of an upright tyre, N, without the weight of the tread.

    The rod is behind the front pins; the suspension guides transfer its moment to the body.
    """
    front = corner in FRONT
    moment = ROD * car.GRAVITY * STEERING_ARM * np.cos(LEAN)
    sprung = car.SPRUNG / 4 * car.GRAVITY + (-1 if front else 1) * moment / (2 * car.WHEELBASE)
    return sprung, sprung + (car.UNSPRUNG + (0.5 * ROD if front else 0.0)) * car.GRAVITY


def driven_car() -> DrivenCar:
    """Return the car in static equilibrium at rest. Ground and steering have parameters that a run may change."""
    tree = TreeBuilder()
    body = tree.add_free('body', car.SPRUNG, inertia=np.diag([car.PITCH_INERTIA, car.ROLL_INERTIA, car.YAW_INERTIA]))
    wheel_inertia = np.diag([car.AXIAL, car.DIAMETRAL, car.DIAMETRAL])
    for name, (side, end) in car.CORNERS.items():
        pin = 0.5 * PIN_DISTANCE * side
        mount = (pin, 0.5 * car.WHEELBASE * end, car.RADIUS - car.COM_HEIGHT)
        carrier = tree.add_joint(f'{name}_suspension', body, 'prismatic', Z, p=mount)
        if name in FRONT:
            carrier = tree.add_joint(f'{name}_steer', carrier, 'revolute', Z)
            # the arm points at the middle of the rear axle
            tip = STEERING_ARM * np.array([-side * np.sin(LEAN), -np.cos(LEAN), 0.0])
            tree.add_frame(f'{name}_arm', carrier, p=tip)
        hub = (0.5 * car.TRACK * side - pin, 0.0, 0.0)
        tree.add_frame(f'{name}_hub', carrier, p=hub)
        tree.add_joint(f'{name}_spin', carrier, 'revolute', X, p=hub, mass=car.UNSPRUNG, inertia=wheel_inertia)
        along = tree.add_joint(f'{name}_along', carrier, 'prismatic', Y, p=hub + np.array([0.0, 0.0, -car.RADIUS]))
        across = tree.add_joint(f'{name}_across', along, 'prismatic', X)
        tree.add_joint(f'{name}_upright', across, 'prismatic', Z, mass=TREAD)
    half = 0.5 * PIN_DISTANCE - STEERING_ARM * np.sin(LEAN)
    rod = tree.add_free('tie_rod', ROD, inertia=np.diag([0.01, 1.0, 1.0]) * ROD * (2 * half) ** 2 / 12)
    for name, (side, _) in list(car.CORNERS.items())[:2]:
        tree.add_frame(f'{name}_ball', rod, p=(side * half, 0.0, 0.0))
    built = tree.build()
    q = built.neutral
    q[2] = car.COM_HEIGHT
    at = built.bodies[rod].q
    q[at : at + 3] = 0.0, 0.5 * car.WHEELBASE - STEERING_ARM * np.cos(LEAN), car.RADIUS
    forces: list[ForceElement] = []
    for name in car.CORNERS:
        sprung, weight = static_loads(name)
        forces += [
            JointSpring(f'{name}_suspension', car.SUSPENSION, car.SUSPENSION_DAMPING, -sprung / car.SUSPENSION),
            JointSpring(f'{name}_upright', car.TYRE, car.TYRE_DAMPING, -weight / car.TYRE),
            JointSpring(f'{name}_across', car.LATERAL, car.LATERAL_DAMPING),
            JointSpring(f'{name}_along', ALONG, ALONG_DAMPING),
            Creep(
                f'{name}_tyre', built.frame(f'{name}_upright'), built.frame(f'{name}_hub'), f'{name}_spin',
                CREEP_ALONG, CREEP_ACROSS[name.split('_')[0]],
            ),
        ]  # fmt: skip
    balls = tuple(Loop.point(f'{name}_ball', built.frame(f'{name}_ball'), built.frame(f'{name}_arm')) for name in FRONT)
    grounds = tuple(
        Prescribed(
            Loop.on_plane(f'{name}_ground', built.frame(f'{name}_upright'), world_frame()),
            bump,
            {'height': 0.0, 'start': 0.0},
        )
        for name in car.CORNERS
    )
    steered = Prescribed(
        Coupling('steering', dict.fromkeys(STEERED, 0.5)),
        steering,
        {'angle': 0.0, 'sway': 0.0, 'start': 0.0, 'period': 1.0},
    )
    return DrivenCar(built, q, balls, grounds, steered, tuple(forces))
