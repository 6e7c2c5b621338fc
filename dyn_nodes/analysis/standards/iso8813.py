"""Lift capacity of pipelayers and of wheeled machines with a side or front boom, over the load overhang."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from dyn_nodes.analysis.standards.cases import Case, CaseStandard, Rating
from dyn_nodes.analysis.standards.posed import Posed
from dyn_nodes.analysis.standards.postures import Arm, highest_at, outrigger_postures, steered
from dyn_nodes.analysis.standards.standard import CertifySettings, Quantity
from dyn_nodes.common.arrays import Array
from dyn_nodes.model.machine import Machine
from dyn_nodes.model.posture import initial_positions, link_poses
from dyn_nodes.stability.equilibrium.standing import gives_way

REACHED = 0.01
"""Greatest distance from a load overhang, m."""


class Iso8813(CaseStandard):
    """Pipelayers, and wheeled tractors or loaders with a side or front boom."""

    kind = 'iso8813'
    title = 'ISO 8813:1992, Earth-moving machinery - Lift capacity of pipelayers and machines with side boom'
    result = 'rated lift capacity'
    not_shown = (
        'Verification of the tipping loads by a dead-weight or live-weight test on the real machine.',
        'Capacity of hoist and rope: at most the payload limit of the machine file; strength of boom and hook.',
        'Counterweight: it stands as in the machine file, or as in --posture.',
        'Ground that is not firm and level.',
    )

    def quantities(self, machine: Machine) -> tuple[Quantity, ...]:
        """Return the rated share; see `CaseStandard.quantities`."""
        source = 'usual for pipelayers, no public source found'
        return (Quantity('share', 0.85, '', 'rated share of the tipping load', source, False),)

    def cases(self, machine: Machine, values: Mapping[str, float], settings: CertifySettings) -> Sequence[Case]:
        """Return tipping loads over the overhang, with free and locked axle, with and without outriggers."""
        arm = Arm(machine, self.kind)
        arm.reject_slewing('a boom that does not slew')
        passive = gives_way(machine)
        axles = {'oscillating axle': (), 'axle locked': passive} if passive else {'rigid axles': ()}
        rating, cases = Rating(values['share'], most=arm.statics.payload.limit), []
        overhangs = [(overhang, arm.posture(chosen)) for overhang, chosen in _overhangs(machine, arm, settings.step)]
        for state, joints in outrigger_postures(machine).items():
            for axle, hold in axles.items():
                for overhang, posture in overhangs:
                    postures = tuple({**posture, **joints, **wheels} for wheels in steered(machine).values())
                    name = f'overhang {overhang:.2f} m, {axle}{state}'
                    subject = f'Lift capacity over the load overhang, {axle}'
                    cases.append(Case(name, subject, postures, Posed.payload, 'kg', rating=rating, hold=hold))
        return cases

    def notes(self, machine: Machine, values: Mapping[str, float]) -> tuple[str, ...]:
        """Return the definition of the overhang; see `CaseStandard.notes`."""
        return (
            'Overhang: horizontal distance of the load from the outermost supports on its side. The steering that '
            'gives the least tipping load counts: straight ahead, fully left, fully right.',
        )


def _overhangs(machine: Machine, arm: Arm, step: float) -> Iterator[tuple[float, Array]]:
    """Yield load overhangs, m, and postures (a,) of the boom: multiples of a step, and the greatest one."""
    poses = link_poses(machine.links, machine.joints, initial_positions(machine))
    feet = np.array([(poses[each.link] @ np.append(each.position, 1.0))[:2] for each in machine.supports])
    far = arm.extreme(lambda mount: np.linalg.norm(mount[:, :2] - arm.statics.axis, axis=1))
    away = arm.mount(far[np.newaxis])[0, :2] - arm.statics.axis
    outward = away / np.linalg.norm(away)
    edge = float((feet @ outward).max())

    def overhang(mount: Array) -> Array:
        return np.asarray(mount[:, :2] @ outward - edge)

    most = float(overhang(arm.mount(far[np.newaxis]))[0])
    for wanted in step * np.arange(1.0, np.floor(most / step - 1e-9) + 1.0):
        chosen = arm.extreme(highest_at(overhang, float(wanted)))
        if abs(float(overhang(arm.mount(chosen[np.newaxis]))[0]) - wanted) < REACHED:
            yield float(wanted), chosen
    yield most, far
