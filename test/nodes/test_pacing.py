"""Simulated time needs the command of its instant, is never ahead of the wall clock, and survives a partner's end."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dyn_nodes.nodes import pacing
from dyn_nodes.nodes.exchange import LOCKSTEP_TIMEOUT
from dyn_nodes.nodes.running import RunFailed, RunOver
from dyn_nodes.nodes.schedule import MOST_CATCH_UP, RealTimeFactor, WallSchedule
from roslite.launching import finished

PERIOD = 0.001


class Wall:
    """A wall clock that the test advances."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Stub:
    """A dynamics node without a machine."""

    def __init__(self, mode: str, waits: bool = True, monolithic: bool = False) -> None:
        self.values = {
            'mode': mode, 'command_timeout': 0.2, 'exchange_period': PERIOD, 'speed': 1.0, 'wait_for': [''],
            'bring_up': [''], 'wait_timeout': 1.0,
        }  # fmt: skip
        self.waits, self.monolithic, self.paced = waits, monolithic, mode == 'realtime'
        self.plant = SimpleNamespace(time=0.0)
        self.finished, self.commands, self.held, self.repeated, self.publishers = False, 1, 0, 0, 1
        self.awaited_topics, self.object_topics = ('/joint_command',), ()
        self.subscriptions = {b'hydraulics', b'viewer'}
        self.announced: list[float] = []

    def create_timer(self, period: float, callback: Any, clock: Any) -> None:
        pass

    def count_publishers(self, topic: str) -> int:
        return self.publishers

    def get_logger(self) -> Any:
        return SimpleNamespace(error=lambda text: None)

    def advance(self) -> bool:
        self.plant.time += PERIOD
        return True

    def announce(self) -> None:
        self.announced.append(self.plant.time)

    def repeat(self) -> None:
        self.repeated += 1

    def hold(self) -> None:
        self.held += 1

    def due(self, period: str) -> bool:
        return round(self.plant.time / PERIOD) % 10 == 0

    def update_diagnostics(self) -> None:
        pass

    def report_timeout(self) -> None:
        pass


@pytest.fixture
def wall(monkeypatch: pytest.MonkeyPatch) -> Wall:
    clock = Wall()
    monkeypatch.setattr(pacing.time, 'monotonic', clock)
    return clock


def start(wall: Wall, mode: str = 'realtime', **options: Any) -> tuple[Stub, pacing.Pacer]:
    node = Stub(mode, **options)
    pacer = pacing.Pacer(node)
    pacer.readiness.subscriptions = lambda: frozenset(node.subscriptions)  # type: ignore[method-assign]
    pacer.schedule.clock = pacer.factor.clock = wall
    pacer.start()
    if not pacer.started:
        pacer.start_clock()
    return node, pacer


def pass_time(wall: Wall, pacer: pacing.Pacer, seconds: float, step: float = 0.005) -> None:
    """Advance the wall clock, with the checks of timers."""
    for _ in range(round(seconds / step)):
        wall.now += step
        pacer.advance_due()
        pacer.check_timeouts()


def test_time_stands_still_without_the_command_of_its_instant_however_late_it_is(wall: Wall) -> None:
    node, pacer = start(wall)
    pass_time(wall, pacer, LOCKSTEP_TIMEOUT - 0.1)
    assert node.announced == [0.0]
    assert node.held == 0
    assert not pacer.timed_out
    pacer.commanded()
    assert node.announced == pytest.approx([0.0, PERIOD])


def test_simulated_time_is_never_ahead_of_the_wall_clock(wall: Wall) -> None:
    node, pacer = start(wall)
    began = wall.now
    for _ in range(500):
        wall.now += 0.0007
        pacer.advance_due()
        assert node.plant.time <= wall.now - began + 1e-9
        if not pacer.has_command():
            pacer.commanded()
        assert node.plant.time <= wall.now - began + 1e-9
    assert node.plant.time == pytest.approx(0.35, abs=2 * PERIOD)
    assert not pacer.late


def test_a_slow_partner_makes_time_slow_and_is_counted(wall: Wall) -> None:
    node, pacer = start(wall)
    for _ in range(1000):  # 3 ms for every millisecond
        pass_time(wall, pacer, 0.003, 0.003)
        pacer.commanded()
    assert node.plant.time == pytest.approx(1.0)
    assert len(node.announced) == 1001
    assert pacer.late
    assert pacer.schedule.lost == pytest.approx(2.0 - MOST_CATCH_UP, abs=0.02)
    assert pacer.factor.value == pytest.approx(1 / 3, rel=0.01)
    assert node.held == 0


