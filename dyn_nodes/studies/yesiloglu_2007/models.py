"""Systems of the experiments with arms and mechanisms, built by hand (yesiloglu-2007, sections 4.2 and 6 of its spec).

The source prints no physical parameter; these are the sets of its specification.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.constraints import ConstraintBlocks, Loop
from dyn_nodes.constraints.rows import Constraint
from dyn_nodes.elements.forces.joint_spring import JointSpring
from dyn_nodes.multibody import Tree, TreeBuilder
from dyn_nodes.multibody.tree import JointKind

X, Y, Z = np.eye(3)
GRAVITY_DOWN_Y = (0.0, -9.81, 0.0)


@dataclass(frozen=True, eq=False)
class Model:
    """A tree with its constraints and force elements, and an initial state.

    Attributes:
        name: for files.
        tree, constraints, forces, gravity: see `ConstraintBlocks`.
        q, v: initial position and velocity.
        actuated: velocities with one actuator each.
    """

    name: str
    tree: Tree
    constraints: tuple[Constraint, ...]
    q: Array
    v: Array
    forces: tuple[JointSpring, ...] = ()
    gravity: tuple[float, float, float] = (0.0, 0.0, 0.0)
    actuated: tuple[str, ...] = ()
    notes: dict[str, float] = field(default_factory=dict)

    def blocks(self) -> ConstraintBlocks:
        """Return the traced system."""
        return ConstraintBlocks(self.tree, self.constraints, self.forces, self.gravity)


def turn_z(angle: float) -> Array:
    """Return the (3, 3) rotation about z, rad."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def turn_y(angle: float) -> Array:
    """Return the (3, 3) rotation about y, rad."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])


def turn_x(angle: float) -> Array:
    """Return the (3, 3) rotation about x, rad."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])


def rod(mass: float, length: float) -> Array:
    """Return the central inertia of a slender rod along x, kg m2."""
    return np.diag([0.0, 1.0, 1.0]) * mass * length**2 / 12


def state_of(
    tree: Tree, positions: dict[str, float], velocities: dict[str, float] | None = None
) -> tuple[Array, Array]:
    """Return q (nq,) and v (nv,) from values by name; the rest is neutral. Raises KeyError for an unknown name."""
    q, v = tree.neutral, np.zeros(tree.nv)
    for name, value in positions.items():
        q[tree.position_names.index(name)] = value
    for name, value in (velocities or {}).items():
        v[tree.velocity_index(name)] = value
    return q, v


# -- planar arms on a free-flying platform (section 4.2, P-A)
PLANAR_LENGTHS, PLANAR_MASSES = (1.0, 1.0, 0.3), (5.0, 4.0, 1.0)
PLANAR_ANGLES = {1: (110.0, 70.0, 0.0), 2: (70.0, 110.0, 180.0)}
PLANAR_ACTUATED = ('arm_1_joint_2', 'arm_2_joint_3')
PLANAR_FLEXIBLE = ('arm_1_joint_1', 'arm_2_joint_2')
PLANAR_RAMP = {'arm_1_joint_2': -0.5, 'arm_2_joint_3': 0.3}
RAMP_END = 5.0


def planar_arms() -> Model:
    """Return two planar 3R arms on a free-flying platform with a common load: joints actuated, free and flexible."""
    builder = TreeBuilder()
    base = builder.add_planar('base', 50.0, inertia=np.diag([0.0, 0.0, 10.0]))
    positions: dict[str, float] = {}
    for arm, foot in ((1, -0.5), (2, 0.5)):
        carrier, offset, before = base, np.array([foot, 0.3, 0.0]), 0.0
        for joint, (length, mass, degrees) in enumerate(zip(PLANAR_LENGTHS, PLANAR_MASSES, PLANAR_ANGLES[arm]), 1):
            name = f'arm_{arm}_joint_{joint}'
            com = (0.5 * length, 0.0, 0.0)
            carrier = builder.add_joint(
                name, carrier, 'revolute', Z, p=offset, mass=mass, com=com, inertia=rod(mass, length)
            )
            positions[name] = np.radians(degrees) - before
            before, offset = np.radians(degrees), np.array([length, 0.0, 0.0])
        builder.add_frame(f'tip_{arm}', carrier, p=offset)
    load = builder.add_planar('load', 10.0, inertia=np.diag([0.0, 0.0, 0.5]))
    builder.add_frame('grasp_1', load, p=(-0.2, 0.0, 0.0))
    builder.add_frame('grasp_2', load, turn_z(np.pi), (0.2, 0.0, 0.0))
    height = 0.3 + np.sin(np.radians(110.0)) + np.sin(np.radians(70.0))
    tree = builder.build()
    q, v = state_of(tree, {**positions, 'load_y': height})
    grasps = tuple(Loop.planar(f'grasp_{k}', tree.frame(f'grasp_{k}'), tree.frame(f'tip_{k}')) for k in (1, 2))
    springs = tuple(JointSpring(name, 10.0, 1.0, positions[name]) for name in PLANAR_FLEXIBLE)
    return Model('planar_arms', tree, grasps, q, v, springs, actuated=PLANAR_ACTUATED)


