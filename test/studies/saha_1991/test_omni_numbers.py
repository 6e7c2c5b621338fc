"""Omnidirectional vehicles of saha-1991 as machines of the engine: numbers of 6.4 to 6.6, round trip of path 3."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

from dyn_nodes.control.platform_path import LinesAndCurve, straight_path
from dyn_nodes.control.torque_distribution import InfeasibleDemandError, TorqueDistribution
from dyn_nodes.multibody.omni_vehicle import OmniVehicle, OmniWheel
from dyn_nodes.studies.reference import tabulated
from dyn_nodes.studies.saha_1991.machines import vehicle
from dyn_nodes.studies.saha_1991.traced_vehicle import TracedPlan, TracedVehicle, driven, plan
from dyn_nodes.studies.saha_1991.wheeled_vehicles import omni_vehicle

TIMES = np.linspace(0.0, 60.0, 3001)
S = 5 * np.sqrt(3.0)
EXACT = np.array([[0.2, 0.3], [-0.2, 0.3], [-0.2, -0.3], [0.2, -0.3]])
"""Hub centres of the four wheels before table 4.2 rounded them, m."""


def exact_four() -> OmniVehicle:
    """Table 4.2 with the geometry from which it was rounded."""
    rounded = vehicle(4)
    wheels = [
        OmniWheel(w.roller, w.hub, np.arctan2(y, x), np.hypot(x, y), w.radius, w.roller_radius, w.mass,
                  w.axial_inertia, w.diametral_inertia)
        for w, (x, y) in zip(rounded.wheels, EXACT)
    ]  # fmt: skip
    return OmniVehicle(wheels, rounded.mass, rounded.yaw_inertia)


@dataclass(frozen=True)
class Machine:
    """A vehicle of the engine, with its quantities in platform axes, order [yaw, x, y]."""

    traced: TracedVehicle
    wheels: list[int]

    @property
    def L(self):
        """(wheels, 3) hub rates per twist."""
        return self.traced.complement(self.traced.wheeled.rest)[self.wheels][:, [2, 0, 1]]

    @property
    def inertia(self):
        """(3, 3) of the twist."""
        order = [2, 0, 1]
        return self.traced.inertia(self.traced.wheeled.rest)[np.ix_(order, order)]


@cache
def machine(count) -> Machine:
    plane = exact_four() if count == 'exact 4' else vehicle(count)
    traced = TracedVehicle(omni_vehicle(plane), ('x', 'y', 'yaw'))
    return Machine(traced, [traced.names.index(f'wheel_{k}') for k in range(1, len(plane.wheels) + 1)])


@cache
def on_path_3(count) -> TracedPlan:
    return plan(machine(count).traced, LinesAndCurve()(TIMES))


def in_platform(course: TracedPlan, vectors):
    """Return [yaw, x, y] in platform axes from x, y and yaw in the fixed frame."""
    yaw = course.q[:, 3]
    x, y, turn = vectors.T
    c, s = np.cos(yaw), np.sin(yaw)
    return np.column_stack([turn, x * c + y * s, y * c - x * s])


def torques(count, course: TracedPlan, driven_wheels=None, limited=None):
    """Return the torques (k, driven) of numbered wheels, with limits by number, from the engine's efforts."""
    numbers = list(driven_wheels or range(1, len(machine(count).wheels) + 1))
    limit = np.array([(limited or {}).get(k, np.inf) for k in numbers])
    share = TorqueDistribution(machine(count).L[[k - 1 for k in numbers]], -limit, limit)
    return np.array([share(wrench) for wrench in in_platform(course, course.efforts)])


# --- 6.4 ---------------------------------------------------------------------------------------------------------


THREE = [(-3, 10, 0), (-3, -5, S), (-3, -5, -S)]
LEVER = 0.9975949
ROWS = {
    3: THREE,
    4: [(LEVER, -10, -10), (LEVER, -10, 10), (LEVER, 10, 10), (LEVER, 10, -10)],
    'exact 4': [(1, -10, -10), (1, -10, 10), (1, 10, 10), (1, 10, -10)],
    6: [*THREE, (-3, 5, -S), (-3, 5, S), (-3, -10, 0)],
}
MATRICES = {
    3: ((27, 150, 150), (2.53215, 39.5, 39.5), 38),
    4: ((3.9807823, 400, 400), (2.7005078, 49, 49), 45),
    'exact 4': ((4, 400, 400), (2.7039, 49, 49), 45),
    6: ((54, 300, 300), (3.3576, 47, 47), 44),
}


