"""Parallel, hybrid, redundant and over-actuated machines of freeman-1985 (spec 7.9 to 7.14, tables E-1 and E-2)."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from printed_numbers import matches, upper

from dyn_nodes.multibody.influence import Coefficients, TransferredModel, serial_model
from dyn_nodes.studies.formulations.transfer import LoadDistribution, RedundantMotion, minimum_energy_inverse
from dyn_nodes.studies.formulations.transfer.parallel import PLANE
from dyn_nodes.studies.freeman_1985.machines import (
    hybrid_device,
    redundant_device,
    stewart,
    three_leg,
    two_finger_hand,
    walker,
)

SIX = 1e-6
SEVEN = 1e-7
MAKE = {
    'three-leg': three_leg,
    'stewart': stewart,
    'hybrid': hybrid_device,
    'redundant': redundant_device,
    'hand': two_finger_hand,
    'walker': walker,
}


@cache
def machine(name):
    """Mechanism, its legs at the platform, inputs by the platform."""
    own = MAKE[name]()
    parallel = own.parallel()
    return own, parallel, parallel.inputs(own.actuated)


def leg_one(parallel):
    return parallel.joints.rows(parallel.legs[0].joints)


@pytest.mark.pins(
    'freeman-1985/7.9/angles', 'freeman-1985/7.9/G_leg', 'freeman-1985/7.9/joints', 'freeman-1985/7.9/G_q'
)  # fmt: skip
def test_exact_geometry_of_the_three_leg_device():
    own, parallel, inputs = machine('three-leg')
    matches('7.9/angles', 'three-leg: joints of leg 1, deg', np.degrees(own.q[:3]),
            [79.4712206, -98.9424413, 49.4712206], SEVEN)  # fmt: skip
    end = own.position.frame(own.end).rows(PLANE).columns(own.legs[0].joints)
    matches('7.9/G_leg', 'three-leg: G of the platform by leg 1', end.G,
            [[-1.4747449, 0, -0.5], [2.5543330, 2.2802390, 0.8660254], [1, 1, 1]], SEVEN)  # fmt: skip
    matches('7.9/joints', 'three-leg: joints of leg 1 by the platform', leg_one(parallel).G,
            [[-0.6362733, 0.2249566, -0.5129547], [0.7595918, 0.4385505, 0], [-0.1233185, -0.6635071, 1.5129547]],
            SEVEN)  # fmt: skip
    matches('7.9/G_q', 'three-leg: base joints by the platform', inputs.G,
            [[-0.6362733, 0.2249566, -0.5129547], [0.1233185, -0.6635071, -0.5129547],
             [0.5129547, 0.4385505, -0.5129547]], SEVEN)  # fmt: skip


@pytest.mark.pins(
    'freeman-1985/7.9/inertia', 'freeman-1985/7.9/power_1', 'freeman-1985/7.9/power_2', 'freeman-1985/7.9/power_3',
    'freeman-1985/7.9/final', 'freeman-1985/7.9/determinant', 'freeman-1985/7.9/condition',
)  # fmt: skip
def test_model_of_the_three_leg_device():
    own, parallel, inputs = machine('three-leg')
    model = parallel.model
    matches('7.9/inertia', 'three-leg: I* at the platform, upper triangle', upper(model.inertia),
            [1.2246263, 0.3680904, -0.5895019, 1.5080685, -0.1095640, 1.5787354], SEVEN)  # fmt: skip
    matches('7.9/power_1', 'three-leg: P* at the platform, plane 1', upper(model.power[0]),
            [-0.4774035, 0.4330308, 0.1888137, 0.0299101, -0.6281779, -0.7625209], SEVEN)  # fmt: skip
    matches('7.9/power_2', 'three-leg: P* at the platform, plane 2', upper(model.power[1]),
            [0.2555713, 0.5318413, 0.7735709, -0.3387418, -0.1888137, -0.1417211], SEVEN)  # fmt: skip
    matches('7.9/power_3', 'three-leg: P* at the platform, plane 3', upper(model.power[2]),
            [0.7393855, -0.1890109, -0.0562014, 0.4590392, 0.3023878, 2.0420947], SEVEN)  # fmt: skip
    final = parallel.actuated(own.actuated)
    matches('7.9/final', 'three-leg: I* and greatest element of P* by the base joints',
            [*upper(final.inertia), np.abs(final.power).max()], [1, 0, 0, 2, 0, 3, 0], 1e-12)  # fmt: skip
    found = np.linalg.det(inputs.G)
    matches('7.9/determinant', 'three-leg: determinant of G of the base joints', found, -0.606975, SIX)
    matches('7.9/condition', 'three-leg: its condition', inputs.condition, 1.075, 5e-4)


VECTORS = {
    1: [(2.55, 1.475), (2.28, 0.0), (0.866, 0.5)],
    2: [(-2.55, 1.475), (-1.14, 1.975), (-0.866, 0.5)],
    3: [(0.0, -2.95), (-1.14, -1.975), (0.0, -1.0)],
}
"""From the joints of each leg to the platform's centre, as the source rounded them."""
TABLE = 0.003


