from __future__ import annotations

import math
from pathlib import Path

import pytest
import yaml
from draws import reached, reaches
from hypothesis import given
from hypothesis import strategies as st

from dyn_nodes.control.hand_levers import FAREWELL, FIRST_PRESS, REPEAT, Joystick, Keyboard, KeyReader
from dyn_nodes.control.lever_pattern import LeverPatternError, load_lever_pattern, shape

ROOT = Path(__file__).resolve().parents[2]
NAMES = ('boom', 'stick', 'swing')
LEFT_X, LEFT_Y, RIGHT_Y = 0, 1, 4
REST = [0.0] * 6
BUTTON = 5


@pytest.fixture
def pattern():
    return load_lever_pattern(ROOT / 'config' / 'teleop.yaml', NAMES)


@pytest.fixture
def joystick(pattern):
    return Joystick(NAMES, pattern)


def axes(**moved: float) -> list[float]:
    values = list(REST)
    for name, value in moved.items():
        values[{'left_x': LEFT_X, 'left_y': LEFT_Y, 'right_y': RIGHT_Y}[name]] = value
    return values


def buttons(held: bool) -> list[int]:
    return [0] * BUTTON + [int(held)]


def pressed(joystick: Joystick, now: float = 0.0, **moved: float) -> list[float]:
    """Return the command after the button is released, pressed with levers in the middle, and levers are moved."""
    joystick.message(REST, buttons(False), now)
    joystick.message(REST, buttons(True), now)
    joystick.message(axes(**moved), buttons(True), now)
    return joystick.command(now)


@pytest.mark.parametrize(
    ('moved', 'expected'),
    [
        ({'right_y': 1.0}, [-6.0, 0.0, 0.0]),  # right lever forward: boom down
        ({'right_y': -1.0}, [6.0, 0.0, 0.0]),
        ({'left_y': 1.0}, [0.0, -6.0, 0.0]),  # left lever forward: stick out
        ({'left_x': 1.0}, [0.0, 0.0, 5.0]),  # left lever to the left: house to the left
        ({'left_x': -1.0, 'left_y': -1.0, 'right_y': -1.0}, [6.0, 6.0, -5.0]),
    ],
)
def test_the_shipped_pattern_is_that_of_excavators(joystick, moved, expected):
    assert pressed(joystick, **moved) == pytest.approx(expected)


def test_nothing_is_commanded_without_the_dead_man_button(joystick):
    joystick.message(axes(right_y=1.0), buttons(False), 0.0)
    assert joystick.command(0.0) is None


def test_letting_the_button_go_commands_neutral_for_a_moment_and_then_nothing(joystick):
    pressed(joystick, right_y=1.0)
    joystick.message(axes(right_y=1.0), buttons(False), 1.0)
    assert joystick.command(1.0) == [0.0, 0.0, 0.0]
    assert joystick.command(1.0 + 0.99 * FAREWELL) == [0.0, 0.0, 0.0]
    assert joystick.command(1.0 + 1.01 * FAREWELL) is None


def test_a_timeout_ends_driving(joystick, pattern):
    assert pressed(joystick, right_y=1.0)[0] == pytest.approx(-6.0)
    assert joystick.command(0.9 * pattern.timeout)[0] == pytest.approx(-6.0)
    assert joystick.command(1.1 * pattern.timeout) == [0.0, 0.0, 0.0]
    assert joystick.timed_out(1.1 * pattern.timeout)
    assert not joystick.held


def test_a_lever_deflected_as_the_button_is_pressed_waits_for_its_middle(joystick):
    joystick.message(REST, buttons(False), 0.0)
    joystick.message(axes(right_y=1.0, left_x=0.0), buttons(True), 0.0)
    joystick.message(axes(right_y=1.0, left_x=1.0), buttons(True), 0.1)
    assert joystick.command(0.1) == pytest.approx([0.0, 0.0, 5.0])
    assert joystick.waiting() == ['boom']
    joystick.message(axes(right_y=0.05), buttons(True), 0.2)
    joystick.message(axes(right_y=1.0), buttons(True), 0.3)
    assert joystick.command(0.3) == pytest.approx([-6.0, 0.0, 0.0])
    assert joystick.waiting() == []


def test_after_a_timeout_the_levers_must_pass_their_middle_again(joystick):
    pressed(joystick, right_y=1.0)
    joystick.command(2.0)
    joystick.message(axes(right_y=1.0), buttons(False), 2.0)
    joystick.message(axes(right_y=1.0), buttons(True), 2.1)
    assert joystick.command(2.1) == [0.0, 0.0, 0.0]
    assert joystick.waiting() == ['boom']


