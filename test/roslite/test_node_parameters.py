from __future__ import annotations

import math

import numpy as np
import pytest
from draws import reached, reaches
from hypothesis import given
from hypothesis import strategies as st

from roslite.runtime.api import (
    FloatingPointRange,
    IntegerRange,
    InvalidParameterTypeException,
    InvalidParameterValueException,
    Node,
    Parameter,
    ParameterAlreadyDeclaredException,
    ParameterDescriptor,
    ParameterNotDeclaredException,
    ParameterUninitializedException,
    SetParametersResult,
    get_parameter_value,
    message,
    parameter_value_to_python,
)
from roslite.runtime.exceptions import InvalidParameterException, ParameterImmutableException
from roslite.runtime.parameters import range_problem


def in_range(low, high, step=0.0):
    kind = FloatingPointRange if isinstance(low, float) else IntegerRange
    field = 'floating_point_range' if isinstance(low, float) else 'integer_range'
    limits = kind(from_value=low, to_value=high, step=type(low)(step))
    return ParameterDescriptor(**{field: [limits]})


@pytest.mark.parametrize(
    ('value', 'kind'),
    [
        (True, Parameter.Type.BOOL),
        (1, Parameter.Type.INTEGER),
        (1.0, Parameter.Type.DOUBLE),
        ('a', Parameter.Type.STRING),
        ([b'a', b'b'], Parameter.Type.BYTE_ARRAY),
        ([True], Parameter.Type.BOOL_ARRAY),
        ([1, 2], Parameter.Type.INTEGER_ARRAY),
        ([1.0], Parameter.Type.DOUBLE_ARRAY),
        (['a'], Parameter.Type.STRING_ARRAY),
        (np.float64(2.0), Parameter.Type.DOUBLE),
        (np.array([1.0, 2.0]), Parameter.Type.DOUBLE_ARRAY),
    ],
)
def test_types_are_inferred_from_values_and_survive_the_message(value, kind):
    parameter = Parameter('p', value=value)
    assert parameter.type_ == kind
    back = Parameter.from_parameter_msg(parameter.to_parameter_msg())
    assert back.type_ == kind
    assert np.array_equal(back.value, value)


def test_a_value_that_no_parameter_can_hold_is_rejected():
    with pytest.raises(TypeError, match='not one of the allowed types'):
        Parameter('p', value=[1, 'a'])
    with pytest.raises(ValueError, match='do not agree'):
        Parameter('p', Parameter.Type.INTEGER, 1.0)


def test_a_text_becomes_a_value_as_ros2_param_set_reads_it():
    assert parameter_value_to_python(get_parameter_value('[1.0, 2.0]')) == [1.0, 2.0]
    assert parameter_value_to_python(get_parameter_value('on')) is True


def test_declared_defaults_and_overrides(make_context):
    args = ['--ros-args', '-p', 'gain:=2.0', '-p', 'empty:=[]', '-p', 'use_sim_time:=false']
    node = Node('tester', context=make_context(*args))
    assert node.declare_parameter('gain', 1.0).value == 2.0
    assert node.declare_parameter('other', 3).value == 3
    assert node.declare_parameter('empty', [1.0]).type_ == Parameter.Type.DOUBLE_ARRAY
    ignored = node.declare_parameters('sub', [('gain', 5.0), ('name', 'x', ParameterDescriptor(description='d'))])
    assert [item.name for item in ignored] == ['sub.gain', 'sub.name']
    assert node.describe_parameter('sub.name').description == 'd'
    assert node.describe_parameter('sub.name').type == Parameter.Type.STRING
    assert node.get_parameters_by_prefix('sub')['gain'].value == 5.0
    with pytest.raises(ParameterAlreadyDeclaredException):
        node.declare_parameter('gain', 1.0)
    with pytest.raises(InvalidParameterException):
        node.declare_parameter('', 1.0)


def test_an_override_of_another_type_is_rejected(make_context):
    node = Node('tester', context=make_context('--ros-args', '-p', 'gain:=2'))
    with pytest.raises(InvalidParameterTypeException, match=r'gain.*expected type DOUBLE'):
        node.declare_parameter('gain', 1.0)
    assert not node.has_parameter('gain')


def test_an_override_out_of_range_is_rejected(make_context):
    node = Node('tester', context=make_context('--ros-args', '-p', 'gain:=20.0'))
    with pytest.raises(InvalidParameterValueException, match=r'gain.*out of range \[0\.0, 10\.0\]'):
        node.declare_parameter('gain', 1.0, in_range(0.0, 10.0))
    assert not node.has_parameter('gain')


def test_a_parameter_declared_by_type_only_has_no_value_until_it_is_set(node):
    node.declare_parameter('rate', Parameter.Type.DOUBLE)
    with pytest.raises(ParameterUninitializedException):
        node.get_parameter('rate')
    assert node.get_parameter_or('rate', Parameter('rate', value=7.0)).value == 7.0
    assert node.set_parameters([Parameter('rate', value=2.0)])[0].successful
    assert node.get_parameter('rate').value == 2.0


def test_undeclared_parameters_are_rejected_unless_allowed(context, node):
    with pytest.raises(ParameterNotDeclaredException):
        node.get_parameter('nothing')
    with pytest.raises(ParameterNotDeclaredException):
        node.set_parameters([Parameter('nothing', value=1)])
    free = Node('free', context=context, allow_undeclared_parameters=True)
    assert free.set_parameters([Parameter('nothing', value=1)])[0].successful
    assert free.get_parameter('nothing').value == 1
    automatic = Node(
        'automatic',
        context=context,
        parameter_overrides=[Parameter('given', value=4)],
        automatically_declare_parameters_from_overrides=True,
    )
    assert automatic.get_parameter('given').value == 4