def rounded_leg(r):
    """Motion of the platform by leg r, from the rounded vectors of table E-1."""
    arms = np.array(VECTORS[r])
    G = np.vstack([-arms[:, 1], arms[:, 0], np.ones(3)])
    last = np.maximum.outer(np.arange(3), np.arange(3))
    H = np.stack([-arms[last, 0], -arms[last, 1], np.zeros((3, 3))])
    return Coefficients(PLANE, ('1', '2', '3'), G, H)


def rounded_model(r):
    """Model of leg r at the platform: its base link alone has inertia, r."""
    own = TransferredModel(('1', '2', '3'), np.diag([float(r), 0, 0]), np.zeros((3, 3, 3)), np.zeros(3))
    return own.by(rounded_leg(r).inverse())


@pytest.mark.pins(
    'freeman-1985/E-1/G', 'freeman-1985/E-1/H_x', 'freeman-1985/E-1/H_y', 'freeman-1985/E-1/H_angle',
    'freeman-1985/E-1/open_inertia', 'freeman-1985/E-1/joints', 'freeman-1985/E-1/H_1', 'freeman-1985/E-1/H_2',
    'freeman-1985/E-1/H_3', 'freeman-1985/E-1/inertia', 'freeman-1985/E-1/power_1', 'freeman-1985/E-1/power_2',
    'freeman-1985/E-1/power_3',
)  # fmt: skip
def test_table_e_1_leg_one():
    """Corrected: (1,3) of plane 2 of P* is +0.026. From the rounded vectors, and from the exact geometry to 0.01."""
    leg, joints, model = rounded_leg(1), rounded_leg(1).inverse(), rounded_model(1)
    matches('E-1/G', 'table E-1: G of the platform by leg 1', leg.G,
            [[-1.475, 0, -0.5], [2.55, 2.28, 0.866], [1, 1, 1]], TABLE)  # fmt: skip
    own, parallel, _ = machine('three-leg')
    exact = own.position.frame(own.end).rows(PLANE).columns(own.legs[0].joints)
    for H, close in ((leg.H, TABLE), (exact.H, 0.005)):  # 2.55 and 2.28 are 2.5543 and 2.2802, cut off
        matches('E-1/H_x', 'table E-1: H of x', H[0],
                [[-2.55, -2.28, -0.866], [-2.28, -2.28, -0.866], [-0.866, -0.866, -0.866]], close)  # fmt: skip
        matches('E-1/H_y', 'table E-1: H of y', H[1],
                [[-1.475, 0, -0.5], [0, 0, -0.5], [-0.5, -0.5, -0.5]], TABLE)  # fmt: skip
        matches('E-1/H_angle', 'table E-1: H of the angle, a plane of zeros', np.abs(H[2]).max(), 0, 1e-12)
    matches('E-1/open_inertia', 'table E-1: diagonal of I* of leg 1, open', open_inertia(own), [1, 0, 0], 1e-12)
    matches('E-1/joints', 'table E-1: joints of leg 1 by the platform', joints.G,
            [[-0.637, 0.225, -0.513], [0.758, 0.439, -0.001], [-0.122, -0.664, 1.514]], TABLE)  # fmt: skip
    matches('E-1/H_1', 'table E-1: H of joint 1, upper triangle', upper(joints.H[0]),
            [0.050, -0.105, 0.116, -0.439, 0.328, -0.665], TABLE)  # fmt: skip
    matches('E-1/H_2', 'table E-1: H of joint 2, upper triangle', upper(joints.H[1]),
            [0.358, -0.053, 0.225, 0.419, -0.390, 1.327], TABLE)  # fmt: skip
    matches('E-1/H_3', 'table E-1: H of joint 3, upper triangle', upper(joints.H[2]),
            [-0.408, 0.158, -0.341, 0.019, 0.062, -0.662], TABLE)  # fmt: skip
    matches('E-1/inertia', 'table E-1: I* of leg 1 at the platform', upper(model.inertia),
            [0.405, -0.143, 0.327, 0.051, -0.116, 0.264], TABLE)  # fmt: skip
    matches('E-1/power_1', 'table E-1: P* of leg 1, plane 1', upper(model.power[0]),
            [-0.032, 0.067, -0.074, 0.280, -0.209, 0.423], TABLE)  # fmt: skip
    matches('E-1/power_2', 'table E-1: P* of leg 1, plane 2', upper(model.power[1]),
            [0.011, -0.024, 0.026, -0.099, 0.074, -0.150], TABLE)  # fmt: skip
    matches('E-1/power_3', 'table E-1: P* of leg 1, plane 3', upper(model.power[2]),
            [-0.026, 0.054, -0.059, 0.225, -0.168, 0.341], TABLE)  # fmt: skip
    assert pytest.approx(joints.H, abs=0.01) == leg_one(parallel).H


