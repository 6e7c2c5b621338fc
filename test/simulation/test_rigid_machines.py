"""Machines on rigid ground: onset of tipping and margins, payload release, legs, rolling wheels."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from rolling_machines import disc, hinge, platform, write
from scipy.optimize import brentq
from standing_machines import legged_box

from dyn_nodes.common.share import find_resource
from dyn_nodes.model import load_machine
from dyn_nodes.simulation import Inputs
from dyn_nodes.simulation.plant import Plant
from dyn_nodes.simulation.rigid_assembly import ContactModelError
from dyn_nodes.simulation.rigid_ground import STANDING, RigidGroundModel

PERIOD = 1e-3
MEASURES = ('static', 'zmp', 'force_angle', 'net_moment')


@pytest.fixture(scope='module')
def loader():
    machine = load_machine(find_resource('urdf/log_loader.urdf'), find_resource('config/log_loader.yaml'))
    return Plant(machine, 'effort', PERIOD, 5e-4, MEASURES, contact_model='rigid')


def on_slope(plant, roll, pitch):
    """Put the plant at rest on a slope with held joints."""
    plant.set_slope(0.0, 0.0)
    plant.reset()
    plant.set_slope(roll, pitch)
    plant.set_efforts(plant.system.holding_efforts(plant.x, plant.p))


def test_ground_reactions_of_the_log_loader_on_rigid_ground_equal_its_weight(loader):
    on_slope(loader, 0.0, 0.0)
    x, before = loader.x.copy(), loader.positions.copy()
    for _ in range(300):
        loader.advance()
    np.testing.assert_allclose(loader.x, x, atol=1e-9)
    np.testing.assert_allclose(loader.positions, before, atol=1e-9)
    assert loader.take_events() == []
    balance = loader.balance()
    assert balance.total_normal == pytest.approx(loader.output('mass') * 9.81, rel=1e-9)
    assert balance.forces[:, 2].min() > 0.0
    assert loader.base_pose()[0][2] == pytest.approx(1.5, abs=1e-12)


@pytest.mark.parametrize(('roll', 'pitch', 'lifted'), [
    (1.0, 0.0, {'front_left', 'rear_left'}),
    (-0.9, 0.1, {'front_right', 'rear_right'}),
    (0.0, 1.0, {'rear_left', 'rear_right'}),
])  # fmt: skip
def test_it_tips_at_the_sign_change_of_every_measure(loader, roll, pitch, lifted):
    """The slope increases slowly: the wheels lift off within the period in which the margins become zero."""

    def margin(size):
        on_slope(loader, size * roll, size * pitch)
        return loader.balance().margins['static'].value

    edge = brentq(margin, 0.05, 0.8, xtol=1e-9)
    on_slope(loader, (edge - 5e-4) * roll, (edge - 5e-4) * pitch)
    events, sizes = [], np.linspace(edge - 5e-4, edge + 5e-4, 40)
    for size in sizes:
        loader.set_slope(size * roll, size * pitch)
        loader.set_efforts(loader.holding_efforts())
        margins = {name: margin.value for name, margin in loader.balance().margins.items()}
        loader.advance()
        events = loader.take_events()
        if events:
            break
        assert min(margins.values()) > 0.0
    assert [event.kind for event in events] == ['lift_off']
    assert set(events[0].details['wheels']) == lifted
    assert max(margins.values()) < 0.0
    assert size == pytest.approx(edge, abs=5e-5)


def test_it_lands_after_the_release_of_its_payload_while_tipping(loader):
    on_slope(loader, 0.0, 0.0)
    loader.drop_tilt = math.radians(2.0)
    loader.set_payload(loader.payload)
    try:
        edge = brentq(lambda pitch: on_slope(loader, 0.0, pitch) or loader.balance().margins['static'].value, 0.05, 0.8)
        on_slope(loader, 0.0, edge + 0.02)
        target, events = loader.positions.copy(), []
        for _ in range(6000):
            loader.set_efforts(loader.servo_efforts(target, np.zeros(len(target))))
            loader.advance()
            events += loader.take_events()
            if loader.ground.mode == STANDING and len(events) > 2:
                break
    finally:
        loader.drop_tilt = None
    kinds = [event.kind for event in events]
    assert kinds[:2] == ['lift_off', 'payload_drop']
    assert events[1].details['mass_after'] == 0.0
    impacts = [event for event in events if event.kind == 'impact']
    assert set(impacts[0].details['wheels']) <= {'rear_left', 'rear_right'}
    assert all(event.details['energy_after'] <= event.details['energy_before'] for event in impacts)
    assert loader.ground.mode == STANDING
    np.testing.assert_allclose(loader.positions, target, atol=0.05)
    on_slope(loader, 0.0, 0.0)
    assert loader.payload > 0.0


def test_joints_between_the_base_and_a_foot_have_no_reactions_on_rigid_ground(tmp_path):
    legged = replace(legged_box(tmp_path), reactions=('front_left_hip',))
    with pytest.raises(
        ContactModelError, match=r'joints that carry no wheels under `reactions`.* found front_left_hip'
    ):
        Plant(legged, 'effort', PERIOD, PERIOD, contact_model='rigid')


def test_a_box_rests_on_four_legs_with_held_joints(tmp_path):
    """The joints of the legs hold the feet; a slow squat keeps the feet on the ground."""
    plant = Plant(legged_box(tmp_path), 'effort', PERIOD, PERIOD, (), contact_model='rigid')
    assert plant.ground.mode == STANDING
    x = plant.x.copy()
    for _ in range(100):
        plant.advance()
    np.testing.assert_allclose(plant.x, x, atol=1e-6)
    start, target = plant.positions.copy(), plant.positions.copy()
    for k in range(400):
        target[1::2] = start[1::2] - 0.1 * min(1.0, k / 300)  # bend all knees
        plant.set_efforts(plant.servo_efforts(target, np.zeros(len(target))))
        plant.advance()
    np.testing.assert_allclose(plant.positions, target, atol=2e-2)
    assert plant.ground.mode == STANDING
    total = plant.output('mass') * 9.81
    feet = ('front_left', 'front_right', 'rear_left', 'rear_right')
    assert sum(plant.output(f'{foot}/normal_force') for foot in feet) == pytest.approx(total, rel=1e-2)


def test_a_cart_rolls_down_a_slope_as_its_wheels_turn(tmp_path):
    """Free wheels: m g sin(slope) = (m + sum of I / r2) a, and the wheel angles follow the distance."""
    radius, mass, spin = 0.1, 20.0, 0.05
    urdf = platform(mass, 1.0, (0.0, 0.0, 0.2))
    wheels = ''
    for name, (x, y) in {'fl': (0.3, 0.2), 'fr': (0.3, -0.2), 'rl': (-0.3, 0.2), 'rr': (-0.3, -0.2)}.items():
        urdf += disc(f'{name}_wheel', 2.0, spin, 0.03) + hinge(name, 'base_link', f'{name}_wheel', (x, y, radius))
        wheels += f'  {name}: {{link: {name}_wheel, position: [0.0, 0.0, 0.0], rolling: {{}}}}\n'
    text = 'name: cart\nbase: {link: base_link, attachment: free}\ndefaults:\n  wheel: {stiffness: 1.0e+5, '
    text += f'damping: 1000.0, free_length: {radius}, friction: {{static: 0.9, kinetic: 0.9}}}}\nwheels:\n{wheels}'
    model = RigidGroundModel(write(tmp_path, 'cart', urdf, text), 'effort')
    slope, end = 0.2, 0.5
    p = model.parameters(slope=slope)
    x = model.initial_state(p)
    x[model.nq :] = 0.0
    run = model.run(x, STANDING, np.linspace(0.0, end, 6), Inputs.constant(), p)
    total = mass + 4 * 2.0
    a = total * 9.81 * math.sin(slope) / (total + 4 * spin / radius**2)
    assert run.state('base_x')[-1] == pytest.approx(0.5 * a * end**2, rel=1e-9)
    assert run.state('fl')[-1] == pytest.approx(0.5 * a * end**2 / radius, rel=1e-9)
    assert run.state('base_z')[-1] == pytest.approx(0.0, abs=1e-10)
    assert not run.events
