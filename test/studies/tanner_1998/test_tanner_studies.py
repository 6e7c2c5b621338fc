"""Studies of tanner-1998: claims on ground reactions hold, figures are drawn, and wrong parameters fail."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dyn_nodes.stability.friction_cone import cone_function
from dyn_nodes.studies.framework import Study, load_studies, run_study
from dyn_nodes.studies.tanner_1998 import kane, objects, operational, reactions, wheel_kinematics
from dyn_nodes.studies.tanner_1998.runs import by_multipliers
from dyn_nodes.studies.tanner_1998.team import BAR, TRIANGLE
from dyn_nodes.studies.tanner_1998.vehicle import rm_1
from dyn_nodes.studies.tanner_1998.wheels import Wheel


@pytest.mark.pins('tanner-1998/6.6/zmp')
@pytest.mark.parametrize(('name', 'claims'), [('e6', 14), ('e7', 12), ('e8', 14), ('e12', 20)])
def test_the_claims_of_a_study_hold(name, claims):
    result = run_study(load_studies()[f'tanner-1998/{name}'], plot=True)
    assert result.error == ''
    assert [claim for claim in result.claims if not claim.passed] == []
    assert len(result.claims) >= claims
    assert len(result.figures) == 1


WRONG = [
    ('e1', wheel_kinematics.e1, wheel_kinematics, 'E1', Wheel(0.41, 0.1, 0.1, 0.25, 0.3, 0.5), 4),
    ('e2', kane.e2, kane, 'VEHICLE_MASS', 61.0, 2),
    ('e3', kane.e3, kane, 'S0_TURN', 0.81, 5),
    ('e4', kane.e4, kane, 'by_multipliers', lambda robot, *run: by_multipliers(rm_1(1.001), *run), 1),
    ('e5', kane.e5, kane, 'S0_SPEED', 0.51, 1),
    ('e6', reactions.unique_reactions, reactions, 'S0_TRACTION', (31.0, 19.0, 0.0), 3),
    ('e7', reactions.tipping, reactions, 'FOUR', 1.01 * reactions.FOUR, 2),
    ('e8', reactions.friction_cone, reactions, 'cone_function', lambda f, mu: cone_function(f, np.sqrt(mu)), 3),
    ('e9', objects.e9, objects, 'SHEET', replace(objects.SHEET, poisson_ratio=0.29), 3),
    ('e10', objects.e10, objects, 'BAR', BAR._replace(damping=np.array([6.7])), 2),
    ('e11', objects.e11, objects, 'TRIANGLE', TRIANGLE._replace(rod_mass=np.full(3, 0.41)), 9),
    ('e12', reactions.circles, reactions, 'ARM_LEFT', (1.55, 0.0, 0.0), 4),
    ('operational-space', operational.operational, operational, 'TASK_VELOCITY', np.array([0.1, 0.2, -0.11]), 2),
]


@pytest.mark.parametrize(
    ('name', 'function', 'module', 'constant', 'value', 'least'), WRONG, ids=[row[0] for row in WRONG]
)
def test_claims_fail_with_a_wrong_parameter(name, function, module, constant, value, least, monkeypatch):
    monkeypatch.setattr(module, constant, value)
    monkeypatch.setattr(kane, 'STATES', 1)
    monkeypatch.setattr(kane, 'RUNS', ('free',))
    result = run_study(Study(f'tanner-1998/{name}', '', function))
    assert result.error == ''
    assert len([claim for claim in result.claims if not claim.passed]) >= least
