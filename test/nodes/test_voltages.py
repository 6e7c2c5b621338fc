"""Checks of the volts of actuators: the label names the actuators."""

from __future__ import annotations

import numpy as np
import pytest

from dyn_nodes.middleware import message
from dyn_nodes.nodes.arrays import volts_message
from dyn_nodes.nodes.commands import RejectedError, voltages

Volts, Dimension = message('std_msgs/msg/Float64MultiArray'), message('std_msgs/msg/MultiArrayDimension')


def labelled(label, values):
    msg = Volts(data=values)
    msg.layout.dim = [Dimension(label=label, size=len(values), stride=len(values))]
    return msg


def checked(msg, names):
    return voltages(msg, names, np.full(len(names), 8.0)).tolist()


@pytest.mark.parametrize('names', [('boom',), ('boom', 'stick')])
def test_volts_without_label_or_with_the_names_are_used(names):
    values = [1.0] * len(names)
    named = volts_message(names)
    named.data = values
    for msg in (Volts(data=values), labelled('', values), named):
        assert checked(msg, names) == values


@pytest.mark.parametrize(
    ('label', 'names'),
    [
        ('swing', ('boom',)),
        ('stick,boom', ('boom', 'stick')),
        ('boom', ('boom', 'stick')),
        ('boom,stick,swing', ('boom', 'stick')),
        ('boom,', ('boom',)),
    ],
    ids=['the only one is another', 'another order', 'fewer names than values', 'more names', 'a name that is empty'],
)
def test_volts_with_another_label_are_rejected_whatever_its_number_of_names(label, names):
    with pytest.raises(RejectedError, match='expected volts of boom') as caught:
        checked(labelled(label, [1.0] * len(names)), names)
    assert caught.value.kind == 'other actuators'
