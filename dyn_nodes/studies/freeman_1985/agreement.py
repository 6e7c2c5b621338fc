"""Comparison of coordinate transfer, constraint engine and natural complement on the mechanisms of the source."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dyn_nodes.analysis import drawing
from dyn_nodes.common.arrays import Array
from dyn_nodes.constraints import constrained_dynamics
from dyn_nodes.studies.formulations.natural_complement import natural_orthogonal_complement
from dyn_nodes.studies.formulations.transfer import ParallelMachine, coordinate_transfer
from dyn_nodes.studies.framework import StudyRun, study
from dyn_nodes.studies.freeman_1985.arms import arm_a6
from dyn_nodes.studies.freeman_1985.consistency import spots
from dyn_nodes.studies.freeman_1985.machines import MECHANISMS, Mechanism, random_state

STATES = 200
AGREE = 1e-10
GRAVITY = (0.3, -0.4, -9.81)
ARM = 'arm A6'
NAMES = (ARM, *MECHANISMS)


@dataclass(frozen=True)
class Agreement:
    """Greatest relative differences over the states: accelerations, loads along the rows, and the worst condition.

    Attributes:
        engine, complement: of the accelerations, from the constraint engine and from the natural complement.
        loads: of J^T lambda from the constraint engine.
        legs: of the accelerations by legs added at the platform; None for machines without legs.
        condition: greatest condition number of the transfers.
    """

    engine: float
    complement: float
    loads: float
    legs: float | None
    condition: float


def arm() -> Mechanism:
    """Return the serial arm, a machine without constraints."""
    tree = arm_a6()
    return Mechanism(ARM, tree, np.array([0.3, -0.7, 1.1, 0.5, -0.9, 0.2]), (), tree.frame('tool'))


def compare(name: str) -> Agreement:
    """Return the differences on one machine in seeded random states."""
    mechanism = arm() if name == ARM else MECHANISMS[name]()
    system = mechanism.blocks(GRAVITY)
    transfer, complement = coordinate_transfer(system), natural_orthogonal_complement(system)
    rng = np.random.default_rng(1985)
    worst = np.zeros(5)
    for _ in range(STATES):
        q, v, tau = random_state(mechanism, system, rng)
        here = transfer.at(q, v)
        accelerations, reference = here.accelerations(tau), constrained_dynamics(system, q, v, tau, method='saddle')
        J = system.at(q).J
        differences = [
            _apart(accelerations, reference.acceleration),
            _apart(complement.at(q, v).accelerations(tau), accelerations),
            _apart(J.T @ here.multipliers(tau), J.T @ reference.multipliers) if len(J) else 0.0,
            _apart(*_by_legs(mechanism, q, v, tau, reference.acceleration)) if mechanism.legs else 0.0,
            here.condition,
        ]
        worst = np.maximum(worst, differences)
    return Agreement(worst[0], worst[1], worst[2], worst[3] if mechanism.legs else None, worst[4])


def _by_legs(mechanism: Mechanism, q: Array, v: Array, tau: Array, expected: Array) -> tuple[Array, Array]:
    """Return the joint accelerations by the source's method, and the expected ones in the same order."""
    position, names = mechanism.coefficients.at(q, order=2), mechanism.tree.velocity_names
    machine = ParallelMachine(position, mechanism.legs, mechanism.directions, GRAVITY)
    platform = position.frame(mechanism.end).rows(mechanism.directions)
    kept = [names.index(joint) for leg in mechanism.legs for joint in leg.kept]
    w = np.concatenate([v[kept], platform.velocity(v)])
    order = [names.index(joint) for joint in machine.joints.parameters]
    acceleration = machine.model.acceleration(w, machine.joints.G.T @ tau[order])
    return machine.joints.acceleration(w, acceleration), expected[order]


def _apart(measured: Array, expected: Array) -> float:
    return float(np.abs(measured - expected).max() / np.abs(expected).max())


@study('freeman-1985/formulations', 'Transfer of coordinates, constraint engine and natural complement on ten machines')
def formulations(s: StudyRun) -> None:
    """Check that they agree to 1e-10 in 200 random states of each machine."""
    results = dict(zip(NAMES, s.map(compare, NAMES, 'machines')))
    for name, agreement in results.items():
        s.near(f'{name}: accelerations differ from the constraint engine, relative', 'ch. 4', 0.0, agreement.engine,
               absolute=AGREE)  # fmt: skip
        s.near(f'{name}: accelerations differ from the natural complement, relative', 'ch. 4', 0.0,
               agreement.complement, absolute=AGREE)  # fmt: skip
        s.near(f'{name}: loads of the constraints differ, relative', 'eq. 4-31', 0.0, agreement.loads, absolute=AGREE)
        if agreement.legs is not None:
            s.near(f'{name}: legs added at the platform, accelerations differ, relative', 'eq. 4-48', 0.0,
                   agreement.legs, absolute=AGREE)  # fmt: skip
    listed = ', '.join(f'{name} {agreement.condition:.3g}' for name, agreement in results.items())
    s.note(f'Greatest condition number of the transfers, {STATES} states each: {listed}.')
    s.figure('agreement', f'Greatest relative difference in {STATES} states', lambda: _picture(results))


def _picture(results: dict[str, Agreement]) -> drawing.Figure:
    kinds = ('engine', 'complement', 'loads', 'legs')
    rows = {name: {kind: getattr(agreement, kind) for kind in kinds} for name, agreement in results.items()}
    return spots(rows, AGREE, 'difference, relative')
