"""An override of the governor: a held key, limited in time and speed, in the status and in the log."""

from __future__ import annotations

import numpy as np
import pytest
from node_testing import joint_state

from dyn_nodes.middleware import Parameter, message
from dyn_nodes.nodes import held_override
from dyn_nodes.nodes.held_override import HELD, HeldOverride
from dyn_nodes.nodes.parameters import ParameterError
from dyn_nodes.nodes.stamps import NANO
from dyn_nodes.nodes.tip_over_governor_node import TipOverGovernorNode

Bool, Float64MultiArray = message('std_msgs/msg/Bool'), message('std_msgs/msg/Float64MultiArray')
FAR, OUT = (0.0, 0.6, -1.4), [-5.0, -5.5, 0.0]


def hold_key(override, start, seconds, period=0.1):
    """Press the key every `period` s; return the remaining times after each press."""
    left = []
    for k in range(round(seconds / period)):
        override.update(True, start + k * period)
        left.append(override.left(start + k * period))
    return left


def test_an_override_lasts_as_long_as_the_key_but_no_longer_than_its_limit():
    override = HeldOverride(2.0)
    assert override.left(0.0) == 0.0
    left = hold_key(override, 10.0, 5.0)
    assert left[:20] == pytest.approx(np.linspace(2.0, 0.1, 20))
    assert left[20:] == [0.0] * 30
    override.update(False, 15.0)
    assert override.left(15.0) == 0.0
    assert hold_key(override, 15.2, 0.1) == [2.0]
    assert override.count == 2


def test_a_key_without_messages_is_released():
    override = HeldOverride(9.0)
    override.update(True, 1.0)
    assert override.left(1.0 + 0.9 * HELD) > 8.0
    assert override.left(1.0 + 1.1 * HELD) == 0.0
    override.update(True, 2.0)
    assert override.left(2.0) == 9.0


def test_without_a_time_there_is_no_override():
    override = HeldOverride(0.0)
    assert hold_key(override, 0.0, 1.0) == [0.0] * 10
    assert override.count == 0


@pytest.fixture
def make(context):
    def make(**parameters):
        values = {'machine': 'log_loader', 'settling': 0.1, 'state_timeout': 9.0, 'command_timeout': 9.0}
        values |= {'motion_check': False, 'stamp_clock': 'other', 'neutral_first': False, **parameters}
        overrides = [Parameter(name, value=value) for name, value in values.items()]
        node = TipOverGovernorNode(context=context, parameter_overrides=overrides)
        node.sensing.overdue = lambda *_: False  # joint states are sent at once
        return node

    return make


def outputs(node, volts, pressed, count=60):
    """Return the verdicts on levers that last, with the key held or not; a decision every 20 ms."""
    verdicts = []
    for _ in range(count):
        if pressed:
            node.receive('governor/override', Bool(data=True))
        node.decided_at = node.sensing.stamp / NANO - 0.02
        node.receive('valve_commands_in', Float64MultiArray(data=list(volts)))
        verdicts.append(node.verdict)
    return verdicts


def test_a_held_key_passes_slow_levers_beyond_the_limit_and_the_status_names_it(make, monkeypatch):
    monkeypatch.setattr(held_override, 'HELD', 60.0)  # a busy computer may take long between key and decision
    node = make(override_time=60.0, override_speed=0.2, payload=5100.0)
    for k in range(31):
        node.receive('joint_states', joint_state(0.01 * k, FAR))
    held = outputs(node, OUT, False)[-1]
    assert held.held
    assert not held.is_override
    passed = outputs(node, OUT, True)[-1]
    assert passed.is_override
    assert not passed.certified
    assert passed.volts == pytest.approx([-1.6, -1.6, 0.0])  # 0.2 of 8 V
    health = node._published_health()
    assert health.text.startswith('override: 20 % of the levers without a limit of the load, ')
    assert health.values['overrides'] == '1'
    node.receive('governor/override', Bool(data=False))
    after = outputs(node, OUT, False)[-1]
    assert not after.is_override
    assert np.abs(after.volts).max() < 0.8


@pytest.mark.parametrize(
    'parameters', [{'mode': 'lockstep', 'command_source': 'lockstep'}, {'output': 'joint_command'}], ids=str
)
def test_an_override_needs_asynchronous_valves(make, parameters):
    with pytest.raises(ParameterError, match="'override_time': expected asynchronous valve_commands, found "):
        make(override_time=5.0, **parameters)
