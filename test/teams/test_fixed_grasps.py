"""Fixed grasps: patches whose position and orientation a hand holds. No machine code."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

from dyn_nodes.common.share import find_resource
from dyn_nodes.constraints import ConstraintBlocks
from dyn_nodes.model import MachineError
from dyn_nodes.multibody import Frame, TreeBuilder
from dyn_nodes.teams import load_team
from dyn_nodes.teams.condensed_model import CondensedModel
from dyn_nodes.teams.deformable.augmented import HandDynamics, augmented_object, held_rigidly, saddle_point
from dyn_nodes.teams.deformable.condensation import condensed
from dyn_nodes.teams.deformable.corotation import CorotatedBody
from dyn_nodes.teams.deformable.finite_elements import assemble
from dyn_nodes.teams.deformable.grasps import fixed_points, patch
from dyn_nodes.teams.deformable.material import Material
from dyn_nodes.teams.deformable.mesh import box_mesh
from dyn_nodes.teams.layout import Holding
from dyn_nodes.teams.robot_model import RobotModel
from dyn_nodes.teams.system import TeamSystem
from dyn_nodes.teams.team_check import held_forces, team_facts

SOFT = Material(young_modulus=1e5, poisson_ratio=0.3, density=200.0, damping=20.0)
PLANK = find_resource('config/teams/team_plank.yaml').read_text()
GRAVITY = np.array([0.0, 0.0, -9.81])


@pytest.fixture
def team_of(tmp_path):
    """Return the team of the plank of finite elements in fixed grasps, with replaced text."""

    def of(*changes: tuple[str, str]):
        text = PLANK.replace('{object: plank}', '{object: plank, model: condensed}')
        for end in ('left', 'right'):
            text = text.replace(f'patch: {end}}}', f'patch: {end}, kind: fixed}}')
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        file = tmp_path / 'team.yaml'
        file.write_text(text)
        return load_team(file)

    return of


@pytest.mark.parametrize('size', [(0.1, 0.1, 0.05), (0.0, 0.4, 0.05), (0.2, 0.2, 0.0)], ids=['block', 'face', 'top'])
def test_three_points_of_a_patch_follow_rigid_motions_exactly_and_have_its_middle(size):
    mesh = box_mesh((0.6, 0.4, 0.05), (6, 4, 1))
    grasp = patch(mesh, (-0.3 + size[0] / 2, 0.0, 0.05 / 2 - size[2] / 2), size, 'a')
    points = fixed_points(grasp, mesh.nodes)
    np.testing.assert_allclose(np.mean([point.position for point in points], axis=0), grasp.position, atol=1e-12)
    turn = Rotation.from_rotvec((0.7, -0.4, 1.9)).as_matrix()
    moved = mesh.nodes @ turn.T + (1.0, 2.0, 3.0)
    for point in points:
        assert point.weights.sum() == pytest.approx(1.0, abs=1e-12)
        np.testing.assert_allclose(
            point.weights @ moved[point.nodes], turn @ point.position + (1.0, 2.0, 3.0), atol=1e-12
        )
    assert np.linalg.svd(np.array([point.position for point in points]) - grasp.position)[1][1] > 0.01


def test_a_patch_on_a_line_has_no_orientation():
    mesh = box_mesh((0.6, 0.4, 0.05), (6, 4, 1))
    with pytest.raises(ValueError, match='a patch with an area, found 5 nodes on a line'):
        fixed_points(patch(mesh, (-0.3, 0.0, 0.025), (0.0, 0.4, 0.0)), mesh.nodes)


def test_a_plank_in_two_fixed_grasps_is_a_beam_with_built_in_ends(team_of):
    """Moments q L^2 / 12 of the weight at its ends; ball grasps could not hold it, as its ends are on a line."""
    facts = team_facts(team_of())
    weight = 0.576 * 9.81
    for name, side in (('left_end', -1.0), ('right_end', 1.0)):
        held = facts.grasps[name]
        np.testing.assert_allclose(held.force, (0.0, 0.0, weight / 2.0), atol=1e-8)
        np.testing.assert_allclose(held.torque, (0.0, side * weight * 1.2 / 12.0, 0.0), atol=0.01 * weight * 0.1)


def test_a_turned_end_bends_the_plank_as_a_beam(team_of):
    """For a small angle its moment is 4 E I / L times the angle, and half of it at the other end, without weight."""
    held = team_of().objects['plank']
    points, angle = held.patches.copy(), 1e-4
    turn = Rotation.from_rotvec((0.0, angle, 0.0)).as_matrix()
    middle = points[:3].mean(axis=0)
    points[:3] = (points[:3] - middle) @ turn.T + middle
    forces = held_forces(held, points, np.zeros(3))
    moments = [
        np.cross(points[k : k + 3] - points[k : k + 3].mean(axis=0), forces[k : k + 3]).sum(axis=0) for k in (0, 3)
    ]
    stiffness = 2.0e7 * 0.2 * 0.03**3 / 12.0 * angle / 1.2
    assert moments[0][1] == pytest.approx(4.0 * stiffness, rel=0.03)
    assert moments[1][1] == pytest.approx(2.0 * stiffness, rel=0.03)
    np.testing.assert_allclose(forces.sum(axis=0), np.zeros(3), atol=1e-9)


def test_a_team_in_fixed_grasps_meets_the_augmented_object_and_all_equations_at_once(team_of):
    """Vehicles on tyres, whose hands move in all six directions; a moving state; 1e-10."""
    system = TeamSystem(team_of())
    equations, layout = system.dynamics.equations, system.dynamics.equations.layout
    random, x = np.random.default_rng(7), system.start
    nv = system.dynamics.robots[0].blocks.tree.nv
    for k in range(2):
        x[layout.v[k]] = 0.1 * random.normal(size=nv)
    u = random.normal(size=len(system.input_names))
    traced = ca.Function('rates', [equations.x, equations.u, equations.p], [equations.rates])
    rates = np.array(traced(x, u, system.defaults)).ravel()
    motion = equations.motions[0]
    parts = ca.Function('motion', [equations.x, equations.p], [motion.position, motion.velocity])(x, system.defaults)
    position, velocity = (np.array(part).reshape(-1, 3) for part in parts)
    body = CorotatedBody(system.dynamics.holdings[0].model.reduced)
    mass, load = body.mass(position), body.forces(position, velocity, (), (), GRAVITY)
    hands, arms, spins = [], [], []
    for k, robot in enumerate(system.dynamics.robots):
        q, v = x[layout.q[k]], x[layout.v[k]]
        states = dict(zip(robot.blocks.parameters.states, x[layout.elements[k]]))
        at, tau = robot.blocks.at(q, v, states), np.zeros(nv)
        tau[[robot.blocks.tree.velocity_index(name) for name in robot.actuated]] = u[layout.u[k]]
        state, point = robot.blocks.state, robot.hands[0]
        middle = Frame(point.body, point.R, sum(frame.p for frame in robot.hands) / 3.0)
        traced = [state.jacobian(middle), state.jacobian_rate_times_velocity(middle)]
        J, bias = (np.array(part) for part in ca.Function('hand', [state.q, state.v], traced)(q, v))
        order = [3, 4, 5, 0, 1, 2]  # linear above angular
        hands.append(HandDynamics(at.M, tau - at.h, J[order], bias.ravel()[order]))
        points = position[3 * k : 3 * k + 3]
        arms.append(points - points.mean(axis=0))
        spins.append(J[:3] @ v)
    held_mass, held_load = held_rigidly(arms, spins, mass, load)
    y = dict(zip(system.output_names, system.outputs(x, u, system.defaults)))
    for solve in (augmented_object, saddle_point):
        solution = solve(hands, held_mass, held_load)
        for k, side in enumerate(('left', 'right')):
            wanted, rate = solution.speed_rates[k], rates[layout.v[k]]
            np.testing.assert_allclose(rate, wanted, rtol=1e-10, atol=1e-10 * np.abs(wanted).max())
            wrench = [y[f'plank/{side}/{quantity}_{axis}'] for quantity in ('force', 'torque') for axis in 'xyz']
            np.testing.assert_allclose(wrench, solution.force[k], rtol=1e-9, atol=1e-10 * np.abs(solution.force).max())
    assert np.abs(solution.force[:, 3:]).max() > 0.1, 'hands pass torque'


def test_two_free_bodies_that_hold_a_plank_fixed_keep_momenta_and_energy():
    mesh = box_mesh((0.6, 0.1, 0.05), (6, 2, 1))
    faces = [patch(mesh, (x, 0.0, 0.0), (0.0, 0.1, 0.05), name) for x, name in ((-0.3, 'a'), (0.3, 'b'))]
    points = [point for face in faces for point in fixed_points(face, mesh.nodes)]
    reduced = condensed(assemble(mesh, SOFT), points, 2)
    models = []
    for k, side in enumerate((-1.0, 1.0)):
        tree = TreeBuilder()
        base = tree.add_free('base')
        tree.add_mass(base, 3.0, com=(0.0, 0.1, 0.0), inertia=np.diag((0.1, 0.2, 0.15)))
        arm = tree.add_joint('elbow', base, 'revolute', np.array([0.0, 0.0, 1.0]), p=(0.0, 0.0, 0.0))
        tree.add_mass(arm, 1.0, com=(0.1, 0.0, 0.0), inertia=np.diag((0.01, 0.02, 0.02)))
        blocks = ConstraintBlocks(tree.build(), ())
        q, v = blocks.tree.neutral, np.zeros(blocks.tree.nv)
        q[0], v[:6] = 0.5 * side, (0.1 * k, 0.2, -0.3 * side, 0.5, 0.1 * side, 0.2)
        positions = reduced.positions.reshape(-1, 3)[3 * k : 3 * k + 3] - (0.5 * side, 0.0, 0.0)
        frames = [Frame(arm, np.eye(3), position) for position in positions]
        models.append(RobotModel.of_blocks(f'body_{k}', blocks, frames, (q, v), ('elbow',)))
    names = tuple(point.name for point in points)
    hands = tuple((k, j) for k in range(2) for j in range(3))
    grasps = (('a', (0, 1, 2)), ('b', (3, 4, 5)))
    holding = Holding('plank', CondensedModel(reduced), names, hands, grasps=grasps)
    system = TeamSystem.of_models('free', models, [holding])
    equations, u, p = system.dynamics.equations, np.array([0.05, -0.02]), system.defaults
    p[:3] = 0.0
    traced = ca.Function('rates', [equations.x, equations.u, equations.p], [equations.rates])
    run = solve_ivp(
        lambda t, x: np.array(traced(x, u, p)).ravel(), (0.0, 0.1), system.start, 'DOP853', rtol=1e-11, atol=1e-12
    )
    before, after = (dict(zip(system.output_names, system.outputs(x, u, p))) for x in (run.y[:, 0], run.y[:, -1]))
    for name in (name for name in before if 'momentum' in name):
        assert after[name] == pytest.approx(before[name], abs=1e-8), name
    gain = sum(after[f'{kind}_energy'] - before[f'{kind}_energy'] for kind in ('kinetic', 'potential'))
    work, heat = run.y[[system.index('state', name) for name in ('work', 'heat')], -1]
    assert min(abs(work), heat) > 1e-5
    assert gain == pytest.approx(work - heat, abs=1e-8)
    assert np.linalg.norm([after[f'plank/a/torque_{axis}'] for axis in 'xyz']) > 1e-2


def test_a_hand_that_releases_a_fixed_grasp_frees_its_patch(team_of):
    team = team_of()
    system = TeamSystem(team, released=['right_end'])
    free = system.dynamics.equations.layout.object_q[0]
    assert system.state_names[free][0] == 'plank/right.1_x'
    np.testing.assert_allclose(system.start[free][:9].reshape(3, 3), team.grasps['right_end'].points, atol=1e-9)
    assert 'plank/right/force_x' not in system.output_names
    assert 'plank/left/torque_x' in system.output_names


def test_one_hand_holds_a_plank_by_its_end_alone(team_of):
    """A cantilever: the moment at the hand balances the whole weight."""
    pose = 'pose: {position: [0.0, 0.0, 1.1961]}, model: condensed'
    others = [line for line in PLANK.replace('right}', 'right, kind: fixed}').splitlines() if 'right' in line]
    team = team_of(*((f'{line}\n', '') for line in others), ('model: condensed', pose))
    held = team_facts(team).grasps['left_end']
    weight = 0.576 * 9.81
    np.testing.assert_allclose(held.force, (0.0, 0.0, weight), atol=1e-8)
    np.testing.assert_allclose(held.torque, (0.0, -0.6 * weight, 0.0), atol=2e-3 * weight)


FAULTS = {
    'rods': (('model: condensed', 'model: lattice'), 'left_end.kind: expected ball: rods have no orientation'),
    'a torque on a ball': (
        ('patch: left, kind: fixed', 'patch: left, holding_torque: 2.0'),
        'left_end.holding_torque: expected a grasp of kind: fixed, which transmits a torque, found ball',
    ),
    'no torque to hold with': (
        ('patch: left, kind: fixed', 'patch: left, kind: fixed, holding_torque: 0.0'),
        'left_end.holding_torque: expected a number > 0 N m',
    ),
}


@pytest.mark.parametrize('fault', FAULTS)
def test_an_error_of_a_fixed_grasp_has_its_key(team_of, fault):
    change, expected = FAULTS[fault]
    with pytest.raises(MachineError, match=expected) as rejected:
        team_of(change)
    assert 'team.yaml:' in str(rejected.value)


def test_a_torque_beyond_the_limit_of_a_hand_makes_it_slip(team_of):
    team = team_of(('patch: left, kind: fixed', 'patch: left, kind: fixed, holding_torque: 0.5'))
    facts = team_facts(team).grasps['left_end']
    assert facts.reserve is None
    assert facts.torque_reserve == pytest.approx(0.5 - np.linalg.norm(facts.torque))
    assert facts.torque_reserve < 0.0
    held = team.grasps['left_end']
    assert held.slips(0.0, 0.51)
    assert not held.slips(1e6, 0.49)
