"""The linear model of a running machine over its service."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
from node_testing import Tester

from dyn_nodes.middleware import service
from dyn_nodes.nodes.dynamics_node import DynamicsNode
from dyn_nodes.simulation.linear import linearize

Trigger = service('std_srvs/srv/Trigger')


@pytest.fixture
def node(make_node):
    return make_node(DynamicsNode, machine='four_bar', mode='lockstep')


def answer_of(node):
    return node.linearize.answer(None, SimpleNamespace(success=None, message=''))


def test_the_answer_is_the_model_about_the_present_state(node):
    answer = answer_of(node)
    assert answer.success
    model, plant = json.loads(answer.message), node.plant
    expected = linearize(plant.system, plant.x, plant.u, plant.p)
    assert model['A'] == expected.A.tolist()
    assert model['state_names'] == ['crank_joint', 'crank_joint_rate']
    assert len(model['modes']) == len(expected.modes())


def test_in_real_time_only_a_paused_machine_is_linearized(node):
    node.paced = True
    response = answer_of(node)
    assert not response.success
    assert response.message.startswith('pause first')
    node.pacer.pause(True)
    assert answer_of(node).success


def test_a_state_without_a_model_is_reported(node):
    node.plant.x[0] = float('nan')
    answer = answer_of(node)
    assert not answer.success
    assert answer.message == 'four_bar: expected a state at which dx/dt is defined'


def test_a_system_without_derivatives_is_reported(node):
    node.plant.system = SimpleNamespace(machine=SimpleNamespace(name='cart'))
    answer = answer_of(node)
    assert not answer.success
    assert answer.message == 'cart: expected a system with derivatives of dx/dt, found one on rigid ground'


def test_another_process_asks_for_the_model(start_node, context):
    start_node('dynamics_node', machine='four_bar', mode='lockstep')
    asking = Tester(context)
    answer = asking.ask(Trigger, '/dynamics_node/linearize', timeout=280.0)
    assert answer.success
    assert json.loads(answer.message)['input_names'] == ['crank_joint/effort']
