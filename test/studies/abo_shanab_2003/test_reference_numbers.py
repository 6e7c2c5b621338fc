"""The table (number, test) in docs/ is what the markers of the tests give."""

from __future__ import annotations

import importlib.util
from functools import cache
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[3] / 'docs'


@cache
def generator():
    spec = importlib.util.spec_from_file_location('reference_numbers', DOCS / 'reference_numbers.py')
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize('source', generator().SOURCES)
def test_the_table_in_the_documentation_is_up_to_date(source):
    """`python docs/reference_numbers.py` writes it."""
    assert (DOCS / f'reference_numbers_{source}.md').read_text() == generator().table(source)


def test_every_section_with_printed_numbers_is_pinned():
    sections = {key.partition('/')[0] for key in generator().pins()}
    assert {f'6.{k}' for k in range(1, 11)} <= sections
