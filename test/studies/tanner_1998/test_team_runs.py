"""Two RM-1 that swing with a bar and carry it: runs of tanner-1998, section 6.8."""

from __future__ import annotations

import numpy as np
import pytest

from dyn_nodes.stability import admissible_reactions
from dyn_nodes.studies.framework import Study, run_study
from dyn_nodes.studies.reference import tabulated
from dyn_nodes.studies.tanner_1998 import carry
from dyn_nodes.studies.tanner_1998.carry import MOTIONS, carrying, idle, length
from dyn_nodes.studies.tanner_1998.robot import WHEELS
from dyn_nodes.studies.tanner_1998.team import BAR, Team, facing
from dyn_nodes.studies.tanner_1998.team_runs import moving, run
from dyn_nodes.studies.tanner_1998.vehicle import RADIUS, rm_1

PAIR = Team(BAR)
START = facing(BAR, MOTIONS)
HEIGHTS = 9.81 * 0.3 * (2 * 75.5 + 1.2)
"""Potential energy of the source's heights, which are above the vehicles' mass centres, J."""


def test_a_robot_of_a_run_is_the_one_of_kane_s_equations():
    efforts = [rm_1().efforts((0.5, 20, 4), (1, 1.5)), rm_1().efforts((-0.3, 19, 5), (-1, -1.2))]
    members = PAIR.members(START, efforts)
    held = PAIR.solve(members)
    now, _ = run(PAIR, START, lambda t, k, state, robot: efforts[k], (0.0, 1e-6))
    assert now.held.acceleration == pytest.approx(held.acceleration, rel=1e-11)
    assert now.held.force == pytest.approx(held.force, rel=1e-10)
    for k, one in enumerate(members):
        mine = moving(START[k])
        assert mine.hand(efforts[k]).free == pytest.approx(one.hand.free, abs=1e-10)
        assert mine.partial.T @ mine.weight == pytest.approx(one.here.gravity, abs=1e-10)


def test_two_robots_drop_their_arms_with_the_bar():
    early, end = run(PAIR, START, idle, (0.2, 1.0))
    first, second, reach, loss = tabulated('tanner-1998/6.8/damped')
    assert early.robots == pytest.approx(np.array([first, second]), abs=1e-8)
    assert length(early.robots) == pytest.approx(reach, abs=1e-9)
    assert early.lost == pytest.approx(loss, abs=1e-9)
    first, second, loss, reach, *_ = tabulated('tanner-1998/6.8/free')
    assert end.robots == pytest.approx(np.array([first, second]), abs=1e-6)
    assert length(end.robots) == pytest.approx(reach, abs=1e-8)
    assert end.lost == pytest.approx(loss, abs=1e-8)
    for now in (early, end):
        assert now.energy[1] - now.energy[0] + now.lost == pytest.approx(0.0, abs=1e-8)
        left = PAIR.balance(PAIR.members(now.robots, now.efforts), now.held)
        assert np.abs([left.force, left.moment]).max() < 1e-8


def test_two_robots_with_a_bar_without_damping_keep_their_energy():
    (end,) = run(Team(BAR._replace(damping=np.zeros(1))), START, idle, (1.0,))
    assert end.energy[0] - HEIGHTS == pytest.approx(tabulated('tanner-1998/6.8/free')[4], abs=1e-8)
    assert end.energy[1] - end.energy[0] == pytest.approx(0.0, abs=1e-8)
    assert length(end.robots) == pytest.approx(tabulated('tanner-1998/6.8/free')[5], abs=1e-8)


TIMES = (0.0, 0.5, 1.0, 2.0)


def test_two_robots_carry_the_bar():
    *rows, greatest = tabulated('tanner-1998/6.8/carry')
    used = []
    start = facing(BAR, [(0.0, 0.0, (0, 0, 0))] * 2)
    for now, positions, forces in zip(run(PAIR, start, carrying, TIMES, 1e-8), rows[:4], rows[4:]):
        *normal, pulls, carried = forces.reshape(4, 2)
        members = PAIR.members(now.robots, now.efforts)
        left = PAIR.balance(members, now.held)
        assert np.abs([left.force, left.moment]).max() < 1e-8
        assert now.energy[1] - now.energy[0] - now.work + now.lost == pytest.approx(0.0, abs=1e-8)
        assert now.robots[:, 0] == pytest.approx(positions, abs=1e-6)
        assert now.held.force[:, 2] == pytest.approx(carried, abs=1e-6)
        assert abs(length(now.robots) - 0.6) < 6e-6
        for k, (drive, castor) in enumerate(normal):
            load = PAIR.ground_load(members[k], now.held.speed_rates[k], now.held.force[k])
            tractions = now.efforts[k][[rm_1().blocks.tree.velocity_index(name) for name in rm_1().drives]] / RADIUS
            assert tractions == pytest.approx([pulls[k]] * 2, abs=1e-6)
            split = admissible_reactions(
                WHEELS,
                np.zeros(3),
                load[:3],
                load[3:],
                friction=(0.7, 0.7, 0.0),
                traction=(*tractions, 0.0),
                ranges=False,
            ).split
            assert split[:, 2] == pytest.approx((drive, drive, castor), abs=1e-6)
            used.append(np.linalg.norm(split[:, :2], axis=1) / split[:, 2])
    assert np.max(used) == pytest.approx(greatest, abs=5e-5)


def test_claims_of_the_runs_fail_with_a_heavier_bar(monkeypatch):
    monkeypatch.setattr(carry, 'BAR', BAR._replace(rod_mass=np.array([1.3])))
    monkeypatch.setattr(carry, 'SECONDS', (0.2,))
    result = run_study(Study('tanner-1998/test', '', carry.e10_runs))
    assert [claim.claim for claim in result.claims if not claim.passed] != []
