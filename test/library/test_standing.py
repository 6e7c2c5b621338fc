"""Margins and reactions of postures and motions, against the simulated machine, geometry and published numbers."""

from __future__ import annotations

import numpy as np
import pytest

import dyn_nodes as dn
from dyn_nodes.measures import DEFAULT_MEASURES, MEASURES


@pytest.fixture(scope='module')
def loader():
    return dn.load('log_loader')


POSTURES = ({'boom_joint': 0.9, 'stick_joint': -1.6}, {'boom_joint': 0.3, 'stick_joint': -0.6, 'swing_joint': 1.2})


@pytest.mark.parametrize('joints', POSTURES)
@pytest.mark.parametrize('slope', [(0.0, 0.0), (0.04, -0.06)])
def test_margins_at_rest_equal_the_simulated_machine(loader, joints, slope):
    """The node computes them from springs, dampers and friction; here they follow from the load by Newton-Euler."""
    plant = loader.plant(True, joints, 800.0, slope, measures=DEFAULT_MEASURES)
    expected = plant.balance()
    q = np.array([plant.positions[loader.joints.index(name)] for name in loader.joints])
    margins = loader.margins(q, payload=800.0, slope=slope)
    whole = loader.margins(plant.x[: len(loader.position_names)], payload=800.0, slope=slope)
    for name in DEFAULT_MEASURES:
        simulated = expected.margins[name]
        scale = np.abs(simulated.edges).max()
        for computed in (margins[name], whole[name]):
            assert computed.value == pytest.approx(simulated.value, abs=1e-5 * scale), name
            assert computed.critical == expected.critical_edge(name)
            edges = dict(zip(expected.names(name), simulated.edges))
            assert computed.edges.keys() == edges.keys()
            np.testing.assert_allclose(
                [computed[edge] for edge in edges], list(edges.values()), atol=1e-5 * scale, rtol=0
            )
    weight = plant.output('mass') * loader.data.gravity
    for k, wheel in enumerate(expected.wheels):
        assert margins.reactions[wheel][2] == pytest.approx(expected.forces[k, 2], abs=1e-5 * weight)


def test_the_static_margin_is_the_distance_of_the_center_of_mass_from_the_edge(loader):
    q = loader.posture(boom_joint=0.5, payload=0.0)
    s = loader.margins(q, payload=0.0)
    com = loader.dynamics(payload=0.0).center_of_mass(q)
    wheels = {wheel.name: wheel for wheel in loader.data.wheels}
    d = loader.dynamics(payload=0.0)
    front = [d.pose(wheels[name].link, q) @ [*wheels[name].position, 1.0] for name in ('front_left', 'front_right')]
    assert s['static']['front'] == pytest.approx(np.mean(front, axis=0)[0] - com[0], abs=1e-3)


@pytest.mark.pins('abo-shanab-2003/6.4/whole_machine')
@pytest.mark.parametrize(
    ('boom', 'stick', 'margin', 'moment'), [(55, -105, 0.9326, 178_569.5), (0, -45, 0.1476, 28_262.1)]
)
def test_margins_of_the_planar_machine_are_near_the_published_ones_of_a_rigid_base(boom, stick, margin, moment):
    """abo-shanab-2003, chapter 5: 5 t in the implement. Our machine is on springs and leans forward by its load."""
    machine = dn.load('log_loader_planar')
    s = machine.margins(np.radians([boom, stick]), measures=['static', 'net_moment'])
    tilt = machine.posture(boom_joint=np.radians(boom), stick_joint=np.radians(stick))[2]
    assert s['static', 'front'] == pytest.approx(margin, abs=3.0 * abs(tilt) + 1e-4)
    assert s['net_moment', 'front'] == pytest.approx(moment, abs=moment / margin * (3.0 * abs(tilt) + 1e-4))


def test_rows_equal_single_calls_and_make_tables(loader):
    pytest.importorskip('pandas')
    pytest.importorskip('xarray')
    grid = np.array([[0.0, 0.2, -1.0], [0.3, 0.6, -1.5], [1.0, 0.9, -0.8]])
    table = loader.margins(grid)
    for k, row in enumerate(grid):
        alone = loader.margins(row)
        for name in table:
            for edge in table[name].edges:
                assert table[name][edge][k] == pytest.approx(float(alone[name][edge]), rel=1e-6, abs=1e-9)
            assert table[name].critical[k] == alone[name].critical
    frame, data = table.to_pandas(), table.to_xarray()
    assert frame.shape == (3, sum(len(margin.edges) + 1 for margin in table.values()))
    np.testing.assert_array_equal(frame['static', 'front'], table['static']['front'])
    np.testing.assert_array_equal(frame['zmp', 'least'], table['zmp'].value)
    np.testing.assert_array_equal(data['static'].sel(edge='front'), table['static', 'front'])
    assert data['net_moment'].attrs['units'] == 'N m'
    assert data['load_share'].dims == ('row', 'wheel')
    assert loader.margins(grid[0]).to_pandas().shape[0] == 1


