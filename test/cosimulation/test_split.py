"""Hydraulics in a separate process against the monolithic model: errors of the exchange over topics."""

from __future__ import annotations

import numpy as np
import pytest
from log_loader_tasks import P3D, STILL, run

from dyn_nodes.compile import integrators
from dyn_nodes.compile.integrators import run_rk4
from dyn_nodes.simulation import Settings, initial_state
from dyn_nodes.simulation.cosimulation.actuation import ActuatorSystem
from dyn_nodes.simulation.cosimulation.actuator_exchange import ActuatorExchange
from dyn_nodes.simulation.cosimulation.joint_mobility import JointMobility

END, HOLD = 16.0, 0.010  # s; the controller's command period
EXCHANGE = 0.005  # of the launch file


def split_run(system, effort_system, inputs, period, values=None, end=END, assumed=None):
    """Run the protocol of the nodes in one process: efforts every `period`, voltages of the middle of every 10 ms.

    `assumed` is the payload in the model of the hydraulics, kg; None: the true one.
    Returns the joints' positions (actuators' order) after every exchange.
    """
    machine = system.machine
    p = effort_system.parameters(values)
    actuators = ActuatorSystem(machine)
    exchange = ActuatorExchange(actuators, period)
    mobility = JointMobility(machine, actuators.joints)
    mobility.payload = p[effort_system.index('parameter', 'payload_mass')] if assumed is None else assumed
    posture = [effort_system.index('state', joint.name) for joint in machine.movable_joints]
    q, v = ([effort_system.index('state', joint + suffix) for joint in actuators.joints] for suffix in ('', '_rate'))
    efforts_in = [effort_system.index('input', f'{joint}/effort') for joint in actuators.joints]
    x = initial_state(effort_system, p)
    p = system.parameters(values)
    rest = system.outputs(initial_state(system, p), np.zeros(len(actuators.names)), p)
    exchange.start(x[q], np.array([rest[system.index('output', f'{name}/effort')] for name in actuators.names]))
    count, every, substeps = round(end / period), round(HOLD / period), max(1, round(period / 5e-4))
    middles = np.arange(round(end / HOLD)) * HOLD + HOLD / 2
    volts = inputs.at(middles, [f'{name}/voltage' for name in actuators.names])
    u, knots, trace = np.zeros((1, len(efforts_in))), np.zeros(1), np.zeros((1, len(x)))
    positions = [x[q]]
    for k in range(count):
        u[0, efforts_in] = exchange.predict(x[q], x[v], volts[k // every], mobility.at(x[posture]))
        status, _ = run_rk4(
            effort_system.codes, x, k * period, period / substeps, substeps, knots, u, p, -2.0, 0, trace
        )
        assert status == integrators.DONE
        positions.append(x[q])
    return np.array(positions), x


@pytest.fixture(scope='module')
def monolithic(system):
    return run(system, P3D, END, spacing=1e-3, settings=Settings(step=2.5e-4))


def joint_errors(system, monolithic, positions, period):
    joints = [system.index('state', actuator.joint) for actuator in system.machine.actuators]
    return np.abs(positions - monolithic.states[:: round(period / 1e-3), joints][: len(positions)]).max(axis=0)


@pytest.fixture(scope='module')
def task_over_topics(system, effort_system):
    return split_run(system, effort_system, P3D, EXCHANGE)


def test_joint_angles_of_the_split_task_stay_within_a_milliradian(system, monolithic, task_over_topics):
    errors = joint_errors(system, monolithic, task_over_topics[0], EXCHANGE)
    assert errors.max() < 3.3e-4  # measured: 2.7e-4; most of it is the hold of the voltages


@pytest.mark.parametrize('period', [1e-3, 2e-3, 1e-2])
def test_exchange_periods_up_to_the_command_period_are_equally_accurate(system, effort_system, monolithic, period):
    positions, _ = split_run(system, effort_system, P3D, period)
    assert joint_errors(system, monolithic, positions, period).max() < 3.3e-4  # measured: 3.1e-4, 3.1e-4, 2.2e-4


@pytest.mark.parametrize('assumed', [2550.0, 7650.0])
def test_a_payload_unknown_to_the_hydraulics_has_little_effect(system, effort_system, monolithic, assumed):
    positions, _ = split_run(system, effort_system, P3D, EXCHANGE, assumed=assumed)
    assert joint_errors(system, monolithic, positions, EXCHANGE).max() < 3.3e-4


@pytest.mark.parametrize('assumed', [0.0, 5100.0])
def test_an_empty_grapple_does_not_make_the_exchange_ripple(system, effort_system, assumed):
    values = {'payload_mass': 0.0}
    alone = run(system, P3D, 12.0, values, spacing=1e-3, settings=Settings(step=2.5e-4))
    for period in (EXCHANGE, 1e-2):
        positions, _ = split_run(system, effort_system, P3D, period, values, 12.0, assumed)
        assert joint_errors(system, alone, positions, period).max() < 1.5e-4


def test_split_task_recovers_as_the_monolithic_one(monolithic, task_over_topics):
    """The base ends in the same attitude, although the peak of rocking is sensitive."""
    _, last = task_over_topics
    np.testing.assert_allclose(last[3:7], monolithic.last[3:7], atol=5e-4)


def test_a_finer_exchange_is_closer_to_the_monolithic_model(system, effort_system):
    """With equal voltages, until the machine lifts, because tipping amplifies errors."""

    def every_10_ms(period):
        positions, _ = split_run(system, effort_system, P3D, period, end=8.0)
        return positions[:: round(HOLD / period)]

    finest = every_10_ms(2.5e-4)
    errors = [np.abs(every_10_ms(period) - finest).max() for period in (1e-2, 5e-3, 2.5e-3)]
    assert errors[0] > 2 * errors[1] > 4 * errors[2]
    assert errors[1] < 2e-5


def test_the_hold_of_the_voltages_has_little_effect_before_the_machine_lifts(system, monolithic, task_over_topics):
    until = round(8.0 / EXCHANGE)
    assert joint_errors(system, monolithic, task_over_topics[0][:until], EXCHANGE).max() < 5e-5


def test_machine_at_rest_stays_at_rest_over_topics(system, effort_system):
    positions, last = split_run(system, effort_system, STILL, EXCHANGE, end=2.0)
    assert np.abs(positions - positions[0]).max() < 1e-9
    velocities = slice(effort_system.nq, effort_system.nq + effort_system.nv)
    assert np.abs(last[velocities]).max() < 1e-9
