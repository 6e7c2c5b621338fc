"""The plant of every machine without problems in `check` can be built: it is traced and settled, not compiled."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from joint_machines import Part, machine_of

from dyn_nodes.commands import build_check
from dyn_nodes.commands.build_check import TracedSystem, build_problems
from dyn_nodes.model import load_machine
from dyn_nodes.model.machine import Slope
from dyn_nodes.simulation.initial import settle

ROOT = Path(__file__).resolve().parents[2]
MACHINES = sorted(
    path.stem for path in (ROOT / 'config').glob('*.yaml') if (ROOT / 'urdf' / f'{path.stem}.urdf').exists()
)
ON_FEET = """base: {attachment: free}
defaults:
  wheel: {stiffness: 2.0e4, damping: 400.0, free_length: 0.3, friction: {}}
wheels:
  front_left: {link: base, position: [0.6, 0.5, 0]}
  front_right: {link: base, position: [0.6, -0.5, 0]}
  rear_left: {link: base, position: [-0.6, 0.5, 0]}
  rear_right: {link: base, position: [-0.6, -0.5, 0]}
"""
BOX = '<inertial><mass value="30"/><inertia ixx="2" iyy="2" izz="2" ixy="0" ixz="0" iyz="0"/></inertial>'


def file_machine(name):
    return load_machine(ROOT / 'urdf' / f'{name}.urdf', ROOT / 'config' / f'{name}.yaml')


@pytest.mark.parametrize('name', MACHINES)
def test_plants_of_the_machine_files_can_be_built(name):
    assert build_problems(file_machine(name)) == ()


@pytest.fixture
def standing(tmp_path):
    return machine_of(tmp_path, [Part('arm', axis='0 0 1')], ON_FEET, BOX)


def test_a_machine_that_slides_on_its_slope_is_rejected(standing):
    steep = replace(standing, slope=Slope(0.0, 0.75))
    assert build_problems(replace(standing, slope=Slope(0.0, 0.3))) == ()
    (problem,) = build_problems(steep)
    assert problem.where == 'initial'
    assert 'slides on this slope' in problem.found
    assert (
        build_problems(replace(standing, slope=Slope(0.0, 0.75), initial=replace(standing.initial, settle=False))) == ()
    )


def test_a_motion_too_fast_for_any_step_is_rejected(tmp_path):
    machine = machine_of(tmp_path, [Part('arm')], 'joints:\n  arm: {class: flexible, stiffness: 1.0e14}\n')
    (problem,) = build_problems(machine)
    assert problem.where == 'machine'
    assert problem.found.startswith('arm')
    assert 'moves with a rate of' in problem.found


def test_accelerations_that_are_not_finite_are_rejected(tmp_path, monkeypatch):
    machine = machine_of(tmp_path, [Part('arm')])
    assert build_problems(machine) == ()
    monkeypatch.setattr(TracedSystem, 'rhs', lambda self, x, u, p: np.full(len(x), np.nan))
    (problem,) = build_problems(machine)
    assert problem.found == 'accelerations that are not finite at the start'


def test_a_reaction_at_a_fixed_joint_with_a_constraint_beyond_it_is_rejected(tmp_path):
    parts = [Part('left'), Part('right', origin='0 1 0'), Part('plate', parent='left_link', kind='fixed')]
    gear = 'constraints:\n  gear: {kind: coupling, coefficients: {left: 1, right: -1}}\n'
    assert build_problems(machine_of(tmp_path, parts, f'{gear}reactions: [plate]\n')) == ()
    pin = '  pin: {kind: point, first: {link: plate_link}, second: {link: world}}\n'
    machine = machine_of(tmp_path, parts, f'{gear}{pin}reactions: [plate]\n')
    (problem,) = build_problems(machine)
    assert str(problem) == (
        f'{tmp_path / "joints.yaml"}: reactions: expected fixed joints beyond which nothing holds a link that does not '
        "move, found 'plate', beyond which constraint 'pin' does"
    )


def test_a_cylinder_at_its_dead_centre_is_rejected():
    """The checks of the file exclude it over the range of the joint; the plant would raise an error, too."""
    machine = file_machine('log_loader')
    boom = machine.actuators[0]
    angle = -machine.initial.joint_positions['boom_joint']
    straight = replace(boom, linkage=replace(boom.linkage, angle=angle))
    (problem,) = build_problems(replace(machine, actuators=(straight, *machine.actuators[1:])))
    assert "actuator 'boom': joint 'boom_joint' is at a dead centre" in problem.found


def test_rest_without_machine_code_equals_the_static_equilibrium(standing):
    """The uncompiled kernel returns the equilibrium: the springs carry the weight."""
    system = TracedSystem(standing)
    rest = settle(system, system.parameters, statics=system.statics)
    positions = np.array([wheel.position for wheel in standing.wheels])
    height, roll, pitch = rest.pose[2], rest.pose[3], rest.pose[4]
    springs = sum(
        wheel.stiffness * (wheel.free_length - (height + np.cos(pitch) * np.sin(roll) * y - np.sin(pitch) * x))
        for wheel, (x, y, _) in zip(standing.wheels, positions)
    )
    assert springs == pytest.approx(standing.total_mass * standing.gravity, rel=1e-8)
    assert np.abs(rest.holding[:6]).max() < 1e-6 * standing.total_mass * standing.gravity


def test_nothing_is_compiled(monkeypatch, standing):
    monkeypatch.setattr('dyn_nodes.simulation.initial.build_module', lambda *_, **__: pytest.fail('compiled'))
    assert build_check.build_problems(standing) == ()
