"""Requests with lost answers."""

from __future__ import annotations

from concurrent.futures import Future
from types import SimpleNamespace

import asking
import pytest
from asking import AGAIN, MATCHED, Question


class Client:
    """Loses the first `lost` answers."""

    def __init__(self, lost: int) -> None:
        self.lost, self.is_ready, self.asked = lost, True, 0

    def service_is_ready(self) -> bool:
        return self.is_ready

    def call_async(self, request: str) -> Future:
        answer: Future = Future()
        self.asked += 1
        if self.asked > self.lost:
            answer.set_result(f'{request} {self.asked}')
        return answer


@pytest.fixture
def clock(monkeypatch):
    now = SimpleNamespace(time=100.0)
    monkeypatch.setattr(asking.time, 'monotonic', lambda: now.time)
    return now


def test_a_request_whose_answer_was_lost_is_sent_again(clock):
    client = Client(lost=1)
    client.is_ready = False
    question = Question(client, 'state')
    assert (question.is_answered(), client.asked) == (False, 0)
    client.is_ready = True
    assert (question.is_answered(), client.asked) == (False, 1)
    clock.time += AGAIN / 2
    assert (question.is_answered(), client.asked) == (False, 1)
    clock.time += AGAIN
    assert (question.is_answered(), client.asked) == (False, 2)
    clock.time += AGAIN
    assert (question.is_answered(), client.asked) == (True, 2)
    assert question.answer == 'state 2'


def test_a_request_that_must_not_be_sent_twice_waits_for_the_match(clock):
    client = Client(lost=0)
    question = Question(client, 'step', once=True)
    assert (question.is_answered(), client.asked) == (False, 0)
    clock.time += MATCHED + 0.1
    assert (question.is_answered(), client.asked) == (False, 1)
    clock.time += 10 * AGAIN
    assert (question.is_answered(), client.asked) == (True, 1)