def test_a_partner_that_left_the_graph_is_given_up_soon_and_one_that_is_there_late(wall: Wall) -> None:
    for publishers, timeout in ((0, 0.2), (1, LOCKSTEP_TIMEOUT)):
        node, pacer = start(wall)
        node.publishers = publishers
        pass_time(wall, pacer, timeout - 0.1)
        assert node.held == 0
        pass_time(wall, pacer, 0.2)
        assert node.held == 1
        assert pacer.timed_out


def test_time_continues_with_the_wall_clock_while_the_partner_is_gone_and_waits_for_it_again(wall: Wall) -> None:
    node, pacer = start(wall)
    node.publishers = 0
    pass_time(wall, pacer, 1.0)
    assert node.plant.time == pytest.approx(0.8 + MOST_CATCH_UP, abs=0.02)
    before = node.plant.time
    pacer.earlier_command()  # a late answer: it is back, and behind
    pass_time(wall, pacer, 0.15)
    assert node.plant.time == before
    pacer.commanded()
    assert node.plant.time == pytest.approx(before + PERIOD)
    pass_time(wall, pacer, 0.15)
    assert node.plant.time == pytest.approx(before + PERIOD)
    assert not pacer.timed_out


def test_in_lockstep_an_instant_is_repeated_to_a_partner_that_was_started_again_however_fast(wall: Wall) -> None:
    node, pacer = start(wall, 'lockstep')
    for _ in range(300):
        node.commands += 1
        pacer.commanded()
        pass_time(wall, pacer, 0.01)
    node.subscriptions = {b'hydraulics again', b'viewer'}  # the graph never showed it without hydraulics
    pass_time(wall, pacer, LOCKSTEP_TIMEOUT - 0.1)
    assert node.repeated == 0  # it may still answer
    pass_time(wall, pacer, 2.6)
    assert node.repeated >= 1
    count = node.repeated
    node.commands += 1
    pacer.commanded()
    pass_time(wall, pacer, LOCKSTEP_TIMEOUT + 2.5)  # slow this time, but the same
    assert node.repeated == count


@pytest.mark.parametrize('commands', [0, 1])
def test_in_lockstep_nothing_is_repeated_to_a_partner_that_is_slow_from_the_start(wall: Wall, commands: int) -> None:
    node, pacer = start(wall, 'lockstep')
    node.commands = commands
    pass_time(wall, pacer, LOCKSTEP_TIMEOUT + 2.5)
    assert pacer.timed_out
    assert node.repeated == 0


def test_an_instant_is_repeated_in_real_time_only(wall: Wall) -> None:
    for mode, repeated in (('realtime', 3), ('lockstep', 0)):
        node, pacer = start(wall, mode)
        pass_time(wall, pacer, 3.5)
        assert node.repeated == repeated


def test_an_external_partner_is_not_waited_for(wall: Wall) -> None:
    node, pacer = start(wall, waits=False)
    pass_time(wall, pacer, 0.1)
    assert node.plant.time == pytest.approx(0.1, abs=2 * PERIOD)
    assert node.held == 0
    pass_time(wall, pacer, 0.2)
    assert node.held == 1


def test_lockstep_takes_no_notice_of_the_wall_clock(wall: Wall) -> None:
    node, pacer = start(wall, 'lockstep')
    for _ in range(100):
        pacer.commanded()
    assert node.plant.time == pytest.approx(0.1)
    pass_time(wall, pacer, 20.0)
    assert node.plant.time == pytest.approx(0.1)
    assert node.held == 0
    assert pacer.timed_out


def test_a_monolithic_machine_needs_one_command_a_period(wall: Wall) -> None:
    node, pacer = start(wall, 'lockstep', monolithic=True)
    assert node.plant.time == 0.0
    pacer.commanded()
    assert node.plant.time == pytest.approx(0.01)


def test_an_answer_that_comes_while_its_instant_is_published_is_used(wall: Wall) -> None:
    """As between nodes of one process, where a message may be delivered at once."""
    node, pacer = start(wall, 'lockstep')
    announce = node.announce

    def answered_at_once() -> None:
        announce()
        if len(node.announced) < 1000:
            pacer.commanded()

    node.announce = answered_at_once  # type: ignore[method-assign]
    pacer.commanded()
    assert len(node.announced) == 1000


def test_while_paused_only_single_steps_advance(wall: Wall) -> None:
    node, pacer = start(wall)
    pacer.pause(True)
    pacer.single_step()
    assert node.plant.time == 0.0  # no command for this instant yet
    pacer.commanded()
    pass_time(wall, pacer, 1.0)
    assert node.plant.time == 0.0
    pacer.single_step()
    assert node.plant.time == PERIOD
    pacer.commanded()
    pacer.pause(False)
    pass_time(wall, pacer, 0.01)
    assert node.plant.time == pytest.approx(2 * PERIOD)
    assert pacer.schedule.lost == 0.0