@pytest.mark.pins('saha-1991/6.4/rows', 'saha-1991/6.4/gram')
@pytest.mark.parametrize('count', [3, 4, 'exact 4', 6])
def test_hub_rates_per_twist_are_those_of_the_table(count):
    L = machine(count).L
    assert pytest.approx(np.array(ROWS[count]), abs=5e-8) == L
    assert pytest.approx(np.diag(MATRICES[count][0]), abs=6e-8) == L.T @ L


@pytest.mark.pins('saha-1991/6.4/inertia', 'saha-1991/6.4/mass')
@pytest.mark.parametrize('count', [3, 4, 'exact 4', 6])
def test_inertia_and_mass_are_those_of_the_table(count):
    assert machine(count).inertia == pytest.approx(np.diag(MATRICES[count][1]), abs=6e-8)
    assert sum(body.mass for body in machine(count).traced.wheeled.blocks.tree.bodies) == MATRICES[count][2]


def test_joint_space_inertia_is_that_of_the_table():
    (same, other), (corner, side, across, middle) = tabulated('saha-1991/6.4/joint_space')
    three = np.full((3, 3), other) + np.eye(3) * (same - other)
    four = [[corner, side, across], [side, middle, side], [across, side, corner]]
    for count, matrix, digits in ((3, three, 6e-9), (4, four, 6e-8)):
        traced = TracedVehicle(omni_vehicle(vehicle(count)), ('wheel_1', 'wheel_2', 'wheel_3'))
        assert traced.inertia(traced.wheeled.position({'yaw': 0.6})) == pytest.approx(np.array(matrix), abs=digits)


def test_four_wheels_accelerate_as_the_multiplier_model():
    traced = machine(4).traced
    twist = np.array([0.4, -0.25, 0.3])
    _, a = traced.rate(traced.wheeled.rest, twist, traced.wheeled.motors([0.03, -0.02, 0.05, 0.01]))
    assert a[[2, 0, 1]] == pytest.approx(tabulated('saha-1991/6.4/multiplier_model'), abs=6e-9)


# --- 6.5 ---------------------------------------------------------------------------------------------------------


STRAIGHT = [
    (3, None, 0, (1.666667, -0.833333, -0.833333), (0, -14.433757, 14.433757), (0.0229802, -0.0114901, -0.0114901)),
    (3, None, 90, (0, 1.443376, -1.443376), (16.666667, -8.333333, -8.333333), (0, 0.0199014, -0.0199014)),
    (4, None, 0, (-1.666667, -1.666667, 1.666667, 1.666667), (23.570226, -23.570226, -23.570226, 23.570226),
     (-0.0106901, -0.0106901, 0.0106901, 0.0106901)),
    (4, None, 90, (-1.666667, 1.666667, 1.666667, -1.666667), (0, 0, 0, 0),
     (-0.0106901, 0.0106901, 0.0106901, -0.0106901)),
    (4, (1, 2, 3), 0, (-1.666667, -1.666667, 1.666667, 1.666667), (23.570226, -23.570226, -23.570226, 23.570226),
     (0, -0.0213803, 0.0213803)),
    (4, (1, 2, 3), 90, (-1.666667, 1.666667, 1.666667, -1.666667), (0, 0, 0, 0), (-0.0213803, 0.0213803, 0)),
]  # fmt: skip


def roller_rates(count, course: TracedPlan):
    """Return the rates (k, wheels) of the rollers on the ground from the motion across their axes."""
    traced, plane = machine(count).traced, vehicle(count)
    rates = []
    for wheel, index in zip(plane.wheels, machine(count).wheels):
        yaw = course.q[:, 3]
        arm = wheel.distance * np.array([np.cos(yaw + wheel.direction), np.sin(yaw + wheel.direction)])
        centre = course.v[:, :2].T + course.v[:, 3] * np.array([-arm[1], arm[0]])
        ahead = np.array([-np.sin(yaw + wheel.hub), np.cos(yaw + wheel.hub)])
        across = np.array([-np.sin(yaw + wheel.hub + wheel.roller), np.cos(yaw + wheel.hub + wheel.roller)])
        floor = centre + wheel.radius * course.v[:, index] * ahead
        rates.append(-(floor * across).sum(axis=0) / wheel.roller_radius)
    assert traced.names[:2] == ('x', 'y')
    return np.array(rates).T


