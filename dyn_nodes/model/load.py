"""Loading of a machine from its files."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import NamedTuple

from dyn_nodes.model.changes import Number, changed
from dyn_nodes.model.config import Config, on_root, read_config
from dyn_nodes.model.config_checks import check_config
from dyn_nodes.model.inertia_checks import check_moved_inertia
from dyn_nodes.model.locking import (
    check_locked,
    gather_locks,
    lock_in_text,
    lock_joints,
    locked_positions,
    warn_of_idle_friction,
    warn_of_mimics,
)
from dyn_nodes.model.machine import Machine, MachineFile
from dyn_nodes.model.problems import MachineError, Problem, Report
from dyn_nodes.model.urdf import Urdf, read_urdf
from dyn_nodes.model.xml_source import read_urdf_text
from dyn_nodes.model.yaml_source import read_yaml


class LoadReport(NamedTuple):
    """Result of loading: a machine or problems, and warnings; sorted by file and line."""

    machine: Machine | None
    problems: tuple[Problem, ...]
    warnings: tuple[Problem, ...]


def load_machine(
    urdf: str | Path, config: str | Path | None = None, changes: Mapping[str, Number] | None = None
) -> Machine:
    """Return the machine of a URDF (or xacro) file and a machine YAML for data that a URDF cannot hold.

    Without a YAML the base is fixed and there are no wheels, actuators or payload.

    Args:
        urdf: path.
        config: path of the YAML; None: no YAML.
        changes: replacements of numbers, or lists of numbers, of the YAML, by dotted key.

    Raises:
        MachineError: the files have faults; `problems` lists all of them with file and line.
    """
    machine, problems, warnings = load_machine_report(urdf, config, changes=changes)
    if machine is None:
        raise MachineError(problems, warnings)
    return machine


def load_machine_report(
    urdf: str | Path,
    config: str | Path | None = None,
    massless_joints: bool = False,
    changes: Mapping[str, Number] | None = None,
) -> LoadReport:
    """Return the machine or None, every problem, and every warning. Raises nothing for a faulty file.

    Joints that move no inertia are a problem unless `massless_joints`, because they cannot be simulated. `changes` as
    for `load_machine`.
    """
    report = Report(str(urdf))
    text = read_urdf_text(Path(urdf), report)
    parsed = read_urdf(text, report) if text is not None else None
    settings = Config()
    if config is not None:
        settings, parsed = _read_settings(config, parsed, report, changes or {})
    elif parsed is not None:
        check_config(settings, parsed, report)
    if parsed is not None:
        warn_of_mimics(settings, parsed, report)
    machine = None
    if parsed is not None and not (report.failed and settings.locked):
        parsed = lock_joints(parsed, locked_positions(settings, parsed))
        if not massless_joints:
            ends = {end.link for constraint in settings.constraints for end in constraint.ends}
            check_moved_inertia(parsed.links, parsed.joints, parsed.outline.joints, report, ends)
    if not report.failed and parsed is not None and text is not None:
        sources = (str(urdf), *([] if config is None else [str(config)]))
        machine = _assemble(parsed, settings, lock_in_text(parsed.text, parsed, settings.locked), sources)
    return LoadReport(machine, report.sorted_problems(), report.sorted_warnings())


def _read_settings(
    config: str | Path, parsed: Urdf | None, report: Report, changes: Mapping[str, Number]
) -> tuple[Config, Urdf | None]:
    """Return the checked YAML, and the URDF without placeholder limits of driven joints."""
    yaml_report = report.for_file(str(config))
    root = read_yaml(Path(config), yaml_report)
    if root is None:
        return Config(), parsed
    settings = read_config(changed(root, changes), parsed.links[0].name if parsed is not None else '', yaml_report)
    if parsed is not None:
        parsed = _without_placeholders(parsed, settings, yaml_report)
        check_config(settings, parsed, yaml_report)
        check_locked(settings, parsed, yaml_report)
        warn_of_idle_friction(settings, parsed, yaml_report)
    return (settings if report.failed else gather_locks(settings, yaml_report)), parsed


def _without_placeholders(parsed: Urdf, settings: Config, report: Report) -> Urdf:
    """Return the URDF without effort and velocity limits of 0 at joints that the YAML drives; with warnings."""
    keys = {actuator.joint: f'actuators.{actuator.name}' for actuator in settings.actuators}
    keys |= {entry.joint: f'joints.{entry.joint}' for entry in settings.joint_classes if entry.kind == 'actuated'}
    joints = list(parsed.joints)
    for k, joint in enumerate(joints):
        zero = [name for name in ('effort', 'velocity') if getattr(joint, f'{name}_limit') == 0.0]
        if joint.name in keys and zero:
            where, actual = keys[joint.name], f'{" and ".join(zero)} 0, interpreted as no limit'
            report.warn(settings.line(where), where, 'limits of a driven joint in the URDF', actual)
            joints[k] = replace(
                joint,
                effort_limit=joint.effort_limit or math.inf,
                velocity_limit=joint.velocity_limit or math.inf,
            )
    return replace(parsed, joints=tuple(joints))


def _assemble(parsed: Urdf, config: Config, text: str, sources: tuple[str, ...]) -> Machine:
    positions = {name: value for name, value in config.initial.joint_positions.items() if name not in config.locked}
    settings = {field.name: getattr(config, field.name) for field in fields(MachineFile)}
    settings |= {
        'name': config.name or parsed.name,
        'base': on_root(config.base, parsed.links[0].name),
        'initial': replace(config.initial, joint_positions=positions),
    }
    return Machine(
        **settings, links=parsed.links, joints=parsed.joints, urdf=text, sources=sources, assumed=config.assumed
    )
