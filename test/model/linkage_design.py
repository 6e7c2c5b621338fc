"""Geometry and masses of urdf/log_loader_linkage.urdf, derived from urdf/log_loader.urdf.

The pins of the boom's cylinders form the triangle of the machine file. The stick's cylinder turns a rocker on the
boom by the same triangle, and a coupler makes the stick turn with the rocker: a parallelogram. Both joints move with
the pistons exactly by the formula. Cylinders, rocker and coupler take their masses from the links that carried them:
a body on two pins is divided between its pins by the law of the lever in the initial posture, so that the total mass
and, in this posture, the centre of mass are the same.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dyn_nodes.model.linkage_checks import piston_position
from dyn_nodes.model.machine import Link, Machine, PinTriangle
from dyn_nodes.model.posture import initial_positions, link_poses

BOOM_PIN_ANGLE = 0.3
"""Angle from the boom's axis to the pin of its cylinders, at the boom foot, rad, from the drawing."""
CABIN_PIN_ANGLE = -0.65
STICK_PIN_ANGLE = 2.88
"""Angle from the boom's axis to the barrel pin of the stick's cylinder, at the rocker's axis, rad, from the drawing."""
HORN_ANGLE = 2.28
"""Angle from the stick's axis to its horn, and from the rocker's axis to its pins, rad, from the drawing."""
ROCKER_ANGLE = HORN_ANGLE + np.radians(25.0)
"""Angle from the boom's axis to the rocker's, at the boom tip, rad; the coupler stays 25 degrees off dead centres."""
COUPLER_LENGTH, HORN_LENGTH = 0.56, 0.45


@dataclass(frozen=True)
class Bar:
    """A slender body of a linkage along x: mass, kg, position of the centre, length and radius about x, m."""

    mass: float
    center: float
    length: float
    radius: float

    @property
    def moments(self) -> np.ndarray:
        """Principal moments about x, y, z, kg m2; the radius of a pair of cylinders is along y."""
        across = self.mass * self.length**2 / 12.0
        wide = self.mass * self.radius**2
        return np.array([wide, across, across + (wide if self.radius > 0.2 else 0.0)])


# both boom cylinders: bore 120, rod 85 mm; the stick's: bore 140, rod 100 mm; eyes, glands and pistons added
BARS = {
    'boom_barrel_link': Bar(176.0, 0.70, 1.40, 0.28),
    'boom_rod_link': Bar(146.0, -0.62, 1.32, 0.28),
    'stick_barrel_link': Bar(122.0, 0.68, 1.40, 0.08),
    'stick_rod_link': Bar(108.0, -0.70, 1.48, 0.05),
    'rocker_link': Bar(46.0, 0.33, 0.80, 0.15),
    'coupler_link': Bar(18.0, 0.28, 0.56, 0.10),
}


def polar(length: float, angle: float) -> np.ndarray:
    """Return a point (3,) in the plane x, z, from polar coordinates."""
    return length * np.array([np.cos(angle), 0.0, np.sin(angle)])


@dataclass(frozen=True)
class Design:
    """Points in the frames of the links, m, each (3,).

    Attributes:
        cabin_pin, boom_pin: of the boom's cylinders, in cabin_link and boom_link.
        rocker_axis, stick_pin: of the rocker and of the stick's barrel, in boom_link.
        rocker_pin, rocker_end: of rod and coupler, in rocker_link.
        horn: of the coupler, in stick_link.
        coupler_end: in coupler_link, whose frame stays parallel to the boom's frame.
    """

    cabin_pin: np.ndarray
    boom_pin: np.ndarray
    rocker_axis: np.ndarray
    stick_pin: np.ndarray
    rocker_pin: np.ndarray
    rocker_end: np.ndarray
    horn: np.ndarray
    coupler_end: np.ndarray


def triangle(machine: Machine, name: str) -> PinTriangle:
    linkage = machine.actuator(name).linkage
    assert isinstance(linkage, PinTriangle)
    return linkage


def design(machine: Machine) -> Design:
    """Return the points for a log-loader whose cylinders have no bodies."""
    boom, stick = triangle(machine, 'boom'), triangle(machine, 'stick')
    foot, tip = machine.joint('boom_joint').origin[:3, 3], machine.joint('stick_joint').origin[:3, 3]
    rocker = tip + polar(COUPLER_LENGTH, ROCKER_ANGLE)
    return Design(
        cabin_pin=foot + polar(boom.a, CABIN_PIN_ANGLE),
        boom_pin=polar(boom.b, CABIN_PIN_ANGLE + boom.angle),
        rocker_axis=rocker,
        stick_pin=rocker + polar(stick.a, STICK_PIN_ANGLE),
        rocker_pin=polar(stick.b, STICK_PIN_ANGLE - stick.angle),
        rocker_end=polar(HORN_LENGTH, HORN_ANGLE),
        horn=polar(HORN_LENGTH, HORN_ANGLE),
        coupler_end=tip - rocker,
    )