def test_a_pause_forgets_the_factor_and_its_time_on_the_wall_is_not_lost(wall: Wall) -> None:
    _, pacer = start(wall)
    for _ in range(100):
        pass_time(wall, pacer, 0.01, 0.01)
        pacer.commanded()
    assert pacer.factor.value == pytest.approx(0.1)
    pacer.pause(True)
    assert pacer.factor.value != pacer.factor.value
    wall.now += 60.0  # without a call of a timer
    lost, missed = pacer.schedule.lost, pacer.schedule.missed
    pacer.commanded()
    pacer.pause(False)
    wall.now += PERIOD
    pacer.advance_due()
    assert (pacer.schedule.lost, pacer.schedule.missed) == (lost, missed)


def test_an_instant_is_missed_when_it_starts_two_exchanges_late(wall: Wall) -> None:
    for late, missed in ((1.5, 0), (2.5, 1)):
        _, pacer = start(wall)
        wall.now += (1.0 + late) * PERIOD
        pacer.commanded()
        assert pacer.schedule.missed == missed


def test_a_run_that_catches_up_lets_other_callbacks_in_in_real_time(wall: Wall) -> None:
    """In one process the partner answers each instant while it is published."""
    node, pacer = start(wall)
    announce, advance = node.announce, node.advance

    def answered() -> None:
        announce()
        pacer.commanded()

    def slow() -> bool:
        wall.now += 0.0005
        return advance()

    node.announce, node.advance = answered, slow  # type: ignore[method-assign]
    wall.now += MOST_CATCH_UP
    pacer.commanded()
    assert node.plant.time == pytest.approx(2.0 * pacing.MOST_AT_ONCE, abs=2 * PERIOD)


def test_the_clock_is_read_in_each_exchange_of_a_vehicle_and_callbacks_run_before_the_watch() -> None:
    assert 0.0 < pacing.PACE < 0.005 < pacing.MOST_AT_ONCE < pacing.WATCH_PERIOD <= 0.05


def test_the_schedule_gives_up_time_beyond_the_catch_up() -> None:
    wall = Wall()
    schedule = WallSchedule(2.0, 0.002, wall)
    schedule.rebase(3.0)
    assert schedule.is_due(3.0)
    assert not schedule.is_due(3.01)
    wall.now += 0.005
    assert schedule.is_due(3.01)
    wall.now += 1.0
    schedule.start(3.01)
    assert (schedule.missed, schedule.lost) == (1, pytest.approx(1.0 - MOST_CATCH_UP))
    assert schedule.late
    wall.now += 6.0
    assert not schedule.late


def test_the_real_time_factor_is_of_the_last_seconds() -> None:
    wall = Wall()
    factor = RealTimeFactor(wall)
    assert factor.value != factor.value
    for k in range(100):
        factor.note(0.1 * k * (1.0 if k < 50 else 0.5) + (0.0 if k < 50 else 2.5))
        wall.now += 0.1
    assert factor.value == pytest.approx(0.5)


def test_marks_that_are_far_apart_give_the_factor_of_the_last_two() -> None:
    wall = Wall()
    factor = RealTimeFactor(wall)
    for simulated in (0.0, 10.0, 10.0):
        factor.note(simulated)
        wall.now += 10.0
    assert factor.value == 0.0


@pytest.mark.parametrize('mode', ['lockstep', 'realtime'])
def test_in_lockstep_the_end_of_who_is_waited_for_ends_the_run(
    wall: Wall, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, mode: str
) -> None:
    """In real time the joints are held, and time continues to its end."""
    monkeypatch.setenv(finished.VARIABLE, str(tmp_path / 'ended'))
    node = Stub(mode)
    node.values['wait_for'] = ['hydraulics']
    pacer = pacing.Pacer(node)
    pacer.readiness.subscriptions = lambda: frozenset(node.subscriptions)  # type: ignore[method-assign]
    pacer.start()
    pacer.start_clock()
    finished.record_finished(tmp_path / 'ended', '/hydraulics', 'killed by SIGKILL')
    if mode == 'realtime':
        pass_time(wall, pacer, LOCKSTEP_TIMEOUT + 1.0)
        assert node.held == 1
        return
    with pytest.raises(RunFailed, match='hydraulics, which is waited for, has ended: killed by SIGKILL'):
        pass_time(wall, pacer, LOCKSTEP_TIMEOUT + 1.0)


