"""Errors with rclpy's names."""

from __future__ import annotations


class NotInitializedException(Exception):  # noqa: N818  # rclpy's name
    """A context is used before `init` or after `shutdown`."""

    def __init__(self, text: str = 'init() has not been called') -> None:
        super().__init__(text)


class ExternalShutdownException(Exception):  # noqa: N818
    """The context was shut down externally (SIGTERM) while an executor was waiting."""


class TimeoutException(Exception):  # noqa: N818
    """No work became ready within the timeout."""


class ShutdownException(Exception):  # noqa: N818
    """The executor was shut down."""


class RCLError(RuntimeError):
    """An operation rejected by rcl."""


class InvalidHandle(RCLError):  # noqa: N818
    """An entity is used after it was destroyed."""


class RCLInvalidROSArgsError(RCLError):
    """Invalid `--ros-args`."""


class UnknownROSArgsError(RCLInvalidROSArgsError):
    """`--ros-args` with a flag that does not exist."""


class NameValidationException(Exception):  # noqa: N818
    """A name that violates ROS 2's rules.

    Args:
        kind: kind of name, such as 'topic name'.
        name: the name.
        reason: the rule.
        index: position of the first invalid character.
    """

    def __init__(self, kind: str, name: str, reason: str, index: int) -> None:
        super().__init__(f'Invalid {kind}: {reason}:\n  {name!r}\n  {" " * (index + 1)}^')
        self.name, self.error_msg, self.invalid_index = name, reason, index


class InvalidNodeNameException(NameValidationException):
    """An invalid node name."""


class InvalidNamespaceException(NameValidationException):
    """An invalid namespace."""


class InvalidTopicNameException(NameValidationException):
    """An invalid topic name."""


class InvalidServiceNameException(NameValidationException):
    """An invalid service name."""


class ParameterException(Exception):  # noqa: N818
    """Base of the parameter errors.

    Args:
        message: description of the error.
        parameters: affected name or names.
    """

    def __init__(self, message: str, parameters: object) -> None:
        super().__init__(message, parameters)


class ParameterNotDeclaredException(ParameterException):
    """Use of an undeclared parameter."""

    def __init__(self, parameters: object) -> None:
        super().__init__('Invalid access to undeclared parameter(s)', parameters)


class ParameterAlreadyDeclaredException(ParameterException):
    """A parameter is declared twice."""

    def __init__(self, parameters: object) -> None:
        super().__init__('Parameter(s) already declared', parameters)


class InvalidParameterException(ParameterException):
    """An invalid parameter name."""

    def __init__(self, parameters: object) -> None:
        super().__init__('Invalid parameter name', parameters)


class InvalidParameterTypeException(ParameterException):
    """A parameter value of another type than declared."""

    def __init__(self, parameter: object, expected: object) -> None:
        Exception.__init__(self, f'Trying to set parameter {parameter!s}: expected type {expected}')


class InvalidParameterValueException(ParameterException):
    """A rejected parameter value."""

    def __init__(self, parameter: str, value: object, reason: str) -> None:
        Exception.__init__(self, f"Invalid parameter value ({value!r}) for parameter '{parameter}'. Reason: {reason}")


class ParameterImmutableException(ParameterException):
    """A change of a read-only parameter."""

    def __init__(self, parameter: object) -> None:
        super().__init__('Attempted to modify read-only parameter', parameter)


class ParameterUninitializedException(ParameterException):
    """A read access to a parameter without a value."""

    def __init__(self, parameter: object) -> None:
        super().__init__('The parameter is not initialized', parameter)
