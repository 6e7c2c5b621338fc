"""Constraints of a machine file as rows on the frames of a tree."""

from __future__ import annotations

from dyn_nodes.constraints.joints import Coupling, Lock, Prescribed
from dyn_nodes.constraints.loops import Distance, Loop
from dyn_nodes.constraints.profiles import motion_of
from dyn_nodes.constraints.rolling import RollingWheel
from dyn_nodes.constraints.rows import Constraint
from dyn_nodes.constraints.steering import HeadingSteering
from dyn_nodes.model.constraint import WORLD, End, MachineConstraint
from dyn_nodes.multibody import Frame, Tree


def _frame(tree: Tree, end: End) -> Frame:
    """Return the frame of an end in its body."""
    if end.link == WORLD:
        return Frame(-1, end.rotation, end.position)
    link = tree.frame(end.link)
    return Frame(link.body, link.R @ end.rotation, link.p + link.R @ end.position)


def constraint_on(tree: Tree, entry: MachineConstraint) -> Constraint:
    """Return a constraint of a machine file between frames of a tree.

    Raises:
        KeyError: a link that the tree does not have.
    """
    if entry.kind == 'lock':
        return Lock(entry.name, entry.joint, entry.position)
    if entry.kind == 'coupling':
        return Coupling(entry.name, dict(entry.coefficients), entry.offset)
    if entry.kind == 'steering':
        return HeadingSteering.on(tree, entry.name, entry.joint, entry.ratio, entry.offset)
    if entry.kind == 'prescribed':
        assert entry.profile is not None
        return Prescribed(Lock(entry.name, entry.joint), motion_of(entry.profile))
    assert entry.first is not None
    first = _frame(tree, entry.first)
    if entry.kind == 'wheel':
        ground = None if entry.ground is None else motion_of(entry.ground)
        return RollingWheel(entry.name, first, entry.axis, entry.radius, ground, entry.frictionless)
    assert entry.second is not None
    second = _frame(tree, entry.second)
    if entry.kind == 'distance':
        return Distance(entry.name, first, second, entry.length)
    if entry.kind == 'planar':
        return Loop(entry.name, first, second, ('ry', 'x', 'z'))
    along = {'hinge': Loop.hinge, 'slider': Loop.slider, 'line': Loop.on_line, 'plane': Loop.on_plane}
    if entry.kind in along:
        loop = along[entry.kind](entry.name, first, second, entry.axis)
        return loop if entry.profile is None else Prescribed(loop, motion_of(entry.profile))
    return Loop.frame(entry.name, first, second) if entry.kind == 'frame' else Loop.point(entry.name, first, second)
