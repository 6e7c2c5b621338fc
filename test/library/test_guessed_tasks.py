"""Tasks that users of other libraries guess by habit, each as they would write it; results are compared, not times."""

from __future__ import annotations

import threading
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

import dyn_nodes as dn

pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope='module')
def m():
    return dn.load('log_loader')


@pytest.fixture(scope='module')
def run(m):
    return m.simulate(0.5, voltage={'boom': 4.0}, payload=2000.0)


def held(m):
    """Efforts that hold the arm at rest."""
    return dict(zip(m.driven, m.dynamics().gravity(m.posture())[6:]))


# -- names and sizes ---------------------------------------------------------------------------------------------------


def test_sizes_and_names(m):
    x = m.rest_state()
    assert (m.nq, m.nv, m.nu, m.nx) == (10, 9, 3, len(x))
    assert len(m.posture()) == m.nq
    assert 'boom_link' in m.links
    assert m.links[0] == 'base_link'
    assert m.hand == 'payload_link'
    assert dn.load('arm_a6').hand == dn.load('arm_a6').links[-1]


def test_dir_has_public_names_alone():
    names = [name for name in dir(dn) if not name.startswith('__')]
    assert sorted(names) == sorted(dn.__all__)
    assert {'read_bag', 'read_run', 'Simulator'} <= set(names)


# -- frames and points -------------------------------------------------------------------------------------------------


def test_pose_and_jacobian_of_a_point_of_the_hand(m):
    """Against central differences of the position."""
    d, q, point = m.dynamics(), m.posture(boom_joint=0.3), (0.2, -0.1, 0.4)
    pose = d.pose(m.hand, q)
    moved = d.pose(m.hand, q, point=point)
    np.testing.assert_allclose(moved[:3, 3], (pose @ [*point, 1.0])[:3], rtol=0, atol=1e-12)
    np.testing.assert_array_equal(moved[:3, :3], pose[:3, :3])
    jacobian = d.jacobian(m.hand, q, point=point)
    for k, name in enumerate(m.joints):
        steps = []
        for h in (1e-6, -1e-6):
            there = np.array(q)
            there[7 + k] += h
            steps.append(d.pose(m.hand, there, point=point)[:3, 3])
        np.testing.assert_allclose(jacobian[3:, 6 + k], (steps[0] - steps[1]) / 2e-6, atol=1e-7, err_msg=name)
    np.testing.assert_array_equal(jacobian[:3], d.jacobian(m.hand, q)[:3])
    rows = d.jacobian(m.hand, np.stack([q, q]), point=point)
    np.testing.assert_allclose(rows[1], jacobian, rtol=0, atol=1e-12)
    with pytest.raises(ValueError, match=r'point: expected shape \(3,\)'):
        d.pose(m.hand, q, point=(1.0, 2.0))


def test_inverse_kinematics_and_back(m):
    d, q = m.dynamics(), [0.3, 0.4, -1.2]
    target = d.pose(m.hand, q)[:3, 3]
    found = m.ik(target, joints=[0.2, 0.3, -1.0])
    np.testing.assert_allclose(d.pose(m.hand, found)[:3, 3], target, atol=1e-9)
    assert m.margins(found)['static'].value > 0.0
    assert m.posture(found)[-1] == pytest.approx(found[-1])
    arm = dn.load('arm_pa10')
    there = arm.dynamics().pose(arm.hand, np.full(len(arm.joints), 0.3))
    np.testing.assert_allclose(arm.dynamics().pose(arm.hand, arm.ik(there)), there, atol=1e-9)
    with pytest.raises(ValueError, match='out of reach'):
        m.ik([50.0, 0.0, 0.0])
    with pytest.raises(ValueError, match=r'target: expected \(3,\) position, \(6,\)'):
        m.ik([1.0, 2.0])


def test_inverse_kinematics_with_closed_loops():
    """The pose of the platform is met with all loops closed: the margin of error is that of the loops."""
    platform = dn.load('stewart_platform')
    found = platform.ik([0.1, 0.05, 1.8, 0.0, 0.0, 0.2], 'platform')
    pose = platform.dynamics().pose('platform', found)
    np.testing.assert_allclose(pose[:3, 3], [0.1, 0.05, 1.8], atol=1e-8)