# -- two 6R arms on a free-flying platform with a common load (section 6.4, P-2x6)
SPATIAL_AXES = (Z, Y, Y, Z, Y, X)
SPATIAL_RISES = (0.2, 0.2, 0.6, 0.5, 0.15, 0.1)
SPATIAL_MASSES, SPATIAL_COMS = (4.0, 3.5, 3.0, 1.5, 1.0, 0.5), (0.1, 0.3, 0.25, 0.07, 0.05, 0.04)
SPATIAL_LENGTHS = (0.2, 0.6, 0.5, 0.15, 0.1, 0.1)
SPATIAL_ANGLES = {1: (0.1, 0.5, 0.4, 0.2, -0.6, 0.3), 2: (-0.2, -0.45, -0.5, 0.1, 0.7, -0.25)}
SPATIAL_TORQUES = (1.0, -2.0, 3.0, -1.0, 0.5, 0.25, -1.0, 2.0, -3.0, 1.0, -0.5, -0.25)


def spatial_arms() -> Model:
    """Return two 6R arms on a free-flying platform that hold one rigid load, at rest."""
    builder = TreeBuilder()
    base = builder.add_free('base', 60.0, inertia=np.diag([6.0, 8.0, 10.0]))
    R_base, p_base = turn_z(0.4) @ turn_y(-0.3) @ turn_x(0.2), np.array([1.0, 2.0, 3.0])
    poses, positions = {}, {}
    for arm, foot in ((1, -0.4), (2, 0.4)):
        carrier, R, p = base, R_base, p_base
        for joint in range(6):
            offset = np.array([foot if joint == 0 else 0.0, 0.0, SPATIAL_RISES[joint]])
            mass, length = SPATIAL_MASSES[joint], SPATIAL_LENGTHS[joint]
            along = mass * length**2 / 12 + 0.004
            name, angle = f'arm_{arm}_joint_{joint + 1}', SPATIAL_ANGLES[arm][joint]
            carrier = builder.add_joint(
                name,
                carrier,
                'revolute',
                SPATIAL_AXES[joint],
                p=offset,
                mass=mass,
                com=(0.0, 0.0, SPATIAL_COMS[joint]),
                inertia=np.diag([along, along, 0.003]),
            )
            positions[name] = angle
            p = p + R @ offset
            R = R @ {0: turn_x, 1: turn_y, 2: turn_z}[int(np.argmax(SPATIAL_AXES[joint]))](angle)
        builder.add_frame(f'tip_{arm}', carrier, p=(0.0, 0.0, 0.1))
        poses[arm] = (R, p + R @ (0.0, 0.0, 0.1))
    load = builder.add_free('load', 15.0, (0.02, -0.01, 0.03), np.diag([0.4, 0.6, 0.5]))
    center = 0.5 * (poses[1][1] + poses[2][1])
    for arm, (R, p) in poses.items():
        builder.add_frame(f'grasp_{arm}', load, R, p - center)
    tree = builder.build()
    q, v = state_of(tree, positions)
    q[0:3], q[3:7] = p_base, quaternion_of(R_base)
    start = tree.bodies[load].q
    q[start : start + 3] = center
    grasps = tuple(Loop.frame(f'grasp_{k}', tree.frame(f'grasp_{k}'), tree.frame(f'tip_{k}')) for k in (1, 2))
    joints = tuple(name for name in tree.velocity_names if name.startswith('arm_'))
    return Model('spatial_arms', tree, grasps, q, v, actuated=joints)


def quaternion_of(R: Array) -> Array:
    """Return the quaternion (x, y, z, w) of a rotation."""
    from scipy.spatial.transform import Rotation

    return np.asarray(Rotation.from_matrix(R).as_quat())


