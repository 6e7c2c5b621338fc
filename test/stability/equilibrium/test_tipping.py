"""Tipping by equilibrium: hand statics, loads recorded in MuJoCo, stages and axes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from gear_cases import machine_of_case, stiffened
from mujoco_ramp import FINER, LEAST, LEVELS, MOST, STAIR, STOP, slow_ramp
from random_gear import KINDS, random_machine

from dyn_nodes.model.posture import center_of_mass, initial_positions, link_poses
from dyn_nodes.stability.equilibrium.gear import GearError, running_gear
from dyn_nodes.stability.equilibrium.tipping import NotStandingError, settle, tipping_angle, tipping_load

LEVEL = np.array([0.0, 0.0, -9.81])
RECORD = json.loads(Path(__file__).with_name('mujoco_loads.json').read_text())
OVER_THE_SIDE = {'swing': np.pi / 2, 'luff': 0.0, 'extend': 1.3}  # reach 2.5 m
CLOSE = 5e-3
FINE = STAIR / FINER**LEVELS
"""Steps of the recorded loads, relative to the mass of the machine."""


def recorded(count):
    """Return kinds and seeds of recorded machines, equally many of each kind."""
    return [(kind, int(seed)) for kind in KINDS for seed in list(RECORD.get(kind, {}))[:count]]


def agree(machine, loads):
    """Assert that loads equal those of MuJoCo, with joint stops of equal stiffness."""
    running, mass = running_gear(machine), machine.total_mass
    running.gear.joints['stop'] = STOP * mass * machine.gravity
    measured = [np.inf if load is None else load for load in loads]
    try:
        tipping = tipping_load(running, LEVEL)
    except NotStandingError:
        assert max(measured) < FINE * mass + LEAST, 'it falls without a load'
        return
    for load, expected in zip((tipping.first_lift_off, tipping.load, tipping.fall), measured):
        assert (load if load < MOST * mass else np.inf) == pytest.approx(expected, rel=CLOSE, abs=FINE * mass)


@pytest.mark.parametrize(('kind', 'seed'), recorded(18))
def test_loads_equal_those_of_a_slowly_growing_load_in_mujoco(kind, seed, tmp_path):
    machine = random_machine(seed, kind, tmp_path)
    agree(machine, RECORD[kind][str(seed)])


@pytest.mark.slow
@pytest.mark.parametrize(('kind', 'seed'), recorded(18))
def test_mujoco_gives_the_recorded_loads(kind, seed, tmp_path):
    machine = random_machine(seed, kind, tmp_path)
    ramp = slow_ramp(machine)
    measured = [np.inf if load is None else load for load in RECORD[kind][str(seed)]]
    fine = FINE * machine.total_mass
    np.testing.assert_allclose((ramp.lift_off, ramp.loss, ramp.fall), measured, rtol=2e-3, atol=fine + LEAST)


def test_one_load_in_mujoco_is_measured_now(tmp_path):
    machine = random_machine(1, 'oscillating_axle', tmp_path)
    ramp = slow_ramp(machine)
    agree(machine, (ramp.lift_off, ramp.loss, ramp.fall))


def test_the_edge_of_a_pivoted_axle_passes_through_its_pivot(pivot_crane):
    """On hard springs: hand statics of all bodies but the axle about the line from the front contact to the pivot."""
    machine = stiffened(pivot_crane)
    poses = link_poses(machine.links, machine.joints, initial_positions(machine) | OVER_THE_SIDE)
    chassis = [link for link in machine.links if link.name != 'axle']
    mass, center = center_of_mass(chassis, poses, None)
    mount = poses['hook'][:3, 3]
    contact, pivot = np.array([1.0, 0.8]), np.array([-1.0, 0.0])
    normal = np.array([-(pivot - contact)[1], (pivot - contact)[0]])
    load = -mass * (normal @ (center[:2] - contact)) / (normal @ (mount[:2] - contact))
    tipping = tipping_load(running_gear(machine, OVER_THE_SIDE), LEVEL)
    assert load == pytest.approx(753.0, abs=0.5)
    assert tipping.load == pytest.approx(load, rel=1e-4)
    assert tipping.axis.names == ('front_left', 'axle_pivot')
    np.testing.assert_allclose(tipping.axis.line, [[1.0, 0.8, 0.0], [-1.0, 0.0, 0.5]], atol=1e-3)


def test_a_crane_on_a_pivoted_axle_comes_to_rest_on_its_stop_and_falls_later(pivot_crane):
    tipping = tipping_load(running_gear(pivot_crane, OVER_THE_SIDE), LEVEL)
    assert tipping.load == pytest.approx(728.0, abs=1.0)
    assert tipping.first_lift_off == tipping.load
    assert tipping.fall == pytest.approx(1624.0, abs=2.0)
    assert [stage.kind for stage in tipping.stages] == ['loss', 'loss', 'fall']


def test_a_locked_axle_is_held(pivot_crane, locked_crane):
    locked = tipping_load(running_gear(locked_crane, OVER_THE_SIDE), LEVEL)
    held = tipping_load(running_gear(pivot_crane, OVER_THE_SIDE, hold=('axle_pivot',)), LEVEL)
    assert held.load == pytest.approx(locked.load, rel=1e-6)
    assert tipping_load(running_gear(stiffened(locked_crane), OVER_THE_SIDE), LEVEL).load == pytest.approx(
        2010.2, abs=0.5
    )


def test_the_slope_at_which_a_machine_tips_is_that_of_its_centre_of_mass(locked_crane):
    """A rigid machine on hard springs tips sideways if gravity points beyond the wheels."""
    machine = stiffened(locked_crane)
    _, center = center_of_mass(
        machine.links, link_poses(machine.links, machine.joints, initial_positions(machine)), None
    )
    tipping = tipping_angle(running_gear(machine), 0.0, 9.81, np.pi / 2)
    assert tipping.load == pytest.approx(np.arctan2(0.8 - center[1], center[2]), rel=1e-4)
    assert tipping.axis.names == ('front_left', 'rear_left')


@pytest.mark.parametrize('load', [500, 1000, 1300])
def test_loads_at_rest_of_a_pivoted_axle_are_those_of_statics(load):
    """Hard springs: moments about the axle's pivot and the line between the front wheels."""
    machine = stiffened(machine_of_case(f'pivot_side_{load}'))
    rest = settle(running_gear(machine), 0.0, LEVEL)
    loads = dict(zip((support.name for support in machine.supports), rest.loads / 9.81))
    front = 2000.0 + load / 2.0
    assert loads['rear_left'] == pytest.approx(loads['rear_right'], rel=1e-4)
    assert loads['front_right'] == pytest.approx(front / 2.0 + load * 1.2 / 1.6, rel=1e-3)
    assert loads['front_left'] == pytest.approx(front / 2.0 - load * 1.2 / 1.6, rel=1e-3)


