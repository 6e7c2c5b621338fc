"""The rooms of the mutation tests are those of the house, and the tests that judge them are there."""

from __future__ import annotations

from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
ROOMS = yaml.safe_load((ROOT / 'mutants' / 'rooms.yaml').read_text(encoding='utf-8'))


def modules_in(room: str) -> set[str]:
    return {path.stem for path in (ROOT / 'dyn_nodes' / room).glob('*.py') if path.stem != '__init__'}


def test_tests_and_modules_that_are_named_exist():
    for name, entry in ROOMS.items():
        given = [*entry['tests'], *(file for files in entry.get('always', {}).values() for file in files)]
        assert [file for file in given if not (ROOT / file).exists()] == [], name
        own = modules_in(entry.get('room', name))
        assert {*entry.get('modules', ()), *entry.get('first', ()), *entry.get('always', ())} <= own, name


def test_every_module_of_a_room_and_of_its_packages_has_one_entry():
    taken: list[str] = []
    for name, entry in ROOMS.items():
        room = entry.get('room', name)
        elsewhere = {module for other in entry.get('others', ()) for module in ROOMS[other]['modules']}
        taken += [f'{room}/{module}' for module in entry.get('modules', modules_in(room) - elsewhere)]
    assert len(taken) == len(set(taken))
    partly = {entry.get('room', name) for name, entry in ROOMS.items() if 'modules' in entry}
    whole = {entry.get('room', name) for name, entry in ROOMS.items() if 'modules' not in entry}
    for room in sorted(whole):
        assert {f'{room}/{module}' for module in modules_in(room)} <= set(taken)
        packages = {path.parent.name for path in (ROOT / 'dyn_nodes' / room).glob('*/__init__.py')}
        assert {f'{room}/{package}' for package in packages} <= whole | partly, 'a package of a room needs an entry'
