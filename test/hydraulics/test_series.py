"""Several valves on one pump: against one valve, against root finding, and effects that an operator notices."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest
from draws import reached, reaches
from hyd_a import make_supply, make_valve
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

from dyn_nodes.elements.hydraulics import SeriesMember, series_flows, valve_flows
from dyn_nodes.elements.hydraulics.series import LEAKAGE_AREA

FLOW, RELIEF = 5.0e-3, 32.0e6
SPOOLS = st.floats(-8e-3, 8e-3)
PRESSURES = st.floats(0.0, 35e6)
FAR_SPOOLS = st.floats(5.8e-3, 8e-3)
"""Spools with a (nearly) shut bypass: the pump's flow goes to the line or over the relief valve."""
HIGH_PRESSURES = st.floats(28e6, 35e6)


def row(*states, flow=FLOW):
    members = [SeriesMember(make_valve(), make_supply(), *state) for state in states]
    return [
        tuple(float(value) for value in (p.first, p.second, p.supply_pressure, p.bypass_flow))
        for p in series_flows(members, flow, RELIEF)
    ]


def inlet_flow(ports, spool):
    return ports[0] if spool >= 0.0 else ports[1]


@reaches(ahead=4, back=4, shut=4, dead=2, relieved=2)
@given(SPOOLS | FAR_SPOOLS, PRESSURES | HIGH_PRESSURES, PRESSURES)
@settings(max_examples=100)
def test_a_row_of_one_valve_equals_the_valve(spool, first, second):
    supply = replace(make_supply(FLOW), smoothing=1e-3)
    member = SeriesMember(make_valve(), supply, spool, first, second)
    alone = valve_flows(make_valve(), supply, spool, first, second)
    shared = series_flows([member], FLOW, RELIEF)[0]
    for name in ('first', 'second'):
        # a shut bypass leaks k A sqrt(P) in a row only
        assert float(getattr(shared, name)) == pytest.approx(float(getattr(alone, name)), abs=3.4e-6)
    assert float(shared.supply_pressure) == pytest.approx(float(alone.supply_pressure), rel=1e-3)
    reached('ahead', spool > 0.6e-3)
    reached('back', spool < -0.6e-3)
    reached('dead', abs(spool) < 0.5e-3)
    reached('shut', abs(spool) > 6e-3)
    reached('relieved', float(alone.supply_pressure) > RELIEF * (1.0 - 1e-3))
    if abs(spool) < 5.9e-3:
        assert float(shared.bypass_flow) == pytest.approx(float(alone.bypass_flow), abs=2e-6)


def by_root_finding(states):
    """Return the galleries of a row from the pump downstream, by bisection on the first gallery's pressure."""
    supply, valve = make_supply(), make_valve()
    k, tank, smoothing = supply.orifice_coefficient, supply.tank_pressure, supply.smoothing

    def downwards(gallery):
        """Return the pressure downstream of the last bypass for the first gallery at `gallery`, and all flows."""
        passing, flows = FLOW, []
        for spool, first, second in states:
            opening = max(abs(spool) - valve.dead_zone, 0.0)
            drop = max(gallery - (first if spool >= 0.0 else second), 0.0)
            inlet = k * valve.inlet_gain * opening * drop / np.sqrt(drop + smoothing)
            passing -= inlet
            area = max(valve.bypass_area * (1.0 - abs(spool) / valve.bypass_stroke), LEAKAGE_AREA)
            flows.append((gallery, inlet, passing))
            gallery -= np.sign(passing) * (passing / (k * area)) ** 2
        return gallery - tank, flows

    if downwards(RELIEF)[0] < 0.0:
        return None  # part of the flow passes the relief valve
    gallery = brentq(lambda p: downwards(p)[0], tank, RELIEF, xtol=1e-9, rtol=1e-15)
    return downwards(gallery)[1]


def test_rows_equal_root_finding_in_500_random_cases():
    rng = np.random.default_rng(5)
    compared = 0
    for _ in range(500):
        states = [(rng.uniform(-5e-3, 5e-3), *rng.uniform(0.0, 25e6, 2)) for _ in range(int(rng.integers(1, 4)))]
        expected = by_root_finding(states)
        if expected is None:
            continue
        compared += 1
        for ports, (gallery, inlet, passing), (spool, _, _) in zip(row(*states), expected, states):
            assert ports[2] == pytest.approx(gallery, rel=1e-6)
            assert inlet_flow(ports, spool) == pytest.approx(inlet, abs=1e-9)
            assert ports[3] == pytest.approx(passing, abs=1e-9)
    assert compared > 300


