"""Without transforms the cockpit draws the load of a wheel or track below its attachment."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from dyn_nodes.common.share import find_resource
from dyn_nodes.model import load_machine
from dyn_nodes.nodes.viewer_inputs import ViewerInputs
from dyn_nodes.viewer.snapshot import Snapshot


@pytest.mark.parametrize(
    ('name', 'contact', 'point'), [('excavator', 'left_track', (3.0, 1.1)), ('log_loader', 'front_left', None)]
)
def test_contacts_without_frames_are_below_their_attachments(name, contact, point):
    inputs = ViewerInputs.__new__(ViewerInputs)
    inputs.machine = machine = load_machine(find_resource(f'urdf/{name}.urdf'), find_resource(f'config/{name}.yaml'))
    inputs.robot, inputs.snapshot = SimpleNamespace(root=machine.base.link), Snapshot()
    inputs.snapshot.base_position, inputs.snapshot.base_quaternion = (3.0, 0.0, 1.0), (0.0, 0.0, 0.0, 1.0)
    inputs._guess_contacts_needed = True
    inputs._guess_contacts()
    assert set(inputs.snapshot.contacts) == {contact.name for contact in machine.ground_contacts}
    x, y, z = inputs.snapshot.contacts[contact]
    wheel = next((wheel for wheel in machine.wheels if wheel.name == contact), None)
    expected = point or (3.0 + wheel.position[0], wheel.position[1])
    assert (x, y, z) == pytest.approx((*expected, 0.0))
