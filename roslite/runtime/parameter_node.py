"""Parameters of Node."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

from .exceptions import (
    InvalidParameterException,
    InvalidParameterTypeException,
    InvalidParameterValueException,
    ParameterAlreadyDeclaredException,
    ParameterImmutableException,
    ParameterNotDeclaredException,
    ParameterUninitializedException,
)
from .names import is_parameter_name
from .parameters import (
    Parameter,
    ParameterDescriptor,
    ParameterType,
    SetParametersResult,
    range_problem,
    value_problem,
)
from .types import message

_UNSET = object()


class ParameterNode:
    """Declares, gets and sets parameters, and publishes changes."""

    def _init_parameters(self, overrides: dict[str, Parameter], allow_undeclared: bool) -> None:
        self._parameters: dict[str, Parameter] = {}
        self._descriptors: dict[str, Any] = {}
        self._overrides = overrides
        self._allow_undeclared = allow_undeclared
        self._pre_set: list[Callable[[list[Parameter]], list[Parameter]]] = []
        self._on_set: list[Callable[[list[Parameter]], Any]] = []
        self._post_set: list[Callable[[list[Parameter]], None]] = []

    def _publish_parameter_event(self, event: Any) -> None:
        raise NotImplementedError

    def declare_parameter(
        self,
        name: str,
        value: Any = _UNSET,
        descriptor: Any = None,
        ignore_override: bool = False,
    ) -> Parameter:
        """Declare a parameter and return it.

        Args:
            name: name.
            value: default value; or a `Parameter.Type` without a default.
            descriptor: description, range, `read_only`, `dynamic_typing`.
            ignore_override: ignore values from the command line or a file.

        Raises:
            ParameterAlreadyDeclaredException, InvalidParameterException: an invalid name.
            InvalidParameterTypeException: the override has another type than the default.
            InvalidParameterValueException: a range or a callback rejected the value.
        """
        entry: tuple[Any, ...] = (name,) if value is _UNSET else (name, value)
        if descriptor is not None:
            entry = (*entry, descriptor) if value is not _UNSET else (name, None, descriptor)
        return self.declare_parameters('', [entry], ignore_override)[0]

    def declare_parameters(
        self, namespace: str, parameters: Sequence[tuple[Any, ...]], ignore_override: bool = False
    ) -> list[Parameter]:
        """Declare and return parameters from tuples (name, default or type, descriptor), names under `namespace`."""
        made: list[tuple[Parameter, Any]] = []
        for entry in parameters:
            made.append(self._prepare_declaration(namespace, entry, ignore_override))
        taken = [parameter.name for parameter, _ in made if parameter.name in self._parameters]
        if taken:
            raise ParameterAlreadyDeclaredException(taken)
        bad = [parameter.name for parameter, _ in made if not is_parameter_name(parameter.name)]
        if bad:
            raise InvalidParameterException(bad[0])
        result = []
        for parameter, descriptor in made:
            self._declare(parameter, descriptor)
            result.append(self._parameters[parameter.name])
        return result

    def _prepare_declaration(self, namespace: str, entry: tuple[Any, ...], ignore: bool) -> tuple[Parameter, Any]:
        if not entry or not isinstance(entry[0], str):
            raise TypeError(f'a parameter is declared by (name, value, descriptor), found {entry!r}')
        name = f'{namespace}.{entry[0]}' if namespace else entry[0]
        value = entry[1] if len(entry) > 1 else None
        descriptor = copy.copy(entry[2]) if len(entry) > 2 and entry[2] is not None else ParameterDescriptor()
        if isinstance(value, ParameterType):
            if value == ParameterType.NOT_SET:
                raise ValueError(f'{name}: cannot declare a parameter as NOT_SET')
            kind: ParameterType = value
            value = None
        else:
            kind = Parameter(name, value=value).type_
            if kind == ParameterType.NOT_SET:
                descriptor.dynamic_typing = True
        descriptor.name = name
        if not descriptor.dynamic_typing:
            descriptor.type = int(kind)
        override = None if ignore else self._overrides.get(name)
        if override is None:
            return Parameter(name, ParameterType.NOT_SET if value is None else kind, value), descriptor
        return self._fit(override, descriptor), descriptor

    @staticmethod
    def _fit(parameter: Parameter, descriptor: Any) -> Parameter:
        """Return the parameter; an empty list, which has no type in YAML, gets the declared array type."""
        if not descriptor.dynamic_typing and descriptor.type and parameter.type_ != descriptor.type:
            kind = ParameterType(descriptor.type)
            if kind.check(parameter.value):
                return Parameter(parameter.name, kind, parameter.value)
        return parameter

    def _declare(self, parameter: Parameter, descriptor: Any) -> None:
        name = parameter.name
        if parameter.type_ != ParameterType.NOT_SET:
            if not descriptor.dynamic_typing and parameter.type_ != descriptor.type:
                raise InvalidParameterTypeException(parameter, ParameterType(descriptor.type).name)
            self._descriptors[name] = descriptor
            result = self._apply([parameter], check_read_only=False)
            if not result.successful:
                self._descriptors.pop(name, None)
                raise InvalidParameterValueException(name, parameter.value, result.reason)
        else:
            self._descriptors[name] = descriptor
            self._parameters[name] = parameter

    def undeclare_parameter(self, name: str) -> None:
        """Remove a parameter.

        Raises:
            ParameterNotDeclaredException, ParameterImmutableException: an undeclared or a read-only parameter.
        """
        self._check_declared(name)
        if self._descriptors[name].read_only:
            raise ParameterImmutableException(name)
        gone = self._parameters.pop(name)
        del self._descriptors[name]
        self._publish_parameter_event(self._event(deleted=[gone]))

    def has_parameter(self, name: str) -> bool:
        """Return whether a parameter is declared."""
        return name in self._parameters

    def _check_declared(self, name: str) -> None:
        if name not in self._parameters:
            raise ParameterNotDeclaredException(name)

    def get_parameter(self, name: str) -> Parameter:
        """Return a parameter.

        Raises:
            ParameterNotDeclaredException: an undeclared parameter.
            ParameterUninitializedException: a parameter declared by type that has no value yet.
        """
        if name not in self._parameters and self._allow_undeclared:
            return Parameter(name, ParameterType.NOT_SET, None)
        self._check_declared(name)
        parameter = self._parameters[name]
        if parameter.type_ == ParameterType.NOT_SET and not self._descriptors[name].dynamic_typing:
            raise ParameterUninitializedException(name)
        return parameter

    def get_parameters(self, names: Sequence[str]) -> list[Parameter]:
        """Return parameters by name."""
        return [self.get_parameter(name) for name in names]

    def get_parameter_or(self, name: str, alternative_value: Parameter | None = None) -> Parameter:
        """Return a parameter, or the alternative if it is undeclared or has no value."""
        parameter = self._parameters.get(name)
        if parameter is None or parameter.type_ == ParameterType.NOT_SET:
            return alternative_value or Parameter(name, ParameterType.NOT_SET, None)
        return parameter

    def get_parameters_by_prefix(self, prefix: str) -> dict[str, Parameter]:
        """Return the parameters whose name starts with `prefix.`, by the rest of the name."""
        start = f'{prefix}.' if prefix else ''
        return {name[len(start) :]: item for name, item in self._parameters.items() if name.startswith(start)}

    def get_parameter_type(self, name: str) -> ParameterType:
        """Return the type of a parameter."""
        if name not in self._parameters and self._allow_undeclared:
            return ParameterType.NOT_SET
        self._check_declared(name)
        return self._parameters[name].type_

    def describe_parameter(self, name: str) -> Any:
        """Return the descriptor of a parameter."""
        if name not in self._descriptors and self._allow_undeclared:
            return ParameterDescriptor(name=name)
        self._check_declared(name)
        return self._descriptors[name]

    def describe_parameters(self, names: Sequence[str]) -> list[Any]:
        """Return descriptors by name."""
        return [self.describe_parameter(name) for name in names]

    def set_descriptor(self, name: str, descriptor: Any, alternative_value: Any = None) -> Any:
        """Replace the descriptor of a parameter and return its value as a message."""
        self._check_declared(name)
        if self._descriptors[name].read_only:
            raise ParameterImmutableException(name)
        descriptor = copy.copy(descriptor)
        descriptor.name, descriptor.type = name, self._descriptors[name].type
        problem = range_problem(self._parameters[name].value, descriptor)
        if problem:
            raise InvalidParameterValueException(name, self._parameters[name].value, problem)
        self._descriptors[name] = descriptor
        return self._parameters[name].get_parameter_value()

    def set_parameters(self, parameters: Sequence[Parameter]) -> list[Any]:
        """Set parameters one by one; return a SetParametersResult for each.

        Raises:
            ParameterNotDeclaredException: an undeclared parameter.
        """
        self._check_all_declared(parameters)
        return [self._set_together([parameter]) for parameter in parameters]

    def set_parameters_atomically(self, parameters: Sequence[Parameter]) -> Any:
        """Set all parameters or none; return one SetParametersResult.

        Raises:
            ParameterNotDeclaredException: an undeclared parameter.
        """
        self._check_all_declared(parameters)
        return self._set_together(list(parameters))

    def _check_all_declared(self, parameters: Sequence[Parameter]) -> None:
        missing = [item.name for item in parameters if item.name not in self._parameters]
        if missing and not self._allow_undeclared:
            raise ParameterNotDeclaredException(missing)

    def _set_together(self, parameters: list[Parameter]) -> Any:
        for callback in self._pre_set:
            parameters = callback(parameters)
            if not parameters:
                return SetParametersResult(
                    successful=False, reason='parameter list cannot be empty, this might be due to a pre-set callback'
                )
        for item in parameters:
            if item.name not in self._parameters and not self._allow_undeclared:
                return SetParametersResult(successful=False, reason=f'parameter {item.name} is not declared')
        return self._apply(parameters)

    def _problem(self, parameter: Parameter, check_read_only: bool) -> str | None:
        descriptor = self._descriptors.get(parameter.name)
        if descriptor is None:
            return value_problem(parameter.value)
        if check_read_only and descriptor.read_only:
            return f'Trying to set a read-only parameter: {parameter.name}.'
        if not descriptor.dynamic_typing:
            if parameter.type_ == ParameterType.NOT_SET:
                return 'Static parameter cannot be undeclared'
            if parameter.type_ != descriptor.type:
                expected = ParameterType(descriptor.type).name
                return f'Wrong parameter type, expected {expected} got {parameter.type_.name} for {parameter.name}'
        problem = range_problem(parameter.value, descriptor) or value_problem(parameter.value)
        return f'Parameter {parameter.name}: {problem}' if problem else None

    def _apply(self, parameters: list[Parameter], check_read_only: bool = True) -> Any:
        """Check and store all parameters or none; return a SetParametersResult."""
        fitted = [
            self._fit(item, self._descriptors[item.name]) if item.name in self._descriptors else item
            for item in parameters
        ]
        for item in fitted:
            problem = self._problem(item, check_read_only)
            if problem:
                return SetParametersResult(successful=False, reason=problem)
        for check in self._on_set:
            result = check(fitted)
            if not result.successful:
                return result
        old = {item.name: self._parameters.get(item.name) for item in fitted}
        for item in fitted:
            self._parameters[item.name] = item
            self._descriptors.setdefault(item.name, ParameterDescriptor(name=item.name, dynamic_typing=True))
        for notify in self._post_set:
            notify(fitted)
        unset = {name for name, item in old.items() if item is None or item.type_ == ParameterType.NOT_SET}
        is_new = [item for item in fitted if item.name in unset]
        changed = [item for item in fitted if item not in is_new]
        self._publish_parameter_event(self._event(new=is_new, changed=changed))
        return SetParametersResult(successful=True)

    def _event(self, *, new: Any = (), changed: Any = (), deleted: Any = ()) -> Any:
        return message('rcl_interfaces/msg/ParameterEvent')(
            new_parameters=[item.to_parameter_msg() for item in new],
            changed_parameters=[item.to_parameter_msg() for item in changed],
            deleted_parameters=[item.to_parameter_msg() for item in deleted],
        )

    def add_on_set_parameters_callback(self, callback: Callable[[list[Parameter]], Any]) -> None:
        """Add a callback that checks parameters before they are set and returns a SetParametersResult."""
        self._on_set.insert(0, callback)

    def remove_on_set_parameters_callback(self, callback: Callable[[list[Parameter]], Any]) -> None:
        """Remove a callback that checks parameters."""
        self._on_set.remove(callback)

    def add_pre_set_parameters_callback(self, callback: Callable[[list[Parameter]], list[Parameter]]) -> None:
        """Add a callback that can modify the list of parameters before they are set."""
        self._pre_set.insert(0, callback)

    def remove_pre_set_parameters_callback(self, callback: Callable[[list[Parameter]], list[Parameter]]) -> None:
        """Remove a callback that modifies parameters."""
        self._pre_set.remove(callback)

    def add_post_set_parameters_callback(self, callback: Callable[[list[Parameter]], None]) -> None:
        """Add a callback for the parameters that were set."""
        self._post_set.insert(0, callback)

    def remove_post_set_parameters_callback(self, callback: Callable[[list[Parameter]], None]) -> None:
        """Remove a callback for parameters that were set."""
        self._post_set.remove(callback)
