"""The machines of the source's DH tables 3.1, 4.1, 5.1, 6.1 and 7.1, with the bodies of its tables 4.2, 7.2, 7.3.

Angles in rad, lengths in m, masses in kg. Every constructor takes a payload: a point mass at the tip of the stick.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from dyn_nodes.studies.abo_shanab_2003.dh import Body, Chain, Row, chain_of, pseudo_inertia

GRAVITY = 9.81
HALF_TURN = np.pi / 2

BASE_LENGTH = 5.0  # l, between the rear edge A and the front edge B
REAR_ARM = 4.0  # a_r, from A to the boom foot P
FRONT_ARM = 1.0  # a_f, from P to B
PIVOT_HEIGHT = 1.5  # d_3, of P above the line A-B
BASE_COM = (-2.0, -0.6)  # of the base relative to P
BOOM_LENGTH = 5.2
STICK_LENGTH = 1.8

Edge = Literal['rear', 'front']
PlanarInertia = Literal['literal', 'axis']
SpatialInertia = Literal['literal', 'point', 'uniform']

# name: mass, (x, y) of the centre of mass, value of table 4.2, distance of the axis it might refer to
_PLANAR = {
    'base': (12_000.0, BASE_COM, 90_523.0, np.hypot(REAR_ARM + BASE_COM[0], PIVOT_HEIGHT + BASE_COM[1])),
    'boom': (1_830.0, (-2.9, 0.2), 15_500.0, np.hypot(BOOM_LENGTH - 2.9, 0.2)),
    'stick': (688.0, (-0.9, 0.1), 610.0, np.hypot(STICK_LENGTH - 0.9, 0.1)),
}


def spherical_joint(
    mass: float,
    com_height: float,
    inertia: float,
    axial_inertia: float,
    length: float,
    *,
    first_offset: float = 0.0,
    second_offset: float = 0.0,
) -> Chain:
    """Return a body on a spherical joint: z-y-z Euler angles with two virtual links (table 3.1); reference x is up.

    Args:
        mass: m_3.
        com_height: z_3, of the centre of mass in frame 3.
        inertia: I_3, across the axis, about the centre of mass, kg m2.
        axial_inertia: I_3zz, kg m2.
        length: d_3.
        first_offset: d_1, zero in a true spherical joint.
        second_offset: d_2, zero in a true spherical joint.
    """
    rows = (
        Row('1', d=first_offset, alpha=-HALF_TURN, variable='theta'),
        Row('2', alpha=HALF_TURN, variable='theta'),
        Row('2a', d=second_offset),
        Row('3', d=length, variable='theta'),
    )
    body = Body.from_inertia(mass, (0.0, 0.0, com_height), np.diag((inertia, inertia, axial_inertia)))
    return chain_of(rows, {'3': body}, (-GRAVITY, 0.0, 0.0))


def planar_bodies(inertia: PlanarInertia = 'literal') -> dict[str, Body]:
    """Return base, boom and stick of table 4.2 (= 5.2), in frames 3a, 4, 5.

    Args:
        inertia: `literal`: the printed values are about the centre of mass; `axis`: about the proximal joint (the
            base: about the rear edge), as in the header of the table.

    Planar motion depends on one moment of inertia only; the mass is assumed to be distributed along x.
    """
    if inertia not in ('literal', 'axis'):
        raise ValueError(f"inertia: expected 'literal' or 'axis', found {inertia!r}")
    bodies = {}
    for name, (mass, com, value, distance) in _PLANAR.items():
        about_com = value if inertia == 'literal' else value - mass * float(distance) ** 2
        bodies[name] = Body(mass, np.array((*com, 0.0)), np.diag((about_com, 0.0, 0.0)))
    return bodies


def planar_rigid_machine(
    edge: Edge = 'front', inertia: PlanarInertia = 'literal', payload: float = 0.0, slope: float = 0.0
) -> Chain:
    """Return the planar machine on rigid ground (table 4.1): x, height, nose-up rotation of a base edge, boom, stick.

    The z axis of the reference is forward along the ground line, x along its normal.

    Args:
        edge: reference edge: `rear` (A, a_3 = a_r) or `front` (B, a_3 = -a_f).
        inertia: reading of table 4.2, see :func:`planar_bodies`.
        payload: kg.
        slope: gamma of the ground line, rad, positive where the front is downhill.
    """
    return _planar(_reference(edge), inertia, payload, slope)


def planar_friction_machine(inertia: PlanarInertia = 'literal', payload: float = 0.0, slope: float = 0.0) -> Chain:
    """Return the planar machine with friction (table 6.1): table 4.1 with the middle as reference (a_3 = 1.5)."""
    return _planar(1.5, inertia, payload, slope)


def _planar(reference: float, inertia: PlanarInertia, payload: float, slope: float) -> Chain:
    rows = (
        Row('1', theta=HALF_TURN, alpha=HALF_TURN, variable='d'),
        Row('2', theta=HALF_TURN, alpha=HALF_TURN, variable='d'),
        Row('3', a=reference, alpha=-HALF_TURN, variable='theta'),
        Row('3a', d=PIVOT_HEIGHT, alpha=HALF_TURN),
        Row('4', a=BOOM_LENGTH, variable='theta'),
        Row('5', a=STICK_LENGTH, variable='theta'),
    )
    bodies = planar_bodies(inertia)
    gravity = (-GRAVITY * np.cos(slope), 0.0, GRAVITY * np.sin(slope))
    chain = chain_of(rows, {'3': bodies['base'], '4': bodies['boom'], '5': bodies['stick']}, gravity)
    return chain.with_payload(payload)


def planar_compliant_machine(
    edge: Edge = 'rear', inertia: PlanarInertia = 'literal', payload: float = 0.0, slope: float = 0.0
) -> Chain:
    """Return the planar machine on compliant contact (table 5.1): height, rotation of a base edge, boom, stick.

    The z axis of the reference is along the normal of the ground line, y forward along it. Arguments as in
    :func:`planar_rigid_machine`.
    """
    rows = (
        Row('1', theta=HALF_TURN, alpha=HALF_TURN, variable='d'),
        Row('2', a=_reference(edge), alpha=-HALF_TURN, variable='theta'),
        Row('2a', d=PIVOT_HEIGHT, alpha=HALF_TURN),
        Row('3', a=BOOM_LENGTH, variable='theta'),
        Row('4', a=STICK_LENGTH, variable='theta'),
    )
    bodies = planar_bodies(inertia)
    gravity = (0.0, GRAVITY * np.sin(slope), -GRAVITY * np.cos(slope))
    chain = chain_of(rows, {'2': bodies['base'], '3': bodies['boom'], '4': bodies['stick']}, gravity)
    return chain.with_payload(payload)


def _reference(edge: Edge) -> float:
    if edge not in ('rear', 'front'):
        raise ValueError(f"edge: expected 'rear' or 'front', found {edge!r}")
    return REAR_ARM if edge == 'rear' else -FRONT_ARM


def spatial_bodies(inertia: SpatialInertia = 'literal') -> dict[str, Body]:
    """Return base, cabin, boom and stick of tables 7.2 and 7.3, in frames 6 to 9.

    The row of the base is an ordinary inertia tensor; the other three cannot be (zeros on the diagonal, triangle
    inequality broken) and are second moments.

    Args:
        inertia: `literal`: second moments about the centre of mass, as in (7.6); `point`: they already contain m r r^T,
            so J = 0; `uniform`: a box of 4.0 x 2.4 x 1.2 m and two rods of the link lengths, which is assumed and not
            from the source.
    """
    if inertia == 'literal':
        cabin = np.diag((15_700.0, 0.0, 200.0))
        boom = np.array([[15_400.0, -1_100.0, 0.0], [-1_100.0, 100.0, 0.0], [0.0, 0.0, 0.0]])
        stick = np.array([[600.0, 0.0, -70.0], [0.0, 0.0, 0.0], [-70.0, 0.0, 0.0]])
    elif inertia == 'point':
        cabin = boom = stick = np.zeros((3, 3))
    elif inertia == 'uniform':
        cabin = 8_031.0 / 12.0 * np.diag((4.0**2, 1.2**2, 2.4**2))  # x forward, y up, z to the right
        boom = 1_830.0 / 12.0 * np.diag((BOOM_LENGTH**2, 0.0, 0.0))
        stick = 688.0 / 12.0 * np.diag((STICK_LENGTH**2, 0.0, 0.0))
    else:
        raise ValueError(f"inertia: expected 'literal', 'point' or 'uniform', found {inertia!r}")
    return {
        'base': Body(6_932.0, np.array((-0.056, 0.0, -0.23)), pseudo_inertia(np.diag((3_340.0, 6_683.0, 9_778.0)))),
        'cabin': Body(8_031.0, np.array((-1.4, 0.0, -0.16)), cabin),
        'boom': Body(1_830.0, np.array((-2.9, 0.2, 0.0)), boom),
        'stick': Body(688.0, np.array((-0.9, 0.1, 0.0)), stick),
    }


def log_loader_chain(inertia: SpatialInertia = 'literal', payload: float = 0.0) -> Chain:
    """Return the log-loader in space (table 7.1): height, x, y, three rotations of the base, swing, boom, stick.

    z of the reference is up, x forward. The base is level at q_4 = 0, q_5 = q_6 = -pi/2.

    Args:
        inertia: reading of table 7.3, see :func:`spatial_bodies`.
        payload: kg.
    """
    rows = (
        Row('1', theta=HALF_TURN, alpha=HALF_TURN, variable='d'),
        Row('2', theta=HALF_TURN, alpha=HALF_TURN, variable='d'),
        Row('3', variable='d'),
        Row('4', alpha=-HALF_TURN, variable='theta'),
        Row('5', alpha=-HALF_TURN, variable='theta'),
        Row('6a', d=0.23, variable='theta'),
        Row('6', a=0.2),
        Row('7a', a=0.35, alpha=HALF_TURN, variable='theta'),
        Row('7', d=0.12),
        Row('8', a=BOOM_LENGTH, variable='theta'),
        Row('9', a=STICK_LENGTH, variable='theta'),
    )
    bodies = spatial_bodies(inertia)
    by_row = {'6a': bodies['base'], '7a': bodies['cabin'], '8': bodies['boom'], '9': bodies['stick']}
    return chain_of(rows, by_row, (0.0, 0.0, -GRAVITY)).with_payload(payload)
