"""Wheel loads and postures at rest of machines with wheels on passive joints, against statics by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from gear_cases import CASES, machine_of_case
from scipy.spatial.transform import Rotation

import dyn_nodes as dn
from dyn_nodes.commands.build_check import checked_start
from dyn_nodes.commands.machine_summary import static_summary
from dyn_nodes.elements.forces.joint_stop import default_scale
from dyn_nodes.model.machine import Machine, Slope
from dyn_nodes.model.posture import yielding_joints
from dyn_nodes.nodes.machines import machine_of

WHEELS = ('front_left', 'front_right', 'rear_left', 'rear_right')


def loads(machine: Machine) -> list[float]:
    return [wheel['load'] for wheel in static_summary(machine)['wheels'].values()]


def hard(machine: Machine) -> Machine:
    return replace(machine, wheels=tuple(replace(wheel, stiffness=1e4 * wheel.stiffness) for wheel in machine.wheels))


@pytest.mark.parametrize('friction', [True, False])
@pytest.mark.parametrize('name', ['pivot_side_1000', 'pivot_side_coupled'])
def test_a_freely_pivoting_axle_shares_its_load_equally(name, friction):
    """1,000 kg at 1.2 m to the right of 4,200 kg: only the frame carries the moment; friction holds no axle."""
    machine = machine_of_case(name)
    if not friction:
        machine = replace(machine, wheels=tuple(replace(wheel, friction=None) for wheel in machine.wheels))
    front, rear = (4905.0, 19620.0), (13244.0, 13244.0)
    assert loads(hard(machine)) == pytest.approx([*front, *rear], rel=2e-4)
    leaning = loads(machine)
    assert leaning == pytest.approx([4736.0, 19783.0, 13247.0, 13247.0], rel=1e-4)
    assert leaning[2] == pytest.approx(leaning[3], rel=1e-6)
    start = checked_start(machine)
    assert np.degrees(start.pose[3]) == pytest.approx(0.67, abs=0.01)
    assert not any(start.deflections.values())


def test_the_library_and_check_have_the_same_start_with_a_coupling():
    files = CASES / 'pivot_side_coupled.urdf', CASES / 'pivot_side_coupled.yaml'
    library, start = dn.load(*files), checked_start(machine_of_case('pivot_side_coupled'))
    q = library.posture()
    assert q[7:] == pytest.approx(list(start.joints.values()), abs=1e-9)
    assert Rotation.from_quat(q[3:7]).as_euler('xyz') == pytest.approx(start.pose[3:], abs=1e-9)
    assert abs(start.joints['axle_pivot']) < 0.15


@pytest.mark.parametrize('slope', [True, False])
def test_a_suspended_car_with_a_tie_rod_rests_on_its_wheels_on_a_slope(slope):
    """The equilibrium equations also have a root with the car on its nose."""
    machine = machine_of_case('ocar')
    library = dn.load(machine.sources[0], machine.sources[1])
    if not slope:
        library = dn.Machine(replace(machine, slope=Slope()))
    q = library.posture(slope=None if slope else tuple(machine.slope))
    assert q[2] == pytest.approx(0.338, abs=5e-4)
    assert np.degrees(Rotation.from_quat(q[3:7]).as_euler('xyz')[1]) == pytest.approx(-0.43, abs=5e-3)


@pytest.mark.parametrize('stiffness', ['2e7', '2e8'])
def test_stiff_pads_in_the_air_do_not_affect_the_equilibrium(stiffness):
    wheel_loads = loads(machine_of_case('late', f'late_{stiffness}'))
    assert wheel_loads == pytest.approx([13871.3, 13871.3, 4767.7, 4767.7, 0.0, 0.0], abs=0.1)


def test_an_axle_rests_on_its_stop_under_a_heavier_load():
    """With a heavier load the frame leans until the axle is at its stop."""
    machine = machine_of_case('pivot_side_1000')
    machine = replace(
        machine, links=tuple(replace(part, mass=2200.0) if part.name == 'load' else part for part in machine.links)
    )
    assert default_scale(machine) == 1.0
    start = checked_start(machine)
    assert start.joints['axle_pivot'] < -0.15
    assert loads(machine)[0] == 0.0


def test_passive_and_fixed_joints_of_running_gears():
    assert yielding_joints(machine_of_case('pivot_side_1000'), {}) == ['axle_pivot']
    struts = ['fl_strut', 'fr_strut', 'rl_strut', 'rr_strut']
    assert yielding_joints(machine_of_case('ocar'), {}) == struts
    castors = machine_of('agv_caster', '')
    assert yielding_joints(castors, {}) == []
    assert default_scale(machine_of('log_loader', '')) == 0.0
