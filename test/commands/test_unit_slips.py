"""Tests of `dyn-nodes check`: a number in a wrong unit causes a fault or a warning; correct machines cause none."""

from __future__ import annotations

import contextlib
import io
import random
from pathlib import Path

import pytest
import yaml
from lxml import etree
from unit_slips import Slip, slipped, urdf_slips, yaml_slips

from benchmarks.zoo import find, machines
from dyn_nodes.cli import main
from dyn_nodes.commands.check import checked
from dyn_nodes.commands.machine_summary import machine_summary
from dyn_nodes.common.share import folders_above
from dyn_nodes.model import Problem, load_machine, load_machine_report
from dyn_nodes.model.magnitudes.machine import magnitude_warnings
from dyn_nodes.model.named import packaged_machines
from dyn_nodes.model.shapes import Shapes

KNOWN = packaged_machines()
SLIPPED = ('log_loader', 'excavator', 'telehandler', 'forwarder', 'agv_omni_motors', 'agv_mecanum_arm', 'arm_a6', 'car')
EACH = 8
"""Number of slips for each machine in the default test."""
UNSEEN = {'stribeck_speed: km/h', 'velocity: km/h'}
"""Slips by a factor of 3.6 are within the range of real machines."""


def of_machine(name: str) -> list[Slip]:
    urdf, config = KNOWN[name]
    slips = [*urdf_slips(etree.parse(str(urdf)).getroot()), *yaml_slips(yaml.safe_load(config.read_text()))]
    return [slip for slip in slips if not any(f'{slip.location}: {slip.unit}'.endswith(ending) for ending in UNSEEN)]


def loads_of(facts: dict | None) -> dict[str, float]:
    static = (facts or {}).get('static') or {}
    return {name: wheel['load'] for name, wheel in static.get('wheels', {}).items()}


def warnings_of(urdf: Path, config: Path | None, loads: dict[str, float]) -> tuple[Problem, ...]:
    """Return problems and warnings except those of the plant, which take longer."""
    machine, problems, warnings = load_machine_report(urdf, config)
    if machine is None:
        return problems
    shapes = Shapes(machine.urdf, folders_above(machine.sources[0]))
    return (*warnings, *magnitude_warnings(machine, shapes, loads))


def unseen(name: str, slips: list[Slip], folder: Path) -> list[Slip]:
    """Return the slips that cause no additional problem or warning."""
    files = KNOWN[name]
    report, facts = checked(load_machine_report(*files))
    sound, loads = {(problem.where, problem.expected) for problem in report.warnings}, loads_of(facts)

    def is_seen(slip: Slip) -> bool:
        wrong = slipped(slip, *files, folder)
        quick = warnings_of(*wrong, loads)
        if any((problem.where, problem.expected) not in sound for problem in quick):
            return True
        whole, _ = checked(load_machine_report(*wrong))
        return any((problem.where, problem.expected) not in sound for problem in (*whole.problems, *whole.warnings))

    return [slip for slip in slips if not is_seen(slip)]


def test_at_most_three_of_64_unit_slips_are_missed(tmp_path):
    chosen = {name: random.Random(name).sample(of_machine(name), EACH) for name in SLIPPED}
    missed = [(name, slip) for name, slips in chosen.items() for slip in unseen(name, slips, tmp_path)]
    assert len(missed) <= 3, missed


@pytest.mark.slow
@pytest.mark.parametrize('name', SLIPPED)
def test_at_most_one_in_twenty_slips_of_a_machine_is_missed(name, tmp_path):
    slips = of_machine(name)
    missed = unseen(name, slips, tmp_path)
    assert len(missed) <= 0.05 * len(slips), missed


LOADER = [
    # key of the YAML, factor on its number, and what the warning suspects
    ('actuators.boom.supply.flow', 1e3, 'in l/s'),
    ('actuators.boom.head_volume', 1e3, 'in litres'),
    ('payload.mass', 1e-3, 'in tonnes'),
    ('defaults.wheel.damping', 1e-3, 'in kN s/m or N s/mm'),
    ('defaults.wheel.friction.static', 100.0, 'in percent'),
    ('defaults.wheel.friction.bristle_stiffness', 1e-3, 'in 1/mm'),
    ('defaults.valve.time_constant', 1e3, 'in ms'),
    ('defaults.valve.bypass_stroke', 6e4, ''),
    ('defaults.valve.gain', 1e3, 'in mm/V'),
    ('defaults.supply.relief_pressure', 56.25, 'a hundred times too great'),
    ('defaults.supply.line_relief_area', 1e4, 'in cm2'),
    ('actuators.swing.line_volume', 1e3, 'in litres'),
]


