"""The lock files contain every dependency of setup.py, for every supported Python, with hashes (`make lock`)."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from test_oldest_dependencies import ROOT, keyword, pinned

RELEASES = ('jazzy', 'kilted')
LOCKS = {'full': ('full',), 'dev': ('dev',), 'oldest': ('test',), **{name: (f'test-{name}',) for name in RELEASES}}
"""Extras in each lock file of an environment."""
PYTHONS = ('3.10', '3.11', '3.12', '3.13')
FILES = sorted((ROOT / 'lock').glob('*.txt'))


def _environment(python: str) -> dict[str, str]:
    return {
        'python_version': python,
        'python_full_version': f'{python}.14',
        'sys_platform': 'linux',
        'platform_system': 'Linux',
        'platform_machine': 'x86_64',
        'platform_python_implementation': 'CPython',
        'implementation_name': 'cpython',
    }


@cache
def _entries(path: Path) -> list[str]:
    """Return the requirements of a lock file, each with its hashes."""
    return [' '.join(text.split()) for text in path.read_text().replace('\\\n', ' ').splitlines()]


def _locked(path: Path, python: str) -> dict[str, list[str]]:
    """Return the versions of a lock file that pip installs for a Python on Linux, by name."""
    versions: dict[str, list[str]] = {}
    for entry in _entries(path):
        item = Requirement(entry.partition(' --hash=')[0])
        if item.marker is None or item.marker.evaluate(_environment(python)):
            (pin,) = item.specifier
            assert pin.operator == '==', entry
            versions.setdefault(canonicalize_name(item.name), []).append(pin.version)
    return versions


def _declared(extras: tuple[str, ...]) -> list[Requirement]:
    """Return the requirements of this package with extras, including extras that they name."""
    of_extras = keyword('extras_require')
    texts = [*keyword('install_requires'), *(text for extra in extras for text in of_extras[extra])]
    result = []
    for item in map(Requirement, texts):
        result += _declared(tuple(item.extras)) if item.name == 'dyn_nodes' else [item]
    return result


@pytest.mark.parametrize('name', LOCKS)
def test_a_lock_file_has_a_fitting_version_of_every_declared_dependency(name):
    for python in PYTHONS:
        locked = _locked(ROOT / 'lock' / f'{name}.txt', python)
        for item in _declared(LOCKS[name]):
            if item.marker is None or item.marker.evaluate(_environment(python)):
                versions = locked.get(canonicalize_name(item.name), [])
                assert len(versions) == 1, f'{item} on Python {python}: `make lock` adds it'
                assert item.specifier.contains(versions[0], prereleases=True), f'{item}, locked {versions}: `make lock`'


def test_the_lock_of_the_oldest_versions_has_those_of_oldest_txt():
    for python in PYTHONS:
        locked = _locked(ROOT / 'lock' / 'oldest.txt', python)
        for item in pinned():
            if item.marker is None or item.marker.evaluate(_environment(python)):
                (pin,) = item.specifier
                assert locked[canonicalize_name(item.name)] == [pin.version], f'{item}: `make lock`'


@pytest.mark.parametrize('path', FILES, ids=lambda path: path.stem)
def test_a_lock_file_has_versions_with_hashes_and_no_address(path):
    assert '://' not in path.read_text()
    for entry in _entries(path):
        assert re.fullmatch(r'\S+==\S+( ; [^\\]+?)?( --hash=sha256:[0-9a-f]{64})+', entry), entry


def test_environments_have_the_same_versions_of_what_they_share():
    for python in PYTHONS:
        everything = _locked(ROOT / 'lock' / 'dev.txt', python)
        for name in ('full', 'build', *(RELEASES if python == '3.11' else [])):
            locked = _locked(ROOT / 'lock' / f'{name}.txt', python)
            assert {key: everything[key] for key in locked if key in everything} == {
                key: value for key, value in locked.items() if key in everything
            }, name


def test_every_lock_file_belongs_to_an_environment():
    assert {path.stem for path in FILES} == {*LOCKS, 'build'}
