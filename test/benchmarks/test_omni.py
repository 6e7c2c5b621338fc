"""The benchmark of omnidirectional vehicles raises an error if our results and a peer's differ."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks import omni
from benchmarks.timing import best_of


def test_torques_agree_with_both_peers_with_limits_that_hold():
    pytest.importorskip('osqp')
    pytest.importorskip('quadprog')
    result = omni.torques(1)
    assert result['bound'] > 20, 'limits that never hold would make an easy race'


@pytest.mark.parametrize('name', ['three_wheels', 'four_wheels'])
def test_accelerations_agree_with_pinocchio_and_the_closed_form(name):
    pytest.importorskip('pinocchio')
    assert set(omni.dynamics(name, 1)) == {'ours', 'pinocchio'}


def test_a_wrong_result_raises():
    with pytest.raises(ValueError, match='nothing to compare'):
        omni.agree('x', omni.np.ones(3), omni.np.ones(3) * 1.001)


def test_the_faster_of_two_calls_has_the_lesser_time():
    slow, fast = best_of([lambda: sum(range(2000)), lambda: None], 20)
    assert fast < slow
