"""Finite elements between separately simulated hands, with ball and fixed grasps: split against monolithic model.

`python test/cosimulation/test_held_finite_elements.py` prints the times of docs/reference/teams.md.
"""

from __future__ import annotations

import time

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

from dyn_nodes.constraints import ConstraintBlocks
from dyn_nodes.multibody import Frame, TreeBuilder
from dyn_nodes.simulation.cosimulation.held_object import Grip, HeldHand, HeldObject
from dyn_nodes.teams.condensed_model import CondensedModel
from dyn_nodes.teams.deformable.condensation import condensed
from dyn_nodes.teams.deformable.finite_elements import assemble
from dyn_nodes.teams.deformable.grasps import fixed_points, patch
from dyn_nodes.teams.deformable.material import Material
from dyn_nodes.teams.deformable.mesh import box_mesh
from dyn_nodes.teams.layout import Holding
from dyn_nodes.teams.robot_model import RobotModel
from dyn_nodes.teams.system import TeamSystem

GRAVITY = np.array([0.0, 0.0, -9.81])
SOFT = Material(young_modulus=1e5, poisson_ratio=0.3, density=200.0, damping=20.0)
MASS, INERTIA = 3.0, 0.05
"""Mass and inertia of the balls whose centres are the hands, kg and kg m2."""
WALL = np.zeros((6, 6))


def plank(material=SOFT, vibrations=2):
    """Return a plank held at both ends by fixed grasps, and the centres of the grasps."""
    mesh = box_mesh((0.6, 0.1, 0.05), (6, 2, 1))
    faces = [patch(mesh, (x, 0.0, 0.0), (0.0, 0.1, 0.05), name) for x, name in ((-0.3, 'a'), (0.3, 'b'))]
    points = [point for face in faces for point in fixed_points(face, mesh.nodes)]
    return condensed(assemble(mesh, material), points, vibrations), np.array([face.position for face in faces])


def clamps(reduced, middles, **limits):
    positions = reduced.positions.reshape(-1, 3)
    nodes = [(0, 1, 2), (3, 4, 5)]
    return [Grip(triple, positions[list(triple)] - middle, **limits) for triple, middle in zip(nodes, middles)]


class Balls:
    """Two free balls that rotate and fall: robots with an exactly known response to a wrench."""

    def __init__(self, middles):
        self.position = middles.copy()
        self.rotation = [Rotation.identity()] * 2
        self.velocity = np.array([(0.1, 0.3, 0.0), (-0.1, -0.2, 0.1)])
        self.spin = np.array([(0.8, 0.4, -0.6), (-0.4, 0.7, 0.3)])

    def hands(self):
        mobility = np.diag([1.0 / MASS] * 3 + [1.0 / INERTIA] * 3)
        motions = zip(self.position, self.velocity, self.rotation, self.spin)
        free = np.concatenate([GRAVITY, np.zeros(3)])
        return [HeldHand(p, v, mobility, free, R.as_matrix(), w) for p, v, R, w in motions]

    def advance(self, wrenches, period):
        for k, wrench in enumerate(wrenches):
            pull, turn = GRAVITY + wrench[:3] / MASS, wrench[3:] / INERTIA
            self.position[k] += period * self.velocity[k] + 0.5 * period**2 * pull
            self.velocity[k] += period * pull
            for _ in range(4):  # angular velocity grows linearly
                self.rotation[k] = (
                    Rotation.from_rotvec(period / 4 * (self.spin[k] + period / 8 * turn)) * self.rotation[k]
                )
                self.spin[k] += period / 4 * turn


def split(reduced, middles, period, end):
    balls = Balls(middles)
    item = HeldObject(reduced, GRAVITY, grips=clamps(reduced, middles))
    item.start(balls.hands())
    for _ in range(round(end / period)):
        balls.advance(item.advance(balls.hands(), period), period)
    return balls, item


def whole(reduced, middles, end):
    """Return the positions (2, 3) of the balls with the plank, as one traced system."""
    balls, models = Balls(middles), []
    first = HeldObject(reduced, GRAVITY, grips=clamps(reduced, middles))
    first.start(balls.hands())
    for k in range(2):
        tree = TreeBuilder()
        base = tree.add_free('base')
        tree.add_mass(base, MASS, com=np.zeros(3), inertia=INERTIA * np.eye(3))
        blocks = ConstraintBlocks(tree.build(), ())
        q, v = blocks.tree.neutral, np.zeros(blocks.tree.nv)
        q[:3], v[:3], v[3:6] = middles[k], balls.spin[k], balls.velocity[k]
        arms = reduced.positions.reshape(-1, 3)[3 * k : 3 * k + 3] - middles[k]
        frames = [Frame(base, np.eye(3), arm) for arm in arms]
        models.append(RobotModel.of_blocks(f'ball_{k}', blocks, frames, (q, v), ()))
    hands = tuple((k, j) for k in range(2) for j in range(3))
    holding = Holding('plank', CondensedModel(reduced), tuple('abcdef'), hands)
    system = TeamSystem.of_models('balls', models, [holding])
    equations, p, x = system.dynamics.equations, system.defaults, system.start
    p[:3] = GRAVITY
    x[[system.index('state', f'plank/vibration_{k + 1}') for k in range(2)]] = first.amplitudes
    traced = ca.Function('rates', [equations.x, equations.u, equations.p], [equations.rates])
    run = solve_ivp(lambda t, x: np.array(traced(x, [], p)).ravel(), (0.0, end), x, 'DOP853', rtol=1e-9, atol=1e-10)
    return np.array([system.robot_positions(run.y[:, -1], f'ball_{k}')[:3] for k in range(2)])