@pytest.mark.pins('saha-1991/6.5/rates', 'saha-1991/6.5/rollers', 'saha-1991/6.5/torques', 'saha-1991/6.5/path')
@pytest.mark.parametrize(('count', 'numbers', 'direction', 'rates', 'rollers', 'expected'), STRAIGHT)
def test_straight_paths_have_the_rates_and_torques_of_the_table(count, numbers, direction, rates, rollers, expected):
    course = plan(machine(count).traced, straight_path(np.deg2rad(direction))(np.linspace(0.0, 60.0, 61)))
    assert np.hypot(*course.v[:, :2].T).max() == pytest.approx(1 / 6, abs=1e-12)
    assert np.hypot(*course.a[:, :2].T)[15] == pytest.approx(0.00872665, abs=5e-9)
    assert course.v[30, machine(count).wheels] == pytest.approx(rates, abs=6e-7)
    assert roller_rates(count, course)[30] == pytest.approx(rollers, abs=6e-7)
    assert torques(count, course, numbers)[15] == pytest.approx(expected, abs=6e-8)


# --- 6.6 ---------------------------------------------------------------------------------------------------------


def test_planned_twists_and_accelerations_are_those_of_the_table():
    course = on_path_3(3)
    twist, acceleration = in_platform(course, course.rates), in_platform(course, course.accelerations)
    for time, row in zip((7.5, 20.0, 25.0, 30.0, 40.0, 52.5), tabulated('saha-1991/6.6/plan')):
        k = round(50 * time)
        assert twist[k] == pytest.approx(row[:3], abs=6e-11)
        assert acceleration[k] == pytest.approx(row[3:], abs=6e-11)


def test_three_wheels_have_the_rates_and_the_wrench_of_the_specification_at_25_s():
    course, k, wheels = on_path_3(3), 1250, machine(3).wheels
    rates, accelerations, rollers = tabulated('saha-1991/6.6/wheels')
    assert course.v[k, wheels] == pytest.approx(rates, abs=6e-11)
    assert course.a[k, wheels] == pytest.approx(accelerations, abs=6e-11)
    assert roller_rates(3, course)[k] == pytest.approx(rollers, abs=6e-8)
    wrench = in_platform(course, course.efforts)[k]
    assert wrench == pytest.approx(tabulated('saha-1991/6.6/wrench'), abs=6e-11)


@dataclass(frozen=True)
class Case:
    """A row of the table of torques; `by`: torques by time, N m; `digits`: tolerance of the printed digits."""

    count: int
    driven: tuple[int, ...] | None
    limited: dict[int, float]
    by: dict[float, tuple[float, ...]]
    digits: float
    unlimited_at: tuple[float, ...] = ()