def first_message(joystick):
    """No message has been received before."""


def timeout(joystick):
    pressed(joystick, right_y=1.0)
    joystick.command(9.0)


def timeout_without_a_command(joystick):
    pressed(joystick, right_y=1.0)


def fault(joystick):
    pressed(joystick, right_y=1.0)
    joystick.message(REST, [1, 1], 9.9)


@pytest.mark.parametrize('before', [first_message, timeout, timeout_without_a_command, fault])
def test_a_dead_man_button_that_was_not_released_does_not_count(joystick, before):
    before(joystick)
    for lever in (0.0, 1.0):
        joystick.message(axes(right_y=lever), buttons(True), 10.0)
    assert joystick.command(10.0) in (None, [0.0, 0.0, 0.0])
    assert not joystick.held
    assert joystick.stuck
    assert pressed(joystick, 10.1, right_y=1.0)[0] == pytest.approx(-6.0)
    assert not joystick.stuck


@pytest.mark.parametrize(
    ('bad_axes', 'bad_buttons', 'text'),
    [
        ([0.0, 0.0], [0] * 6, 'no axis 4 for boom: it has 2'),
        (REST, [1, 1], 'no button 5: it has 2'),
        ([0.0, math.nan, 0.0, 0.0, 0.0, 0.0], [0] * 5 + [1], 'axis 1 for stick'),
        ([math.inf, 0.0, 0.0, 0.0, 0.0, 0.0], [0] * 5 + [1], 'axis 0 for swing'),
    ],
)
def test_an_invalid_message_ends_driving_and_is_reported(joystick, bad_axes, bad_buttons, text):
    pressed(joystick, right_y=1.0)
    joystick.message(bad_axes, bad_buttons, 0.1)
    assert joystick.command(0.1) == [0.0, 0.0, 0.0]
    assert text in joystick.fault


axis = st.floats(-1.5, 1.5)
part = st.floats(0.0, 0.9)


@reaches(dead=4, between=4, beyond=4)
@given(axis, part, st.floats(0.0, 1.0))
def test_shaping_is_odd_and_bounded(value, dead_band, expo):
    effect = shape(value, dead_band, expo)
    assert effect == -shape(-value, dead_band, expo)
    reached('dead', abs(value) <= dead_band)
    reached('between', dead_band < abs(value) < 1.0)
    reached('beyond', abs(value) > 1.0)
    assert abs(effect) <= 1.0
    assert (effect == 0.0) or (effect > 0.0) == (value > 0.0)


@given(st.floats(0.0, 1.0), st.floats(0.0, 1.0), part, st.floats(0.0, 1.0))
def test_shaping_never_falls_and_does_not_jump_at_the_dead_band(a, b, dead_band, expo):
    low, high = sorted((a, b))
    assert shape(low, dead_band, expo) <= shape(high, dead_band, expo)
    assert shape(dead_band + 1e-9, dead_band, expo) < 1e-6
    assert shape(1.0, dead_band, expo) == pytest.approx(1.0)


LEVERS = st.lists(st.floats(-1.5, 1.5), min_size=6, max_size=6)
BROKEN = st.lists(st.floats(-1.5, 1.5) | st.sampled_from([math.nan, math.inf]), min_size=6, max_size=6)


@reaches(driving=8, full=4, rejected=2)
@given(LEVERS | BROKEN, st.sampled_from([True, True, True, False]))
def test_levers_that_are_enabled_never_command_more_than_the_volts_of_the_file(values, held):
    pattern = load_lever_pattern(ROOT / 'config' / 'teleop.yaml', NAMES)
    joystick = Joystick(NAMES, pattern)
    pressed(joystick)
    joystick.message(values, buttons(held), 0.1)
    volts = joystick.command(0.1)
    most = [pattern.levers[name].volts for name in NAMES]
    assert all(abs(value) <= limit for value, limit in zip(volts, most))
    sound = all(math.isfinite(values[axis]) for axis in (LEFT_X, LEFT_Y, RIGHT_Y))
    reached('driving', any(volts))
    reached('full', any(abs(value) == limit for value, limit in zip(volts, most)))
    reached('rejected', held and not sound)
    if not held or not sound:
        assert volts == [0.0, 0.0, 0.0]


def test_expo_makes_the_middle_finer():
    assert shape(0.3, 0.1, 0.8) < 0.5 * shape(0.3, 0.1, 0.0)