def open_inertia(own):
    model = serial_model(own.position, bodies=range(3)).columns(own.legs[0].joints)
    assert np.abs(model.power).max() == 0.0
    return np.diag(model.inertia)


@pytest.mark.pins(
    'freeman-1985/E-2/G_q', 'freeman-1985/E-2/inertia', 'freeman-1985/E-2/H_1', 'freeman-1985/E-2/H_2',
    'freeman-1985/E-2/H_3', 'freeman-1985/E-2/power_1', 'freeman-1985/E-2/power_2', 'freeman-1985/E-2/power_3',
    'freeman-1985/E-2/final',
)  # fmt: skip
def test_table_e_2_the_system():
    """Corrected: (1,2) of H 1 is -0.105, (2,3) of H 2 is -0.063, (1,1) of H 3 is -0.225."""
    first = [rounded_leg(r).inverse().rows(['1']).renamed([f'leg_{r}']) for r in VECTORS]
    inputs = Coefficients.stacked(first)
    model = rounded_model(1) + rounded_model(2) + rounded_model(3)
    matches('E-2/G_q', 'table E-2: base joints by the platform', inputs.G,
            [[-0.637, 0.225, -0.513], [0.124, -0.665, -0.514], [0.513, 0.439, -0.513]], TABLE)  # fmt: skip
    matches('E-2/inertia', 'table E-2: I* at the platform, upper triangle', upper(model.inertia),
            [1.225, 0.367, -0.589, 1.513, -0.106, 1.582], TABLE)  # fmt: skip
    matches('E-2/H_1', 'table E-2: H of base joint 1, upper triangle', upper(inputs.H[0]),
            [0.050, -0.105, 0.116, -0.439, 0.326, -0.665], TABLE)  # fmt: skip
    matches('E-2/H_2', 'table E-2: H of base joint 2, upper triangle', upper(inputs.H[1]),
            [-0.408, -0.159, -0.342, 0.018, -0.063, -0.665], TABLE)  # fmt: skip
    matches('E-2/H_3', 'table E-2: H of base joint 3, upper triangle', upper(inputs.H[2]),
            [-0.225, 0.263, 0.225, -0.165, -0.263, -0.664], TABLE)  # fmt: skip
    matches('E-2/power_1', 'table E-2: P* at the platform, plane 1', upper(model.power[0]),
            [-0.479, 0.432, 0.188, 0.031, -0.629, -0.762], TABLE)  # fmt: skip
    matches('E-2/power_2', 'table E-2: P* at the platform, plane 2', upper(model.power[1]),
            [0.259, 0.534, 0.777, -0.340, -0.188, -0.137], TABLE)  # fmt: skip
    matches('E-2/power_3', 'table E-2: P* at the platform, plane 3', upper(model.power[2]),
            [0.741, -0.188, -0.054, 0.459, 0.302, 2.045], TABLE)  # fmt: skip
    final = model.by(inputs.inverse())
    matches('E-2/final', 'table E-2: I* and greatest element of P* by the base joints, from the rounded vectors',
            [*upper(final.inertia), np.abs(final.power).max()], [1, 0, 0, 2, 0, 3, 0], 1e-12)  # fmt: skip


