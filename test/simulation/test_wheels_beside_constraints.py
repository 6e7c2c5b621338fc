"""Wheels on springs with constraints: laws, rest, energy, events, base forms, against the tree."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest
from log_loader_tasks import CONFIG, P3D, ROOT, URDF
from rolling_machines import caster_vehicle, mecanum
from standing_linkage import LOOP, MASSES, standing_linkage, with_lock
from standing_machines import slider_box

from dyn_nodes.constraints import ConstraintBlocks, ForceObserver, Loop, constrained_dynamics
from dyn_nodes.elements.forces.joint_elements import joint_elements
from dyn_nodes.elements.wheel import sprung_wheels
from dyn_nodes.model import load_machine
from dyn_nodes.model.machine import Base, LuGre, Wheel
from dyn_nodes.model.terrain import Rise
from dyn_nodes.multibody import bias_force, build_tree
from dyn_nodes.simulation import Inputs, NoEquilibriumError, Settings
from dyn_nodes.simulation.assembly import Assembly, gravity_vector
from dyn_nodes.simulation.constrained_machine import constrained_machine
from dyn_nodes.simulation.plant import Plant

GRAVITY = 9.81
WEIGHT = GRAVITY * sum(MASSES.values())
KINDS = {
    'feet without friction': lambda folder: slider_box(folder, friction='none'),
    'feet with bristles': slider_box,
    'feet with Karnopp friction': lambda folder: slider_box(folder, friction='karnopp'),
    'feet in the plane': lambda folder: slider_box(folder, 'planar'),
    'tyres': lambda folder: caster_vehicle(folder, 100.0, 0.5, 0.2),
    'tyres on a rise': lambda folder: replace(caster_vehicle(folder, 100.0, 0.5, 0.2), terrain=(RISE,)),
    'wheels with rollers': lambda folder: mecanum(folder, 100.0, 0.5),
}
RISE = Rise('rise', 'ramp', x=-0.5, y=0.0, heading=0.3, length=2.0, height=0.05, width=None)


def elements_of(machine):
    return (*sprung_wheels(machine), *joint_elements(machine))


def blocks_of(machine, constraints=(), base='quaternion'):
    tree = build_tree(machine, base)
    return ConstraintBlocks(tree, constraints, elements_of(machine), gravity_vector(machine.gravity, machine.slope))


def state_of(plant, seed):
    """Return a state near the ground, wheels deflected by some mm, all parts moving."""
    rng = np.random.default_rng(seed)
    x = dict(zip(plant.states.names, 0.05 * rng.standard_normal(len(plant.states.names))))
    lengths = [wheel.free_length for wheel in plant.machine.wheels]
    x |= {
        'base_z': 0.0 if plant.machine.wheels[0].rolling else min(lengths) - 0.004,
        'base_qw': 1.0,
        'base_pitch': 4e-3,
    }
    for name in x:
        if 'bristle' in name or 'deflection' in name:
            x[name] *= 1e-3
        if '/stick' in name:
            x[name] = float(x[name] > 0.0)
    return x


def at(names, values):
    return np.array([values[name] for name in names])


@pytest.mark.parametrize('kind', KINDS)
def test_a_vacuous_constraint_does_not_change_any_kind_of_wheel(tmp_path, kind):
    """Accelerations, rates of the bristles and next stick flags, with a loop that is always closed."""
    machine = KINDS[kind](tmp_path)
    plant = Assembly(machine, 'effort')
    frame = plant.tree.frame(machine.base.link)
    blocks = blocks_of(machine, [Loop.point('nothing', frame, frame)])
    variables = [blocks.q, blocks.v, blocks.parameters.vector]
    discrete = blocks.discrete
    following = ca.vertcat(*blocks.switched.values(), ca.SX(0, 1))
    changes = ca.Function('changes', variables, [blocks.element_rates, following])
    tree = ca.Function('tree', [plant.x, plant.u, plant.p], [plant.accelerations, plant.rhs, plant.switched])
    for seed in range(3):
        x = state_of(plant, seed)
        a, rhs, after = (
            np.array(part).ravel() for part in tree(at(plant.states.names, x), 0.0, plant.default_parameters())
        )
        q, v = (
            at([f'{n}{end}' for n in names], x)
            for names, end in ((plant.tree.position_names, ''), (plant.tree.velocity_names, '_rate'))
        )
        numbers = blocks.numbers({name: x[name] for name in blocks.parameters.states})
        solution = constrained_dynamics(blocks, q, v, np.zeros(plant.tree.nv), numbers, method='saddle')
        assert np.abs(solution.acceleration - a).max() <= 1e-12 * np.abs(a).max()
        element_rates, flags = (np.array(part).ravel() for part in changes(q, v, numbers))
        assert element_rates[~discrete] == pytest.approx(rhs[plant.element_slice][~discrete], rel=1e-12, abs=1e-15)
        assert flags == pytest.approx(after[plant.element_slice][discrete], abs=0.0)


@pytest.mark.parametrize('kind', KINDS)
def test_forces_at_points_are_the_same_by_recursion_and_by_jacobians(tmp_path, kind):
    """M a + C = tau + J^T f: `bias` uses recursion along the tree, `applied` the Jacobians of the points."""
    machine = KINDS[kind](tmp_path)
    blocks, plant = blocks_of(machine), Assembly(machine, 'effort')
    free = bias_force(blocks.state, blocks.parameters.gravity)
    variables = [blocks.q, blocks.v, blocks.parameters.vector]
    x = state_of(plant, 4)
    positions = [at(plant.tree.position_names, x), at([f'{n}_rate' for n in plant.tree.velocity_names], x)]
    numbers = blocks.numbers({name: x[name] for name in blocks.parameters.states})
    pair = ca.Function('pair', variables, [blocks.bias, free - blocks.applied])
    recursive, projected = (np.array(part).ravel() for part in pair(*positions, numbers))
    assert recursive == pytest.approx(projected, rel=1e-11, abs=1e-11 * np.abs(recursive).max())


@pytest.mark.parametrize('kind', [kind for kind in KINDS if 'plane' not in kind])
def test_base_forms_agree_with_a_constraint(tmp_path, kind):
    """A quaternion and a chain of virtual links have the same joint accelerations and the same a^T M a."""
    machine = KINDS[kind](tmp_path)
    solutions = []
    for base in ('quaternion', 'virtual_chain'):
        tree = build_tree(machine, base)
        frame = tree.frame(machine.base.link)
        blocks = blocks_of(machine, [Loop.point('nothing', frame, frame)], base)
        height = 0.0 if machine.wheels[0].rolling else machine.wheels[0].free_length - 0.004
        q = tree.neutral
        q[tree.position_names.index('base_z')] = height
        joints = [tree.velocity_index(joint.name) for joint in machine.movable_joints]
        v = np.zeros(tree.nv)
        v[joints] = 0.1 * np.arange(1, len(joints) + 1)
        numbers = blocks.numbers({state.name: 1.0 if state.discrete else 1e-5 for state in blocks.element_states})
        a = constrained_dynamics(blocks, q, v, np.zeros(tree.nv), numbers, method='saddle').acceleration
        solutions.append((a[joints], float(a @ blocks.at(q, v, numbers).M @ a)))
    assert solutions[0][0] == pytest.approx(solutions[1][0], rel=1e-11, abs=1e-11)
    assert solutions[0][1] == pytest.approx(solutions[1][1], rel=1e-11)


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp('linkage')


@pytest.fixture(scope='module')
def plant(folder):
    return Plant(standing_linkage(folder), 'effort', 2e-3, 5e-4, ('force_angle', 'zmp'))


def test_a_linkage_on_feet_rests_with_its_loop_closed(plant):
    """The equilibrium has no accelerations, reactions equal to the weight, margins, and no drift in 2 s."""
    plant.reset()
    balance = plant.balance()
    assert balance.total_normal == pytest.approx(WEIGHT, rel=1e-6)
    assert balance.forces[:, :2].sum(axis=0) == pytest.approx([0.0, 0.0], abs=1e-6 * WEIGHT)
    assert balance.margins['force_angle'].value > 0.0
    assert balance.zmp == pytest.approx(balance.center_of_mass[:2], abs=1e-6)
    assert np.abs(plant._tree_acceleration()).max() < 1e-8
    assert plant.output('constraint_drift') < 1e-11
    start = plant.x.copy()
    for _ in range(1000):
        plant.advance()
    assert plant.x[: plant.system.nq] == pytest.approx(start[: plant.system.nq], abs=1e-9)
    assert plant.balance().total_normal == pytest.approx(WEIGHT, rel=1e-6)
    assert plant.take_events() == []


@pytest.mark.slow
def test_a_linkage_on_feet_stays_at_rest_for_a_minute(plant):
    plant.reset()
    start = plant.x[: plant.system.nq].copy()
    for _ in range(30_000):
        plant.advance()
    assert plant.x[: plant.system.nq] == pytest.approx(start, abs=1e-9)
    assert plant.balance().total_normal == pytest.approx(WEIGHT, rel=1e-6)
    assert plant.take_events() == []


def test_pin_and_feet_pass_the_check_of_all_forces_inside(plant):
    """Momentum of each body against all wrenches on it: the feet act on the body that carries them."""
    plant.reset()
    plant.u[:] = 900.0
    for _ in range(20):
        plant.advance()
    plant.outputs()
    q, v = plant.tree_state()
    numbers = plant.system.constraints.numbers(plant.p, plant.x)
    observer = ForceObserver(plant.system.blocks)
    forces = observer.forces(q, v, *plant.constraints.solution(), plant.system.constraints.efforts(plant.u), numbers)
    assert forces.residual < 1e-9 * WEIGHT
    base = forces.bodies.index('base')
    ground = plant.balance().forces[:, 2].sum()
    assert forces.contact[base, 5] == pytest.approx(ground, rel=1e-12)


def test_energy_of_a_rocking_linkage_is_kept(folder):
    """Weight, springs, dampers, bristles and crank: the balance error is far below 1e-8 of the energy exchanged."""
    start = constrained_machine(standing_linkage(folder))
    system = start.system
    hold = start.at_rest().efforts['crank_joint']
    push = Inputs([0.0, 0.2, 0.4], {'crank_joint/effort': [hold, 4 * hold, -hold]})
    run = system.run(start.x, np.linspace(0.0, 0.4, 41), push, settings=Settings(step=2e-4))
    assert run.status == 'done'
    exchanged = np.abs(np.diff(run.kinetic)).sum() + np.abs(np.diff(run.potential)).sum() + np.abs(run.work).max()
    assert run.heat[-1] > 5.0
    assert np.abs(run.energy_balance).max() < 1e-11 * exchanged


def test_payload_slope_and_stiffness_are_parameters_of_the_rest(folder):
    """Friction holds the machine on a slope; on a steep slope the error reports sliding."""
    keys = LOOP + 'payload: {link: coupler, position: [0.45, 0, 0], mass: 0, limit: 50}\n'
    start = constrained_machine(standing_linkage(folder, keys=keys))
    blocks = start.system.blocks

    def numbers(pitch, payload=0.0, scale=1.0):
        x, y, z = gravity_vector(GRAVITY, (0.0, pitch))
        values = {'gravity_x': x, 'gravity_y': y, 'gravity_z': z, 'payload_mass': payload}
        return blocks.numbers(values | {'wheel_stiffness_scale': scale})

    level, loaded, soft, slope = (
        start.at_rest(numbers(*values)) for values in ((0.0,), (0.0, 50.0), (0.0, 0.0, 0.5), (0.2,))
    )
    sag = 0.3 - level.q[2]
    assert sag == pytest.approx(WEIGHT / (4 * 5e4), rel=2e-2)
    assert 0.3 - soft.q[2] == pytest.approx(2 * sag, rel=2e-2)
    assert 0.3 - loaded.q[2] > sag + 1e-3
    along = sum(value for name, value in slope.states.items() if 'longitudinal' in name)
    assert along > 0.0
    assert slope.q[:2] == pytest.approx([0.0, 0.0], abs=1e-12)
    with pytest.raises(NoEquilibriumError, match=r"wheel '.*' slides on this slope"):
        start.at_rest(numbers(0.8))


@pytest.mark.parametrize(('attachment', 'friction'), [('planar', 'lugre'), ('free', 'karnopp'), ('free', 'none')])
def test_every_base_and_friction_law_has_an_equilibrium(folder, attachment, friction):
    start = constrained_machine(standing_linkage(folder, attachment, friction))
    blocks = start.system.blocks
    at = blocks.at(start.q, None, blocks.parameters.values())
    moved = [blocks.tree.velocity_index(name) for name in ('crank_joint',)]
    efforts = np.zeros(blocks.tree.nv)
    efforts[moved] = list(start.at_rest().efforts.values())
    a = constrained_dynamics(blocks, start.q, start.v, efforts, method='saddle').acceleration
    assert np.abs(a).max() < 1e-7
    assert np.abs(at.residual).max() < 1e-11


@pytest.mark.parametrize(('name', 'attachment'), [('spatial_arms', 'free'), ('planar_arms', 'planar')])
def test_arms_with_a_load_rest_on_feet(name, attachment):
    """Two arms, one load, one base on springs: loops, load and springs are in equilibrium with the efforts."""
    machine = load_machine(ROOT / 'urdf' / f'{name}.urdf', ROOT / 'config' / f'{name}.yaml')
    root = machine.base.link
    heavy = {'mass': 50.0, 'com': np.zeros(3), 'inertia': 3.0 * np.eye(3)}
    links = (replace(link, **heavy) if link.name == root else link for link in machine.links)
    corners = ((1, 1), (1, -1), (-1, 1), (-1, -1)) if attachment == 'free' else ((1, 0), (-1, 0))
    feet = (
        Wheel(f'foot_{k}', root, np.array([1.5 * x, 1.5 * y, -0.2]), 5e4, 1e3, 0.3, LuGre())
        for k, (x, y) in enumerate(corners)
    )
    start = replace(machine.initial, settle=True)
    base, weight = Base(root, attachment), GRAVITY * (machine.total_mass + 50.0 - machine.link(root).mass)
    weight += GRAVITY * sum(load.mass for load in machine.loads)
    standing = replace(machine, links=tuple(links), base=base, wheels=tuple(feet), initial=start, gravity=GRAVITY)
    start = constrained_machine(standing)
    blocks, rest = start.system.blocks, start.at_rest()
    tau = np.zeros(blocks.tree.nv)
    for joint, effort in rest.efforts.items():
        tau[blocks.tree.velocity_index(joint)] = effort
    numbers = blocks.numbers(rest.states)
    motion = constrained_dynamics(blocks, rest.q, np.zeros(blocks.tree.nv), tau, numbers, method='reduced')
    assert np.abs(motion.acceleration).max() < 1e-7
    assert np.abs(blocks.at(rest.q).residual).max() < 1e-10
    push = sum(point.force[2] for point in blocks.ground_points)
    total = ca.Function('total', [blocks.q, blocks.v, blocks.parameters.vector], [push])
    assert float(total(rest.q, np.zeros(blocks.tree.nv), numbers)) == pytest.approx(weight, rel=1e-6)


def test_a_locked_massless_joint_does_not_change_lift_off_and_slip(folder):
    """With a fast crank, feet lift off and land, Karnopp feet stick and slip, at the same times."""
    rough = standing_linkage(folder, friction='karnopp', keys='')
    plants = Plant(rough, 'effort', 2e-3, 5e-4), Plant(with_lock(rough), 'effort', 2e-3, 5e-4)
    seen = []
    for plant in plants:
        held = plant.efforts[: len(plant.actuated)]
        for step in range(150):
            throw = [1500.0 if step < 60 else -1500.0, 0.0, 0.0]
            plant.set_efforts(np.resize(held + np.resize(throw, len(held)), len(plant.joints)))
            plant.advance()
        seen.append(plant.take_events())
    kinds = [[(event.kind, event.details.get('wheel')) for event in events] for events in seen]
    assert kinds[0] == kinds[1]
    assert {'lift_off', 'touch_down'} <= {kind for kind, _ in kinds[0]}
    assert [e.time for e in seen[1]] == pytest.approx([e.time for e in seen[0]], abs=1e-7)
    count = plants[0].system.nq
    assert plants[1].x[:count] == pytest.approx(plants[0].x[:count], abs=1e-6)


@pytest.mark.slow
def test_the_demo_task_with_a_locked_massless_joint_lifts_the_same_wheels_at_the_same_times():
    """The log-loader with hydraulics reaches, tips and recovers, as a tree and with a constraint."""
    machine = load_machine(URDF, CONFIG)
    seen, peaks = [], []
    for plant in (
        Plant(machine, 'hydraulic', 5e-3, 5e-4),
        Plant(with_lock(machine), 'hydraulic', 5e-3, 5e-4),
    ):
        table, peak = P3D.at(np.arange(2400) * 5e-3, plant.system.input_names), 0.0
        for row in table:
            plant.u[:] = row
            plant.advance()
            peak = max(peak, plant.output('tilt')) if plant.time > 8.0 else peak
        events = [event for event in plant.take_events() if event.kind in ('lift_off', 'touch_down')]
        seen.append([(event.kind, event.details['wheel'], event.time) for event in events])
        peaks.append(peak)
    assert [event[:2] for event in seen[0]] == [event[:2] for event in seen[1]]
    assert len(seen[0]) == 4
    assert [time for *_, time in seen[1]] == pytest.approx([time for *_, time in seen[0]], abs=1e-6)
    assert peaks[1] == pytest.approx(peaks[0], rel=1e-6)
