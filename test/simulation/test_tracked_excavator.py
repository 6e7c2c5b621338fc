"""The excavator on crawler tracks: linkages as closed loops, cylinders as bodies, travel motors, one system."""

from __future__ import annotations

from pathlib import Path

import casadi as ca
import numpy as np
import pytest

from dyn_nodes.model import load_machine
from dyn_nodes.model.machine import Machine
from dyn_nodes.multibody.elements import ContactElement
from dyn_nodes.share import find_resource
from dyn_nodes.simulation.constrained_machine import constrained_machine
from dyn_nodes.simulation.constrained_plant import ConstrainedPlant

GRAVITY, HALF_GAUGE, RADIUS = 9.81, 1.195, 0.36
SIDES = {'left': HALF_GAUGE, 'right': -HALF_GAUGE}
SPROCKET = """
<link name="{side}_sprocket_link"><inertial><mass value="150"/>
<inertia ixx="6" iyy="10" izz="6" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="{side}_sprocket" type="continuous"><parent link="base_link"/><child link="{side}_sprocket_link"/>
<origin xyz="-1.85 {y} 0.45"/><axis xyz="0 1 0"/><limit effort="60000" velocity="10"/></joint>
"""
TRACK = """  {side}_track:
    type: track
    link: base_link
    position: [0, {y}, 0.45]
    length: 3.37
    rollers: 8
    stiffness: 1.2e+7
    damping: 2.5e+5
    free_length: 0.46
    sprocket: {side}_sprocket
    sprocket_radius: 0.36
    friction: {{static: 0.7, kinetic: 0.7, bristle_stiffness: 35, bristle_damping: 1, viscous: 0, stribeck_exponent: 1}}
"""
MOTOR = """  {side}_travel:
    type: motor
    joint: {side}_sprocket
    displacement: 1.2e-3
    line_volume: 2.0e-3
    viscous: 50
    supply: {{flow: 3.0e-3}}
"""


def tracked(folder: Path) -> Machine:
    """Return the product's excavator on tracks with travel motors, from its own files."""
    urdf, config = (find_resource(f'{name}').read_text() for name in ('urdf/excavator.urdf', 'config/excavator.yaml'))
    sprockets, tracks, motors = (
        ''.join(text.format(side=side, y=y) for side, y in SIDES.items()) for text in (SPROCKET, TRACK, MOTOR)
    )
    config = config.replace('attachment: fixed', 'attachment: free')
    assert 'attachment: free' in config
    config = config.replace('\nactuators:\n', f'\ncontacts:\n{tracks}\nactuators:\n{motors}', 1)
    (folder / 'tracked.urdf').write_text(urdf.replace('</robot>', f'{sprockets}</robot>'))
    (folder / 'tracked.yaml').write_text(config)
    return load_machine(folder / 'tracked.urdf', folder / 'tracked.yaml')


@pytest.fixture(scope='module')
def machine(tmp_path_factory):
    return tracked(tmp_path_factory.mktemp('tracked'))


def test_the_excavator_rests_on_its_tracks_with_its_loops_closed(machine):
    """At rest the ground carries the weight to 1e-8, without side force; the loops are closed, the bucket hangs out."""
    start = constrained_machine(machine, actuation='hydraulic')
    blocks, rest = start.system.blocks, start.at_rest()
    points = [
        own.ground_points(blocks.state, blocks.parameters) for own in blocks.forces if isinstance(own, ContactElement)
    ]
    forces = ca.horzcat(*(point.force for own in points for point in own))
    ground = ca.Function('ground', [blocks.q, blocks.v, blocks.parameters.vector], [forces, blocks.rows.residual])
    found, gaps = (np.array(part) for part in ground(rest.q, np.zeros(blocks.tree.nv), blocks.numbers(rest.states)))
    weight = machine.total_mass * GRAVITY
    assert found.sum(axis=1) == pytest.approx([0.0, 0.0, weight], abs=1e-8 * weight)
    assert found.shape == (3, 16)
    assert (found[2] > 0.0).all()
    assert np.abs(gaps).max() < 1e-10


@pytest.mark.slow
def test_the_excavator_stands_and_drives_on_tracks_by_its_travel_motors(machine):
    """It stands for a second without drift; both levers ahead drive it straight; the right one turns it, slipping."""
    plant = ConstrainedPlant(machine, 'hydraulic', 0.01, 0.001, measures=('static', 'zmp'))
    before, nq = plant.x.copy(), plant.system.nq
    for _ in range(100):
        plant.advance()
    assert np.abs(plant.x - before)[:nq].max() < 1e-6
    balance = plant.balance()
    assert balance.total_normal == pytest.approx(machine.total_mass * GRAVITY, rel=1e-8)
    assert balance.margins['static'].value > 0.5
    levers = [plant.system.input_names.index(name) for name in plant.system.input_names if 'travel' in name]
    plant.u[levers] = 5.0
    for _ in range(300):
        plant.advance()
    place, turns = plant.x[:3] - before[:3], plant.x[[plant.system.index('state', f'{s}_sprocket') for s in SIDES]]
    assert place[0] == pytest.approx(RADIUS * turns.mean(), rel=0.01)
    assert place[0] > 0.5
    assert abs(place[1]) < 0.02 * place[0]
    plant.u[levers] = [0.0, 5.0]
    for _ in range(200):
        plant.advance()
    left, right = (plant.output(f'{side}_track/belt_speed') for side in SIDES)
    assert right > 0.0
    assert abs(left) < 0.5 * right
    assert plant.output('yaw') > 0.05  # the right track alone turns it to the left
