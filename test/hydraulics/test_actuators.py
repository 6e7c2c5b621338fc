from __future__ import annotations

import dataclasses
import math

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from dyn_nodes.elements import actuator_element
from dyn_nodes.elements.hydraulics import (
    cylinder,
    linkage,
    motor,
    port_protection_flow,
    spool_rate,
    stop_force,
    valve_flows,
)

TANK, FLOW, BETA = 0.2e6, 3.0e-3, 827.37e6
G = 9.81
VACUUM = -0.1e6  # voids fill with a finite slope: absolute zero within one bar


def planar_efforts(boom_angle: float, stick_angle: float, payload: float) -> tuple[float, float]:
    """Return the static joint torques of the planar arm on a level base (masses of table 4.2)."""
    arm, sine = math.cos(boom_angle), math.sin(boom_angle)
    total = boom_angle + stick_angle
    stick_moment = 688 * (0.9 * math.cos(total) - 0.1 * math.sin(total)) + payload * 1.8 * math.cos(total)
    boom_moment = 1830 * (2.3 * arm - 0.2 * sine) + (688 + payload) * 5.2 * arm + stick_moment
    return G * boom_moment, G * stick_moment


@pytest.mark.pins('abo-shanab-2003/6.6/rigid_start')
def test_initial_pressures_hold_the_load_of_profile_p1(boom, stick):
    q = math.radians(55), math.radians(-105)
    boom_effort, stick_effort = planar_efforts(*q, 5000.0)
    head, rod = actuator_element(boom).pressures_at_rest(q[0], boom_effort)
    assert head == pytest.approx(17.558e6, abs=500.0)
    assert rod == 1e6
    head, rod = actuator_element(stick).pressures_at_rest(q[1], stick_effort)
    assert head == 1e6
    assert rod == pytest.approx(24.680e6, abs=500.0)
    for actuator, angle, effort in ((boom, q[0], boom_effort), (stick, q[1], stick_effort)):
        terms = cylinder(actuator, *actuator_element(actuator).pressures_at_rest(angle, effort), 0.0, angle, 0.0)
        assert terms.effort == pytest.approx(effort, rel=1e-12)
        assert (terms.head_pressure_rate, terms.rod_pressure_rate) == (0.0, 0.0)


@pytest.mark.parametrize('effort', [-2e5, -1e3, 0.0, 1e3, 8e3, 9e3, 2e5])
def test_initial_pressures_keep_both_sides_at_idle_or_above(boom, effort):
    head, rod = actuator_element(boom).pressures_at_rest(0.5, effort)
    assert min(head, rod) == pytest.approx(1e6)
    assert cylinder(boom, head, rod, 0.0, 0.5, 0.0).effort == pytest.approx(effort, abs=1e-6)


def test_specified_initial_pressures_are_kept(boom):
    fixed = dataclasses.replace(boom, initial_head_pressure=5e6, initial_rod_pressure=7e6)
    assert actuator_element(fixed).pressures_at_rest(0.3, 1e5) == (5e6, 7e6)
    head, rod = actuator_element(dataclasses.replace(boom, initial_rod_pressure=3e6)).pressures_at_rest(0.3, 1e5)
    assert rod == 3e6
    assert cylinder(boom, head, rod, 0.0, 0.3, 0.0).effort == pytest.approx(1e5)


def test_dead_centre_is_named(boom):
    with pytest.raises(ValueError, match=r"actuator 'boom': joint 'boom_joint' is at a dead centre"):
        actuator_element(boom).pressures_at_rest(-0.95, 1e5)


def test_motor_starts_at_idle_pressure_and_holds_a_torque(swing):
    assert actuator_element(swing).pressures_at_rest(0.0, 0.0) == (5e6, 5e6)
    first, second = actuator_element(swing).pressures_at_rest(0.0, 50e3)
    assert min(first, second) >= TANK
    assert motor(swing, first, second, 0.0, 0.0).effort == pytest.approx(50e3)