def test_pads_in_the_air_have_no_part_in_the_balance():
    result = [settle(running_gear(machine_of_case('late', f'late_{k}')), 0.0, LEVEL).loads for k in ('2e7', '2e8')]
    np.testing.assert_allclose(result[0][:4], result[1][:4], rtol=1e-9)
    assert (result[0][4:] == 0.0).all()
    assert (result[1][4:] == 0.0).all()


def test_a_fully_compressed_support_is_named_once(locked_crane):
    soft = stiffened(locked_crane, 0.2)
    posture = {'swing': 0.0, 'luff': 1.2, 'extend': 0.0}  # the payload inside the polygon
    stages = [stage for stage in tipping_load(running_gear(soft, posture), LEVEL).stages if stage.kind == 'flattened']
    assert len(stages) == 1
    assert stages[0].name.startswith('front')


def test_a_machine_without_an_equilibrium_is_rejected(pivot_crane):
    with pytest.raises(NotStandingError, match='pivot_crane: no stable rest in this posture'):
        tipping_load(running_gear(pivot_crane, OVER_THE_SIDE), LEVEL, payload=5000.0)


def test_constraints_to_the_world_are_rejected_by_name(pivot_crane):
    fixed = replace(pivot_crane, base=replace(pivot_crane.base, attachment='fixed'))
    with pytest.raises(GearError, match='fixed to the world'):
        running_gear(fixed)
