"""Joint stops at limits; a reset restores a dropped payload."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from draws import reached, reaches
from gear_cases import machine_of_case
from hypothesis import given
from hypothesis import strategies as st

from dyn_nodes.elements.forces.joint_stop import DAMPING_RATIO, FREQUENCY, GREATEST_FREQUENCY, JointStop, joint_stops
from dyn_nodes.model.posture import carrying_inertia, initial_positions, link_poses, moved_inertia
from dyn_nodes.multibody.rigid_body import RigidBodyModel
from dyn_nodes.simulation import Inputs, Settings, initial_state
from dyn_nodes.simulation.plant import Plant

STOP = JointStop('boom', -0.5, 1.0, 1e5, 1e3)


@reaches(inside=4, lower=4, upper=4, held_at_zero=2)
@given(q=st.floats(-3, 3) | st.floats(1.0, 1.05) | st.floats(-0.55, -0.5), v=st.floats(-5, 5))
def test_a_stop_only_pushes_back_towards_the_range(q, v):
    effort = float(STOP.effort(q, v))
    reached('inside', STOP.lower <= q <= STOP.upper)
    reached('lower', q < STOP.lower)
    reached('upper', q > STOP.upper)
    reached('held_at_zero', not STOP.lower <= q <= STOP.upper and effort == 0.0)
    if STOP.lower <= q <= STOP.upper:
        assert effort == 0.0
    elif q < STOP.lower:
        assert effort >= 0.0
    else:
        assert effort <= 0.0


def test_the_stiffness_of_stops_is_proportional_to_the_stopped_inertia(machine):
    """The inertia is the element of the mass matrix with a fixed base."""
    model = RigidBodyModel(machine)
    p = model.parameters()
    p[3] = machine.payload.mass
    q = np.zeros(model.nq)
    q[6] = 1.0
    for k, joint in enumerate(machine.movable_joints):
        q[model.nq - len(machine.movable_joints) + k] = machine.initial.joint_positions[joint.name]
    M = model.mass_matrix(q, p)
    poses = link_poses(machine.links, machine.joints, initial_positions(machine))
    for k, joint in enumerate(machine.movable_joints):
        assert moved_inertia(machine, joint, poses) == pytest.approx(M[model.nv - 3 + k, model.nv - 3 + k], rel=1e-9)
    boom = next(stop for stop in joint_stops(machine) if stop.joint == 'boom_joint')
    assert boom.stiffness == pytest.approx(
        moved_inertia(machine, machine.joint('boom_joint'), poses) * (2 * np.pi * FREQUENCY) ** 2
    )


def falling(effort_system, scale):
    """Return the run of the boom released from its start without efforts."""
    p = effort_system.parameters({'joint_stop_scale': scale})
    x0 = initial_state(effort_system, p)
    inputs = Inputs.constant(dict.fromkeys(effort_system.input_names, 0.0))
    settings = Settings(step=5e-4, watch=True, stop_at_overturn=False)
    return effort_system.run(x0, np.arange(0.0, 3.001, 0.01), inputs, p, settings)


def test_a_free_boom_stays_above_its_lower_limit(effort_system):
    limit = effort_system.machine.joint('boom_joint').lower
    through, stopped = falling(effort_system, 0.0), falling(effort_system, 1.0)
    assert through.state('boom_joint').min() < limit - 0.3
    assert stopped.state('boom_joint').min() > limit - 0.1
    reached = [event for event in stopped.events if event.kind == 'joint_limit']
    assert any(event.details['joint'] == 'boom_joint' and event.details['limit'] == 'lower' for event in reached)


def test_a_reset_restores_a_dropped_payload(machine):
    plant = Plant(machine, 'effort', 1e-3, 1e-3)
    mass = plant.payload
    plant.drop_time = 0.002
    for _ in range(4):
        plant.advance()
    assert plant.payload == 0.0
    plant.reset()
    assert plant.payload == mass
    plant.set_payload(1000.0)
    plant.reset()
    assert plant.payload == 1000.0


def test_the_stiffness_of_a_stop_under_a_machine_follows_from_the_heavier_side():
    """The machine rests on it, so the axle alone does not determine it; a light axle does not become too fast."""
    pivot = machine_of_case('pivot_side_1000')
    axle, poses = pivot.joint('axle_pivot'), link_poses(pivot.links, pivot.joints, initial_positions(pivot))
    light, heavy = moved_inertia(pivot, axle, poses), carrying_inertia(pivot, axle, poses)
    assert heavy > 50.0 * light
    (stop,) = joint_stops(pivot)
    assert stop.stiffness == pytest.approx(heavy * (2 * np.pi * FREQUENCY) ** 2)
    heavier = replace(pivot, links=tuple(replace(k, mass=100 * k.mass) if k.name == 'load' else k for k in pivot.links))
    (stop,) = joint_stops(heavier)
    assert stop.stiffness == pytest.approx(light * (2 * np.pi * GREATEST_FREQUENCY) ** 2)
    assert stop.damping == pytest.approx(2 * DAMPING_RATIO * np.sqrt(stop.stiffness * light))
