"""A topic that DDS rejects while the types of a removed participant are deleted (docs/contributing/decisions)."""

from __future__ import annotations

import time

import pytest

pytest.importorskip('cyclonedds')
from cyclonedds.core import DDSException

from roslite.runtime import dds

TYPE = 'std_msgs/msg/Float64'
REJECTED, ILL = DDSException.DDS_RETCODE_BAD_PARAMETER, DDSException.DDS_RETCODE_PRECONDITION_NOT_MET


@pytest.fixture
def reject(monkeypatch):
    """Reject the first topics with a code; return the number of requests."""
    monkeypatch.setattr(dds, 'AGAIN_SECONDS', 0.0)

    def install(times: int, code: int) -> list[str]:
        asked: list[str] = []

        def topic(participant, name, kind):
            asked.append(name)
            if len(asked) <= times:
                raise DDSException(code, 'here')
            return name

        monkeypatch.setattr(dds, 'Topic', topic)
        return asked

    return install


def test_a_temporarily_rejected_topic_is_created(reject):
    asked = reject(2, REJECTED)
    assert dds.create_topic(None, 'rt/load', TYPE) == 'rt/load'
    assert len(asked) == 3


def test_a_repeatedly_rejected_topic_is_an_error(reject):
    asked = reject(99, REJECTED)
    with pytest.raises(DDSException, match='Bad parameter'):
        dds.create_topic(None, 'rt/load', TYPE)
    assert len(asked) == dds.TRIES


def test_another_fault_is_an_error_at_once(reject):
    asked = reject(99, ILL)
    with pytest.raises(DDSException):
        dds.create_topic(None, 'rt/load', TYPE)
    assert len(asked) == 1


def test_a_participant_waits_for_the_removal_of_the_previous_one(monkeypatch):
    waited = []
    monkeypatch.setattr(dds.time, 'sleep', waited.append)
    monkeypatch.setattr(dds, 'open_domain', lambda domain: None)
    monkeypatch.setattr(dds, 'DomainParticipant', lambda domain, qos: domain)
    monkeypatch.setitem(dds._domains, 7, None)
    for gone, expected in ((time.monotonic() - 1.0, []), (time.monotonic() + 5.0, [True])):
        monkeypatch.setattr(dds, '_gone', gone)
        assert dds.open_participant(7, None) == 7
        assert [duration > 0.0 for duration in waited] == expected
