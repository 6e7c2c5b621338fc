"""Leg lengths of the Stewart platform in closed form: compared with its closed loops, and along a spatial path."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from dyn_nodes.constraints import assemble
from dyn_nodes.constraints.linear import Subspaces
from dyn_nodes.control.platform_legs import PlatformLegs
from dyn_nodes.model import load_machine
from dyn_nodes.multibody.influence import TreeCoefficients
from dyn_nodes.simulation.constrained_machine import constrained_machine
from dyn_nodes.simulation.plant import Plant
from dyn_nodes.studies.reference import tabulated

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope='module')
def machine():
    return load_machine(ROOT / 'urdf' / 'stewart_platform.urdf', ROOT / 'config' / 'stewart_platform.yaml')


@pytest.fixture(scope='module')
def start(machine):
    return constrained_machine(machine)


@pytest.fixture(scope='module')
def legs(machine):
    return PlatformLegs.of_machine(machine, 'platform')


def closed(start, legs, positions, guess):
    """Return joint positions at leg positions, and the platform there."""
    blocks = start.system.blocks
    guess = guess.copy()
    indices = [blocks.tree.velocity_index(name) for name in legs.joints]
    guess[indices] = positions
    q = assemble(blocks, guess, held=legs.joints)
    here = TreeCoefficients(blocks.tree).at(q)
    return q, here, blocks.tree.frame('platform')


def test_the_loops_close_at_the_pose_of_the_closed_form(start, legs):
    """Spec 7.10: lengths at its pose; then five poses and their rates."""
    spec = legs.positions([0.1, 0.05, 1.8], Rotation.from_rotvec([0.1, -0.15, 0.2]).as_matrix())
    assert spec == pytest.approx(tabulated('freeman-1985/7.10/lengths'), abs=1e-6)
    rng, blocks = np.random.default_rng(6), start.system.blocks
    for _ in range(5):
        position, turn = np.array([0, 0, 1.8]) + rng.uniform(-0.15, 0.15, 3), rng.uniform(-0.2, 0.2, 3)
        rotation = Rotation.from_rotvec(turn).as_matrix()
        q, here, frame = closed(start, legs, legs.positions(position, rotation), start.q)
        result = here.pose(frame)
        assert result[1] == pytest.approx(position, abs=1e-9)
        assert result[0] == pytest.approx(rotation, abs=1e-9)
        motions = Subspaces(blocks.at(q).J).motions
        rows = [blocks.tree.velocity_index(name) for name in legs.joints]
        hand = here.frame(frame)
        moved = motions[[blocks.tree.velocity_index(name) for name in hand.coordinates]]
        twist = hand.rows(['x', 'y', 'z', 'rx', 'ry', 'rz']).G @ moved
        assert legs.rates(position, rotation) @ twist == pytest.approx(motions[rows], abs=1e-9)


def test_a_machine_without_such_legs_is_rejected_by_name(machine):
    with pytest.raises(ValueError, match="stewart_platform: expected driven prismatic joints and a link 'table'"):
        PlatformLegs.of_machine(machine, 'table')
    with pytest.raises(ValueError, match='expected a joint or a constraint from leg_2_rod to leg_1_rod, found none'):
        PlatformLegs.of_machine(machine, 'leg_1_rod')


def pose_at(t):
    """Return a pose of a path in all six degrees of freedom, from rest: 60, 50, 80 mm and 8, 6, 10 degrees."""
    s = np.sin(np.pi * t / 4) ** 2 * np.sin(2 * np.pi * 0.5 * t + np.arange(6.0))
    return [0, 0, 1.8] + s[:3] * [0.06, 0.05, 0.08], Rotation.from_rotvec(np.radians([8, 6, 10]) * s[3:])


@pytest.mark.slow
def test_the_platform_follows_a_path_in_six_degrees_of_freedom_within_1_mm_and_a_tenth_of_a_degree(
    machine, start, legs
):
    """Ideal drives follow the legs: 0.59 mm, 0.075 degrees. Fast counterpart: the closed form."""
    period = 2e-3
    plant = Plant(machine, 'effort', period, 1e-3)
    indices = [plant.joints.index(name) for name in legs.joints]
    target, rates = plant.positions.copy(), np.zeros(len(plant.positions))
    guess, worst = start.q, np.zeros(2)
    for k in range(round(4.0 / period)):
        ahead = [legs.positions(p, R.as_matrix()) for p, R in (pose_at((k + d) * period) for d in (-1, 0, 1))]
        target[indices], rates[indices] = ahead[1], (ahead[2] - ahead[0]) / (2 * period)
        plant.set_efforts(plant.servo_efforts(target, rates))
        plant.advance()
        if k % 50 == 49:
            guess, here, frame = closed(start, legs, plant.positions[indices], guess)
            rotation, position = here.pose(frame)
            wanted, turn = pose_at((k + 1) * period)
            off = np.linalg.norm(position - wanted), (Rotation.from_matrix(rotation) * turn.inv()).magnitude()
            worst = np.maximum(worst, off)
    assert worst[0] < 1e-3
    assert worst[1] < np.radians(0.1)
    assert plant.take_events() == []
