"""Cooperating arms, four-bar and deficient arm of yesiloglu-2007: the numbers of its specification, 6.4 to 6.7."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from dyn_nodes.constraints import (
    METHODS,
    MethodError,
    analyse,
    arm_class,
    constrained_dynamics,
    free_acceleration,
    projected_velocity,
)
from dyn_nodes.constraints.linear import Subspaces, rank_of
from dyn_nodes.studies.reference import tabulated
from dyn_nodes.studies.yesiloglu_2007 import models
from dyn_nodes.studies.yesiloglu_2007.deficient import hold_pseudo_joints, subspace_dynamics
from dyn_nodes.studies.yesiloglu_2007.flexible import exponential, flexible_dynamics


def numbers(text):
    return np.array(text.split(), dtype=float)


PLANAR_ORDER = (2, 0, 1, 3, 4, 5, 6, 7, 8)
"""Base angle, base x, y, joints: the specification's order."""
PLANAR_FREE = numbers("""
    -0.02600701 0.00732286 0.00891327 0.18560673 -0.42902041 0.89350495 0.21455709 -0.55231906 6.28783901
""")


def near(values, digits):
    """Return an approximation within one unit of the last printed digit."""
    return pytest.approx(np.asarray(values), abs=10.0**-digits, rel=0)


# -- two 6R arms with a common load in space


@pytest.fixture(scope='module')
def spatial():
    model = models.spatial_arms()
    return model, model.blocks(), *spatial_motion(model)


def spatial_motion(model):
    """Return velocities of 6.4 (base and load specified, joints by closure) and torques."""
    tree = model.tree
    R = Rotation.from_quat(model.q[3:7]).as_matrix()
    wanted = np.zeros(tree.nv)
    wanted[0:3], wanted[3:6] = R.T @ (0.05, -0.1, 0.08), R.T @ (0.1, 0.02, -0.05)
    wanted[18:24] = 0.2, -0.1, 0.15, 0.05, 0.1, -0.08
    held = [*tree.velocity_names[:6], *tree.velocity_names[18:]]
    tau = np.zeros(tree.nv)
    tau[6:18] = models.SPATIAL_TORQUES
    return projected_velocity(model.blocks(), model.q, wanted, held=held), tau


def world(q, v, a, body):
    """Return the acceleration of a free body's origin in world axes, [angular; linear], as in the source."""
    R = Rotation.from_quat(q[body.q + 3 : body.q + 7]).as_matrix()
    w, linear = v[body.v : body.v + 3], v[body.v + 3 : body.v + 6]
    return np.concatenate([R @ a[body.v : body.v + 3], R @ (a[body.v + 3 : body.v + 6] + np.cross(w, linear))])


def test_spatial_arms_meet_at_the_load_and_move_with_it(spatial):
    model, system, v, _ = spatial
    import casadi as ca

    tips = [system.state.frame_pose(model.tree.frame(f'tip_{k}')).p for k in (1, 2)]
    positions = np.array(ca.Function('tips', [system.q], [ca.vertcat(*tips)])(model.q)).ravel()
    expected, rates = tabulated('yesiloglu-2007/6.4/rates')
    assert positions == near(expected, 10)
    assert np.abs(system.at(model.q).residual).max() < 1e-14
    assert v[6:18] == near(rates, 10)


@pytest.mark.parametrize('method', METHODS)
def test_spatial_arms_have_the_specified_accelerations_and_wrenches(spatial, method):
    model, system, v, tau = spatial
    solution = constrained_dynamics(system, model.q, v, tau, method=method)
    base, load = (model.tree.bodies[model.tree.body(name)] for name in ('base', 'load'))
    assert solution.multipliers == near(tabulated('yesiloglu-2007/6.4/tip_wrenches'), 9)
    of_base, of_joints, of_load = tabulated('yesiloglu-2007/6.4/accelerations')
    accelerations = [*world(model.q, v, solution.acceleration, base), *solution.acceleration[6:18]]
    assert accelerations == near([*of_base, *of_joints], 9)
    assert world(model.q, v, solution.acceleration, load) == near(of_load, 9)