# -- parallelogram four-bar (section 6.6)
BAR_SPAN, BAR_CRANK, CRANK_MASS, COUPLER_MASS = 0.9, 0.5, 2.0, 3.0
OUT_OF_PLANE: tuple[tuple[str, JointKind, Array], ...] = (
    ('rx', 'revolute', X),
    ('ry', 'revolute', Y),
    ('z', 'prismatic', Z),
)
CRANK_ANGLE, CRANK_RATE, CRANK_TORQUE = np.radians(60.0), 0.8, 4.0


def four_bar(planar: bool = True, pseudo: Sequence[str] = (), pseudo_mass: float = 0.0) -> Model:
    """Return a parallelogram whose coupler is cut in three: the outer thirds end the arms, the middle is the load.

    Args:
        planar: the load moves in the plane, held by 3 rows an arm; else it is a free body, held by 6.
        pseudo: names of pseudo joints to add: `slider_1`, `slider_2` at mid-crank, and `arm_<k>_rx`, `arm_<k>_ry`,
            `arm_<k>_z` out of the plane, between crank and coupler of an arm.
        pseudo_mass: of the link of each pseudo joint out of the plane, kg.
    """
    builder = TreeBuilder()
    third = BAR_SPAN / 3
    positions: dict[str, float] = {}
    velocities: dict[str, float] = {}
    for arm, foot, angle in ((1, 0.0, 0.0), (2, BAR_SPAN, np.pi)):
        carrier, reach = -1, BAR_CRANK
        slider = f'slider_{arm}'
        half = 0.5 * BAR_CRANK
        if slider in pseudo:
            mass, com, inertia = 0.5 * CRANK_MASS, (0.5 * half, 0.0, 0.0), rod(0.5 * CRANK_MASS, half)
            inner = builder.add_joint(
                f'crank_{arm}', -1, 'revolute', Z, p=(foot, 0.0, 0.0), mass=mass, com=com, inertia=inertia
            )
            carrier = builder.add_joint(
                slider, inner, 'prismatic', X, p=(half, 0.0, 0.0), mass=mass, com=com, inertia=inertia
            )
            reach = half
        else:
            carrier = builder.add_joint(
                f'crank_{arm}',
                -1,
                'revolute',
                Z,
                p=(foot, 0.0, 0.0),
                mass=CRANK_MASS,
                com=(half, 0.0, 0.0),
                inertia=rod(CRANK_MASS, BAR_CRANK),
            )
        offset = np.array([reach, 0.0, 0.0])
        for suffix, kind, axis in OUT_OF_PLANE:
            if f'arm_{arm}_{suffix}' in pseudo:
                inertia = np.diag([1e-3, 1e-3, 0.0])
                carrier = builder.add_joint(
                    f'arm_{arm}_{suffix}', carrier, kind, axis, p=offset, mass=pseudo_mass, inertia=inertia
                )
                offset = np.zeros(3)
        carrier = builder.add_joint(
            f'coupler_{arm}',
            carrier,
            'revolute',
            Z,
            p=offset,
            mass=COUPLER_MASS / 3,
            com=(0.5 * third, 0.0, 0.0),
            inertia=rod(COUPLER_MASS / 3, third),
        )
        builder.add_frame(f'tip_{arm}', carrier, p=(third, 0.0, 0.0))
        positions |= {f'crank_{arm}': CRANK_ANGLE, f'coupler_{arm}': angle - CRANK_ANGLE}
        velocities |= {f'crank_{arm}': CRANK_RATE, f'coupler_{arm}': -CRANK_RATE}
    # a free body needs an inertia about its length; it does not affect the motion of the mechanism
    inertia = rod(COUPLER_MASS / 3, third) + np.diag([1e-3, 0.0, 0.0])
    center = np.array([np.cos(CRANK_ANGLE), np.sin(CRANK_ANGLE), 0.0]) * BAR_CRANK + [0.5 * BAR_SPAN, 0.0, 0.0]
    speed = BAR_CRANK * CRANK_RATE * np.array([-np.sin(CRANK_ANGLE), np.cos(CRANK_ANGLE)])
    load = (
        builder.add_planar('load', COUPLER_MASS / 3, inertia=inertia)
        if planar
        else builder.add_free('load', COUPLER_MASS / 3, inertia=inertia)
    )
    positions |= {'load_x': center[0], 'load_y': center[1]}
    velocities |= dict(zip(('load_x', 'load_y') if planar else ('load_vx', 'load_vy'), speed))
    builder.add_frame('grasp_1', load, p=(-0.5 * third, 0.0, 0.0))
    builder.add_frame('grasp_2', load, turn_z(np.pi), (0.5 * third, 0.0, 0.0))
    tree = builder.build()
    q, v = state_of(tree, positions, velocities)
    connect = Loop.planar if planar else Loop.frame
    grasps = tuple(connect(f'grasp_{k}', tree.frame(f'grasp_{k}'), tree.frame(f'tip_{k}')) for k in (1, 2))
    return Model('four_bar', tree, grasps, q, v, gravity=GRAVITY_DOWN_Y, actuated=('crank_1',))