def test_time_starts_when_the_partners_are_ready_and_not_before(wall: Wall) -> None:
    node = Stub('lockstep')
    node.values['wait_for'] = ['hydraulics']
    updates: list[float] = []
    node.update_diagnostics = lambda: updates.append(wall.now)  # type: ignore[method-assign]
    pacer = pacing.Pacer(node)
    ready = False
    pacer.readiness.check = lambda: ready  # type: ignore[method-assign]
    pacer.readiness.subscriptions = lambda: frozenset(node.subscriptions)  # type: ignore[method-assign]
    pacer.start()
    for _ in range(3):
        pacer.check_timeouts()
    assert not pacer.started
    assert node.announced == []
    assert len(updates) == 3
    ready = True
    pacer.check_timeouts()
    assert pacer.started
    assert node.announced == [0.0]


@pytest.mark.parametrize(('mode', 'names', 'at_once'), [
    ('realtime', [''], True), ('realtime', ['hydraulics'], False), ('lockstep', [''], False),
])  # fmt: skip
def test_only_real_time_without_partners_starts_at_once(wall: Wall, mode: str, names: list[str], at_once: bool) -> None:
    node = Stub(mode)
    node.values['wait_for'] = names
    pacer = pacing.Pacer(node)
    pacer.schedule.clock = pacer.factor.clock = wall
    pacer.start()
    assert pacer.started is at_once


@pytest.mark.parametrize(('mode', 'waits', 'timers'), [
    ('lockstep', True, [pacing.WATCH_PERIOD]), ('lockstep', False, [pacing.WATCH_PERIOD, PERIOD]),
    ('realtime', True, [pacing.WATCH_PERIOD, pacing.PACE]), ('realtime', False, [pacing.WATCH_PERIOD, PERIOD]),
])  # fmt: skip
def test_the_wall_clock_is_read_if_time_depends_on_it(wall: Wall, mode: str, waits: bool, timers: list[float]) -> None:
    node = Stub(mode, waits=waits)
    made: list[float] = []
    node.create_timer = lambda period, callback, clock: made.append(period)  # type: ignore[method-assign]
    pacing.Pacer(node).start()
    assert made == timers


def test_without_a_partner_and_pacing_the_joints_are_held_from_the_start(wall: Wall) -> None:
    for mode, waits, held in (('lockstep', False, 1), ('lockstep', True, 0), ('realtime', False, 0)):
        node = Stub(mode, waits=waits)
        node.advance = lambda: False  # type: ignore[method-assign]
        pacer = pacing.Pacer(node)
        pacer.schedule.clock = pacer.factor.clock = wall
        pacer.start_clock()
        assert node.held == held


def test_a_restart_announces_the_first_instant_again_and_waits_for_its_command(wall: Wall) -> None:
    node, pacer = start(wall, 'lockstep')
    pacer.commanded()
    pacer.pause(True)
    pacer.commanded()  # an answer that belongs to the time before
    pacer.pause(False)
    node.plant.time = 0.0
    pacer.restart()
    assert node.announced[-1] == 0.0
    assert not pacer.has_command()
    not_begun = pacing.Pacer(Stub('lockstep'))
    not_begun.restart()
    assert not not_begun.started
    assert not_begun.node.announced == []  # type: ignore[attr-defined]


def test_the_process_ends_a_moment_after_the_run_and_a_restart_calls_that_off(wall: Wall) -> None:
    node, pacer = start(wall, 'lockstep')
    pacer.check_timeouts()
    node.finished = True
    pacer.check_timeouts()
    wall.now += pacing.FLUSH_TIME - 0.01
    pacer.check_timeouts()
    node.finished = False
    pacer.restart()
    node.finished = True
    wall.now += 10.0
    pacer.check_timeouts()
    wall.now += pacing.FLUSH_TIME - 0.01
    pacer.check_timeouts()
    wall.now += 0.02
    with pytest.raises(RunOver):
        pacer.check_timeouts()
    assert pacing.FLUSH_TIME == 0.5


def test_beside_a_recorder_in_the_same_process_the_end_follows_sooner(wall: Wall) -> None:
    node = Stub('lockstep')
    node.context = SimpleNamespace(local=object())  # type: ignore[attr-defined]
    pacer = pacing.Pacer(node)
    pacer.started = node.finished = True
    pacer.check_timeouts()
    wall.now += pacing.COMPOSED_FLUSH_TIME - 0.01
    pacer.check_timeouts()
    wall.now += 0.02
    with pytest.raises(RunOver):
        pacer.check_timeouts()
    assert pacing.COMPOSED_FLUSH_TIME == 0.1


