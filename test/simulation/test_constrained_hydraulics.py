"""Hydraulic actuators inside a machine with constraints: the log-loader's arm on a fixed base, closed by a rod."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import casadi as ca
import numpy as np
import pytest
from derivatives import differences

from dyn_nodes.common.share import find_resource
from dyn_nodes.constraints import assemble, constrained_dynamics
from dyn_nodes.constraints.kinds.distance import DistanceConstraint
from dyn_nodes.model import load_machine
from dyn_nodes.model.constraint import End, JointClass
from dyn_nodes.model.machine import Base, Joint, Link
from dyn_nodes.model.posture import initial_positions, link_poses
from dyn_nodes.simulation import Inputs, Settings
from dyn_nodes.simulation.assembly import Assembly
from dyn_nodes.simulation.constrained_machine import constrained_machine
from dyn_nodes.simulation.cosimulation.actuation import ActuatorSystem
from dyn_nodes.simulation.cosimulation.actuator_exchange import ActuatorExchange
from dyn_nodes.simulation.cosimulation.joint_mobility import JointMobility, mobility_of
from dyn_nodes.simulation.period import PlantDivergedError
from dyn_nodes.simulation.plant import Plant

STEP = 5e-4
PAYLOAD = load_machine(find_resource('urdf/log_loader.urdf'), find_resource('config/log_loader.yaml')).payload
VOLTS = {'boom/voltage': 5.0, 'swing/voltage': -4.0}


def loader():
    machine = load_machine(find_resource('urdf/log_loader.urdf'), find_resource('config/log_loader.yaml'))
    return replace(machine, base=Base(machine.base.link, 'fixed'), wheels=(), payload=None)


def with_flap(machine, locked):
    """Return a machine with a locked body on a vertical axis of the base, so that it has constraints."""
    link = Link('flap_link', 10.0, np.zeros(3), np.eye(3))
    joint = Joint('flap', 'revolute', machine.base.link, 'flap_link', np.eye(4), np.array([0.0, 0.0, 1.0]), -1.0, 1.0)
    held = (JointClass('flap', 'locked'),) if locked else ()
    return replace(machine, links=(*machine.links, link), joints=(*machine.joints, joint), joint_classes=held)


@cache
def linkage():
    """Return the machine with a rod from cabin to stick instead of its cylinder: a four-bar linkage."""
    machine = loader()
    poses = link_poses(machine.links, machine.joints, initial_positions(machine))
    first, second = (
        End(link, np.array(position), np.eye(3))
        for link, position in (('cabin_link', [1.5, 0.0, 1.0]), ('stick_link', [1.0, 0.0, 0.0]))
    )
    points = [poses[end.link][:3, :3] @ end.position + poses[end.link][:3, 3] for end in (first, second)]
    length = float(np.linalg.norm(points[1] - points[0]))
    return replace(
        machine,
        actuators=tuple(actuator for actuator in machine.actuators if actuator.name != 'stick'),
        joint_classes=(JointClass('stick_joint', 'free'),),
        constraints=(DistanceConstraint(name='rod', first=first, second=second, length=length),),
    )


@cache
def hydraulic_linkage():
    return constrained_machine(linkage(), actuation='hydraulic')


def test_a_vacuous_constraint_changes_no_rate_of_hydraulic_joints():
    """Accelerations, spools and pressures of the tree equal those with a lock elsewhere, valves and reliefs open."""
    plant = Assembly(with_flap(loader(), locked=False), 'hydraulic')
    blocks = constrained_machine(with_flap(loader(), locked=True), actuation='hydraulic').system.blocks
    values = {'swing_joint': 0.3, 'boom_joint': 0.8, 'stick_joint': -1.5, 'boom_joint_rate': 0.2}
    values |= {'swing_joint_rate': -0.1, 'stick_joint_rate': 0.3, 'boom/spool': 4e-3, 'stick/spool': -5e-3}
    values |= {'swing/pressure_a': 27e6, 'stick/head_pressure': 9e6, 'boom/head_pressure': 18e6, 'boom/voltage': 5.0}
    x, u = ([values.get(name, 0.0) for name in names] for names in (plant.states.names, plant.inputs.names))
    evaluate = ca.Function('rates', [plant.x, plant.u, plant.p], [plant.rhs])
    tree_rates = np.array(evaluate(x, u, plant.default_parameters())).ravel()
    q, v = ([values.get(f'{name}{end}', 0.0) for name in blocks.tree.position_names] for end in ('', '_rate'))
    numbers = blocks.numbers({name: values.get(name, 0.0) for name in (*blocks.parameters.states, *blocks.inputs)})
    accelerations = constrained_dynamics(blocks, q, v, np.zeros(len(v)), numbers, method='saddle').acceleration
    element_rates = ca.Function('element_rates', [blocks.q, blocks.v, blocks.parameters.vector], [blocks.element_rates])
    rates = np.concatenate([accelerations, np.array(element_rates(q, v, numbers)).ravel()])
    assert rates == pytest.approx(tree_rates[len(q) :], rel=1e-12, abs=1e-9)
    assert np.abs(accelerations[:3]).min() > 0.1


def test_a_linkage_on_its_oil_stays_at_rest():
    start = hydraulic_linkage()
    assert set(start.system.input_names) == set(VOLTS)
    run = start.system.run(start.x, [0.0, 1.0, 2.0], settings=Settings(step=STEP))
    assert run.q == pytest.approx(np.tile(start.q, (3, 1)), abs=1e-9)
    assert np.abs(run.a[0]).max() < 1e-9


def test_energy_of_a_linkage_on_oil_equals_work_less_heat():
    """Bodies, compressed oil, friction and the flow at the lines balance up to the integrator's error."""
    start, exchanged = hydraulic_linkage(), 0.0
    errors = []
    for step in (2.5e-4, 1.25e-4):
        run = start.system.run(
            start.x,
            np.linspace(0.0, 0.3, 31),
            Inputs.constant(VOLTS),
            settings=Settings(step=step),
        )
        assert run.status == 'done'
        exchanged = np.abs(np.diff(run.work)).sum()
        errors.append(np.abs(run.energy_balance).max())
    assert exchanged > 1e3
    assert errors[1] < 1e-8 * exchanged
    assert np.abs(run.residual).max() < 1e-9


