"""Initial positions of joints by a parameter."""

from __future__ import annotations

import pytest

from dyn_nodes.nodes.machines import joint_positions, machine_of, shared_machines
from dyn_nodes.nodes.parameters import ParameterError


@pytest.fixture(scope='module')
def machine():
    return machine_of('log_loader_planar', '')


def test_positions_are_read_by_joint(machine):
    assert joint_positions('', machine) == {}
    assert joint_positions('boom_joint=0.17', machine) == {'boom_joint': 0.17}
    assert joint_positions(' stick_joint = -0.96 , boom_joint=1e-1,', machine) == {
        'stick_joint': -0.96,
        'boom_joint': 0.1,
    }


@pytest.mark.parametrize(
    ('text', 'fault'),
    [
        ('boom_joint', 'expected joint=position, rad or m'),
        ('boom_joint=high', 'expected joint=position, rad or m'),
        ('bucket_joint=0', "unknown joint; known: boom_joint, stick_joint (did you mean 'stick_joint'?)"),
        ('boom_joint=0,boom_joint=1', 'boom_joint is named twice'),
        ('boom_joint=60', 'expected -0.349066 to 1.06465'),
        ('boom_joint=nan', 'expected -0.349066 to 1.06465'),
    ],
)
def test_faults_are_named(machine, text, fault):
    with pytest.raises(ParameterError, match="parameter 'initial_positions': ") as error:
        joint_positions(text, machine)
    assert str(error.value).endswith(fault)


def test_nodes_that_are_made_together_share_a_machine_and_others_load_it_anew():
    with shared_machines():
        shared = machine_of('log_loader_planar', '')
        assert machine_of('log_loader_planar', '') is shared
        assert machine_of('log_loader_planar', 'log_loader_planar') is not shared
    assert machine_of('log_loader_planar', '') is not shared
    with shared_machines(), pytest.raises(ValueError, match="parameter 'machine'"):
        machine_of('', '')