@pytest.mark.pins(
    'freeman-1985/7.9/rounded_joints', 'freeman-1985/7.9/rounded_inertia', 'freeman-1985/7.9/rounded_power'
)  # fmt: skip
def test_three_leg_device_from_the_rounded_vectors():
    model = rounded_model(1) + rounded_model(2) + rounded_model(3)
    matches('7.9/rounded_joints', 'three-leg, rounded: joints of leg 1 by the platform', rounded_leg(1).inverse().G,
            [[-0.6368, 0.2252, -0.5134], [0.7583, 0.4391, -0.0011], [-0.1216, -0.6642, 1.5144]], 1e-4)  # fmt: skip
    matches('7.9/rounded_inertia', 'three-leg, rounded: I* at the platform', upper(model.inertia),
            [1.2250, 0.3669, -0.5892, 1.5133, -0.1058, 1.5818], 1e-4)  # fmt: skip
    matches('7.9/rounded_power', 'three-leg, rounded: diagonal of plane 3 of P*', np.diag(model.power[2]),
            [0.7405, 0.4594, 2.0466], 1e-4)  # fmt: skip


V6, A6 = [0.1, -0.2, 0.3, -0.1, 0.2, 0.15], [1, -1, 0.5, 0.2, -0.3, 0.4]


@pytest.mark.pins(
    'freeman-1985/7.10/lengths', 'freeman-1985/7.10/G_q', 'freeman-1985/7.10/condition', 'freeman-1985/7.10/H_q',
    'freeman-1985/7.10/inertia_w',
)  # fmt: skip
def test_legs_of_the_stewart_platform():
    own, parallel, inputs = machine('stewart')
    matches('7.10/lengths', 'Stewart platform: leg lengths, m', own.q[2::6],
            [2.056303, 2.400021, 2.223206, 2.195174, 2.026316, 2.397149], SIX)  # fmt: skip
    matches('7.10/G_q', 'Stewart platform: leg 1 by the platform', inputs.G[0],
            [-0.523217, -0.105103, 0.845693, -0.525177, -0.639329, -0.404375], SIX)  # fmt: skip
    matches('7.10/condition', 'Stewart platform: condition of the legs', inputs.condition, 2.2907, 5e-5)
    matches('7.10/H_q', 'Stewart platform: H of leg 1, rows 5 and 6', inputs.H[0, 4:],
            [[-0.192339, -0.032678, -0.123059, -0.009929, 0.576283, -0.137511],
             [0.195421, 0.365326, 0.166307, 0.591514, -0.662687, 0.760659]], SIX)  # fmt: skip
    matches('7.10/inertia_w', 'Stewart platform: diagonal of I* at the platform', np.diag(parallel.model.inertia),
            [7.564024, 7.570438, 7.780098, 1.832916, 1.926897, 3.381081], SIX)  # fmt: skip
    # closed form of a leg: unit vector along it, and its moment about the platform's centre
    for r, leg in enumerate(own.legs):
        base = own.position.places[1][0, own.tree.body(leg.joints[0])]
        tip = own.position.places[1][0, own.tree.body(leg.joints[-1])]
        n, arm = (tip - base) / np.linalg.norm(tip - base), tip - own.position.pose(own.end)[1]
        assert inputs.G[r] == pytest.approx(np.r_[n, np.cross(arm, n)], abs=1e-12)