def test_energy_balances_across_relief_valves_that_open_and_close():
    """At their kinks rk4 loses two orders (3.9e-5 at 0.5 ms); adaptive steps keep the balance."""
    start, times = hydraulic_linkage(), np.linspace(0.0, 0.4, 41)
    volts = Inputs.constant({'boom/voltage': -9.0, 'swing/voltage': -9.0})
    watched = start.system.run(start.x, times, volts, settings=Settings(step=5e-4, watch=True))
    assert {'relief_open', 'relief_closed'} <= {event.kind for event in watched.events}
    run = start.system.run(start.x, times, volts, settings=Settings('dopri5', 1e-4, 1e-10, 1e-10))
    exchanged = np.abs(np.diff(run.work)).sum()
    assert exchanged > 1e4
    assert np.abs(run.energy_balance).max() < 1e-8 * exchanged  # measured: 9e-13
    assert np.abs(watched.energy_balance).max() < 1e-4 * exchanged


def test_a_line_at_tank_pressure_bounds_no_step_with_constraints():
    """The slewing arm empties a line of its motor. With steps of 2 ms the classical method has an error of 26 bar."""
    start = hydraulic_linkage()
    times, volts = np.linspace(0.0, 0.4, 21), Inputs.constant({'boom/voltage': -9.0, 'swing/voltage': -9.0})
    exact = start.system.run(start.x, times, volts, settings=Settings(step=2e-5, stiff='explicit'))
    pressures = [k for k, name in enumerate(start.system.state_names) if 'pressure' in name]
    tank = linkage().actuator('swing').supply.tank_pressure
    assert exact.states[:, pressures].min() == pytest.approx(tank, abs=2e3)
    run = start.system.run(start.x, times, volts, settings=Settings(step=2e-3))
    assert run.q == pytest.approx(exact.q, abs=1e-5)  # measured: 1.7e-6
    assert run.states[:, pressures] == pytest.approx(exact.states[:, pressures], abs=1e4)  # measured: 1.5e3 Pa
    alone = start.system.run(start.x, times, volts, settings=Settings(step=2e-3, stiff='explicit'))
    assert np.abs(alone.q - exact.q).max() > 1e-4


