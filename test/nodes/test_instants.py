"""Every instant gets its command for any faults of the messages between the nodes."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dyn_nodes.nodes.instants import MOST_WAITING, InstantQueue, Match, Meeting, Step

EXCHANGE, TICKS, END = 10, 2, 8
LASTS = EXCHANGE * TICKS - EXCHANGE // 2
LEAST_SHARE = 0.1
"""Part of the examples in which each kind of event occurs at least."""


def check_shares(seen: Counter[str], kinds: Iterable[str]) -> None:
    """Assert that the draws have reached every kind of event."""
    rare = {kind: seen[kind] for kind in kinds if seen[kind] < LEAST_SHARE * seen['examples']}
    assert not rare, f'of {seen["examples"]} examples'


# -- one queue against its history ------------------------------------------------------------------------------------


class History:
    """Model of a queue that derives its state from all past events."""

    def __init__(self, in_order: bool) -> None:
        self.in_order = in_order
        self.log: list[tuple[str, Any, Any]] = []

    def note(self, event: str, which: Any = None, more: Any = None) -> None:
        self.log.append((event, which, more))

    @property
    def since_start(self) -> list[tuple[str, Any, Any]]:
        starts = [index for index, entry in enumerate(self.log) if entry[0] == 'restart']
        return self.log[starts[-1] + 1 :] if starts else self.log

    @property
    def present(self) -> int | None:
        return next((which for event, which, _ in reversed(self.since_start) if event == 'start'), None)

    @property
    def lost(self) -> bool:
        last = next(
            (event for event, *_ in reversed(self.log) if event in ('give_up', 'offer', 'answer', 'regain')), ''
        )
        return last == 'give_up'

    @property
    def owed(self) -> int:
        """Instants that wait: since all debts were paid, those that ask less the commands without a stamp."""
        owed = 0
        for event, which, more in self.since_start:
            if event in ('answer', 'pass_by') or (event == 'taken' and which is not None):
                owed = 0
            elif event == 'taken':
                owed -= 1
            elif event == 'start':
                owed = int(more) + (owed if self.in_order else 0)
        return owed

    @property
    def taken(self) -> int | None:
        """The last instant that has its command, since time went back."""
        present = taken = None
        for event, which, _ in self.since_start:
            if event == 'start':
                taken = None if present is not None and which < present else taken
                present = which
            elif event == 'answer' or (event == 'taken' and which is None):
                taken = present
            elif event == 'taken':
                taken = which
        return taken

    def next(self) -> Any:
        """Return the command that is to be taken now, as stamp and name, or None."""
        stamped = [entry for entry in self._stamped() if self._has_come(entry[0])]
        if stamped:
            return min(stamped)
        unstamped = self._unstamped()
        if self.owed <= 0 or self.lost or not unstamped:
            return None
        return None, unstamped[0 if self.in_order else -1]

    def _has_come(self, stamp: int) -> bool:
        if self.in_order:
            return self.present is not None and stamp <= self.present
        return stamp == self.present and self.owed > 0 and not self.lost

    def _stamped(self) -> list[tuple[int, int]]:
        commands, log = [], self.since_start
        for index, (event, stamp, name) in enumerate(log):
            if event == 'offer' and stamp is not None and self._lasts(stamp, log[index + 1 :], log[: index + 1]):
                commands.append((stamp, name))
        return commands

    def _lasts(self, stamp: int, later: list[Any], before: list[Any]) -> bool:
        present = next((which for event, which, _ in reversed(before) if event == 'start'), None)
        for event, which, _ in later:
            if event == 'start':
                if present is not None and which < present and which < stamp:
                    return False
                present = which
            is_over = not self.in_order and present is not None and stamp < present
            if event == 'offer' and which is not None and (which <= stamp or is_over):
                return False
            if event == 'taken' and which == stamp:
                return False
        return True

    def _unstamped(self) -> list[int]:
        names: list[int] = []
        for event, which, name in self.since_start:
            if event == 'give_up':
                names.clear()
            elif event == 'taken' and which is None:
                names.remove(name)
            elif event == 'offer' and which is None:
                names = [*names, name] if self.in_order else [name]
        return names


INSTANTS = st.integers(0, 7).map(lambda k: k * EXCHANGE)
EVENTS = st.one_of(
    st.tuples(st.just('start'), INSTANTS),
    st.tuples(st.just('next'), st.none()),
    st.tuples(st.just('offer'), INSTANTS),
    st.tuples(st.just('offer'), st.none()),
    st.tuples(st.just('take'), st.none()),
    st.tuples(st.sampled_from(['give_up', 'regain', 'answer', 'pass_by', 'restart']), st.none()),
)


@pytest.mark.parametrize('in_order', [False, True])
def test_a_queue_agrees_with_a_model_that_replays_its_history(in_order: bool) -> None:
    seen: Counter[str] = Counter()

    @settings(max_examples=300)
    @given(st.lists(EVENTS, min_size=15, max_size=50))
    def check(events: list[tuple[str, int | None]]) -> None:
        queue: InstantQueue[int] = InstantQueue(LASTS, in_order)
        history, kinds = History(in_order), {'examples'}
        for name, (kind, which) in enumerate(events):
            kinds |= happen(queue, history, name, kind, which)
            assert queue.present == history.present
            assert queue.lost == history.lost
            assert queue.waits == (history.owed > 0 and not history.lost)
        seen.update(kinds)

    check()
    kinds = {*(str(step) for step in Step), str(Match.NOW), str(Match.AHEAD), str(Match.LATE), str(Match.RUNNING)}
    kinds |= {
        'taken by name',
        'taken without a name',
        'nothing to take',
        'give_up',
        'regain',
        'answer',
        'pass_by',
        'restart',
    }
    check_shares(seen, kinds if in_order else {*kinds, str(Match.STALE)})


def happen(queue: InstantQueue[int], history: History, name: int, event: str, which: int | None) -> set[str]:
    """Let an event happen to a queue and its history; return its kinds."""
    if event in ('start', 'next'):
        instant = (history.present or 0) + EXCHANGE if which is None else which
        before, asks = history.present, instant % (TICKS * EXCHANGE) == 0
        step = queue.start(instant, asks)
        expected = (
            Step.FIRST
            if before is None
            else {0: Step.AGAIN, 1: Step.NEXT}.get((instant > before) - (instant < before), Step.BACK)
        )
        assert step is expected
        if step is not Step.AGAIN:
            history.note('start', instant, asks)
        return {str(step)}
    if event == 'offer':
        owed, lost, present = history.owed, history.lost, history.present
        match = queue.offer(which, name)
        if which is None:
            assert match in (
                {Match.RUNNING, Match.STALE} if lost else {Match.NOW if owed > 0 else Match.AHEAD, Match.STALE}
            )
        elif present is None or which > present:
            assert match is Match.AHEAD
        elif which == present and owed > 0:
            assert match is Match.NOW
        elif owed == 0 and present - which < LASTS and which != history.taken:
            assert match is Match.RUNNING
        else:
            assert match is (Match.NOW if which == present else Match.LATE)
        if match is not Match.STALE:
            history.note('offer' if which is not None or match is not Match.RUNNING else 'regain', which, name)
        return {str(match)}
    if event == 'take':
        expected = history.next()
        taken = queue.take()
        assert taken == expected
        if taken is None:
            return {'nothing to take'}
        history.note('taken', *taken)
        return {'taken without a name' if taken[0] is None else 'taken by name'}
    getattr(queue, event)()
    history.note(event)
    return {event}


# -- a chain of nodes -------------------------------------------------------------------------------------------------


class Chain:
    """A machine, its actuators, a controller and, where it is governed, a governor, with the queues of the real nodes.

    A command is the run and the instant for which it was computed, both counted from 0.

    Attributes:
        used: run, instant and command of every exchange of the machine.
        paired: instant and command of every pair that the actuators have taken.
    """

    def __init__(self, governed: bool, named: bool) -> None:
        self.governed, self.named = governed, named
        self.run = self.now = 0
        self.machine: InstantQueue[None] = InstantQueue()
        self.at_controller: int | None = None
        self.used: list[tuple[int, int, Any]] = []
        self.paired: list[tuple[int, Any]] = []
        self.last: dict[str, Any] = {}
        readers: dict[str, Callable[[Any], None]] = {
            'states to actuators': self.actuate,
            'states to controller': self.control,
            'volts': self.give_volts,
            'efforts': self.exchange,
        }
        of_governor = {'states to governor': self.govern, 'wanted': self.want}
        self.readers = readers | (of_governor if governed else {})
        self.ways: dict[str, deque[Any]] = {way: deque() for way in self.readers}
        self.start_actuators()
        self.start_governor()
        self.announce()

    def start_actuators(self) -> None:
        self.actuators: InstantQueue[Any] = InstantQueue(LASTS)
        self.open: int | None = None
        self.volts = self.reply = None

    def start_governor(self) -> None:
        self.governor: InstantQueue[Any] = InstantQueue(in_order=True)

    def send(self, way: str, message: Any) -> None:
        if way in self.ways:
            self.ways[way].append(message)
            self.last[way] = message

    def deliver(self, way: str) -> bool:
        """Let the oldest message on a way arrive; return whether there was one."""
        if not self.ways[way]:
            return False
        self.readers[way](self.ways[way].popleft())
        return True

    # machine

    def announce(self) -> None:
        if self.now < END:
            self.machine.start(self.now * EXCHANGE)
            for way in self.ways:
                if 'states' in way:
                    self.send(way, (self.run, self.now))

    def exchange(self, efforts: tuple[int, Any]) -> None:
        instant, command = efforts
        if self.machine.match(instant * EXCHANGE) is Match.NOW and self.machine.waits:
            self.machine.answer()
            self.used.append((self.run, self.now, command))
            self.now += 1
            self.announce()

    def reset(self) -> bool:
        if self.now == 0:
            return False
        self.run, self.now = self.run + 1, 0
        self.machine.restart()
        self.announce()
        return True

    # controller and governor

    def control(self, state: tuple[int, int]) -> None:
        run, instant = state
        if instant != self.at_controller and instant % TICKS == 0:
            self.command(instant, (run, instant))
        self.at_controller = instant

    def command(self, instant: int, command: Any) -> None:
        stamp = instant * EXCHANGE if self.named else None
        self.send('wanted' if self.governed else 'volts', (stamp, command))

    def govern(self, state: tuple[int, int]) -> None:
        if state[1] % TICKS == 0:
            self.governor.start(state[1] * EXCHANGE)
            self.pass_on()

    def want(self, wanted: tuple[int | None, Any]) -> None:
        self.governor.offer(*wanted)
        self.pass_on()

    def pass_on(self) -> None:
        while taken := self.governor.take():
            self.send('volts', taken)

    # actuators

    def actuate(self, state: tuple[int, int]) -> None:
        queue, (_, instant) = self.actuators, state
        if instant * EXCHANGE == queue.present:
            if self.open is None:
                self.send('efforts', self.reply)
            return
        if queue.waits and instant * EXCHANGE > (queue.present or 0):
            self.give_up()
        queue.start(instant * EXCHANGE, instant % TICKS == 0)
        self.open = instant
        self.answer()

    def give_volts(self, volts: tuple[int | None, Any]) -> None:
        match = self.actuators.offer(*volts)
        if match is Match.RUNNING:
            self.volts = volts[1]
        self.answer()

    def give_up(self) -> None:
        self.actuators.give_up()
        self.answer()

    def answer(self) -> None:
        if self.open is None:
            return
        if self.actuators.lost:
            self.volts = None
            self.actuators.pass_by()
        elif self.actuators.waits:
            taken = self.actuators.take()
            if taken is None:
                return
            self.volts = taken[1]
            self.paired.append((self.open, self.volts))
        self.reply, self.open = (self.open, self.volts), None
        self.send('efforts', self.reply)

    # the rest of a run

    def deliver_each(self) -> bool:
        """Let the oldest message of every way arrive; return whether there was one."""
        return sum(self.deliver(way) for way in self.ways) > 0

    def finish(self, is_faulty: bool = False) -> None:
        """Go on to the end; where messages were lost, by what clocks of the wall cause."""
        for _ in range(40 * END):
            if self.now == END:
                return
            if self.deliver_each():
                continue
            assert is_faulty, f'time stands still at {self.now} of run {self.run}'
            self.announce()  # an instant is repeated, and the partner gives up a source that does not send
            while self.deliver_each():
                pass
            if self.actuators.waits:
                self.give_up()
        raise AssertionError('no end')


WAYS = st.integers(0, 5)


def interleaved(chain: Chain, steps: list[int], resets: bool) -> set[str]:
    """Deliver messages in an order, each on one of the ways that have some; every seventh number resets the machine."""
    kinds = {'examples'}
    for step in steps:
        busy = [way for way in chain.ways if chain.ways[way]]
        if step % 7 == 6:
            is_under_way = any(chain.ways[way] for way in ('volts', 'wanted') if way in chain.ways)
            if resets and chain.reset():
                kinds |= {'reset', 'reset with a command under way'} if is_under_way else {'reset'}
        elif busy:
            chain.deliver(busy[step % len(busy)])
            kinds |= {'chosen'} if len(busy) > 1 else set()
    chain.finish()
    return kinds | ({'two resets'} if chain.run > 1 else set())


@pytest.mark.parametrize('governed', [False, True])
def test_commands_that_name_their_instant_are_used_for_it_in_any_order_and_whenever_the_machine_is_reset(
    governed: bool,
) -> None:
    seen: Counter[str] = Counter()

    @settings(max_examples=200)
    @given(st.lists(st.integers(0, 41), min_size=20, max_size=80))
    def check(steps: list[int]) -> None:
        chain = Chain(governed, named=True)
        seen.update(interleaved(chain, steps, resets=True))
        assert all(command == (run, now - now % TICKS) for run, now, command in chain.used)
        assert [now for run, now, _ in chain.used if run == chain.run] == [*range(END)]

    check()
    check_shares(seen, ('chosen', 'reset', 'two resets', 'reset with a command under way'))


@pytest.mark.parametrize('governed', [False, True])
def test_commands_without_an_instant_are_used_in_their_order_as_long_as_time_continues(governed: bool) -> None:
    seen: Counter[str] = Counter()

    @settings(max_examples=100)
    @given(st.lists(st.integers(0, 41), min_size=20, max_size=80))
    def check(steps: list[int]) -> None:
        chain = Chain(governed, named=False)
        seen.update(interleaved(chain, steps, resets=False))
        assert chain.used == [(0, now, (0, now - now % TICKS)) for now in range(END)]

    check()
    check_shares(seen, ('chosen',))


FAULTS = ('lost', 'doubled', 'overtaken', 'reset', 'actuators again', 'controller again', 'governor again',
          'second sender', 'given up', 'repeated')  # fmt: skip


def fail(chain: Chain, fault: str, way: str) -> bool:
    """Let something go wrong; return whether it did."""
    messages = chain.ways[way]
    if fault in ('lost', 'doubled') and messages:
        message = messages.popleft()
        messages.extendleft([message] * (2 if fault == 'doubled' else 0))
        return True
    if fault == 'overtaken' and len(messages) > 1:
        messages.rotate(1)
        return True
    if fault == 'reset':
        return chain.reset()
    if fault == 'actuators again':  # a late partner gets the last command and the repeated instant
        chain.start_actuators()
        chain.ways['states to actuators'].clear()
        chain.ways['volts'] = deque([chain.last['volts']] if 'volts' in chain.last else [])
        chain.announce()
        return True
    if fault == 'controller again':
        chain.at_controller = None
        chain.announce()
        return True
    if fault == 'governor again' and chain.governed:
        chain.start_governor()
        chain.announce()
        return True
    if fault == 'second sender':  # it computes for the instant that it has received
        chain.command((chain.at_controller or 0) // TICKS * TICKS, (-1, (chain.at_controller or 0) // TICKS * TICKS))
        return True
    if fault == 'given up' and chain.actuators.waits and chain.open is not None:
        chain.give_up()
        return True
    if fault == 'repeated':
        chain.announce()
        return True
    return False


@pytest.mark.parametrize('governed', [False, True])
def test_whatever_is_lost_doubled_overtaken_or_restarted_no_instant_takes_the_command_of_another(
    governed: bool,
) -> None:
    seen: Counter[str] = Counter()
    step = st.one_of(st.tuples(st.just('deliver'), WAYS), st.tuples(st.sampled_from(FAULTS), WAYS))

    @settings(max_examples=300)
    @given(st.lists(step, min_size=30, max_size=100))
    def check(steps: list[tuple[str, int]]) -> None:
        chain, kinds = Chain(governed, named=True), {'examples'}
        for event, number in steps:
            way = [*chain.ways][number % len(chain.ways)]
            if event == 'deliver':
                chain.deliver(way)
            elif fail(chain, event, way):
                kinds.add(event)
        chain.finish(is_faulty=True)
        seen.update(kinds)
        assert all(command[1] == instant for instant, command in chain.paired)
        assert [now for run, now, _ in chain.used if run == chain.run] == [*range(END)]

    check()
    check_shares(seen, FAULTS if governed else [fault for fault in FAULTS if 'governor' not in fault])


# -- bounds, and several sources --------------------------------------------------------------------------------------


@pytest.mark.parametrize('in_order', [False, True])
@pytest.mark.parametrize('named', [False, True])
def test_of_more_commands_than_are_kept_the_oldest_are_dropped(in_order: bool, named: bool) -> None:
    queue: InstantQueue[int] = InstantQueue(LASTS, in_order, most=4)
    for k in range(7):
        assert queue.offer(k * EXCHANGE if named else None, k) is Match.AHEAD
    taken = []
    for k in range(10):
        queue.start(k * EXCHANGE)
        taken += [(k, command) for _, command in [queue.take() or (None, None)] if command is not None]
    assert taken == ([(k, k) for k in range(3, 7)] if named or in_order else [(0, 6)])
    assert InstantQueue[int]().most == MOST_WAITING


@given(st.lists(st.tuples(st.sampled_from(['ax', 'ay', 'bx', 'by']), st.integers(0, 1)), max_size=30))
def test_sources_meet_at_the_instant_that_is_the_newest_of_all(arrivals: list[tuple[str, int]]) -> None:
    meeting, newest = Meeting('ab', 'xy'), {name + part: -1 for name in 'ab' for part in 'xy'}
    for (name, part), instant in arrivals:
        meeting.arrive(name, instant, part)
        newest[name + part] = instant
        assert meeting.of(name) == (instant if newest[f'{name}x'] == newest[f'{name}y'] else -1)
        assert meeting.instant == (instant if {*newest.values()} == {instant} else -1)
        complete = {key for key in 'ab' if {newest[f'{key}x'], newest[f'{key}y']} == {max(newest.values())}}
        assert meeting.late() == [key for key in 'ab' if key not in complete]
        assert meeting.late(5) == [*'ab']


def test_after_a_command_with_an_instant_none_of_before_time_went_back_is_to_come():
    queue = InstantQueue()
    queue.start(20)
    queue.start(0)
    assert queue.match(None) is Match.STALE
    queue.offer(0, 'stamped')
    assert queue.take() == (0, 'stamped')
    queue.start(10)
    assert queue.offer(None, 'unstamped') is Match.NOW
    assert queue.take() == (None, 'unstamped')
