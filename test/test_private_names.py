"""Private names of third-party packages: each is used by one adapter, and versions without them are detected here."""

from __future__ import annotations

import ast
import inspect
import sys
from functools import cache
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / 'dyn_nodes'
ROSLITE = PACKAGE.parent / 'roslite'
MODULES = {
    **{path.relative_to(PACKAGE).as_posix(): path for path in sorted(PACKAGE.rglob('*.py'))},
    **{path.relative_to(PACKAGE.parent).as_posix(): path for path in sorted(ROSLITE.rglob('*.py'))},
}
ADAPTERS = {
    'common/numba_internals.py': 'numba',
    'viewer/viser_internals.py': 'viser',
    'model/xml_source.py': 'lxml',
    'roslite/runtime/dds.py': 'cyclonedds',
    'roslite/runtime/executor.py': 'cyclonedds',
    'middleware/hand_over.py': 'rclpy',
    'middleware/lean_executor.py': 'rclpy',
    'middleware/lifecycle.py': 'rclpy',
    'nodes/can_bus.py': 'can',
}
PUBLIC_OF_NUMBA = {'numba', 'numba.types', 'numba.extending'}
STANDARD = {
    *(
        '_ActionsContainer',
        '_SubParsersAction',
        '_actions',
        '_check_value',
        '_choices_actions',
        '_option_string_actions',
    ),  # argparse
    *('_replace', '_asdict', '_fields', '_field_defaults', '_make'),  # named tuples
    *('_exit', '_getframe', '_processes', '_fields_', '_type_'),
}

CACHING = 'numba.core.caching'
PARAMETERS = {
    'numba.core.dispatcher.FunctionCache': None,
    'numba.core.ccallback.FunctionCache': None,
    'numba.core.event.register': ['kind', 'listener'],
    'numba.core.event.unregister': ['kind', 'listener'],
    'numba.core.event.Listener': None,
    'numba.core.options.DefaultOptions._nrt': None,
    'numba.core.pythonapi._boxers': None,
    'numba.core.pythonapi.PythonAPI.serialize_object': ['self', 'obj'],
    'numba.core.pythonapi.PythonAPI.unserialize': ['self', 'structptr'],
    'numba.core.pythonapi.EnvironmentManager.add_const': ['self', 'const'],
    'numba.core.pythonapi.EnvironmentManager.read_const': ['self', 'index'],
    'numba.np.arrayobj.make_array': ['array_type'],
    'numba.np.arrayobj.populate_array': ['array', 'data', 'shape', 'strides', 'itemsize', 'meminfo', 'parent'],
    'numba.core.cgutils._StructProxy._getvalue': ['self'],
    'numba.np.arraymath.ensure_blas': [],
    'numba.np.linalg.ensure_blas': [],
    f'{CACHING}.FunctionCache.load_overload': ['self', 'sig', 'target_context'],
    f'{CACHING}.FunctionCache.save_overload': ['self', 'sig', 'data'],
    f'{CACHING}.IndexDataCacheFile.__init__': ['self', 'cache_path', 'filename_base', 'source_stamp'],
    f'{CACHING}.IndexDataCacheFile.save': ['self', 'key', 'data'],
    f'{CACHING}.IndexDataCacheFile._load_index': ['self'],
    f'{CACHING}.IndexDataCacheFile._save_index': ['self', 'overloads'],
    f'{CACHING}.IndexDataCacheFile._load_data': ['self', 'name'],
    f'{CACHING}.IndexDataCacheFile._save_data': ['self', 'name', 'data'],
    f'{CACHING}.IndexDataCacheFile._data_path': ['self', 'name'],
    f'{CACHING}.IndexDataCacheFile._dump': ['self', 'obj'],
    f'{CACHING}.IndexDataCacheFile._open_for_write': ['self', 'filepath'],
    'viser.infra._infra.websockets': None,
    'viser.infra._infra.AsyncMessageBuffer': None,
    'viser._messages.Message.deserialize': ['message'],
    'viser._messages.GuiUpdateMessage': None,
    'viser._messages.ViewerCameraMessage': None,
}
"""Names of modules and classes used by the adapters of Numba and viser, with parameters of calls."""


def _resolve(name: str) -> Any:
    """Return the object of a dotted name; fail with the missing part and the version of its package."""
    parts = name.split('.')
    thing: Any = import_module(parts[0])
    for count, part in enumerate(parts[1:], start=2):
        owner = '.'.join(parts[: count - 1])
        if inspect.ismodule(thing) and not hasattr(thing, part):
            try:
                import_module('.'.join(parts[:count]))
            except ImportError:
                pytest.fail(f'{parts[0]} {version(parts[0])}: {owner} has no {part}')
        if not hasattr(thing, part):
            pytest.fail(f'{parts[0]} {version(parts[0])}: {owner} has no {part}')
        thing = getattr(thing, part)
    return thing


@pytest.mark.parametrize('name', PARAMETERS)
def test_the_installed_version_has_each_name_that_an_adapter_uses(name):
    thing = _resolve(name)
    if PARAMETERS[name] is not None:
        assert list(inspect.signature(thing).parameters) == PARAMETERS[name], f'{name} has other parameters'