@pytest.mark.pins(
    'freeman-1985/7.10/row_q', 'freeman-1985/7.10/inertia_q', 'freeman-1985/7.10/velocity_load',
    'freeman-1985/7.10/effort', 'freeman-1985/7.10/power',
)  # fmt: skip
def test_model_of_the_stewart_platform_by_its_legs():
    own, parallel, _ = machine('stewart')
    model = parallel.actuated(own.actuated)
    matches('7.10/row_q', 'Stewart platform: row 1 of I* by the legs', model.inertia[0],
            [2.984210, 0.501794, -0.350617, 1.521923, -0.216844, -1.850894], SIX)  # fmt: skip
    matches('7.10/inertia_q', 'Stewart platform: diagonal of I* by the legs', np.diag(model.inertia),
            [2.984210, 3.621580, 3.782393, 3.129924, 3.928281, 4.057709], SIX)  # fmt: skip
    matches('7.10/velocity_load', 'Stewart platform: velocity loads of the legs', model.velocity_load(V6),
            [-0.300101, -0.183047, -0.094528, -0.292717, -0.120889, 0.125564], SIX)  # fmt: skip
    matches('7.10/effort', 'Stewart platform: forces of the legs', model.effort(V6, A6),
            [1.636087, -5.718419, 5.111396, 2.310731, -4.285286, 2.105135], SIX)  # fmt: skip
    found = np.abs(model.power).max()
    matches('7.10/power', 'Stewart platform: greatest element of P* by the legs', found, 2.72, 0.005)


@pytest.mark.pins(
    'freeman-1985/7.10/base_G', 'freeman-1985/7.10/base_condition', 'freeman-1985/7.10/base_inertia',
    'freeman-1985/7.10/base_power',
)  # fmt: skip
def test_base_joints_of_the_stewart_platform():
    _, parallel, _ = machine('stewart')
    names = [f'leg_{r}_1' for r in range(1, 7)]
    inputs = parallel.inputs(names)
    matches('7.10/base_G', 'Stewart platform: base joint 1 by the platform', inputs.G[0],
            [0.420922, -0.074220, 0.251194, -0.158615, -0.225054, 0.199292], SIX)  # fmt: skip
    matches('7.10/base_condition', 'Stewart platform: condition of the base joints', inputs.condition, 4.9395, 5e-5)
    model = parallel.actuated(names)
    matches('7.10/base_inertia', 'Stewart platform: diagonal of I* by the base joints',
            np.diag(model.inertia),
            [41.344747, 39.379185, 29.558422, 44.573131, 32.556199, 19.407931], SIX)  # fmt: skip
    found = np.abs(model.power).max()
    matches('7.10/base_power', 'Stewart platform: greatest element of P* by the base joints', found, 189, 0.5)


