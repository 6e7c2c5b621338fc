"""All entry points start a machine from the same equilibrium: `check`, the library, nodes and sweeps."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from random_machines import GEARS, Mechanism, random_mechanism

from dyn_nodes.commands.build_check import TracedSystem, checked_start
from dyn_nodes.elements.forces.joint_stop import joint_stops
from dyn_nodes.model.equilibrium import NoEquilibriumError
from dyn_nodes.model.machine import Machine, Slope
from dyn_nodes.multibody.base_motion import base_coordinates
from dyn_nodes.simulation import System
from dyn_nodes.simulation.assembly import gravity_vector
from dyn_nodes.simulation.initial import settle
from dyn_nodes.simulation.start import start_of

SAME = 1e-9
"""Permitted difference of initial positions from different entry points, m or rad."""
FAST, ALL = 60, 1000


def positions_of_check(machine: Machine) -> np.ndarray:
    """Return positions of base and joints, then deflections of friction, from `check`."""
    start = checked_start(machine)
    joints = [start.joints[joint.name] for joint in machine.movable_joints]
    return np.array([*base_coordinates('free', start.pose), *joints, *start.deflections.values()])


def positions_of_parameters(machine: Machine, slope: tuple[float, float]) -> np.ndarray:
    """Return the same for level ground with the slope as a parameter, like nodes, library and sweeps."""
    if machine.needs_constraints:
        system = System(machine, 'effort')
        p = system.parameters(None, slope)
        x, _ = start_of(system, p)
        names = [*system.blocks.tree.position_names, *checked_start(machine).deflections]
        return x[[system.index('state', name) for name in names]]
    traced = TracedSystem(machine)
    p = traced.parameters.copy()
    p[:3] = gravity_vector(machine.gravity, slope)
    rest = settle(traced, p, statics=traced.statics)
    return np.array([*base_coordinates('free', rest.pose), *rest.joints, *rest.bristles])


def accelerations(machine: Machine) -> np.ndarray:
    """Return the accelerations at the start with the efforts that hold the joints."""
    from dyn_nodes.constraints import constrained_dynamics

    start = checked_start(machine)
    if start.constrained is None:
        u = np.array([start.efforts[joint.name] for joint in machine.actuated_joints])
        return start.traced.rhs(start.state, u, start.traced.parameters)
    blocks, rest = start.constrained.system.blocks, start.constrained.at_rest()
    drives = np.zeros(blocks.tree.nv)
    for name, effort in rest.efforts.items():
        drives[blocks.tree.velocity_index(name)] = effort
    numbers, still = blocks.numbers(rest.states), np.zeros(blocks.tree.nv)
    return constrained_dynamics(blocks, rest.q, still, drives, numbers, method='saddle').acceleration


def check_rest(mechanism: Mechanism, folder) -> bool:
    """Check that all entry points have the same stable rest, or none; return whether there is one."""
    machine = mechanism.written(folder)
    level = replace(machine, slope=Slope())
    mechanism.stops = {stop.joint.removesuffix('_joint'): stop.stiffness for stop in joint_stops(machine)}
    try:
        checked = positions_of_check(machine)
    except NoEquilibriumError as error:
        reason = str(error)
    else:
        reason = ''
    if reason:
        assert mechanism.rest(tuple(1.1 * component for component in mechanism.slope)) is None, reason
        with pytest.raises(NoEquilibriumError, match=re.escape(reason)):
            positions_of_parameters(level, mechanism.slope)
        return False
    assert positions_of_parameters(level, mechanism.slope) == pytest.approx(checked, abs=SAME)
    assert np.abs(accelerations(machine)).max() < 1e-5
    start = checked_start(machine)
    if any(mechanism.slope):
        return True
    assert not any(start.deflections.values())
    mechanism.joints = {name.removesuffix('_joint'): value for name, value in start.joints.items()}
    unknowns = [start.joints[f'{name}_joint'] for name in mechanism.unknowns]
    slope, curvature = mechanism.slack(np.array([*start.pose[2:5], *unknowns]))
    assert slope < 1e-6
    assert curvature > -1e-6
    return True


@pytest.mark.parametrize('seed', range(FAST))
def test_a_random_machine_starts_everywhere_from_the_same_stable_rest(seed, tmp_path):
    check_rest(random_mechanism(seed), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize('seed', range(FAST, ALL))
def test_each_of_a_thousand_machines_starts_everywhere_from_the_same_stable_rest(seed, tmp_path):
    check_rest(random_mechanism(seed), tmp_path)


def test_the_random_machines_are_of_all_kinds():
    machines = [random_mechanism(seed) for seed in range(FAST)]
    assert {machine.gear for machine in machines} == set(GEARS)
    assert any(any(machine.slope) for machine in machines)
    assert not all(any(machine.slope) for machine in machines)
    assert any(foot.name.startswith('pad') for machine in machines for foot in machine.feet)