@reaches(relieved=4, unrelieved=4, above_tank=4)
@given(st.lists(st.tuples(SPOOLS | FAR_SPOOLS, PRESSURES | HIGH_PRESSURES, PRESSURES), min_size=1, max_size=4))
@settings(max_examples=60)
def test_flow_is_conserved(states):
    available = FLOW
    first = row(*states)[0]
    relieved = first[2] > RELIEF * (1.0 - 1e-6)
    reached('relieved', relieved)
    reached('unrelieved', not relieved)
    reached('above_tank', all(min(state[1:]) >= 0.2e6 for state in states))
    for ports, (spool, _, _) in zip(row(*states), states):
        inlet, passing = inlet_flow(ports, spool), ports[3]
        assert inlet >= 0.0
        if all(min(state[1:]) >= 0.2e6 for state in states):  # a line below tank pressure draws oil through the bypass
            assert passing >= 0.0
        assert ports[2] <= RELIEF * (1.0 + 1e-6)
        if relieved:
            assert inlet + passing <= available + 1e-8
            relieved = False
        else:
            assert inlet + passing == pytest.approx(available, abs=1e-8)
        available = passing


def test_all_valves_at_neutral_pass_the_flow_to_tank_and_their_drops_add_up():
    neutral = row((0.0, 5e6, 5e6), (0.0, 5e6, 5e6), (0.0, 5e6, 5e6))
    drops = [ports[2] - 0.2e6 for ports in neutral]
    assert drops[0] == pytest.approx(3.0 * drops[2], rel=1e-9)
    assert neutral[2][3] == pytest.approx(FLOW, rel=1e-9)


def test_a_working_function_starves_downstream_valves():
    behind = (4e-3, 2e6, 1e6)
    free = row((0.0, 1e6, 1e6), behind)[1]
    starved = row((8e-3, 3e6, 1e6), behind)[1]
    assert inlet_flow(free, 1.0) > 1e-3
    assert inlet_flow(starved, 1.0) < 1e-5
    heavy_in_front = row((3e-3, 20e6, 1e6), behind)
    assert inlet_flow(heavy_in_front[0], 1.0) == pytest.approx(0.0, abs=1e-12)  # the load check holds the load


def test_a_downstream_load_raises_the_upstream_pressure():
    light, heavy = (row((2e-3, 4e6, 1e6), (5.5e-3, load, 1e6))[0] for load in (1e6, 25e6))
    assert heavy[2] > light[2] + 15e6
    assert inlet_flow(heavy, 1.0) > inlet_flow(light, 1.0)


def test_derivatives_are_exact():
    symbols = [ca.SX.sym('x', 3) for _ in range(2)]
    members = [SeriesMember(make_valve(), make_supply(), *ca.vertsplit(s)) for s in symbols]
    flows = series_flows(members, FLOW, RELIEF)
    outputs = ca.vertcat(*(ca.vertcat(p.first, p.second, p.supply_pressure / 1e9, p.bypass_flow) for p in flows))
    x = ca.vertcat(*symbols)
    function = ca.Function('f', [x], [outputs, ca.jacobian(outputs, x)])
    for point in (
        [3e-3, 6e6, 1e6, -4e-3, 2e6, 9e6],
        [0.0, 6e6, 1e6, 5e-3, 20e6, 1e6],
        [5.5e-3, 31e6, 1e6, 1e-3, 1e6, 1e6],
    ):
        exact = np.array(function(point)[1])
        for k, step in enumerate((1e-8, 1.0, 1.0) * 2):
            moved = np.array([point, point], dtype=float)
            moved[:, k] += (-step, step)
            low, high = (np.array(function(row)[0]).ravel() for row in moved)
            scale = max(float(np.abs(exact[:, k]).max()), 1e-12)
            np.testing.assert_allclose(exact[:, k] / scale, (high - low) / (2 * step) / scale, atol=2e-4)
