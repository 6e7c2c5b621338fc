"""Parameters: values with types, descriptors with ranges, rclpy's Parameter class."""

from __future__ import annotations

import array
import math
from enum import IntEnum
from typing import Any

import numpy as np

from .arguments import parse_value
from .types import message

ParameterDescriptor = message('rcl_interfaces/msg/ParameterDescriptor')
FloatingPointRange = message('rcl_interfaces/msg/FloatingPointRange')
IntegerRange = message('rcl_interfaces/msg/IntegerRange')
SetParametersResult = message('rcl_interfaces/msg/SetParametersResult')
ParameterValue = message('rcl_interfaces/msg/ParameterValue')
ParameterMsg = message('rcl_interfaces/msg/Parameter')

#: Relative tolerance of bounds and steps (as in rclpy).
_TOLERANCE = 1e-8
_INT64 = 1 << 63


class ParameterType(IntEnum):
    """Types of parameters, with the numbers of rcl_interfaces/ParameterType."""

    NOT_SET = 0
    BOOL = 1
    INTEGER = 2
    DOUBLE = 3
    STRING = 4
    BYTE_ARRAY = 5
    BOOL_ARRAY = 6
    INTEGER_ARRAY = 7
    DOUBLE_ARRAY = 8
    STRING_ARRAY = 9

    @classmethod
    def from_parameter_value(cls, value: Any) -> ParameterType:
        """Return the type of a Python value.

        Raises:
            TypeError: not a valid parameter value.
        """
        kind = _type_of(value)
        if kind is None:
            raise TypeError(f'The given value is not one of the allowed types: {value!r}')
        return kind

    def check(self, value: Any) -> bool:
        """Return whether a value has this type."""
        if self in _ARRAYS and isinstance(value, (list, tuple)) and not value:
            return True  # an empty list is an array of any type
        return _type_of(value) == self


_ARRAYS = {ParameterType(number) for number in range(5, 10)}
_FIELDS = {
    ParameterType.BOOL: 'bool_value',
    ParameterType.INTEGER: 'integer_value',
    ParameterType.DOUBLE: 'double_value',
    ParameterType.STRING: 'string_value',
    ParameterType.BYTE_ARRAY: 'byte_array_value',
    ParameterType.BOOL_ARRAY: 'bool_array_value',
    ParameterType.INTEGER_ARRAY: 'integer_array_value',
    ParameterType.DOUBLE_ARRAY: 'double_array_value',
    ParameterType.STRING_ARRAY: 'string_array_value',
}
_SCALARS: tuple[tuple[type, ParameterType], ...] = (
    (bool, ParameterType.BOOL),
    (int, ParameterType.INTEGER),
    (float, ParameterType.DOUBLE),
)


def _type_of(value: Any) -> ParameterType | None:
    if value is None:
        return ParameterType.NOT_SET
    for kind, parameter_type in _SCALARS:
        if isinstance(value, kind):
            return parameter_type
    if isinstance(value, str):
        return ParameterType.STRING
    if isinstance(value, (array.array, np.ndarray)):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        if not value:
            return ParameterType.BYTE_ARRAY
        if all(isinstance(item, bytes) and len(item) == 1 for item in value):
            return ParameterType.BYTE_ARRAY
        for kind, parameter_type in (*_SCALARS, (str, ParameterType.STRING)):
            if all(isinstance(item, kind) and (kind is not int or not isinstance(item, bool)) for item in value):
                return ParameterType(parameter_type + 5)
    return None


