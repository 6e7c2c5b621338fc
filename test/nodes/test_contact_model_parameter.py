"""The label of the parameter contact_model stands on faults of the contact model only."""

from __future__ import annotations

import pytest
from node_testing import Outbox

from dyn_nodes.nodes import dynamics_node
from dyn_nodes.nodes.parameters import ParameterError


def test_rigid_ground_that_does_not_carry_a_machine_names_the_parameter(make_node):
    text = r"parameter 'contact_model': agv_mecanum: expected wheels and feet on a plane .* found .* with rollers"
    with pytest.raises(ParameterError, match=text):
        make_node(dynamics_node.DynamicsNode, machine='agv_mecanum', contact_model='rigid')


def test_a_fault_of_another_kind_is_not_blamed_on_the_contact_model(make_node, monkeypatch):
    def failing(*_arguments):
        raise ValueError('buffer source array is read-only')

    monkeypatch.setattr(dynamics_node, 'Plant', failing)
    with pytest.raises(ValueError, match=r'^buffer source array is read-only$'):
        make_node(dynamics_node.DynamicsNode)


def test_on_rigid_ground_the_log_loader_stands_and_tips_where_its_payload_goes(make_node):
    """40 degrees uphill the payload keeps it on its front wheels; without it the machine tips over the rear edge."""
    node = make_node(dynamics_node.DynamicsNode, contact_model='rigid', actuation='monolithic', slope_pitch=-0.7)
    plant = node.plant
    assert plant.ground.mode == 'standing'
    boxes = {name: Outbox.behind(publisher) for name, publisher in node.reporter.balance.reactions.items()}
    events = node.events.publisher = Outbox()
    node.reporter.publish(False)
    forces = [box.last.wrench.force for box in boxes.values()]
    assert len(forces) == 4
    weight = plant.output('mass') * plant.machine.gravity
    along = [abs(sum(getattr(force, axis) for force in forces)) for axis in 'xz']
    assert along[1] ** 2 + along[0] ** 2 == pytest.approx(weight**2, rel=1e-6)
    plant.set_payload(0.0)
    for _ in range(200):
        plant.advance()
        if 'rear' in plant.ground.mode:
            break
    for event in plant.take_events():
        node.events.publish(event)
    status = events.last
    assert status.name.endswith(': lift_off')
    values = {pair.key: pair.value for pair in status.values}
    assert values['wheels'] == '[front_right, front_left]'
    assert values['mode_after'] == 'rear_right+rear_left'
    # about its edge, the zero moment point is on it
    assert plant.balance().margins['zmp'].value == pytest.approx(0.0, abs=1e-9)
