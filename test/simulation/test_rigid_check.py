"""`check` describes a machine on rigid ground."""

from __future__ import annotations

from standing_machines import slider_box

from dyn_nodes.cli import main
from dyn_nodes.commands.rigid_check import rigid_ground_summary
from dyn_nodes.common.share import find_resource
from dyn_nodes.model import load_machine

FOUR = {('front_left', 'front_right'), ('front_left', 'rear_left'), ('front_right', 'rear_right'),
        ('rear_left', 'rear_right')}  # fmt: skip


def test_four_feet_of_one_body_share_their_loads_and_tip_over_four_edges(tmp_path):
    summary = rigid_ground_summary(slider_box(tmp_path))
    assert summary['refused'] is None
    assert (summary['contacts'], summary['rows'], summary['independent']) == (4, 12, 6)
    assert summary['unique'] == []
    assert {tuple(sorted(names)) for names in summary['leave']} == FOUR


def test_two_edges_of_a_planar_machine_have_unique_loads(tmp_path):
    summary = rigid_ground_summary(slider_box(tmp_path, 'planar'))
    assert (summary['contacts'], summary['independent']) == (2, 3)
    assert sorted(summary['unique']) == ['front', 'rear']
    assert sorted(summary['leave']) == [['front'], ['rear']]


def test_unsupported_machines_on_rigid_ground_are_reported_without_an_error():
    machine = load_machine(find_resource('urdf/agv_mecanum.urdf'), find_resource('config/agv_mecanum.yaml'))
    summary = rigid_ground_summary(machine)
    assert summary['refused'].startswith('expected wheels and feet on a plane for rigid ground, found')
    assert 'with rollers' in summary['refused']


def test_check_prints_the_rigid_ground_summary_of_a_machine(capsys):
    files = [str(find_resource(path)) for path in ('urdf/log_loader.urdf', 'config/log_loader.yaml')]
    assert main(['check', files[0], '--config', files[1]]) == 0
    text = '4 contacts, 6 of 12 rows independent, normal forces shared; it tips first over front_right and front_left'
    assert f'rigid ground (contact_model: rigid): {text}' in capsys.readouterr().out
