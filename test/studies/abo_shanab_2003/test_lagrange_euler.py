"""DH tables and the trace form: the specification's numbers, and the properties of every chain."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dyn_nodes.studies.abo_shanab_2003.dh import Body, Chain, Row, chain_of, dh_matrix, ordinary_inertia, pseudo_inertia
from dyn_nodes.studies.abo_shanab_2003.dh_machines import (
    log_loader_chain,
    planar_bodies,
    planar_compliant_machine,
    planar_friction_machine,
    planar_rigid_machine,
    spatial_bodies,
    spherical_joint,
)
from dyn_nodes.studies.abo_shanab_2003.lagrange_euler import (
    coriolis_coefficients,
    coriolis_matrix,
    coriolis_vector,
    differential_operators,
    distal_link_matrices,
    forward_dynamics,
    gravity_vector,
    inverse_dynamics,
    mass_matrix,
    newton_euler,
)
from dyn_nodes.studies.reference import tabulated

SEEDS = st.integers(0, 2**32 - 1)
SPATIAL_Q = np.array((1.2, 0.1, -0.2, 0.03, -np.pi / 2 + 0.04, -np.pi / 2 + 0.05, 0.4, 0.5, -1.2))
SPATIAL_QD = np.array((0.1, -0.2, 0.3, 0.15, -0.1, 0.2, 0.6, -0.4, 0.5))


def printed(actual, expected, decimals=6):
    """Equal to the digits printed."""
    np.testing.assert_allclose(actual, expected, rtol=0, atol=0.5001 * 10.0**-decimals)


def random_chain(seed, joints=6):
    """Mixed joints, fixed extra rows, full inertia tensors."""
    rng = np.random.default_rng(seed)
    rows, bodies = [Row('0', *rng.normal(size=4))], []
    for i in range(joints):
        rows.append(Row(str(i + 1), *rng.normal(size=4), variable=('theta', 'd')[int(rng.integers(2))]))
        rows.extend(Row(f'{i + 1}{letter}', *rng.normal(size=4)) for letter in 'ab'[: int(rng.integers(3))])
        spread = rng.normal(size=(3, 4))
        bodies.append(Body(rng.uniform(0.5, 3), rng.normal(size=3), spread @ spread.T))
    return Chain(tuple(rows), tuple(bodies), rng.normal(size=3) * 9.81)


def random_state(seed, count=6):
    return np.random.default_rng(seed + 1).normal(size=(3, count))


def complex_step(function, q, direction, h=1e-30):
    """Derivative along a direction, exact to round-off."""
    return function(np.asarray(q) + 1j * h * np.asarray(direction)).imag / h


# ---------------------------------------------------------------------------------------------- frames


@given(st.tuples(*[st.floats(-4, 4)] * 4))
def test_dh_matrix_is_a_rotation_and_a_translation(parameters):
    matrix = dh_matrix(*parameters)
    rotation = matrix[:3, :3]
    np.testing.assert_allclose(rotation.T @ rotation, np.eye(3), atol=1e-14)
    assert np.linalg.det(rotation) == pytest.approx(1.0, abs=1e-14)
    # as defined: turn about z, move along z and x, turn about x
    theta, d, a, alpha = parameters
    turn_z = np.array([[np.cos(theta), -np.sin(theta), 0], [np.sin(theta), np.cos(theta), 0], [0, 0, 1]])
    turn_x = np.array([[1, 0, 0], [0, np.cos(alpha), -np.sin(alpha)], [0, np.sin(alpha), np.cos(alpha)]])
    np.testing.assert_allclose(rotation, turn_z @ turn_x, atol=1e-14)
    np.testing.assert_allclose(matrix[:3, 3], turn_z @ (a, 0, d), atol=1e-14)


def test_printed_dh_matrix_is_no_rotation():
    """The fault of the source: signs of its second row."""
    matrix = dh_matrix(0.4, 0, 0, 0.3)[:3, :3]
    matrix[1, 1:] *= -1
    assert np.linalg.norm(matrix.T @ matrix - np.eye(3)) > 0.1


@pytest.mark.pins('abo-shanab-2003/6.3/table_6_1')
def test_frames_of_table_6_1():
    frames = planar_friction_machine().frames(np.zeros(5))
    np.testing.assert_allclose(frames[2, :3, :3].T, [(0, 0, 1), (1, 0, 0), (0, 1, 0)], atol=1e-15)
    origins = [(1.5, 0, 1.5), (1.5, 0, 6.7), (1.5, 0, 8.5)]
    np.testing.assert_allclose(frames[3:, :3, 3], origins, atol=1e-14)


@pytest.mark.pins('abo-shanab-2003/6.3/table_7_1')
def test_frames_of_table_7_1():
    frames = log_loader_chain().frames((1, 0, 0, 0, -np.pi / 2, -np.pi / 2, 0, 0, 0))
    np.testing.assert_allclose(frames[6, :3, :3], np.eye(3), atol=1e-15)
    np.testing.assert_allclose(frames[6, :3, 3], (0.2, 0, 1.23), atol=1e-14)
    np.testing.assert_allclose(frames[7, :3, :3].T, [(1, 0, 0), (0, 0, 1), (0, -1, 0)], atol=1e-15)
    origins = [(0.55, -0.12, 1.23), (5.75, -0.12, 1.23), (7.55, -0.12, 1.23)]
    np.testing.assert_allclose(frames[7:, :3, 3], origins, atol=1e-14)


@pytest.mark.pins('abo-shanab-2003/6.9/frames')
def test_frames_of_the_reference_state():
    frames = log_loader_chain().frames(SPATIAL_Q)
    printed(frames[6, :3, 3], (0.306566, -0.199210, 1.424121))
    printed(frames[9, :3, 3], (6.063249, 2.373308, 2.689459))


def test_tables_4_1_5_1_6_1_describe_one_machine():
    """The positions of boom foot, tip and centre of mass do not depend on the reference point."""
    friction, state = planar_friction_machine(payload=5000), np.array((0.1, 0.2, -0.05, 0.6, -1.1))
    wanted = friction.frames(state)
    nose_up = state[2]
    along = np.array((np.sin(nose_up), 0, np.cos(nose_up)))  # A to B, in (up, lateral, forward)
    for edge, distance in (('rear', -2.5), ('front', 2.5)):
        point = np.array((0.2, 0, 0.1)) + distance * along
        chain = planar_rigid_machine(edge, payload=5000)
        q = (point[2], point[0], *state[2:])
        np.testing.assert_allclose(chain.frames(q)[3:], wanted[3:], atol=1e-14)
        np.testing.assert_allclose(chain.com(q), friction.com(state), atol=1e-14)
        compliant = planar_compliant_machine(edge, payload=5000)
        height_forward = compliant.com((point[0], *state[2:]))[[2, 1]]
        np.testing.assert_allclose(height_forward, friction.com(state)[[0, 2]] - (0, point[2]), atol=1e-14)
    foot = wanted[3, :3, 3] - (0.2, 0, 0.1)
    np.testing.assert_allclose(foot, 1.5 * along + 1.5 * np.array((np.cos(nose_up), 0, -np.sin(nose_up))), atol=1e-14)


# ---------------------------------------------------------------------------------------------- bodies


@given(SEEDS)
def test_second_moments_and_inertia_tensors_convert_both_ways(seed):
    cloud = np.random.default_rng(seed).normal(size=(5, 3))
    moments = cloud.T @ cloud
    tensor = sum((point @ point) * np.eye(3) - np.outer(point, point) for point in cloud)
    np.testing.assert_allclose(ordinary_inertia(moments), tensor, atol=1e-12)
    np.testing.assert_allclose(pseudo_inertia(tensor), moments, atol=1e-12)


def test_link_matrices_add_as_bodies_do():
    one, two = Body.from_inertia(2.0, (1, 0, 0), np.eye(3)), Body(3.0, (0, 1, 2), np.diag((1, 2, 3)))
    both = one + two
    assert both.mass == 5.0
    np.testing.assert_allclose(both.com, (2 / 5, 3 / 5, 6 / 5))
    separate = sum(
        body.inertia + body.mass * ((c := body.com - both.com) @ c * np.eye(3) - np.outer(c, c)) for body in (one, two)
    )
    np.testing.assert_allclose(both.inertia, separate, atol=1e-12)


@pytest.mark.pins('abo-shanab-2003/2.24/planar_inertia')
def test_readings_of_the_planar_inertia_table():
    literal, axis = planar_bodies('literal'), planar_bodies('axis')
    assert [literal[name].inertia[2, 2] for name in ('base', 'boom', 'stick')] == [90_523.0, 15_500.0, 610.0]
    printed(axis['base'].inertia[2, 2], 32_803, 6)
    printed(axis['boom'].inertia[2, 2], 5_746.1, 1)
    printed(axis['stick'].inertia[2, 2], 45.84, 2)


def test_readings_of_the_spatial_inertia_table():
    literal, point, uniform = (spatial_bodies(reading) for reading in ('literal', 'point', 'uniform'))
    np.testing.assert_allclose(literal['base'].inertia, np.diag((3340, 6683, 9778)), atol=1e-9)
    assert literal['boom'].inertia[2, 2] == 15_500.0  # table 4.2
    assert not point['boom'].second_moment.any()
    assert uniform['cabin'].inertia[1, 1] == pytest.approx(8031 / 12 * (4.0**2 + 2.4**2))
    assert uniform['boom'].inertia[2, 2] == pytest.approx(1830 / 12 * 5.2**2)
    assert log_loader_chain().mass == 17_481.0


@pytest.mark.parametrize(
    ('call', 'message'),
    [
        (lambda: planar_bodies('both'), "inertia: expected 'literal' or 'axis', found 'both'"),
        (lambda: spatial_bodies('axis'), "inertia: expected 'literal', 'point' or 'uniform', found 'axis'"),
        (lambda: planar_rigid_machine('left'), "edge: expected 'rear' or 'front', found 'left'"),
        (lambda: Chain((Row('1', variable='d'),), (), np.zeros(3)), 'expected one for each of the 1 variable rows'),
        (lambda: Body(1.0, (1, 2), np.zeros((3, 3))), r'com: expected shape \(3,\), found \(2,\)'),
        (lambda: mass_matrix(planar_friction_machine(), np.zeros(4)), r'q: expected shape \(5,\), found \(4,\)'),
        (lambda: coriolis_vector(planar_friction_machine(), np.zeros(5), np.zeros(3)), 'qd: expected shape'),
    ],
)
def test_a_wrong_choice_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_a_body_on_a_fixed_row_is_rejected():
    with pytest.raises(KeyError, match="no variable row '1a'"):
        chain_of((Row('1', variable='d'), Row('1a')), {'1a': Body(1.0)}, np.zeros(3))


# ---------------------------------------------------------------------------------------------- reference numbers

SPHERICAL = {'mass': 5.0, 'com_height': 0.3, 'inertia': 2.0, 'axial_inertia': 0.7, 'length': 0.4}
SPHERICAL_STATE = ((0.3, 0.8, -0.5), (1.0, -0.6, 2.0), (0.5, 1.5, -1.0))


def test_spherical_joint_numbers():
    chain = spherical_joint(**SPHERICAL)
    tau = tabulated('abo-shanab-2003/6.2/spherical')
    printed(inverse_dynamics(chain, *SPHERICAL_STATE), tau, 12)
    printed(newton_euler(chain, *SPHERICAL_STATE).torque, tau, 12)
    matrix = mass_matrix(chain, SPHERICAL_STATE[0])
    printed((matrix[0, 0], matrix[0, 2], matrix[1, 1], matrix[2, 2]), tabulated('abo-shanab-2003/6.2/spherical_mass'))


def test_ordinary_tensor_in_the_trace_form_is_wrong():
    """The fault of the source: with the tensor itself M_33 is twice I_3 and not I_3zz."""
    faulty = chain_of(
        spherical_joint(**SPHERICAL).rows, {'3': Body(5.0, (0, 0, 0.3), np.diag((2.0, 2.0, 0.7)))}, (-9.81, 0, 0)
    )
    matrix = mass_matrix(faulty, SPHERICAL_STATE[0])
    assert matrix[2, 2] == pytest.approx(2 * 2.0)
    assert matrix[1, 1] == pytest.approx(2.0 + 0.7 + 5.0 * 0.7**2)


def upper_triangle(rows):
    size = len(rows)
    matrix = np.zeros((size, size))
    for i, row in enumerate(rows):
        matrix[i, i:] = row
    return matrix


PLANAR_STATE = ((0.1, 0.2, -0.05, 0.6, -1.1), (0.1, -0.2, 0.3, -0.4, 0.5), (0.3, 0.1, -0.2, 0.4, 0.6))


@pytest.mark.pins('abo-shanab-2003/6.2/planar_chain')
def test_planar_chain_numbers_without_payload():
    chain = planar_friction_machine()
    q, qd, _ = PLANAR_STATE
    expected = upper_triangle(
        [
            (14518, 0, -18786.872346, -4116.986107, 264.994245),
            (14518, 5519.132505, 7010.807983, 563.844065),
            (196939.824736, 65478.047649, 3463.356760),
            (48590.270561, 2953.505281),
            (1174.16,),
        ]
    )
    printed(np.triu(mass_matrix(chain, q)), expected)
    printed(coriolis_vector(chain, q, qd), (-20.433897, -1321.710486, 308.899188, 90.993578, -136.809604))
    printed(gravity_vector(chain, q), (0, 142421.58, 54142.689871, 68776.026314, 5531.310282))
    torque = (6604.542677, 144590.472646, 38248.708774, 76445.606722, 6723.610118)
    printed(inverse_dynamics(chain, *PLANAR_STATE), torque)
    printed(newton_euler(chain, *PLANAR_STATE).torque, torque)


@pytest.mark.pins('abo-shanab-2003/6.2/planar_chain_payload')
def test_planar_chain_numbers_with_payload():
    chain = planar_friction_machine(payload=5000)
    q, qd, _ = PLANAR_STATE
    matrix = mass_matrix(chain, q)
    indices = ([0, 0, 1, 2, 2, 3, 3, 4], [0, 2, 2, 2, 3, 3, 4, 4])
    printed(
        matrix[indices],
        (19518, -34788.338421, 43222.961499, 532464.952218, 318918.909873, 242446.867527, 40381.803763, 17374.16),
    )
    printed(coriolis_vector(chain, q, qd), (-2177.617949, -1345.360042, 7034.184909, 3783.471477, -2202.659491))
    printed(gravity_vector(chain, q), (0, 191471.58, 424017.252308, 361490.320963, 80800.700334))


@pytest.mark.pins('abo-shanab-2003/6.5/mass_matrix')
def test_mass_matrix_at_the_impact_posture():
    chain = planar_rigid_machine('front', payload=5000)
    matrix = mass_matrix(chain, (0, 0, 0, np.radians(20), np.radians(-60)))
    indices = ([0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 4], [2, 3, 4, 2, 3, 4, 2, 3, 4, 3, 4, 4])
    expected = (
        -27846.226556, -5769.226556, 6130.398717, -4481.202176, 39036.797824, 7412.958495, 418981.662518,
        216688.120508, 26085.352678, 247071.078497, 42693.909248, 17374.16,
    )  # fmt: skip
    printed(matrix[indices], expected)


@pytest.mark.pins('abo-shanab-2003/6.9/dynamics')
def test_spatial_chain_numbers():
    chain = log_loader_chain()
    matrix = mass_matrix(chain, SPATIAL_Q)
    diagonal = (17481, 17481, 17481, 75817.590087, 26589.053598, 79705.543193, 69503.128242, 48021.940591, 1164.16)
    printed(np.diag(matrix), diagonal)
    others = (
        -2940.400003, 7202.543855, 6044.264550, -6129.743604, -25665.842293, -47985.713343, 69432.484741, 2664.340296,
    )  # fmt: skip
    printed(matrix[[0, 0, 1, 2, 3, 3, 5, 7], [3, 7, 3, 4, 4, 7, 6, 8]], others)
    coriolis = (
        -1384.391096, -2886.916446, 1521.224664, -9649.493547, -2191.529181, 13716.841395, 13297.796715, 8833.520244,
        -2534.163666,
    )  # fmt: skip
    printed(coriolis_vector(chain, SPATIAL_Q, SPATIAL_QD), coriolis)
    gravity = (171488.61, 0, 0, -28845.324034, -2315.030698, 1084.089109, -178.804769, 70656.955213, 5041.682916)
    printed(gravity_vector(chain, SPATIAL_Q), gravity)


# ---------------------------------------------------------------------------------------------- properties


@given(SEEDS)
@settings(deadline=None)
@pytest.mark.pins('abo-shanab-2003/6.2/random_chains')
def test_trace_form_equals_newton_euler(seed):
    chain, (q, qd, qdd) = random_chain(seed), random_state(seed)
    witness = newton_euler(chain, q, qd, qdd).torque
    torque = inverse_dynamics(chain, q, qd, qdd)
    assert np.abs(torque - witness).max() <= 1e-12 * np.abs(witness).max()


@pytest.mark.parametrize('reading', ['literal', 'point', 'uniform'])
@pytest.mark.pins('abo-shanab-2003/6.9/agreement')
def test_trace_form_equals_newton_euler_on_the_log_loader(reading):
    chain = log_loader_chain(reading, payload=5100)
    for seed in range(5):
        q, qd, qdd = random_state(seed, 9)
        witness = newton_euler(chain, q, qd, qdd).torque
        assert np.abs(inverse_dynamics(chain, q, qd, qdd) - witness).max() <= 1e-12 * np.abs(witness).max()


@given(SEEDS)
@settings(deadline=None)
def test_operators_differentiate_the_frames(seed):
    chain, (q, _, _) = random_chain(seed), random_state(seed)
    delta = differential_operators(chain, chain.frames(q))
    for i in range(6):
        derivative = complex_step(chain.frames, q, np.eye(6)[i])
        expected = delta[i] @ chain.frames(q)
        expected[: i + 1] = 0.0
        np.testing.assert_allclose(derivative, expected, atol=1e-12 * max(1.0, np.abs(expected).max()))


@given(SEEDS)
@settings(deadline=None, max_examples=30)
def test_mass_matrix_and_coriolis_coefficients(seed):
    chain, (q, qd, _) = random_chain(seed), random_state(seed)
    matrix = mass_matrix(chain, q)
    np.testing.assert_array_equal(matrix, matrix.T)
    assert np.linalg.eigvalsh(matrix)[0] > 0
    slopes = np.array([complex_step(lambda x: mass_matrix(chain, x), q, e) for e in np.eye(6)])  # k, i, j
    christoffel = 0.5 * (slopes.transpose(1, 2, 0) + slopes.transpose(1, 0, 2) - slopes)
    scale = 1e-12 * max(1.0, np.abs(christoffel).max())
    # C_ijk = (dM_ij/dq_k + dM_ik/dq_j - dM_jk/dq_i) / 2
    np.testing.assert_allclose(coriolis_coefficients(chain, q), christoffel, atol=scale)
    rate = np.einsum('kij,k->ij', slopes, qd)
    turning = rate - 2 * coriolis_matrix(chain, q, qd)
    np.testing.assert_allclose(turning + turning.T, 0, atol=10 * scale * np.abs(qd).max() * 6)


@given(SEEDS)
@settings(deadline=None, max_examples=30)
def test_gravity_is_the_slope_of_the_potential_energy(seed):
    chain, (q, _, _) = random_chain(seed), random_state(seed)

    def potential(x):
        return -chain.mass * chain.gravity @ chain.com(x)

    slopes = [complex_step(potential, q, e) for e in np.eye(6)]
    np.testing.assert_allclose(gravity_vector(chain, q), slopes, rtol=1e-11, atol=1e-11)


def test_forward_dynamics_undoes_inverse_dynamics():
    chain = planar_friction_machine(payload=3000)
    q, qd, qdd = PLANAR_STATE
    torque = inverse_dynamics(chain, q, qd, qdd)
    np.testing.assert_allclose(forward_dynamics(chain, q, qd, torque), qdd, rtol=1e-10)


def test_printed_coriolis_rule_is_faulty():
    """The fault of the source in (3.6): Delta_j without its transpose changes 3 of the 8 coefficients i < k."""
    chain, q = spherical_joint(**SPHERICAL), SPHERICAL_STATE[0]
    frames = chain.frames(q)
    delta, distal = differential_operators(chain, frames), distal_link_matrices(chain, frames)
    right = coriolis_coefficients(chain, q)
    triples = [(i, j, k) for k in range(3) for i in range(k) for j in range(k + 1)]
    assert len(triples) == 8
    faulty = [np.trace(delta[i] @ distal[k] @ delta[k].T @ delta[j]) for i, j, k in triples]
    differs = [abs(value - right[triple]) > 1e-9 for value, triple in zip(faulty, triples)]
    assert sum(differs) == 3


def test_narrow_third_rule_leaves_coefficients_undefined():
    """The fault of the source in (7.4): with j < i alone, the nonzero c_kii for k > i would be missing."""
    chain, (q, _, _) = random_chain(1), random_state(1)
    coefficients = coriolis_coefficients(chain, q)
    assert abs(coefficients[3, 1, 1]) > 1e-6
    assert coefficients[3, 1, 1] == -coefficients[1, 1, 3]


def test_a_virtual_link_that_carries_nothing_has_no_forward_dynamics():
    rows = (*spherical_joint(**SPHERICAL).rows, Row('4', variable='theta'))
    chain = chain_of(rows, {'3': Body(5.0)}, (-9.81, 0, 0))
    with pytest.raises(np.linalg.LinAlgError):
        forward_dynamics(chain, (0.3, 0.8, 0.1, 0.2), np.zeros(4), np.zeros(4))