@pytest.mark.pins('yesiloglu-2007/6.4/operator_recursion')
def test_spatial_arms_condition_numbers_and_recursion(spatial):
    model, system, _, tau = spatial
    blocks = system.at(model.q)
    # the source's J is of base and joints, base velocity in world axes; a rotation does not change the number
    assert np.linalg.cond(blocks.J[:, :18]) == pytest.approx(tabulated('yesiloglu-2007/6.4/condition')[1], abs=1e-5)
    dense = blocks.J @ np.linalg.solve(blocks.M, blocks.J.T)
    assert np.linalg.cond(dense) == pytest.approx(tabulated('yesiloglu-2007/6.4/condition')[0], abs=0.01)
    _, spread = system.responses(model.q, tau, blocks.J)
    assert np.abs(blocks.J @ spread - dense).max() / np.abs(dense).max() < 1e-13


@pytest.mark.pins('yesiloglu-2007/6.4/printed_bias')
def test_the_printed_bias_of_2_51_misses_the_closure(spatial):
    """F10: (2.51) lacks signs and the inverse of the load's mass; the term of the torques is right."""
    model, system, v, tau = spatial
    blocks = system.at(model.q, v)
    arms, load = slice(0, 18), slice(18, 24)
    J, A = -blocks.J[:, arms], blocks.J[:, load]
    M, Mc = blocks.M[arms, arms], blocks.M[load, load]
    # the source's accelerations of base and load are classical, of their origins: ours less w x v
    classical = np.zeros(24)
    for start in (0, 18):
        classical[start + 3 : start + 6] = np.cross(v[start : start + 3], v[start + 3 : start + 6])
    b_c = blocks.h[load] - Mc @ classical[load]
    closing = blocks.gamma + A @ classical[load] - J @ classical[arms]
    free = J @ (np.linalg.solve(M, tau[arms] - blocks.h[arms]) + classical[arms])
    Omega = J @ np.linalg.solve(M, J.T) + A @ np.linalg.solve(Mc, A.T)
    # gamma of (load - tip) is dJ/dt v - a_c
    right = np.linalg.solve(Omega, free + A @ np.linalg.solve(Mc, b_c) + closing)
    assert right == near(tabulated('yesiloglu-2007/6.4/tip_wrenches'), 9)
    printed = np.linalg.solve(Omega, free - A @ (Mc @ b_c) - closing)
    assert np.abs(printed - right).max() == pytest.approx(3.46, abs=0.005)
    missed = Omega @ (printed - right)
    assert np.abs(missed).max() == pytest.approx(0.416, abs=0.0005)


# -- planar arms


@pytest.fixture(scope='module')
def planar():
    model = models.planar_arms()
    tau = np.zeros(model.tree.nv)
    tau[model.tree.velocity_index('arm_1_joint_2')] = -0.25
    tau[model.tree.velocity_index('arm_2_joint_3')] = 0.15
    return model, model.blocks(), tau


def test_planar_arms_start_as_specified(planar):
    model, system, _ = planar
    assert model.q[3:9] == near(
        (1.9198621772, -0.6981317008, -1.2217304764, 1.2217304764, 0.6981317008, 1.2217304764), 10
    )
    assert model.q[10] == pytest.approx(tabulated('yesiloglu-2007/6.5/initial')[0], abs=1e-7)
    assert np.abs(system.at(model.q).residual).max() < 1e-14


def test_planar_arms_mass_matrix_and_ranks(planar):
    model, system, _ = planar
    blocks = system.at(model.q)
    M = blocks.M[np.ix_(PLANAR_ORDER, PLANAR_ORDER)]
    assert np.diag(M) == near((58.6708416, 70, 70, 13.6262667, 2.46593938, 0.03, 13.6262667, 2.46593938, 0.03), 7)
    row = (58.6708416293, -25.7335450365, 0, 17.2808437367, 4.9704628279, -0.045, 17.2808437367, 4.9704628279, -0.045)
    assert M[0] == near(row, 10)
    assert np.linalg.slogdet(M)[1] == pytest.approx(tabulated('yesiloglu-2007/6.5/mass_matrix')[1], abs=1e-8)
    assert np.linalg.cond(blocks.J[:, :9]) == pytest.approx(tabulated('yesiloglu-2007/6.5/condition')[0], abs=1e-9)
    assert np.linalg.cond(blocks.J @ np.linalg.solve(blocks.M, blocks.J.T)) == pytest.approx(
        tabulated('yesiloglu-2007/6.5/condition')[1], abs=1e-6
    )
    report = analyse(system, model.q, actuated=model.actuated)
    assert (report.rank, report.mobility, report.actuators, report.underactuation) == (6, 6, 2, 4)


