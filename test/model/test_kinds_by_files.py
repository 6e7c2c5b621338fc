"""Kinds of contacts: a file of the package is a kind, in the model and among the elements alike."""

from __future__ import annotations

import sys

import pytest

from dyn_nodes.elements import contacts as elements
from dyn_nodes.model import contacts as records
from dyn_nodes.model.contact import ContactRecord
from dyn_nodes.model.discovery import kinds_of


def test_every_record_has_its_element():
    assert set(records.KINDS) == set(elements.KINDS) != set()


def test_a_file_beside_the_others_is_a_kind(tmp_path, monkeypatch):
    text = 'from dyn_nodes.model.contact import ContactRecord\nclass Sledge(ContactRecord):\n    kind = "sledge"\n'
    (tmp_path / 'sledge.py').write_text(text)
    monkeypatch.setattr(records, '__path__', [*records.__path__, str(tmp_path)])
    try:
        kinds = kinds_of(records, ContactRecord)
    finally:
        sys.modules.pop('dyn_nodes.model.contacts.sledge', None)
    assert set(kinds) == {*records.KINDS, 'sledge'}


def test_two_classes_of_one_kind_are_refused(tmp_path, monkeypatch):
    text = 'from dyn_nodes.model.contact import ContactRecord\nclass Other(ContactRecord):\n    kind = "track"\n'
    (tmp_path / 'other.py').write_text(text)
    monkeypatch.setattr(records, '__path__', [*records.__path__, str(tmp_path)])
    try:
        with pytest.raises(ValueError, match="two classes of kind 'track'"):
            kinds_of(records, ContactRecord)
    finally:
        sys.modules.pop('dyn_nodes.model.contacts.other', None)
