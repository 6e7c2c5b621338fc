"""Sizes of the links of a machine, from their shapes, joints and centres of mass."""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
from scipy.spatial import ConvexHull, QhullError

from dyn_nodes.model.machine import Array, Joint, Link, Machine
from dyn_nodes.model.posture import initial_positions, link_poses
from dyn_nodes.model.shapes import BOX, Shapes

LEAST_REACH = 0.05
"""Least reach of a link over the size of the machine: shapes and joints of smaller links do not indicate their size."""


class Geometry:
    """Sizes of a machine in its initial posture, m."""

    def __init__(self, machine: Machine, shapes: Shapes) -> None:
        self.machine = machine
        self.shapes = shapes
        self._boxes: dict[str, Array | None] = {}
        self.poses = link_poses(machine.links, machine.joints, initial_positions(machine))

    def box(self, link: str) -> Array | None:
        """Return the corners (2, 3) of the box around the shapes of a link, in its frame; None without shapes."""
        if link not in self._boxes:
            points, radii = self.shapes.points(link)
            reach = radii[:, None]
            sides = [(points - reach).min(axis=0), (points + reach).max(axis=0)] if len(points) else None
            self._boxes[link] = None if sides is None else np.array(sides)
        return self._boxes[link]

    def joints_on(self, link: str) -> Array:
        """Return the origins (n, 3) of the joints of a link, its parent joint included, in its frame."""
        children = [joint.origin[:3, 3] for joint in self.machine.joints if joint.parent == link]
        return np.array([np.zeros(3), *children])

    def reach(self, link: Link) -> float:
        """Return the distance of the farthest point (shape, else joint) of a link from its centre of mass."""
        points, radii = self.shapes.points(link.name)
        if len(points):
            return float((np.linalg.norm(points - link.com, axis=1) + radii).max())
        return float(np.linalg.norm(self.joints_on(link.name) - link.com, axis=1).max())

    def size(self, link: str) -> float:
        """Return the diagonal of the box around the shapes of a link; 0 without shapes."""
        box = self.box(link)
        return 0.0 if box is None else float(np.linalg.norm(box[1] - box[0]))

    def drawn_size(self, link: str) -> float:
        """Return the diagonal of the box around the visual shapes of a link without meshes; 0 without such shapes."""
        points = self.shapes.drawn(link)
        return float(np.linalg.norm(np.ptp(points, axis=0))) if len(points) > 1 else 0.0

    def across(self, link: str, axis: Array, centre: Array) -> float:
        """Return the greatest distance of a link's shapes from an axis through a point; 0 without shapes."""
        points, radii = self.shapes.points(link) if link in self.poses else (np.zeros((0, 3)), np.zeros(0))
        if not len(points):
            return 0.0
        arms = points - centre
        arms = arms - np.outer(arms @ axis, axis)
        return float((np.linalg.norm(arms, axis=1) + radii).max())

    @cached_property
    def lengths(self) -> dict[str, float]:
        """Lengths by element of the URDF: shapes, joints, and centres of mass of links without shapes."""
        lengths = {f'link {link.name}, geometry': self.size(link.name) for link in self.machine.links}
        for link in self.machine.links:
            if not lengths[f'link {link.name}, geometry'] and link.mass > 0.0:
                lengths[f'link {link.name}, inertial'] = float(np.linalg.norm(link.com))
        lengths |= {
            f'joint {joint.name}, origin': float(np.linalg.norm(joint.origin[:3, 3])) for joint in self.machine.joints
        }
        return {where: length for where, length in lengths.items() if length > 0.0}

    @cached_property
    def extent(self) -> float:
        """Greatest side of the box around shapes, joints and mass centres, m; infinite if the machine is a point."""
        return greatest_extent(self.machine, self.shapes, self.poses) or math.inf

    @cached_property
    def mass(self) -> float:
        """Mass of all links, kg; infinite without mass."""
        return self.machine.total_mass or math.inf

    def distance_apart(self, joint: Joint) -> float:
        """Return the gap between the shapes of a joint's links over their greater diagonal; 0 without shapes."""
        first, second = self.box(joint.parent), self.box(joint.child)
        if first is None or second is None:
            return 0.0
        corners = (second.mean(axis=0) + BOX * np.ptp(second, axis=0)) @ joint.origin[:3, :3].T + joint.origin[:3, 3]
        first = np.array([np.minimum(first[0], 0.0), np.maximum(first[1], 0.0)])
        gap = np.maximum(0.0, np.maximum(first[0] - corners.max(axis=0), corners.min(axis=0) - first[1]))
        return float(np.linalg.norm(gap)) / max(
            self.size(joint.parent), self.size(joint.child), LEAST_REACH * self.extent
        )


def greatest_extent(machine: Machine, shapes: Shapes, poses: dict[str, Array]) -> float:
    """Return the greatest side of the box around shapes, joints and mass centres in a posture, m."""
    parts = []
    for link in machine.links:
        pose = poses[link.name]
        points, radii = shapes.points(link.name)
        local = np.concatenate([points, np.zeros((1, 3)), link.com[None] if link.mass > 0.0 else np.zeros((0, 3))])
        placed = local @ pose[:3, :3].T + pose[:3, 3]
        reach = np.concatenate([radii, np.zeros(len(local) - len(radii))])[:, None]
        parts += [placed - reach, placed + reach]
    return float(np.ptp(np.concatenate(parts), axis=0).max())


def hull_volume(points: Array, radii: Array) -> float:
    """Return the volume, m3, of the convex hull of points (n, 3) with balls of radii (n,) around them."""
    balls = float((4.0 / 3.0 * np.pi * radii**3).sum())
    around = points
    if radii.any():
        sides = np.concatenate([np.eye(3), -np.eye(3)])
        around = np.unique((points[:, None] + radii[:, None, None] * sides).reshape(-1, 3), axis=0)
    try:
        return max(balls, float(ConvexHull(around).volume))
    except (QhullError, ValueError):
        return balls
