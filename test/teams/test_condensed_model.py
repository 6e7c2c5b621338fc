"""Finite elements reduced to grasps in a team: symbolic against numerical equations, and a run."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

from dyn_nodes.constraints import ConstraintBlocks
from dyn_nodes.multibody import Frame, TreeBuilder
from dyn_nodes.teams import load_team
from dyn_nodes.teams.condensed_model import CondensedModel
from dyn_nodes.teams.deformable.condensation import condensed
from dyn_nodes.teams.deformable.corotation import CorotatedBody
from dyn_nodes.teams.deformable.finite_elements import assemble
from dyn_nodes.teams.deformable.grasps import patch
from dyn_nodes.teams.deformable.material import Material
from dyn_nodes.teams.deformable.mesh import box_mesh
from dyn_nodes.teams.layout import Holding
from dyn_nodes.teams.object_model import ObjectMotion
from dyn_nodes.teams.robot_model import RobotModel
from dyn_nodes.teams.system import TeamSystem, object_model

SOFT = Material(young_modulus=1e5, poisson_ratio=0.3, density=200.0, damping=20.0)
CORNERS = ((-0.25, -0.15, 0.0), (0.25, -0.15, 0.0), (0.25, 0.15, 0.0), (-0.25, 0.15, 0.0))
GRAVITY = np.array([0.3, -0.2, -9.7])


@pytest.fixture(scope='module')
def reduced():
    body = assemble(box_mesh((0.6, 0.4, 0.05), (6, 4, 1)), SOFT)
    return condensed(body, [patch(body.mesh, corner, (0.1, 0.1, 0.05), f'{k}') for k, corner in enumerate(CORNERS)], 3)


def numbers_of(model, motion, scales=(1.0, 1.0, 1.0)):
    """Return mass, load, rates of the quaternion, energy, heat, momentum of a motion (position, velocity, ...)."""
    sizes = [len(part) for part in motion]
    symbols = [ca.SX.sym('part', size) for size in sizes]
    traced = model.equations(ObjectMotion(*symbols), ca.SX(ca.DM(GRAVITY)), ca.SX(ca.DM(scales)))
    result = ca.Function('equations', symbols, [ca.densify(part) for part in traced])(*motion)
    return [np.array(part) for part in result]


def turned(reduced, seed=3):
    """Return a motion of the body, deformed and turned, with a quaternion about 1e-4 rad off its axes."""
    random = np.random.default_rng(seed)
    turn = Rotation.from_rotvec((0.4, -1.1, 2.0)).as_matrix()
    position = (reduced.positions.reshape(-1, 3) + 0.01 * random.normal(size=(4, 3))) @ turn.T + (1.0, 2.0, 0.5)
    body = CorotatedBody(reduced)
    off = Rotation.from_rotvec(1e-4 * random.normal(size=3))
    quaternion = (Rotation.from_matrix(body.axes(position).R) * off).as_quat()
    return [position.ravel(), random.normal(size=12), 0.01 * random.normal(size=3), random.normal(size=3), quaternion]


def test_mass_load_and_energy_equal_the_numerical_body(reduced):
    motion, body = turned(reduced), CorotatedBody(reduced)
    mass, load, _, energy, _, _ = numbers_of(CondensedModel(reduced), motion)
    position, velocity, amplitudes, rates = motion[0].reshape(-1, 3), motion[1].reshape(-1, 3), *motion[2:4]
    np.testing.assert_allclose(mass, body.mass(position), rtol=1e-10, atol=1e-12)
    expected = body.forces(position, velocity, amplitudes, rates, GRAVITY)
    np.testing.assert_allclose(load.ravel(), expected, rtol=1e-10, atol=1e-10 * np.abs(expected).max())
    wanted = body.kinetic_energy(position, velocity, rates), body.energy(position, amplitudes, GRAVITY)
    np.testing.assert_allclose(energy.ravel(), wanted, rtol=1e-10)


def test_factors_of_mass_stiffness_and_damping_act_on_their_part(reduced):
    motion, body = turned(reduced), CorotatedBody(reduced)
    _, load, _, energy, heat, _ = numbers_of(CondensedModel(reduced), motion, (2.0, 3.0, 0.5))
    other = CorotatedBody(
        reduced._replace(
            mass=2.0 * reduced.mass, stiffness=3.0 * reduced.stiffness, damping=0.5 * reduced.damping,
            weights=2.0 * reduced.weights, first_moment=2.0 * reduced.first_moment,
        )
    )  # fmt: skip
    position, velocity, amplitudes, rates = motion[0].reshape(-1, 3), motion[1].reshape(-1, 3), *motion[2:4]
    expected = other.forces(position, velocity, amplitudes, rates, GRAVITY)
    np.testing.assert_allclose(load.ravel(), expected, rtol=1e-10, atol=1e-10 * np.abs(expected).max())
    assert energy[1, 0] == pytest.approx(other.energy(position, amplitudes, GRAVITY), rel=1e-10)
    full = numbers_of(CondensedModel(reduced), motion)[4]
    assert heat[0, 0] == pytest.approx(0.5 * full[0, 0], rel=1e-10)
    assert body.energy(position, amplitudes, GRAVITY) != pytest.approx(energy[1, 0], rel=1e-3)


def test_a_free_body_that_holds_a_corner_keeps_momenta_and_energy(reduced):
    tree = TreeBuilder()
    body = tree.add_free('base')
    tree.add_mass(body, 2.0, com=(0.05, 0.0, 0.0), inertia=np.diag((0.05, 0.06, 0.07)))
    blocks = ConstraintBlocks(tree.build(), ())
    q, v = blocks.tree.neutral, np.zeros(blocks.tree.nv)
    q[:3], v[:6] = (-0.45, -0.15, 0.0), (0.3, 0.5, -0.4, 0.1, 0.2, 0.0)
    robot = RobotModel.of_blocks('body', blocks, [Frame(body, np.eye(3), np.array([0.2, 0.0, 0.0]))], (q, v), ())
    free = reduced.positions.reshape(-1, 3)[1:]
    model = CondensedModel(reduced)
    system = TeamSystem.of_models(
        'free', [robot], [Holding('plate', model, tuple('abcd'), ((0, 0), None, None, None), free)]
    )
    equations, p = system.dynamics.equations, system.defaults
    traced = ca.Function('rates', [equations.x, equations.u, equations.p], [equations.rates])
    x = system.start
    x[system.index('state', 'plate/b_z_rate')] = 0.3
    run = solve_ivp(lambda t, x: np.array(traced(x, [], p)).ravel(), (0.0, 0.1), x, 'DOP853', rtol=1e-10, atol=1e-11)
    before, after = (dict(zip(system.output_names, system.outputs(y, np.zeros(0), p))) for y in (x, run.y[:, -1]))
    for name in (name for name in before if 'momentum' in name):
        assert after[name] == pytest.approx(before[name], abs=1e-8), name
    gain = sum(after[f'{kind}_energy'] - before[f'{kind}_energy'] for kind in ('kinetic', 'potential'))
    heat = run.y[system.index('state', 'heat'), -1]
    assert heat > 1e-4
    assert gain == pytest.approx(-heat, abs=1e-8)
    quaternion = run.y[equations.layout.inner[0], -1]
    axes = CorotatedBody(reduced).axes(system.nodes(run.y[:, -1], 'plate')).R
    np.testing.assert_allclose(Rotation.from_quat(quaternion).as_matrix(), axes, atol=1e-7)


def test_the_file_of_a_team_selects_a_plate_of_finite_elements():
    plate = load_team('team_plate').objects['plate']
    model = object_model(plate)
    assert isinstance(model, CondensedModel)
    assert (model.nodes, model.vibrations) == (4, 6)
