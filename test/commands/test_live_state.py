from __future__ import annotations

import math

import pytest
from rich.console import Console

from dyn_nodes.commands.live_state import UNKNOWN, LiveState, render
from dyn_nodes.measures import CAUTION, DANGER, OK, Levels


def shown(state: LiveState, width: int = 100) -> str:
    console = Console(width=width, record=True, file=open('/dev/null', 'w'), force_terminal=True)  # noqa: SIM115
    console.print(render(state))
    return console.export_text()


@pytest.fixture
def state() -> LiveState:
    state = LiveState('log_loader', 24.0, 221_520.0)
    state.loads = {'front_left': 97_000.0, 'front_right': 99_760.0, 'rear_left': 0.0, 'rear_right': 24_760.0}
    state.set_margin('zmp', 0.6)
    state.set_margin('zmp', 0.3)
    state.set_margin('net_moment', 146e3)
    state.set_margin('net_moment', 1e3)
    state.pressures = {'boom': {'head_pressure': 20.6e6, 'rod_pressure': 2.3e6, 'supply_pressure': 1.3e6}}
    state.phase, state.tilt, state.peak_tilt = 'recover', math.radians(8.5), math.radians(8.55)
    state.set_time(10.0, 100.0)
    state.set_time(12.0, 101.0)
    return state


def test_the_display_shows_time_attitude_loads_margins_and_pressures(state):
    text = shown(state)
    for words in ('12.00 of 24 s', '2.0 times real time', 'recover', '8.50°', 'peak 8.55°', '97.0 kN', 'in the air'):
        assert words in text
    for words in ('zero moment point', 'net moment', 'head 20.6', '100.0% of the weight'):
        assert words in text


def test_bars_are_as_long_as_the_loads_are_large(state):
    lines = [line.strip('│ ') for line in shown(state).splitlines()]
    front_left, front_right, rear_left, rear_right = (
        next(line.count('█') for line in lines if line.startswith(wheel.replace('_', ' '))) for wheel in state.loads
    )
    assert 0 == rear_left < rear_right < front_left <= front_right


def test_an_unknown_margin_has_no_band_and_no_bar(state):
    state.set_margin('zmp', math.nan)
    assert state.margin_status('zmp') == UNKNOWN
    assert state.margin_part('zmp') == 0.0
    state.set_margin('load_share', 0.24)  # of 0.25, an equal share
    assert (state.margin_status('load_share'), state.margin_part('load_share')) == (OK, pytest.approx(0.96))
    state.set_margin('load_share', 0.04)
    assert state.margin_status('load_share') == CAUTION


def test_a_moment_is_compared_with_the_published_levels():
    state = LiveState('m', 1.0)
    for value, band in ((-0.1, DANGER), (1e5, OK), (3e4, OK)):
        state.set_margin('net_moment', value)
        assert state.margin_status('net_moment') == band
    state.levels['net_moment'] = Levels(4e4, 2e4, 1e5)
    assert state.margin_status('net_moment') == CAUTION
    assert state.margin_part('net_moment') == pytest.approx(0.3)


def test_speed_is_averaged_over_the_last_seconds():
    state = LiveState('m', 100.0)
    assert state.speed is None
    for wall in range(20):
        state.set_time(3.0 * wall if wall < 10 else 27.0 + 5.0 * (wall - 9), float(wall))
    assert state.speed == pytest.approx(5.0)


def test_log_lines_are_shown_before_the_first_message():
    state = LiveState('log_loader', 24.0)
    state.log.append('[dynamics_node-4] waiting: no node controller_node yet')
    assert 'starting the nodes' in shown(state)
    assert 'no node controller_node yet' in shown(state)
    assert state.line() == 'waiting for the nodes'


def test_the_line_for_logs_has_time_speed_and_loads(state):
    assert state.line() == (' 12.0 of 24 s, 2.0 times real time, recover, tilt 8.50 deg, wheel loads 97 100 0 25 kN')


@pytest.mark.parametrize('width', [40, 80, 200])
def test_any_width_of_the_terminal_is_shown(state, width):
    assert all(len(line) <= width for line in shown(state, width).splitlines())


def test_text_of_nodes_is_no_markup():
    state = LiveState('m', 1.0)
    state.log.append('[red]not red[/nothing]')
    assert '[red]not red[/nothing]' in shown(state)


def test_a_first_start_is_shown_as_a_compilation_until_it_is_over():
    state = LiveState('log_loader', 24.0)
    state.add_line('[dynamics_node-1] [INFO] [1.0] [dynamics_node]: compiling log_loader, once, about 20 s')
    assert state.line() == 'compiling log_loader, once, about 20 s'
    assert 'compiling log_loader, once, about 20 s' in shown(state)
    state.add_line('[dynamics_node-1] [INFO] [21.0] [dynamics_node]: compiled in 20 s')
    assert state.line() == 'waiting for the nodes'
    assert 'starting the nodes' in shown(state)
