"""Rejections are recent for some seconds of a time that may go back."""

from __future__ import annotations

import pytest

from dyn_nodes.nodes.commands import RejectedError, Rejections


@pytest.fixture
def rejections():
    result = Rejections()
    result.add(RejectedError('stamp', 'rejected for its stamp'), 100.0)
    return result


def test_a_rejection_is_recent_for_its_window(rejections):
    assert [rejections.recent(time) for time in (100.0, 104.9, 105.1)] == [True, True, False]
    assert not rejections.recent(101.1, window=1.0)
    assert not Rejections().recent(0.0)


def test_after_a_reset_an_earlier_rejection_is_not_recent_and_stays_counted(rejections):
    assert not rejections.recent(0.0)
    assert not rejections.recent(99.9)
    assert rejections.values() == {'rejected: stamp': '1', 'last rejection': 'rejected for its stamp'}
    rejections.add(RejectedError('stamp', 'once more'), 1.0)
    assert rejections.recent(2.0)
