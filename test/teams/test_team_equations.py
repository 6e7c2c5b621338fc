"""The equations of a team, without machine code: checked by Kane's equations, the complete system and momenta."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from dyn_nodes.multibody import Frame
from dyn_nodes.studies.tanner_1998.team import BAR, TRIANGLE, Team, facing
from dyn_nodes.studies.tanner_1998.vehicle import ARM, SPEEDS, rm_1
from dyn_nodes.teams import load_team
from dyn_nodes.teams.dynamics import WRENCH
from dyn_nodes.teams.layout import Holding
from dyn_nodes.teams.object_model import LatticeModel
from dyn_nodes.teams.robot_model import RobotModel
from dyn_nodes.teams.system import TeamSystem

TORQUES = (((0.5, 20, 4), (1, 1.5)), ((-0.3, 19, 5), (-1, -1.2)), ((0.2, 18, 4.5), (0.5, 0.2)))
MOTIONS = [(0.3, 0.2, (0.1, 0.2, -0.1)), (-0.3, 0.1, (-0.2, 0.1, 0.15)), (0.15, -0.1, (0.05, -0.1, 0.1))]
ACTUATED = (*ARM, 'left', 'right')


def of_study(load, states):
    """Return the team of the study with a lattice, its robots at states (m, 11)."""
    robot = rm_1()
    models, motions = [], []
    for k, state in enumerate(states):
        q, v = robot.position(state[:6]), robot.velocity(state[6:])
        models.append(RobotModel.of_blocks(f'robot_{k}', robot.blocks, [robot.hand], (q, v), ACTUATED, SPEEDS))
        motions.append(v)
    names = tuple(f'node_{k}' for k in range(len(states)))
    holding = Holding('load', LatticeModel(load), names, tuple((k, 0) for k in range(len(states))))
    return TeamSystem.of_models('study', models, [holding])


def rates_of(system):
    """Return dx/dt of a state and inputs without machine code."""
    equations = system.dynamics.equations
    traced = ca.Function('rates', [equations.x, equations.u, equations.p], [equations.rates])
    return lambda x, u: np.array(traced(x, u, system.defaults)).ravel()


@pytest.fixture(scope='module', params=[(BAR, 2), (TRIANGLE, 3)], ids=['bar', 'triangle'])
def instant(request):
    """Return a team of the study at its instant: by Kane's equations, and as one system."""
    load, count = request.param
    team, start = Team(load), facing(load, MOTIONS[:count])
    tau = [rm_1().efforts(*pair) for pair in TORQUES[:count]]
    members = team.members(start, tau)
    system = of_study(load, start)
    x = system.start
    for k, member in enumerate(members):
        x[system.dynamics.equations.layout.v[k]] = member.here.v
    u = np.concatenate([(*joints, *drives) for joints, drives in TORQUES[:count]])
    return team, members, system, x, u


def test_accelerations_equal_kanes_equations_with_the_augmented_object(instant):
    team, members, system, x, u = instant
    for held in (team.solve(members), team.solve(members, at_once=True)):
        rates = rates_of(system)(x, u)
        for k, (member, change) in enumerate(zip(members, held.speed_rates)):
            result = rates[system.dynamics.equations.layout.v[k]]
            wanted = member.here.W @ change + member.here.bias
            np.testing.assert_allclose(result, wanted, rtol=1e-10, atol=1e-10)


def test_grasp_forces_hands_and_energy_equal_the_study(instant):
    team, members, system, x, u = instant
    held = team.solve(members)
    y = dict(zip(system.output_names, system.outputs(x, u, system.defaults)))
    for k, (member, force) in enumerate(zip(members, held.force)):
        for quantity, wanted in (('force', force), ('position', member.position), ('velocity', member.velocity)):
            result = [y[f'load/node_{k}/{quantity}_{axis}'] for axis in 'xyz']
            np.testing.assert_allclose(result, wanted, rtol=1e-10, atol=1e-10)
    assert y['kinetic_energy'] + y['potential_energy'] == pytest.approx(team.energy(members), rel=1e-12)


