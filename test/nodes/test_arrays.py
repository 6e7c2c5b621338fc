from __future__ import annotations

import numpy as np

from dyn_nodes.middleware import deserialize_message, message, serialize_message
from dyn_nodes.nodes.arrays import floats

JointState = message('sensor_msgs/msg/JointState')


def test_floats_are_a_copy_that_a_message_takes():
    values = np.arange(8.0)[::2]
    made = JointState(position=floats(values))
    values[:] = -1.0
    assert list(made.position) == [0.0, 2.0, 4.0, 6.0]
    assert list(deserialize_message(serialize_message(made), JointState).position) == [0.0, 2.0, 4.0, 6.0]
