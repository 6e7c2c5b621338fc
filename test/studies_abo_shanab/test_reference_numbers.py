"""The table (number, test) in docs/ is what the markers of the tests give."""

from __future__ import annotations

import importlib.util
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / 'docs'


def generator():
    spec = importlib.util.spec_from_file_location('reference_numbers', DOCS / 'reference_numbers.py')
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_table_in_the_documentation_is_up_to_date():
    """`python docs/reference_numbers.py` writes it."""
    assert (DOCS / 'reference_numbers_abo_shanab_2003.md').read_text() == generator().table()


def test_every_section_with_printed_numbers_is_pinned():
    sections = {key.partition('/')[0] for key in generator().pins()}
    assert {f'6.{k}' for k in range(1, 11)} <= sections