CASES = {
    '3 / 1-3': Case(3, None, {}, {
        7.5: (0, 0.02865803, -0.02865803), 25: (-0.09067913, 0.06719725, 0.01546591),
        30: (0.00339387, -0.00029682, -0.00309705), 40: (0.00615808, -0.06277634, 0.06463422),
        52.5: (-0.03309144, 0.01654572, 0.01654572)}, 6e-9),
    '4 / 1-3': Case(4, (1, 2, 3), {}, {
        7.5: (-0.030788, 0.030788, 0), 25: (-0.016532, 0.109702, -0.067461), 30: (-0.003233, -0.003554, 0.006788),
        35: (0.071055, -0.114435, 0.017671), 52.5: (0, 0.030788, -0.030788)}, 6e-7),
    '4 / 1-4': Case(4, None, {}, {
        7.5: (-0.01539380, 0.01539380, 0.01539380, -0.01539380), 25: (0.03189209, 0.06127793, -0.01903777, -0.04842361),
        30: (-0.00501058, -0.00177715, 0.00501058, 0.00177715), 40: (0.02624617, -0.04252138, -0.03910049, 0.02966706),
        52.5: (0.01539380, 0.01539380, -0.01539380, -0.01539380)}, 6e-9),
    '4 / 1-4, 4 limited': Case(4, None, {4: 0.01}, {
        7.5: (-0.020788, 0.020788, 0.01, -0.01), 25: (-0.006532, 0.099702, -0.057461, -0.01),
        35: (0.061055, -0.104435, 0.007671, 0.01), 52.5: (0.01, 0.020788, -0.020788, -0.01)}, 6e-7, (30,)),
    '6 / 1-3': Case(6, (1, 2, 3), {}, {
        7.5: (0, 0.034099, -0.034099), 25: (-0.107076, 0.080048, 0.016398), 30: (0.006788, -0.000594, -0.006194),
        35: (0.041431, -0.108175, 0.077373), 52.5: (-0.039375, 0.019687, 0.019687)}, 6e-7),
    '6 / 2-5': Case(6, (2, 3, 4, 5), {}, {
        7.5: (0.017050, -0.017050, -0.017050, 0.017050), 25: (0.090905, 0.059080, -0.096219, -0.064394),
        30: (-0.003691, -0.006491, 0.003691, 0.006491), 35: (-0.072146, 0.020628, 0.077460, -0.015314),
        52.5: (0.029531, 0.029531, -0.029531, -0.029531)}, 6e-7),
    '6 / 2-5, 2 limited': Case(6, (2, 3, 4, 5), {2: 0.01}, {
        7.5: (0.01, -0.01, -0.024099, 0.024099), 25: (0.01, 0.139984, -0.177124, 0.016511),
        35: (-0.01, -0.041518, 0.139606, -0.077459), 52.5: (0.01, 0.049062, -0.049062, -0.01)}, 6e-7, (30,)),
    '6 / all': Case(6, None, {}, {
        7.5: (0, 0.01704971, -0.01704971, -0.01704971, 0.01704971, 0),
        25: (-0.05353777, 0.04002416, 0.00819907, -0.04356719, -0.01174209, 0.04999474),
        30: (0.00339387, -0.00029682, -0.00309705, 0.00029682, 0.00309705, -0.00339387),
        40: (0.00391274, -0.03730739, 0.03870919, 0.04085041, -0.03516616, -0.00036971),
        52.5: (-0.01968731, 0.00984366, 0.00984366, -0.00984366, -0.00984366, 0.01968731)}, 6e-9),
    '6 / all, 2 and 6 limited': Case(6, None, {2: 0.01, 6: 0.025}, {
        7.5: (0, 0.01, -0.01705, -0.0194, 0.02175, 0.0047),
        25: (-0.080544, 0.01, 0.062212, -0.07158, 0.044283, 0.025),
        35: (0.033654, -0.01, 0.012809, 0.080952, -0.081786, -0.025)}, 6e-7, (30, 52.5)),
}  # fmt: skip


@cache
def case_torques(name):
    case = CASES[name]
    return torques(case.count, on_path_3(case.count), case.driven, case.limited)


@pytest.mark.pins(
    'saha-1991/6.6/torques_3', 'saha-1991/6.6/torques_4', 'saha-1991/6.6/torques_6',
)  # fmt: skip
@pytest.mark.parametrize('name', CASES)
def test_torques_on_path_3_are_those_of_the_tables(name):
    case, drive_torques = CASES[name], case_torques(name)
    for time, expected in case.by.items():
        assert drive_torques[round(50 * time)] == pytest.approx(expected, abs=case.digits), time
    free = torques(case.count, on_path_3(case.count), case.driven) if case.unlimited_at else drive_torques
    for time in case.unlimited_at:
        assert drive_torques[round(50 * time)] == pytest.approx(free[round(50 * time)], abs=1e-15), time
    row = list(CASES).index(name)
    assert np.abs(drive_torques).max(axis=0) == pytest.approx(tabulated('saha-1991/6.6/peaks')[row], abs=1e-6)
    effort = np.trapezoid((drive_torques**2).sum(axis=1), TIMES)
    assert effort == pytest.approx(tabulated('saha-1991/6.6/effort')[row], abs=1e-6)


@pytest.mark.pins('saha-1991/6.6/work', 'saha-1991/6.6/power')
@pytest.mark.parametrize(
    ('name', 'energy'),
    [*zip(('3 / 1-3', '4 / 1-4, 4 limited', '6 / 2-5'), tabulated('saha-1991/6.6/kinetic_energy'))],
)
def test_the_torques_give_the_power_and_the_work_of_the_motion(name, energy):
    case = CASES[name]
    course = on_path_3(case.count)
    wheels = [machine(case.count).wheels[k - 1] for k in case.driven or range(1, case.count + 1)]
    power = (case_torques(name) * course.v[:, wheels]).sum(axis=1)
    assert power == pytest.approx((course.efforts * course.rates).sum(axis=1), abs=1e-15)
    assert course.energy.max() == pytest.approx(energy, abs=6e-7)
    top = int(course.energy.argmax())
    work = CubicSpline(TIMES, power).antiderivative()
    assert work(TIMES[top]) == pytest.approx(course.energy[top], abs=5e-6)
    assert work(60.0) == pytest.approx(0.0, abs=5e-6)