@pytest.mark.pins(
    'freeman-1985/7.11/angles', 'freeman-1985/7.11/tool', 'freeman-1985/7.11/condition', 'freeman-1985/7.11/inertia',
    'freeman-1985/7.11/effort', 'freeman-1985/7.11/power',
)  # fmt: skip
def test_hybrid_device():
    own, parallel, inputs = machine('hybrid')
    matches('7.11/angles', 'hybrid device: planar joints of leg 1', own.q[:3], [1.270838, -1.421765, 0.300927], SIX)
    for leg in own.legs:
        matches('7.11/tool', 'hybrid device: tool, from every branch', own.position.pose(leg.end)[1],
                [0.676256, 0.712862, 0.381902], SIX)  # fmt: skip
    matches('7.11/condition', 'hybrid device: condition of the inputs', inputs.condition, 5.1436, 5e-5)
    model = parallel.actuated(own.actuated)
    matches('7.11/inertia', 'hybrid device: diagonal of I* and (1,2)', [*np.diag(model.inertia), model.inertia[0, 1]],
            [4.578842, 5.182566, 3.747830, 0.507379, 0.099235, 0.006000, -1.290611], SIX)  # fmt: skip
    matches('7.11/power', 'hybrid device: greatest element of P*', np.abs(model.power).max(), 2.72, 0.005)
    found = model.effort([0.3, -0.2, 0.4, 0.5, -0.6, 0.7], [1, 0.5, -0.5, 0.2, 0.3, -0.4])
    matches('7.11/effort', 'hybrid device: efforts', found,
            [5.321456, 1.365228, -3.159172, 0.482561, -0.043441, -0.000459], SIX)  # fmt: skip
    serial = [parallel.joints.rows(leg.joints[3:]) for leg in own.legs]
    for other in serial[1:]:
        assert pytest.approx(serial[0].G, abs=1e-12) == other.G
        assert pytest.approx(serial[0].H, abs=1e-12) == other.H


@pytest.mark.pins(
    'freeman-1985/7.12/G_q', 'freeman-1985/7.12/inertia', 'freeman-1985/7.12/task', 'freeman-1985/7.12/inverse',
    'freeman-1985/7.12/power',
)  # fmt: skip
def test_redundant_device():
    own, parallel, inputs = machine('redundant')
    matches('7.12/G_q', 'redundant device: second joints by w', inputs.G[3:],
            [[-1.893027, 0, 0, -0.545949, 0.837818, -0.796310], [0, -1.757695, 0, -0.655163, -0.756676, -0.754875],
             [0, 0, -1.527034, 1.005292, -0.514795, -0.733659]], SIX)  # fmt: skip
    model = parallel.actuated(own.actuated)
    matches('7.12/inertia', 'redundant device: diagonal of I* and (1,2)',
            [*np.diag(model.inertia), model.inertia[0, 1]],
            [15.012508, 15.173925, 11.976325, 3.277488, 3.792355, 3.120990, -3.337646], SIX)  # fmt: skip
    matches('7.12/power', 'redundant device: greatest element of P*', np.abs(model.power).max(), 9.5, 0.05)
    task = parallel.platform(own.actuated).rows(PLANE)
    matches('7.12/task', 'redundant device: platform by the inputs', task.G,
            [[-0.157334, -0.898795, 0.941181, -0.083113, -0.511349, 0.616346],
             [1.171049, -1.053583, -0.083518, 0.618612, -0.599412, -0.054693],
             [-1.037290, -0.492289, -0.733143, -0.547953, -0.280077, -0.480109]], SIX)  # fmt: skip
    matches('7.12/inverse', 'redundant device: right inverse of least energy',
            minimum_energy_inverse(model.inertia, task.G),
            [[0.092158, -0.044958, 0.074102], [-0.009033, 0.074090, 0.052546], [-0.228458, 0.058877, 0.173676],
             [-0.720407, 0.922926, -0.936587], [-0.639285, -0.886903, -0.847235], [1.354156, -0.604702, -0.998868]],
            SIX)  # fmt: skip


