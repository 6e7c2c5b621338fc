"""The label of the parameter contact_model stands on faults of the contact model only."""

from __future__ import annotations

import pytest

from dyn_nodes.nodes import dynamics_node
from dyn_nodes.nodes.parameters import ParameterError


def test_rigid_ground_that_does_not_carry_a_machine_names_the_parameter(make_node):
    found = r"parameter 'contact_model': agv_mecanum: expected wheels and feet on a plane .* found .* with rollers"
    with pytest.raises(ParameterError, match=found):
        make_node(dynamics_node.DynamicsNode, machine='agv_mecanum', contact_model='rigid')


def test_a_fault_of_another_kind_is_not_blamed_on_the_contact_model(make_node, monkeypatch):
    def plant_for(machine, contact_model):
        def kind(*arguments):
            raise ValueError('buffer source array is read-only')

        kind.is_constrained = False
        return kind

    monkeypatch.setattr(dynamics_node, 'plant_for', plant_for)
    with pytest.raises(ValueError, match=r'^buffer source array is read-only$'):
        make_node(dynamics_node.DynamicsNode)
