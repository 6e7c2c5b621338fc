"""Base class of standards whose result is one limit of stability for each of some load cases."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from dyn_nodes.analysis.standards.effects import effects_of
from dyn_nodes.analysis.standards.posed import Limit, Posed
from dyn_nodes.analysis.standards.standard import (
    OPTION,
    Certificate,
    CertifyError,
    CertifySettings,
    Effect,
    Input,
    Quantity,
    ResultTable,
    Standard,
    posed_machine,
    quantity_inputs,
    quantity_values,
    supports_text,
)
from dyn_nodes.common.arrays import Array
from dyn_nodes.model.machine import Machine
from dyn_nodes.model.posture import initial_positions

VARIED = 0.1
"""Change of a quantity that is not confirmed, relative to its value."""
UNITS = {
    'kg': ('tipping load, kg', 0),
    '%': ('tips at a slope of, %', 1),
    'deg': ('tips at a slope of, deg', 1),
    'ratio': ('stabilising over overturning moment', 3),
    'share': ('part of the weight on the side of the boom', 3),
}
"""Head of the column of limits, and number of decimals, by unit."""
WITHOUT_SPRINGS = ('ratio',)
"""Units of limits that are computed on rigid supports only."""
VARIED_CASES = 8
"""Greatest number of cases for the effects of assumed values."""


class Rating(NamedTuple):
    """Rated value of a limit: a share of it, less a constant part, at most a greatest value.

    Attributes:
        share: rated share.
        deducted: constant part, kg.
        most: greatest rated value, kg.
    """

    share: float
    deducted: float = 0.0
    most: float = np.inf

    def of(self, limit: float) -> float:
        """Return the rated value of a limit, kg."""
        return min(max(self.share * limit - self.deducted, 0.0), self.most)


@dataclass(frozen=True)
class Case:
    """A load case. The worst of its postures counts.

    Attributes:
        name: state of the machine in the case.
        subject: subject of the standard, by its title.
        postures: positions of joints by name, in place of the initial ones, rad or m.
        limit: returns the limit of stability in a posture, in `unit`; equal functions compare as equal.
        unit: key of `UNITS`.
        required: least limit that the standard demands; NaN: none.
        rating: rated value; None: nothing is rated.
        hold: passive joints that are locked.
    """

    name: str
    subject: str
    postures: tuple[Mapping[str, float], ...]
    limit: Callable[[Posed], Limit]
    unit: str
    required: float = np.nan
    rating: Rating | None = None
    hold: tuple[str, ...] = ()

    def measure(self, limit: float) -> float:
        """Return the rated value of a limit, or the limit over the required one, or the limit."""
        if self.rating is not None:
            return self.rating.of(limit)
        return limit / self.required if self.required > 0.0 else limit


class Outcome(NamedTuple):
    """Least limit of a case, the number of its posture, and the machine there."""

    limit: Limit
    number: int
    posed: Posed


def outcome_of(case: Case, machine: Machine, rigid: bool) -> Outcome:
    """Return the worst posture of a case.

    Args:
        case: the load case.
        machine: the machine.
        rigid: springs and tyres are rigid.
    """
    least: Outcome | None = None
    for number, posture in enumerate(case.postures):
        posed = Posed(machine, posture, rigid, case.hold)
        limit = case.limit(posed)
        if least is None or limit.value < least.limit.value:
            least = Outcome(limit, number, posed)
    if least is None:
        raise CertifyError(
            f'{machine.name}: {case.name}: expected a posture within the limits of the joints, found none'
        )
    return least


class CaseStandard(Standard):
    """A standard with load cases.

    Attributes:
        not_shown: requirements of the standard that a model cannot show.
        result: name of the measure of all cases, for the effect of the supports.
        unused: keys of the machine YAML, or their first words, without a part in the result.
    """

    not_shown: ClassVar[tuple[str, ...]]
    result: ClassVar[str] = 'limit'
    unused: ClassVar[tuple[str, ...]] = ('actuators', 'initial', 'payload.limit', 'payload.mass', 'slope')

    def quantities(self, machine: Machine) -> tuple[Quantity, ...]:
        """Return the numbers that the standard needs and the machine files do not contain.

        Args:
            machine: the machine.
        """
        return ()

    @abstractmethod
    def cases(self, machine: Machine, values: Mapping[str, float], settings: CertifySettings) -> Sequence[Case]:
        """Return the load cases.

        Args:
            machine: machine with the initial posture of the settings.
            values: quantities by name.
            settings: settings of the calculation.

        Raises:
            CertifyError: a machine that the standard does not cover.
        """

    def notes(self, machine: Machine, values: Mapping[str, float]) -> tuple[str, ...]:
        """Return statements about the method.

        Args:
            machine: the machine.
            values: quantities by name.
        """
        return ()

    def more_tables(
        self, machine: Machine, values: Mapping[str, float], outcomes: Sequence[tuple[Case, Outcome]]
    ) -> tuple[ResultTable, ...]:
        """Return further tables, beside the tables of the cases.

        Args:
            machine: the machine.
            values: quantities by name.
            outcomes: cases with their outcomes.
        """
        return ()

    def certify(self, machine: Machine, settings: CertifySettings) -> Certificate:
        """Return the limits of the load cases; see `Standard.certify`."""
        posed = posed_machine(machine, settings.posture)
        quantities = self.quantities(posed)
        values = quantity_values(self.kind, quantities, settings.values)
        cases = self.cases(posed, values, settings)
        outcomes = [(case, outcome_of(case, posed, settings.rigid)) for case in cases]
        others = [_on_other_supports(case, outcome, posed, settings.rigid) for case, outcome in outcomes]
        records = [_record(posed, case, outcome, other) for (case, outcome), other in zip(outcomes, others)]
        effects: tuple[Effect, ...] = ()
        unaffected = tuple(machine.assumed)
        if settings.vary:
            indices = _extreme(outcomes)
            governing = [_governing(outcomes[k][0], outcomes[k][1].number) for k in indices]
            effects, unaffected = self._effects(posed, settings, governing)
            varied = self._quantity_effects(posed, quantities, values, settings, [(k, *outcomes[k]) for k in indices])
            effects = (*effects, *varied)
        states = [outcome.posed for _, outcome in outcomes]
        passive = sorted({name for state in states for name in state.axle_joints})
        raised = sorted({name for state in states for name in state.raised})
        pairs = [
            (case.measure(outcome.limit.value), case.measure(other)) for (case, outcome), other in zip(outcomes, others)
        ]
        return Certificate(
            self.kind,
            self.title,
            machine.name,
            machine.sources,
            supports_text(settings.rigid, self.result, pairs, passive, raised),
            (*_inputs(posed), *quantity_inputs(quantities, settings.values)),
            (*_tables(records), *self.more_tables(posed, values, outcomes)),
            tuple(records),
            effects,
            unaffected,
            (*self.notes(posed, values), *_notes(settings)),
            self.not_shown,
        )

    def _effects(
        self, machine: Machine, settings: CertifySettings, governing: Sequence[Case]
    ) -> tuple[tuple[Effect, ...], tuple[str, ...]]:
        """Return effects of the assumed values of the machine file on the measures of cases with one posture each."""

        def evaluate(changed: Machine, key: str) -> Array:
            posed = posed_machine(changed, settings.posture)
            return _measures(governing, [outcome_of(case, posed, settings.rigid) for case in governing])

        return effects_of(machine, evaluate, self.unused)

    def _quantity_effects(
        self,
        machine: Machine,
        quantities: Iterable[Quantity],
        values: Mapping[str, float],
        settings: CertifySettings,
        chosen: Sequence[tuple[int, Case, Outcome]],
    ) -> Iterable[Effect]:
        """Return effects of the quantities that are not confirmed on some cases, with all other values unchanged."""
        for quantity in quantities:
            if quantity.confirmed or quantity.name in settings.values:
                continue
            changes = [0.0]
            for factor in (1.0 - VARIED, 1.0 + VARIED):
                varied = {**values, quantity.name: factor * values[quantity.name]}
                cases = self.cases(machine, varied, settings)
                for k, before, outcome in chosen:
                    nominal = before.measure(outcome.limit.value)
                    measure = cases[k].measure(_limit_again(cases[k], before, outcome, machine, settings.rigid))
                    if nominal > 0.0 and np.isfinite([nominal, measure]).all():
                        changes.append(measure / nominal - 1.0)
            text, change = f'{values[quantity.name]:g} {quantity.unit}'.strip(), f'± {100.0 * VARIED:g} %'
            yield Effect((f'{OPTION}{quantity.name}',), text, quantity.source, change, min(changes), max(changes))


def _extreme(outcomes: Sequence[tuple[Case, Outcome]]) -> list[int]:
    """Return the indices of the cases with the least and the greatest measure of each subject; of few cases, all."""
    groups: dict[str, list[int]] = {}
    for k, (case, outcome) in enumerate(outcomes):
        if 0.0 < case.measure(outcome.limit.value) < np.inf:
            groups.setdefault(case.subject, []).append(k)

    if sum(map(len, groups.values())) <= VARIED_CASES:
        return sorted(k for group in groups.values() for k in group)

    def measure(k: int) -> float:
        case, outcome = outcomes[k]
        return case.measure(outcome.limit.value)

    picked = [pick(group, key=measure) for group in groups.values() for pick in (min, max)]
    return sorted(dict.fromkeys(picked))[:VARIED_CASES]


def _on_other_supports(case: Case, outcome: Outcome, machine: Machine, rigid: bool) -> float:
    """Return the limit of the governing posture on supports in the other state."""
    if case.unit in WITHOUT_SPRINGS:
        return outcome.limit.value
    return outcome_of(_governing(case, outcome.number), machine, not rigid).limit.value


def _governing(case: Case, number: int) -> Case:
    return replace(case, postures=case.postures[number : number + 1])


def _limit_again(case: Case, before: Case, outcome: Outcome, machine: Machine, rigid: bool) -> float:
    """Return the limit of a changed case in the posture that governed it before."""
    if (case.limit, case.postures, case.hold) == (before.limit, before.postures, before.hold):
        return outcome.limit.value
    return outcome_of(_governing(case, outcome.number), machine, rigid).limit.value


def _measures(cases: Sequence[Case], outcomes: Sequence[Outcome]) -> Array:
    return np.array([case.measure(outcome.limit.value) for case, outcome in zip(cases, outcomes)])


def _record(machine: Machine, case: Case, outcome: Outcome, other: float) -> dict[str, Any]:
    """Return the result of a case as one row."""
    start, limit = initial_positions(machine), outcome.limit.value
    moved = {name: value for name, value in case.postures[outcome.number].items() if value != start.get(name)}
    rated = np.nan if case.rating is None else case.rating.of(limit)
    return {
        'case': case.name,
        'subject': case.subject,
        'limit': limit,
        'unit': case.unit,
        'limit_other_supports': other,
        'rated': rated,
        'required': case.required,
        'meets': bool(limit >= case.required) if np.isfinite(case.required) else None,
        'axis': ' to '.join(outcome.limit.axis),
        'locked': ', '.join(case.hold),
        'joints': moved,
    }


def _tables(records: Sequence[dict[str, Any]]) -> tuple[ResultTable, ...]:
    """Return one table for each subject and unit."""
    groups = dict.fromkeys((record['subject'], record['unit']) for record in records)
    return tuple(
        _table(subject, unit, [each for each in records if each['subject'] == subject]) for subject, unit in groups
    )


def _table(subject: str, unit: str, records: Sequence[dict[str, Any]]) -> ResultTable:
    some = [record for record in records if record['unit'] == unit]
    rated, required = (any(not np.isnan(record[name]) for record in some) for name in ('rated', 'required'))
    heads = ['case', UNITS[unit][0], *(['rated, kg'] if rated else []), *(['required', 'meets'] if required else [])]
    digits = UNITS[unit][1]
    rows = []
    for record in some:
        row = [record['case'], _text(record['limit'], digits)]
        row += [_text(record['rated'], 0)] if rated else []
        row += (
            [_text(record['required'], digits), {True: 'yes', False: 'NO', None: '-'}[record['meets']]]
            if required
            else []
        )
        posture = ', '.join(f'{name} {value:.3g}' for name, value in record['joints'].items())
        rows.append((*row, record['axis'] or '-', posture or 'initial posture'))
    return ResultTable(subject, subject, (*heads, 'tipping axis', 'posture, rad or m'), tuple(rows))


def _text(value: float, digits: int) -> str:
    if np.isnan(value):
        return '-'
    return f'{value:,.{digits}f}' if np.isfinite(value) else 'does not tip'


def _inputs(machine: Machine) -> tuple[Input, ...]:
    """Return the inputs of every load case."""
    source = (
        'machine file' if 'gravity' not in machine.assumed else f'machine file, assumed: {machine.assumed["gravity"]}'
    )
    result = [
        Input('mass without payload', f'{machine.total_mass:,.0f} kg', 'URDF'),
        Input('gravity', f'{machine.gravity:g} m/s2', source),
        Input('supports', ', '.join(support.name for support in machine.supports), 'machine file'),
    ]
    if machine.payload is not None:
        point = ', '.join(f'{value:g}' for value in machine.payload.position)
        result.append(Input('centre of the load', f'[{point}] m in {machine.payload.link}', 'machine file'))
    return tuple(result)


def _notes(settings: CertifySettings) -> tuple[str, ...]:
    return (
        'A case has the worst of its postures. Level and sloping ground is hard and plane.',
        'Rigid supports: balance of moments about the tipping axes of the posture.'
        + (
            ''
            if settings.rigid
            else ' Yielding supports: the first loss of equilibrium; tipping loads are at most rigid ones.'
        ),
        *(
            ('Effect of assumed values: on the rated value, on the limit over the required one, or on the limit.',)
            if settings.vary
            else ()
        ),
    )
