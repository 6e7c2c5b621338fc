"""Kinds of contacts, actuators and constraints: each file of the package contains one kind."""

import subprocess
import sys
from dataclasses import dataclass
from typing import Annotated

import pytest

from dyn_nodes.elements import contacts as elements
from dyn_nodes.elements.actuators import KINDS as ACTUATORS
from dyn_nodes.model import contacts as records
from dyn_nodes.model.actuators import actuator_kinds
from dyn_nodes.model.constraint_kinds import constraint_keys
from dyn_nodes.model.contact import ContactRecord
from dyn_nodes.model.discovery import kinds_of
from dyn_nodes.model.schema import keys_of_kinds, number


def test_every_record_has_its_element():
    assert set(records.KINDS) == set(elements.KINDS) != set()
    assert set(actuator_kinds()) == set(ACTUATORS) != set()


def test_a_file_beside_the_others_is_a_kind(tmp_path, monkeypatch):
    text = 'from dyn_nodes.model.contact import ContactRecord\nclass Sledge(ContactRecord):\n    kind = "sledge"\n'
    (tmp_path / 'sledge.py').write_text(text)
    monkeypatch.setattr(records, '__path__', [*records.__path__, str(tmp_path)])
    try:
        kinds = kinds_of(records, ContactRecord)
    finally:
        sys.modules.pop('dyn_nodes.model.contacts.sledge', None)
    assert set(kinds) == {*records.KINDS, 'sledge'}


def test_two_classes_of_one_kind_are_rejected(tmp_path, monkeypatch):
    text = 'from dyn_nodes.model.contact import ContactRecord\nclass Other(ContactRecord):\n    kind = "track"\n'
    (tmp_path / 'other.py').write_text(text)
    monkeypatch.setattr(records, '__path__', [*records.__path__, str(tmp_path)])
    try:
        with pytest.raises(ValueError, match="two classes of kind 'track'"):
            kinds_of(records, ContactRecord)
    finally:
        sys.modules.pop('dyn_nodes.model.contacts.other', None)


def test_a_machine_without_constraints_is_read_without_casadi():
    code = 'import sys, dyn_nodes.model as m; from dyn_nodes.model.named import machine_files; '
    code += "m.load_machine(*machine_files('log_loader')); sys.exit('casadi' in sys.modules)"
    assert subprocess.run([sys.executable, '-c', code], check=False).returncode == 0


def test_a_key_of_several_kinds_of_constraints_names_the_differences():
    keys = {key.name: key for key in constraint_keys()}
    assert keys['profile'].needed == ('prescribed',)
    assert keys['profile'].allowed == ('plane',)
    assert keys['profile'].meaning.endswith(
        'of kind plane: height of the plane along its normal; kinds prescribed, plane'
    )
    assert keys['radius'].needed == ('wheel',)


def test_one_key_with_different_units_in_two_kinds_is_rejected():
    @dataclass(frozen=True)
    class Metres:
        size: Annotated[float, number('of it', 'm')]

    @dataclass(frozen=True)
    class Kilograms:
        size: Annotated[float, number('of it', 'kg')]

    with pytest.raises(TypeError, match='size: expected a number with the same unit in every kind, found second'):
        keys_of_kinds({'first': Metres, 'second': Kilograms})
