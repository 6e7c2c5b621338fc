"""Counts of draws: a case that is not reached fails its test."""

from __future__ import annotations

import pytest
from draws import reached, reaches
from hypothesis import given, settings
from hypothesis import strategies as st


@given(number=st.integers(0, 9))
@settings(max_examples=20)
def draw(number):
    reached('any')
    reached('even', number % 2 == 0)
    reached('beyond', number > 9)


def test_cases_that_are_reached_pass_and_counts_start_anew():
    for _ in range(2):
        reaches(any=10, even=1)(draw)()


def test_a_case_that_no_draw_reaches_fails_by_name():
    with pytest.raises(AssertionError, match=r"found \{'beyond': 0\}"):
        reaches(even=1, beyond=1)(draw)()
    with pytest.raises(AssertionError, match=r"found \{'any': "):
        reaches(any=1000)(draw)()


@pytest.mark.parametrize('least', [3, 4])
@reaches(large=1)
@given(number=st.integers(0, 9))
def test_it_stands_between_marks_and_given(number, least):
    reached('large', number > least)