@pytest.mark.parametrize('method', METHODS)
def test_planar_arms_at_the_initial_instant(planar, method):
    model, system, tau = planar
    solution = constrained_dynamics(system, model.q, model.v, tau, method=method)
    accelerations, wrenches = tabulated('yesiloglu-2007/6.5/instant')
    assert solution.acceleration[list(PLANAR_ORDER)] == near(accelerations, 10)
    assert solution.multipliers == near(wrenches, 10)
    # A-4: the tips' wrenches on the load move it
    moment, load = np.zeros(3), slice(9, 12)
    for k, arm in ((0, -0.2), (1, 0.2)):
        torque, fx, fy = solution.multipliers[3 * k : 3 * k + 3]
        moment += fx, fy, torque + arm * fy
    assert moment == pytest.approx(np.array([10.0, 10.0, 0.5]) * solution.acceleration[load], rel=1e-10, abs=1e-12)


@pytest.mark.pins('yesiloglu-2007/6.5/free_accelerations')
def test_planar_arms_with_their_loops_cut(planar):
    model, system, tau = planar
    free = free_acceleration(system, model.q, model.v, tau)
    assert free[list(PLANAR_ORDER)] == near(PLANAR_FREE, 8)
    assert free[9:] == near((0, 0, 0), 12)
    instant = flexible_dynamics(system, model.forces, model.q, model.v, tau)
    assert instant.free == pytest.approx(free, abs=1e-13)
    assert instant.acceleration == pytest.approx(
        constrained_dynamics(system, model.q, model.v, tau).acceleration, abs=1e-13
    )


def test_arms_are_full_redundant_or_deficient(planar, spatial):
    arms = [[f'arm_{k}_joint_{j}' for j in range(1, 7)] for k in (1, 2)]
    model, system, _, _ = spatial
    assert arm_class(system, model.q, 'grasp_1', arms[0]) == 'full'
    assert arm_class(system, model.q, 'grasp_1', [*arms[0], 'base_wx']) == 'redundant'
    straight = model.q.copy()
    straight[7:13] = 0.0  # both z joints in line: deficient for the moment
    assert arm_class(system, straight, 'grasp_1', arms[0]) == 'deficient'
    model, system, _ = planar
    assert arm_class(system, model.q, 'grasp_2', arms[1][:3]) == 'full'
    single = models.deficient_arm()
    assert arm_class(single.blocks(), single.q, 'grasp', ['hinge']) == 'deficient'
    assert analyse(system, model.q).holonomic
    with pytest.raises(KeyError, match='unknown constraint'):
        arm_class(system, model.q, 'grip', arms[0])


# -- four-bar


def drive(model):
    tau = np.zeros(model.tree.nv)
    tau[model.tree.velocity_index('crank_1')] = models.CRANK_TORQUE
    return tau


def closed_form(coupler):
    """Return the crank acceleration of the parallelogram for a coupler mass."""
    g, L, crank = 9.81, models.BAR_CRANK, models.CRANK_MASS
    moment = models.CRANK_TORQUE - (crank + coupler) * g * L * np.cos(models.CRANK_ANGLE)
    return moment / (2 / 3 * crank * L**2 + coupler * L**2)


BAR_WRENCHES = tabulated('yesiloglu-2007/6.6/planar')


