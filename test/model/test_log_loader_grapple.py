"""The log-loader with a swinging load: its files and its posture at rest."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dyn_nodes.model import load_machine, load_machine_report
from dyn_nodes.model.posture import link_poses
from dyn_nodes.model.rotations import matrix_of_rpy
from dyn_nodes.simulation.initial import settle, statics_functions
from dyn_nodes.simulation.system import System

ROOT = Path(__file__).resolve().parents[2]
PASSIVE = ('hook_joint', 'sway_joint')


def files(name):
    return ROOT / 'urdf' / f'{name}.urdf', ROOT / 'config' / f'{name}.yaml'


@pytest.fixture(scope='module')
def plain():
    return load_machine(*files('log_loader'))


@pytest.fixture(scope='module')
def machine():
    return load_machine(*files('log_loader_grapple'))


def test_the_only_warnings_are_of_passive_joints():
    report = load_machine_report(*files('log_loader_grapple'))
    assert not report.problems
    warnings = [str(warning) for warning in report.warnings]
    assert len(warnings) == len(PASSIVE)
    assert all(f'joint {name}, limit' in text for name, text in zip(PASSIVE, warnings))


def test_everything_but_the_grapple_is_that_of_the_log_loader(plain, machine):
    for link in plain.links:
        if link.name != 'payload_link':
            other = machine.link(link.name)
            assert (other.mass, other.com.tolist()) == (link.mass, link.com.tolist()), link.name
            np.testing.assert_array_equal(other.inertia, link.inertia)
    for joint in plain.movable_joints:
        other = machine.joint(joint.name)
        assert (other.parent, other.child, other.lower, other.upper) == (
            joint.parent,
            joint.child,
            joint.lower,
            joint.upper,
        )
        np.testing.assert_array_equal(other.origin, joint.origin)
    assert repr(machine.actuators) == repr(plain.actuators)
    assert repr(machine.wheels) == repr(plain.wheels)
    assert machine.overturn_angle == plain.overturn_angle
    assert machine.total_mass == pytest.approx(plain.total_mass + 300.0)
    assert [joint.name for joint in machine.movable_joints if joint.name not in PASSIVE] == [
        joint.name for joint in plain.movable_joints
    ]


@pytest.mark.parametrize(('boom', 'stick'), [(0.96, -1.83), (0.3, -0.6), (0.0, 0.0)])
def test_the_grapple_hangs_plumb_in_every_posture(machine, boom, stick):
    """The load is below the lower pin along gravity; the base leans slightly."""
    system = System(machine, 'effort')

    class Statics:
        def __init__(self, functions, meta):
            self.meta, self._function = meta, functions['statics']

        def statics(self, *arguments):
            count = self._function.n_in()
            inputs, outputs = arguments[:count], arguments[count:]
            for result, into in zip(self._function(*inputs), outputs):
                into[:] = np.asarray(result).ravel()

    joints = {'boom_joint': boom, 'stick_joint': stick, 'swing_joint': 0.4}
    p = system.parameters({'payload_mass': 500.0})
    rest = settle(system, p, joints, statics=Statics(*statics_functions(machine)))
    positions = dict(zip((joint.name for joint in machine.movable_joints), rest.joints))
    poses = link_poses(machine.links, machine.joints, positions)
    turn = matrix_of_rpy(rest.pose[3:])
    tip = turn @ (poses['stick_link'] @ [1.8, 0.0, 0.0, 1.0])[:3]
    pin = turn @ poses['payload_link'][:3, 3]
    load = turn @ (poses['payload_link'] @ [*machine.payload.position, 1.0])[:3]
    assert pin - load == pytest.approx([0.0, 0.0, 0.56], abs=1e-6)
    # across the boom the crosshead leans with the machine
    assert tip - pin == pytest.approx([0.0, 0.0, 0.25], abs=0.25 * 0.01)
    assert abs(rest.holding[-2:]).max() < 1e-3