def test_the_error_of_the_split_falls_with_the_square_of_the_period():
    reduced, middles = plank()
    expected = whole(reduced, middles, 0.1)
    errors = [np.abs(split(reduced, middles, h, 0.1)[0].position - expected).max() for h in (0.005, 0.0025, 0.00125)]
    assert errors[0] < 2e-5
    assert errors[0] > 3.6 * errors[1] > 3.6 * 3.6 * errors[2]


def test_total_momentum_of_hands_and_object_is_conserved():
    """Linear momentum is conserved to round-off."""
    reduced, middles = plank()
    balls, item = split(reduced, middles, 0.005, 0.2)
    first = HeldObject(reduced, GRAVITY, grips=clamps(reduced, middles))
    first.start(Balls(middles).hands())
    total = reduced.weights.sum() + 2.0 * MASS
    began = MASS * Balls(middles).velocity.sum(axis=0) + momentum(first)
    final = MASS * balls.velocity.sum(axis=0) + momentum(item)
    np.testing.assert_allclose(final, began + total * GRAVITY * 0.2, atol=1e-9)
    assert np.abs(item.velocity).max() > 0.5


def momentum(item):
    velocity = np.concatenate([item.velocity.ravel(), item.rates])
    return (item.body.mass(item.position) @ velocity)[: item.velocity.size].reshape(-1, 3).sum(axis=0)


@pytest.mark.parametrize('young', [1e5, 1e8, 2e11])
def test_a_stiff_plank_stays_between_its_hands(young):
    reduced, middles = plank(Material(young_modulus=young, poisson_ratio=0.3, density=200.0))
    balls, _ = split(reduced, middles, 0.005, 0.3)
    assert np.abs(balls.spin).max() < 2.0
    length = np.linalg.norm(balls.position[1] - balls.position[0])
    assert length == pytest.approx(0.6, rel=0.05 if young < 1e6 else 1e-3)


def still(middles):
    return [HeldHand(position, np.zeros(3), WALL, np.zeros(6)) for position in middles]


def test_fixed_hands_carry_the_moments_of_a_beam_with_built_in_ends():
    reduced, middles = plank(Material(young_modulus=1e8, poisson_ratio=0.0, density=200.0, damping=1e4))
    item = HeldObject(reduced, GRAVITY, grips=clamps(reduced, middles))
    item.start(still(middles))
    for _ in range(40):
        wrenches = item.advance(still(middles), 0.005)
    weight = 0.6 * 0.1 * 0.05 * 200.0 * 9.81
    np.testing.assert_allclose(wrenches[:, :3], [(0.0, 0.0, -weight / 2.0)] * 2, atol=1e-6)
    np.testing.assert_allclose(wrenches[:, 4], np.array([1.0, -1.0]) * weight * 0.6 / 12.0, rtol=0.03)


def test_a_clamp_slips_off_beyond_its_torque_and_its_end_falls():
    reduced, middles = plank(Material(young_modulus=1e6, poisson_ratio=0.3, density=200.0, damping=1e3))
    grips = clamps(reduced, middles)
    grips[1] = grips[1]._replace(torque=0.1)
    item = HeldObject(reduced, GRAVITY, grips=grips)
    item.start(still(middles))
    wrenches = item.advance(still(middles), 0.005)
    assert item.released == {1}
    np.testing.assert_array_equal(wrenches[1], np.zeros(6))
    for _ in range(20):
        wrenches = item.advance(still(middles), 0.005)
    assert item.position[3:, 2].mean() < -0.005
    np.testing.assert_allclose(item.position[:3].mean(axis=0), middles[0], atol=1e-12)
    assert np.abs(wrenches[0, 4]) > 0.3


def times():
    """Print the computing times of a plate of 10,302 nodes in four hands: setup, a period of 5 ms, drawing."""
    from dyn_nodes.teams.deformable.deformable_object import DeformableObject
    from dyn_nodes.teams.deformable.skin import skin_of

    began = time.process_time()
    mesh = box_mesh((1.0, 0.6, 0.02), (100, 50, 1))
    corners = [(x, y, 0.0) for x, y in ((-0.45, -0.25), (0.45, -0.25), (0.45, 0.25), (-0.45, 0.25))]
    grasps = tuple(patch(mesh, corner, (0.1, 0.1, 0.02), str(k)) for k, corner in enumerate(corners))
    plate = Material(young_modulus=1e6, poisson_ratio=0.3, density=200.0, retardation=2e-3)
    whole_plate = DeformableObject('plate', plate, mesh, grasps, vibrations=6)
    item, skin = HeldObject(whole_plate.reduced, GRAVITY), skin_of(whole_plate)
    print(f'{len(mesh.nodes)} nodes: {time.process_time() - began:.2f} s before they are held')
    mobility, free = np.eye(3) / 10.0, np.array([0.3, 0.2, 0.1])
    hands = [
        HeldHand(corner, np.zeros(3), mobility, (k - 1.5) * free) for k, corner in enumerate(whole_plate.positions)
    ]
    item.start(hands)
    for label, act in (
        ('a period of 5 ms', lambda: item.advance(hands, 0.005)),
        (f'{len(skin.faces)} triangles and their stress', lambda: skin.at(item.position, item.amplitudes, GRAVITY)),
    ):
        spent = []
        for _ in range(200):
            began = time.thread_time()
            act()
            spent.append(time.thread_time() - began)
        print(f'{label}: {1e3 * np.median(spent):.2f} ms of processor time (median of 200)')


if __name__ == '__main__':
    times()