# -- step by step ------------------------------------------------------------------------------------------------------


def test_a_function_with_an_initial_state(m):
    """The second half of a run, from its state, is the same as the whole: nothing is forgotten between."""
    law = lambda t, x: {'boom': 3.0, 'stick': -2.0}  # noqa: E731
    whole = m.simulate(0.4, voltage=law)
    half = m.simulate(0.2, voltage=law)
    rest = m.simulate(0.2, voltage=law, x0=half.last)
    np.testing.assert_allclose(rest.last, whole.last, rtol=0, atol=1e-7 * np.abs(whole.last).max())
    np.testing.assert_array_equal(rest.x[0], half.last)
    assert rest.status == 'done'
    assert rest.conditions == half.conditions


def test_a_receding_horizon(m):
    """Each period: predict with two torques from the present state, apply the better one."""
    sim, base = m.simulator(torque=True, period=0.05), held(m)
    target = sim['boom_joint'] + 0.05
    for _ in range(4):
        ends = []
        for push in (0.0, 4e4):
            torque = {**base, 'boom_joint': base['boom_joint'] + push}
            ends.append(m.simulate(0.05, torque=torque, x0=sim.x, period=0.05)['boom_joint'][-1])
        push = (0.0, 4e4)[int(np.argmin(np.abs(np.array(ends) - target)))]
        sim.step({**base, 'boom_joint': base['boom_joint'] + push})
    assert sim.time == pytest.approx(0.2)
    assert sim['boom_joint'] > target - 0.05 + 1e-4


def test_a_simulator_steps_as_a_run(m):
    sim = m.simulator(payload=1500.0)
    states = [sim.x]
    for _ in range(20):
        states.append(sim.step({'boom': 3.0}))
    run = m.simulate(0.2, voltage=lambda t, x: {'boom': 3.0}, payload=1500.0)
    np.testing.assert_array_equal(np.array(states), run.x)
    assert sim.x.conditions.payload == 1500.0
    assert sim.margins()['static'].value == pytest.approx(run.margins()['static'].value[-1], rel=1e-12)
    start = sim.reset()
    np.testing.assert_array_equal(start, states[0])
    assert (sim.time, sim.status) == (0.0, 'running')
    np.testing.assert_array_equal(sim.step([3.0 if name == 'boom' else 0.0 for name in m.actuators]), states[1])
    sim.reset(states[5])
    np.testing.assert_allclose(sim.step({'boom': 3.0}), states[6], rtol=0, atol=1e-7 * np.abs(states[6]).max())
    with pytest.raises(KeyError, match="unknown actuator 'bom'"):
        sim.step({'bom': 1.0})


def test_a_simulator_of_an_overturned_machine_says_so(m):
    sim = m.simulator(torque=True, period=0.05)
    for _ in range(200):
        sim.step({'boom_joint': 2e6})
        if sim.status != 'running':
            break
    assert sim.status in ('overturned', 'diverged')
    with pytest.raises(ValueError, match=f'the machine is {sim.status}'):
        sim.step()


# -- payload, slope, changes -------------------------------------------------------------------------------------------


def test_a_slope_as_one_number_is_a_pitch(m):
    expected = m.margins(slope=(0.0, 0.05))
    for margins in (
        m.margins(slope=0.05),
        m.carrying(slope=0.05).margins(),
        dn.load('log_loader', slope=0.05).margins(),
    ):
        assert margins['static'].value == expected['static'].value
        assert margins.conditions.slope == (0.0, 0.05)


def test_changes_of_mass_friction_and_gravity(m):
    wheel = m.data.wheels[0].name
    light = m.changed({'gravity': 1.62, 'links.boom_link.mass': 2.0 * mass_of(m, 'boom_link')})
    q = np.array(m.posture())
    assert np.linalg.norm(light.dynamics().gravity_vector) == pytest.approx(1.62)
    grown = light.dynamics().mass_matrix(q)[3, 3] - m.dynamics().mass_matrix(q)[3, 3]
    assert grown == pytest.approx(mass_of(m, 'boom_link'), rel=1e-9)
    again = light.changed({'gravity': 9.81})
    assert again.conditions.changes == {**light.conditions.changes, 'gravity': 9.81}
    assert again.dynamics().gravity_vector[2] == -9.81
    assert m.data.gravity == 9.81
    slippery = dn.load('log_loader', changes={f'wheels.{wheel}.friction.static': 0.9})
    assert slippery.data.wheels[0].friction.static == 0.9
    with pytest.raises(ValueError, match="links: unknown link 'bom_link'"):
        m.changed({'links.bom_link.mass': 3.0})
    with pytest.raises(ValueError, match=r'links\.boom_link\.mass: expected above 0 kg, found -1'):
        m.changed({'links.boom_link.mass': -1.0})


