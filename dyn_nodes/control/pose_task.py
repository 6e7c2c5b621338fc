"""A motion of a platform in six freedoms from a YAML file: poses by name, each with its time."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np

from dyn_nodes.control.hand.kinematics import HandPose
from dyn_nodes.model.problems import MachineError, Report
from dyn_nodes.model.rotations import matrix_of_rpy
from dyn_nodes.model.schema import build, keys_of, named, number, text, vector
from dyn_nodes.model.schema_reader import SchemaReader
from dyn_nodes.model.yaml_source import Entry, read_yaml


@dataclass(frozen=True)
class TimedPose:
    """A pose of a motion."""

    time: Annotated[float, number('from the start of the motion', 's', 'positive')]
    position: Annotated[tuple[float, float, float], vector('of the origin, in axes of the base link', 'm')]
    rpy: Annotated[tuple[float, float, float], vector('roll, pitch, yaw', 'rad')] = (0.0, 0.0, 0.0)
    name: str = ''

    @property
    def pose(self) -> HandPose:
        """The pose in axes of the base link."""
        return HandPose(matrix_of_rpy(self.rpy), np.array(self.position))


@dataclass(frozen=True)
class _PoseTask:
    poses: Annotated[dict[str, TimedPose], named('poses in the order of their times', TimedPose)]
    name: Annotated[str, text('of the motion')] = ''
    description: Annotated[str, text('shown in logs')] = ''


def load_pose_task(path: str | Path) -> tuple[TimedPose, ...]:
    """Return the poses of a file, in the order of their times.

    Raises:
        MachineError: with file, line, key, what was expected and what was found, for every fault.
    """
    report = Report(str(path))
    root = read_yaml(Path(path), report)
    poses = _read(root, report) if root is not None else ()
    if not poses and not report.failed:
        report.add(root.line if root is not None else 0, 'poses', 'a pose at least', 'none')
    if report.failed:
        raise MachineError(report.sorted_problems())
    return poses


def _read(root: Entry, report: Report) -> tuple[TimedPose, ...]:
    reader = SchemaReader(report)
    values = reader.table(root, keys_of(_PoseTask))
    listed = values.get('poses')
    found: list[TimedPose] = []
    for name, entry in reader.named(listed if isinstance(listed, Entry) else None).items():
        own = reader.table(entry, keys_of(TimedPose), where=entry.path)
        pose = None if report.failed else build(TimedPose, own, name=name)
        if pose is not None and found and pose.time <= found[-1].time:
            report.add(entry.line, f'{entry.path}.time', f'a time after {found[-1].time:g} s', f'{pose.time:g}')
        if pose is not None:
            found.append(pose)
    return tuple(found)
