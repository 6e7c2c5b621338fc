"""The errors that rclpy raises, under rclpy's names."""

from __future__ import annotations


class NotInitializedException(Exception):  # noqa: N818  # rclpy's name
    """A context is used before `init` or after `shutdown`."""

    def __init__(self, text: str = 'init() has not been called') -> None:
        super().__init__(text)


class ExternalShutdownException(Exception):  # noqa: N818
    """The context was shut down from outside (SIGTERM) while an executor was waiting."""


class TimeoutException(Exception):  # noqa: N818
    """Nothing became ready in the time given."""


class ShutdownException(Exception):  # noqa: N818
    """The executor was shut down."""


class RCLError(RuntimeError):
    """Something that rcl refuses."""


class InvalidHandle(RCLError):  # noqa: N818
    """An entity is used after it was destroyed."""


class RCLInvalidROSArgsError(RCLError):
    """`--ros-args` that cannot be understood."""


class UnknownROSArgsError(RCLInvalidROSArgsError):
    """`--ros-args` with a flag that does not exist."""


class NameValidationException(Exception):  # noqa: N818
    """A name that breaks ROS 2's rules.

    Args:
        kind: what is named, such as 'topic name'.
        name: the name.
        reason: the rule.
        index: position of the first bad character.
    """

    def __init__(self, kind: str, name: str, reason: str, index: int) -> None:
        super().__init__(f'Invalid {kind}: {reason}:\n  {name!r}\n  {" " * (index + 1)}^')
        self.name, self.error_msg, self.invalid_index = name, reason, index


class InvalidNodeNameException(NameValidationException):
    """A bad node name."""


class InvalidNamespaceException(NameValidationException):
    """A bad namespace."""


class InvalidTopicNameException(NameValidationException):
    """A bad topic name."""


class InvalidServiceNameException(NameValidationException):
    """A bad service name."""


class ParameterException(Exception):  # noqa: N818
    """Base of the parameter errors.

    Args:
        message: what is wrong.
        parameters: name or names concerned.
    """

    def __init__(self, message: str, parameters: object) -> None:
        super().__init__(message, parameters)


class ParameterNotDeclaredException(ParameterException):
    """A parameter is used that was not declared."""

    def __init__(self, parameters: object) -> None:
        super().__init__('Invalid access to undeclared parameter(s)', parameters)


class ParameterAlreadyDeclaredException(ParameterException):
    """A parameter is declared twice."""

    def __init__(self, parameters: object) -> None:
        super().__init__('Parameter(s) already declared', parameters)


class InvalidParameterException(ParameterException):
    """A parameter's name is not allowed."""

    def __init__(self, parameters: object) -> None:
        super().__init__('Invalid parameter name', parameters)


class InvalidParameterTypeException(ParameterException):
    """A parameter's value has another type than was declared."""

    def __init__(self, parameter: object, expected: object) -> None:
        Exception.__init__(self, f'Trying to set parameter {parameter!s}: expected type {expected}')


class InvalidParameterValueException(ParameterException):
    """A parameter's value was refused."""

    def __init__(self, parameter: str, value: object, reason: str) -> None:
        Exception.__init__(self, f"Invalid parameter value ({value!r}) for parameter '{parameter}'. Reason: {reason}")


class ParameterImmutableException(ParameterException):
    """A read-only parameter is changed."""

    def __init__(self, parameter: object) -> None:
        super().__init__('Attempted to modify read-only parameter', parameter)


class ParameterUninitializedException(ParameterException):
    """A parameter without a value is read."""

    def __init__(self, parameter: object) -> None:
        super().__init__('The parameter is not initialized', parameter)
