"""Bodies with large rotations: exact gradients, conserved energy and momentum, rods as an independent check."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

from dyn_nodes.teams.deformable.condensation import Condensed, condensed
from dyn_nodes.teams.deformable.corotation import CorotatedBody
from dyn_nodes.teams.deformable.finite_elements import assemble
from dyn_nodes.teams.deformable.grasps import patch
from dyn_nodes.teams.deformable.lattice import Lattice, simplest_rods
from dyn_nodes.teams.deformable.material import Material
from dyn_nodes.teams.deformable.mesh import box_mesh

SOFT = Material(young_modulus=1e5, poisson_ratio=0.3, density=100.0)
DOWN = np.array([0.0, 0.0, -9.81])


@pytest.fixture(scope='module')
def plank():
    body = assemble(box_mesh((0.6, 0.2, 0.1), (6, 2, 1)), SOFT)
    positions = ((-0.3, 0.0, 0.0), (0.3, -0.1, 0.0), (0.3, 0.1, 0.0), (0.0, 0.1, 0.05))
    grasps = [patch(body.mesh, position, (0.0, 0.1, 0.1)) for position in positions]
    reduced = condensed(body, grasps, vibrations=3)
    return CorotatedBody(reduced)


def strained(plank, turn, size=0.02, seed=2):
    random = np.random.default_rng(seed)
    points = plank.reduced.positions.reshape(-1, 3)
    moved = (points + size * random.normal(size=points.shape)) @ turn.as_matrix().T + (1.0, -2.0, 0.5)
    return moved, random.normal(size=points.shape), 0.05 * random.normal(size=3), random.normal(size=3)


def test_a_turned_body_has_the_same_energy_and_turned_forces(plank):
    turn = Rotation.from_rotvec((2.0, -1.0, 0.7))
    for angle in (Rotation.identity(), Rotation.from_rotvec((0.3, 0.2, -2.5))):
        moved, speed, amplitudes, rates = strained(plank, angle)
        other = moved @ turn.as_matrix().T
        assert plank.energy(other, amplitudes) == pytest.approx(plank.energy(moved, amplitudes))
        force = plank.forces(moved, speed, amplitudes, rates)
        turned = plank.forces(other, speed @ turn.as_matrix().T, amplitudes, rates)
        assert turned[:12].reshape(4, 3) @ turn.as_matrix() == pytest.approx(force[:12].reshape(4, 3), abs=1e-9)
    rigid = plank.reduced.positions.reshape(-1, 3) @ turn.as_matrix().T
    assert plank.energy(rigid, np.zeros(3)) == pytest.approx(0.0, abs=1e-12)
    assert plank.forces(rigid, np.zeros((4, 3)), np.zeros(3), np.zeros(3)) == pytest.approx(0.0, abs=1e-8)


def test_forces_are_the_gradient_of_the_energy(plank):
    moved, _, amplitudes, _ = strained(plank, Rotation.from_rotvec((0.5, 1.5, -0.4)))
    force = plank.forces(moved, np.zeros((4, 3)), amplitudes, np.zeros(3), DOWN)
    step = 1e-6
    for k in range(15):
        ahead, behind = (np.concatenate([moved.ravel(), amplitudes]) for _ in range(2))
        ahead[k] += step
        behind[k] -= step
        slope = (plank.energy(ahead[:12], ahead[12:], DOWN) - plank.energy(behind[:12], behind[12:], DOWN)) / (2 * step)
        assert force[k] == pytest.approx(slope, abs=1e-5 * np.abs(force).max())


def test_a_thrown_body_keeps_energy_and_both_momenta(plank):
    moved, speed, amplitudes, rates = strained(plank, Rotation.from_rotvec((0.5, 1.5, -0.4)), 0.005)
    speed = np.cross((3.0, -4.0, 5.0), moved - moved.mean(axis=0)) + np.array([0.2, 0.1, 1.0])

    def momentum(state):
        points, momenta = state[:12].reshape(4, 3), (plank.mass(state[:12]) @ state[15:])[:12].reshape(4, 3)
        return np.concatenate([momenta.sum(axis=0), np.cross(points, momenta).sum(axis=0)])

    def energy(state):
        return plank.energy(state[:12], state[12:15]) + plank.kinetic_energy(state[:12], state[15:27], state[27:])

    def slope(t, state):
        load = plank.forces(state[:12], state[15:27], state[12:15], state[27:])
        return np.concatenate([state[15:], np.linalg.solve(plank.mass(state[:12]), -load)])

    def accelerated(state):
        return plank.accelerations(state[:12], state[15:27], state[12:15], state[27:], DOWN, (1.0, 2.0, 3.0))

    start = np.concatenate([moved.ravel(), amplitudes, speed.ravel(), rates])
    end = solve_ivp(slope, (0.0, 0.05), start, 'DOP853', rtol=1e-11, atol=1e-13).y[:, -1]
    load = plank.forces(end[:12], end[15:27], end[12:15], end[27:], DOWN) - np.append(
        np.tile([1.0, 2.0, 3.0], 4), np.zeros(3)
    )
    assert plank.mass(end[:12]) @ accelerated(end) == pytest.approx(-load, abs=1e-8)
    turned = Rotation.from_matrix(plank.axes(end[:12]).R * 1.0) * Rotation.from_matrix(plank.axes(moved).R).inv()
    assert turned.magnitude() > 0.2
    assert energy(end) == pytest.approx(energy(start), rel=1e-8)
    assert momentum(end) == pytest.approx(momentum(start), abs=1e-8)


def test_damping_loses_energy_and_brakes_no_rigid_motion():
    material = Material(young_modulus=1e5, poisson_ratio=0.3, density=100.0, damping=200.0)
    body = assemble(box_mesh((0.6, 0.2, 0.1), (6, 2, 1)), material)
    positions = ((-0.3, 0.0, 0.0), (0.3, -0.1, 0.0), (0.3, 0.1, 0.0))
    damped = condensed(body, [patch(body.mesh, position, (0.0, 0.1, 0.1)) for position in positions])
    plank, free = CorotatedBody(damped), CorotatedBody(damped._replace(damping=0.0 * damped.damping))
    points = damped.positions.reshape(-1, 3) @ Rotation.from_rotvec((0.1, 2.0, 0.3)).as_matrix().T
    spinning = np.cross((1.0, 2.0, 3.0), points) + np.array([1.0, 0.0, 0.0])
    for speed, loses in ((spinning, False), (np.random.default_rng(1).normal(size=(3, 3)), True)):
        extra = plank.forces(points, speed) - free.forces(points, speed)
        power = extra @ speed.ravel()
        assert (power > 0.1) if loses else (np.abs(extra).max() < 1e-9)


def test_large_turns_of_a_tetrahedron_equal_those_of_its_rods():
    nodes = 0.1 * np.array([(1, 1, 1), (-1, -1, 1), (-1, 1, -1), (1, -1, -1)], dtype=float)
    rods, each = simplest_rods(nodes), np.ones(6)
    lattice = Lattice(nodes, rods, 3200.0 * each, 0.0 * each, 0.02 * each, np.zeros(4))
    mass, stiffness = np.kron(lattice.mass.toarray(), np.eye(3)), lattice.linear_stiffness.toarray()
    none = np.zeros((12, 12))
    body = CorotatedBody(
        Condensed((), nodes.ravel(), mass, stiffness, none, np.eye(12), np.zeros(0), lattice.lumped_mass, np.zeros(3))
    )
    random = np.random.default_rng(8)
    for strain in (1e-3, 1e-5):
        turn = Rotation.random(random_state=3).as_matrix()
        moved = (nodes + 0.1 * strain * random.normal(size=nodes.shape)) @ turn.T
        speed = random.normal(size=nodes.shape)
        expected = lattice.forces(moved)
        result = body.forces(moved, speed).reshape(4, 3)
        assert result == pytest.approx(expected, abs=10.0 * strain * np.abs(expected).max())
        assert body.mass(moved) == pytest.approx(mass)


def test_forces_of_turned_finite_elements_equal_mujoco():
    """MuJoCo's flexible bodies have another law (Saint Venant and Kirchhoff): equal to first order of the strain."""
    mujoco = pytest.importorskip('mujoco')
    mesh = box_mesh((0.6, 0.2, 0.1), (3, 1, 1), 'tetrahedron')
    points, elements = (
        ' '.join(repr(number) for number in part.ravel().tolist()) for part in (mesh.nodes, mesh.elements)
    )
    model = mujoco.MjModel.from_xml_string(f"""
        <mujoco><option gravity="0 0 0"/><worldbody>
          <flexcomp name="bar" type="direct" dim="3" mass="1.2" radius="0.001" point="{points}" element="{elements}">
            <elasticity young="1e5" poisson="0.3" damping="0"/><contact selfcollide="none"/>
          </flexcomp>
        </worldbody></mujoco>""")
    data = mujoco.MjData(model)
    finite = assemble(mesh, SOFT)
    every = [patch(mesh, node, (0.0, 0.0, 0.0)) for node in mesh.nodes]
    body = CorotatedBody(condensed(finite, every))
    random = np.random.default_rng(2)
    for strain in (1e-3, 1e-5):
        turn = Rotation.from_rotvec((1.0, -2.0, 0.7)).as_matrix()
        moved = (mesh.nodes + 0.1 * strain * random.normal(size=mesh.nodes.shape)) @ turn.T
        data.qpos[:] = (moved - mesh.nodes).ravel()
        mujoco.mj_forward(model, data)
        theirs = -data.qfrc_passive.reshape(-1, 3)
        ours = body.forces(moved, np.zeros(moved.shape)).reshape(-1, 3)
        assert ours == pytest.approx(theirs, abs=10.0 * strain * np.abs(theirs).max())


def test_grasps_on_a_line_have_no_axes():
    body = assemble(box_mesh((0.6, 0.2, 0.1), (6, 2, 1)), SOFT)
    grasps = [patch(body.mesh, (x, 0.0, 0.0), (0.0, 0.2, 0.1)) for x in (-0.3, 0.3)]
    with pytest.raises(ValueError, match='expected three or more grasps that are not on a line, found 2 on one'):
        CorotatedBody(condensed(body, grasps))
