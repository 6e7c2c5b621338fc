from __future__ import annotations

import dataclasses
import itertools
import math

import casadi as ca
import numpy as np
import pytest
from draws import reached, reaches
from hyd_a import make_supply, make_valve
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq

from dyn_nodes.elements.hydraulics import (
    crossover_relief_flow,
    makeup_flow,
    port_protection_flow,
    shared_flow,
    signed_root,
    spool_rate,
    valve_areas,
    valve_flows,
)

MM = 1e-3
TANK, RELIEF, COEFFICIENT, FLOW = 0.2e6, 32e6, 0.6 * math.sqrt(2.0 / 850.0), 3.0e-3


def gallery_pressure_by_root_finding(inlet: float, bypass: float, pressure: float, flow: float) -> float:
    """Return the supply pressure from the continuity equation, for inlet, bypass > 0 and pressure >= tank."""
    demand = flow / COEFFICIENT
    shut = TANK + (demand / bypass) ** 2
    if shut <= pressure:
        return min(shut, RELIEF)

    def excess(share: float) -> float:  # gallery pressure from the cylinder's branch less the bypass branch
        return pressure - TANK + (share / inlet) ** 2 - ((demand - share) / bypass) ** 2

    share = brentq(excess, 0.0, demand, xtol=1e-300, rtol=1e-15, maxiter=500)
    by_cylinder, by_bypass = pressure + (share / inlet) ** 2, TANK + ((demand - share) / bypass) ** 2
    return min(by_cylinder if share * bypass < (demand - share) * inlet else by_bypass, RELIEF)


@pytest.mark.parametrize(
    ('spool', 'pressure', 'gallery', 'flow'),
    [
        (5, 5e6, 6.3128e6, 1.80071e-3),
        (5, 15e6, 15.4926e6, 1.10309e-3),
        (5, 25e6, 25.1352e6, 5.77791e-4),
        (4, 5e6, 5.4125e6, 7.85079e-4),
        (4, 15e6, 9.7625e6, 0.0),
        (6, 25e6, 27.4392e6, 3e-3),
        (2, 5e6, 2.5906e6, 0.0),
    ],
)
@pytest.mark.pins('abo-shanab-2003/6.10/supply')
def test_pump_sharing_agrees_with_the_reference(supply, valve, spool, pressure, gallery, flow):
    areas = valve_areas(valve, spool * MM)
    result = shared_flow(supply, areas.inlet, areas.bypass, pressure)
    assert result.supply_pressure == pytest.approx(gallery, abs=60.0)
    assert result.inlet_flow == pytest.approx(flow, rel=5e-6, abs=1e-15)


@pytest.mark.pins('abo-shanab-2003/6.10/supply_random')
def test_gallery_pressure_equals_root_finding_in_3000_random_cases(supply):
    random = np.random.default_rng(1)
    worst_pressure = worst_flow = 0.0
    regimes = set()
    for case in range(3000):
        inlet, bypass = 10.0 ** random.uniform(-6, -3.7, 2)
        if case % 10 == 0:
            bypass = inlet  # the quadratic degenerates
        pressure = random.uniform(TANK, 30e6)
        result = shared_flow(supply, inlet, bypass, pressure)
        expected = gallery_pressure_by_root_finding(inlet, bypass, pressure, FLOW)
        worst_pressure = max(worst_pressure, abs(result.supply_pressure / expected - 1.0))
        # the inlet flow of the open check, from continuity; under relief from the orifice, whose root is regularized
        if expected == RELIEF:
            regimes.add('relief' if expected > pressure else 'shut at relief')
            share = COEFFICIENT * inlet * math.sqrt(RELIEF - pressure)
            assert result.inlet_flow == pytest.approx(share, rel=1e-3)
        else:
            regimes.add('open' if expected > pressure else 'shut')
            share = FLOW - COEFFICIENT * bypass * math.sqrt(expected - TANK) if expected > pressure else 0.0
            worst_flow = max(worst_flow, abs(result.inlet_flow - share) / FLOW)
    assert worst_pressure < 1e-12
    assert worst_flow < 1e-12
    assert regimes == {'open', 'shut', 'relief'}