def test_ground_reactions_balance_the_bodies_of_a_robot(instant):
    team, members, system, x, u = instant
    held = team.solve(members)
    y = dict(zip(system.output_names, system.outputs(x, u, system.defaults)))
    vehicle = rm_1().blocks.tree.body('roll')
    for k, (member, change, force) in enumerate(zip(members, held.speed_rates, held.force)):
        load = team.ground_load(member, change, force)
        pose = member.here.placements[vehicle]
        pull, moment = pose.R @ load[:3], pose.R @ load[3:]
        wanted = -np.concatenate([moment + np.cross(pose.p, pull), pull])
        result = [y[f'robot_{k}/ground/{part}'] for part in WRENCH]
        np.testing.assert_allclose(result, wanted, rtol=1e-10, atol=1e-9)


def test_a_releasing_hand_leaves_the_others_and_its_node_falls():
    team = load_team('team_bar')
    system = TeamSystem(team, released=['right_end'])
    equations, x = system.dynamics.equations, system.start
    rates = rates_of(system)(x, np.zeros(len(system.input_names)))
    node = [f'bar/right_{axis}_rate' for axis in 'xyz']
    rows = [system.index('state', name) for name in node]
    np.testing.assert_allclose(x[equations.layout.object_q[0]], team.grasps['right_end'].position, atol=1e-11)
    # a rod of mass m with the other end held falls with 3/2 g - a/2 if that end accelerates with a
    y = dict(zip(system.output_names, system.outputs(x, np.zeros(len(system.input_names)), system.defaults)))
    assert 'bar/right/force_x' not in y
    total = 1.2 * (0.5 * rates[rows] + 0.5 * hand_acceleration(system, x, rates))
    pull = [y[f'bar/left/force_{axis}'] for axis in 'xyz']
    np.testing.assert_allclose(total, pull + np.array([0.0, 0.0, -1.2 * 9.81]), atol=1e-9)
    alone = TeamSystem(team, released=['left_end', 'right_end'])
    y = rates_of(alone)(alone.start, np.zeros(len(alone.input_names)))
    np.testing.assert_allclose(y[alone.dynamics.equations.layout.object_v[0]], [0.0, 0.0, -9.81] * 2, atol=1e-12)


def hand_acceleration(system, x, rates):
    equations = system.dynamics.equations
    velocity, rate = equations.motions[0].velocity[:3], ca.SX.sym('rate', len(x))
    change = ca.Function('change', [equations.x, equations.p, rate], [ca.jtimes(velocity, equations.x, rate)])
    return np.array(change(x, system.defaults, rates)).ravel()


def test_vehicles_on_tyres_with_a_plank_meet_all_equations_at_once():
    system = TeamSystem(load_team('team_plank'))
    random, x, p = np.random.default_rng(7), system.start, system.defaults
    layout, nv = system.dynamics.equations.layout, system.dynamics.robots[0].blocks.tree.nv
    for k in range(2):
        x[layout.v[k]] = 0.1 * random.normal(size=nv)
    u = random.normal(size=len(system.input_names))
    rates = rates_of(system)(x, u)
    position, velocity = (np.array(part).reshape(2, 3) for part in hands_of(system, x))
    lattice = system.dynamics.holdings[0].model.lattice
    load = lattice.forces(position, velocity) + np.outer(lattice.lumped_mass, (0.0, 0.0, 9.81))
    mass = np.kron(lattice.mass.toarray(), np.eye(3))
    matrix, right = np.zeros((2 * nv + 6,) * 2), np.zeros(2 * nv + 6)
    for k, robot in enumerate(system.dynamics.robots):
        rows, hand, force = (
            slice(k * nv, k * nv + nv),
            slice(3 * k, 3 * k + 3),
            slice(2 * nv + 3 * k, 2 * nv + 3 * k + 3),
        )
        q, v = x[layout.q[k]], x[layout.v[k]]
        states = dict(zip(robot.blocks.parameters.states, x[layout.elements[k]]))
        at, tau = robot.blocks.at(q, v, states), np.zeros(nv)
        tau[[robot.blocks.tree.velocity_index(name) for name in robot.actuated]] = u[layout.u[k]]
        state, frame = robot.blocks.state, robot.hands[0]
        traced = [state.jacobian(frame)[3:, :], state.jacobian_rate_times_velocity(frame)[3:]]
        J, bias = (np.array(part) for part in ca.Function('hand', [state.q, state.v], traced)(q, v))
        matrix[rows, rows], matrix[rows, force], right[rows] = at.M, J.T, tau - at.h
        matrix[2 * nv :, rows] += mass[:, hand] @ J
        right[2 * nv :] -= mass[:, hand] @ bias.ravel()
        matrix[force, force] = -np.eye(3)
    right[2 * nv :] -= load.ravel()
    wanted = np.linalg.solve(matrix, right)[: 2 * nv]
    result = np.concatenate([rates[layout.v[k]] for k in range(2)])
    np.testing.assert_allclose(result, wanted, rtol=1e-10, atol=1e-10 * np.abs(wanted).max())
    assert np.abs(rates[layout.elements[0]]).max() > 1e-3, 'tyres have states'
    assert p[system.index('parameter', 'left/friction_scale')] == 1.0