def test_the_error_names_the_missing_part_of_a_version():
    with pytest.raises(pytest.fail.Exception, match=r'numba [0-9.]+\S*: numba\.core\.caching has no NoSuchCache'):
        _resolve('numba.core.caching.NoSuchCache')


def _has_attributes(thing: object, names: str, owner: str) -> None:
    missing = [name for name in names.split() if not hasattr(thing, name)]
    assert not missing, f'{owner} has no {", ".join(missing)}'


def test_objects_of_numba_have_the_attributes_that_the_adapter_uses():
    import numba

    from dyn_nodes.common.numba_internals import FunctionCache, address_of_symbol, signature_of

    def increment(x):
        return x + 1

    numbers = f'numba {numba.__version__}'
    function = numba.cfunc(numba.types.int64(numba.types.int64))(increment)
    _has_attributes(function, '_sig _library', f'{numbers}: a function of cfunc')
    assert signature_of(function) == numba.types.int64(numba.types.int64)
    assert address_of_symbol(function, function.native_name) != 0
    cached = FunctionCache(_resolve)
    _has_attributes(cached, '_cache_file _impl', f'{numbers}: FunctionCache')
    _has_attributes(cached._impl, 'filename_base', f'{numbers}: FunctionCache._impl')
    names = '_cache_path _index_path _source_stamp _version'
    _has_attributes(cached._cache_file, names, f'{numbers}: IndexDataCacheFile')


def test_messages_of_viser_have_the_fields_that_the_gate_checks():
    from dataclasses import fields

    from dyn_nodes.viewer.gate import CAMERA, CAMERA_SIZES

    for name, expected in ((CAMERA, set(CAMERA_SIZES)), ('GuiUpdateMessage', {'uuid', 'updates'})):
        assert {field.name for field in fields(_resolve(f'viser._messages.{name}'))} >= expected, name


def test_a_server_of_viser_has_the_connections_that_the_gate_counts():
    from dyn_nodes.viewer.gate import Gate
    from dyn_nodes.viewer.viser_internals import AnyThreadEvent

    gate = Gate('127.0.0.1', 0)
    try:
        _has_attributes(gate.server, '_websock_server', f'viser {version("viser")}: ViserServer')
        _has_attributes(gate.server._websock_server, '_live_connections', f'viser {version("viser")}: _websock_server')
        assert dict(gate._connections) == {}
        assert isinstance(gate.server._websock_server._broadcast_buffer.message_event, AnyThreadEvent)
    finally:
        gate.server.stop()


# -- no other module ---------------------------------------------------------------------------------------------------


def _is_private(name: str) -> bool:
    return name.startswith('_') and not name.endswith('__')


@cache
def _tree(module: str) -> ast.Module:
    return ast.parse(MODULES[module].read_text())


def _defined(tree: ast.AST) -> set[str]:
    """Return the private names that a module defines: functions, classes, variables, attributes, arguments."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            names.add(node.id if isinstance(node, ast.Name) else node.attr)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            names.add(node.value)  # __slots__, names of fields
    return {name for name in names if _is_private(name)}


def _foreign_names(module: str) -> set[str]:
    """Return the private names of other packages that a module imports, or uses without defining them."""
    foreign = set()
    for node in ast.walk(_tree(module)):
        if isinstance(node, ast.Attribute) and _is_private(node.attr):
            foreign |= {node.attr} - _names_of_this_package() - STANDARD
        for name in _imported(node):
            package = name.split('.')[0]
            if package in ('dyn_nodes', 'roslite') or package in sys.stdlib_module_names:
                continue
            if any(map(_is_private, name.split('.'))) or (package == 'numba' and not _is_public_of_numba(name)):
                foreign.add(name)
    return foreign


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.level == 0:
        return [f'{node.module}.{alias.name}' for alias in node.names]
    return []


def _is_public_of_numba(name: str) -> bool:
    return name in PUBLIC_OF_NUMBA or name.rpartition('.')[0] in PUBLIC_OF_NUMBA


@cache
def _names_of_this_package() -> set[str]:
    return set().union(*(_defined(_tree(module)) for module in MODULES if module not in ADAPTERS))


def test_only_adapters_use_private_names_of_other_packages():
    users = {module: names for module in MODULES if (names := _foreign_names(module))}
    others = {module: sorted(names) for module, names in users.items() if module not in ADAPTERS}
    assert not others, 'move them to the adapter of their package'
    assert set(ADAPTERS) == set(users), 'remove adapters without private names'


def test_the_adapters_of_numba_and_viser_use_no_name_that_is_not_checked_above():
    text = Path(__file__).read_text()
    for module in ('common/numba_internals.py', 'viewer/viser_internals.py'):
        foreign = _foreign_names(module) - _defined(_tree(module))
        names = {name for name in foreign if '.' not in name}
        imported = foreign - names
        assert not {name for name in names if name not in text}, module
        assert {name.rpartition('.')[2] for name in imported} <= {part for key in PARAMETERS for part in key.split('.')}
