"""Lift-off, touch-down and reliefs are located within the step, in the plane, in space and in the oil alone."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import brentq

from dyn_nodes.common.share import find_resource
from dyn_nodes.elements.hydraulics.linkage import piston
from dyn_nodes.model import load_machine
from dyn_nodes.simulation import Inputs, Settings, System, initial_state
from dyn_nodes.simulation.cosimulation.actuation import ActuatorSystem
from dyn_nodes.simulation.cosimulation.actuator_exchange import ActuatorExchange
from dyn_nodes.studies.abo_shanab_2003.planar import (
    P1,
    friction_system,
    hybrid_model,
    planar_machine,
    profile,
    profile_inputs,
)
from dyn_nodes.studies.abo_shanab_2003.rigid_planar import STANDING

ROOT = Path(__file__).resolve().parents[3]
END = 10.0


def compliant(step, watch=True, spacing=0.01):
    """The pick and place on springs with friction, up to a second after the rear edge lifts."""
    system = friction_system('lugre', 'edge', 'literal')
    p = system.parameters()
    times = np.arange(round(END / spacing) + 1) * spacing
    settings = Settings(step=step, watch=watch)
    return system.run(initial_state(system, p), times, profile_inputs(profile(P1)), p, settings)


@pytest.fixture(scope='module')
def watched():
    return compliant(5e-4)


def test_watching_changes_nothing(watched):
    np.testing.assert_array_equal(watched.states, compliant(5e-4, watch=False).states)


def test_events_name_actuator_joint_and_relief(watched):
    events = [(event.kind, dict(event.details)) for event in watched.events]
    assert [kind for kind, _ in events] == ['relief_open', 'relief_closed', 'lift_off']
    for _, details in events[:2]:
        assert {key: details[key] for key in ('actuator', 'joint', 'relief')} == {
            'actuator': 'stick',
            'joint': 'stick_joint',
            'relief': 'pump',
        }
        assert details['pressure'] == pytest.approx(32.0e6 * (1.0 - 1e-4), rel=1e-9)
    assert events[2][1]['wheel'] == 'rear'
    assert events[2][1]['height_rate'] > 0.0


def test_instants_are_far_more_accurate_than_the_step(watched):
    """At 0.5 ms as at 0.05 ms: within a microsecond, a five-hundredth of the step."""
    fine = compliant(5e-5)
    assert [event.kind for event in fine.events] == [event.kind for event in watched.events]
    for coarse, exact in zip(watched.events, fine.events):
        assert coarse.time == pytest.approx(exact.time, abs=1e-6)


def test_a_wheel_lifts_between_the_steps_between_which_its_load_ends(watched):
    """Check by the load at every step of 0.1 ms, and a straight line through the last positive loads."""
    system = watched.system
    lift = next(event for event in watched.events if event.kind == 'lift_off')
    start = round(lift.time, 2) - 0.02
    start_index = int(np.argmin(np.abs(watched.times - start)))
    times = watched.times[start_index] + np.arange(401) * 1e-4
    again = system.run(watched.states[start_index], times, watched.inputs, watched.parameters, Settings(step=1e-4))
    load = again.output('rear/normal_force')
    last = int(np.flatnonzero(load > 0.0)[-1])
    assert times[last] < lift.time <= times[last + 1]
    slope = (load[last] - load[last - 1]) / 1e-4
    assert times[last] - load[last] / slope == pytest.approx(lift.time, abs=2e-6)


def test_a_fall_touches_down_at_the_time_of_free_fall():
    """The 3-D machine as one body, 7 cm above the end of its springs, and one wheel's ground 2 cm higher."""
    loader = load_machine(find_resource('urdf/log_loader.urdf'), find_resource('config/log_loader.yaml'))
    stiff = tuple(replace(joint, type='fixed') for joint in loader.joints)
    body = replace(loader, name='fallen', joints=stiff, actuators=(), reactions=())
    system = System(body)
    p = system.parameters({'front_left/ground_height': 0.02})
    x = np.zeros(len(system.state_names))
    free = body.wheels[0].free_length - body.wheels[0].position[2]
    x[2], x[6] = free + 0.07, 1.0
    run = system.run(x, np.linspace(0.0, 0.2, 201), Inputs.constant(), p, Settings(step=1e-3, watch=True))
    first = {}
    for event in run.events:
        if event.kind == 'touch_down':
            first.setdefault(event.details['wheel'], event)
    early, fall = math.sqrt(2.0 * 0.05 / 9.81), math.sqrt(2.0 * 0.07 / 9.81)
    touch = first['front_left']
    assert touch.time == pytest.approx(early, abs=1e-12)
    assert touch.details['height_rate'] == pytest.approx(-9.81 * early, rel=1e-9)
    # the others touch later near the first one, which supports the body, and sooner across it
    assert set(first) == {wheel.name for wheel in body.wheels}
    assert first['rear_right'].time < fall + 5e-3
    lifts = [event for event in run.events if event.kind == 'lift_off']
    for event in lifts:
        assert event.time > first[event.details['wheel']].time