def test_the_implicit_method_integrates_oil_with_constraints():
    """Its Jacobian equals the differences of the rates in units of the states' sizes, and it needs few steps."""
    start = hydraulic_linkage()
    system, volts = start.system, Inputs.constant(VOLTS)
    exact = system.run(start.x, [0.0, 0.2, 1.0], volts, settings=Settings(step=2.5e-4))
    x, u = system.state(exact.q[1], exact.v[1]), np.array([VOLTS[name] for name in system.input_names])
    x[system.constraints.element_slice] = exact.z[1]
    p, sizes = system.parameters(), np.ones(len(x))
    sizes[system.constraints.element_slice] = [state.scale for state in system.blocks.element_states]
    solver = system.constraints.solver(system.constraints.blocks_at(x, u, p), implicit=True)
    jacobian = solver.jacobians(x, u, p)[0] * sizes / sizes[:, None]
    expected = differences(lambda at: solver.rates(at, u, p), x, sizes) * sizes / sizes[:, None]
    assert jacobian == pytest.approx(expected, rel=1e-6, abs=1e-9 * np.abs(expected).max())
    run = system.run(
        system.state(start.q, start.v), [0.0, 0.2, 1.0], volts, settings=Settings('rodas3', 1e-4, 1e-5, 1e-5)
    )
    assert run.q == pytest.approx(exact.q, abs=5e-6)
    assert run.counts['accepted'] < 0.1 * 1.0 / STEP


def test_a_plant_with_constraints_takes_voltages():
    plant = Plant(linkage(), 'hydraulic', 2e-3, STEP, measures=())
    at_rest = plant.positions.copy()
    for _ in range(50):
        plant.advance()
    assert plant.positions == pytest.approx(at_rest, abs=1e-9)
    plant.set_inputs(VOLTS)
    for _ in range(150):
        plant.advance()
    start = hydraulic_linkage()
    run = start.system.run(start.x, [0.0, 0.3], Inputs.constant(VOLTS), settings=Settings(step=STEP))
    assert plant.positions == pytest.approx(run.q[-1], abs=1e-8)
    assert abs(plant.positions - at_rest).min() > 1e-3
    names = [f'{name}/drive_effort' for name in ('boom_joint', 'swing_joint')]
    assert [plant.output(name) for name in names] == [plant.output('boom/effort'), plant.output('swing/effort')]


def test_the_oil_holds_the_payload_and_slope_of_the_parameters():
    """With a payload and a slope at the start, the plant stays at rest, too."""
    machine = replace(linkage(), payload=replace(PAYLOAD, mass=500.0))
    plant = Plant(machine, 'hydraulic', 2e-3, STEP, measures=(), values={'payload_mass': 2000.0}, slope=(0.05, -0.1))
    at_rest, pressure = plant.positions.copy(), plant.x[plant.system.index('state', 'boom/head_pressure')]
    for _ in range(50):
        plant.advance()
    assert plant.positions == pytest.approx(at_rest, abs=1e-8)
    light = Plant(machine, 'hydraulic', 2e-3, STEP, measures=(), values={'payload_mass': 0.0})
    assert pressure > 1.2 * light.x[light.system.index('state', 'boom/head_pressure')]


def test_the_opening_of_a_relief_valve_with_constraints_is_located():
    """The boom moves to the end of its cylinder, and the pump's relief valve opens within the step."""
    plant = Plant(linkage(), 'hydraulic', 2e-3, STEP, measures=())
    plant.set_inputs({'boom/voltage': 10.0})
    events = []
    for _ in range(2000):
        plant.advance()
        events += [event for event in plant.take_events() if event.kind == 'relief_open']
        if events:
            break
    first = events[0]
    assert (first.details['actuator'], first.details['relief']) == ('boom', 'pump')
    assert plant.time - 2e-3 <= first.time <= plant.time
    limit = linkage().actuator('boom').supply.relief_pressure
    assert first.details['pressure'] == pytest.approx(limit, rel=2e-4)