def test_a_finished_run_and_a_paused_one_have_no_factor_and_lose_no_time(wall: Wall) -> None:
    for attribute in ('finished', 'paused'):
        node, pacer = start(wall)
        setattr(node if attribute == 'finished' else pacer, attribute, True)
        pass_time(wall, pacer, 0.4)
        assert pacer.factor.value != pacer.factor.value
        assert pacer.schedule.is_due(node.plant.time)
        assert not pacer.schedule.is_due(node.plant.time + 0.01)


def test_a_run_that_waits_for_nothing_lets_other_callbacks_in(wall: Wall) -> None:
    node = Stub('lockstep', waits=False)
    advance = node.advance

    def slow() -> bool:
        wall.now += 0.001
        return advance()

    node.advance = slow  # type: ignore[method-assign]
    pacer = pacing.Pacer(node)
    pacer.start()
    pacer.start_clock()
    assert node.plant.time == pytest.approx(pacing.MOST_AT_ONCE, abs=2 * PERIOD)
    pacer.advance_due()
    assert node.plant.time == pytest.approx(2 * pacing.MOST_AT_ONCE, abs=4 * PERIOD)


def test_a_change_of_speed_holds_from_the_present_instant_on(wall: Wall) -> None:
    node, pacer = start(wall)
    wall.now += 5.0
    node.values['speed'] = 0.5
    pacer.rebase()
    assert pacer.schedule.speed == 0.5
    assert pacer.schedule.tolerance == pytest.approx(2.0 * PERIOD / 0.5)
    assert pacer.schedule.is_due(node.plant.time)
    assert not pacer.schedule.is_due(node.plant.time + 0.01)
    wall.now += 0.021
    assert pacer.schedule.is_due(node.plant.time + 0.01)


def test_a_missing_command_is_reported_once_with_its_instant(wall: Wall) -> None:
    lines: list[str] = []
    for mode, does in (('realtime', 'holding the joints'), ('lockstep', 'simulated time stands still')):
        node, pacer = start(wall, mode)
        node.get_logger = lambda: SimpleNamespace(error=lines.append)  # type: ignore[method-assign]
        pass_time(wall, pacer, LOCKSTEP_TIMEOUT + 1.0)
        assert len(lines) == 1
        assert 'no command for t = 0.0000 s' in lines[0]
        assert does in lines[0]
        lines.clear()
    for waits, commands, timeout in ((False, 1, 0.2), (True, 0, LOCKSTEP_TIMEOUT)):
        node, pacer = start(wall, 'realtime', waits=waits)
        node.commands = commands
        node.get_logger = lambda: SimpleNamespace(error=lines.append)  # type: ignore[method-assign]
        pass_time(wall, pacer, timeout + 1.0)
        assert len(lines) == 1
        lines.clear()
    node, pacer = start(wall, 'realtime', waits=False)
    node.commands = 0  # an external machine was never commanded: no report
    node.get_logger = lambda: SimpleNamespace(error=lines.append)  # type: ignore[method-assign]
    pass_time(wall, pacer, 1.0)
    assert lines == []
    assert pacer.timed_out


def test_the_present_instant_is_repeated_once_a_second_until_it_is_answered(wall: Wall) -> None:
    node, pacer = start(wall)
    pass_time(wall, pacer, 0.95)
    assert node.repeated == 0
    pass_time(wall, pacer, 0.1)
    assert node.repeated == 1
    pass_time(wall, pacer, 0.9)
    assert node.repeated == 1
    pass_time(wall, pacer, 0.15)
    assert node.repeated == 2
    pacer.commanded()
    pacer.schedule.rebase(node.plant.time - 100.0)  # an answer is there, the wall clock is not
    pacer.commanded()
    pass_time(wall, pacer, 3.0)
    assert node.repeated == 2


@pytest.mark.parametrize(('mode', 'updates', 'walls'), [('realtime', 1, 0), ('lockstep', 0, 1)])
def test_diagnostics_follow_the_wall_clock_in_real_time_and_simulated_time_in_lockstep(
    wall: Wall, mode: str, updates: int, walls: int
) -> None:
    node, pacer = start(wall, mode)
    calls = {'updates': 0, 'walls': 0}

    def count(name: str) -> None:
        calls[name] += 1

    node.update_diagnostics = lambda: count('updates')  # type: ignore[method-assign]
    node.report_timeout = lambda: count('walls')  # type: ignore[method-assign]
    pacer.check_timeouts()
    assert calls == {'updates': updates, 'walls': walls}