@given(st.lists(axis | st.just(math.nan), min_size=0, max_size=8), st.lists(st.integers(0, 1), max_size=8))
def test_no_message_ever_commands_more_than_the_volts_of_the_file(values, keys):
    pattern = load_lever_pattern(ROOT / 'config' / 'teleop.yaml', NAMES)
    joystick = Joystick(NAMES, pattern)
    joystick.message(REST, buttons(False), 0.0)
    for now in (0.0, 0.1):
        joystick.message(values, keys, now)
        volts = joystick.command(now)
        assert volts is None or all(abs(v) <= pattern.levers[n].volts for n, v in zip(NAMES, volts))


# -- keyboard ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def resting(pattern):
    return Keyboard(NAMES, dict(pattern.levers), throw=0.5)


@pytest.fixture
def keyboard(resting):
    """A keyboard that has started to send."""
    resting.type_key('k', 0.0)
    resting.command(0.0)
    resting.type_key(' ', 0.0)
    return resting


def test_the_first_command_is_neutral_also_after_a_pause(resting):
    for start in (0.0, 10.0):
        resting.type_key('k', start)
        assert resting.command(start) == [0.0, 0.0, 0.0]
        assert resting.command(start + 0.05) == [3.0, 0.0, 0.0]
        assert resting.command(start + 5.0) is None


def test_a_key_moves_its_valve_until_it_is_no_longer_repeated(keyboard):
    assert keyboard.type_key('k', 0.0)
    assert keyboard.command(0.5) == [3.0, 0.0, 0.0]
    keyboard.type_key('k', 0.55)
    assert keyboard.command(0.55 + 0.9 * REPEAT) == [3.0, 0.0, 0.0]
    assert keyboard.command(0.55 + 1.1 * REPEAT) == [0.0, 0.0, 0.0]


def test_the_opposite_key_and_capitals(keyboard):
    keyboard.type_key('k', 0.0)
    keyboard.type_key('I', 0.1)
    assert keyboard.command(0.2) == [-3.0, 0.0, 0.0]


def test_keys_of_several_valves_act_together(keyboard):
    keyboard.type_key('i', 0.0)
    keyboard.type_key('w', 0.0)
    keyboard.type_key('a', 0.0)
    assert keyboard.command(0.1) == [-3.0, -3.0, 2.5]


def test_blank_is_neutral_and_digits_set_the_throw(keyboard):
    keyboard.type_key('k', 0.0)
    keyboard.type_key(' ', 0.1)
    assert keyboard.command(0.2) == [0.0, 0.0, 0.0]
    keyboard.type_key('0', 0.2)
    keyboard.type_key('k', 0.3)
    assert keyboard.command(0.3) == [6.0, 0.0, 0.0]
    keyboard.type_key('2', 0.4)
    assert keyboard.command(0.4) == pytest.approx([1.2, 0.0, 0.0])


def test_without_keys_nothing_is_sent_after_a_while(resting):
    keyboard = resting
    assert keyboard.command(0.0) is None
    keyboard.type_key('k', 0.0)
    assert keyboard.command(FIRST_PRESS + 0.9 * FAREWELL) == [0.0, 0.0, 0.0]
    assert keyboard.command(FIRST_PRESS + 1.1 * FAREWELL) is None
    assert not keyboard.type_key('x', 5.0)


ARROW_LEFT, CONTROL_LEFT, F1_CONSOLE, F4, F9, DELETE = '\x1b[D', '\x1b[1;5D', '\x1b[[A', '\x1bOS', '\x1b[20~', '\x1b[3~'


@pytest.mark.parametrize('sequence', [ARROW_LEFT, CONTROL_LEFT, F1_CONSOLE, F4, F9, DELETE, '\x1bk', '\x1b\x1b[D'])
@pytest.mark.parametrize('split', range(6))
def test_letters_of_an_escape_sequence_are_not_keys(sequence, split):
    reader = KeyReader()
    assert reader.keys(sequence[:split]) + reader.keys(sequence[split:]) == ''
    assert reader.keys('k') == 'k'


@pytest.mark.parametrize(
    ('typed', 'keys'), [('\x1b ', ' '), ('\x1b\x03', '\x03'), ('a\x1b[Dw', 'aw'), ('ki q', 'ki q')]
)
def test_single_keys_pass_beside_others(typed, keys):
    assert KeyReader().keys(typed) == keys


@given(st.text(st.sampled_from('\x1b[O;15~ADSk '), max_size=12), st.integers(0, 12))
def test_keys_do_not_depend_on_how_the_terminal_was_read(typed, split):
    whole, parts = KeyReader(), KeyReader()
    assert whole.keys(typed) == parts.keys(typed[:split]) + parts.keys(typed[split:])


def test_the_help_names_every_key(keyboard):
    text = '\n'.join(keyboard.help())
    for key in 'wsadik':
        assert f'{key}  ' in text
    assert 'boom up' in text
    assert 'stick out' in text


