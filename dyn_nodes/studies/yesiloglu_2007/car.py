"""The passenger car: reduced vertical model, steering trapezoid, reference ride models (set P-D, section 6.11).

x to the right, y forward, z up. The reduced car is the body as a free base with four arms: suspension (slider), wheel
(hinge about its axle), massless leg, tyre (slider along the leg), lean and pivot at the ground.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import casadi as ca
import numpy as np
from scipy.integrate import solve_ivp

from dyn_nodes.common.arrays import Array
from dyn_nodes.constraints import RollingArm
from dyn_nodes.constraints.rows import Constraint
from dyn_nodes.elements.forces.joint_spring import JointSpring
from dyn_nodes.multibody import TreeBuilder
from dyn_nodes.multibody.spatial import Expression
from dyn_nodes.studies.yesiloglu_2007.models import Model, X, Y, Z

GRAVITY = 9.81
SPRUNG, PITCH_INERTIA, ROLL_INERTIA, YAW_INERTIA = 1200.0, 1800.0, 400.0, 2000.0
COM_HEIGHT, WHEELBASE, TRACK = 0.55, 2.6, 1.5
UNSPRUNG, RADIUS, AXIAL, DIAMETRAL = 35.0, 0.30, 1.0, 0.6
SUSPENSION, SUSPENSION_DAMPING = 25e3, 1.5e3
TYRE, TYRE_DAMPING = 200e3, 200.0
LATERAL, LATERAL_DAMPING = 120e3, 500.0
CORNERS = {'front_left': (-1, 1), 'front_right': (1, 1), 'rear_left': (-1, -1), 'rear_right': (1, -1)}
STATIC_LOAD = (SPRUNG / 4 + UNSPRUNG) * GRAVITY
BUMP_HEIGHT, BUMP_TIME = 0.02, 0.2
Ground = Callable[[Expression], Expression]


def bump(time: Expression) -> Expression:
    """Return the height of the bump, m: h sin^4(pi t / T), with a continuous second derivative."""
    return ca.if_else(ca.logic_and(time > 0, time < BUMP_TIME), BUMP_HEIGHT * ca.sin(ca.pi * time / BUMP_TIME) ** 4, 0)


def reduced_car(ground: Mapping[str, Ground] | None = None, drop: float = 0.0, lateral: bool = False) -> Model:
    """Return the car at rest, in static equilibrium except for the body's height.

    Args:
        ground: height of the ground under the wheels, by corner; default: level.
        drop: initial height of the body below its equilibrium, with the wheels at theirs, m.
        lateral: the tyres also yield along the axle. Otherwise the contacts are rigid there and lock the roll: their
            rows are dependent while the car is upright, and independent when it rolls (spec D-6).
    """
    tree = TreeBuilder()
    body = tree.add_free('body', mass=SPRUNG, inertia=np.diag([PITCH_INERTIA, ROLL_INERTIA, YAW_INERTIA]))
    for name, (side, end) in CORNERS.items():
        mount = (0.5 * TRACK * side, 0.5 * WHEELBASE * end, RADIUS - COM_HEIGHT)
        hub = tree.add_joint(f'{name}_suspension', body, 'prismatic', Z, p=mount)
        wheel = tree.add_joint(
            f'{name}_spin', hub, 'revolute', X, mass=UNSPRUNG, inertia=np.diag([AXIAL, DIAMETRAL, DIAMETRAL])
        )
        leg = tree.add_joint(f'{name}_leg', wheel, 'revolute', X)
        tyre = tree.add_joint(f'{name}_tyre', leg, 'prismatic', Z, p=(0.0, 0.0, -RADIUS))
        foot = tree.add_joint(f'{name}_scrub', tyre, 'prismatic', X) if lateral else tyre
        lean = tree.add_joint(f'{name}_lean', foot, 'revolute', Y)
        tree.add_joint(f'{name}_pivot', lean, 'revolute', Z)
    built = tree.build()
    q, v = built.neutral, np.zeros(built.nv)
    q[2] = COM_HEIGHT - drop
    for name in CORNERS:
        q[built.position_names.index(f'{name}_suspension')] = drop
    contacts: list[Constraint] = [
        RollingArm(f'{name}_ground', built.frame(f'{name}_pivot'), f'{name}_leg', (ground or {}).get(name))
        for name in CORNERS
    ]
    springs = [
        part
        for name in CORNERS
        for part in (
            # the weight compresses both at rest, which offsets their unstressed lengths
            JointSpring(f'{name}_suspension', SUSPENSION, SUSPENSION_DAMPING, -SPRUNG / 4 * GRAVITY / SUSPENSION),
            JointSpring(f'{name}_tyre', TYRE, TYRE_DAMPING, -STATIC_LOAD / TYRE),
        )
    ]
    if lateral:
        springs += [JointSpring(f'{name}_scrub', LATERAL, LATERAL_DAMPING) for name in CORNERS]
    return Model('reduced_car', built, tuple(contacts), q, v, tuple(springs), (0.0, 0.0, -GRAVITY))


def quarter_car() -> Array:
    """Return the (4, 4) matrix of the quarter car: [body, wheel heights, their rates] about equilibrium."""
    m = SPRUNG / 4
    return np.array(
        [
            [0, 0, 1, 0],
            [0, 0, 0, 1],
            [-SUSPENSION / m, SUSPENSION / m, -SUSPENSION_DAMPING / m, SUSPENSION_DAMPING / m],
            [
                SUSPENSION / UNSPRUNG,
                -(SUSPENSION + TYRE) / UNSPRUNG,
                SUSPENSION_DAMPING / UNSPRUNG,
                -(SUSPENSION_DAMPING + TYRE_DAMPING) / UNSPRUNG,
            ],
        ]
    )


def ride(wheels: tuple[str, ...], times: Array) -> dict[str, Array]:
    """Return heave, m, pitch and roll, rad, of the linear seven-coordinate ride model over a bump under `wheels`.

    Coordinates: heave, pitch (about x, front up), roll (about y, left up), four wheel heights.
    """
    names = list(CORNERS)
    lever = np.array([[1.0, 0.5 * WHEELBASE * end, -0.5 * TRACK * side] for side, end in CORNERS.values()])
    mass = np.array([SPRUNG, PITCH_INERTIA, ROLL_INERTIA])
    struck = np.array([name in wheels for name in names], dtype=float)

    def rate(t: float, state: Array) -> Array:
        x, v = state[:7], state[7:]
        s = np.pi * t / BUMP_TIME
        inside = 0.0 < t < BUMP_TIME
        h = BUMP_HEIGHT * np.sin(s) ** 4 if inside else 0.0
        climb = 4 * np.pi / BUMP_TIME * BUMP_HEIGHT * np.sin(s) ** 3 * np.cos(s) if inside else 0.0
        strut = SUSPENSION * (x[3:] - lever @ x[:3]) + SUSPENSION_DAMPING * (v[3:] - lever @ v[:3])
        tyre = TYRE * (h * struck - x[3:]) + TYRE_DAMPING * (climb * struck - v[3:])
        return np.concatenate([v, lever.T @ strut / mass, (tyre - strut) / UNSPRUNG])

    solution = solve_ivp(rate, (0.0, times[-1]), np.zeros(14), t_eval=times, rtol=1e-11, atol=1e-13, max_step=2e-3)
    return {'heave': solution.y[0], 'pitch': solution.y[1], 'roll': solution.y[2]}


def trapezoid(inner: float, width: float = 1.4, arm: float = 0.15, wheelbase: float = WHEELBASE) -> float:
    """Return the outer wheel angle, rad, of a steering trapezoid whose arms point at the rear axle.

    Args:
        inner: angle of the wheel on the inside of the turn, rad.
        width: distance of the king pins, m.
        arm: length of the steering arms, m.
        wheelbase: m.
    """
    lean = np.arctan2(0.5 * width, wheelbase)
    rod = width - 2 * arm * np.sin(lean)
    # inner pin at (0, 0), outer pin at (width, 0), arms to the rear; both wheels turn inwards
    at = arm * np.array([np.sin(lean + inner), -np.cos(lean + inner)])
    reach = np.array([width, 0.0]) - at
    span = float(np.linalg.norm(reach))
    # the outer arm closes the triangle of rod, arm and span
    corner = (span**2 + arm**2 - rod**2) / (2 * span * arm)
    if abs(corner) > 1:
        raise ValueError(f'the trapezoid does not close at {np.degrees(inner):g} degrees')
    outwards = np.arctan2(-reach[1], -reach[0]) + np.arccos(corner)
    turn = outwards + 0.5 * np.pi + lean  # the arm points to -90 degrees - lean for straight wheels
    return float((turn + np.pi) % (2 * np.pi) - np.pi)


def ackermann(inner: float, width: float = 1.4, wheelbase: float = WHEELBASE) -> float:
    """Return the ideal outer wheel angle, rad: cot(outer) - cot(inner) = width / wheelbase."""
    return float(np.arctan(1.0 / (1.0 / np.tan(inner) + width / wheelbase)))