def overpressure_time(machine, q0, speed, pressure):
    """Closed form: trapped oil squeezed by a piston, P = P0 + beta ln(V0 / V), up to the set pressure."""
    boom = machine.actuator('boom')
    beta, limit = boom.supply.bulk_modulus, boom.supply.line_relief_pressure
    volume = boom.rod_volume - boom.rod_area * float(piston(boom.linkage, q0))
    wanted = volume * math.exp(-(limit - pressure) / beta)

    def surplus(time):
        return boom.rod_volume - boom.rod_area * float(piston(boom.linkage, q0 + speed * time)) - wanted

    return brentq(surplus, 0.0, 1.0, xtol=1e-14)


@pytest.fixture
def squeezed():
    """The planar machine's oil with the boom forced up and closed valves: the rod side is compressed."""
    machine = planar_machine()
    system = ActuatorSystem(machine, 5e-4)
    system.start(np.array([0.3, -1.0]), np.zeros(2))
    return machine, system


def test_a_line_relief_opens_at_the_pressure_of_the_trapped_oil(squeezed):
    machine, system = squeezed
    speed = np.array([0.2, 0.0])
    expected = overpressure_time(machine, 0.3, 0.2, system.oil[2])
    events, time, position = [], 0.0, np.array([0.3, -1.0])
    while time < expected + 0.01:
        system.advance(1e-3, position, speed, np.zeros(2), np.zeros(2))
        events += [event.shifted(time) for event in system.events]
        time, position = time + 1e-3, position + 1e-3 * speed
    (event,) = events
    assert (event.kind, event.details['actuator'], event.details['relief']) == ('relief_open', 'boom', 'rod line')
    assert event.details['joint'] == 'boom_joint'
    assert event.time == pytest.approx(expected, abs=1e-8)
    assert event.details['pressure'] == pytest.approx(35.2e6, rel=1e-9)


@pytest.mark.parametrize('way', ['predict', 'follow'])
def test_an_exchange_reports_an_event_once_and_at_its_time(squeezed, way):
    """Both methods: the time counts from the sample; `follow` reports no events of its trial steps."""
    machine, system = squeezed
    exchange = ActuatorExchange(system, 1e-3)
    start = np.array([0.3, -1.0])
    exchange.start(start, np.zeros(2))
    speed, volts = np.array([0.2, 0.0]), np.zeros(2)
    expected = overpressure_time(machine, 0.3, 0.2, system.oil[2])
    events = []
    for k in range(round(expected / 1e-3) + 20):
        position = start + 1e-3 * k * speed
        if way == 'predict':
            exchange.predict(position, speed, volts)
        else:
            exchange.follow(1e-3 if k else 0.0, position, speed, volts)
        events += [event.shifted(1e-3 * k) for event in exchange.events]
    (event,) = events
    assert event.kind == 'relief_open'
    # the first interval has no previous speed; its oil is moved along a straight line
    assert event.time == pytest.approx(expected, abs=1e-6)


def test_reliefs_of_the_hybrid_models_are_observed_and_change_nothing():
    model = hybrid_model('rigid', 'literal')
    p = model.parameters()
    times = np.arange(1001) * 0.01
    runs = [
        model.run(model.initial_state(p), STANDING, times, profile_inputs(profile(P1)), p, step)
        for step in (1e-3, 1e-4)
    ]
    for run in runs:
        assert [event.kind for event in run.observed] == ['relief_open', 'relief_closed']
        assert [event.kind for event in run.log][:3] == ['relief_open', 'relief_closed', 'lift_off']
        assert all(event.kind not in ('relief_open', 'relief_closed') for event in run.events)
    for coarse, fine in zip(runs[0].observed, runs[1].observed):
        assert coarse.time == pytest.approx(fine.time, abs=1e-6)


@pytest.mark.parametrize('contact', ['rigid', 'no_skid', pytest.param('middle_held', marks=pytest.mark.slow)])
def test_every_hybrid_model_drops_the_payload_at_a_time_and_at_a_tilt(contact):
    model = hybrid_model(contact, 'literal')
    times = np.arange(1101) * 0.01
    inputs = profile_inputs(profile(P1))
    for values, of_time in (({'drop_time': 9.123456789}, True), ({'drop_tilt': math.radians(2.0)}, False)):
        p = model.parameters(values)
        run = model.run(model.initial_state(p), model.first_mode, times, inputs, p, 1e-3)
        (drop,) = run.of_kind('payload_drop')
        assert drop.details['mass'] == 5000.0
        if of_time:
            assert drop.time == pytest.approx(9.123456789, abs=1e-12)
        else:
            assert abs(drop.details['pitch']) == pytest.approx(math.radians(2.0), abs=1e-12)
        payload_index = model.index('parameter', 'payload_mass')
        after = run.parameter_index[np.searchsorted(run.times, drop.time)]
        assert (run.parameter_sets[0][payload_index], run.parameter_sets[after][payload_index]) == (5000.0, 0.0)


def test_watching_requires_the_fixed_step():
    system = friction_system('lugre', 'edge', 'literal')
    p = system.parameters()
    with pytest.raises(ValueError, match='expected method rk4, rk3 or rk32 to watch for events, found dopri5'):
        system.run(
            initial_state(system, p), np.linspace(0, 0.1, 2), Inputs.constant(), p, Settings('dopri5', watch=True)
        )
