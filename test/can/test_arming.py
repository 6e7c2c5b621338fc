"""Command frames sent after the end of commanding."""

from __future__ import annotations

from dyn_nodes.can.arming import Arming


def test_after_leaving_each_message_is_sent_for_the_neutral_time_and_then_no_more():
    arming = Arming(0.3, neutral_time=1.0)
    assert not arming.take_turn('A', 0.0), 'shadow'
    arming.arm(True, '', True, 0.0)
    assert arming.take_turn('A', 0.1)
    arming.disarm('', 0.2)
    assert [arming.take_turn('A', now) for now in (0.3, 1.2, 1.3)] == [True, True, False]


def test_a_cycle_after_the_neutral_time_sends_one_frame_of_each_active_message():
    arming = Arming(0.3, neutral_time=0.0)
    arming.arm(True, '', True, 0.0)
    assert arming.take_turn('A', 0.1)
    assert arming.take_turn('B', 0.1)
    arming.disarm('', 0.2)
    assert [arming.take_turn(name, 5.0) for name in ('A', 'B', 'A', 'B', 'C')] == [True, True, False, False, False]