@pytest.mark.parametrize(
    ('descriptor', 'good', 'bad'),
    [
        (in_range(0.0, 10.0), [0.0, 10.0, 5.5], [-0.1, 10.1, math.nan, math.inf]),
        (in_range(0.0, 1.0, 0.25), [0.0, 0.25, 0.5, 1.0], [0.3, 1.25]),
        (in_range(-2, 5), [-2, 0, 5], [-3, 6]),
        (in_range(0, 10, 4), [0, 4, 8, 10], [1, 12]),
    ],
)
def test_ranges_and_steps_are_enforced(node, descriptor, good, bad):
    node.declare_parameter('p', good[0], descriptor)
    for value in good:
        assert node.set_parameters([Parameter('p', value=value)])[0].successful
    for value in bad:
        result = node.set_parameters([Parameter('p', value=value)])[0]
        assert not result.successful
        assert 'Parameter p: value' in result.reason
    assert node.get_parameter('p').value == good[-1]


@reaches(inside=3, outside=8)
@given(
    st.floats(-1e6, 1e6),
    st.floats(0.0, 1e6),
    st.floats(allow_nan=True) | st.floats(-2e6, 2e6),
    st.none() | st.floats(0.0, 1.0),
)
def test_a_value_inside_of_its_range_is_never_rejected_and_one_outside_always(low, width, value, part):
    value = value if part is None else low + part * width
    problem = range_problem(value, in_range(low, low + width))
    inside = low <= value <= low + width
    on_edge = math.isclose(value, low, rel_tol=1e-8) or math.isclose(value, low + width, rel_tol=1e-8)
    reached('inside', inside and not on_edge)
    reached('outside', not inside)
    assert (problem is None) == (inside or on_edge)


def test_read_only_and_wrong_types_are_rejected_and_dynamic_typing_is_free(node):
    node.declare_parameter('fixed', 1, ParameterDescriptor(read_only=True))
    node.declare_parameter('typed', 1)
    node.declare_parameter('free', 1, ParameterDescriptor(dynamic_typing=True))
    results = node.set_parameters(
        [Parameter('fixed', value=2), Parameter('typed', value='x'), Parameter('free', value='x')]
    )
    assert [item.successful for item in results] == [False, False, True]
    assert 'read-only' in results[0].reason
    assert 'expected INTEGER got STRING' in results[1].reason
    with pytest.raises(ParameterImmutableException):
        node.undeclare_parameter('fixed')
    node.undeclare_parameter('typed')
    assert not node.has_parameter('typed')


def test_an_integer_beyond_64_bits_is_rejected(node):
    node.declare_parameter('p', 1)
    result = node.set_parameters([Parameter('p', value=2**63)])[0]
    assert not result.successful
    assert '64 bits' in result.reason


def test_callbacks_receive_changes_reject_them_and_are_notified_afterwards(node):
    changed = []
    node.declare_parameters('', [('a', 1), ('b', 2)])

    def no_thirteen(parameters):
        bad = [item.name for item in parameters if item.value == 13]
        return SetParametersResult(successful=not bad, reason=f'{bad} must not be 13' if bad else '')

    node.add_on_set_parameters_callback(no_thirteen)
    node.add_post_set_parameters_callback(lambda parameters: changed.extend(parameters))
    node.add_pre_set_parameters_callback(lambda parameters: [*parameters, Parameter('b', value=9)])
    assert node.set_parameters([Parameter('a', value=5)])[0].successful
    assert [(item.name, item.value) for item in changed] == [('a', 5), ('b', 9)]
    result = node.set_parameters_atomically([Parameter('a', value=13)])
    assert not result.successful
    assert result.reason == "['a'] must not be 13"
    assert node.get_parameter('a').value == 5
    node.remove_on_set_parameters_callback(no_thirteen)
    assert node.set_parameters_atomically([Parameter('a', value=13)]).successful


def test_setting_atomically_is_all_or_nothing(node):
    node.declare_parameters('', [('a', 1), ('b', 0.5, in_range(0.0, 1.0))])
    result = node.set_parameters_atomically([Parameter('a', value=2), Parameter('b', value=2.0)])
    assert not result.successful
    assert (node.get_parameter('a').value, node.get_parameter('b').value) == (1, 0.5)


def test_changes_are_published_on_parameter_events(context, node, spinner):
    seen = []
    watcher = Node('watcher', context=context)
    spinner.executor.add_node(watcher)
    event = message('rcl_interfaces/msg/ParameterEvent')
    watcher.create_subscription(event, '/parameter_events', seen.append, 100)
    node.declare_parameter('a', 1)
    node.set_parameters([Parameter('a', value=2)])
    node.undeclare_parameter('a')
    mine = lambda: [item for item in seen if item.node == '/tester']  # noqa: E731
    spinner.until(lambda: len(mine()) >= 3)
    new, changed, deleted = mine()[-3:]
    assert [item.name for item in new.new_parameters] == ['a']
    assert changed.changed_parameters[0].value.integer_value == 2
    assert [item.name for item in deleted.deleted_parameters] == ['a']