@pytest.mark.pins(
    'freeman-1985/7.12/rates', 'freeman-1985/7.12/energy', 'freeman-1985/7.12/accelerations',
    'freeman-1985/7.12/effort', 'freeman-1985/7.12/consistent',
)  # fmt: skip
def test_motion_of_least_energy():
    own, parallel, _ = machine('redundant')
    platform = parallel.platform(own.actuated)
    task, model = platform.rows(PLANE), parallel.model.by(platform)
    motion = RedundantMotion.of_least_energy(task, model)
    v, a = [0.3, -0.2, 0.4], [1, 0.5, -0.6]
    rates = motion.rates(v)
    matches('7.12/rates', 'redundant device: rates of the inputs', rates,
            [0.066280, 0.003490, -0.010843, -0.775342, -0.353299, 0.127640], SIX)  # fmt: skip
    plain = np.linalg.pinv(task.G) @ v
    matches('7.12/energy', 'redundant device: kinetic energy, and that of the pseudo-inverse',
            [model.kinetic_energy(rates), model.kinetic_energy(plain)], [0.723482, 0.904673], SIX)  # fmt: skip
    accelerations = motion.accelerations(v, a)
    matches('7.12/accelerations', 'redundant device: accelerations by (4-71)', accelerations,
            [0.029270, -0.003002, -0.302336, 0.254330, -0.598085, 1.649728], SIX)  # fmt: skip
    found = motion.effort(v, a)
    matches('7.12/effort', 'redundant device: efforts', found,
            [4.008269, -6.207591, 6.271479, 1.893336, -3.592192, 4.107722], SIX)  # fmt: skip
    assert found == pytest.approx(model.effort(rates, accelerations), abs=1e-10)
    lambda_form = task.G.T @ np.linalg.inv(task.G @ np.linalg.solve(model.inertia, task.G.T))
    assert motion.inertia == pytest.approx(lambda_form, abs=1e-10)
    assert task.G @ motion.right_inverse == pytest.approx(np.eye(3), abs=1e-12)
    null = np.linalg.svd(task.G)[2][3:]
    assert np.abs(null @ model.inertia @ rates).max() < 1e-10
    consistent = motion.accelerations(v, a, motion.inverse_rate(v))
    matches('7.12/consistent', 'redundant device: derivative of the rates', consistent,
            [-0.199897, -0.015142, -0.293406, 0.688148, -0.576746, 1.636092], SIX)  # fmt: skip
    assert np.abs(task.G @ (consistent - accelerations)).max() < 1e-12


@pytest.mark.pins(
    'freeman-1985/7.13/angles', 'freeman-1985/7.13/G_q', 'freeman-1985/7.13/inertia', 'freeman-1985/7.13/power_1',
)  # fmt: skip
def test_two_finger_hand():
    own, parallel, inputs = machine('hand')
    matches('7.13/angles', 'two-finger hand: joints of both fingers', own.q,
            [1.807713, -1.319901, -0.287812, 1.277353, 1.195935, 0.868304], SIX)  # fmt: skip
    matches('7.13/G_q', 'two-finger hand: inputs by the object', inputs.G,
            [[-0.607941, -0.322562, 0.078141], [0.406031, 1.158799, -0.422014], [-0.562296, 0.443931, 0.218717],
             [0.303267, -1.301171, -0.534194]], SIX)  # fmt: skip
    matches('7.13/inertia', 'two-finger hand: I* at the object, upper triangle', upper(parallel.model.inertia),
            [2.458823, -0.075902, -0.239139, 1.777412, 0.094125, 0.283418], SIX)  # fmt: skip
    matches('7.13/power_1', 'two-finger hand: P* at the object, plane 1', upper(parallel.model.power[0]),
            [-0.033678, -0.120224, 0.023033, -0.051744, -0.395081, 0.077145], SIX)  # fmt: skip


