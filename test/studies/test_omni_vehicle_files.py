"""Vehicles on omnidirectional wheels and their paths from files: the source's vehicles, and errors with their lines."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dyn_nodes.analysis.omni import NoTorquesError, drive_torques
from dyn_nodes.analysis.omni_config import load_omni_machine
from dyn_nodes.analysis.omni_levels import run_levels
from dyn_nodes.common.share import find_resource
from dyn_nodes.control.platform_path import LinesAndCurve
from dyn_nodes.control.torque_distribution import TorqueDistribution
from dyn_nodes.control.waypoint_path import WaypointPath, load_waypoints
from dyn_nodes.model import MachineError
from dyn_nodes.multibody.isotropy import characteristic_length, condition_number, scaled

SOUND = """
platform: {mass: 32.0, yaw_inertia: 1.7}
defaults:
  wheel: {radius: 0.1, roller_radius: 0.01, roller: deg(90), mass: 2.0, axial_inertia: 0.01, diametral_inertia: 0.005}
wheels:
  front: {position: [0.3, 0.0], hub: 0.0}
  left: {distance: 0.3, direction: deg(120), hub: deg(120)}
  right: {distance: 0.3, direction: deg(-120), hub: deg(-120), torque_limit: 0.5, weight: 2.0}
"""


def written(tmp_path, text):
    file = tmp_path / 'vehicle.yaml'
    file.write_text(text)
    return file


@pytest.mark.parametrize(
    ('name', 'rows', 'square'),
    [
        ('three_wheels', [(-3, 10, 0), (-3, -5, 8.660254), (-3, -5, -8.660254)], (27, 150, 150)),
        ('six_wheels', [(-3, 10, 0), (-3, -5, 8.660254), (-3, -5, -8.660254)], (54, 300, 300)),
        ('four_wheels', [(0.9975949, -10, -10), (0.9975949, -10, 10), (0.9975949, 10, 10)], (3.9807823, 400, 400)),
    ],
)
def test_the_vehicles_of_the_source_have_its_matrices(name, rows, square):
    L = load_omni_machine(find_resource(f'config/omni/{name}.yaml')).vehicle.L
    assert L[:3] == pytest.approx(np.array(rows), abs=1e-6)
    gram = L.T @ L
    assert gram == pytest.approx(np.diag(square), abs=1e-6)


def test_the_isotropic_vehicle_of_the_source_is_isotropic():
    L = load_omni_machine(find_resource('config/omni/four_wheels_isotropic.yaml')).vehicle.L
    length = characteristic_length(L)
    assert length == pytest.approx(0.3 * np.sqrt(2.0), abs=1e-12)
    assert condition_number(scaled(L, length)) == pytest.approx(1.0, abs=1e-12)


def test_both_ways_of_specifying_a_position_are_equivalent(tmp_path):
    machine = load_omni_machine(written(tmp_path, SOUND))
    other = SOUND.replace('distance: 0.3, direction: deg(120)', 'position: [-0.15, 0.2598076211353316]')
    same = load_omni_machine(written(tmp_path, other)).vehicle.L
    assert same == pytest.approx(machine.vehicle.L, abs=1e-12)
    assert machine.limits.tolist() == [np.inf, np.inf, 0.5]
    assert machine.weights.tolist() == [1.0, 1.0, 2.0]
    assert machine.name == 'vehicle'


@pytest.mark.parametrize(
    ('old', 'new', 'message'),
    [
        (
            'hub: 0.0}',
            'hub: 90.0}',
            ':6: wheels.front.hub: expected a number in rad, found 90 rad, which looks like deg',
        ),
        ('hub: 0.0}', 'hub: deg(no)}', ":6: wheels.front.hub: expected a number in rad, found 'deg(no)'"),
        ('hub: 0.0}', 'hub: 0.0, rolers: 1}', ':6: wheels.front.rolers: expected a key of this mapping'),
        ('hub: 0.0}', '}', ':6: wheels.front.hub: expected a value (rad)'),
        ('[0.3, 0.0]', '[0.3, 0.0, 0.1]', ':6: wheels.front.position: expected two numbers [x, y] in m'),
        ('position: [0.3, 0.0]', 'distance: 0.3', ':6: wheels.front: expected either position, or distance and dir'),
        ('roller: deg(90)', 'roller: deg(180)', ':4: defaults.wheel.roller: expected an angle other than 0 and pi'),
        ('torque_limit: 0.5', 'driven: false', ':5: wheels: expected three or more driven wheels'),
        ('radius: 0.1, r', 'radius: 0.0, r', ':4: defaults.wheel.radius: expected a number > 0 m, found 0'),
        ('deg(120), hub: deg(120)', '0.0, hub: 0.0', ':5: wheels: expected driven wheels that produce every motion'),
        ('  front: {', '  front: 3 #{', ":6: wheels.front: expected a mapping, found '3'"),
    ],
)
def test_every_fault_of_a_vehicle_is_named_with_its_line(tmp_path, old, new, message):
    text = SOUND.replace(old, new)
    if 'direction: 0.0' in text:  # all three axes of rollers through one point
        text = text.replace('deg(-120)', 'deg(0)')
    with pytest.raises(MachineError) as raised:
        load_omni_machine(written(tmp_path, text))
    assert message in str(raised.value)


def test_drives_and_limits_can_be_changed(tmp_path):
    machine = load_omni_machine(find_resource('config/omni/six_wheels.yaml'))
    few = machine.with_drives(['wheel_2', 'wheel_3', 'wheel_4', 'wheel_5']).with_limits({'wheel_2': 0.01})
    assert few.drives == ('wheel_2', 'wheel_3', 'wheel_4', 'wheel_5')
    torques = drive_torques(few.vehicle, LinesAndCurve()([25.0]), few.distribution())
    assert torques[0] == pytest.approx([0.01, 0.139984, -0.177124, 0.016511], abs=1e-6)  # specification, 6.6
    with pytest.raises(ValueError, match='did you mean'):
        machine.with_drives(['wheel_2', 'wheel_3', 'wheel_7'])
    with pytest.raises(ValueError, match='three or more driven wheels'):
        machine.with_drives(['wheel_2', 'wheel_3'])


def test_limits_that_are_too_low_are_named_by_time_and_by_how_much():
    machine = load_omni_machine(find_resource('config/omni/four_wheels.yaml')).with_limits(
        dict.fromkeys(('wheel_1', 'wheel_2', 'wheel_3', 'wheel_4'), 0.01)
    )
    motion = LinesAndCurve()(np.linspace(0.0, 60.0, 301))
    with pytest.raises(NoTorquesError) as raised:
        drive_torques(machine.vehicle, motion, machine.distribution())
    error = raised.value
    assert len(error.times) == 211
    assert len(error.intervals) == 4
    assert error.intervals[0] == pytest.approx((3.4, 11.6))
    # with limits higher by this factor the worst sample is just feasible, with slightly less it is not
    factor = 1.0 / error.fractions.min()
    drive_torques(
        machine.vehicle, motion, TorqueDistribution(machine.vehicle.L_driven, -0.01001 * factor, 0.01001 * factor)
    )
    with pytest.raises(NoTorquesError):
        drive_torques(
            machine.vehicle, motion, TorqueDistribution(machine.vehicle.L_driven, -0.00999 * factor, 0.00999 * factor)
        )
    assert 'as high are sufficient' in str(error)


def test_a_greater_weight_spares_its_wheel():
    machine = load_omni_machine(find_resource('config/omni/six_wheels.yaml'))
    motion = LinesAndCurve()(np.linspace(0.0, 60.0, 61))
    even = np.abs(drive_torques(machine.vehicle, motion, machine.distribution())).max(axis=0)
    spared = machine.with_weights({'wheel_1': 10.0})
    assert np.abs(drive_torques(spared.vehicle, motion, spared.distribution())).max(axis=0)[0] < 0.5 * even[0]


def test_a_path_through_waypoints_contains_them_and_has_exact_derivatives():
    times, poses = [0.0, 2.0, 5.0, 6.0], np.array([[0, 0, 0], [0.5, 1, 0], [1.0, 2, 1], [1.5, 2, 2.0]])
    path = WaypointPath(times, poses)
    assert path(times).pose == pytest.approx(poses, abs=1e-12)
    ends = path([0.0, 6.0])
    assert ends.velocity == pytest.approx(0.0, abs=1e-12)
    assert ends.acceleration == pytest.approx(0.0, abs=1e-11)
    t, h = np.array([0.5, 1.9, 2.1, 4.0, 5.5]), 1e-4
    assert (path(t + h).pose - path(t - h).pose) / (2 * h) == pytest.approx(path(t).velocity, abs=1e-6)
    assert (path(t + h).velocity - path(t - h).velocity) / (2 * h) == pytest.approx(path(t).acceleration, abs=1e-6)
    assert path([7.0]).velocity.tolist() == [[0.0, 0.0, 0.0]]


def test_two_waypoints_are_joined_by_the_motion_of_least_jerk():
    path = WaypointPath([0.0, 2.0], [[0, 0, 0], [0, 1.0, 0]])
    s = np.linspace(0.0, 1.0, 11)
    assert path(2.0 * s).pose[:, 1] == pytest.approx(10 * s**3 - 15 * s**4 + 6 * s**5, abs=1e-12)


def test_waypoints_come_from_csv_and_yaml(tmp_path):
    table = tmp_path / 'path.csv'
    table.write_text('x, time, y, remark\n0,0,0,start\n\n1,2,0.5,end\n')
    listed = tmp_path / 'path.yaml'
    listed.write_text('waypoints:\n  - {time: 0, x: 0, y: 0}\n  - {time: 2, x: 1, y: 0.5}\n')
    one, other = (load_waypoints(file)(np.linspace(0.0, 2.0, 5)).pose for file in (table, listed))
    assert one == pytest.approx(other, abs=1e-15)


@pytest.mark.parametrize(
    ('name', 'text', 'message'),
    [
        (
            'p.csv',
            'time,x\n0,0\n1,1\n',
            ':1: head line: expected the columns time, x, y, and yaw where it is not 0, found',
        ),
        ('p.csv', 'time,x,y\n0,0,0\n1,one,1\n', ":3: column x: expected a finite number, found 'one'"),
        ('p.csv', 'time,x,y\n0,0,0\n0,1,1\n', ':3: time: expected more than 0, the one before, found 0'),
        ('p.csv', 'time,x,y\n0,0,0\n', 'rows: expected two or more, found 1'),
        ('p.csv', 'time,x,y\n0,0,0\n5e-324,1,1\n', ':3: time: expected at least 1e-06 more than 0, the one before'),
        ('p.csv', 'time,x,y\n0,0,0\n1,1e308,1\n', ':3: x: expected a number up to 1e+09, found 1e+308'),
        ('p.csv', f'time,x,y\n0,0,0\n1,{"7" * 200_000},1\n', ':3: row: expected cells with commas between them'),
        ('p.csv', '', ':1: head line: expected the columns'),
        ('p.csv', None, 'file: expected a file that exists, found none'),
        ('p.yaml', 'waypoints: 3\n', ':1: waypoints: expected a list of mappings'),
        ('p.yaml', 'waypoints:\n  - {time: 0, x: 0}\n', ':2: waypoints[0].y: expected a value (m)'),
    ],
)
def test_every_fault_of_a_path_is_named_with_its_line(tmp_path, name, text, message):
    file = tmp_path / name
    if text is not None:
        file.write_text(text)
    with pytest.raises(MachineError) as raised:
        load_waypoints(file)
    assert message in str(raised.value)


def test_a_csv_file_with_line_ends_of_any_system_is_read(tmp_path):
    file = tmp_path / 'path.csv'
    for end in ('\r', '\r\n', '\n'):
        file.write_bytes(end.join(['time,x,y', '0,0,0', '1,1,1', '']).encode())
        assert load_waypoints(file).duration == 1.0


@pytest.mark.parametrize(('row', 'last'), [('a,b,c\n', 'numbers, found 21 faults'), ('0,0,0\n', 'the one before')])
def test_of_a_csv_file_full_of_faults_some_are_listed(tmp_path, row, last):
    file = tmp_path / 'path.csv'
    file.write_text('time,x,y\n' + 3000 * row)
    with pytest.raises(MachineError) as raised:
        load_waypoints(file)
    assert 20 <= len(raised.value.problems) <= 22
    assert last in str(raised.value.problems[-1])


def test_levels_go_as_far_as_asked():
    machine = load_omni_machine(find_resource('config/omni/three_wheels.yaml'))
    path, times = WaypointPath([0.0, 4.0], [[0, 0, 0], [1.0, 1.0, 0.5]]), np.linspace(0.0, 4.0, 81)
    rates = run_levels(machine, 'p', path, times, 'rates')
    assert rates.hub_angles is None
    full = run_levels(machine, 'p', path, times, 'simulate')
    assert full.errors is not None
    assert np.abs(full.errors).max() < 1e-7
    # a heavier vehicle with the torques of the lighter one stays behind
    heavy = replace(machine, vehicle=type(machine.vehicle)(machine.vehicle.wheels, 64.0, 1.7067))

    def feed(t):
        return drive_torques(machine.vehicle, path([t]))[0]

    behind = run_levels(heavy, 'p', path, times, 'simulate', feed)
    assert behind.simulated is not None
    assert behind.simulated.pose[-1, 1] < 0.8
    with pytest.raises(ValueError, match='expected a level among'):
        run_levels(machine, 'p', path, times, 'everything')