def test_margins_include_the_inertia_of_a_motion(loader):
    """An arm accelerated upwards loads the machine: by its force on the base, times the lever arm."""
    q = np.array([0.0, 0.4, -1.0])
    still = loader.margins(q)
    a = np.array([0.0, 0.5, 0.0])
    moved = loader.margins(q, a=a)
    d = loader.dynamics()
    level = np.array([0, 0, 0, 0, 0, 0, 1.0, *q])
    needed = d.inverse(level, np.zeros(9), np.r_[np.zeros(6), a]) - d.gravity(level)
    total = sum(force[2] for force in moved.reactions.values()) - sum(force[2] for force in still.reactions.values())
    assert total == pytest.approx(needed[5], rel=1e-2)
    assert moved['net_moment', 'rear'] > still['net_moment', 'rear']
    turning = loader.margins(q, v=np.array([1.0, 0.0, 0.0]))
    assert turning['net_moment', 'front'] < still['net_moment', 'front'], 'centrifugal force'


@pytest.mark.parametrize(
    ('call', 'message'),
    [
        (
            lambda m: m.margins(np.zeros(5)),
            r'q: expected shape \(10,\) or \(t, 10\), or the 3 joints alone; found \(5,\)',
        ),
        (lambda m: m.margins([0, np.nan, 0]), "q: expected finite numbers, found nan at 'boom_joint'"),
        (lambda m: m.margins(measures=['stattic']), "unknown stability measure 'stattic' \\(did you mean 'static'"),
        (lambda m: m.margins(measures=['conservative']), "'conservative' needs 5 support points, found 4"),
        (lambda m: m.margins(payload=1e9), 'payload: expected 0 to'),
        (lambda m: m.reactions(joint='boom_jont'), "unknown joint 'boom_jont' \\(did you mean 'boom_joint'"),
        (lambda m: m.reactions(joint='boom_joint', side='left'), "unknown side 'left'"),
        (lambda m: dn.load('arm_a6').margins(), 'the base is fixed to the world'),
        (lambda m: dn.load('arm_a6').margins(payload=1.0), 'payload: expected none'),
    ],
)
def test_impossible_requests_have_a_reason(loader, call, message):
    with pytest.raises((KeyError, ValueError), match=message) as caught:
        call(loader)
    assert '\n' not in str(caught.value)


def test_an_unknown_edge_gets_a_suggestion(loader):
    s = loader.margins(measures=['static'])
    with pytest.raises(KeyError, match="unknown edge 'frnt' \\(did you mean 'front'"):
        _ = s['static', 'frnt']
    with pytest.raises(KeyError, match="unknown measure 'statik' \\(did you mean 'static'"):
        _ = s['statik']
    assert 'static 0.' in repr(s)


def test_every_suitable_measure_is_returned(loader):
    suitable = [name for name, measure in MEASURES.items() if measure.least_feet <= 4]
    assert set(loader.margins(measures=suitable)) == set(suitable)


# -- reactions ---------------------------------------------------------------------------------------------------------


def test_a_reaction_carries_the_links_beyond_the_joint(loader):
    q = loader.posture(boom_joint=0.5, payload=1000.0)
    r = loader.reactions(q, joint='boom_joint', payload=1000.0)
    beyond, mass = {loader.data.joint('boom_joint').child}, 1000.0
    for joint in loader.data.joints:
        if joint.parent in beyond:
            beyond.add(joint.child)
    mass += sum(link.mass for link in loader.data.links if link.name in beyond)
    assert np.linalg.norm(r.force) == pytest.approx(mass * 9.81, rel=1e-9)
    effort = loader.dynamics(payload=1000.0).gravity(q)[loader.velocity_names.index('boom_joint')]
    axis = loader.data.joint('boom_joint').axis
    assert r.torque @ axis == pytest.approx(effort, rel=1e-9)


def test_a_reaction_in_motion_has_the_inertia(loader):
    q = loader.posture(boom_joint=0.5)
    v, a = np.zeros(9), np.zeros(9)
    v[7:], a[8] = (0.2, 0.3), 0.4
    effort = loader.dynamics().inverse(q, v, a)[8]
    r = loader.reactions(q, v, a, joint='stick_joint')
    assert r.torque @ loader.data.joint('stick_joint').axis == pytest.approx(effort, rel=1e-9)
    rows = loader.reactions(np.stack([q, q]), v, np.stack([a, 0 * a]), joint='stick_joint')
    np.testing.assert_allclose(rows.force[0], r.force, rtol=1e-12)
    assert rows.torque.shape == (2, 3)


def test_reactions_of_joint_positions_equal_a_level_base_at_rest(loader):
    r = loader.reactions([0.0, 0.5, -1.0], joint='boom_joint')
    whole = loader.reactions(loader.posture(swing_joint=0.0, boom_joint=0.5, stick_joint=-1.0), joint='boom_joint')
    np.testing.assert_allclose(r.force, whole.force, rtol=1e-9, atol=1e-6)
    np.testing.assert_allclose(r.torque, whole.torque, rtol=1e-9, atol=1e-6)
