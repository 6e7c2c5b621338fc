"""A motion of a platform in six degrees of freedom from a YAML file: poses by name, each with its time."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np

from dyn_nodes.control.hand.kinematics import HandPose
from dyn_nodes.model.named_file import load_named
from dyn_nodes.model.rotations import matrix_of_rpy
from dyn_nodes.model.schema import build, keys_of, named, number, text, vector
from dyn_nodes.model.schema_reader import SchemaReader
from dyn_nodes.model.yaml_source import Entry


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
        MachineError: with file, line, key, expected and found, for every fault.
    """
    last: TimedPose | None = None

    def make(reader: SchemaReader, name: str, entry: Entry) -> TimedPose | None:
        nonlocal last
        values = reader.table(entry, keys_of(TimedPose), where=entry.path)
        if reader.report.failed:
            return None
        pose: TimedPose = build(TimedPose, values, name=name)
        if last is not None and pose.time <= last.time:
            reader.report.add(entry.line, f'{entry.path}.time', f'a time after {last.time:g} s', f'{pose.time:g}')
        last = pose
        return pose

    return load_named(path, keys_of(_PoseTask), 'poses', 'a pose at least', make)