def hands_of(system, x):
    equations = system.dynamics.equations
    motion = equations.motions[0]
    return ca.Function('hands', [equations.x, equations.p], [motion.position, motion.velocity])(x, system.defaults)


def test_an_unknown_grasp_is_rejected_by_name():
    with pytest.raises(KeyError, match='left_end, right_end'):
        TeamSystem(load_team('team_bar'), released=['middle'])


def test_a_hand_that_cannot_move_in_some_direction_needs_no_other_solver():
    """With the arm straight up its apparent mass along the arm is unbounded; the equations stay regular."""
    state = facing(BAR, [(0.0, 0.0, (0, 0, 0))] * 2)
    state[:, 3:6] = (0.0, np.pi / 2.0, 0.0)
    system = of_study(BAR, state)
    rates = rates_of(system)(system.start, np.zeros(len(system.input_names)))
    assert np.isfinite(rates).all()
    assert hand_acceleration(system, system.start, rates)[2] == pytest.approx(0.0, abs=1e-10)


def test_a_team_without_ground_and_weight_keeps_its_momenta_and_its_energy():
    """Two free bodies, each with a driven arm, and a bar between them."""
    from scipy.integrate import solve_ivp

    from dyn_nodes.constraints import ConstraintBlocks
    from dyn_nodes.multibody import TreeBuilder

    models = []
    for k, side in enumerate((-1.0, 1.0)):
        tree = TreeBuilder()
        body = tree.add_free('base')
        tree.add_mass(body, 3.0, com=(0.0, 0.1, 0.0), inertia=np.diag((0.1, 0.2, 0.15)))
        arm = tree.add_joint('elbow', body, 'revolute', np.array([0.0, 0.0, 1.0]), p=(0.2, 0.0, 0.0))
        tree.add_mass(arm, 1.0, com=(0.1, 0.0, 0.0), inertia=np.diag((0.01, 0.02, 0.02)))
        built = tree.build()
        hand = Frame(arm, np.eye(3), np.array([0.2, 0.0, 0.0]))
        blocks = ConstraintBlocks(built, ())
        q, v = built.neutral, np.zeros(built.nv)
        q[0], v[:6] = 0.5 * side - 0.4, (0.1 * k, 0.2, -0.3 * side, 0.05, 0.1 * side, 0.2)
        models.append(RobotModel.of_blocks(f'body_{k}', blocks, [hand], (q, v), ('elbow',)))
    lattice = LatticeModel(BAR._replace(nodes=np.array([(-0.45, 0.0, 0.0), (0.45, 0.0, 0.0)])))
    holding = Holding('bar', lattice, ('a', 'b'), ((0, 0), (1, 0)))
    system = TeamSystem.of_models('free', models, [holding])
    rates, u = rates_of(system), np.array([0.05, -0.02])
    run = solve_ivp(lambda t, x: rates(x, u), (0.0, 0.5), system.start, 'DOP853', rtol=1e-11, atol=1e-12)
    before, after = (
        dict(zip(system.output_names, system.outputs(x, u, system.defaults))) for x in (run.y[:, 0], run.y[:, -1])
    )
    for name in (name for name in before if 'momentum' in name):
        assert after[name] == pytest.approx(before[name], abs=1e-8), name
    gain = sum(after[f'{kind}_energy'] - before[f'{kind}_energy'] for kind in ('kinetic', 'potential'))
    work, heat = run.y[[system.index('state', name) for name in ('work', 'heat')], -1]
    assert abs(work) > 1e-4
    assert heat > 1e-4
    assert gain == pytest.approx(work - heat, abs=1e-8)
