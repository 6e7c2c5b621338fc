"""Rated operating capacity and tipping load of loaders, straight and at full articulation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dyn_nodes.analysis.load_rest import rest_limits
from dyn_nodes.analysis.standards.cases import Case, CaseStandard, Outcome, Rating
from dyn_nodes.analysis.standards.posed import Posed
from dyn_nodes.analysis.standards.postures import Arm, steered, steering_joints
from dyn_nodes.analysis.standards.standard import CertifySettings, Quantity, ResultTable
from dyn_nodes.model.machine import Machine

TIPPING = 'Tipping load at maximum reach'
CAPACITY = 'Rated operating capacity'
HANDBOOK = 'Caterpillar Performance Handbook, edition 47: 50 % of the fully articulated tipping load'
LIFTS = 31
"""Number of positions of the first joint at which the hydraulic lift capacity is computed."""


class Iso14397Part1(CaseStandard):
    """Rated operating capacity of loaders."""

    kind = 'iso14397_1'
    title = 'ISO 14397-1:2007 with Amendment 1:2019, Earth-moving machinery - Loaders - Rated operating capacity'
    result = 'rated operating capacity'
    not_shown = (
        'The verification of calculated tipping loads by a test on the real machine, and its measuring accuracy.',
        'Mass of operator, fuel and fluids: they are part of the masses of the model, or missing.',
        'Position of the bucket: it keeps its posture in the machine file, or of --posture; racked back for a bucket, '
        'level for forks.',
        'Centre of the rated bucket volume or fork load: the payload point of the machine file.',
        'Strength of the lift arms, and lift capacity beyond the pressures of the machine file.',
    )

    def quantities(self, machine: Machine) -> tuple[Quantity, ...]:
        """Return the rated share; see `CaseStandard.quantities`."""
        if machine.contacts:
            return (Quantity('share', 0.35, '', 'rated share of the tipping load', 'usual for crawler loaders', False),)
        return (Quantity('share', 0.5, '', 'rated share of the tipping load, bucket', HANDBOOK),)

    def cases(self, machine: Machine, values: Mapping[str, float], settings: CertifySettings) -> Sequence[Case]:
        """Return the tipping loads of all states of the steering; see `CaseStandard.cases`."""
        arm = Arm(machine, self.kind)
        arm.reject_slewing('a loader, with an arm that only lifts')
        reach = arm.posture(arm.farthest({0, *arm.moved(prismatic=True)}))
        cases = []
        for state, joints in steered(machine).items():
            kind = 'articulated ' if steering_joints(machine)[1] is not None else 'steered '
            name = state if state == 'straight' else kind + state
            cases.append(
                Case(name, TIPPING, ({**reach, **joints},), Posed.payload, 'kg', rating=Rating(values['share']))
            )
        return cases

    def more_tables(
        self, machine: Machine, values: Mapping[str, float], outcomes: Sequence[tuple[Case, Outcome]]
    ) -> tuple[ResultTable, ...]:
        """Return the rated operating capacity; see `CaseStandard.more_tables`."""
        tipping = min(case.measure(outcome.limit.value) for case, outcome in outcomes)
        lifting = lift_capacity(machine)
        rows = [(f'{100.0 * values["share"]:g} % of the least tipping load', f'{tipping:,.0f}')]
        rows.append(
            ('lift capacity to greatest height', 'not computed: no hydraulic cylinder lifts the arm')
            if lifting is None
            else ('lift capacity to greatest height', f'{lifting:,.0f}')
        )
        rated = tipping if lifting is None else min(tipping, lifting)
        rows.append(('rated operating capacity, the lesser', f'{rated:,.0f}'))
        return (ResultTable(CAPACITY, CAPACITY, ('value', 'kg'), tuple(rows)),)

    def notes(self, machine: Machine, values: Mapping[str, float]) -> tuple[str, ...]:
        """Return the definition of the posture; see `CaseStandard.notes`."""
        return (
            'First joint and telescopes of the arm bring the load to its greatest reach; all others stay.',
            'Other shares, of EN 474-3 for forks: 0.6 on rough terrain, 0.8 on firm, level ground (--set share=0.8).',
        )


def lift_capacity(machine: Machine) -> float | None:
    """Return the least payload that the arm's cylinders lift over the range of its first joint, kg; None without them.

    Args:
        machine: the machine.
    """
    arm = Arm(machine, 'lift capacity')
    statics, driven = arm.statics, {actuator.joint for actuator in machine.actuators}
    drive = statics.drives[statics.chain.index(statics.arm[0])]
    if drive not in driven:
        return None
    (lower, upper), tried = statics.arm_limits, np.tile(arm.rest, (LIFTS, 1))
    tried[:, 0] = np.linspace(lower[0], upper[0], LIFTS)
    return float(rest_limits(statics, tried, np.zeros(1), rigid=True).lifting.min())