@pytest.mark.pins('yesiloglu-2007/6.6/planar')
@pytest.mark.parametrize('method', METHODS)
def test_four_bar_in_the_plane(method):
    model = models.four_bar()
    system = model.blocks()
    solution = constrained_dynamics(system, model.q, model.v, drive(model), method=method)
    assert closed_form(models.COUPLER_MASS) == pytest.approx(tabulated('yesiloglu-2007/6.6/closed_form'), abs=1e-11)
    assert solution.acceleration[0] == pytest.approx(closed_form(models.COUPLER_MASS), rel=1e-12)
    assert solution.multipliers == near(BAR_WRENCHES, 10)
    assert (solution.rank, bool(solution.unique.all())) == (6, True)
    report = analyse(system, model.q, actuated=['crank_1'])
    assert (report.mobility, report.underactuation) == (1, 0)


@pytest.mark.pins('yesiloglu-2007/6.6/spatial')
@pytest.mark.parametrize('method', ['saddle', 'reduced', 'pseudo_inverse', 'compliant'])
def test_four_bar_in_space_has_three_redundant_rows(method):
    model = models.four_bar(planar=False)
    system = model.blocks()
    solution = constrained_dynamics(system, model.q, model.v, drive(model), method=method)
    assert solution.rank == 9
    assert solution.acceleration[0] == pytest.approx(closed_form(models.COUPLER_MASS), rel=1e-10)
    in_plane = [2, 3, 4, 8, 9, 10]
    assert solution.multipliers[in_plane] == near(BAR_WRENCHES, 9)
    assert solution.unique.tolist() == [k in in_plane for k in range(12)]
    report = analyse(system, model.q, actuated=['crank_1'])
    assert (len(report.redundant), report.mobility) == (3, 1)


def test_sliders_as_pseudo_joints_carry_the_axial_forces_of_the_cranks():
    names = ('slider_1', 'slider_2')
    model = models.four_bar(pseudo=names)
    result = hold_pseudo_joints(model.blocks(), model.q, model.v, drive(model), names)
    assert (result.case, result.rows_rank, result.rank) == ('regular', 6, 2)
    assert np.linalg.svd(result.d4, compute_uv=False) == near((0.529, 0.4), 3)
    assert [result.efforts[name] for name in names] == near(tabulated('yesiloglu-2007/6.6/sliders')[1], 9)
    assert result.acceleration[0] == pytest.approx(closed_form(models.COUPLER_MASS), rel=1e-12)
    assert [result.acceleration[model.tree.velocity_index(name)] for name in names] == near((0, 0), 11)
    assert result.multipliers == near(BAR_WRENCHES, 9)
    # manual balance of the outer half of crank 1 along itself: coupler's pull, weight and centripetal force
    along = np.array([np.cos(models.CRANK_ANGLE), np.sin(models.CRANK_ANGLE)])
    thirds = models.COUPLER_MASS / 3
    normal = models.CRANK_RATE**2 * models.BAR_CRANK
    tangent = closed_form(models.COUPLER_MASS) * models.BAR_CRANK
    centre = -normal * along + tangent * np.array([-along[1], along[0]])
    on_coupler = thirds * (centre + np.array([0, 9.81])) + result.multipliers[1:3]
    half = 0.5 * models.CRANK_MASS
    hand = along @ (on_coupler + half * np.array([0, 9.81])) - half * normal * 0.75
    assert result.efforts['slider_1'] == pytest.approx(hand, abs=1e-10)


OUT = ('arm_1_rx', 'arm_1_ry', 'arm_1_z', 'arm_2_rx', 'arm_2_ry', 'arm_2_z')


@pytest.mark.pins(
    'yesiloglu-2007/6.6/three_out_of_plane',
    'yesiloglu-2007/6.6/two_out_of_plane',
    'yesiloglu-2007/6.6/six_out_of_plane',
)
@pytest.mark.parametrize(
    ('names', 'rows_rank', 'rank', 'case', 'acceleration'),
    [
        (OUT[:3], 12, 0, 'indeterminate reactions', tabulated('yesiloglu-2007/6.6/pseudo_masses')[0]),
        (('arm_1_rx', 'arm_1_z'), 11, 0, 'dependent rows remain', tabulated('yesiloglu-2007/6.6/pseudo_masses')[1]),
        (OUT, 12, 3, 'indeterminate reactions', tabulated('yesiloglu-2007/6.6/pseudo_masses')[2]),
    ],
)
def test_rank_theorem_of_pseudo_joints(names, rows_rank, rank, case, acceleration):
    """No choice of pseudo joints makes d4 regular if the mechanism has dependent rows (F27)."""
    model = models.four_bar(planar=False, pseudo=names, pseudo_mass=0.05)
    result = hold_pseudo_joints(model.blocks(), model.q, model.v, drive(model), names)
    assert (result.rows_rank, result.rank, result.case) == (rows_rank, rank, case)
    assert result.acceleration[0] == pytest.approx(closed_form(models.COUPLER_MASS + 0.05 * len(names)), rel=1e-10)
    assert result.acceleration[0] == pytest.approx(acceleration, abs=5e-6)


