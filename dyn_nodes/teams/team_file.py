"""Reader of a team YAML: robots, objects, grasps. Every fault is reported with file, line and key.

    robots:
      left: {machine: rm_1, pose: [-1.06, 0.0, 0.0]}
    objects:
      bar: {object: bar}
    grasps:
      left_end: {robot: left, hand: hand, object: bar, patch: left}

The keys are declared in `model.team`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.common.share import find_resource, named_file, share_directory
from dyn_nodes.model import load_machine
from dyn_nodes.model.hand import Hand
from dyn_nodes.model.limits import NAME
from dyn_nodes.model.machine import Machine
from dyn_nodes.model.named_file import load_file
from dyn_nodes.model.problems import MachineError, Report, did_you_mean
from dyn_nodes.model.rotations import matrix_of_rpy
from dyn_nodes.model.schema import build, keys_of
from dyn_nodes.model.schema_reader import SchemaReader
from dyn_nodes.model.team import GraspEntry, ObjectEntry, RobotEntry, TeamEntries
from dyn_nodes.model.yaml_source import Entry
from dyn_nodes.teams.deformable.object_file import load_object
from dyn_nodes.teams.held_patches import held, held_points, lost, placed_grasps
from dyn_nodes.teams.reach import fitted, hand_position, moved
from dyn_nodes.teams.team import Team, TeamObject, TeamRobot

Part = TypeVar('Part')
PAYLOAD = 'payload'
"""Name of a hand at the payload of a machine; the held object replaces the payload."""
REACH = 5e-3
"""Greatest initial distance between a hand and its patch that moving the robot corrects, m."""


def load_team(source: str | Path) -> Team:
    """Read a team.

    Args:
        source: path of its YAML, or the name of a YAML in `config/teams`.

    Raises:
        MachineError: with file, line, key, expected and found values of every fault, including faults of machines and
            objects.
        FileNotFoundError: an unknown name.
    """
    path = named_file(source, 'config/teams')
    return load_file(path, lambda root, report: _Reader(report, path).read(root))


class _Reader:
    """Reads one file."""

    def __init__(self, report: Report, path: Path) -> None:
        self.report, self.path = report, path
        self.reader = SchemaReader(report)

    def read(self, root: Entry) -> Team | None:
        values = self.reader.table(root, keys_of(TeamEntries))
        robots = self._parts(values.get('robots'), RobotEntry, self._robot)
        objects = self._parts(values.get('objects'), ObjectEntry, self._object)
        entries = self._entries(values.get('grasps'))
        self._distinct(root, robots, objects)
        grasps = {
            name: grasp
            for name, entry in entries.items()
            if (grasp := self._record(GraspEntry, name, entry)) is not None
        }
        for name in {grasp.robot for grasp in grasps.values() if grasp.hand == PAYLOAD} & set(robots):
            robots[name] = _with_hand_for_payload(robots[name])
        for name, grasp in grasps.items():
            self._check_names(entries[name], grasp, robots, objects)
        self._each_once(entries, grasps)
        if self.report.failed:
            return None
        self._enough(root, grasps, objects)
        self._one_ground(root, robots)
        if self.report.failed:
            return None
        return self._placed(str(values['name'] or self.path.stem), root, robots, objects, grasps)

    def _entries(self, listed: Any) -> Mapping[str, Entry]:
        return self.reader.named(listed if isinstance(listed, Entry) else None)

    def _record(self, record: type, name: str, entry: Entry) -> Any:
        if not re.match(NAME, name):
            expected = 'a name of letters, digits and underscores (it is part of topics and frames)'
            self.report.add(entry.line, entry.path, expected, repr(name))
            return None
        return build(record, self.reader.table(entry, keys_of(record)))

    def _parts(self, listed: Any, record: type[Any], make: Callable[[str, Entry, Any], Part | None]) -> dict[str, Part]:
        parts = {}
        for name, entry in self._entries(listed).items():
            values = self._record(record, name, entry)
            made = None if values is None else make(name, entry, values)
            if made is not None:
                parts[name] = made
        return parts

    def _robot(self, name: str, entry: Entry, values: RobotEntry) -> TeamRobot | None:
        machine = self._machine(entry, values)
        if machine is None:
            return None
        movable = {joint.name for joint in machine.movable_joints}
        for joint in values.joint_positions:
            if joint not in movable:
                key_entry = entry.mapping['joint_positions'].mapping[joint]
                actual = did_you_mean(joint, movable)
                self.report.add(key_entry.line, key_entry.path, f'a movable joint of {machine.name}', actual)
        if machine.base.attachment != 'free' and values.pose != (0.0, 0.0, 0.0):
            key_entry = entry.mapping['pose']
            actual = f'a base that is {machine.base.attachment}'
            self.report.add(key_entry.line, key_entry.path, 'a machine with a free base, which a pose can move', actual)
        joints = {**machine.initial.joint_positions, **values.joint_positions}
        posed = replace(machine, initial=replace(machine.initial, joint_positions=joints))
        return TeamRobot(name, moved(posed, values.pose), values.pose)

    def _machine(self, entry: Entry, values: RobotEntry) -> Machine | None:
        named = '/' not in values.machine and not values.machine.endswith(('.urdf', '.xacro'))
        urdf = self._file(entry, 'machine', values.machine, f'urdf/{values.machine}.urdf' if named else '')
        if urdf is None:
            return None
        config: Path | None = None
        if values.config or named:
            of_package = '/' not in values.config and not values.config.endswith(('.yaml', '.yml'))
            resource = f'config/{values.config or values.machine}.yaml' if of_package else ''
            config = self._file(entry, 'config' if values.config else 'machine', values.config, resource)
            if config is None:
                return None
        try:
            return load_machine(urdf, config)
        except MachineError as error:
            self.report.problems.extend(error.problems)
            return None

    def _object(self, name: str, entry: Entry, values: ObjectEntry) -> TeamObject | None:
        named = '/' not in values.object and not values.object.endswith(('.yaml', '.yml'))
        path = self._file(entry, 'object', values.object, f'config/objects/{values.object}.yaml' if named else '')
        if path is None:
            return None
        try:
            item = load_object(path)
        except MachineError as error:
            self.report.problems.extend(error.problems)
            return None
        placed = values.pose
        position = np.full(3, np.nan) if placed is None else np.array(placed.position)
        return TeamObject(
            name, item, values.model, position, np.eye(3) if placed is None else matrix_of_rpy(placed.orientation)
        )

    def _file(self, entry: Entry, key: str, reference: str, resource: str) -> Path | None:
        """Return a file relative to this one, or of the package; None, with a reported problem, if it is missing."""
        key_entry = entry.mapping.get(key, entry)
        if not resource:
            path = self.path.parent / reference
            if not path.is_file():
                self.report.add(
                    key_entry.line,
                    key_entry.path,
                    'a file',
                    f'{reference!r}, which does not exist in {self.path.parent}',
                )
                return None
            return path
        try:
            return find_resource(resource)
        except FileNotFoundError:
            wanted = Path(resource)
            available = sorted(file.stem for file in (share_directory() / wanted.parent).glob(f'*{wanted.suffix}'))
            expected = f'a file of this package in {wanted.parent}, or a path'
            self.report.add(key_entry.line, key_entry.path, expected, did_you_mean(wanted.stem, available))
            return None

    def _distinct(self, root: Entry, robots: Mapping[str, TeamRobot], objects: Mapping[str, TeamObject]) -> None:
        for name in robots:
            if name in objects:
                key_entry = root.mapping['objects'].mapping[name]
                expected = 'a name that no robot has, as both name frames and topics'
                self.report.add(key_entry.line, key_entry.path, expected, repr(name))

    def _check_names(
        self, entry: Entry, record: GraspEntry, robots: Mapping[str, TeamRobot], objects: Mapping[str, TeamObject]
    ) -> None:
        if self._is_one('robot', record.robot, robots, 'a robot of this team', entry):
            machine = robots[record.robot].machine
            hands = [hand.name for hand in machine.grasps] + [PAYLOAD] * (machine.payload is not None)
            self._is_one('hand', record.hand, hands, f'one of the grasps of {machine.name}', entry)
        if self._is_one('object', record.object, objects, 'an object of this team', entry):
            patches = [grasp.name for grasp in objects[record.object].item.grasps]
            self._is_one('patch', record.patch, patches, f'one of the grasps of {record.object}', entry)
            self._fits(entry, record, objects[record.object])

    def _fits(self, entry: Entry, grasp: GraspEntry, held: TeamObject) -> None:
        """Check that the object can be held by the kind of grasp."""
        if grasp.kind == 'fixed' and held.model == 'lattice':
            key_entry = entry.mapping['kind']
            expected = 'ball: rods have no orientation at their ends (model: condensed has)'
            self.report.add(key_entry.line, key_entry.path, expected, 'fixed')
        if grasp.kind == 'ball' and grasp.holding_torque is not None:
            key_entry = entry.mapping['holding_torque']
            self.report.add(key_entry.line, key_entry.path, 'a grasp of kind: fixed, which transmits a torque', 'ball')

    def _is_one(
        self, key: str, word: str, names: Sequence[str] | Mapping[str, Any], expected: str, entry: Entry
    ) -> bool:
        if word in names:
            return True
        # a faulty entry has been reported already
        listed = self.reader.entries.get(f'{key}s')
        if listed is None or word not in listed.mapping:
            key_entry = entry.mapping[key]
            self.report.add(key_entry.line, key_entry.path, expected, did_you_mean(word, names))
        return False

    def _each_once(self, entries: Mapping[str, Entry], grasps: Mapping[str, GraspEntry]) -> None:
        for key, ends in (
            ('hand', lambda grasp: (grasp.robot, grasp.hand)),
            ('patch', lambda grasp: (grasp.object, grasp.patch)),
        ):
            first: dict[tuple[str, str], str] = {}
            for name, grasp in grasps.items():
                other = first.setdefault(ends(grasp), name)
                if other != name:
                    key_entry = entries[name].mapping[key]
                    expected = f'a {key} that no other grasp has (line {entries[other].line} has it)'
                    self.report.add(key_entry.line, key_entry.path, expected, ' of '.join(reversed(ends(grasp))))

    def _enough(self, root: Entry, grasps: Mapping[str, GraspEntry], objects: Mapping[str, TeamObject]) -> None:
        for name, item in objects.items():
            key_entry = root.mapping['objects'].mapping[name]
            on_it = {key: grasp for key, grasp in grasps.items() if grasp.object == name}
            if not self._have_an_area(root, on_it, item):
                continue
            fault = lost(item.item, item.model, list(on_it.values()))
            if fault is not None:
                self.report.add(key_entry.line, key_entry.path, *fault)
            elif len(on_it) == 1 and np.isnan(item.position).any():
                self.report.add(key_entry.line, key_entry.path, 'a pose of an object that one hand holds', 'none')

    def _have_an_area(self, root: Entry, on_it: Mapping[str, GraspEntry], item: TeamObject) -> bool:
        sound = True
        for key, grasp in on_it.items():
            try:
                held_points(item.item, [grasp])
            except ValueError as error:
                key_entry = root.mapping['grasps'].mapping[key].mapping['kind']
                expected, _, actual = str(error).partition(', found ')
                self.report.add(key_entry.line, key_entry.path, expected.removeprefix('expected '), actual)
                sound = False
        return sound

    def _one_ground(self, root: Entry, robots: Mapping[str, TeamRobot]) -> None:
        grounds = {name: (robot.machine.gravity, robot.machine.slope) for name, robot in robots.items()}
        first = next(iter(grounds), '')
        for name, ground in grounds.items():
            if ground != grounds[first]:
                key_entry = root.mapping['robots'].mapping[name]
                shown = [f'{gravity:.6g} m/s2 and {tuple(slope)}' for gravity, slope in (grounds[first], ground)]
                expected = f'gravity and slope of {first}, {shown[0]}: the team stands on one ground'
                self.report.add(key_entry.line, key_entry.path, expected, shown[1])

    def _placed(
        self,
        name: str,
        root: Entry,
        robots: dict[str, TeamRobot],
        objects: dict[str, TeamObject],
        grasps: Mapping[str, GraspEntry],
    ) -> Team | None:
        hands = {key: hand_position(robots[grasp.robot].machine, grasp.hand) for key, grasp in grasps.items()}
        patches: dict[str, Array] = {}
        for key, item in objects.items():
            on_it = {grasp: entry for grasp, entry in grasps.items() if entry.object == key}
            middles = held(item.item, [grasp.patch for grasp in on_it.values()]).positions
            position, rotation = item.position, item.rotation
            if np.isnan(position).any():
                position, rotation = fitted(middles, np.array([hands[grasp] for grasp in on_it]))
            points = held_points(item.item, list(on_it.values()))
            objects[key] = replace(item, item=points, position=position, rotation=rotation)
            patches |= dict(zip(on_it, position + middles @ rotation.T))
        self._reached(root, grasps, hands, patches)
        if self.report.failed:
            return None
        for key, robot in robots.items():
            gaps = [patches[grasp] - hands[grasp] for grasp, entry in grasps.items() if entry.robot == key]
            if gaps and robot.machine.base.attachment == 'free':
                robots[key] = _shifted(robot, np.mean(gaps, axis=0))
        return Team(name, str(self.path), robots, objects, placed_grasps(grasps, robots, objects, patches))

    def _reached(
        self, root: Entry, grasps: Mapping[str, GraspEntry], hands: Mapping[str, Array], patches: Mapping[str, Array]
    ) -> None:
        for key, grasp in grasps.items():
            distance = float(np.linalg.norm(patches[key] - hands[key]))
            if distance > REACH:
                key_entry = root.mapping['grasps'].mapping[key]
                expected = f'a hand at its patch {_spelled(patches[key])} m at the start, within {REACH:g} m'
                actual = f'{grasp.hand} of {grasp.robot} at {_spelled(hands[key])} m, {distance:.4g} m away'
                self.report.add(key_entry.line, key_entry.path, expected, actual)


def _with_hand_for_payload(robot: TeamRobot) -> TeamRobot:
    """Return a robot with a hand in place of its payload; unchanged without payload or with a hand of that name."""
    payload, hands = robot.machine.payload, robot.machine.grasps
    if payload is None or any(hand.name == PAYLOAD for hand in hands):
        return robot
    hand = Hand(PAYLOAD, payload.link, payload.position)
    return replace(robot, machine=replace(robot.machine, payload=None, grasps=(*hands, hand)))


def _shifted(robot: TeamRobot, gap: Array) -> TeamRobot:
    """Return a robot moved horizontally by the gap between its hands and their patches."""
    x, y, heading = robot.pose
    base = robot.machine.initial.base_position
    position = (base[0] + float(gap[0]), base[1] + float(gap[1]), base[2])
    machine = replace(robot.machine, initial=replace(robot.machine.initial, base_position=position))
    return replace(robot, machine=machine, pose=(x + float(gap[0]), y + float(gap[1]), heading))


def _spelled(point: Array) -> str:
    return f'({", ".join(f"{value:.4f}" for value in point)})'
