"""Tilt-table tests of industrial trucks: the tests of each part of ISO 22915 are a list in the file of the part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from dyn_nodes.analysis.standards.cases import Case, CaseStandard, Rating
from dyn_nodes.analysis.standards.posed import Limit, Posed
from dyn_nodes.analysis.standards.postures import Arm, steered
from dyn_nodes.analysis.standards.standard import CertifySettings, Quantity
from dyn_nodes.common.arrays import Array
from dyn_nodes.model.machine import Machine

FRONT, LEFT, RIGHT = 0.0, np.pi / 2, -np.pi / 2
MONASH = 'Monash University, Forklift stability and other technical safety issues: tests of ISO 1074'
TABLE, PERMITTED = 'Stability tests on a tilt table', 'Load at greatest reach that stays on the test slope'
FORK_HEIGHT = 0.3
"""Height of the forks when travelling, m."""


@dataclass(frozen=True)
class TipsAt:
    """Slope at which a truck with a load, kg, tips on the worst of some headings, rad."""

    load: float
    headings: tuple[float, ...]

    def __call__(self, posed: Posed) -> Limit:
        """Return the slope, %."""
        least = min((posed.slope(self.load, heading) for heading in self.headings), key=lambda each: each.value)
        return Limit(100.0 * float(np.tan(least.value)) if np.isfinite(least.value) else np.inf, least.axis)


@dataclass(frozen=True)
class Permitted:
    """Greatest load that does not tip a truck on a slope, %, on the worst of some headings, rad."""

    slope: float
    headings: tuple[float, ...]

    def __call__(self, posed: Posed) -> Limit:
        """Return the load, kg."""
        angle = float(np.arctan(0.01 * self.slope))
        return min((posed.payload(angle, heading) for heading in self.headings), key=lambda each: each.value)


class TiltTest(NamedTuple):
    """A test on a tilt table.

    Attributes:
        name: name of the test.
        side: whether the table tilts sideways, to the worse side, else forward.
        laden: whether the truck carries the rated load.
        posture: load raised, at greatest reach, or at travel height.
        slope: test slope, %, with its source.
        mast: position of a tilting mast: as in the machine file, or fully backward.
        forward: whether a sliding mast or fork is extended.
    """

    name: str
    side: bool
    laden: bool
    posture: Literal['raised', 'reach', 'travel']
    slope: Quantity
    mast: Literal['vertical', 'backward'] = 'vertical'
    forward: bool = True


def slope_quantity(name: str, value: float, test: str, source: str, confirmed: bool) -> Quantity:
    """Return a test slope, %.

    Args:
        name: name on the command line.
        value: slope, %.
        test: name of the test.
        source: source of the value.
        confirmed: whether a public source of the number was found.
    """
    return Quantity(name, value, '%', f'test slope, {test}', source, confirmed)


class TiltTable(CaseStandard):
    """Tilt-table tests of one kind of truck.

    Attributes:
        tests: the tests.
        levels: whether a joint of the arm keeps the forks level.
    """

    tests: ClassVar[tuple[TiltTest, ...]]
    levels: ClassVar[bool] = False
    result = 'limit over the required value'
    not_shown = (
        'The tilt-table test itself: platform, blocked wheels, measuring accuracy, creep of hydraulics.',
        'Deflection of mast or boom, and play of its guides.',
        'Test load as a body: the model has a point mass at the load centre of the machine file.',
        'Inflation pressure and condition of the tyres; ballast; operator.',
        'Dynamic stability: braking, turning, uneven ground.',
    )

    def quantities(self, machine: Machine) -> tuple[Quantity, ...]:
        """Return test slopes, rated load and travel height; see `CaseStandard.quantities`."""
        payload = machine.payload
        limit, above = (0.0, 0.0) if payload is None else (payload.limit, max(float(payload.position[2]), 0.0))
        return (
            Quantity('rated_load', limit, 'kg', 'rated load', 'machine file, payload.limit'),
            Quantity(
                'travel_height', FORK_HEIGHT + above, 'm', 'height of the load when travelling', 'forks at 0.3 m', False
            ),
            *dict.fromkeys(test.slope for test in self.tests),
        )

    def cases(self, machine: Machine, values: Mapping[str, float], settings: CertifySettings) -> Sequence[Case]:
        """Return one case for each test; see `CaseStandard.cases`."""
        arm = Arm(machine, self.kind, self.levels)
        self.check(machine, arm)
        return [self._case(machine, arm, test, values) for test in self.tests]

    def check(self, machine: Machine, arm: Arm) -> None:
        """Raise CertifyError for a machine that this part does not cover.

        Args:
            machine: the machine.
            arm: its arm.
        """
        arm.reject_slewing('a truck without slewing arm')

    def postures(self, machine: Machine, arm: Arm, test: TiltTest, chosen: Array) -> tuple[Mapping[str, float], ...]:
        """Return the postures of a test: all states of the steering.

        Args:
            machine: the machine.
            arm: its arm.
            test: the test.
            chosen: (a,) posture of the arm.
        """
        return tuple({**arm.posture(chosen), **joints} for joints in steered(machine).values())

    def _case(self, machine: Machine, arm: Arm, test: TiltTest, values: Mapping[str, float]) -> Case:
        slope, load = values[test.slope.name], values['rated_load'] if test.laden else 0.0
        headings: tuple[float, ...] = (LEFT, RIGHT) if test.side else (FRONT,)
        name = f'{test.name}{"" if test.laden else ", without load"}'
        postures = self.postures(machine, arm, test, self._arm_posture(arm, test, values))
        if test.posture == 'reach':  # the load at greatest reach is a result: the load that stays on the slope
            return Case(
                f'{name}, permitted load', PERMITTED, postures, Permitted(slope, headings), 'kg', rating=Rating(1.0)
            )
        return Case(name, TABLE, postures, TipsAt(load, headings), '%', slope)

    def _arm_posture(self, arm: Arm, test: TiltTest, values: Mapping[str, float]) -> Array:
        """Return the posture (a,) of the arm in a test."""
        if test.posture == 'reach':
            return arm.farthest()
        height, forward = np.inf if test.posture == 'raised' else values['travel_height'], 1.0 if test.forward else -1.0
        score = arm.at_height(height, forward)
        if not self.levels:  # a mast: lift, and extension of mast or fork, then its tilt
            chosen = arm.extreme(score, arm.moved(prismatic=True))
            backward = arm.moved(prismatic=False) if test.mast == 'backward' else ()
            return arm.extreme(lambda mount: -mount[:, 0], backward, chosen)
        if test.forward:
            return arm.extreme(score)
        retracted = arm.extreme(lambda mount: -arm.reach(mount), arm.moved(prismatic=True))
        return arm.extreme(score, set(arm.free) - set(arm.moved(prismatic=True)), retracted)

    def notes(self, machine: Machine, values: Mapping[str, float]) -> tuple[str, ...]:
        """Return how slopes are compared; see `CaseStandard.notes`."""
        return (
            'Slope of the table at which the truck tips, in percent; the test slope is required. Sideways tests take '
            'the worse side, and the worst state of the steering.',
            'With an oscillating axle the tipping axis passes through its pivot until the axle is at its stop.',
        )