def test_a_shut_bypass_directs_all_flow_to_the_cylinder(supply):
    result = shared_flow(supply, 5e-5, 0.0, 10e6)
    assert result.inlet_flow == pytest.approx(FLOW, rel=1e-14)
    assert result.supply_pressure == pytest.approx(10e6 + (FLOW / COEFFICIENT / 5e-5) ** 2, rel=1e-13)
    assert result.bypass_flow == 0.0


def test_a_shut_inlet_directs_all_flow_to_tank(supply):
    result = shared_flow(supply, 0.0, 4e-5, 10e6)
    assert result.inlet_flow == 0.0
    assert result.supply_pressure == pytest.approx(TANK + (FLOW / COEFFICIENT / 4e-5) ** 2, rel=1e-13)
    assert result.bypass_flow == pytest.approx(FLOW, rel=1e-14)


def test_a_closed_centre_valve_at_neutral_is_at_relief_pressure(supply):
    result = shared_flow(supply, 0.0, 0.0, 10e6)
    assert (result.inlet_flow, result.bypass_flow) == (0.0, 0.0)
    assert result.supply_pressure == pytest.approx(RELIEF, rel=1e-14)


@pytest.mark.parametrize('pressure', [-1e5, 0.0, 2e5, 1e7, 31.9999e6, 32e6, 40e6])
def test_a_stopped_pump_has_no_flow(supply, pressure):
    for inlet, bypass in itertools.product([0.0, 1e-6, 1e-4], repeat=2):
        result = shared_flow(dataclasses.replace(supply, flow=0.0), inlet, bypass, pressure)
        assert result.inlet_flow == 0.0
        assert TANK <= result.supply_pressure <= RELIEF * (1 + 1e-12)


@reaches(over_relief=2, above_tank=8, below_tank=4, inflow=4)
@given(
    inlet=st.floats(0.0, 2e-4), bypass=st.floats(0.0, 1e-4), pressure=st.floats(-2e5, 45e6), flow=st.floats(0.0, 2e-2)
)
def test_the_pump_never_draws_oil_from_the_cylinder_or_exceeds_its_flow(inlet, bypass, pressure, flow):
    result = shared_flow(make_supply(flow), inlet, bypass, pressure)
    assert 0.0 <= result.inlet_flow <= flow
    assert TANK <= result.supply_pressure <= RELIEF * (1 + 1e-12)
    reached('over_relief', pressure >= RELIEF)
    reached('above_tank', pressure >= TANK)
    reached('below_tank', pressure < TANK)
    reached('inflow', result.inlet_flow > 0.0)
    if pressure >= RELIEF:
        assert result.inlet_flow == 0.0
    if pressure >= TANK:  # continuity: the rest passes the relief valve and is never negative
        assert result.inlet_flow + result.bypass_flow <= flow * (1 + 1e-9) + 1e-15


@given(difference=st.floats(-5e7, 5e7))
def test_regularized_root_is_odd_and_tends_to_the_root(difference):
    value = signed_root(difference, 1e3)
    assert value == -signed_root(-difference, 1e3)
    assert abs(value) <= math.sqrt(abs(difference))
    if abs(difference) > 1e6:
        assert abs(value) == pytest.approx(math.sqrt(abs(difference)), rel=5.1e-4)


def test_valve_areas_are_even_in_the_spool_and_zero_in_the_dead_zone(valve):
    assert valve_areas(valve, 5 * MM).inlet == pytest.approx(5.4e-5)
    assert valve_areas(valve, 5 * MM).outlet == pytest.approx(2.7e-5)
    assert valve_areas(valve, 5 * MM).bypass == pytest.approx(1e-4 / 6)
    for spool in (0.0, 0.3 * MM, 0.5 * MM):
        assert valve_areas(valve, spool)[:2] == (0.0, 0.0)
    for spool in (0.2 * MM, 3 * MM, 7 * MM):
        assert valve_areas(valve, spool) == valve_areas(valve, -spool)
    assert valve_areas(valve, 6 * MM).bypass == pytest.approx(0.0, abs=1e-19)
    assert valve_areas(valve, 8 * MM).bypass == 0.0


