"""Commands of joints, checked and sorted."""

from __future__ import annotations

import numpy as np
import pytest

from dyn_nodes.middleware import message
from dyn_nodes.nodes.commands import RejectedError, joint_values

JointState = message('sensor_msgs/msg/JointState')
JOINTS = ('swing', 'boom', 'stick')
LIMITS = np.array([10.0, np.inf, 10.0])


@pytest.mark.parametrize('names', [JOINTS, JOINTS[::-1]])
def test_efforts_come_in_the_machines_order(names):
    efforts = {'swing': 1.0, 'boom': 200.0, 'stick': -3.0}
    kind, result, _ = joint_values(
        JointState(name=list(names), effort=[efforts[name] for name in names]), JOINTS, LIMITS
    )
    assert kind == 'effort'
    assert result.tolist() == [1.0, 200.0, -3.0]


@pytest.mark.parametrize('names', [JOINTS, JOINTS[::-1]])
@pytest.mark.parametrize(
    ('values', 'kind'),
    [
        ([1.0, np.inf, 1.0], 'not finite'),
        ([1.0, np.nan, 1.0], 'not finite'),
        ([11.0, 0.0, 0.0], 'out of range'),
        ([0.0, 0.0, -11.0], 'out of range'),
        ([0.0, 0.0], 'wrong size'),
        ([], 'wrong size'),
    ],
)
def test_bad_efforts_are_rejected_in_the_usual_order_of_joints_and_in_any_other(names, values, kind):
    ordered = values if names == JOINTS else values[::-1]
    with pytest.raises(RejectedError) as error:
        joint_values(JointState(name=list(names), effort=ordered), JOINTS, LIMITS)
    assert error.value.args[0] == kind or kind in str(error.value.__dict__)


def test_positions_beside_efforts_and_passive_joints_are_checked():
    both = JointState(name=list(JOINTS), effort=[1.0, 1.0, 1.0], position=[0.0, np.nan, 0.0])
    with pytest.raises(RejectedError):
        joint_values(both, JOINTS, LIMITS)
    with pytest.raises(RejectedError):
        joint_values(JointState(name=list(JOINTS), effort=[1.0] * 3), JOINTS, LIMITS, passive={'boom': 'free'})
