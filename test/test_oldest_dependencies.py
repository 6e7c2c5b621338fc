"""The least versions in setup.py are the tested versions of test/oldest.txt."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[1]


def keyword(name: str) -> Any:
    """Return the value of an argument of `setup`."""
    tree = ast.parse((ROOT / 'setup.py').read_text())
    (value,) = [
        entry.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        for entry in node.keywords
        if entry.arg == name
    ]
    return ast.literal_eval(value)


def required() -> dict[str, str]:
    """Return the least versions of `install_requires`, by name."""
    requirements = [Requirement(text) for text in keyword('install_requires')]
    return {item.name: str(item.specifier) for item in requirements}


def of_extras() -> dict[str, set[str]]:
    """Return the versions required by the extras, by name."""
    requirements: dict[str, set[str]] = {}
    for texts in keyword('extras_require').values():
        for item in map(Requirement, texts):
            requirements.setdefault(item.name, set()).add(str(item.specifier))
    return requirements


def pinned() -> list[Requirement]:
    lines = (ROOT / 'test' / 'oldest.txt').read_text().splitlines()
    return [Requirement(line) for line in lines if line and not line.startswith('#')]


def test_the_least_declared_versions_are_the_tested_ones():
    oldest: dict[str, Version] = {}
    for item in pinned():
        (pin,) = item.specifier
        assert pin.operator == '==', item
        oldest[item.name] = min(Version(pin.version), oldest.get(item.name, Version(pin.version)))
    least = {name: f'>={version}' for name, version in oldest.items()}
    assert required() == {name: least[name] for name in least if name in required()}
    others = {name: {version} for name, version in least.items() if name not in required()}
    assert others == {name: of_extras().get(name) for name in others}


def test_every_python_has_one_tested_version_of_each_dependency():
    for python in ('3.10', '3.11', '3.12', '3.13'):
        chosen = [
            item.name for item in pinned() if item.marker is None or item.marker.evaluate({'python_version': python})
        ]
        assert sorted(set(chosen) & set(required())) == sorted(required()), python
        assert len(chosen) == len(set(chosen)), python


def test_running_needs_no_setuptools():
    imports = re.compile(
        r'^\s*(import|from)\s+(setuptools|pkg_resources)\b|import_module\(.(setuptools|pkg_resources)', re.M
    )
    modules = [path for package in ('dyn_nodes', 'roslite') for path in (ROOT / package).rglob('*.py')]
    assert not [path for path in modules if imports.search(path.read_text())]
    assert 'setuptools' not in required()
