"""Sent valve commands are within the bounds of the mapping for any request."""

from __future__ import annotations

import math

import numpy as np
import pytest

pytest.importorskip('cantools')

from can_fixtures import changed
from draws import reached, reaches
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dyn_nodes.can.command_bounds import CommandBounds
from dyn_nodes.can.mapping_file import load_mapping
from dyn_nodes.can.receiver import Receiver
from dyn_nodes.can.sender import Sender
from dyn_nodes.model.problems import MachineError

NAMES = ('boom', 'stick', 'swing')
BOOM = 'signal: ValveCommands.BoomVolts'
UNEVEN = [(-2.0, 3.0), (-0.1, 0.3), (0.0, 0.0017), (-7.9999, 0.0)]
ANY = st.floats(allow_nan=True, allow_infinity=True) | st.floats(-20.0, 20.0)


def bounded(folder, lower, upper, dbc='', new=''):
    path = changed(folder, 'log_loader.yaml', BOOM, f'{BOOM}, lower: {lower}, upper: {upper}')
    if dbc:
        text = (folder / 'log_loader.dbc').read_text()
        assert dbc in text
        (folder / 'log_loader.dbc').write_text(text.replace(dbc, new))
    return load_mapping(path)


@pytest.fixture(scope='module', params=UNEVEN, ids=str)
def mapping(request, tmp_path_factory):
    return bounded(tmp_path_factory.mktemp('bounded'), *request.param)[0]


@pytest.fixture(scope='module')
def as_float(tmp_path_factory):
    """Return the volts of the boom as a 32-bit float in a separate message."""
    old = ' SG_ BoomVolts : 0|16@1- (0.001,0) [-10|10] "V" MachineUnit\n SG_ StickVolts : 16|16@1- (0.001,0)'
    new = ' SG_ BoomVolts : 0|32@1- (1,0) [-10|10] "V" MachineUnit\n SG_ StickVolts : 32|8@1- (0.1,0)'
    folder = tmp_path_factory.mktemp('float')
    path = changed(folder, 'log_loader.yaml', BOOM, f'{BOOM}, lower: -0.1, upper: 0.3')
    text = (folder / 'log_loader.dbc').read_text()
    assert old in text
    text = text.replace(old, new).replace('SwingVolts : 32|16@1- (0.001,0)', 'SwingVolts : 40|8@1- (0.1,0)')
    text += 'SIG_VALTYPE_ 512 BoomVolts : 1;\n'
    (folder / 'log_loader.dbc').write_text(text)
    return load_mapping(path)[0]


def over_the_bus(mapping, values):
    """Send commands once; return the values decoded by the machine with the same mapping."""
    (frame,) = mapping.commands
    raw = Sender(mapping.commands).encode(frame, {('command', name): value for name, value in values.items()})
    receiver = Receiver(mapping.commands)
    assert receiver.take(raw.identifier, raw.extended, raw.data, 0.0) is frame, receiver.last
    decoded = frame.message.decode(raw.data)
    return {name: receiver.values['command', name] for name in values}, float(decoded['BoomVolts'])


@reaches(inside=6, beyond=12, no_number=2)
@example(volts=(math.nan, 1.0, 1.0))
@example(volts=(0.1, math.inf, 1.0))
@example(volts=(-math.inf, 1.0, 1.0))
@given(volts=st.tuples(ANY, ANY, ANY))
@settings(deadline=None, max_examples=300)
def test_no_command_exceeds_its_bounds_and_the_machine_accepts_each(mapping, volts):
    boom = mapping.commands[0].channels[0]
    machine, sent = over_the_bus(mapping, dict(zip(NAMES, volts)))
    assert boom.lower - 1e-12 <= sent <= boom.upper + 1e-12
    finite = all(map(math.isfinite, volts))
    reached('inside', finite and boom.lower < volts[0] < boom.upper)
    reached('beyond', finite and not boom.lower <= volts[0] <= boom.upper)
    reached('no_number', not finite)
    if finite:
        assert machine['boom'] == pytest.approx(min(max(volts[0], boom.lower), boom.upper), abs=0.00101)
    else:
        assert machine == dict.fromkeys(NAMES, 0.0), 'one that is no number stops all'