@pytest.mark.pins('saha-1991/6.6/orderings')
def test_more_drives_need_less_and_more_wheels_more():
    """E17, E19, E21."""
    peaks = {name: np.abs(case_torques(name)).max(axis=0)[:3] for name in CASES}
    assert (peaks['4 / 1-4'] < peaks['4 / 1-3']).all()
    assert (peaks['6 / 1-3'] > peaks['3 / 1-3']).all()
    assert (peaks['6 / all'] < peaks['3 / 1-3']).all()


@pytest.mark.pins('saha-1991/6.6/saturation', 'saha-1991/6.6/limited_pairs')
def test_the_limited_wheel_is_at_its_limit_on_two_samples_of_three():
    """E18: on the lines the other wheels share in pairs; on the curve wheel 4 alone is limited."""
    sizes = np.abs(case_torques('4 / 1-4, 4 limited'))
    assert 100 * (sizes[:, 3] >= 0.01 - 1e-12).mean() == pytest.approx(66.5, abs=0.05)
    first, last = sizes[TIMES <= 15.0], sizes[TIMES >= 45.0]
    assert first[:, [2, 0]] == pytest.approx(first[:, [3, 1]], abs=1e-14)
    assert last[:, [0, 1]] == pytest.approx(last[:, [3, 2]], abs=1e-14)
    assert (sizes[:, :3].max(axis=0) > 0.01).all()


@pytest.mark.pins('saha-1991/6.6/feathered')
def test_a_motor_with_a_limit_of_zero_is_as_none():
    few = slice(None, None, 50)
    course = on_path_3(4)
    part = TracedPlan(
        course.free,
        TIMES[few],
        course.q[few],
        course.v[few],
        course.a[few],
        course.efforts[few],
        course.energy[few],
        course.missed,
    )
    feathered = torques(4, part, None, {4: 0.0})
    assert feathered[:, :3] == pytest.approx(case_torques('4 / 1-3')[few], abs=1e-15)
    assert np.abs(feathered[:, 3]).max() < 1e-15


@pytest.mark.pins('saha-1991/6.6/infeasible')
def test_low_limits_on_all_four_wheels_have_no_solution_at_211_of_301_instants():
    course = on_path_3(4)
    share = TorqueDistribution(machine(4).L, -0.01, 0.01)
    missed = 0
    for wrench in in_platform(course, course.efforts)[::10]:
        try:
            share(wrench)
        except InfeasibleDemandError:
            missed += 1
    assert missed == 211


def test_wheels_reach_the_rates_and_angles_of_the_specification():
    rows = zip((3, 4), tabulated('saha-1991/6.6/peak_rates'), tabulated('saha-1991/6.6/angles'))
    for count, rates, angles in rows:
        course, wheels = on_path_3(count), machine(count).wheels
        assert np.abs(course.v[:, wheels]).max(axis=0) == pytest.approx(rates, abs=1e-6)
        names = course.q.shape[1] - len(wheels)
        assert course.q[-1, names:] == pytest.approx(angles, abs=6e-6)
    assert on_path_3(3).q[-1, 6:].sum() == pytest.approx(-4.5 * np.pi, abs=1e-8)


@pytest.mark.pins('saha-1991/6.6/simulation')
@pytest.mark.parametrize(
    ('tolerance', 'yaw', 'x', 'y', 'rate'), [(1e-3, 4.6e-5, 2.3e-5, 1.5e-4, 9e-5), (1e-8, 1.4e-5, 3.2e-5, 3.2e-5, 2e-5)]
)
def test_six_wheels_with_limits_drive_the_vehicle_along_path_3(tolerance, yaw, x, y, rate):
    """Round trip (E23): torques with limits on wheels 2 and 6, then simulation in steps of 0.3 s or less."""
    course, few = on_path_3(6), slice(None, None, 15)
    by_time = case_torques('6 / all, 2 and 6 limited')
    q, rates = driven(machine(6).traced, course, by_time, ('yaw', 'x', 'y'), TIMES[few], tolerance, 0.3)
    missed = np.abs(q - course.q[few][:, [3, 0, 1]]).max(axis=0)
    assert (missed <= [yaw, x, y]).all(), missed
    # rates of the hubs: rows of L, in the axes of the platform of each
    hubs = np.array([machine(6).traced.complement(at)[machine(6).wheels] @ v for at, v in zip(course.q[few], rates)])
    assert np.abs(hubs - course.v[few][:, machine(6).wheels]).max() <= rate