def direction(vector: np.ndarray) -> float:
    """Return the angle of a vector of the plane x, z from x towards z, rad."""
    return float(np.arctan2(vector[2], vector[0]))


def turned(point: np.ndarray, angle: float) -> np.ndarray:
    """Return a point of the plane x, z, turned from x towards z by an angle, rad."""
    return polar(float(np.hypot(point[0], point[2])), direction(point) + angle)


def linkage_positions(machine: Machine, boom: float, stick: float) -> dict[str, float]:
    """Return the positions of all joints of the linkages at angles of boom and stick, rad and m."""
    points, foot = design(machine), machine.joint('boom_joint').origin[:3, 3]
    pin, end = foot + turned(points.boom_pin, boom), points.rocker_axis + turned(points.rocker_pin, stick)
    return {
        'boom_joint': boom,
        'stick_joint': stick,
        'boom_barrel_joint': direction(pin - points.cabin_pin),
        'boom_rod_joint': piston_position(triangle(machine, 'boom'), boom),
        'stick_barrel_joint': direction(end - points.stick_pin),
        'stick_rod_joint': piston_position(triangle(machine, 'stick'), stick),
        'rocker_joint': stick,
        'coupler_joint': -stick,
    }


def second_moments(link: Link) -> np.ndarray:
    """Return the integral (3, 3) of r r' dm about the centre of mass, kg m2."""
    return 0.5 * np.trace(link.inertia) * np.eye(3) - link.inertia


def without(link: Link, masses: list[tuple[float, np.ndarray]]) -> Link:
    """Return a link without point masses, kg at (3,) in its frame.

    The links of the source are so flat that no plate of the same thickness has room for masses beside its plane: the
    second moment along z is the least one of a body as thick as the link.
    """
    mass = link.mass - sum(part for part, _ in masses)
    com = (link.mass * link.com - sum(part * point for part, point in masses)) / mass
    total = second_moments(link) + link.mass * np.outer(link.com, link.com)
    total = total - sum(part * np.outer(point, point) for part, point in masses) - mass * np.outer(com, com)
    thickness = _thickness(second_moments(link)) / link.mass
    total[2, 2] = 0.0
    total[2, 2] = mass * thickness - _thickness(total)
    inertia = np.trace(total) * np.eye(3) - total
    return replace(link, mass=mass, com=com, inertia=inertia)


def _thickness(moments: np.ndarray) -> float:
    """Return the second moment along z that is independent of x and y, kg m2."""
    shared = moments[2, :2]
    return float(moments[2, 2] - shared @ np.linalg.pinv(moments[:2, :2]) @ shared)


def lighter_links(machine: Machine) -> dict[str, Link]:
    """Return cabin, boom and stick without the masses of the linkages, by name."""
    points = design(machine)
    at = linkage_positions(machine, *(initial_positions(machine)[name] for name in ('boom_joint', 'stick_joint')))
    poses = link_poses(machine.links, machine.joints, at)
    to_boom = np.linalg.inv(poses['boom_link']) @ poses['stick_link']
    turn = to_boom[:3, :3]  # of stick and rocker in the boom
    pin, end = points.rocker_axis + turn @ points.rocker_pin, points.rocker_axis + turn @ points.rocker_end
    rocker = points.rocker_axis + BARS['rocker_link'].center * (turn @ polar(1.0, HORN_ANGLE))
    carried: dict[str, list[tuple[float, np.ndarray]]] = {'cabin_link': [], 'boom_link': [], 'stick_link': []}

    def share(name: str, low: tuple[str, np.ndarray], high: tuple[str, np.ndarray]) -> None:
        """Divide a cylinder between its pins, each a link and a point in it."""
        barrel, rod = BARS[f'{name}_barrel_link'], BARS[f'{name}_rod_link']
        length = triangle(machine, name).retracted_length + at[f'{name}_rod_joint']
        above = (barrel.mass * barrel.center + rod.mass * (length + rod.center)) / length
        carried[high[0]].append((above, high[1]))
        carried[low[0]].append((barrel.mass + rod.mass - above, low[1]))

    share('boom', ('cabin_link', points.cabin_pin), ('boom_link', points.boom_pin))
    share('stick', ('boom_link', points.stick_pin), ('boom_link', pin))
    half = 0.5 * BARS['coupler_link'].mass
    carried['boom_link'] += [(BARS['rocker_link'].mass, rocker), (half, end)]
    carried['stick_link'].append((half, points.horn))
    return {name: without(machine.link(name), masses) for name, masses in carried.items()}
