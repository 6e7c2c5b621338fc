"""Records of a calculation that a standard prescribes, and the base class of a standard."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from dyn_nodes.common.errors import UserError
from dyn_nodes.common.printing import near
from dyn_nodes.model.machine import Machine

OPTION = '--set '
"""Start of the key of an effect that belongs to a quantity, not to the machine file."""
UNCONFIRMED = 'assumed, not confirmed'
"""Mark of a quantity without a public source."""


class CertifyError(UserError, ValueError):
    """The calculation of a standard is not possible for a machine; the message has the reason."""


@dataclass(frozen=True)
class CertifySettings:
    """Settings of a calculation.

    Attributes:
        step: step of reach and height of a grid, m.
        posture: positions of joints that the calculation does not move, in place of the initial ones, rad or m.
        rigid: springs and tyres are rigid.
        vary: also compute the effect of each assumed value.
        values: quantities of the standard that the machine files do not contain, by name.
    """

    step: float = 1.5
    posture: Mapping[str, float] = field(default_factory=dict)
    rigid: bool = False
    vary: bool = True
    values: Mapping[str, float] = field(default_factory=dict)


class Quantity(NamedTuple):
    """A number that a standard needs and the machine files do not contain, such as a wind speed or a test slope.

    Attributes:
        name: name on the command line.
        value: default.
        unit: unit of the value.
        meaning: subject of the number.
        source: publication or key of the default.
        confirmed: whether a public source of the number was found; otherwise the report names it as assumed.
    """

    name: str
    value: float
    unit: str
    meaning: str
    source: str
    confirmed: bool = True


class Input(NamedTuple):
    """A value that the calculation uses: name, value as text with its unit, and source."""

    name: str
    value: str
    source: str


class ResultTable(NamedTuple):
    """A table of results as text; `subject` is the subject of the standard that it answers, by its title."""

    title: str
    subject: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


class Effect(NamedTuple):
    """Effect of an assumed value on the result.

    Attributes:
        keys: keys of the machine YAML that were changed together.
        value: present value, as text.
        reason: reason for the value in the machine YAML.
        change: change of the value, as text.
        least, greatest: least and greatest relative change of the result, over all its cells; NaN if the machine file
            does not allow the change.
    """

    keys: tuple[str, ...]
    value: str
    reason: str
    change: str
    least: float
    greatest: float


@dataclass(frozen=True, eq=False)
class Certificate:
    """A calculation for one machine.

    Attributes:
        kind: kind of the standard, such as `iso10567`.
        standard: number, edition and title of the standard.
        machine: name of the machine.
        sources: paths of its files.
        supports: state of springs and tyres, one sentence.
        inputs: values that the calculation uses.
        tables: results.
        records: results as rows of numbers by column, for CSV and JSON; SI units, kg.
        effects: effect of each assumed value, the greatest first.
        unaffected: keys of assumed values without a part in the result.
        notes: statements about method and results.
        not_shown: requirements of the standard that a model cannot show.
    """

    kind: str
    standard: str
    machine: str
    sources: tuple[str, ...]
    supports: str
    inputs: tuple[Input, ...]
    tables: tuple[ResultTable, ...]
    records: tuple[dict[str, Any], ...]
    effects: tuple[Effect, ...]
    unaffected: tuple[str, ...]
    notes: tuple[str, ...]
    not_shown: tuple[str, ...]

    @property
    def assumed(self) -> int:
        """Number of assumed values of the machine file."""
        keys = [key for effect in self.effects for key in effect.keys if not key.startswith(OPTION)]
        return len(keys) + len(self.unaffected)

    @property
    def unconfirmed(self) -> tuple[str, ...]:
        """Names of numbers of the standard for which no public source was found and no value was set."""
        return tuple(each.source.partition(':')[0] for each in self.inputs if UNCONFIRMED in each.source)


class Standard:
    """A standard. A class in a module of this package that has a `kind` is a standard.

    Attributes:
        kind: name on the command line, such as `iso10567`; declared by each standard.
        title: number, edition and title of the standard.
    """

    kind: ClassVar[str]
    title: ClassVar[str]

    def certify(self, machine: Machine, settings: CertifySettings) -> Certificate:
        """Return the calculation for a machine; raises as `certify` of the package."""
        raise NotImplementedError


def posed_machine(machine: Machine, posture: Mapping[str, float]) -> Machine:
    """Return a machine with other initial positions of joints, rad or m.

    Raises:
        CertifyError: the machine has no such joint, or a position is outside its limits.
    """
    joints = {joint.name: joint for joint in machine.movable_joints}
    for name, value in posture.items():
        if name not in joints:
            raise CertifyError(f'{machine.name}: posture: expected a joint out of {", ".join(joints)}, found {name!r}')
        lower, upper = joints[name].lower, joints[name].upper
        if not lower <= value <= upper:
            raise CertifyError(f'{machine.name}: posture: {name}: expected {lower:g} to {upper:g}, found {value:g}')
    positions = {**machine.initial.joint_positions, **posture}
    return replace(machine, initial=replace(machine.initial, joint_positions=positions))


def quantity_values(kind: str, quantities: Iterable[Quantity], values: Mapping[str, float]) -> dict[str, float]:
    """Return the values of quantities by name.

    Args:
        kind: name of the standard, for messages.
        quantities: quantities with their defaults.
        values: values that replace defaults.

    Raises:
        CertifyError: a value of another name, or a negative one.
    """
    result = {quantity.name: quantity.value for quantity in quantities}
    for name, value in values.items():
        if name not in result:
            names = ', '.join(result) or 'no value'
            raise CertifyError(f'{kind}: --set: expected {names}, found {name!r}{near(name, list(result))}')
        if not 0.0 <= value < np.inf:
            raise CertifyError(f'{kind}: --set {name}: expected 0 or more, found {value:g}')
    return {**result, **values}


def quantity_inputs(quantities: Iterable[Quantity], values: Mapping[str, float]) -> tuple[Input, ...]:
    """Return quantities as inputs of a certificate.

    Args:
        quantities: quantities with their defaults.
        values: values that replace defaults.
    """
    result = []
    for quantity in quantities:
        source = quantity.source if quantity.confirmed else f'{UNCONFIRMED}: {quantity.source}'
        value = values.get(quantity.name, quantity.value)
        source = '--set' if quantity.name in values else source
        result.append(Input(quantity.meaning, f'{value:g} {quantity.unit}'.strip(), f'{quantity.name}: {source}'))
    return tuple(result)


def supports_text(
    rigid: bool,
    result: str,
    pairs: Iterable[tuple[float, float]],
    passive: Collection[str] = (),
    raised: Collection[str] = (),
) -> str:
    """Return the state of the supports, and the change of a result with the other state, as sentences.

    Args:
        rigid: springs, tyres and tracks are rigid.
        result: name of the result.
        pairs: results with this state and with the other one.
        passive: names of joints that move passively.
        raised: names of supports without load.
    """
    changes = [100.0 * (other / one - 1.0) for one, other in pairs if one > 0.0 and np.isfinite([one, other]).all()]
    text = (
        'Springs, tyres and tracks are rigid.' if rigid else 'Springs, tyres and tracks yield as in the machine file.'
    )
    if changes:
        state = 'If they yield' if rigid else 'If they are rigid'
        text += f' {state}, the {result} changes by {min(changes):+.1f} to {max(changes):+.1f} %.'
    text += f' Joints that move passively: {", ".join(passive)}.' if passive else ''
    return text + (f' Raised, without support: {", ".join(raised)}.' if raised else '')