@pytest.mark.pins(
    'freeman-1985/7.13/load', 'freeman-1985/7.13/shared', 'freeman-1985/7.13/square', 'freeman-1985/7.13/internal',
    'freeman-1985/7.13/weighted',
)  # fmt: skip
def test_loads_of_the_two_finger_hand():
    _, parallel, inputs = machine('hand')
    weight = Coefficients.identity(parallel.coordinates, 2)
    model = parallel.model.with_load(weight, [0, -9.81, 0])
    v, a = [0.2, -0.3, 0.5], [1, 0.5, -1]
    load, shared = model.effort(v, a), LoadDistribution(inputs, model)
    matches('7.13/load', 'two-finger hand: load at the object', load, [2.810851, 10.655925, -0.480905], SIX)
    efforts = shared.effort(v, a)
    matches('7.13/shared', 'two-finger hand: efforts of least square', efforts,
            [-2.890986, 4.719194, -0.280799, -3.365784], SIX)  # fmt: skip
    matches('7.13/square', 'two-finger hand: sum of their squares', efforts @ efforts, 42.035939, SIX)
    assert inputs.G.T @ efforts == pytest.approx(load, abs=1e-12)
    internal = shared.internal[:, 0]
    matches('7.13/internal', 'two-finger hand: direction of the squeeze (its sign is free)',
            internal * np.sign(internal[2]), [-0.601843, -0.111439, 0.731836, 0.299639], SIX)  # fmt: skip
    assert abs(internal @ efforts) < 1e-13
    weighted = LoadDistribution(inputs, model, np.array([1.0, 4.0, 1.0, 4.0]))
    matches('7.13/weighted', 'two-finger hand: efforts with weights 1, 4, 1, 4', weighted.effort(v, a),
            [-5.011318, 4.326588, 2.297507, -2.310136], SIX)  # fmt: skip


@pytest.mark.pins(
    'freeman-1985/7.14/inertia', 'freeman-1985/7.14/gravity', 'freeman-1985/7.14/load', 'freeman-1985/7.14/shared',
    'freeman-1985/7.14/singular_values',
)  # fmt: skip
def test_walking_machine():
    _, parallel, inputs = machine('walker')
    model = parallel.model
    matches('7.14/inertia', 'walker: I* at the body, upper triangle', upper(model.inertia),
            [11.648644, 0.855750, -0.068380, 12.210227, 0.284162, 1.162397], SIX)  # fmt: skip
    matches('7.14/gravity', 'walker: load of gravity at the body', model.load, [-5.058040, -120.407444, -2.372676], SIX)
    v, a = [0.5, -0.2, 0.3], [1, 0.5, -0.4]
    matches('7.14/load', 'walker: load at the body', model.effort(v, a), [17.581944, 127.752266, 2.026199], SIX)
    found = LoadDistribution(inputs, model).effort(v, a)
    matches('7.14/shared', 'walker: efforts of least square', found,
            [21.588364, -0.676490, 17.371142, 4.184248, 15.552177, 6.416358], SIX)  # fmt: skip
    matches('7.14/singular_values', 'walker: singular values of G of the inputs',
            np.linalg.svd(inputs.G, compute_uv=False), [4.921644, 2.684478, 2.070019], SIX)  # fmt: skip


@pytest.mark.parametrize('name', ['three-leg', 'redundant', 'hand', 'walker'])
def test_inertia_power_is_that_of_the_changing_inertia(name):
    """Planar coordinates are true ones: P* has the Christoffel symbols of I* as its symmetric part."""
    own, parallel, _ = machine(name)
    names = own.tree.velocity_names
    order = [parallel.joints.parameters.index(joint) for joint in names]
    step, size = 1e-5, len(parallel.coordinates)
    slopes = np.zeros((size,) * 3)
    for n in range(size):
        along = [own.q + side * step * parallel.joints.G[order, n] + 0.5 * step**2 * parallel.joints.H[order, n, n]
                 for side in (1, -1)]  # fmt: skip
        forth, back = (own.parallel(q).model.inertia for q in along)
        slopes[:, :, n] = (forth - back) / (2 * step)
    christoffel = 0.5 * (slopes + np.swapaxes(slopes, 1, 2) - np.einsum('mnk->kmn', slopes))
    power = parallel.model.power
    assert 0.5 * (power + np.swapaxes(power, 1, 2)) == pytest.approx(christoffel, abs=1e-6)
