"""The six services to get and set the parameters of a node."""

from __future__ import annotations

import re
from typing import Any

from .parameters import Parameter, ParameterDescriptor, ParameterType, ParameterValue, SetParametersResult
from .qos import qos_profile_parameters
from .types import service

_SEPARATOR = '.'


class ParameterService:
    """Services of one node: get, set, set atomically, list, describe and get types."""

    def __init__(self, node: Any) -> None:
        self._node = node
        for name, kind, callback in (
            ('describe_parameters', 'DescribeParameters', self._describe),
            ('get_parameters', 'GetParameters', self._get),
            ('get_parameter_types', 'GetParameterTypes', self._types),
            ('list_parameters', 'ListParameters', self._list),
            ('set_parameters', 'SetParameters', self._set),
            ('set_parameters_atomically', 'SetParametersAtomically', self._set_atomically),
        ):
            node.create_service(
                service(f'rcl_interfaces/srv/{kind}'), f'~/{name}', callback, qos_profile=qos_profile_parameters
            )

    def _describe(self, request: Any, response: Any) -> Any:
        for name in request.names:
            if self._node.has_parameter(name):
                response.descriptors.append(self._node.describe_parameter(name))
            else:
                response.descriptors.append(ParameterDescriptor(name=name))
        return response

    def _get(self, request: Any, response: Any) -> Any:
        for name in request.names:
            if self._node.has_parameter(name):
                response.values.append(self._node.get_parameter_or(name).get_parameter_value())
            else:
                response.values.append(ParameterValue())
        return response

    def _types(self, request: Any, response: Any) -> Any:
        response.types = [
            int(self._node.get_parameter_type(name)) if self._node.has_parameter(name) else int(ParameterType.NOT_SET)
            for name in request.names
        ]
        return response

    def _list(self, request: Any, response: Any) -> Any:
        names = sorted(self._node.get_parameters_by_prefix(''))
        prefixes = set()
        for name in names:
            if not request.prefixes:
                fits = request.depth == 0 or name.count(_SEPARATOR) < request.depth
            else:
                fits = any(self._below(name, prefix, request.depth) for prefix in request.prefixes)
            if fits:
                response.result.names.append(name)
                if _SEPARATOR in name:
                    prefixes.add(name.rpartition(_SEPARATOR)[0])
        response.result.prefixes = sorted(prefixes)
        return response

    @staticmethod
    def _below(name: str, prefix: str, depth: int) -> bool:
        if name == prefix:
            return True
        rest = re.sub(f'^{re.escape(prefix + _SEPARATOR)}', '', name)
        return rest != name and (depth == 0 or rest.count(_SEPARATOR) < depth)

    def _set(self, request: Any, response: Any) -> Any:
        for msg in request.parameters:
            response.results.append(self._apply([msg]))
        return response

    def _set_atomically(self, request: Any, response: Any) -> Any:
        response.result = self._apply(request.parameters)
        return response

    def _apply(self, messages: Any) -> Any:
        """Set parameters; errors become results, because exceptions would not be caught."""
        try:
            return self._node.set_parameters_atomically([Parameter.from_parameter_msg(msg) for msg in messages])
        except Exception as error:
            return SetParametersResult(successful=False, reason=' '.join(str(part) for part in error.args))
