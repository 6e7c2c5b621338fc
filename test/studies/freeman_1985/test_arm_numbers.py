"""Arms of freeman-1985: kinematics to third order, dynamics and hand coordinates (spec 7.1, 7.2, 7.5)."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from printed_numbers import matches, symmetric, upper
from scipy.integrate import solve_ivp

from dyn_nodes.multibody import Frame
from dyn_nodes.multibody.influence import TreeCoefficients, serial_model
from dyn_nodes.studies.freeman_1985 import arms, integration
from dyn_nodes.studies.freeman_1985.arms import A3_GRAVITY, A3_Q, A6_A, A6_JERK, A6_Q, A6_V, arm_a3, arm_a6

DIGITS = 1e-7


@cache
def a6(kinds='RRRRRR'):
    tree = arm_a6(kinds)
    return tree, TreeCoefficients(tree).at(A6_Q)


@cache
def a3():
    tree = arm_a3()
    return tree, TreeCoefficients(tree).at(A3_Q)


@pytest.mark.pins('freeman-1985/7.1/R6', 'freeman-1985/7.1/P', 'freeman-1985/7.1/T6')
def test_arm_a6_stands_where_it_should():
    tree, here = a6()
    wrist, tool = tree.frame('joint_6'), tree.frame('tool')
    matches('7.1/R6', 'arm A6: origin of frame 6, m', here.pose(wrist)[1], [0.43481395, 0.26941074, 1.37585571], DIGITS)
    matches('7.1/P', 'arm A6: tool point, m', here.pose(tool)[1], [0.43539542, 0.22029848, 1.49112777], DIGITS)
    matches('7.1/T6', 'arm A6: rotation of link 6, by rows', here.pose(wrist)[0],
            [[0.53440301, -0.80338472, -0.26265264], [0.65354025, 0.58980930, -0.47435233],
             [0.53600238, 0.08184124, 0.84024012]], DIGITS)  # fmt: skip


@pytest.mark.pins('freeman-1985/7.1/G_point', 'freeman-1985/7.1/G_rotation')
def test_first_order_coefficients_of_arm_a6():
    tree, here = a6()
    tool = tree.frame('tool')
    matches('7.1/G_point', 'arm A6: G of the tool point, by rows, m', here.point(tool).G,
            [[-0.22029848, 0.79362455, 0.52787555, 0.08864958, 0.12937890, -0.01341348],
             [0.43539542, 0.24549684, 0.16329104, -0.07367839, 0.10820048, 0.03076508],
             [0, -0.48105178, -0.15079293, -0.02660077, 0.06180552, 0.01317528]], DIGITS)  # fmt: skip
    matches('7.1/G_rotation', 'arm A6: G of the hand, by rows', here.rotation(tool).G,
            [[0, -0.29552021, -0.29552021, 0.37202555, -0.68120102, -0.26265264],
             [0, 0.95533649, 0.95533649, 0.11508099, 0.70789078, -0.47435233],
             [1, 0, 0, 0.92106099, 0.18669710, 0.84024012]], DIGITS)  # fmt: skip


@pytest.mark.pins('freeman-1985/7.1/h_point', 'freeman-1985/7.1/h_rotation', 'freeman-1985/7.1/asymmetry')
def test_second_order_coefficients_of_arm_a6():
    tree, here = a6()
    H, Hr = here.point(tree.frame('tool')).H, here.rotation(tree.frame('tool')).H
    found = [H[:, 0, 1], H[:, 1, 2], H[:, 4, 4], H[:, 1, 5]]
    matches('7.1/h_point', 'arm A6: h of the tool point: 12, 23, 55, 26, m', found,
            [[-0.24549684, 0.79362455, 0], [-0.14405799, -0.04456236, -0.55255457],
             [0.02355084, 0.06625665, -0.16529241], [0.01258683, 0.00389356, 0.00372268]], DIGITS)  # fmt: skip
    matches('7.1/h_rotation', 'arm A6: h of the hand: 12, 21, 26', [Hr[:, 0, 1], Hr[:, 1, 0], Hr[:, 1, 5]],
            [[-0.95533649, -0.29552021, 0], [0, 0, 0], [0.80271204, 0.24830793, 0.39110235]], DIGITS)  # fmt: skip
    asymmetry = [np.abs(part - np.swapaxes(part, 1, 2)).max() for part in (Hr, H)]
    matches('7.1/asymmetry', 'arm A6: asymmetry of H of hand and of tool point', asymmetry, [0.955, 0], 5e-4)


@pytest.mark.pins('freeman-1985/7.1/d_point', 'freeman-1985/7.1/d_rotation')
def test_third_order_coefficients_of_arm_a6():
    tree, here = a6()
    D, Dr = here.point(tree.frame('tool')).D, here.rotation(tree.frame('tool')).D
    found = [D[:, 0, 1, 2], D[:, 2, 1, 0], D[:, 1, 4, 5]]
    matches('7.1/d_point', 'arm A6: d of the tool point: 123, 321, 256, m', found,
            [[0.04456236, -0.14405799, 0], [0.04456236, -0.14405799, 0], [-0.01095000, -0.00338723, -0.00533513]],
            DIGITS)  # fmt: skip
    found = [Dr[:, 1, 4, 5], Dr[:, 4, 1, 5], Dr[:, 1, 5, 4], Dr[:, 0, 1, 2]]
    matches('7.1/d_rotation', 'arm A6: d of the hand: 256, 526, 265, 123', found,
            [[0.48632233, 0.15043713, -0.80749360], [0.48632233, 0.15043713, -0.80749360], [0, 0, 0], [0, 0, 0]],
            DIGITS)  # fmt: skip


@pytest.mark.pins('freeman-1985/7.1/P_rates', 'freeman-1985/7.1/hand_rates')
def test_velocity_acceleration_and_jerk_of_arm_a6():
    tree, here = a6()
    point, hand = here.point(tree.frame('tool')), here.rotation(tree.frame('tool'))
    rates = [point.velocity(A6_V), point.acceleration(A6_V, A6_A), point.jerk(A6_V, A6_A, A6_JERK)]
    matches('7.1/P_rates', 'arm A6: velocity, acceleration, jerk of the tool point', rates,
            [[-0.06943922, 0.21774766, 0.07838209], [-0.34750741, 0.41434587, -0.19056342],
             [0.02955549, -0.47795854, -0.00857340]], DIGITS)  # fmt: skip
    rates = [hand.velocity(A6_V), hand.acceleration(A6_V, A6_A), hand.jerk(A6_V, A6_A, A6_JERK)]
    matches('7.1/hand_rates', 'arm A6: angular velocity, acceleration, jerk of the hand', rates,
            [[-0.07719557, -0.24737001, 1.49519498], [0.30094502, 0.15098259, 0.93659212],
             [0.87547886, -0.09744326, 0.86498388]], DIGITS)  # fmt: skip


@pytest.mark.pins('freeman-1985/7.1/slide_P', 'freeman-1985/7.1/slide_g', 'freeman-1985/7.1/slide_h')
def test_a_slide_in_arm_a6():
    tree, here = a6('RRPRRR')
    tool = tree.frame('tool')
    point = here.point(tool)
    matches('7.1/slide_P', 'arm RRPRRR: tool point, m', here.pose(tool)[1],
            [-0.52635593, 1.38814149, 1.32182086], DIGITS)  # fmt: skip
    matches('7.1/slide_g', 'arm RRPRRR: column 3 of G', point.G[:, 2], [-0.29552021, 0.95533649, 0], DIGITS)
    matches('7.1/slide_h', 'arm RRPRRR: h 13, 33, 34', [point.H[:, 0, 2], point.H[:, 2, 2], point.H[:, 2, 3]],
            [[-0.95533649, -0.29552021, 0], [0, 0, 0], [0, 0, 0]], DIGITS)  # fmt: skip


@pytest.mark.pins('freeman-1985/7.2/inertia', 'freeman-1985/7.2/eigenvalues', 'freeman-1985/7.2/energy')
def test_inertia_of_arm_a6():
    own = serial_model(a6()[1])
    matches('7.2/inertia', 'arm A6: I*, upper triangle, kg m2', upper(own.inertia),
            [2.73340208, -0.77537234, -0.11731505, -0.00186569, 0.00103243, 0.00054586,
             3.39909943, 0.67723689, -0.00592538, 0.00558524, -0.00051034,
             0.33745253, -0.00236192, 0.00468118, -0.00031830,
             0.00381724, 0.00009797, -0.00000269, 0.00266904, -0.00000738, 0.00010500], DIGITS)  # fmt: skip
    matches('7.2/eigenvalues', 'arm A6: least and greatest eigenvalue of I*',
            np.linalg.eigvalsh(own.inertia)[[0, -1]], [0.000105, 4.019122], 1e-6)  # fmt: skip
    matches('7.2/energy', 'arm A6: kinetic energy, J', own.kinetic_energy(A6_V), 0.6207815939, 1e-9)


@pytest.mark.pins('freeman-1985/7.2/power_1', 'freeman-1985/7.2/raw_1', 'freeman-1985/7.2/power_3')
def test_inertia_power_of_arm_a6():
    own = serial_model(a6()[1])
    planes = symmetric(own.power)
    matches('7.2/power_1', 'arm A6: symmetric part of plane 1 of P*: row 1, row 2 from (2,2) on',
            [*planes[0, 0], *planes[0, 1, 1:]],
            [0, 1.56895062, 0.36944096, -0.00568713, 0.00375834, -0.00020282,
             0.87270531, 0.06036348, -0.00109091, -0.00016279, 0.00000806], DIGITS)  # fmt: skip
    matches('7.2/raw_1', 'arm A6: plane 1 of P* as it is, (1,2) and (2,1)', [own.power[0, 0, 1], own.power[0, 1, 0]],
            [1.791160, 1.346741], 1e-6)  # fmt: skip
    matches('7.2/power_3', 'arm A6: symmetric part of plane 3 of P*: (1,1), (2,2), (1,4), (4,4)',
            [planes[2, 0, 0], planes[2, 1, 1], planes[2, 0, 3], planes[2, 3, 3]],
            [-0.36944096, -0.13911359, 0.00613963, 0.00575738], DIGITS)  # fmt: skip


@pytest.mark.pins(
    'freeman-1985/7.2/velocity_load', 'freeman-1985/7.2/bare', 'freeman-1985/7.2/tool_load',
    'freeman-1985/7.2/gravity', 'freeman-1985/7.2/all_loads',
)  # fmt: skip
def test_loads_of_arm_a6():
    tree, here = a6()
    hand = here.frame(tree.frame('tool'))
    tool = [*arms.A6_FORCE, *arms.A6_MOMENT]
    bare, heavy = serial_model(here), serial_model(here, arms.A6_GRAVITY)
    matches('7.2/velocity_load', 'arm A6: v P* v, N m', bare.velocity_load(A6_V),
            [-0.23744024, -0.39942257, -0.11280437, 0.00165257, -0.00139786, 0.00007866], DIGITS)  # fmt: skip
    matches('7.2/bare', 'arm A6: efforts without loads, N m', bare.effort(A6_V, A6_A),
            [2.20221027, -0.01471554, -0.15903119, -0.00046324, 0.00030547, 0.00058752], DIGITS)  # fmt: skip
    matches('7.2/tool_load', 'arm A6: efforts with the tool load, N m',
            bare.with_load(hand, tool).effort(A6_V, A6_A),
            [5.78217217, 3.33191990, -1.17111183, -1.61167300, -1.58498141, -0.65812942], DIGITS)  # fmt: skip
    matches('7.2/gravity', 'arm A6: load of gravity, N m', heavy.load,
            [0, 48.70836841, 3.86815659, -0.03537497, -0.03836450, -0.00080286], DIGITS)  # fmt: skip
    matches('7.2/all_loads', 'arm A6: efforts with tool load and gravity, N m',
            heavy.with_load(hand, tool).effort(A6_V, A6_A),
            [5.78217217, -45.37644851, -5.03926842, -1.57629803, -1.54661691, -0.65732656], DIGITS)  # fmt: skip


@pytest.mark.pins(
    'freeman-1985/7.2/hand_determinant', 'freeman-1985/7.2/hand_inertia', 'freeman-1985/7.2/hand_velocity_load',
    'freeman-1985/7.2/hand_effort', 'freeman-1985/7.2/hand_condition',
)  # fmt: skip
def test_arm_a6_in_hand_coordinates():
    tree, here = a6()
    hand = here.frame(tree.frame('tool'))
    joints, own = hand.inverse(), serial_model(here)
    there, rates = own.by(joints), hand.velocity(A6_V)
    matches('7.2/hand_determinant', 'arm A6: determinant of G of the hand', np.linalg.det(hand.G), -0.03109338, DIGITS)
    matches('7.2/hand_condition', 'arm A6: condition of G of the hand', hand.condition, 28.3, 0.05)
    matches('7.2/hand_inertia', 'arm A6: diagonal of I* in hand coordinates', np.diag(there.inertia),
            [9.74829418, 15.99030537, 53.28435247, 1.20552314, 0.36135569, 0.05031159], DIGITS)  # fmt: skip
    matches('7.2/hand_velocity_load', 'arm A6: velocity load in hand coordinates', there.velocity_load(rates),
            [3.0404465, 1.384434, 7.15404848, 0.76822829, -0.59575686, -0.21056278], DIGITS)  # fmt: skip
    accelerations = hand.acceleration(A6_V, A6_A)
    matches('7.2/hand_effort', 'arm A6: load in hand coordinates', there.effort(rates, accelerations),
            [-2.15795106, 3.47598005, -1.30819589, 0.46530614, 0.36923396, 0.21339114], DIGITS)  # fmt: skip
    assert hand.G.T @ there.effort(rates, accelerations) == pytest.approx(own.effort(A6_V, A6_A), abs=1e-13)
    assert joints.acceleration(rates, accelerations) == pytest.approx(A6_A, abs=1e-12)
    jerk = hand.jerk(A6_V, A6_A, A6_JERK)
    assert joints.jerk(rates, accelerations, jerk) == pytest.approx(A6_JERK, abs=1e-12)


@pytest.mark.pins(
    'freeman-1985/7.5/P', 'freeman-1985/7.5/G', 'freeman-1985/7.5/H1', 'freeman-1985/7.5/H2', 'freeman-1985/7.5/H3',
    'freeman-1985/7.5/accelerations',
)  # fmt: skip
def test_direct_transfer_of_the_wrist_partitioned_arm():
    tree, here = a3()
    wrist = here.point(tree.frame('wrist'))
    joints = wrist.inverse()
    matches('7.5/P', 'arm A3: wrist, in', here.pose(tree.frame('wrist'))[1], [11.724532, 9.875437, 18.740442], 1e-6)
    matches('7.5/G', 'arm A3: G of the wrist, in', wrist.G,
            [[-9.875437, 0.963363, 3.941799], [11.724532, 0.811430, 3.320131], [0, 15.329347, 6.118737]],
            1e-6)  # fmt: skip
    matches('7.5/H1', 'arm A3: H of joint 1 by the wrist', joints.H[0],
            [[0.004194, -0.000723, 0], [-0.000723, -0.004194, 0], [0, 0, 0]], 1e-6)  # fmt: skip
    matches('7.5/H2', 'arm A3: H of joint 2 by the wrist', joints.H[1],
            [[-0.013280, -0.006470, -0.002430], [-0.006470, -0.011048, -0.002046], [-0.002430, -0.002046, -0.005337]],
            1e-6)  # fmt: skip
    matches('7.5/H3', 'arm A3: H of joint 3 by the wrist', joints.H[2],
            [[0.027790, 0.011593, -0.001479], [0.011593, 0.023791, -0.001245], [-0.001479, -0.001245, 0.014185]],
            1e-6)  # fmt: skip
    found = joints.acceleration([1, 2, -0.5], [0.3, -0.4, 0.2])
    matches('7.5/accelerations', 'arm A3: joint accelerations', found, [-0.048039, -0.061286, 0.167238], 1e-6)


def test_closed_forms_of_the_wrist_partitioned_arm():
    """(B-6), the planes of H^P, (B-8) and (B-15)."""
    tree, here = a3()
    wrist = here.point(tree.frame('wrist'))
    one, two, three = A3_Q
    c1, s1, c23, s23, s3 = np.cos(one), np.sin(one), np.cos(two + three), np.sin(two + three), np.sin(three)
    p, r, S, C = 10 * np.sin(two) + 8 * s23, 10 * np.cos(two) + 8 * c23, 8 * s23, 8 * c23
    inverse = np.array([
        [-s1 / r, c1 / r, 0],
        [c1 * c23 / (10 * s3), s1 * c23 / (10 * s3), s23 / (10 * s3)],
        [-r * c1 / (80 * s3), -r * s1 / (80 * s3), -p / (80 * s3)],
    ])  # fmt: skip
    planes = np.array([
        [[-r * c1, p * s1, S * s1], [p * s1, -r * c1, -C * c1], [S * s1, -C * c1, -C * c1]],
        [[-r * s1, -p * c1, -S * c1], [-p * c1, -r * s1, -C * s1], [-S * c1, -C * s1, -C * s1]],
        [[0, 0, 0], [0, -p, -S], [0, -S, -S]],
    ])  # fmt: skip
    assert pytest.approx(inverse, abs=1e-15) == wrist.inverse().G
    assert pytest.approx(planes, abs=1e-13) == wrist.H
    double = np.array([[np.sin(2 * one), -np.cos(2 * one), 0], [-np.cos(2 * one), -np.sin(2 * one), 0], [0, 0, 0]])
    assert wrist.inverse().H[0] == pytest.approx(double / r**2, abs=1e-16)
    v, a = np.array([1, 2, -0.5]), np.array([0.3, -0.4, 0.2])
    turned = (a[1] * c1 - a[0] * s1) / r - 2 / r**2 * (v[0] * c1 + v[1] * s1) * (v[1] * c1 - v[0] * s1)
    assert wrist.inverse().acceleration(v, a)[0] == pytest.approx(turned, abs=1e-15)


@pytest.mark.pins('freeman-1985/7.5/inertia', 'freeman-1985/7.5/load', 'freeman-1985/7.5/effort')
def test_dynamics_of_the_wrist_partitioned_arm():
    own = serial_model(a3()[1], A3_GRAVITY)
    matches('7.5/inertia', 'arm A3: I*, in lbf s2', own.inertia,
            [[6.434102, 0, 0], [0, 6.398631, 1.184315], [0, 1.184315, 0.640000]], 1e-6)  # fmt: skip
    matches('7.5/load', 'arm A3: load of gravity, in lbf', own.load, [0, -231.208085, -35.464203], 1e-6)
    matches('7.5/effort', 'arm A3: efforts, in lbf', own.effort([1, -2, 3], [5, 4, -3]),
            [42.316477, 251.044127, 32.981215], 1e-6)  # fmt: skip


@pytest.mark.pins('freeman-1985/7.5/fall', 'freeman-1985/7.5/fall_rates', 'freeman-1985/7.5/fall_energy')
def test_the_wrist_partitioned_arm_falls_for_a_second():
    tree = arm_a3()
    model = TreeCoefficients(tree)

    def rate(_, state):
        own = serial_model(model.at(state[:3], 2), A3_GRAVITY)
        return np.r_[state[3:], own.acceleration(state[3:], np.zeros(3))]

    def energy(state):
        here = model.at(state[:3], 2)
        height = sum(body.mass * here.pose(Frame(k, np.eye(3), body.com))[1][2] for k, body in enumerate(tree.bodies))
        return serial_model(here).kinetic_energy(state[3:]) + 386.4 * height

    start = np.r_[A3_Q, 1.0, -2.0, 3.0]
    end = solve_ivp(rate, (0, 1), start, 'DOP853', rtol=1e-10, atol=1e-11).y[:, -1]
    matches('7.5/fall', 'arm A3: joints after a free fall of 1 s', end[:3], [3.363531, -1.281769, 0.117237], 1e-6)
    matches('7.5/fall_rates', 'arm A3: rates after the fall', end[3:], [5.469041, 3.665169, 18.927061], 1e-6)
    matches('7.5/fall_energy', 'arm A3: energy before and after, in lbf', [energy(start), energy(end)],
            [682.916521, 682.916521], 1e-6)  # fmt: skip


@pytest.mark.pins(
    'freeman-1985/7.5/rk4_errors', 'freeman-1985/7.5/rk45_evaluations', 'freeman-1985/7.5/rk45_errors',
    'freeman-1985/7.5/adams_evaluations', 'freeman-1985/7.5/adams_errors', 'freeman-1985/7.5/equal_error',
)  # fmt: skip
def test_integrators_of_the_fall():
    """The Adams rows are those of VODE, the reference code; ours needs no more and is more accurate."""
    fixed = [integration.fixed(steps) for steps in integration.STEPS]
    assert [fall.evaluations for fall in fixed] == [800, 1600, 3200]
    matches('7.5/rk4_errors', 'arm A3: error of RK4 after the fall, 800, 1600, 3200 evaluations, units of 1e-7',
            [fall.error * 1e7 for fall in fixed], [1.3e3, 8.2e1, 5.0], [50, 0.5, 0.05])  # fmt: skip
    pair = [integration.peer('RK45', tolerance) for tolerance in integration.TOLERANCES]
    matches('7.5/rk45_evaluations', 'arm A3: evaluations of RK45, tolerances 1e-5, 1e-7, 1e-9',
            [fall.evaluations for fall in pair], [386, 788, 1580], 0)  # fmt: skip
    matches('7.5/rk45_errors', 'arm A3: errors of RK45, units of 1e-8', [fall.error * 1e8 for fall in pair],
            [4.4e5, 6.5e2, 5.9], [5e3, 5, 0.05])  # fmt: skip
    vode = [integration.peer('VODE', tolerance) for tolerance in integration.TOLERANCES]
    matches('7.5/adams_evaluations', 'arm A3: evaluations of VODE, Adams, the same tolerances',
            [fall.evaluations for fall in vode], [306, 576, 927], 0)  # fmt: skip
    matches('7.5/adams_errors', 'arm A3: errors of VODE, units of 1e-7', [fall.error * 1e7 for fall in vode],
            [1.9e4, 2.1e2, 3.3], [500, 5, 0.05])  # fmt: skip
    matches('7.5/equal_error', 'arm A3: evaluations for an error of 3e-7: VODE, RK45, RK4',
            [integration.evaluations_at(falls) for falls in (vode, pair, fixed)],
            [930, 1250, 3600], [10, 15, 40])  # fmt: skip
    own = [integration.adaptive('adams', tolerance) for tolerance in integration.TOLERANCES]
    assert [fall.evaluations for fall in own] == pytest.approx([320, 511, 739], rel=0.02)
    for ours, other in zip(own, vode):
        assert ours.error <= other.error
        assert ours.evaluations <= 1.05 * other.evaluations
