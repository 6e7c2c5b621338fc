"""Checks of the names in a sweep against its machine and its task: parameters, joints, actuators, segments, signals."""

from __future__ import annotations

from collections.abc import Iterable

from dyn_nodes.analysis.sweeps.factors import OF_THE_TASK, TIMES, Factor, case_of
from dyn_nodes.analysis.sweeps.outcomes import columns_of
from dyn_nodes.analysis.sweeps.sweep import Sweep
from dyn_nodes.analysis.sweeps.trial import inputs_of_actuators
from dyn_nodes.model.problems import Report, did_you_mean
from dyn_nodes.model.sweep import COLUMN, COLUMN_FORM, NAME, NAME_FORM
from dyn_nodes.model.yaml_source import Entry
from dyn_nodes.simulation import System
from dyn_nodes.stability.observers import balance_observer

STEEPEST = 1.5
"""Greatest slope of the ground, rad."""
FIXED = ('run', 'status', 'end_time', 'detail')
"""Columns of every result."""


class NameChecks:
    """Checks of the names of a sweep against its compiled machine, and of the task at the ends of its factors."""

    def __init__(self, report: Report, root: Entry, sweep: Sweep) -> None:
        self.report, self.root, self.sweep = report, root, sweep
        self.system = System(sweep.machine())
        self.joints = tuple(joint.name for joint in sweep.machine().movable_joints)
        self.levers = inputs_of_actuators(self.system)

    def check(self) -> None:
        """Record every error."""
        if not NAME.fullmatch(self.sweep.name):
            name_entry = self.root.mapping.get('name', self.root)
            self.report.add(name_entry.line, 'name', NAME_FORM, repr(self.sweep.name))
        for factor in self.sweep.factors:
            self._factor(factor)
        for key, valid in (('levers', self.levers), ('joint_positions', self.joints)):
            for name, entry in (
                self.root.mapping.get(key, self.root).mapping.items() if key in self.root.mapping else ()
            ):
                self._demand(entry, f'one of the {key.replace("_", " ")}', name, valid)
        if self.sweep.profile is not None:
            for name in self.sweep.profile.actuators:
                self._demand(self.root.mapping['task'], 'a task for the actuators', name, self.levers)
        self._signals()
        self._measures()
        self._columns()
        if not self.report.failed:
            self._ranges()
            self._tasks()

    def _factor(self, factor: Factor) -> None:
        entry, sweep = self.root.mapping['factors'].mapping[factor.name], self.sweep
        task = sweep.profile
        if factor.target in OF_THE_TASK and task is None:
            self.report.add(entry.line, entry.path, 'a task for this factor', 'none')
            return
        if factor.target == 'parameter':
            self._demand(entry, 'a parameter', factor.key, self.system.parameter_names)
        elif factor.target == 'joint':
            self._demand(entry, 'a movable joint', factor.key, self.joints)
        elif factor.target == 'lever':
            self._demand(entry, 'an actuator', factor.key, self.levers)
        elif factor.target == 'volts_scale' and task is not None:
            self._demand(entry, 'an actuator of the task', factor.key, task.actuators)
        elif factor.target == 'volts' and task is not None:
            valid = [f'{segment.name}/{name}' for segment in task.segments for name in self.levers]
            self._demand(entry, "a segment's name/actuator", factor.key, valid)

        elif factor.target == 'timing' and task is not None:
            valid = [f'{segment.name}/{time_kind}' for segment in task.segments for time_kind in TIMES]
            self._demand(entry, f"a segment's name/{', /'.join(TIMES)}", factor.key, valid)

    def _ranges(self) -> None:
        """Record values outside the range of the machine."""
        for k, factor in enumerate(self.sweep.factors):
            column = self.sweep.values[:, k]
            low, high, expected = self._range(factor)
            for value in (float(column.min()), float(column.max())):
                if not low <= value <= high:
                    entry = self.root.mapping['factors'].mapping[factor.name]
                    self.report.add(entry.line, entry.path, f'{expected} from {low:g} to {high:g}', f'{value:g}')
                    break

    def _range(self, factor: Factor) -> tuple[float, float, str]:
        if factor.target == 'slope':
            return -STEEPEST, STEEPEST, 'an angle in rad'
        if factor.target == 'joint':
            joint = self.sweep.machine().joint(factor.key)
            return joint.lower, joint.upper, 'a position within the limits'
        if factor.target == 'parameter' and (factor.key == 'payload_mass' or factor.key.endswith('_scale')):
            return 0.0, float('inf'), 'a number'
        return -float('inf'), float('inf'), 'a number'

    def _demand(self, entry: Entry, expected: str, name: str, valid: Iterable[str]) -> None:
        if name not in (valid := tuple(valid)):
            self.report.add(entry.line, entry.path, expected, did_you_mean(name, valid))

    def _signals(self) -> None:
        signals = (*self.system.state_names, *self.system.output_names)
        for name, expression in self.sweep.expressions.items():
            for signal in expression.signals:
                self._demand(self.root.mapping['expressions'].mapping[name], 'a state or an output', signal, signals)

    def _measures(self) -> None:
        wanted = {'least_margin', 'lift_off', 'recovered'} & set(self.sweep.outcomes)
        entry = self.root.mapping.get('outcomes', self.root)
        standing = self.sweep.machine().ground_contacts
        if wanted and not standing:
            self.report.add(
                entry.line, 'outcomes', 'a machine on wheels', f'{", ".join(sorted(wanted))} of one without'
            )
        elif 'least_margin' in wanted:
            measures_entry = self.root.mapping.get('measures', entry)
            try:
                observer = balance_observer(self.system, self.sweep.measures)
            except KeyError as error:
                self.report.add(measures_entry.line, 'measures', 'measures of this machine', str(error.args[0]))
                return
            if observer is None:
                self.report.add(
                    entry.line, 'outcomes', 'a machine with a support polygon', 'least_margin of one without'
                )

    def _columns(self) -> None:
        used = {
            **dict.fromkeys(FIXED, 'a column of every sweep'),
            **dict.fromkeys(columns_of(self.sweep), 'an outcome'),
        }
        for key in ('factors', 'expressions'):
            for name, entry in (self.root.mapping[key].mapping if key in self.root.mapping else {}).items():
                if not COLUMN.fullmatch(name):
                    self.report.add(entry.line, f'{key}, name', COLUMN_FORM, repr(name))
                if name in used:
                    self.report.add(entry.line, entry.path, 'a unique name', f'{name!r}, which is {used[name]}')
                used[name] = f'one of the {key}'

    def _tasks(self) -> None:
        """Try the task at the ends of every factor."""
        values = self.sweep.values
        if self.sweep.profile is None or not values.size:
            return
        for k, factor in enumerate(self.sweep.factors):
            for row in (values[values[:, k].argmin()], values[values[:, k].argmax()]):
                try:
                    case_of(self.sweep.factors, row.tolist(), self.sweep.profile)
                except ValueError as error:
                    entry = self.root.mapping['factors'].mapping[factor.name]
                    self.report.add(entry.line, entry.path, 'values that give a valid task', str(error))
                    return
