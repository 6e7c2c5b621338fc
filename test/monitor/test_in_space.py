"""A planar machine as one in space."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dyn_nodes.common.share import find_resource
from dyn_nodes.model import load_machine
from dyn_nodes.model.posture import link_poses
from dyn_nodes.monitor.in_space import in_space
from dyn_nodes.simulation.plant import Plant


def at_rest(machine, pitch):
    plant = Plant(machine, 'hydraulic', 0.01, 5e-4, ())
    plant.p[:] = plant.system.parameters({'payload_mass': 4000.0}, (0.0, pitch))
    plant.reset()
    outputs, index = plant.outputs(), plant.system.index
    loads = {wheel.name: outputs[index('output', f'{wheel.name}/normal_force')] for wheel in machine.wheels}
    return loads, outputs[index('output', 'pitch')]


@pytest.mark.parametrize('pitch', [0.0, 0.02])
def test_both_halves_of_a_wheel_carry_its_load_at_rest(planar, pitch):
    (loads, lean), (halves, same) = at_rest(planar, pitch), at_rest(in_space(planar), pitch)
    assert same == pytest.approx(lean, abs=1e-7)
    for name, load in loads.items():
        assert [halves[f'{name}_left'], halves[f'{name}_right']] == pytest.approx([load / 2, load / 2], rel=1e-5)


def test_no_side_is_nearer_than_the_ends(planar):
    ahead, left, up = np.array([wheel.position for wheel in in_space(planar).wheels]).T
    assert left.max() - left.min() == ahead.max() - ahead.min() == 5.0
    assert left.sum() == 0.0
    assert not up.any()


def test_a_spatial_machine_does_not_change(machine):
    assert in_space(machine) is machine


def test_a_wheel_on_a_link_that_is_turned_is_moved_across_the_plane_too(planar):
    poses = link_poses(planar.links, planar.joints, planar.initial.joint_positions)
    boom = replace(planar.wheels[0], name='skid', link='boom_link')
    wheels = {wheel.name: wheel for wheel in in_space(replace(planar, wheels=(*planar.wheels, boom))).wheels}
    apart = poses['boom_link'][:3, :3] @ (wheels['skid_left'].position - wheels['skid_right'].position)
    assert apart == pytest.approx([0.0, wheels['rear_left'].position[1] - wheels['rear_right'].position[1], 0.0])


def test_wheels_at_one_position_do_not_support_a_planar_machine(planar):
    lone = replace(planar, wheels=planar.wheels[:1])
    with pytest.raises(ValueError, match='log_loader_planar: expected wheels at two positions along a planar machine'):
        in_space(lone)


def test_a_planar_machine_on_tracks_is_rejected(planar):
    tracked = load_machine(find_resource('urdf/excavator.urdf'), find_resource('config/excavator.yaml'))
    with pytest.raises(ValueError, match='expected a planar machine on wheels alone, found '):
        in_space(replace(planar, contacts=tracked.contacts))