def mass_of(m, link):
    return next(each.mass for each in m.data.links if each.name == link)


# -- files -------------------------------------------------------------------------------------------------------------


def test_a_run_is_saved_and_read(m, run, tmp_path):
    path = run.save(tmp_path / 'run.npz')
    again = dn.read_run(path)
    for name in ('times', 'x', 'u', 'q', 'v'):
        np.testing.assert_array_equal(getattr(again, name), getattr(run, name))
    assert (again.status, again.events, again.checks, again.conditions) == (
        run.status,
        run.events,
        run.checks,
        run.conditions,
    )
    np.testing.assert_array_equal(again.margins()['zmp'].value, run.margins()['zmp'].value)
    np.testing.assert_array_equal(again['rear_left/normal_force'], run['rear_left/normal_force'])
    onward, before = (m.simulate(0.1, voltage=..., x0=each.last) for each in (again, run))
    np.testing.assert_array_equal(onward.x, before.x)
    with pytest.raises(FileExistsError):
        run.save(path)
    with pytest.raises(ValueError, match='expected a run'):
        dn.read_run(Path(__file__))


def test_a_run_with_changes_and_constraints_is_read(tmp_path):
    bar = dn.load('four_bar', changes={'gravity': 3.0})
    run = bar.simulate(0.1, torque={})
    again = dn.read_run(run.save(tmp_path / 'bar.npz'))
    assert again.machine.data.gravity == 3.0
    np.testing.assert_array_equal(again.raw.all_outputs, run.raw.all_outputs)


def test_a_bag_is_read(run, tmp_path):
    bag = dn.read_bag(run.save_bag(tmp_path / 'bag'))
    joints = bag.table('joint_states')
    np.testing.assert_allclose(joints.time, run.times, atol=1e-9)
    np.testing.assert_allclose(joints['boom_joint/position'], run['boom_joint'], atol=1e-12)
    pytest.importorskip('pandas')
    assert list(joints.to_pandas()['boom_joint/position']) == list(joints['boom_joint/position'])


# -- pictures ----------------------------------------------------------------------------------------------------------


def test_a_plot_into_axes(run):
    pyplot = pytest.importorskip('matplotlib.figure')
    figure = pyplot.Figure()
    ax = figure.subplots()
    assert run.plot(ax=ax) is ax
    assert [line.get_label() for line in ax.lines] == list(run.machine.joints)
    other = figure.add_subplot()
    run.plot('boom_joint', ax=other)
    np.testing.assert_array_equal(other.lines[0].get_ydata(), run['boom_joint'])
    with pytest.raises(KeyError, match="unknown column 'bom_joint'"):
        run.plot('bom_joint', ax=other)


def test_a_film(run, tmp_path):
    image = pytest.importorskip('PIL.Image')
    pytest.importorskip('yourdfpy')
    path = run.film(tmp_path / 'run.gif', size=(128, 96), rate=10.0)
    with image.open(path) as film:
        assert film.size == (128, 96)
        assert film.n_frames == 6
    with pytest.raises(ValueError, match=r'expected a name that ends in \.gif'):
        run.film(tmp_path / 'run.txt')


def test_a_view_in_the_browser(run):
    pytest.importorskip('viser')
    pytest.importorskip('yourdfpy')
    page = run.view(port=0, wait=False)
    try:
        assert page.cockpit.address.startswith('http://')
        assert page.duration == pytest.approx(run.times[-1])
    finally:
        page.stop()


def test_notebooks_show_tables(m, run):
    for shown, text in (
        (m, 'boom_joint'),
        (m.margins(), 'static margin'),
        (run, 'done'),
        (m.reactions(m.posture(), joint='boom_joint'), 'force'),
    ):
        html = shown._repr_html_()
        assert html.startswith('<table')
        assert text in html
    assert '<script' not in run._repr_html_()


