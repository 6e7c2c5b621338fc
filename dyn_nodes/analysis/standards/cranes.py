"""Base class of standards that rate cranes by a test load: telescopes at several lengths, outriggers, slew angles."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from dyn_nodes.analysis.outriggers import outriggers_of
from dyn_nodes.analysis.standards.cases import Case, CaseStandard, Outcome, Rating
from dyn_nodes.analysis.standards.posed import Limit, Posed
from dyn_nodes.analysis.standards.postures import Arm, highest_at, outrigger_postures
from dyn_nodes.analysis.standards.standard import CertifyError, CertifySettings, Quantity, ResultTable
from dyn_nodes.common.arrays import Array
from dyn_nodes.model.machine import Machine
from dyn_nodes.model.posture import initial_positions, link_poses, moved_links

RATED = 'Rated load by stability'
LOADS = 'Loads of the supports over the slew angle'
STEP, TABLE_STEP = np.radians(15.0), np.radians(30.0)
"""Steps of the slew angle, of rated loads and of tables, rad."""
SHARES = (0.0, 0.5, 1.0)
"""Extensions of the telescopes, of their travel."""
REACHED = 0.01
"""Greatest distance from a radius, m."""


class Family(NamedTuple):
    """A posture of the boom with a state of the outriggers.

    Attributes:
        state: name of the state of the outriggers.
        name: name of the posture.
        head: mass of the boom at its head, kg.
        postures: positions of joints at the worst slew angles.
        is_last: whether it has the longest boom and the greatest radius.
    """

    state: str
    name: str
    head: float
    postures: tuple[Mapping[str, float], ...]
    is_last: bool


@dataclass(frozen=True)
class AngleAtRated:
    """Slope at which a crane tips with its rated load."""

    rating: Rating

    def __call__(self, posed: Posed) -> Limit:
        """Return the slope towards the worst axis, %."""
        load = self.rating.of(posed.payload().value)
        least = min((posed.slope(load, heading) for heading in posed.outward(load)), key=lambda each: each.value)
        return Limit(100.0 * float(np.tan(least.value)) if np.isfinite(least.value) else np.inf, least.axis)


class CraneStandard(CaseStandard):
    """Rated loads of a crane by a test load.

    Attributes:
        angle: subject of the tipping angle with rated load; empty: not part of the standard.
    """

    angle: ClassVar[str] = ''
    result = 'rated load'

    def __init__(self) -> None:
        self._arms: dict[int, Arm] = {}
        self._families: dict[int, list[Family]] = {}

    def quantities(self, machine: Machine) -> tuple[Quantity, ...]:
        """Return pad area and ground pressure; see `CaseStandard.quantities`."""
        return (
            Quantity('pad_area', 0.25, 'm2', 'area of a pad, or of the mat under it', 'not in the machine file', False),
        )

    def factors(self, values: Mapping[str, float]) -> tuple[float, float]:
        """Return the test load over the rated load, and the part of the boom's mass at its head in the test load.

        Args:
            values: quantities by name.
        """
        raise NotImplementedError

    def cases(self, machine: Machine, values: Mapping[str, float], settings: CertifySettings) -> Sequence[Case]:
        """Return rated loads over radius, telescopes and outriggers; see `CaseStandard.cases`."""
        factor, boom_share = self.factors(values)
        most, cases = self.arm(machine).statics.payload.limit, []
        for state, name, head, postures, is_last in self._family(machine, settings.step):
            rating = Rating(1.0 / factor, boom_share * head / factor, most)
            cases.append(Case(f'{name}{state}', RATED, postures, Posed.payload, 'kg', rating=rating))
            if self.angle and is_last:
                required = 100.0 * float(np.tan(np.radians(values['tipping_angle'])))
                cases.append(Case(f'{name}{state}', self.angle, postures, AngleAtRated(rating), '%', required))
        return cases

    def arm(self, machine: Machine) -> Arm:
        """Return the arm of a crane, computed once for a machine.

        Args:
            machine: the machine.

        Raises:
            CertifyError: its arm does not slew.
        """
        if id(machine) not in self._arms:
            self._arms[id(machine)] = Arm(machine, self.kind)
        arm = self._arms[id(machine)]
        if arm.statics.swing is None:
            raise CertifyError(
                f'{machine.name}: {self.kind}: expected a crane that slews, found no joint that slews the arm'
            )
        return arm

    def _family(self, machine: Machine, step: float) -> list[Family]:
        """Return the states and postures of the rated loads, computed once for a machine."""
        if id(machine) not in self._families:
            arm = self.arm(machine)
            cells = [(name, head_mass(machine, arm, chosen), chosen) for name, chosen in self._cells(arm, step)]
            self._families[id(machine)] = [
                Family(state, name, head, arm.worst_swings(chosen, STEP, joints), k == len(cells) - 1)
                for state, joints in outrigger_postures(machine).items()
                for k, (name, head, chosen) in enumerate(cells)
            ]
        return self._families[id(machine)]

    def _cells(self, arm: Arm, step: float) -> Iterator[tuple[str, Array]]:
        """Yield name and posture (a,) of the arm for telescope lengths and radii."""
        telescopes, turning = list(arm.moved(prismatic=True)), arm.moved(prismatic=False)
        lower, upper = arm.statics.arm_limits
        for share in SHARES if telescopes else (0.0,):
            start = arm.rest.copy()
            start[telescopes] = (lower + share * (upper - lower))[telescopes]
            far = arm.extreme(arm.reach, turning, start)
            most = float(arm.reach(arm.mount(far[np.newaxis]))[0])
            text = f'telescope {100.0 * share:.0f} %, ' if telescopes else ''
            for radius in step * np.arange(1.0, np.floor(most / step + 1e-9) + 1.0):
                chosen = arm.extreme(highest_at(arm.reach, float(radius)), turning, start)
                if abs(float(arm.reach(arm.mount(chosen[np.newaxis]))[0]) - radius) < REACHED:
                    yield f'{text}radius {radius:.1f} m', chosen
            yield f'{text}radius {most:.2f} m', far

    def more_tables(
        self, machine: Machine, values: Mapping[str, float], outcomes: Sequence[tuple[Case, Outcome]]
    ) -> tuple[ResultTable, ...]:
        """Return loads of the supports over the slew angle with the greatest rated moment in each state."""
        arm, tables = self.arm(machine), []
        for state in outrigger_postures(machine):
            some = [
                (case, outcome)
                for case, outcome in outcomes
                if case.subject == RATED and case.name.endswith(f' m{state}') and np.isfinite(outcome.limit.value)
            ]
            if some:
                tables.append(self._loads_table(machine, arm, values, *max(some, key=_rated_moment)))
        return tuple(tables)

    def _loads_table(
        self, machine: Machine, arm: Arm, values: Mapping[str, float], case: Case, outcome: Outcome
    ) -> ResultTable:
        """Return the loads of all supports over the slew angle, with the rated load of a case."""
        swing, load = arm.statics.swing, case.measure(outcome.limit.value)
        assert swing is not None
        names = [support.name for support in machine.supports]
        rows, loads = [], []
        for angle in arm.swings(TABLE_STEP):
            posed = Posed(machine, {**case.postures[outcome.number], swing.name: float(angle)}, False)
            loads.append(posed.support_loads(load))
            rows.append((f'{np.degrees(angle):.0f}', *_kilonewtons(loads[-1])))
        most = np.max(np.array(loads), axis=0)  # NaN if the crane tips at an angle
        rows.append(('greatest', *_kilonewtons(most)))
        pads = set(outriggers_of(machine).pads)
        pressure = [
            f'{1e-3 * value / values["pad_area"]:.0f}' if name in pads else '-' for name, value in zip(names, most)
        ]
        rows.append((f'ground pressure, kPa, {values["pad_area"]:g} m2', *pressure))
        title = f'{LOADS}, kN: {case.name}, {load:,.0f} kg'
        return ResultTable(title, LOADS, ('slew angle, deg', *names), tuple(rows))

    def notes(self, machine: Machine, values: Mapping[str, float]) -> tuple[str, ...]:
        """Return factors and postures; see `CaseStandard.notes`."""
        factor, boom_share = self.factors(values)
        deducted = f' less {boom_share:g} of the mass of the boom at its head' if boom_share > 0.0 else ''
        return (
            f'Rated load: the tipping load at the worst slew angle{deducted}, over {factor:g}; at most the payload '
            'limit of the machine file. The load includes hook and slings. A radius is counted from the slew axis; the '
            'highest posture reaches it.',
            f'Slew angles in steps of {np.degrees(STEP):g} degrees. Loads of the supports: at rest on yielding '
            'supports, with the load of the greatest rated moment; no dynamic factor.',
        )


def head_mass(machine: Machine, arm: Arm, chosen: Array) -> float:
    """Return the mass of the boom reduced to its head, kg: its moment about its foot over the lever of the head.

    Args:
        machine: the machine.
        arm: its arm.
        chosen: (a,) posture of the arm.
    """
    first = arm.statics.arm[0]
    poses = link_poses(machine.links, machine.joints, {**initial_positions(machine), **arm.posture(chosen)})
    foot, mount = poses[first.child][:3, 3], arm.mount(chosen[np.newaxis])[0]
    lever = (mount - foot) / max(float((mount - foot) @ (mount - foot)), 1e-9)
    moved = moved_links(machine, first)
    return float(
        sum(
            link.mass * max(float((poses[link.name][:3, :3] @ link.com + poses[link.name][:3, 3] - foot) @ lever), 0.0)
            for link in machine.links
            if link.name in moved
        )
    )


def _rated_moment(pair: tuple[Case, Outcome]) -> float:
    case, outcome = pair
    return case.measure(outcome.limit.value) * float(case.name.partition('radius ')[2].partition(' m')[0])


def _kilonewtons(loads: Array) -> tuple[str, ...]:
    return tuple('tips' if np.isnan(load) else f'{1e-3 * load:.1f}' for load in loads)