# -- one deficient link with a load (section 6.7)
LINK_LENGTH, LINK_MASS, LINK_ANGLE, LINK_RATE, LINK_TORQUE = 0.5, 2.0, 0.4, 1.2, 1.0


def deficient_arm() -> Model:
    """Return one grounded link that holds a rigid load in space: J has rank 1, but all 6 rows are independent."""
    builder = TreeBuilder()
    link = builder.add_joint(
        'hinge',
        -1,
        'revolute',
        Z,
        mass=LINK_MASS,
        com=(0.25, 0.0, 0.0),
        inertia=np.diag([0.05, 0.05, 0.05]),
    )
    builder.add_frame('tip', link, p=(LINK_LENGTH, 0.0, 0.0))
    builder.add_free('load', 3.0, inertia=0.02 * np.eye(3))
    tree = builder.build()
    along = np.array([np.cos(LINK_ANGLE), np.sin(LINK_ANGLE), 0.0])
    q, v = state_of(tree, {'hinge': LINK_ANGLE}, {'hinge': LINK_RATE, 'load_wz': LINK_RATE})
    start = tree.bodies[tree.body('load')].q
    q[start : start + 3], q[start + 3 : start + 7] = LINK_LENGTH * along, quaternion_of(turn_z(LINK_ANGLE))
    # the load has the axes of the link; its velocity is expressed in them
    v[tree.velocity_index('load_vy')] = LINK_LENGTH * LINK_RATE
    grasp = Loop.frame('grasp', tree.frame('load'), tree.frame('tip'))
    return Model('deficient_arm', tree, (grasp,), q, v, gravity=GRAVITY_DOWN_Y, actuated=('hinge',))


# -- slider-crank
SLIDER_CRANK, SLIDER_ROD = 0.15, 0.5
SLIDER_MASSES = (2.0, 1.5, 3.0)
SLIDER_ANGLE, SLIDER_RATE, SLIDER_TORQUE = 0.6, 5.0, 3.0


def slider_crank() -> Model:
    """Return a turning crank, a connecting rod and a piston along x; gravity along -y."""
    builder = TreeBuilder()
    crank, rod_mass, piston = SLIDER_MASSES
    a = builder.add_joint(
        'crank',
        -1,
        'revolute',
        Z,
        mass=crank,
        com=(0.5 * SLIDER_CRANK, 0.0, 0.0),
        inertia=rod(crank, SLIDER_CRANK),
    )
    b = builder.add_joint(
        'rod',
        a,
        'revolute',
        Z,
        p=(SLIDER_CRANK, 0.0, 0.0),
        mass=rod_mass,
        com=(0.5 * SLIDER_ROD, 0.0, 0.0),
        inertia=rod(rod_mass, SLIDER_ROD),
    )
    builder.add_joint('piston', -1, 'prismatic', X, mass=piston)
    builder.add_frame('pin', b, p=(SLIDER_ROD, 0.0, 0.0))
    tree = builder.build()
    lean = np.arcsin(SLIDER_CRANK / SLIDER_ROD * np.sin(SLIDER_ANGLE))
    travel = SLIDER_CRANK * np.cos(SLIDER_ANGLE) + SLIDER_ROD * np.cos(lean)
    lean_rate = SLIDER_CRANK * np.cos(SLIDER_ANGLE) / (SLIDER_ROD * np.cos(lean)) * SLIDER_RATE
    speed = -SLIDER_CRANK * np.sin(SLIDER_ANGLE) * SLIDER_RATE - SLIDER_ROD * np.sin(lean) * lean_rate
    q, v = state_of(
        tree,
        {'crank': SLIDER_ANGLE, 'rod': -lean - SLIDER_ANGLE, 'piston': travel},
        {'crank': SLIDER_RATE, 'rod': -lean_rate - SLIDER_RATE, 'piston': speed},
    )
    pin = Loop.planar('pin', tree.frame('piston'), tree.frame('pin'), rotation=False)
    return Model('slider_crank', tree, (pin,), q, v, gravity=GRAVITY_DOWN_Y, actuated=('crank',))
