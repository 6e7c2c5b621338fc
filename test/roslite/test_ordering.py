"""The order of messages in simulated time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roslite.bags.ordering import HoldBack, simulated_time

MS = 1_000_000


def test_messages_wait_until_the_clock_passed_them_a_while_ago_and_come_in_order():
    hold = HoldBack(hold=0.25, timeout=10)
    hold.see_clock(5 * MS)
    hold.add(5 * MS, '/b', 2, 5 * MS, b'3')
    hold.add(4 * MS, '/b', 2, 4 * MS, b'2')
    hold.add(4 * MS, '/a', 1, 4 * MS, b'1')
    hold.add(6 * MS, '/a', 1, 6 * MS, b'4')
    assert hold.due(0.0) == []
    hold.see_clock(9 * MS)
    assert hold.due(0.125) == []
    assert [entry[3] for entry in hold.due(0.25)] == [b'1', b'2'], 'the clock was at 5 ms at 0.0 s'
    assert [entry[3] for entry in hold.due(0.375)] == [b'3', b'4']
    assert len(hold) == 0


def test_a_late_message_is_counted_and_still_written():
    hold = HoldBack(hold=0.1)
    hold.see_clock(10 * MS)
    hold.due(0.0)
    hold.due(0.2)
    hold.add(9 * MS, '/a', 1, 0, b'late')
    assert hold.late == 1
    assert [entry[3] for entry in hold.due(0.4)] == [b'late']


def test_the_instant_of_a_stopped_clock_waits_for_all_of_its_messages():
    """The wall clock must not determine the order of messages of one instant: a partner may take a minute."""
    hold = HoldBack(hold=0.1, timeout=0.2)
    hold.see_clock(10 * MS)
    hold.add(10 * MS, '/b', 2, 0, b'2')
    assert [hold.due(0.1 * k) for k in range(600)] == [[]] * 600
    hold.add(10 * MS, '/a', 1, 0, b'1')
    hold.see_clock(11 * MS)
    written = hold.due(60.1) + hold.due(60.2)
    assert [entry[3] for entry in written] == [b'1', b'2']
    assert hold.late == 0


def test_a_lagging_recorder_sorts_messages_taken_topic_by_topic():
    """Clock messages arrive first, and messages of the same instants seconds of real time later."""
    hold = HoldBack(hold=0.1)
    hold.mark(0.0)
    for k in range(1, 50):
        hold.see_clock(k * MS)
    written = hold.due(5.0)
    for k in range(1, 49):
        hold.add(k * MS, '/a', 1, 0, bytes([k]))
    for now in (5.05, 5.2):
        hold.mark(now)
        written += hold.due(now)
    assert [entry[3][0] for entry in written] == list(range(1, 49))
    assert hold.late == 0


def test_a_message_ahead_of_a_stopped_clock_is_written_after_a_delay():
    hold = HoldBack(hold=0.1, timeout=0.5)
    hold.add(7 * MS, '/a', 1, 0, b'x')
    times = [0.1 * k for k in range(10)]
    written = [t for t in times if hold.due(t)]
    assert len(written) == 1
    assert 0.5 <= written[0] <= 0.7


def test_a_clock_set_back_restarts_the_order():
    hold = HoldBack(hold=0.1)
    hold.see_clock(100 * MS)
    hold.due(0.0)
    hold.due(0.2)
    hold.see_clock(0)
    hold.add(1 * MS, '/a', 1, 0, b'x')
    assert hold.late == 0


@given(
    st.lists(st.tuples(st.integers(0, 50), st.sampled_from('abc')), max_size=60),
    st.randoms(use_true_random=False),
    st.lists(st.integers(0, 59), max_size=6),
)
def test_arrival_order_between_topics_does_not_matter(stamps, random, checkpoints):
    """Any interleaving of the topics, each in its order, gives the same sequence."""

    def record(shuffled: bool) -> list[tuple]:
        by_topic = {name: sorted(t for t, topic in stamps if topic == name) for name in 'abc'}
        queues = {name: [(t, f'{name}{k}'.encode()) for k, t in enumerate(times)] for name, times in by_topic.items()}
        hold = HoldBack(hold=0.25, timeout=1e9)
        written, step = [], 0
        while any(queues.values()):
            names = [name for name in 'abc' if queues[name]]
            name = random.choice(names) if shuffled else min(names, key=lambda n: queues[n][0][0])
            time, data = queues[name].pop(0)
            hold.add(time, f'/{name}', ord(name), time, data)
            if step in checkpoints:
                written += hold.due(0.0)  # real time is stopped: nothing may be written too early
            step += 1
        hold.see_clock(1000)
        return written + hold.due(1.0) + hold.due(2.0)

    assert record(True) == record(False)


def test_messages_of_two_nodes_on_one_topic_at_one_instant_have_one_order():
    """`events` has several publishers, also in a namespace: their order of arrival must not affect a bag."""
    events = [b'dynamics_node: lift_off', b'hydraulic_actuator_node: relief_open']
    for topic in ('/events', '/machine/events', '/diagnostics'):
        written = []
        for order in (events, events[::-1]):
            hold = HoldBack()
            for data in order:
                hold.add(5 * MS, topic, 1, 5 * MS, data)
            written.append([entry[3] for entry in hold.all()])
        assert written[0] == written[1] == events
    hold = HoldBack()
    for data in events[::-1]:
        hold.add(5 * MS, '/joint_states', 1, 5 * MS, data)
    assert [entry[3] for entry in hold.all()] == events[::-1]


@pytest.mark.parametrize('topic', ['/joint_states', '/diagnostics'])
def test_many_messages_at_once_are_stored_as_single_ones(topic):
    times, messages = [3 * MS, 5 * MS, 5 * MS, 4 * MS], [b'd', b'c', b'b', b'a']
    single, together = HoldBack(hold=0.1), HoldBack(hold=0.1)
    for hold in (single, together):
        hold.see_clock(4 * MS)
        hold.due(0.0)
        hold.due(0.2)  # messages older than 4 ms have been written
        hold.add(3 * MS, '/a', 1, 3 * MS, b'first')
    for time, data in zip(times, messages):
        single.add(time, topic, 2, time, data)
    together.add_all(topic, 2, times, messages)
    single.add(5 * MS, '/z', 3, 5 * MS, b'last')
    together.add(5 * MS, '/z', 3, 5 * MS, b'last')
    assert (together.late, len(together)) == (single.late, len(single)) == (2, 6)
    assert together.all() == single.all()


def test_simulated_time_of_a_message_is_its_stamp_unless_that_is_wall_time():
    now = 1_800_000_000 * 10**9
    assert simulated_time(7 * MS, 9 * MS, now) == 7 * MS
    assert simulated_time(now - MS, 9 * MS, now) == 9 * MS
    assert simulated_time(now - MS, now, now) == now - MS, 'a simulation whose clock is the wall clock'
    assert simulated_time(-1, 9 * MS, now) == simulated_time(2**63, 9 * MS, now) == 9 * MS
