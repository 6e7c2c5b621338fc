"""Two RM-1 that swing with a bar and carry it: runs of tanner-1998, section 6.8."""

from __future__ import annotations

import numpy as np
import pytest

from dyn_nodes.stability import admissible_reactions
from dyn_nodes.studies.framework import Study, run_study
from dyn_nodes.studies.tanner_1998 import carry
from dyn_nodes.studies.tanner_1998.carry import MOTIONS, carrying, idle, length
from dyn_nodes.studies.tanner_1998.robot import WHEELS
from dyn_nodes.studies.tanner_1998.team import BAR, Team, facing
from dyn_nodes.studies.tanner_1998.team_runs import moving, run
from dyn_nodes.studies.tanner_1998.vehicle import RADIUS, rm_1

PAIR = Team(BAR)
START = facing(BAR, MOTIONS)
HEIGHTS = 9.81 * 0.3 * (2 * 75.5 + 1.2)
"""The source's heights are those above the vehicles' mass centres, J."""


DAMPED_0_2 = (
    (-1.0091605915, 0.0066831671, 0.0376206499, 0.0219694190, 0.2605514250, -0.9007077308,
     0.2668422855, 0.0366407185, 0.0968461049, -4.2493700497, 2.3506342283),
    (1.1291480518, -0.0025249340, 3.1630184643, -0.0385869708, 0.2419808340, -0.8430514948,
     0.3321508372, -0.0100899158, -0.1892504280, -4.3463752292, 2.7372362362),
)  # fmt: skip
DAMPED_1 = (
    (-0.439898077, 0.062998856, 0.062412335, 0.233279577, -1.146325175, 0.462886738,
     0.912536031, 0.023328108, 3.958335857, 4.130686467, -11.380925008),
    (1.034622900, -0.008759319, 3.180463853, 0.320370879, -1.249207655, 1.219254689,
     -0.361733254, -0.032818758, -2.639637377, -0.589051300, 4.114684790),
)  # fmt: skip


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


@pytest.mark.pins('tanner-1998/6.8/damped', 'tanner-1998/6.8/free')
def test_two_robots_drop_their_arms_with_the_bar():
    early, end = run(PAIR, START, idle, (0.2, 1.0))
    assert early.robots == pytest.approx(np.array(DAMPED_0_2), abs=1e-8)
    assert length(early.robots) == pytest.approx(0.597064428, abs=1e-9)
    assert early.lost == pytest.approx(0.019639275, abs=1e-9)
    assert end.robots == pytest.approx(np.array(DAMPED_1), abs=1e-6)
    assert length(end.robots) == pytest.approx(0.591130641, abs=1e-8)
    assert end.lost == pytest.approx(19.073375218, abs=1e-8)
    for now in (early, end):
        assert now.energy[1] - now.energy[0] + now.lost == pytest.approx(0.0, abs=1e-8)
        left = PAIR.balance(PAIR.members(now.robots, now.efforts), now.held)
        assert np.abs([left.force, left.moment]).max() < 1e-8


@pytest.mark.pins('tanner-1998/6.8/free')
def test_two_robots_with_a_bar_without_damping_keep_their_energy():
    (end,) = run(Team(BAR._replace(damping=np.zeros(1))), START, idle, (1.0,))
    assert end.energy[0] - HEIGHTS == pytest.approx(132.724903609, abs=1e-8)
    assert end.energy[1] - end.energy[0] == pytest.approx(0.0, abs=1e-8)
    assert length(end.robots) == pytest.approx(0.619501861, abs=1e-8)


CARRY = {
    0.0: ((-1.064502, 1.064502), (223.027178, 300.486644), (223.027178, 300.486644), (0, 0), (5.886, 5.886)),
    0.5: ((-1.044161, 1.084837), (233.751407, 279.013441), (212.292142, 321.982442), (13.907445, -13.912245),
          (5.884570, 5.887576)),
    1.0: ((-0.937547, 1.191415), (236.650988, 273.228584), (209.408418, 327.734070), (17.650627, -17.656982),
          (5.885367, 5.886533)),
    2.0: ((-0.499920, 1.629085), (224.007339, 298.536307), (222.044901, 302.442116), (1.273480, -1.271941),
          (5.886627, 5.885490)),
}  # fmt: skip
"""Places, m; normal forces of drives and castor of both robots, pulls of the wheels and weights at the hands, N."""


@pytest.mark.pins('tanner-1998/6.8/carry')
def test_two_robots_carry_the_bar():
    used = []
    start = facing(BAR, [(0.0, 0.0, (0, 0, 0))] * 2)
    for now, expected in zip(run(PAIR, start, carrying, tuple(CARRY), 1e-8), CARRY.values()):
        places, *normal, pulls, carried = expected
        members = PAIR.members(now.robots, now.efforts)
        left = PAIR.balance(members, now.held)
        assert np.abs([left.force, left.moment]).max() < 1e-8
        assert now.energy[1] - now.energy[0] - now.work + now.lost == pytest.approx(0.0, abs=1e-8)
        assert now.robots[:, 0] == pytest.approx(places, abs=1e-6)
        assert now.held.force[:, 2] == pytest.approx(carried, abs=1e-6)
        assert abs(length(now.robots) - 0.6) < 6e-6
        for k, (drive, castor) in enumerate(normal):
            load = PAIR.ground_load(members[k], now.held.speed_rates[k], now.held.force[k])
            own = now.efforts[k][[rm_1().blocks.tree.velocity_index(name) for name in rm_1().drives]] / RADIUS
            assert own == pytest.approx([pulls[k]] * 2, abs=1e-6)
            split = admissible_reactions(
                WHEELS, np.zeros(3), load[:3], load[3:], friction=(0.7, 0.7, 0.0), traction=(*own, 0.0), ranges=False
            ).split
            assert split[:, 2] == pytest.approx((drive, drive, castor), abs=1e-6)
            used.append(np.linalg.norm(split[:, :2], axis=1) / split[:, 2])
    assert np.max(used) == pytest.approx(0.0843, abs=5e-5)


def test_claims_of_the_runs_fail_with_a_heavier_bar(monkeypatch):
    monkeypatch.setattr(carry, 'BAR', BAR._replace(rod_mass=np.array([1.3])))
    monkeypatch.setattr(carry, 'SECONDS', (0.2,))
    result = run_study(Study('tanner-1998/test', '', carry.e10_runs))
    assert [claim.claim for claim in result.claims if not claim.passed] != []