def test_a_moving_pseudo_joint_is_rejected():
    model = models.four_bar(pseudo=('slider_1',))
    v = model.v.copy()
    v[model.tree.velocity_index('slider_1')] = 0.1
    with pytest.raises(ValueError, match='pseudo joints at rest'):
        hold_pseudo_joints(model.blocks(), model.q, v, drive(model), ('slider_1',))


# -- deficient arm


@pytest.mark.parametrize('method', METHODS)
def test_a_deficient_arm_needs_no_special_treatment(method):
    """Omega has rank 6 although the arm's Jacobian has rank 1."""
    model = models.deficient_arm()
    system = model.blocks()
    blocks = system.at(model.q)
    assert (rank_of(blocks.J[:, :1]), Subspaces(blocks.J).rank) == (1, 6)
    a = constrained_dynamics(system, model.q, model.v, [1.0] + [0.0] * 6, method=method).acceleration
    inertia = 0.05 + 2 * 0.25**2 + 0.02 + 3 * 0.5**2
    hand = (1 - (2 * 0.25 + 3 * 0.5) * 9.81 * np.cos(0.4)) / inertia
    assert a[0] == pytest.approx(hand, rel=1e-12)
    assert a[0] == pytest.approx(tabulated('yesiloglu-2007/6.7/acceleration'), abs=1e-9)
    load = world(model.q, model.v, a, model.tree.bodies[1])
    assert load[3:5] == near((2.854, -8.600), 3)


def test_the_subspace_form_reports_that_it_is_wrong_here():
    model = models.deficient_arm()
    system, tau = model.blocks(), [1.0] + [0.0] * 6
    with pytest.raises(MethodError, match='along directions in which they can not move'):
        subspace_dynamics(system, model.q, model.v, tau, {'grasp': ['hinge']})
    wrong = subspace_dynamics(system, model.q, model.v, tau, {'grasp': ['hinge']}, strict=False)
    assert not wrong.valid
    assert wrong.residual > 1
    assert wrong.acceleration[0] == pytest.approx(tabulated('yesiloglu-2007/6.7/reduction')[0], abs=1e-9)
    load = world(model.q, model.v, wrong.acceleration, model.tree.bodies[1])
    assert load[3:5] == near((0.02, -9.86), 2)


def test_the_subspace_form_is_right_if_the_load_stays_within_it():
    """Planar arms that span the plane: no direction is lost."""
    model = models.planar_arms()
    system = model.blocks()
    tau = np.linspace(-1, 1, model.tree.nv)
    arms = {f'grasp_{k}': [f'arm_{k}_joint_{j}' for j in (1, 2, 3)] for k in (1, 2)}
    result = subspace_dynamics(system, model.q, model.v, tau, arms)
    assert result.valid
    assert result.acceleration == pytest.approx(
        constrained_dynamics(system, model.q, model.v, tau).acceleration, abs=1e-12
    )
    with pytest.raises(KeyError, match='unknown constraint'):
        subspace_dynamics(system, model.q, model.v, tau, {'grip': []})


def test_the_series_of_the_exponential_is_accurate():
    from scipy.linalg import expm

    rng = np.random.default_rng(2)
    Y = rng.normal(size=(6, 6))
    result, order = exponential(Y)
    assert result == pytest.approx(expm(Y), abs=1e-12)
    assert exponential(1e-3 * Y)[1] < order
    with pytest.raises(ValueError, match='smaller step'):
        exponential(1e2 * np.eye(2))
