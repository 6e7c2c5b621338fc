"""Tests of `dyn-nodes size` on a bag whose motion has a closed form."""

from __future__ import annotations

import json

import numpy as np
import pytest
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

from dyn_nodes.cli import main

INERTIA, RATE, AMPLITUDE, LOAD = 2.0, 3.0, 0.5, 60.0
ROTOR = 2e-4
CATALOGUE = f"""
motors:
  right: {{torque_constant: 0.25, resistance: 1.0, inductance: 3.0e-3, voltage_limit: 200.0, current_limit: 10.0,
          rotor_inertia: {ROTOR}, continuous_current: 4.0}}
  weak: {{torque_constant: 0.01, resistance: 20.0, inductance: 3.0e-3, voltage_limit: 6.0, current_limit: 0.3}}
"""


@pytest.fixture(scope='module')
def bag(tmp_path_factory):
    """Return a bag of a sine motion of `arm`, which carries an inertia and a weight; `idle` has no effort."""
    store = get_typestore(Stores.ROS2_JAZZY)
    types, path = store.types, tmp_path_factory.mktemp('size') / 'bag'
    with Writer(path, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        name = 'sensor_msgs/msg/JointState'
        connection = writer.add_connection('/joint_states', name, typestore=store)
        for k in range(1201):
            time = k * np.pi / RATE / 200.0
            angle = AMPLITUDE * np.sin(RATE * time)
            rate, effort = AMPLITUDE * RATE * np.cos(RATE * time), LOAD - INERTIA * RATE**2 * angle
            nanoseconds = round(time * 1e9)
            stamp = types['builtin_interfaces/msg/Time'](*divmod(nanoseconds, 10**9))
            message = types[name](
                types['std_msgs/msg/Header'](stamp, ''),
                ['arm', 'idle'],
                np.array([angle, 0.0]),
                np.array([rate, 0.0]),
                np.array([effort, 0.0]),
            )
            writer.write(connection, nanoseconds, store.serialize_cdr(message, name))
    return path


def size(capsys, *arguments):
    status = main(['size', *map(str, arguments)])
    shown = capsys.readouterr()
    return status, shown.out, shown.err


def test_demands_of_a_task_and_the_coolest_gear(bag, tmp_path, capsys):
    catalogue = tmp_path / 'motors.yaml'
    catalogue.write_text(CATALOGUE)
    status, out, _ = size(capsys, bag, '--motors', catalogue, '--json', '--plot', tmp_path / 'drives.png')
    assert status == 0
    result = json.loads(out)
    assert list(result) == ['arm']  # nothing drives the other
    inertial = INERTIA * AMPLITUDE * RATE**2
    demand = result['arm']['demand']
    assert demand['peak_effort'] == pytest.approx(LOAD + inertial, rel=1e-3)
    assert demand['rms_effort'] == pytest.approx(np.hypot(LOAD, inertial / np.sqrt(2.0)), rel=1e-3)
    right, weak = result['arm']['motors']
    rms, acceleration = demand['rms_effort'], AMPLITUDE * RATE**2 / np.sqrt(2.0)
    assert right['fits']
    assert right['best']['ratio'] == pytest.approx(np.sqrt(rms / (ROTOR * acceleration)), rel=0.01)
    assert not weak['fits']
    assert weak['least_ratio'] is None
    assert (tmp_path / 'drives.png').stat().st_size > 10_000


def test_a_task_without_a_suitable_motor_returns_an_error_status(bag, tmp_path, capsys):
    catalogue = tmp_path / 'motors.yaml'
    catalogue.write_text('motors:\n  weak:' + CATALOGUE.split('weak:')[1])
    status, out, error = size(capsys, bag, '--motors', catalogue)
    assert status == 1
    assert 'too small' in out
    assert 'arm: no motor does this task' in error


@pytest.mark.parametrize(
    ('text', 'expected'),
    [
        ('motors: {}', 'at least one motor'),
        ('motors:\n  a: {torque_constant: 0}', '> 0'),
        (CATALOGUE.replace('resistance: 1.0', 'resistence: 1.0'), 'resistence'),
        (CATALOGUE.replace('right: {', 'right: {gear_ratio: 0, '), 'gear_ratio'),
        ('motors: [1, 2]', 'mapping'),
    ],
)
def test_a_faulty_catalogue_is_named_by_file_line_and_key(bag, tmp_path, capsys, text, expected):
    catalogue = tmp_path / 'motors.yaml'
    catalogue.write_text(text)
    status, _, error = size(capsys, bag, '--motors', catalogue)
    assert status == 1
    assert 'motors.yaml:' in error
    assert expected in error
    assert 'Traceback' not in error


def test_unknown_joints_machines_and_bags_are_named(bag, tmp_path, capsys):
    for arguments, expected in (
        ((bag, '--joints', 'leg'), 'arm, idle'),
        ((bag, '--machine', 'no_such'), 'no_such'),
        ((bag, '--config', 'x.yaml'), '--machine'),
        ((tmp_path / 'none',), 'found nothing'),
    ):
        status, _, error = size(capsys, *arguments)
        assert status in (1, 2)
        assert expected in error
        assert 'Traceback' not in error