@pytest.mark.pins('abo-shanab-2003/6.10/locked_boom')
def test_locked_boom_has_the_reference_stiffness_and_frequency(boom):
    for degrees, stiffness, inertia, frequency in ((0, 2.154e7, 267_676, 1.43), (55, 1.694e7, 171_231, 1.58)):
        k = actuator_element(boom).locked_stiffness(math.radians(degrees))
        assert k == pytest.approx(stiffness, rel=3e-4)
        assert math.sqrt(k / inertia) / (2 * math.pi) == pytest.approx(frequency, abs=0.005)


def test_locked_stiffness_with_pressures_is_the_slope_of_the_effort_with_trapped_oil(boom):
    q0, head, rod, step = 0.4, 17e6, 1e6, 1e-6
    beta, triangle = boom.supply.bulk_modulus, boom.linkage
    x0 = linkage(triangle, q0).piston

    def effort(q: float) -> float:  # trapped mass: dP/dX = -+ beta A / V, integrated
        x = linkage(triangle, q).piston
        v1, v2 = (
            boom.head_volume + boom.head_area * np.array([x0, x]),
            boom.rod_volume - boom.rod_area * np.array([x0, x]),
        )
        p1, p2 = head - beta * math.log(v1[1] / v1[0]), rod - beta * math.log(v2[1] / v2[0])
        return (p1 * boom.head_area - p2 * boom.rod_area) * linkage(triangle, q).lever

    slope = (effort(q0 + step) - effort(q0 - step)) / (2 * step)
    assert actuator_element(boom).locked_stiffness(q0, head, rod) == pytest.approx(-slope, rel=1e-7)


def test_locked_motor_stiffness(swing):
    assert actuator_element(swing).locked_stiffness(0.0) == pytest.approx(2 * BETA * 2.9e-3**2 / 3e-3)


def test_compressed_locked_cylinder_gains_beta_a_dx_over_v(boom):
    q, speed = 0.3, 1e-3
    x, lever, _ = linkage(boom.linkage, q)
    terms = cylinder(boom, 10e6, 10e6, 0.0, q, speed)
    dx = lever * speed
    assert terms.head_pressure_rate == pytest.approx(-BETA * boom.head_area * dx / (3.0e-3 + boom.head_area * x))
    assert terms.rod_pressure_rate == pytest.approx(BETA * boom.rod_area * dx / (1.821513e-2 - boom.rod_area * x))


@pytest.mark.parametrize('spool', [6e-3, 7e-3, 8e-3])
def test_full_spool_moves_the_piston_at_the_pump_flow_over_the_head_area(boom, spool):
    q = 0.3
    lever = float(linkage(boom.linkage, q).lever)
    # rod pressure and joint speed at which both chambers are stationary
    speed = FLOW / boom.head_area
    conductance = boom.supply.orifice_coefficient * 6e-3 * (spool - 0.5e-3)
    root = boom.rod_area * speed / conductance
    rod = TANK + root * math.sqrt(root**2 + 1e3)  # first guess of d / sqrt(d + 1e3) = root
    terms = cylinder(boom, 12e6, rod, spool, q, speed / lever)
    assert terms.piston_rate == pytest.approx(0.13263, abs=5e-6)
    assert terms.head_flow == pytest.approx(FLOW, rel=1e-12)
    assert abs(float(terms.head_pressure_rate)) < 1e-3
    assert terms.rod_flow == pytest.approx(-boom.rod_area * speed, rel=1e-3)


