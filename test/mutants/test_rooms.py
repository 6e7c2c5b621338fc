"""Every package has an entry in the mutation tests, and the tests that judge it exist."""

from __future__ import annotations

from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
ENTRIES = yaml.safe_load((ROOT / 'mutants' / 'rooms.yaml').read_text(encoding='utf-8'))


def modules_in(package: str) -> set[str]:
    return {path.stem for path in (ROOT / 'dyn_nodes' / package).glob('*.py') if path.stem != '__init__'}


def test_named_tests_and_modules_exist():
    for name, entry in ENTRIES.items():
        named = [*entry['tests'], *(file for files in entry.get('always', {}).values() for file in files)]
        assert [file for file in named if not (ROOT / file).exists()] == [], name
        modules = modules_in(entry.get('room', name))
        assert {*entry.get('modules', ()), *entry.get('first', ()), *entry.get('always', ())} <= modules, name


def test_every_module_of_a_package_and_its_subpackages_has_one_entry():
    taken: list[str] = []
    for name, entry in ENTRIES.items():
        parent = entry.get('room', name)
        elsewhere = {module for other in entry.get('others', ()) for module in ENTRIES[other]['modules']}
        taken += [f'{parent}/{module}' for module in entry.get('modules', modules_in(parent) - elsewhere)]
    assert len(taken) == len(set(taken))
    partly = {entry.get('room', name) for name, entry in ENTRIES.items() if 'modules' in entry}
    whole = {entry.get('room', name) for name, entry in ENTRIES.items() if 'modules' not in entry}
    for parent in sorted(whole):
        assert {f'{parent}/{module}' for module in modules_in(parent)} <= set(taken)
        subpackages = {path.parent.name for path in (ROOT / 'dyn_nodes' / parent).glob('*/__init__.py')}
        assert {f'{parent}/{package}' for package in subpackages} <= whole | partly, 'a subpackage needs an entry'