@pytest.mark.parametrize(('key', 'factor', 'unit'), LOADER)
def test_slips_of_the_log_loader_are_named_with_file_line_key_and_unit(key, factor, unit, tmp_path):
    urdf, config = KNOWN['log_loader']
    machine = load_machine(urdf, config)
    loads = {wheel.name: 9.81 * (machine.total_mass + 5100.0) / 4.0 for wheel in machine.wheels}
    wrong = slipped(Slip('yaml', key, '', tuple(key.split('.')), factor), urdf, config, tmp_path)
    (warning,) = warnings_of(*wrong, loads)
    assert (warning.file, warning.where) == (str(wrong[1]), key)
    assert wrong[1].read_text().splitlines()[warning.line - 1].strip().startswith(('value:', key.split('.')[-1]))
    assert unit in warning.found.partition('; perhaps ')[2]


URDF_SLIPS = [
    ('link base_link, mass', "//link[@name='base_link']/inertial/mass", ('value',), 1e-3, 'in tonnes'),
    ('link boom_link, inertia', "//link[@name='boom_link']/inertial/inertia",
     ('ixx', 'iyy', 'izz', 'ixy', 'ixz', 'iyz'), 1e-3, 'in t m2'),
    ('joint stick_joint, limit velocity', "//joint[@name='stick_joint']/limit", ('velocity',), 57.2958, 'in deg/s'),
    ('joint boom_joint, limit effort', "//joint[@name='boom_joint']/limit", ('effort',), 1e-3, 'in kN m'),
    ('joint swing_joint, limit effort', "//joint[@name='swing_joint']/limit", ('effort',), 1e-3, 'in kN m'),
    ('joint stick_joint, origin', "//joint[@name='stick_joint']/origin", ('xyz',), 1e2, 'in cm'),
]  # fmt: skip


@pytest.mark.parametrize(('where', 'path', 'keys', 'factor', 'unit'), URDF_SLIPS)
def test_slips_of_its_urdf_are_named_with_line_and_unit(where, path, keys, factor, unit, tmp_path):
    urdf, config = KNOWN['log_loader']
    wrong = slipped(Slip('urdf', where, '', (path, keys), factor), urdf, config, tmp_path)
    warnings = [warning for warning in warnings_of(*wrong, {}) if warning.where == where]
    assert [warning.file for warning in warnings] == [str(wrong[0])]
    assert path.split('/')[-1] in wrong[0].read_text().splitlines()[warnings[0].line - 1]
    assert unit in warnings[0].found.partition('; perhaps ')[2]


def test_a_diameter_instead_of_a_radius_is_named(tmp_path):
    urdf, config = KNOWN['telehandler']
    key = ('defaults', 'wheel', 'free_length')
    wrong = slipped(Slip('yaml', '', '', key, 2.0), urdf, config, tmp_path)
    (warning,) = warnings_of(*wrong, {})
    assert warning.where == 'defaults.wheel.free_length'
    assert 'a diameter' in warning.found


@pytest.mark.parametrize('name', KNOWN)
def test_machines_of_the_package_have_no_suspicious_numbers(name):
    machine = load_machine(*KNOWN[name])
    shapes = Shapes(machine.urdf, folders_above(machine.sources[0]))
    assert magnitude_warnings(machine, shapes, loads_of(machine_summary(machine))) == ()


@pytest.mark.slow
def test_machines_of_the_zoo_have_no_suspicious_numbers(tmp_path):
    doubted, count = [], 0
    for entry in machines():
        urdf, config = find(entry), tmp_path / f'{entry["name"]}.yaml'
        if urdf is None:
            continue
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            rejected = main(['init', str(urdf), '-o', str(config)])
        if rejected:  # no link has a mass
            continue
        machine, count = load_machine(urdf, config), count + 1
        shapes = Shapes(machine.urdf, folders_above(machine.sources[0]))
        doubted += magnitude_warnings(machine, shapes, loads_of(machine_summary(machine)))
    assert count > 20
    assert doubted == []
