"""A hundred runs that are difficult to integrate: stiff wheels, long runs, singular loops, steps too long.

Energies and gaps are computed with NumPy from the states of a run and from the lengths, masses and stiffnesses of the
generated files. No machine here dissipates energy: the energy changes only by the work of a constant torque.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
from linkages import GRAVITY, Linkage, chain, four_bar, jansen_leg, rods
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from dyn_nodes.constraints.linear import Subspaces
from dyn_nodes.model import load_machine
from dyn_nodes.simulation import Inputs, Settings, System, SystemRun

Array = NDArray[np.float64]
ENERGY_SHARE, FALL, GAP = 1e-2, 1e-6, 1e-6
"""Permitted energy error over the energy exchanged; height with permitted potential energy, m; permitted gap, m."""
SAMPLES = 201
CORNERS = np.array([(0.6, 0.4, -0.3), (0.6, -0.4, -0.3), (-0.6, 0.4, -0.3), (-0.6, -0.4, -0.3)])
"""Positions of the wheels of the box, m."""
MASS, INERTIA, STIFFNESS, FREE_LENGTH = 500.0, np.diag([40.0, 70.0, 90.0]), 1e5, 0.25
LINKAGES = {
    case.name: case
    for case in (
        jansen_leg(),
        four_bar('crank_rocker', 0.2, 0.6, 0.5, 0.55, 0.7),
        four_bar('parallelogram', 0.5, 0.9, 0.5, 0.9, 1.0472),
        four_bar('kite', 0.4, 0.7, 0.7, 0.4, 1.2),
        chain('pendulum', (0.5, 0.4, 0.2)),
    )
}


class Case(NamedTuple):
    """Parameters of a run.

    Attributes:
        kind: `stiff wheels`, `long run`, `singular loop` or `step too long`.
        name: of a linkage, or `box`.
        duration: s.  step: s.
        rate: of the first joint, rad/s; of the box: falling speed, m/s, and angular rate, rad/s.
        torque: constant, of the first joint, N m.
        scale: of the stiffness of the wheels.
        tolerance: of the rank; None: the default.
    """

    kind: str
    name: str
    duration: float
    step: float
    rate: float = 0.0
    torque: float = 0.0
    scale: float = 1.0
    tolerance: float | None = None


class Judgement(NamedTuple):
    """Status of a run, its energy error over the permitted one, and gap, m, from its states alone."""

    status: str
    detail: str
    energy: float
    gap: float

    @property
    def accurate(self) -> bool:
        """Whether energy error and gap are within the limits."""
        return self.energy <= 1.0 and self.gap <= GAP


def cases(seed: int = 7) -> list[Case]:
    """Return the hundred cases, 25 of each kind."""
    random = np.random.default_rng(seed)

    def between(low: float, high: float) -> float:
        return float(np.exp(random.uniform(np.log(low), np.log(high))))

    every = [
        Case('stiff wheels', 'box', 1.0, step, between(0.01, 1.0), scale=between(1.0, 3e4))
        for step in 5 * [1e-3, 2e-3, 5e-3, 1e-2, 2e-2]
    ]
    every += [
        Case('long run', name, duration, step, between(2.0, 25.0))
        for name, duration in (('crank_rocker', 120.0), ('crank_rocker', 600.0), ('jansen_leg', 60.0))
        for step in (1e-3, 2e-3, 3e-3, 5e-3, 5e-3, 1e-2, 1e-2, 2e-2)
    ]
    every.append(Case('long run', 'pendulum', 120.0, 5e-3, 1.0))
    every += [
        Case('singular loop', name, between(3.0, 30.0), step, between(0.1, 6.0), tolerance=tolerance)
        for name in ('parallelogram', 'kite')
        for step, tolerance in zip(sorted(2 * [5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2]), 6 * [None, 1e-10], strict=True)
    ]
    every.append(Case('singular loop', 'parallelogram', 10.0, 1e-3, 0.0, torque=3.0, tolerance=1e-10))
    every += [
        Case('step too long', name, 5.0, step, between(3.0, 60.0), torque=torque)
        for name, torque in (('pendulum', 0.0), ('crank_rocker', 2.0), ('jansen_leg', 1.0), ('pendulum', 1.0))
        for step in (5e-3, 1e-2, 2e-2, 3e-2, 5e-2, 1e-1)
    ]
    every.append(Case('step too long', 'pendulum', 5.0, 0.2, 10.0))
    assert len(every) == 100
    return every


@dataclass
class Bench:
    """The machines of the cases, each compiled once.

    Attributes:
        folder: of their files.
    """

    folder: Path
    _systems: dict[str, System] = field(default_factory=dict)

    def system(self, name: str) -> System:
        """Return the system of a linkage, or of the box."""
        if name not in self._systems:
            machine = self._box if name == 'box' else LINKAGES[name].machine(self.folder)
            self._systems[name] = System(machine, 'effort')
        return self._systems[name]

    @cached_property
    def _box(self):
        sizes = ' '.join(f'i{axis}{axis}="{INERTIA[k, k]}"' for k, axis in enumerate('xyz'))
        (self.folder / 'box.urdf').write_text(
            f'<robot name="box"><link name="body"><inertial><mass value="{MASS}"/>'
            f'<inertia {sizes} ixy="0" ixz="0" iyz="0"/></inertial></link></robot>'
        )
        wheels = [
            f'  wheel_{k}: {{link: body, position: [{x}, {y}, {z}], stiffness: {STIFFNESS}, damping: 0.0, '
            f'free_length: {FREE_LENGTH}, friction: null, rolling: null}}'
            for k, (x, y, z) in enumerate(CORNERS)
        ]
        base = 'base: {link: body, attachment: free}\ninitial: {base_position: [0, 0, 1]}'
        (self.folder / 'box.yaml').write_text('\n'.join(['name: box', base, 'wheels:', *wheels, '']))
        return load_machine(self.folder / 'box.urdf', self.folder / 'box.yaml')

    def run(self, case: Case) -> SystemRun:
        """Return the run of a case."""
        system = self.system(case.name)
        settings = Settings(step=case.step, rank_tolerance=case.tolerance)
        times = np.linspace(0.0, case.duration, SAMPLES)
        if case.name == 'box':
            q, v = np.zeros(7), np.zeros(6)
            q[2], q[6] = FREE_LENGTH - CORNERS[0, 2] + 1e-3, 1.0
            v[:] = [0.3 * case.rate, 0.2 * case.rate, 0.0, 0.0, 0.0, -case.rate]
            return system.run(system.state(q, v), times, p={'wheel_stiffness_scale': case.scale}, settings=settings)
        first = f'{LINKAGES[case.name].bars[0].name}_joint'
        inputs = Inputs.constant({f'{first}/effort': case.torque})
        return system.run(self._moving(system, case.rate), times, inputs, settings=settings)

    @staticmethod
    def _moving(system: System, rate: float) -> Array:
        """Return the state in which the first joint turns and the others follow, or are at rest on a tree."""
        q, v = np.zeros(system.nq), np.zeros(system.nv)
        v[0] = rate
        if system.constraints is not None and rate:
            motion = Subspaces(system.blocks.at(q).J).motions[:, 0]
            v = motion * (rate / motion[0])
        return system.state(q, v)

    def judged(self, case: Case) -> Judgement:
        """Return the judgement of the run of a case from its states alone."""
        run = self.run(case)
        if case.name == 'box':
            kinetic, potential = box_energies(run, case.scale)
            gap, weight, work = 0.0, MASS * GRAVITY, np.zeros(len(run.times))
        else:
            linkage, gap = LINKAGES[case.name], 0.0
            q = {f'{bar.name}_joint': run.state(f'{bar.name}_joint') for bar in linkage.bars}
            v = {f'{bar.name}_joint': run.state(f'{bar.name}_joint_rate') for bar in linkage.bars}
            kinetic, potential = linkage.energies(q, v)
            gap = float(linkage.gaps(q).max()) if linkage.pins else 0.0
            weight, driven = weight_of(linkage), next(iter(q.values()))
            work = case.torque * (driven - driven[0])
        change = kinetic + potential - work
        exchanged = max(np.ptp(kinetic), np.ptp(potential), np.ptp(work))
        allowed = ENERGY_SHARE * exchanged + FALL * weight + 1e-9 * max(np.abs(kinetic).max(), np.abs(potential).max())
        error = float(np.abs(change - change[0]).max() / allowed)
        return Judgement(run.status, run.detail, error, gap)


def weight_of(linkage: Linkage) -> float:
    """Return the weight of a linkage, N."""
    return GRAVITY * sum(rods(bar.points)[0] for bar in linkage.bars)


def box_energies(run: SystemRun, scale: float) -> tuple[Array, Array]:
    """Return kinetic and potential energy (t,), J, of the box on its springs, from its states."""
    x = run.states
    turn = Rotation.from_quat(x[:, 3:7])
    angular, linear = x[:, 7:10], x[:, 10:13]
    kinetic = 0.5 * MASS * (linear**2).sum(axis=1) + 0.5 * np.einsum('ti,ij,tj->t', angular, INERTIA, angular)
    heights = np.array([x[:, 2] + turn.apply(corner)[:, 2] for corner in CORNERS])
    deflections = np.maximum(FREE_LENGTH - heights, 0.0)
    return kinetic, MASS * GRAVITY * x[:, 2] + 0.5 * scale * STIFFNESS * (deflections**2).sum(axis=0)