# -- optimisation ------------------------------------------------------------------------------------------------------


def test_an_unbounded_search_over_postures_gets_a_penalty(m):
    """Beyond the limits of the joints the margins are below zero and rise towards the limits."""
    from scipy.optimize import minimize

    lower, upper = np.array([(m.data.joint(name).lower, m.data.joint(name).upper) for name in m.joints]).T
    far, near = (m.margins([0.0, upper[1] + by, -1.0], penalty=2.0)['static'] for by in (0.4, 0.1))
    assert far.value == pytest.approx(-2.8)
    assert near.value == pytest.approx(-2.2)
    assert not near.valid
    inside = m.margins([0.0, 0.3, -1.0], penalty=2.0)['static']
    assert inside.value == m.margins([0.0, 0.3, -1.0])['static'].value
    best = minimize(
        lambda q: -float(m.margins(q, penalty=2.0)['static'].value), [0.0, 0.3, -1.0], method='Nelder-Mead',
        options={'maxiter': 120},
    )  # fmt: skip
    assert (best.x >= lower - 1e-6).all()
    assert (best.x <= upper + 1e-6).all()
    assert -best.fun >= inside.value
    planar = dn.load('log_loader_planar')
    with pytest.raises(ValueError, match=r'no resting pose|no stable rest|slides'):
        planar.margins([0.0, 0.0], slope=0.9)
    lost = planar.margins([0.0, 0.0], slope=0.9, penalty=1.0)['static']
    assert lost.value == -1.0
    assert not lost.valid


# -- margins and postures, many times ----------------------------------------------------------------------------------


@pytest.mark.filterwarnings('ignore:log_loader. q. expected a machine at rest')
def test_margins_of_many_calls_are_those_of_a_new_machine(m):
    """Kept models forget earlier calls: every bit is that of a machine that has computed nothing else."""
    rng = np.random.default_rng(3)
    q = m.posture(boom_joint=0.2, payload=900.0)
    for _ in range(3):
        m.margins([*rng.uniform(-0.3, 0.3, 2), -1.0], payload=float(rng.uniform(0.0, 3000.0)), slope=(0.02, 0.1))
        m.margins(np.stack([q, q]), measures=['static', 'energy'])
    new = dn.load('log_loader')
    for arguments in ((q,), (np.stack([q, q]),), ([0.1, 0.2, -1.0],), ()):
        for name, margin in m.margins(*arguments).items():
            np.testing.assert_array_equal(margin.value, new.margins(*arguments)[name].value)
            np.testing.assert_array_equal(
                list(margin.edges.values()), list(new.margins(*arguments)[name].edges.values())
            )
    np.testing.assert_array_equal(m.posture(boom_joint=0.2), new.posture(boom_joint=0.2))


@pytest.mark.parametrize('name', ['telehandler', 'log_loader_planar', 'rover'])
def test_plants_of_earlier_calls_are_as_new(name):
    used, new = dn.load(name), dn.load(name)
    middle = np.clip(0.5 * (np.maximum(used.lower, -1.0) + np.minimum(used.upper, 1.0)), used.lower, used.upper)
    used.margins(middle, slope=(0.0, 0.03))
    with suppress(ValueError):  # some cannot rest there
        used.margins(slope=1.4)
    used.margins(slope=(0.0, 0.02), measures=['static'])
    for arguments in ({}, {'slope': (0.0, 0.02)}):
        expected, margins = new.margins(**arguments), used.margins(**arguments)
        for measure in expected:
            np.testing.assert_array_equal(margins[measure].value, expected[measure].value)
            np.testing.assert_equal(margins[measure].edges, expected[measure].edges)
        new = dn.load(name)


def test_margins_of_threads_do_not_mix(m):
    postures = [m.posture(boom_joint=0.1 * k, payload=500.0 * k) for k in range(5)]
    expected = [float(m.margins(q)['net_moment'].value) for q in postures]
    results: dict[int, list[float]] = {}

    def work(k: int) -> None:
        results[k] = [float(m.margins(postures[k])['net_moment'].value) for _ in range(100)]

    threads = [threading.Thread(target=work, args=(k,)) for k in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {k: [expected[k]] * 100 for k in range(5)}
