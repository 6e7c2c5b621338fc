"""Admissible ground reactions compared with other solvers, closed forms and the numbers of tanner-1998."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog

from dyn_nodes.stability import Support, admissible_reactions, all_measures, margins
from dyn_nodes.stability._reaction_kernels import reactions_kernel
from dyn_nodes.stability.friction_cone import (
    cone_function,
    cone_gradient,
    cone_hessian,
    greatest_drive_torque,
    lateral_chord,
    necessary_lateral_check,
)
from dyn_nodes.studies.reference import tabulated

FACETS = 64
HEIGHT = 0.3
FOUR = np.array([(0.35, 0.30), (0.35, -0.30), (-0.35, 0.30), (-0.35, -0.30)])
TRIANGLE = np.array([(-0.15, 0.3), (-0.15, -0.3), (0.35, 0.0)])
ROLLING = {'friction': (0.7, 0.7, 0.0), 'traction': (30.0, 20.0, 0.0)}
S0 = tabulated('tanner-1998/6.4/wrench')[0]


def below(points, height=HEIGHT):
    """Return contacts on the ground for a centre of mass in the origin."""
    return np.column_stack([points, np.full(len(points), -height)])


def wrench(points):
    """Return the balance (6, 3 w) of forces along x, y, z."""
    return np.hstack([np.vstack([np.eye(3), np.cross(np.eye(3), -point).T @ np.eye(3)]) for point in points])


def random_states(count, wheels, seed):
    """Return random loads on a random footprint, half of the wheels rolling freely."""
    rng = np.random.default_rng(seed)
    angle = np.sort(rng.uniform(0.0, 2.0 * np.pi, wheels))
    points = np.column_stack([0.4 * np.cos(angle), 0.3 * np.sin(angle), 0.02 * rng.normal(size=wheels)])
    force = rng.normal(size=(count, 3)) * (120.0, 120.0, 40.0) + (0.0, 0.0, -760.0)
    inputs = {
        'points': points,
        'com': rng.normal(size=(count, 3)) * (0.05, 0.05, 0.02) + (0.0, 0.0, 0.3),
        'force': force,
        'moment': rng.normal(size=(count, 3)) * (30.0, 30.0, 20.0),
        'friction': rng.uniform(0.3, 0.9, (count, wheels)),
        'traction': np.where(rng.random((count, wheels)) < 0.5, np.nan, 0.0),
    }
    inputs['traction'][::2] = np.nan
    target = -np.hstack([force, inputs['moment'] + np.cross(inputs['com'], force)])
    return inputs, wrench(points), target


def prescribed_tractions(traction):
    """Return rows and right side of the prescribed rolling forces; t is the last unknown."""
    wheels = np.flatnonzero(np.isfinite(traction))
    rows = np.zeros((len(wheels), 3 * len(traction) + 1))
    rows[np.arange(len(wheels)), 3 * wheels] = 1.0
    return rows, traction[wheels]


def margin_of_facets(balance, target, friction, traction, outside):
    """Return the greatest t of a linear program, in cones of 64 facets outside or inside of the exact ones."""
    wheels = len(friction)
    angle = 2.0 * np.pi * np.arange(FACETS) / FACETS
    shrunk = 1.0 if outside else np.cos(np.pi / FACETS)
    rows, right = prescribed_tractions(traction)
    facets = np.zeros((wheels, FACETS, 3 * wheels + 1))
    for j in range(wheels):
        facets[j, :, 3 * j], facets[j, :, 3 * j + 1] = np.cos(angle), np.sin(angle)
        facets[j, :, 3 * j + 2], facets[j, :, -1] = -shrunk * friction[j], shrunk * friction[j]
    equal = np.vstack([np.hstack([balance, np.zeros((6, 1))]), rows])
    cost = np.zeros(3 * wheels + 1)
    cost[-1] = -1.0
    solution = linprog(
        cost,
        facets.reshape(-1, 3 * wheels + 1),
        np.zeros(wheels * FACETS),
        equal,
        np.concatenate([target, right]),
        bounds=(None, None),
    )
    return solution.x[-1] if solution.status == 0 else -np.inf


def margin_of_clarabel(clarabel, balance, target, friction, traction):
    """Return the greatest t of a general solver of cone programs."""
    wheels = len(friction)
    rows, right = prescribed_tractions(traction)
    cones = np.zeros((3 * wheels, 3 * wheels + 1))
    for j in range(wheels):
        cones[3 * j, 3 * j + 2], cones[3 * j, -1] = -1.0, 1.0
        cones[3 * j + 1, 3 * j] = cones[3 * j + 2, 3 * j + 1] = -1.0 / friction[j]
    A = np.vstack([np.hstack([balance, np.zeros((6, 1))]), rows, cones])
    b = np.concatenate([target, right, np.zeros(3 * wheels)])
    q = np.zeros(3 * wheels + 1)
    q[-1] = -1.0
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    kinds = [clarabel.ZeroConeT(6 + len(right)), *(clarabel.SecondOrderConeT(3) for _ in range(wheels))]
    P = sparse.csc_matrix((len(q), len(q)))
    solution = clarabel.DefaultSolver(P, q, sparse.csc_matrix(A), b, kinds, settings).solve()
    return solution.x[-1] if str(solution.status) == 'Solved' else -np.inf


def in_turn(inputs, k):
    return inputs['friction'][k], inputs['traction'][k]


@pytest.mark.pins('tanner-1998/6.4/witness')
@pytest.mark.parametrize('states', [60, pytest.param(1000, marks=pytest.mark.slow)])
def test_margins_lie_between_those_of_linear_programs_with_64_facets(states):
    inputs, balance, target = random_states(states, 4, 1)
    reactions = admissible_reactions(**inputs, ranges=False)
    assert 0.1 * states < reactions.possible.sum() < 0.95 * states
    for k in range(states):
        outside = bool(k // 2 % 2)
        bound = margin_of_facets(balance, target[k], *in_turn(inputs, k), outside)
        if np.isinf(bound):
            assert reactions.margin[k] == bound
            assert reactions.mismatch[k] > 1.0
        elif outside:
            assert -1e-5 < bound - reactions.margin[k] < 2.0
        else:
            assert -1e-5 < reactions.margin[k] - bound < 2.0


@pytest.mark.parametrize('wheels', [3, 4, 6])
def test_margins_are_those_of_a_general_solver_of_cone_programs(wheels):
    clarabel = pytest.importorskip('clarabel', reason='the witness is not installed')
    inputs, balance, target = random_states(300, wheels, wheels)
    reactions = admissible_reactions(**inputs, ranges=False)
    peer = np.array([margin_of_clarabel(clarabel, balance, target[k], *in_turn(inputs, k)) for k in range(300)])
    assert reactions.margin == pytest.approx(peer, abs=1e-5)
    assert np.isfinite(peer).sum() > 20


def test_reactions_keep_the_balance_and_the_best_are_inside_by_the_margin():
    inputs, balance, target = random_states(200, 5, 2)
    reactions = admissible_reactions(**inputs, ranges=False)
    some = np.isfinite(reactions.margin)
    for forces in (reactions.split, reactions.best):
        assert forces[some].reshape(some.sum(), -1) @ balance.T == pytest.approx(target[some], abs=1e-8)
    inside = reactions.best[..., 2] - np.hypot(reactions.best[..., 0], reactions.best[..., 1]) / inputs['friction']
    assert inside[some] == pytest.approx(reactions.slack[some], abs=1e-8)
    assert reactions.margin[some] == pytest.approx(reactions.slack[some].min(axis=1), abs=1e-8)
    assert (reactions.split[some] ** 2).sum(axis=(1, 2)).max() < 1e8
    assert ((reactions.split**2).sum(axis=(1, 2)) <= (reactions.best**2).sum(axis=(1, 2)) + 1e-6)[some].all()


def test_every_force_reaches_the_ends_of_its_range_and_no_further():
    """With a bound on one force within its range reactions exist, with a bound beyond it none."""
    inputs, balance, target = random_states(6, 4, 5)
    reactions = admissible_reactions(**inputs)
    tested = 0
    for k in np.flatnonzero(reactions.possible):
        for wheel, axis in ((0, 2), (1, 1), (2, 0)):
            for end, sign in ((reactions.greatest[k, wheel, axis], 1.0), (reactions.least[k, wheel, axis], -1.0)):
                if np.isfinite(inputs['traction'][k, wheel]) and axis == 0:
                    assert end == pytest.approx(0.0, abs=1e-9)
                    continue
                friction, traction = in_turn(inputs, k)
                inner = _end_of_facets(balance, target[k], friction, traction, 3 * wheel + axis, sign, False)
                outer = _end_of_facets(balance, target[k], friction, traction, 3 * wheel + axis, sign, True)
                assert sign * inner - 1e-5 <= sign * end <= sign * outer + 1e-5
                tested += 1
    assert tested >= 12


def _end_of_facets(balance, target, friction, traction, which, sign, outside):
    wheels = len(friction)
    angle = 2.0 * np.pi * np.arange(FACETS) / FACETS
    shrunk = 1.0 if outside else np.cos(np.pi / FACETS)
    rows, right = prescribed_tractions(traction)
    facets = np.zeros((wheels, FACETS, 3 * wheels))
    for j in range(wheels):
        facets[j, :, 3 * j], facets[j, :, 3 * j + 1] = np.cos(angle), np.sin(angle)
        facets[j, :, 3 * j + 2] = -shrunk * friction[j]
    cost = np.zeros(3 * wheels)
    cost[which] = -sign
    solution = linprog(
        cost,
        facets.reshape(-1, 3 * wheels),
        np.zeros(wheels * FACETS),
        np.vstack([balance, rows[:, :-1]]),
        np.concatenate([target, right]),
        bounds=(None, None),
    )
    return solution.x[which]


def test_a_batch_equals_its_states_one_by_one():
    inputs, _, _ = random_states(12, 4, 7)
    batch = admissible_reactions(**inputs)
    for k in range(12):
        state = {name: value if name == 'points' else value[k] for name, value in inputs.items()}
        one = admissible_reactions(**state)
        for whole, single in zip(batch, one):
            np.testing.assert_array_equal(whole[k], single)


def test_reactions_turn_with_the_machine_and_grow_with_the_load():
    inputs, _, _ = random_states(20, 4, 8)
    inputs['traction'][:] = np.nan
    turn = np.linalg.qr(np.random.default_rng(3).normal(size=(3, 3)))[0]
    turn *= np.linalg.det(turn)
    here = admissible_reactions(**inputs, ranges=False)
    moved = {name: inputs[name] @ turn.T for name in ('points', 'com', 'force', 'moment')}
    there = admissible_reactions(
        **moved, friction=inputs['friction'], normal=turn[:, 2], rolling=turn[:, 0], ranges=False
    )
    assert there.margin == pytest.approx(here.margin, abs=1e-7)
    assert there.split == pytest.approx(here.split, abs=1e-7)
    heavier = inputs | {'force': 1e3 * inputs['force'], 'moment': 1e3 * inputs['moment']}
    assert admissible_reactions(**heavier, ranges=False).margin == pytest.approx(1e3 * here.margin, rel=1e-9, abs=1e-4)


def test_a_slope_is_held_up_to_the_angle_of_friction():
    points = below(FOUR)
    for angle, possible in ((np.arctan(0.7) - 1e-6, True), (np.arctan(0.7) + 1e-6, False)):
        load = 600.0 * np.array((0.0, np.sin(angle), -np.cos(angle)))
        reactions = admissible_reactions(points, (0, 0, -0.28), load, friction=0.7, ranges=False)
        assert reactions.possible == possible
        assert reactions.margin == pytest.approx(0.0, abs=1e-3)


def test_reactions_of_rm_1_in_motion():
    result = admissible_reactions(below(TRIANGLE), np.zeros(3), -S0[:3], -S0[3:], **ROLLING)
    *expected, use = tabulated('tanner-1998/6.4/S0')
    assert result.split == pytest.approx(np.array(expected), abs=1e-6)
    assert result.possible
    assert result.robust
    assert 0.7 * result.friction_use[:2] == pytest.approx(use, abs=1e-6)
    assert result.tightest == 0
    assert result.mismatch < 1e-8 * np.linalg.norm(S0)


def test_lateral_forces_of_rm_1_are_a_line_between_the_chords():
    result = admissible_reactions(below(TRIANGLE), np.zeros(3), -S0[:3], -S0[3:], **ROLLING)
    chords = lateral_chord(result.split[:2, 2], (30.0, 20.0), 0.7)
    assert chords == pytest.approx(tabulated('tanner-1998/6.4/chords')[0], abs=1e-6)
    assert (result.least[0, 1], result.greatest[0, 1]) == pytest.approx(tabulated('tanner-1998/6.4/interval'), abs=1e-6)
    assert result.greatest[1, 1] == pytest.approx(chords[1], abs=1e-6)
    assert result.freedom == 1
    normal = result.split[:, 2]
    assert result.least[:, 2] == pytest.approx(normal, abs=1e-6)
    assert result.greatest[:, 2] == pytest.approx(normal, abs=1e-6)
    at_rest = tabulated('tanner-1998/6.4/static')[0][:2]
    assert greatest_drive_torque(at_rest, 0.1, 0.7) == pytest.approx(tabulated('tanner-1998/6.4/chords')[1], abs=1e-6)


@pytest.mark.pins('tanner-1998/6.4/nullity', 'tanner-1998/3.1/S11')
@pytest.mark.parametrize(('wheels', 'all_free', 'driven'), [(3, 3, 1), (4, 6, 3), (6, 12, 7)])
def test_reactions_are_open_in_3_w_minus_6_directions(wheels, all_free, driven):
    """Prescribed tractions of wheels that roll about one point leave 2 w - 5."""
    rng = np.random.default_rng(wheels)
    points = np.column_stack([rng.normal(size=(wheels, 2)), np.full(wheels, -HEIGHT)])
    load = np.array((0.0, 0.0, -600.0))
    assert admissible_reactions(points, np.zeros(3), load, friction=0.7, ranges=False).freedom == all_free
    center = np.array((0.3, 5.0, 0.0))
    rolling = np.cross((0.0, 0.0, 1.0), points - center)
    reactions = admissible_reactions(
        points, np.zeros(3), load, friction=0.7, rolling=rolling, traction=np.zeros(wheels), ranges=False
    )
    assert reactions.freedom == driven
    assert np.isfinite(reactions.margin)


@pytest.mark.pins('tanner-1998/6.5/lateral')
def test_chords_that_reach_the_lateral_force_do_not_prove_a_motion():
    points = np.array([(-0.15, 0.3, 0.0), (-0.15, -0.3, 0.0), (0.35, 0.0, 0.0)])
    load = np.array((0.0, 0.0, -3.0))
    com = points.mean(axis=0)
    unit = 100.0  # one newton of each wheel stands for 100 N of chord

    def turned_by(moment):
        return admissible_reactions(
            points, com, load, (0, 0, -moment / unit), friction=1.0, traction=np.zeros(3), ranges=False
        )

    assert necessary_lateral_check(np.full(3, 100.0), 0.0)
    assert not turned_by(100.0).possible
    assert turned_by(50.0 - 1e-3).possible
    assert not turned_by(50.0 + 1e-3).possible


def test_normal_forces_of_four_wheels_have_one_open_direction():
    acceleration = np.array((-1.0, 1.5, 0.0))
    force = 60.0 * (np.array((0.0, 0.0, -9.81)) - acceleration) + (0.0, 0.0, -180.0)
    result = admissible_reactions(below(FOUR), np.zeros(3), force, (-12.0, 25.0, 0.0), friction=1e7)
    least, inside, ends = tabulated('tanner-1998/6.5/four')
    assert result.split[:, 2] == pytest.approx(least, abs=1e-6)
    best = admissible_reactions(below(FOUR), np.zeros(3), force, (-12.0, 25.0, 0.0), friction=1e7, ranges=False)
    assert best.best[:, 2] == pytest.approx(inside, abs=1e-3)
    assert best.margin == pytest.approx(inside[2], abs=1e-3)
    # along (1, -1, -1, 1) the third wheel lifts after 148.9 N, the fourth after -173.9 N
    steps = (result.greatest[0, 2] - result.split[0, 2], result.least[0, 2] - result.split[0, 2])
    assert steps == pytest.approx(ends[::-1], abs=1e-4)


@pytest.mark.parametrize(
    ('wheels', 'direction', 'critical'),
    [
        (FOUR, (1, 0), tabulated('tanner-1998/6.6/rigid')[0][0]),
        (FOUR, (-1, 0), tabulated('tanner-1998/6.6/rigid')[0][0]),
        (FOUR, (0, 1), 9.81),
        (TRIANGLE, (-1, 0), tabulated('tanner-1998/6.6/rigid')[0][0]),
        (TRIANGLE, (1, 0), 4.905),
        (TRIANGLE, (0, 1), 6.867),
    ],
)
def test_a_rigid_vehicle_tips_at_the_acceleration_of_the_closed_form(wheels, direction, critical):
    def at(acceleration):
        push = 60.0 * np.array((*(-acceleration * np.array(direction)), -9.81))
        return admissible_reactions(below(wheels), np.zeros(3), push, friction=100.0, ranges=False)

    assert at(critical * (1.0 - 1e-4)).possible
    assert not at(critical * (1.0 + 1e-4)).possible


def test_the_cone_is_the_one_of_coulomb_and_not_the_printed_one():
    for friction in (0.2, 0.5, 0.7, 1.0):
        assert cone_function((friction, 0.0, 1.0), friction) == pytest.approx(0.0, abs=1e-15)
    printed = np.array(tabulated('tanner-1998/6.6/friction')[1][:4])
    assert np.sqrt([0.2, 0.5, 0.7, 1.0]) == pytest.approx(printed, abs=1e-6)
    assert (cone_function(np.column_stack([printed[:3], np.zeros(3), np.ones(3)]), np.array((0.2, 0.5, 0.7))) > 0).all()
    wider = np.array(
        tabulated('tanner-1998/6.6/friction')[1][4:]
    )  # (5.7) as printed: above 45 degrees without friction
    assert np.sqrt(1.0 + np.array([0.2, 0.5, 0.7, 1.0])) == pytest.approx(wider, abs=1e-6)
    eigenvalues = np.linalg.eigvalsh(cone_hessian((3.0, 4.0, 1.0)))
    assert eigenvalues == pytest.approx([0.0, 0.0, 0.2], abs=1e-15)
    assert cone_gradient((3.0, 4.0, 1.0), 0.7) == pytest.approx([0.6, 0.8, -0.7])
    with pytest.raises(ValueError, match='on its axis'):
        cone_hessian((0.0, 0.0, 1.0))


@pytest.mark.pins('tanner-1998/3.1/S13')
def test_halfway_between_admissible_reactions_there_are_admissible_ones():
    inputs, _, _ = random_states(300, 4, 11)
    reactions = admissible_reactions(**inputs, ranges=False)
    friction = np.broadcast_to(inputs['friction'][:, :, None], reactions.best.shape)[..., 0]
    both = reactions.possible & reactions.robust
    half = 0.5 * (reactions.best + reactions.split)
    assert both.sum() > 50
    assert (cone_function(half, friction)[both] <= 1e-6).all()


@pytest.mark.pins('tanner-1998/3.1/S14')
def test_newton_s_balance_holds_where_the_wheels_slide():
    push = 60.0 * np.array((0.0, -7.0, -9.81))
    reactions = admissible_reactions(below(FOUR, 0.1), np.zeros(3), push, friction=0.7, ranges=False)
    assert reactions.mismatch < 1e-9
    assert reactions.split[:, 1].sum() == pytest.approx(420.0)
    assert not reactions.possible
    assert reactions.friction_use.max() > 1.0


def test_inconsistent_motion_and_drive_torques_are_distinguished_from_sliding():
    reactions = admissible_reactions(
        below(TRIANGLE), np.zeros(3), (-60.0, 0.0, -740.0), friction=(0.7, 0.7, 0), traction=(25.0, 25.0, 0.0)
    )
    assert not reactions.possible
    assert reactions.margin == -np.inf
    assert reactions.mismatch == pytest.approx(10.0)


def test_inputs_that_are_not_numbers_are_never_possible():
    for bad in ({'force': (0, 0, np.nan)}, {'com': (np.inf, 0, 0)}, {'friction': np.nan}):
        inputs = {'points': below(FOUR), 'com': np.zeros(3), 'force': (0, 0, -600.0), 'friction': 0.7} | bad
        reactions = admissible_reactions(**inputs)
        assert not reactions.possible
        assert np.isnan(reactions.margin)
        assert reactions.tightest == -1


@pytest.mark.parametrize('decimals', [16, 6])
def test_with_prescribed_tractions_every_state_has_a_margin(decimals):
    """Tractions near the border make the set thin: the last step of the program may be NaN."""
    rng = np.random.default_rng(1)
    for _ in range(150):
        points = np.column_stack([rng.uniform(-1.0, 1.0, (4, 2)), np.zeros(4)])
        forces = np.column_stack([rng.uniform(-200.0, 200.0, (4, 2)), rng.uniform(-20.0, 300.0, 4)])
        moment = -np.cross(points - (0.05, 0.03, 0.5), forces).sum(axis=0)
        reactions = admissible_reactions(
            points,
            (0.05, 0.03, 0.5),
            -forces.sum(axis=0),
            moment,
            friction=rng.choice([0.1, 0.5, 0.9]),
            traction=np.round(forces[:, 0], decimals),
            tolerance=1e-6,
            ranges=False,
        )
        assert np.isfinite(reactions.margin)
        assert np.isfinite(reactions.best).all()
        assert reactions.mismatch < 1e-5


def test_a_machine_that_is_pulled_up_has_no_admissible_reactions():
    reactions = admissible_reactions(below(FOUR), np.zeros(3), (0.0, 0.0, 100.0), friction=0.7)
    assert not reactions.possible
    assert reactions.margin == pytest.approx(-25.0)
    assert np.isinf(reactions.friction_use).all()
    assert np.isnan(reactions.least).all()


@pytest.mark.parametrize(
    ('bad', 'message'),
    [
        ({'friction': (0.7, -0.1, 0.7, 0.7)}, 'friction: expected coefficients of 0 or more, found -0.1 at 1'),
        ({'friction': (0.7, 0.7)}, r'friction: expected shape \(w,\) with w = 4'),
        ({'normal': (0, 0, 0)}, 'normal: expected a direction, found a vector of length zero'),
        ({'friction': 0.0, 'traction': 5.0}, 'traction: expected none at 0, which has no friction'),
        ({'rolling': (0, 0, 1), 'traction': 5.0}, 'rolling: expected a direction on the ground at 0, found none'),
        ({'points': (1.0, 2.0, 3.0)}, r'points: expected shape \(w, 3\)'),
    ],
)
def test_bad_input_is_rejected_by_name(bad, message):
    inputs = {'points': below(FOUR), 'com': np.zeros(3), 'force': (0, 0, -600.0), 'friction': 0.7} | bad
    with pytest.raises(ValueError, match=message):
        admissible_reactions(**inputs)


def test_the_measure_is_the_margin_of_the_wheels_on_their_plane():
    inputs, _, _ = random_states(30, 4, 21)
    inputs['points'][:, 2] = 0.0
    tilt = np.array([[0.96, 0.0, 0.28], [0.0, 1.0, 0.0], [-0.28, 0.0, 0.96]])
    feet, com, force, moment = (inputs[name] @ tilt.T for name in ('points', 'com', 'force', 'moment'))
    contact = {name: inputs[name] for name in ('friction', 'traction')}
    result = all_measures(
        feet, com, force, moment, mass=1.0, up=tilt[:, 2], travel=tilt[:, 0], names=['admissible'], **contact
    )['admissible']
    inputs |= {'traction': np.broadcast_to(inputs['traction'], (30, 4))}
    expected = admissible_reactions(**inputs, ranges=False)
    np.testing.assert_allclose(result.value, expected.margin, atol=1e-6)
    np.testing.assert_array_equal(result.valid, np.isfinite(expected.margin))
    one = margins(
        Support(feet, com[3], force[3], moment[3], 1.0, tilt[:, 2], travel=tilt[:, 0], friction=contact['friction'][3],
                traction=contact['traction'][3]),
        ['admissible'],
    )['admissible']  # fmt: skip
    assert one.value == pytest.approx(result.value[3], abs=1e-9)
    assert one.edges.min() == one.value


def test_one_compiled_kernel_serves_the_function_and_the_measure():
    feet, force = below(FOUR)[[0, 2, 3, 1]], (0.0, 0.0, -600.0)
    admissible_reactions(feet, np.zeros(3), force, friction=0.7, ranges=False)
    margins(Support(feet, np.zeros(3), force, np.zeros(3), 60.0, friction=np.full(4, 0.7)), ['admissible'])
    assert len(reactions_kernel.signatures) == 1


def test_without_friction_coefficients_the_measure_is_not_valid():
    feet = below(FOUR)[[0, 2, 3, 1]]
    margin = margins(Support(feet, np.zeros(3), (0, 0, -600.0), np.zeros(3), 60.0), ['admissible'])['admissible']
    assert np.isnan(margin.value)
    assert not margin.valid
