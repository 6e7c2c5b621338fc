"""Refusals are recent for some seconds, of a time that may go back."""

from __future__ import annotations

import pytest

from dyn_nodes.nodes.commands import Rejections, RejectedError


@pytest.fixture
def refusals():
    found = Rejections()
    found.add(RejectedError('stamp', 'refused for its stamp'), 100.0)
    return found


def test_a_refusal_is_recent_for_its_window(refusals):
    assert [refusals.recent(time) for time in (100.0, 104.9, 105.1)] == [True, True, False]
    assert not refusals.recent(101.1, window=1.0)
    assert not Rejections().recent(0.0)


def test_after_a_reset_a_refusal_of_before_is_not_recent_and_stays_counted(refusals):
    assert not refusals.recent(0.0)
    assert not refusals.recent(99.9)
    assert refusals.values() == {'refused: stamp': '1', 'last refusal': 'refused for its stamp'}
    refusals.add(RejectedError('stamp', 'once more'), 1.0)
    assert refusals.recent(2.0)
