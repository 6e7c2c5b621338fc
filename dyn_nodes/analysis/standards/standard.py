"""Records of a calculation that a standard prescribes, and the base class of a standard."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

from dyn_nodes.common.errors import UserError
from dyn_nodes.model.machine import Machine


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
    """

    step: float = 1.5
    posture: Mapping[str, float] = field(default_factory=dict)
    rigid: bool = False
    vary: bool = True


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
        return sum(len(effect.keys) for effect in self.effects) + len(self.unaffected)


class Standard:
    """A standard. A class in a module of this package that has a `kind` is a standard.

    Attributes:
        kind: name on the command line, such as `iso10567`; declared by each standard.
        title: number, edition and title of the standard.
    """

    title: ClassVar[str]

    def certify(self, machine: Machine, settings: CertifySettings) -> Certificate:
        """Return the calculation for a machine; raises as `certify` of the package."""
        raise NotImplementedError