def test_cylinder_power_balances_to_round_off(boom):
    """Pump power = every orifice's loss + compression of the oil + mechanical power; no loss is negative."""
    random = np.random.default_rng(7)
    supply = boom.supply
    for _ in range(500):
        head, rod = random.choice([random.uniform(0.0, 40e6), TANK, 0.0], 2)
        spool, q, qd = random.uniform(-8e-3, 8e-3), random.uniform(-0.2, 1.0), random.uniform(-0.3, 0.3)
        terms = cylinder(boom, head, rod, spool, q, qd)
        ports = valve_flows(boom.valve, supply, spool, head, rod)
        fed, drained = (head, rod) if spool >= 0 else (rod, head)
        inlet, outlet = (ports.first, -ports.second) if spool >= 0 else (ports.second, -ports.first)
        gauge = ports.supply_pressure - TANK
        losses = [
            ports.bypass_flow * gauge,
            (supply.flow - ports.bypass_flow - inlet) * gauge,  # pump relief
            (ports.supply_pressure - fed) * inlet,
            (drained - TANK) * outlet,
            -(head - TANK) * port_protection_flow(supply, head),
            -(rod - TANK) * port_protection_flow(supply, rod),
        ]
        volumes = 3.0e-3 + boom.head_area * terms.piston, 1.821513e-2 - boom.rod_area * terms.piston
        stored = (head - TANK) * volumes[0] * terms.head_pressure_rate / BETA + (rod - TANK) * volumes[
            1
        ] * terms.rod_pressure_rate / BETA
        oil_force = (head - TANK) * boom.head_area - (rod - TANK) * boom.rod_area
        mechanical = oil_force * terms.piston_rate
        scale = supply.flow * 32e6 + abs(mechanical)
        assert supply.flow * gauge == pytest.approx(sum(losses) + stored + mechanical, abs=1e-11 * scale)
        assert min(losses) > -1e-11 * scale
        assert terms.force == pytest.approx(
            oil_force + TANK * (boom.head_area - boom.rod_area) - boom.viscous * terms.piston_rate, abs=1e-6
        )
        assert terms.effort * qd == pytest.approx(terms.force * terms.piston_rate, rel=1e-12, abs=1e-9)


def test_leakage_flows_from_line_to_line_and_dissipates_energy(boom, swing):
    """Through piston and motor; the power lost by the oil is leakage times the squared drop."""
    first, second, leakage = 20e6, 4e6, 3e-12
    drop = first - second
    tight, loose = (
        cylinder(record, first, second, 0.0, 0.3, 0.0) for record in (boom, dataclasses.replace(boom, leakage=leakage))
    )
    assert loose.head_flow - tight.head_flow == pytest.approx(-leakage * drop)
    assert loose.rod_flow - tight.rod_flow == pytest.approx(leakage * drop)
    assert loose.force == tight.force
    tight, loose = (
        motor(record, first, second, 0.0, 0.0) for record in (swing, dataclasses.replace(swing, leakage=leakage))
    )
    assert loose.first_flow - tight.first_flow == pytest.approx(-leakage * drop)
    assert loose.second_flow - tight.second_flow == pytest.approx(leakage * drop)
    lost = first * (tight.first_flow - loose.first_flow) + second * (tight.second_flow - loose.second_flow)
    assert lost == pytest.approx(leakage * drop**2)


def test_end_stops_push_back_only_outside_the_stroke(boom):
    stroke = boom.linkage.stroke
    for x in (0.0, 0.5 * stroke, stroke):
        assert stop_force(boom, x, 0.1) == 0.0
    # 5 mm balance line relief pressure on the head side
    assert stop_force(boom, stroke + 5e-3, 0.0) == pytest.approx(-35.2e6 * boom.head_area)
    assert stop_force(boom, -5e-3, 0.0) == pytest.approx(35.2e6 * boom.head_area)
    # the force is greater on compression than on rebound
    assert stop_force(boom, stroke + 5e-3, 0.1) < stop_force(boom, stroke + 5e-3, -0.1) < 0.0


def hydraulic_joint(actuator, inertia: float, load: float):
    """Return rate and Jacobian of (p1, p2, spool, q, qd) for one joint with inertia and constant load; input volts."""
    state, volts = ca.SX.sym('x', 5), ca.SX.sym('u')
    p1, p2, spool, q, qd = ca.vertsplit(state)
    if hasattr(actuator, 'linkage'):
        terms = cylinder(actuator, p1, p2, spool, q, qd)
    else:
        terms = motor(actuator, p1, p2, spool, qd)
    rate = ca.vertcat(terms[0], terms[1], spool_rate(actuator.valve, spool, volts), qd, (terms.effort - load) / inertia)
    return ca.Function('f', [state, volts], [rate]), ca.Function('j', [state, volts], [ca.jacobian(rate, state)])


