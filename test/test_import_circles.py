"""No import cycles between modules, including imports inside functions and under TYPE_CHECKING."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from test_layers import PACKAGE, imports_of_package, roslite


def module_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix('').parts
    return '.'.join(parts[:-1] if parts[-1] == '__init__' else parts)


def imported_modules(importer: str, names: Iterable[str], modules: Iterable[str]) -> set[str]:
    """Return the modules of imported absolute names: `a.b.f` is the module `a.b` if `f` is no module."""
    local = set(modules)
    imported = {name if name in local else name.rpartition('.')[0] for name in names}
    return (imported & local) - {importer}


def circles(graph: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """Return the sets of modules that import each other: strongly connected components (Tarjan 1972)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    components: list[list[str]] = []

    def visit(module: str) -> None:
        index[module] = low[module] = len(index)
        stack.append(module)
        for other in graph.get(module, ()):
            if other not in index:
                visit(other)
                low[module] = min(low[module], low[other])
            elif other in stack:
                low[module] = min(low[module], index[other])
        if low[module] == index[module]:
            first = stack.index(module)
            component = stack[first:]
            del stack[first:]
            if len(component) > 1:
                components.append(sorted(component))

    for module in graph:
        if module not in index:
            visit(module)
    return components


def test_no_modules_import_each_other():
    imports = {**imports_of_package(), **roslite()}
    modules = {module_of(path): path for path in imports}
    graph = {
        module: imported_modules(module, (name for _, name in imports[path]), modules)
        for module, path in modules.items()
    }
    assert sum(len(others) for others in graph.values()) > len(modules), 'the imports are found'
    names = [' <-> '.join(name.removeprefix('dyn_nodes.') for name in circle) for circle in circles(graph)]
    assert names == []


def test_circles_are_found_and_trees_are_not():
    assert circles({'a': ['b'], 'b': ['c'], 'c': ['a', 'd'], 'd': ['e'], 'e': []}) == [['a', 'b', 'c']]
    assert circles({'a': ['b', 'c'], 'b': ['d'], 'c': ['d'], 'd': []}) == []
    assert circles({'a': ['b'], 'b': ['a'], 'c': ['d', 'a'], 'd': ['c']}) == [['a', 'b'], ['c', 'd']]


def test_a_name_of_a_module_is_an_import_of_that_module():
    names = ['p.a.f', 'p.b', 'os.path', 'p.me.x']
    assert imported_modules('p.me', names, ['p', 'p.a', 'p.b', 'p.me']) == {'p.a', 'p.b'}
