"""Parallel, hybrid, redundant and over-actuated machines (experiments X14, X17 to X20 of the spec)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.multibody.influence import (
    Coefficients,
    SingularTransferError,
    TransferredModel,
)
from dyn_nodes.studies.formulations.transfer import LoadDistribution, RedundantMotion
from dyn_nodes.studies.formulations.transfer.parallel import PLANE
from dyn_nodes.studies.framework import StudyRun, study
from dyn_nodes.studies.freeman_1985.consistency import Model, christoffel_defect, sketch
from dyn_nodes.studies.freeman_1985.machines import (
    Mechanism,
    hybrid_device,
    redundant_device,
    stewart,
    three_leg,
    two_finger_hand,
    walker,
)
from dyn_nodes.studies.reference import tabulated


def by_inputs(mechanism: Mechanism, names: Sequence[str]) -> Model:
    """Return the model in some joints, and all joints by them, as a function of the positions of the tree."""

    def model(q: Array) -> tuple[TransferredModel, Coefficients]:
        machine = mechanism.parallel(q)
        platform = machine.platform(names)
        return machine.model.by(platform), machine.joints.by(platform)

    return model


def _consistent(s: StudyRun, mechanism: Mechanism, names: Sequence[str], tolerance: float, label: str) -> None:
    defect, size = christoffel_defect(mechanism, by_inputs(mechanism, names), names)
    s.near(f'{label}: P* differs from the slopes of I*, relative to the greatest |P*|', 'spec 3.2', 0.0, defect / size,
           absolute=tolerance)  # fmt: skip


@study('freeman-1985/three-leg', 'Planar three-leg device whose base links alone have inertia (X14)')
def three_leg_device(s: StudyRun) -> None:
    """Check that the model by the base joints is constant."""
    mechanism = three_leg()
    machine = mechanism.parallel()
    final = machine.actuated(mechanism.actuated)
    off = float(np.abs(final.inertia - np.diag([1.0, 2.0, 3.0])).max())
    s.near('I* by the base joints differs from diag(1, 2, 3)', 'eq. E-2', 0.0, off, absolute=1e-12)
    s.near('greatest |P*| by the base joints', 'eq. E-2', 0.0, float(np.abs(final.power).max()), absolute=1e-12)
    inputs = machine.inputs(mechanism.actuated)
    for row, expected in zip(inputs.G, ((-0.637, 0.225, -0.513), (0.124, -0.665, -0.514), (0.513, 0.439, -0.513))):
        off = float(np.abs(row - expected).max())
        s.near('base joint by the platform, difference from table E-2', 'table E-2', 0.0, off, absolute=0.003)
    s.near(
        'determinant of G of the base joints',
        'spec 7.9',
        tabulated('freeman-1985/7.9/determinant'),
        float(np.linalg.det(inputs.G)),
        absolute=1e-6,
    )
    s.note('The tables of the source come from rounded vectors; test/studies/freeman_1985 has every entry from these.')
    s.figure('mechanism', 'The three legs', lambda: sketch(mechanism))


@study('freeman-1985/stewart', 'Generalized Stewart platform by its legs and by its base joints (X17)')
def stewart_platform(s: StudyRun) -> None:
    """Check the closed form of the legs, both sets of inputs, and the rejection of a singular set."""
    mechanism = stewart()
    inputs = mechanism.parallel().inputs(mechanism.actuated)
    worst = 0.0
    for r, leg in enumerate(mechanism.legs):
        base, tip = (mechanism.position.poses[1][0, mechanism.tree.body(leg.joints[k])] for k in (0, -1))
        n, arm = (tip - base) / np.linalg.norm(tip - base), tip - mechanism.position.pose(mechanism.end)[1]
        worst = max(worst, float(np.abs(inputs.G[r] - np.r_[n, np.cross(arm, n)]).max()))
    s.near('legs by the platform differ from their closed form', 'X17', 0.0, worst, absolute=1e-12)
    s.near(
        'condition number of the legs',
        'spec 7.10',
        tabulated('freeman-1985/7.10/condition'),
        inputs.condition,
        absolute=5e-5,
    )
    base = [f'leg_{r}_1' for r in range(1, 7)]
    condition = mechanism.parallel().inputs(base).condition
    expected = tabulated('freeman-1985/7.10/base_condition')
    s.near('condition number of the base joints', 'spec 7.10', expected, condition, absolute=5e-5)
    _consistent(s, mechanism, mechanism.actuated, 1e-5, 'inputs at the legs')
    _consistent(s, mechanism, base, 1e-5, 'inputs at the base joints')
    try:
        stewart(parallel_axes=True).parallel().platform(base)
        coordinate = ''
    except SingularTransferError as reason:
        coordinate = reason.coordinate
    s.holds('base joints with parallel axes are rejected by the name of one', 'spec 7.10', coordinate in base,
            expected='one of the base joints', value=coordinate)  # fmt: skip
    s.figure('mechanism', 'Six legs between base and platform', lambda: sketch(mechanism))


@study('freeman-1985/hybrid', 'Three planar legs that carry a serial part (X18)')
def hybrid(s: StudyRun) -> None:
    """Check that every branch gives the same serial part, and the model."""
    mechanism = hybrid_device()
    machine = mechanism.parallel()
    serial = [machine.joints.rows(leg.joints[3:]) for leg in mechanism.legs]
    for array in 'GH':
        off = max(float(np.abs(getattr(other, array) - getattr(serial[0], array)).max()) for other in serial[1:])
        s.near(f'{array} of the serial joints differs between branches', 'X18', 0.0, off, absolute=1e-12)
    s.near(
        'condition number of the inputs',
        'spec 7.11',
        tabulated('freeman-1985/7.11/condition'),
        machine.inputs(mechanism.actuated).condition,
        absolute=5e-5,
    )
    _consistent(s, mechanism, mechanism.actuated, 1e-6, 'inputs at base and serial joints')
    s.figure('mechanism', 'Three legs and the serial part', lambda: sketch(mechanism))


@study('freeman-1985/redundant', 'Planar device with three redundant inputs: motion of least energy (X19)')
def redundant(s: StudyRun) -> None:
    """Check the right inverse, the partial transfer, and the terms that its accelerations omit."""
    mechanism = redundant_device()
    machine = mechanism.parallel()
    platform = machine.platform(mechanism.actuated)
    task, model = platform.rows(PLANE), machine.model.by(platform)
    motion = RedundantMotion.of_least_energy(task, model)
    v, a = np.array([0.3, -0.2, 0.4]), np.array([1.0, 0.5, -0.6])
    rates, accelerations = motion.rates(v), motion.accelerations(v, a)
    off = float(np.abs(task.G @ motion.right_inverse - np.eye(3)).max())
    s.near('G G^-R differs from the unit matrix', 'eq. 4-70', 0.0, off, absolute=1e-10)
    null = np.linalg.svd(task.G)[2][3:]
    s.near('momentum of the rates along the null space', 'X19', 0.0, float(np.abs(null @ model.inertia @ rates).max()),
           absolute=1e-10)  # fmt: skip
    plain = model.kinetic_energy(np.linalg.pinv(task.G) @ v)
    energy = model.kinetic_energy(rates)
    s.near('kinetic energy', 'spec 7.12', tabulated('freeman-1985/7.12/energy')[0], energy, absolute=1e-6)
    s.holds(
        'less than with the plain pseudo-inverse', 'X19', energy < plain, expected=f'below {plain:.6f}', value=energy
    )
    off = float(np.abs(motion.effort(v, a) - model.effort(rates, accelerations)).max())
    s.near('efforts by the partial transfer differ from the model', 'eq. 4-73', 0.0, off, absolute=1e-10)
    Lambda = np.linalg.inv(task.G @ np.linalg.solve(model.inertia, task.G.T))
    off = float(np.abs(motion.inertia - task.G.T @ Lambda).max())
    s.near('both expressions of I*_qu differ', 'eq. 4-74', 0.0, off, absolute=1e-10)
    difference = motion.accelerations(v, a, motion.inverse_rate(v)) - accelerations
    greatest = float(np.abs(difference).max())
    s.near('derivative of the rates less (4-71), greatest entry', 'spec 7.12', 0.433818, greatest, absolute=2e-6)
    s.near('its share in the task', 'spec 5, 22', 0.0, float(np.abs(task.G @ difference).max()), absolute=1e-10)
    _consistent(s, mechanism, mechanism.actuated, 1e-5, 'six inputs')
    s.note(
        'The accelerations (4-71) of the source produce the task accelerations but are not the derivative of the rates '
        '(4-68): they differ by a null-space term, which `inverse_rate` adds.'
    )
    s.figure('mechanism', 'Three legs of four joints', lambda: sketch(mechanism))


@study('freeman-1985/over-actuated', 'Two-finger hand and walker: loads shared among too many inputs (X20)')
def over_actuated(s: StudyRun) -> None:
    """Check least squares, weights and internal loads."""
    cases = (
        ('two-finger hand', two_finger_hand(), np.array([0.2, -0.3, 0.5]), np.array([1, 0.5, -1]), (0.0, -9.81, 0.0)),
        ('walker', walker(), np.array([0.5, -0.2, 0.3]), np.array([1, 0.5, -0.4]), (0.0, 0.0, 0.0)),
    )
    for name, mechanism, v, a, weight in cases:
        machine = mechanism.parallel()
        model = machine.model.with_load(Coefficients.identity(machine.coordinates, 2), weight)
        inputs, load = machine.inputs(mechanism.actuated), model.effort(v, a)
        shared = LoadDistribution(inputs, model)
        efforts = shared.effort(v, a)
        s.near(f'{name}: G^T T_q - T_u', 'eq. 4-80', 0.0, float(np.abs(inputs.G.T @ efforts - load).max()),
               absolute=1e-10)  # fmt: skip
        s.near(f'{name}: internal load', 'X20', 0.0, float(np.abs(shared.internal.T @ efforts).max()), absolute=1e-10)
        off = float(np.abs(efforts - shared.distributed(load)).max())
        s.near(f'{name}: loads by (4-90) differ from (4-85)', 'eq. 4-85, 4-90', 0.0, off, absolute=1e-10)
        squeezed = efforts + 0.1 * shared.internal[:, 0]
        s.holds(f'{name}: any squeeze costs more', 'eq. 4-85', squeezed @ squeezed > efforts @ efforts)
        W = np.linspace(1.0, 4.0, len(efforts))
        weighted = LoadDistribution(inputs, model, W)
        off = float(np.abs(inputs.G.T @ weighted.effort(v, a) - load).max())
        s.near(f'{name}: G^T T_q - T_u with weights', 'spec 2.26', 0.0, off, absolute=1e-10)
        off = float(np.abs(weighted.internal.T @ (W * weighted.effort(v, a))).max())
        s.near(f'{name}: weighted loads along the internal ones', 'spec 2.26', 0.0, off, absolute=1e-10)
        slug = name.replace(' ', '_').replace('-', '_')
        s.figure(slug, name.capitalize(), lambda mechanism=mechanism: sketch(mechanism))  # type: ignore[misc]