def drive(actuator, inertia, load, start, schedule, limits=(1e-7, 1.0)):
    rate, jacobian = hydraulic_joint(actuator, inertia, load)
    states, time = [np.array(start)[:, None]], 0.0
    for volts, until in schedule:
        solution = solve_ivp(
            lambda t, x, u=volts: np.array(rate(x, u)).ravel(),
            (time, until),
            states[-1][:, -1],
            method='Radau',
            jac=lambda t, x, u=volts: np.array(jacobian(x, u)),
            rtol=1e-5,
            atol=[limits[1], limits[1], 1e-8, 1e-8, 1e-8],
        )
        assert solution.success
        states.append(solution.y)
        time = until
    return np.hstack(states)


def test_pressures_stay_physical_when_the_boom_is_driven_hard_into_both_stops(boom):
    # this boom has a dead centre before X = 0: use shorter cylinders
    boom = dataclasses.replace(
        boom, linkage=dataclasses.replace(boom.linkage, retracted_length=1.6, stroke=1.1), rod_volume=1.5e-2
    )
    load, q = 8e4, 0.6
    start = [*actuator_element(boom).pressures_at_rest(q, load), 0.0, q, 0.0]
    history = drive(boom, 1.7e5, load, start, [(8, 6.0), (-8, 6.5), (8, 7.0), (-8, 22.0), (0, 24.0)])
    pistons = np.array([float(linkage(boom.linkage, angle).piston) for angle in history[3]])
    assert pistons.max() > boom.linkage.stroke  # reached
    assert pistons.min() < 0.0  # both ends
    # the arm runs into the stops at full speed: v sqrt(m / K), some 2 cm
    assert pistons.max() < boom.linkage.stroke + 0.02
    assert pistons.min() > -0.02
    assert history[:2].min() > VACUUM
    assert history[:2].max() < 1.1 * 35.2e6
    assert np.abs(history[2]).max() <= 8e-3 + 1e-7
    assert np.abs(history[4, -1]) < 1e-2


def test_overrunning_load_cavitates_without_suction(stick):
    """A falling load on an open valve: without make-up, the fed side would fall to vacuum."""
    q = -0.5
    start = [*actuator_element(stick).pressures_at_rest(q, 8e4), 0.0, q, 0.0]
    history = drive(stick, 2e4, 8e4, start, [(8, 1.5), (0, 2.0)])
    assert history[0].min() < TANK  # it cavitates
    # below absolute zero the void fills with at most the piston's demand, at its finite slope
    speeds = [abs(float(linkage(stick.linkage, a).lever) * rate) for a, rate in zip(history[3], history[4])]
    conductance = stick.supply.orifice_coefficient * stick.supply.makeup_area
    demand = stick.head_area * max(speeds) - conductance * math.sqrt(TANK)
    assert demand > 0.0  # the orifice alone would not keep the pressure above absolute zero
    assert history[0].min() > -demand / (conductance / math.sqrt(1e5)) > -0.4e6
    assert history[1].max() < 1.1 * 35.2e6


def test_motor_pressures_stay_physical_when_the_swing_is_reversed_hard(swing):
    start = [5e6, 5e6, 0.0, 0.0, 0.0]
    history = drive(swing, 1.4e5, 0.0, start, [(8, 2.5), (-8, 5.0), (8, 6.0), (0, 12.0)])
    assert history[:2].min() > VACUUM
    # the relief orifice passes at most the flow of pump and motor together
    swept = FLOW + 2.9e-3 * np.abs(history[4]).max()
    overshoot = (swept / (swing.supply.orifice_coefficient * 1e-4)) ** 2
    assert np.abs(history[0] - history[1]).max() < 22e6 + 1.01 * overshoot
    assert overshoot < 5e6
    assert history[:2].max() < 1.1 * 32e6
    assert np.abs(history[4]).max() > 0.4
    # once locked, the swing has at most the energy that the oil stores below relief pressure
    stored = 2.9e-3 * 22e6 / math.sqrt(actuator_element(swing).locked_stiffness(0.0) * 1.4e5)
    assert np.abs(history[4, -1]) < stored


