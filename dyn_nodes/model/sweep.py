"""Keys of a sweep YAML, each declared at the field of its record. Data only."""

import re
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, get_args

from dyn_nodes.model.schema import choice, collection, flag, named, number, table, text

DesignKind = Literal['grid', 'latin_hypercube', 'sobol', 'saltelli', 'monte_carlo']
Spacing = Literal['linear', 'logarithmic']
TARGETS = ('parameter', 'machine', 'volts', 'volts_scale', 'pace', 'timing', 'joint', 'lever')
"""Keys of a factor that select the varied quantity."""
NAME = re.compile(r'\w[\w .()+-]{0,99}')
"""Valid names of a sweep, part of the paths of its results."""
COLUMN = re.compile(r'[^\W\d][\w ./:%()+*-]{0,99}')
"""Valid names of a factor or an expression, a column of the results and a word in files that repeat a run."""
NAME_FORM = 'a letter, then letters, digits, spaces or any of _ . ( ) + -'
COLUMN_FORM = f'{NAME_FORM} / : % *'


@dataclass(frozen=True, kw_only=True)
class FactorEntry:
    """A factor: exactly one of `TARGETS`, and its range: `values`, `from` and `to`, or `mean` and `deviation`."""

    parameter: Annotated[str, text('parameter of the compiled machine, such as payload_mass or friction_scale')] = ''
    machine: Annotated[
        str, text('key of the machine YAML, such as slope.pitch; compiles once per value unless it is also a parameter')
    ] = ''
    volts: Annotated[str, text("plateau of one segment of the task, V: the segment's name/actuator")] = ''
    volts_scale: Annotated[str, text('factor of all voltages of this actuator in the task')] = ''
    pace: Annotated[str, text('`task`: factor of its speed; times are divided by it, voltages multiplied')] = ''
    timing: Annotated[
        str,
        text("of one segment of the task, s: the segment's name/wait, /length or /ramp; later segments are shifted"),
    ] = ''
    joint: Annotated[str, text('initial position of a joint, rad or m')] = ''
    lever: Annotated[str, text('constant voltage of an actuator for the whole run, V')] = ''
    values: Annotated[tuple[float, ...], collection('numbers', 'equally probable levels')] = ()
    least: Annotated[float | None, number('least value')._replace(name='from')] = None
    most: Annotated[float | None, number('greatest value')._replace(name='to')] = None
    count: Annotated[float | None, number('levels between `from` and `to`, of a grid', '', 'positive')] = None
    spacing: Annotated[Spacing, choice('between `from` and `to`', get_args(Spacing))] = 'linear'
    mean: Annotated[float | None, number('of a normal distribution, cut off at `from` and `to`')] = None
    deviation: Annotated[float | None, number('standard deviation', '', 'positive')] = None


@dataclass(frozen=True, kw_only=True)
class AngleFactorEntry(FactorEntry):
    """A factor for angles, which may be written `deg(5)`."""

    values: Annotated[tuple[float, ...], collection('numbers', 'levels', 'rad')] = ()
    least: Annotated[float | None, number('least value', 'rad')._replace(name='from')] = None
    most: Annotated[float | None, number('greatest value', 'rad')._replace(name='to')] = None
    mean: Annotated[float | None, number('of a normal distribution', 'rad')] = None
    deviation: Annotated[float | None, number('standard deviation', 'rad', 'positive')] = None


@dataclass(frozen=True, kw_only=True)
class DesignEntry:
    """Design of the experiment."""

    kind: Annotated[
        DesignKind, choice('every combination of levels, or points sampled from the factors', get_args(DesignKind))
    ] = 'grid'
    runs: Annotated[
        float | None, number('number of sampled points; a grid has one run per combination', '', 'positive')
    ] = None
    varied: Annotated[
        tuple[str, ...],
        collection('names', 'factors with `values`: each point is run with the first value, then with each other one'),
    ] = ()
    seed: Annotated[float, number('of the random numbers, a whole number', '', 'non-negative')] = 1.0


@dataclass(frozen=True, kw_only=True)
class SweepEntries:
    """Keys of the file."""

    name: Annotated[str | None, text('of the sweep; absent: name of the file')] = None
    description: Annotated[str, text('one sentence')] = ''
    machine: Annotated[str, text('name of a machine of this package, or path of a URDF from this file')]
    config: Annotated[
        str, text('name of a machine YAML, or path from this file; absent: YAML of the named machine')
    ] = ''
    task: Annotated[
        str, text('name of a task of this package, or path of its YAML from this file; absent: only the levers')
    ] = ''
    recovery: Annotated[bool, flag('include the recovery segments of the task')] = True
    levers: Annotated[
        dict[str, float], collection('positions', 'constant voltages by actuator for the whole run', 'V')
    ] = field(default_factory=dict)
    joint_positions: Annotated[
        dict[str, float], collection('positions', "initial positions, over the machine's", 'rad or m')
    ] = field(default_factory=dict)
    duration: Annotated[float | None, number('s; absent: duration of the task, at its pace', 's', 'positive')] = None
    step: Annotated[float, number('of the integrator', 's', 'positive')] = 1e-3
    sample_period: Annotated[float, number('sample period of the outcomes', 's', 'positive')] = 0.01
    record_period: Annotated[
        float | None,
        number('period of the dataset rows, a multiple of `sample_period`; absent: no dataset', 's', 'positive'),
    ] = None
    design: Annotated[DesignEntry, table('design of the experiment', DesignEntry)] = field(default_factory=DesignEntry)
    factors: Annotated[Any, named('varied quantities, by the names of their columns', FactorEntry)]
    outcomes: Annotated[tuple[str, ...], collection('names', 'of outcomes of this package')] = ('overturned',)
    measures: Annotated[tuple[str, ...], collection('names', 'stability measures of `least_margin`')] = ('zmp',)
    expressions: Annotated[
        dict[str, str] | None, named('further outcomes by the names of their columns: expressions over signals')
    ] = None