class Parameter:
    """A name, a type and a value.

    Args:
        name: name of the parameter.
        type_: type; None: from the value.
        value: value.

    Raises:
        ValueError: the value has another type.
        TypeError: no type, and a value without a parameter type.
    """

    Type = ParameterType
    __slots__ = ('_name', '_type_', '_value')

    def __init__(self, name: str, type_: ParameterType | None = None, value: Any = None) -> None:
        if isinstance(value, np.generic):
            value = value.item()
        if type_ is None:
            type_ = ParameterType.from_parameter_value(value)
        if not isinstance(type_, ParameterType):
            raise TypeError('type must be an instance of Parameter.Type')
        if not type_.check(value):
            raise ValueError(f"Type '{type_!r}' and value '{value!r}' do not agree")
        self._name, self._type_, self._value = name, type_, value

    @property
    def name(self) -> str:
        """The name."""
        return self._name

    @property
    def type_(self) -> ParameterType:
        """The type."""
        return self._type_

    @property
    def value(self) -> Any:
        """The value."""
        return self._value

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Parameter):
            return NotImplemented
        return (self.name, self.type_) == (other.name, other.type_) and bool(np.all(self.value == other.value))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f'Parameter(name={self.name!r}, type_={self.type_.name}, value={self.value!r})'

    def get_parameter_value(self) -> Any:
        """Return a rcl_interfaces/ParameterValue."""
        return value_to_message(self._type_, self._value)

    def to_parameter_msg(self) -> Any:
        """Return a rcl_interfaces/Parameter."""
        return ParameterMsg(name=self.name, value=self.get_parameter_value())

    @classmethod
    def from_parameter_msg(cls, msg: Any) -> Parameter:
        """Return the Parameter of a rcl_interfaces/Parameter."""
        return cls(msg.name, ParameterType(msg.value.type), parameter_value_to_python(msg.value))


def value_to_message(kind: ParameterType, value: Any) -> Any:
    """Return a rcl_interfaces/ParameterValue."""
    msg = ParameterValue(type=int(kind))
    if kind in _FIELDS:
        if kind == ParameterType.BYTE_ARRAY:
            value = b''.join(value)
        setattr(msg, _FIELDS[kind], list(value) if isinstance(value, (tuple, array.array, np.ndarray)) else value)
    return msg


def parameter_value_to_python(value: Any) -> Any:
    """Return the Python value of a rcl_interfaces/ParameterValue.

    Raises:
        RuntimeError: an unknown type.
    """
    if value.type == ParameterType.NOT_SET:
        return None
    try:
        kind = ParameterType(value.type)
    except ValueError:
        raise RuntimeError(f'Unexpected parameter type {value.type}') from None
    content = getattr(value, _FIELDS[kind])
    if kind == ParameterType.BYTE_ARRAY:
        return [bytes([item]) for item in content]
    return content.tolist() if isinstance(content, np.ndarray) else content


def get_parameter_value(string_value: str) -> Any:
    """Return the rcl_interfaces/ParameterValue of a text, read as YAML (as `ros2 param set` does)."""
    value = parse_value(string_value, 'parameter value')
    return value_to_message(ParameterType.from_parameter_value(value), value)


def range_problem(value: Any, descriptor: Any) -> str | None:
    """Return the reason why a value violates the range of its descriptor, or None."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int) and descriptor.integer_range:
        limits = descriptor.integer_range[0]
        if limits.from_value <= value <= limits.to_value or value in (limits.from_value, limits.to_value):
            if limits.step and value != limits.to_value and (value - limits.from_value) % limits.step:
                return f'value {value} is not a valid step: from {limits.from_value} by {limits.step}'
            return None
        return f'value {value} is out of range [{limits.from_value}, {limits.to_value}]'
    if isinstance(value, float) and descriptor.floating_point_range:
        limits = descriptor.floating_point_range[0]
        if math.isclose(value, limits.from_value, rel_tol=_TOLERANCE) or math.isclose(
            value, limits.to_value, rel_tol=_TOLERANCE
        ):
            return None
        if not limits.from_value <= value <= limits.to_value:  # NaN is out of every range
            return f'value {value} is out of range [{limits.from_value}, {limits.to_value}]'
        if limits.step:
            steps = (value - limits.from_value) / limits.step
            if not math.isclose(steps, round(steps), rel_tol=_TOLERANCE, abs_tol=_TOLERANCE):
                return f'value {value} is not a valid step: from {limits.from_value} by {limits.step}'
    return None


def value_problem(value: Any) -> str | None:
    """Return the reason why a value of a valid type cannot be a parameter, or None."""
    values = value if isinstance(value, (list, tuple)) else [value]
    for item in values:
        if isinstance(item, int) and not -_INT64 <= item < _INT64:
            return f'{item} does not fit in 64 bits'
    return None