# -- the file ----------------------------------------------------------------------------------------------------------

GOOD = """\
dead_man_button: 5
dead_band: 0.1
expo: 0.5
timeout: 0.5
levers:
  boom: {axis: 1, volts: 6.0, keys: ki}
"""


@pytest.mark.parametrize(
    ('old', 'new', 'where', 'expected', 'line'),
    [
        ('dead_man_button: 5', 'dead_man_button: five', 'dead_man_button', 'a whole number from 0', 1),
        ('dead_man_button: 5\n', '', 'dead_man_button', 'a whole number from 0', 0),
        ('expo: 0.5', 'expo: 2', 'expo', 'a number from 0 to 1', 3),
        ('expo: 0.5', 'expo: .nan', 'expo', 'a finite number', 3),
        ('dead_band', 'deadband', 'deadband', 'one of dead_man_button', 2),
        ('  boom', '  bom', 'levers.bom', 'one of boom, stick, swing', 6),
        ('axis: 1', 'axis: -1', 'levers.boom.axis', 'a whole number from 0', 6),
        ('volts: 6.0', 'volts: 6 V', 'levers.boom.volts', 'a number', 6),
        ('keys: ki', 'keys: kq', 'levers.boom.keys', 'two different keys', 6),
        ('keys: ki', 'keys: ki}\n  stick: {volts: 1, keys: kj', 'levers.stick.keys', 'unique keys', 7),
        ('axis: 1', 'axis: 1, invert: 1', 'levers.boom.invert', 'true or false', 6),
    ],
)
def test_a_fault_of_the_file_is_reported_with_its_line(tmp_path, old, new, where, expected, line):
    file = tmp_path / 'levers.yaml'
    assert old in GOOD
    file.write_text(GOOD.replace(old, new))
    with pytest.raises(LeverPatternError) as caught:
        load_lever_pattern(file, NAMES)
    matching = [problem for problem in caught.value.problems if problem.where == where]
    assert matching, str(caught.value)
    assert expected in matching[0].expected
    assert not line or matching[0].line == line


def test_a_correct_file_is_read(tmp_path):
    file = tmp_path / 'levers.yaml'
    file.write_text(GOOD)
    pattern = load_lever_pattern(file, NAMES)
    assert pattern.dead_man_button == 5
    assert list(pattern.levers) == ['boom']
    assert pattern.levers['boom'].sign == 1.0


def test_the_pattern_of_the_excavator_has_a_lever_for_each_of_its_valves():
    text = (ROOT / 'config' / 'excavator.yaml').read_text(encoding='utf-8')
    actuators = list(yaml.safe_load(text)['actuators'])
    pattern = load_lever_pattern(ROOT / 'config' / 'teleop_excavator.yaml', actuators)
    assert set(pattern.levers) == set(actuators)
    assert all(lever.keys for lever in pattern.levers.values())
    assert Keyboard(actuators, dict(pattern.levers)).type_key('r', 0.0)


def test_the_override_needs_its_button_pressed_while_the_dead_man_button_is_held(joystick, pattern):
    assert pattern.override_button == 4

    def send(dead_man, override, now=0.0):
        joystick.message(REST, [0, 0, 0, 0, int(override), int(dead_man)], now)
        return joystick.overrides

    assert not send(False, False)
    assert not send(False, True), 'not without the dead-man button'
    assert not send(True, True), 'a button that was down before'
    assert not send(True, False)
    assert send(True, True)
    assert not send(False, True)
    assert not send(True, True)
    send(True, False)
    assert send(True, True)
    joystick.command(1.1 * pattern.timeout)
    assert not joystick.overrides


def with_override(path, line):
    """Read the lever file with another line for the button of the override."""
    path.write_text((ROOT / 'config' / 'teleop.yaml').read_text().replace('override_button: 4', line))
    return load_lever_pattern(path, NAMES)


def test_a_gamepad_without_the_button_of_the_override_is_a_fault(tmp_path):
    joystick = Joystick(NAMES, with_override(tmp_path / 'levers.yaml', 'override_button: 9'))
    joystick.message(REST, buttons(False), 0.0)
    assert joystick.fault == 'joy: no button 9: it has 6'


def test_a_pattern_without_an_override_ignores_all_other_buttons(tmp_path):
    joystick = Joystick(NAMES, with_override(tmp_path / 'levers.yaml', ''))
    pressed(joystick)
    joystick.message(REST, [1, 1, 1, 1, 1, 1], 0.1)
    assert joystick.held
    assert not joystick.overrides
    with pytest.raises(LeverPatternError, match='override_button: expected another button than dead_man_button'):
        with_override(tmp_path / 'same.yaml', 'override_button: 5')
