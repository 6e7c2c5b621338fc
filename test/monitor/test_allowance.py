"""Allowances compared with the simulated machine at rest with exactly the allowed load."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dyn_nodes.monitor.allowance import Allowances, AllowanceSettings, crossing
from dyn_nodes.monitor.load_model import LoadModel
from dyn_nodes.monitor.stability_monitor import StabilityMonitor
from dyn_nodes.monitor.standing import StandingGround
from dyn_nodes.simulation import initial_state
from dyn_nodes.stability import PolygonError, zmp_degree
from dyn_nodes.stability.balance import BalanceObserver

RESERVE = 0.15
NAMES = ('swing_joint', 'boom_joint', 'stick_joint')
POSTURES = {
    'ahead': (0.0, 0.6, -1.2),
    'skew': (0.7, 0.6, -1.2),
    'aside': (1.5, 0.75, -1.5),
    'behind': (3.1, 0.5, -1.0),
}
STILL = np.zeros(3)


@pytest.fixture(scope='module')
def model(machine):
    return LoadModel(machine)


@pytest.fixture
def at(machine, model):
    """Return a function that returns monitor and allowances in a posture at rest."""

    def settle(q, payload, slope=(0.0, 0.0), **settings):
        monitor = StabilityMonitor(machine, ('zmp',), slope=slope)
        monitor.payload = payload
        for k in range(3):
            monitor.joints(0.01 * k, np.array(q), STILL)
        ground = StandingGround(machine, model)
        ground.set_ground(monitor.footing.plane, monitor.up)
        return monitor, Allowances(machine, ground, AllowanceSettings(RESERVE, **settings))

    return settle


def settled_degree(effort_system, q, payload, slope=(0.0, 0.0)):
    """Return the stability degree of the simulated machine, at rest on its wheels."""
    p = effort_system.parameters({'payload_mass': payload}, slope)
    x = initial_state(effort_system, p, dict(zip(NAMES, q)))
    y = effort_system.outputs(x, np.zeros(len(effort_system.input_names)), p)
    return BalanceObserver(effort_system, ('zmp',)).observe(y, p[:3]).margins['zmp'].value


@pytest.mark.parametrize('slope', [(0.0, 0.0), (0.04, -0.06)])
@pytest.mark.parametrize('posture', POSTURES)
def test_the_payload_allowed_leaves_the_reserve(at, machine, effort_system, posture, slope):
    q, payload = POSTURES[posture], 300.0
    _, allowances = at(q, payload, slope)
    more = allowances.evaluate(np.array(q), STILL, payload).payload
    assert 0.0 < more <= machine.payload.limit - payload
    degree = settled_degree(effort_system, q, payload + more, slope)
    if more < machine.payload.limit - payload - 1e-6:
        assert degree == pytest.approx(RESERVE, abs=2e-3)
    else:
        assert degree >= RESERVE


def test_on_ground_above_the_machine_nothing_is_allowed_and_the_wheels_are_named(at):
    q = POSTURES['ahead']
    _, allowances = at(q, 300.0)
    allowances.ground.set_ground([0.0352, 0.9274, -0.3724, 2.0397], [0.0, 0.0, 1.0])
    with pytest.raises(PolygonError, match=r'front_right, .*: the ground is seen from below'):
        allowances.evaluate(np.array(q), STILL, 300.0)
    assert allowances.ground.standing_degree(np.array(q), 300.0) == -np.inf
    q, zeros = np.tile(q, (3, 1)), np.zeros((3, 3))
    assert (allowances.ground.moving_degrees(q, zeros, zeros, 300.0) == -np.inf).all()
    assert allowances.ground.present_degree(q[0], 300.0) == -np.inf


@pytest.mark.parametrize('name', POSTURES)
def test_the_present_degree_is_that_of_the_machine_at_rest(at, name):
    q = np.array(POSTURES[name])
    _, allowances = at(q, 300.0)
    allowances.ground.set_ground([0.02, -0.03, np.sqrt(1.0 - 0.0013), -1.4], [0.05, 0.01, np.sqrt(1.0 - 0.0026)])
    still = np.zeros((1, 3))
    expected = allowances.ground.moving_degrees(q[None], still, still, 300.0)[0]
    assert np.isfinite(expected)
    assert allowances.ground.present_degree(q, 300.0) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize('payload', [4800.0, 5900.0])
def test_the_reach_allowed_leaves_the_reserve_at_its_end(at, effort_system, payload):
    """Outwards within the reserve, inwards beyond it; the payload keeps its height and its direction."""
    q = np.array((0.0, 0.6, -1.2))
    _, allowances = at(q, payload)
    reach = allowances.evaluate(q, STILL, payload).reach
    before = settled_degree(effort_system, q, payload)
    assert np.sign(reach) == np.sign(before - RESERVE)
    start = allowances.tip_point(q)
    outwards = allowances.outward_direction(start)
    there = q
    for k in range(1, 41):
        there = allowances.step_along(there, outwards, start + reach * k / 40.0 * outwards)
        assert there is not None
    moved = allowances.tip_point(there) - start
    assert moved @ outwards == pytest.approx(reach, abs=2e-3)
    assert abs(moved[2]) < 0.03
    degree = settled_degree(effort_system, there, payload)
    assert degree == pytest.approx(RESERVE, abs=4e-3)


def test_the_reach_ends_at_the_end_of_the_arm(at, effort_system):
    """An empty machine is far from tipping: the reach ends at the straight arm."""
    q = np.array((0.0, 0.4, -0.5))
    _, allowances = at(q, 0.0)
    reach = allowances.evaluate(q, STILL, 0.0).reach
    start = allowances.tip_point(q)
    outwards = allowances.outward_direction(start)
    end = allowances.step_along(q, outwards, start + reach * outwards)
    assert reach > 0.0
    assert settled_degree(effort_system, end, 0.0) > RESERVE
    assert allowances.step_along(end, outwards, start + (reach + 0.05) * outwards) is None


@pytest.mark.parametrize('posture', ['ahead', 'skew', 'aside'])
def test_the_swing_speed_allowed_leaves_the_reserve_turning_and_braking(at, model, posture):
    """Compared with the load of exactly that motion, braking in both directions."""
    q, payload, braking = np.array(POSTURES[posture]), 1200.0, 0.5
    monitor, allowances = at(q, payload, swing_braking=braking)
    now = 0.1
    more = allowances.evaluate(q, np.array((now, 0.0, 0.0)), payload).swing_speed
    assert more > 0.0
    footing = monitor.footing
    least = np.inf
    for rate in (0.0, braking, -braking):
        v, a = np.array((now + more, 0.0, 0.0)), np.array((rate, 0.0, 0.0))
        load = model.evaluate(q, v, a, STILL, STILL, 9.81 * monitor.up, payload)
        corners = footing.feet[monitor.ground.polygon]
        degree = zmp_degree(corners, load.com, load.force, load.moment_at_com, footing.plane[:3]).value
        least = min(least, float(degree))
    assert least == pytest.approx(RESERVE, abs=1e-6)


def test_allowances_are_negative_beyond_the_limits(at, effort_system):
    q, payload = np.array((0.0, 0.2, -0.6)), 5800.0
    _, allowances = at(q, payload)
    allowance = allowances.evaluate(q, np.array((0.3, 0.0, 0.0)), payload)
    assert allowance.payload < 0.0
    assert allowance.reach < 0.0
    assert allowance.swing_speed == pytest.approx(-0.3)
    assert settled_degree(effort_system, q, payload + allowance.payload) == pytest.approx(RESERVE, abs=2e-3)


def test_a_load_in_motion_allows_less(at, model):
    """A lowered load that is braked is heavier: the closed form compared with the load of the greater mass."""
    q, payload = np.array(POSTURES['ahead']), 1000.0
    monitor, allowances = at(q, payload)
    a = np.array((0.0, 0.4, 0.0))
    load = model.evaluate(q, STILL, a, STILL, STILL, 9.81 * monitor.up, payload)
    more = allowances.evaluate(q, STILL, payload, load).payload
    assert more < allowances.evaluate(q, STILL, payload).payload
    heavier = model.evaluate(q, STILL, a, STILL, STILL, 9.81 * monitor.up, payload + more)
    corners = monitor.footing.feet[monitor.ground.polygon]
    degree = zmp_degree(corners, heavier.com, heavier.force, heavier.moment_at_com, monitor.footing.plane[:3]).value
    assert degree == pytest.approx(RESERVE, abs=1e-6)


def changed_joint(machine, name, **changes):
    """Return the machine with one joint changed."""
    joints = tuple(replace(joint, **changes) if joint.name == name else joint for joint in machine.joints)
    return replace(machine, joints=joints)


def test_unknown_or_sliding_swing_joints_are_rejected(machine, model):
    ground = StandingGround(machine, model)
    with pytest.raises(KeyError, match='unknown joint'):
        Allowances(machine, ground, AllowanceSettings(swing_joint='none'))
    sliding = changed_joint(machine, 'stick_joint', type='prismatic')
    with pytest.raises(ValueError, match=r"swing joint 'stick_joint': expected a joint that turns"):
        Allowances(sliding, ground, AllowanceSettings(swing_joint='stick_joint'))


def test_the_swing_is_the_first_joint_from_the_base_that_turns_about_its_z_axis(machine, model):
    """A rotator beyond the swing does not count. None if every joint leans, slides or is not on the way."""
    ground, up, aside = StandingGround(machine, model), np.array((0.0, 0.0, 1.0)), np.array((0.0, 1.0, 0.0))

    def swing(changed, **settings):
        allowances = Allowances(changed, ground, AllowanceSettings(**settings))
        return None if allowances.swing is None else NAMES[allowances.swing]

    assert swing(machine) == 'swing_joint'
    for later in ('boom_joint', 'stick_joint'):
        assert swing(changed_joint(machine, later, axis=up)) == 'swing_joint'
        assert swing(machine, swing_joint=later) == later
    leaning = changed_joint(machine, 'swing_joint', axis=aside)
    assert swing(leaning) is None
    assert swing(changed_joint(leaning, 'stick_joint', axis=up)) == 'stick_joint'
    assert swing(changed_joint(leaning, 'stick_joint', axis=-up)) == 'stick_joint'
    assert swing(changed_joint(machine, 'swing_joint', type='prismatic')) is None
    for lean, expected in ((0.40, 'swing_joint'), (0.50, None)):  # the cosine of the lean is 0.92 and 0.88
        assert (
            swing(changed_joint(machine, 'swing_joint', axis=np.array((0.0, np.sin(lean), np.cos(lean))))) == expected
        )


@pytest.mark.parametrize(
    'function', [lambda s: 1.0 - s, lambda s: 1.0 - s**9, lambda s: np.where(s > 0.3, -np.inf, 1.0)]
)
def test_crossings_are_on_the_safe_side(function):
    root = crossing(function, 0.0, float(function(0.0)), 2.0, float(function(2.0)))
    assert function(root) >= 0.0
    assert function(root + 2e-5) < 2e-5