@reaches(inside=8, beyond=8, no_number=1)
@example(volts=math.nan)
@example(volts=math.inf)
@example(volts=-math.inf)
@given(volts=ANY)
@settings(deadline=None, max_examples=200)
def test_a_signal_of_floating_point_is_bounded_too(as_float, volts):
    machine, sent = over_the_bus(as_float, {'boom': volts, 'stick': 0.0, 'swing': 0.0})
    reached('inside', -0.1 < volts < 0.3)
    reached('beyond', not -0.1 <= volts <= 0.3)
    reached('no_number', not math.isfinite(volts))
    assert -0.1 * (1 + 1e-6) <= sent <= 0.3 * (1 + 1e-6)
    assert machine['boom'] == pytest.approx(min(max(volts, -0.1), 0.3) if math.isfinite(volts) else 0.0, abs=1e-6)


@pytest.mark.parametrize('number', [math.nan, math.inf, -math.inf])
def test_a_received_nan_is_rejected(as_float, number):
    (frame,) = as_float.commands
    raw = Sender(as_float.commands).encode(frame, {('command', name): 0.0 for name in NAMES})
    data = bytearray(np.float32(number).tobytes() + raw.data[4:])
    data[frame.checksum_byte] = frame.checksum_of(bytes(data))
    receiver = Receiver(as_float.commands)
    assert receiver.take(raw.identifier, raw.extended, bytes(data), 0.0) is None
    assert 'BoomVolts' in receiver.last['ValveCommands']
    assert not receiver.values


def test_a_missing_command_is_neutral_and_is_counted(mapping):
    (frame,) = mapping.commands
    sender = Sender(mapping.commands)
    raw = sender.encode(frame, {('command', 'swing'): 5.0})
    assert frame.message.decode(raw.data)['SwingVolts'] == 0.0
    assert sender.not_finite == {'ValveCommands': 1}


@pytest.mark.parametrize(('lower', 'upper'), [(0.5, 2.0), (-3.0, -0.1)])
def test_bounds_that_exclude_neutral_are_rejected(tmp_path, lower, upper):
    with pytest.raises(MachineError, match='bounds that include 0 V') as caught:
        bounded(tmp_path, lower, upper)
    assert caught.value.problems[0].line == 41


def test_a_signal_without_an_exact_neutral_is_a_warning(tmp_path):
    old, new = 'BoomVolts : 0|16@1- (0.001,0)', 'BoomVolts : 0|16@1- (0.002,0.001)'
    _, warnings = bounded(tmp_path, -2.0, 2.0, old, new)
    assert [str(warning).split(': ', 2)[-1] for warning in warnings] == [
        'expected a signal that can be 0 V, found 0.001 V as its nearest value'
    ]


def test_commands_are_clamped_to_the_narrower_of_mapping_and_limit_and_named(tmp_path):
    bounds = CommandBounds(bounded(tmp_path, -2.0, 9.5)[0], NAMES)
    assert bounds.applied(np.array([-5.0, 9.0, 1.0]), 1.0).tolist() == [-2.0, 8.0, 1.0]
    assert bounds.applied(np.array([-5.0, 9.0, 1.0]), 0.1).tolist() == [-0.8, 0.8, 0.8]
    bounds.note(np.array([8.0, 9.0, 1.0]), 1.0)
    assert not bounds.recent(1.0), 'the voltage limit is no news'
    bounds.note(np.array([-5.0, 0.0, 0.0]), 2.0)
    assert bounds.last == 'boom: expected -2 to 8 V, found -5 V'
    assert bounds.clamped == {'boom': 1}
    assert bounds.recent(6.9)
    assert not bounds.recent(7.1)