@reaches(dead=2, open=12)
@given(spool=st.floats(-8e-3, 8e-3), first=st.floats(0, 35e6), second=st.floats(0, 35e6))
def test_reversed_spool_exchanges_the_roles_of_the_lines(spool, first, second):
    ahead = valve_flows(make_valve(), make_supply(), spool, first, second)
    back = valve_flows(make_valve(), make_supply(), -spool, second, first)
    assert float(ahead.first) == pytest.approx(float(back.second), abs=1e-14)
    assert float(ahead.second) == pytest.approx(float(back.first), abs=1e-14)
    assert float(ahead.supply_pressure) == pytest.approx(float(back.supply_pressure), rel=1e-9)
    reached('dead', abs(spool) <= 0.5e-3)
    reached('open', abs(spool) > 1e-3)
    if abs(spool) <= 0.5e-3:
        assert (ahead.first, ahead.second) == (0.0, 0.0)


def test_positive_spool_feeds_the_first_line_and_drains_the_second(supply, valve):
    flows = valve_flows(valve, supply, 5 * MM, 5e6, 9e6)
    assert flows.first == pytest.approx(1.80071e-3, rel=5e-6)
    assert flows.second == pytest.approx(-COEFFICIENT * 2.7e-5 * math.sqrt(8.8e6), rel=1e-4)


def test_line_protection_opens_only_outside_its_limits(supply):
    for pressure in (TANK, 1e6, 35.2e6):
        assert port_protection_flow(supply, pressure) == 0.0
    assert port_protection_flow(supply, 37.2e6) == pytest.approx(-COEFFICIENT * 1e-4 * math.sqrt(2e6), rel=3e-4)
    assert port_protection_flow(supply, 0.1e6) == pytest.approx(COEFFICIENT * 2e-4 * math.sqrt(0.1e6), rel=6e-3)
    assert port_protection_flow(supply, 0.1e6) == makeup_flow(supply, 0.1e6)


def test_crossover_relief_limits_the_difference_both_ways(swing):
    supply = swing.supply
    assert crossover_relief_flow(supply, 25e6, 5e6) == 0.0
    flow = crossover_relief_flow(supply, 29e6, 5e6)
    assert flow == pytest.approx(COEFFICIENT * 1e-4 * math.sqrt(2e6), rel=3e-4)
    assert crossover_relief_flow(supply, 5e6, 29e6) == -flow


def test_flows_and_derivatives_are_finite_at_every_kink(supply, valve):
    first, second, spool = ca.SX.sym('p1'), ca.SX.sym('p2'), ca.SX.sym('x')
    unknowns = ca.vertcat(first, second, spool)
    for pump_flow in (3e-3, 0.0):
        source = dataclasses.replace(supply, flow=pump_flow)
        flows = ca.vertcat(
            *valve_flows(valve, source, spool, first, second),
            port_protection_flow(source, first),
            crossover_relief_flow(source, first, second),
        )
        function = ca.Function('f', [unknowns], [flows, ca.jacobian(flows, unknowns)])
        pressures = [-1e6, 0.0, TANK, TANK + 1e-6, 1e6, 9.7625e6, RELIEF, 35.2e6, 35.2e6 + TANK, 60e6]
        spools = [0.0, 0.5 * MM, 0.500001 * MM, 4 * MM, 6 * MM, 8 * MM]
        for p1, p2, x in itertools.product(pressures, pressures, spools + [-x for x in spools]):
            values, jacobian = function([p1, p2, x])
            assert np.isfinite(np.array(values)).all(), (p1, p2, x)
            assert np.isfinite(np.array(jacobian)).all(), (p1, p2, x)
            # the hydraulics are passive: a higher pressure never raises its own rate
            assert float(jacobian[0, 0]) <= 1e-15
            assert float(jacobian[1, 1]) <= 1e-15


def test_spool_follows_the_voltage_as_a_first_order_lag(valve):
    assert spool_rate(valve, 0.0, 5.0) == pytest.approx(5e-3 / 0.08)
    assert spool_rate(valve, 5e-3, 5.0) == pytest.approx(0.0, abs=1e-15)


def test_the_spool_stops_at_voltage_and_displacement_limits(valve):
    assert spool_rate(valve, 8e-3, 100.0) == pytest.approx(0.0, abs=1e-15)
    assert spool_rate(valve, -8e-3, -100.0) == pytest.approx(0.0, abs=1e-15)
    short = dataclasses.replace(valve, spool_limit=6e-3)
    assert spool_rate(short, 6e-3, 8.0) == pytest.approx(0.0, abs=1e-15)
    weak = dataclasses.replace(valve, voltage_limit=3.0)
    assert spool_rate(weak, 3e-3, -8.0) == pytest.approx(-6e-3 / 0.08)