def test_motor_power_and_symmetry(swing):
    ahead = motor(swing, 20e6, 3e6, 5e-3, 0.4)
    back = motor(swing, 3e6, 20e6, -5e-3, -0.4)
    assert ahead.effort == pytest.approx(2.9e-3 * 17e6 - 2000 * 0.4)
    assert float(ahead.effort) == -float(back.effort)
    assert float(ahead.first_pressure_rate) == pytest.approx(float(back.second_pressure_rate), rel=1e-9)
    assert float(ahead.first_flow) == pytest.approx(float(back.second_flow), rel=1e-9)


@pytest.mark.parametrize('name', ['boom', 'swing'])
def test_actuator_jacobians_are_finite_at_rest_and_at_every_limit(name, request):
    actuator = request.getfixturevalue(name)
    _, jacobian = hydraulic_joint(actuator, 1e5, 0.0)
    angles = [0.0, 1.2, -0.9]
    for p1 in (0.0, TANK, 32e6, 35.2e6):
        for p2 in (0.0, TANK, 32e6, 35.2e6):
            for spool in (-6e-3, -0.5e-3, 0.0, 0.5e-3, 6e-3):
                for q in angles:
                    for volts in (0.0, 8.0, -8.0):
                        assert np.isfinite(np.array(jacobian([p1, p2, spool, q, 0.0], volts))).all()


def test_bulk_modulus_and_flow_can_be_run_time_parameters(boom):
    beta, flow = ca.SX.sym('beta'), ca.SX.sym('flow')
    symbolic = dataclasses.replace(boom, supply=dataclasses.replace(boom.supply, bulk_modulus=beta, flow=flow))
    function = ca.Function('f', [beta, flow], [ca.vertcat(*cylinder(symbolic, 9e6, 3e6, 5e-3, 0.4, 0.1))])
    np.testing.assert_allclose(
        np.array(function(BETA, FLOW)).ravel(),
        [float(value) for value in cylinder(boom, 9e6, 3e6, 5e-3, 0.4, 0.1)],
        rtol=1e-12,
    )


def test_every_parameter_may_be_symbolic(boom, swing):
    def symbolic(record):
        changes = {}
        for field in dataclasses.fields(record):
            value = getattr(record, field.name)
            if isinstance(value, float):
                changes[field.name] = ca.SX.sym(field.name)
            elif dataclasses.is_dataclass(value):
                changes[field.name] = symbolic(value)
        return dataclasses.replace(record, **changes)

    p1, p2, x, q, qd = (ca.SX.sym(n) for n in ('p1', 'p2', 'x', 'q', 'qd'))
    terms = cylinder(symbolic(boom), p1, p2, x, q, qd)
    other = motor(symbolic(swing), p1, p2, x, qd)
    assert all(isinstance(term, ca.SX) for term in (*terms, *other))
    assert isinstance(spool_rate(symbolic(boom.valve), x, q), ca.SX)


def test_a_cylinder_needs_few_operations(boom):
    p1, p2, x, q, qd = (ca.SX.sym(n) for n in ('p1', 'p2', 'x', 'q', 'qd'))
    terms = cylinder(boom, p1, p2, x, q, qd)
    outputs = ca.cse([terms.head_pressure_rate, terms.rod_pressure_rate, terms.effort])
    function = ca.Function('f', [p1, p2, x, q, qd], outputs)
    kinds = [function.instruction_id(k) for k in range(function.n_instructions())]
    assert kinds.count(ca.OP_SQRT) <= 6
    assert kinds.count(ca.OP_DIV) <= 6
    assert len(kinds) <= 165