def test_a_dead_time_delays_a_valve_with_constraints():
    """With voltages 3 ms late, one and a half periods, the run is the same, 3 ms later."""
    machine, dead_time = linkage(), 3e-3
    late = tuple(
        replace(cylinder, valve=replace(cylinder.valve, dead_time=dead_time)) for cylinder in machine.actuators
    )
    delayed = replace(machine, actuators=late)
    plant = Plant(delayed, 'hydraulic', 2e-3, STEP, measures=())
    plant.set_inputs(VOLTS)
    for _ in range(50):
        plant.advance()
    start = hydraulic_linkage()
    run = start.system.run(
        start.x,
        [0.0, 0.1 - dead_time],
        Inputs.constant(VOLTS),
        settings=Settings(step=STEP),
    )
    assert plant.positions == pytest.approx(run.q[-1], abs=1e-9)
    volts = Inputs([0.0, 0.0], {name: [0.0, voltage] for name, voltage in VOLTS.items()})  # shut before
    late = constrained_machine(delayed, actuation='hydraulic').system
    whole = late.run(start.x, [0.0, 0.1], volts, settings=Settings(step=STEP))
    assert plant.positions == pytest.approx(whole.q[-1], abs=1e-9)


def light_linkage():
    """Return the linkage with a three-hundredth of the masses: its frequency on the oil is far above the exchange's."""
    machine, share = linkage(), 1.0 / 300.0
    links = tuple(replace(link, mass=share * link.mass, inertia=share * link.inertia) for link in machine.links)
    return replace(machine, links=links)


def split_positions(machine, period, count, mobility):
    """Return positions after some periods with separate oil: the exchange of both nodes in one process."""
    plant = Plant(machine, 'effort', period, STEP, measures=())
    exchange = ActuatorExchange(ActuatorSystem(machine), period)
    joints = [plant.joints.index(name) for name in exchange.system.joints]
    exchange.start(plant.positions[joints], plant.efforts[joints])
    volts = np.array([VOLTS[f'{name}/voltage'] for name in exchange.system.names])
    for _ in range(count):
        efforts = np.zeros(len(plant.joints))
        w = mobility and mobility.at(plant.positions)
        efforts[joints] = exchange.predict(plant.positions[joints], plant.velocities[joints], volts, w)
        plant.set_efforts(efforts)
        plant.advance()
    return plant.positions


def test_oil_in_a_separate_process_uses_the_mobility_of_the_linkage():
    """Exchange over topics against monolithic hydraulics: without the mobility of the linkage it diverges."""
    machine = light_linkage()
    joints = [actuator.joint for actuator in machine.actuators]
    start = constrained_machine(machine, actuation='hydraulic')
    run = start.system.run(start.x, [0.0, 0.4], Inputs.constant(VOLTS), settings=Settings(step=STEP))
    moved = split_positions(machine, 1e-2, 40, mobility_of(machine, joints))
    assert np.abs(moved - run.q[-1]).max() < 5e-5  # measured: 1.2e-5
    assert np.abs(moved - start.q).max() > 0.1
    with pytest.raises(PlantDivergedError):
        split_positions(machine, 1e-2, 40, None)


def test_mobility_with_constraints_is_the_response_of_the_joints_to_their_efforts():
    machine = linkage()
    blocks = constrained_machine(machine).system.blocks
    joints, moved = ['boom_joint', 'swing_joint'], {'boom_joint': 0.7, 'stick_joint': -1.6}
    q = assemble(blocks, [moved.get(name, 0.0) for name in blocks.tree.position_names], held=['boom_joint'])
    indices = [blocks.tree.velocity_index(name) for name in joints]
    efforts = np.vstack([np.zeros(len(q)), np.eye(len(q))[indices]])
    responses = [constrained_dynamics(blocks, q, np.zeros(len(q)), tau).acceleration[indices] for tau in efforts]
    expected = (np.array(responses[1:]) - responses[0]).T
    assert mobility_of(machine, joints).at(q) == pytest.approx(expected, rel=1e-6, abs=1e-12)
    assert not np.allclose(JointMobility(machine, joints).at(q), expected, rtol=1e-2)


def test_joints_without_actuators_are_driven_by_efforts():
    """The same machine without actuators has effort inputs."""
    start = constrained_machine(linkage())
    assert set(start.system.input_names) == {'swing_joint/effort', 'boom_joint/effort'}
    assert start.system.blocks.inputs == ()
