"""All isotropic layouts of n omnidirectional wheels, constructed directly instead of by search (saha-1991, ch. 5).

A hub's rate is u (h yaw rate + cos g vx + sin g vy): it depends on the *line* through the wheel's centre along the axis
of its roller on the floor. g is the direction of the line, h = x sin g - y cos g its signed distance from the reference
point, and u = -1 / (r sin alpha). Moving a wheel along its line, or turning its hub about the vertical with a fixed
roller, has no effect (except on u in the second case). With w = u^2 the conditions (5.10) at the characteristic length
L are

    sum w exp(2 i g) = 0        the numbers w exp(2 i g) close a polygon: no w may exceed the sum of the others
    sum w h exp(i g) = 0
    sum w h^2 = L^2 / 2 sum w   the lines lie at L / sqrt(2) from the reference point, on the (weighted) average

A polygon of n sides has n - 3 free shapes, and the levers n - 2 free directions at a fixed norm: 2 (n - 3) parameters,
besides the rotation of the whole, n positions along the lines, and two hubs for each roller. Three equal wheels have
one layout, the star; a wheel on a line at h = L / sqrt(2) is at least as far away, so no layout with wheels within d is
isotropic for L > sqrt(2) d. A combination of layouts that are isotropic at the same L is isotropic at this L.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.common.arrays import Array
from dyn_nodes.common.errors import UserError
from dyn_nodes.multibody.isotropy import Layout, condition_number, isotropic_angle, isotropy_residual, scaled
from dyn_nodes.multibody.omni_vehicle import OmniVehicle, OmniWheel

ROOT = float(np.sqrt(0.5))
ATTEMPTS = 20_000
CHOICES, MOST_TRIED = 8, 6
"""Number of random sets of lines; the set with the greatest wheel distance is used; greatest number of wheels
for which both positions on each line are tried."""


class ImpossibleDesignError(UserError, ValueError):
    """No layout of the kind exists; the message gives the reason."""


@dataclass(frozen=True)
class Design:
    """One isotropic layout.

    Attributes:
        family: `star`, `star, turned`, `rectangle X`, `rectangle O` or `general`.
        note: reason of its isotropy, in a sentence.
        layout: wheels, characteristic length, and the condition number by singular values.
    """

    family: str
    note: str
    layout: Layout


def measured(wheels: Sequence[OmniWheel], length: float) -> Layout:
    """Return a layout with its condition number by singular values, at a characteristic length, m."""
    L = OmniVehicle(wheels).L
    matrix = scaled(L, length)
    square = float(np.trace(matrix.T @ matrix)) / 3.0
    worst = float(np.abs(isotropy_residual(L, length)).max()) / square
    return Layout(tuple(wheels), length, float(np.sqrt(square)), condition_number(matrix), worst)


def freedom(count: int) -> int:
    """Return the number of parameters of all isotropic layouts of `count` equal wheels; see the module docstring."""
    return 2 * (count - 3)


def require_possible(
    rollers: ArrayLike, radius: float, distance: float | None = None, length: float | None = None
) -> None:
    """Check that wheels with these roller angles (n,), rad, have an isotropic layout.

    Args:
        rollers: angles between hub and roller.
        radius: of the wheels, m.
        distance: greatest distance of a wheel from the reference point, m.
        length: characteristic, m.

    Raises:
        ImpossibleDesignError: no isotropic layout exists; the message gives the reason.
    """
    sines = np.abs(np.sin(np.asarray(rollers, dtype=float)))
    if len(sines) < 3:
        raise ImpossibleDesignError(
            f'{len(sines)} wheels: expected three or more, as a platform has three motions in the plane'
        )
    for name, value in (('radius', radius), ('distance', distance), ('length', length)):
        if value is not None and not (np.isfinite(value) and value > 0.0):
            raise ImpossibleDesignError(f'{name}: expected a number > 0 m, found {value:g}')
    if sines.min() < 1e-9:
        wheel = int(np.argmin(sines)) + 1
        raise ImpossibleDesignError(
            f'wheel {wheel}: rollers along the hub (0 or 180 degrees) make a conventional wheel'
        )
    weights = 1.0 / (radius * sines) ** 2
    first = int(np.argmax(weights))
    share = weights[first] / (weights.sum() - weights[first])
    if share > 1.0 + 1e-12:
        raise ImpossibleDesignError(
            f'wheel {first + 1} outweighs all others: its 1 / sin^2(roller angle) is {share:.4g} times their sum, '
            'expected at most 1; turn its rollers away from the hub, or the rollers of the others towards it'
        )
    if distance is not None and length is not None and distance < length * ROOT * (1.0 - 1e-12):
        least = 1.0 / (ROOT**-1 * distance / length)
        raise ImpossibleDesignError(
            f'distance / characteristic length = {distance / length:.4g}: expected 1/sqrt(2) = 0.7071 or more. The '
            f'lines of the rollers lie {length * ROOT:.4g} m from the centre on the average, and no line of a wheel '
            f'lies farther than the wheel, {distance:g} m: the condition number is {least:.4g} at best'
        )


def stars(
    count: int, roller: float, radius: float, roller_radius: float, distance: float, length: float | None = None
) -> list[Design]:
    """Return the layouts with a rotational symmetry of 2 pi / count: all lines touch the circle of radius L / sqrt(2).

    Args:
        count: of wheels.
        roller: angle between hub and roller, rad.
        radius: of the wheels, m.
        roller_radius: m.
        distance: of the wheels from the centre, m.
        length: characteristic, m; default: sqrt(2) distance, the greatest possible.

    Raises:
        ImpossibleDesignError: no such layout exists.
    """
    characteristic = np.sqrt(2.0) * distance if length is None else length
    require_possible([roller] * count, radius, distance, characteristic)
    xi = isotropic_angle(distance / characteristic)
    note = f'all lines of rollers touch the circle of radius {characteristic * ROOT:.4g} m'
    designs = []
    for name, angle in (('star', xi), ('star, turned', np.pi - xi)):
        wheels = tuple(
            OmniWheel(roller, _wrap(angle - roller + turn), _wrap(turn), distance, radius, roller_radius)
            for turn in 2.0 * np.pi / count * np.arange(count)
        )
        designs.append(Design(name, note, measured(wheels, characteristic)))
    return designs[:1] if abs(np.cos(xi)) < 1e-9 else designs


def rectangles(half_length: float, half_width: float, radius: float, roller_radius: float) -> list[Design]:
    """Return the layouts of four Mecanum wheels on parallel hubs, with rollers at 45 degrees.

    The lines lie at (a +- b) / sqrt(2): L = a + b if the rollers on the floor form an O, |a - b| if they form an X,
    which has no layout for a square.

    Args:
        half_length: a, along x, m.
        half_width: b, along y like the hubs, m.
        radius: of the wheels, m.
        roller_radius: m.
    """
    corners = [(1, 1), (-1, 1), (-1, -1), (1, -1)]
    designs = []
    for name, sign in (('rectangle O', -1.0), ('rectangle X', 1.0)):
        length = abs(half_length - sign * half_width)
        if length < 1e-9 * (half_length + half_width):
            continue
        wheels = []
        for ahead, left in corners:
            line = sign * ahead * left * 0.25 * np.pi  # direction of the roller's axis
            hub = 0.5 * np.pi * left
            direction = float(np.arctan2(left * half_width, ahead * half_length))
            reach = float(np.hypot(half_length, half_width))
            wheels.append(OmniWheel(_wrap(line - hub), hub, direction, reach, radius, roller_radius))
        note = f'parallel hubs, rollers at 45 degrees; L = {"a + b" if sign < 0 else "|a - b|"}'
        designs.append(Design(name, note, measured(wheels, length)))
    return designs


def general(
    rollers: Sequence[float],
    radius: float,
    roller_radius: float,
    distance: float,
    length: float | None = None,
    seed: int = 0,
) -> Iterator[Design]:
    """Yield endless isotropic layouts without symmetry: wheels on one circle, with prescribed roller angles.

    Args:
        rollers: (n,) angles between hub and roller, rad.
        radius: of the wheels, m.
        roller_radius: m.
        distance: of the wheels from the centre, m.
        length: characteristic, m; default: the distance, at which the lines have freedom.
        seed: of the random choices.

    Raises:
        ImpossibleDesignError: no layout exists, or none resulted in `ATTEMPTS` tries (a length near sqrt(2) distance).
    """
    characteristic = distance if length is None else length
    require_possible(rollers, radius, distance, characteristic)
    alpha = np.asarray(rollers, dtype=float)
    weights = np.sin(alpha) ** -2.0
    random = np.random.default_rng(seed)
    note = f'one of a family of {freedom(len(alpha))} parameters'
    while True:
        choices = [
            _placed(*_lines(weights, distance / characteristic, random), characteristic / distance, distance)
            for _ in range(CHOICES)
        ]
        _, directions, angles = max(choices, key=lambda choice: choice[0])
        wheels = [
            OmniWheel(a, _wrap(g - a), _wrap(delta), distance, radius, roller_radius)
            for a, g, delta in zip(alpha, directions, angles)
        ]
        yield Design('general', note, measured(wheels, characteristic))


def _placed(directions: Array, levers: Array, share: float, distance: float) -> tuple[float, Array, Array]:
    """Return least distance between wheels, m, directions of the lines (n,) and polar angles of the wheels (n,), rad.

    Every line intersects the circle of the wheels twice; the choice with the greatest distance between wheels is used.
    """
    bow = np.arcsin(np.clip(levers * share, -1.0, 1.0))
    ends = np.array([directions - bow, directions - np.pi + bow])
    best = (-1.0, ends[0])
    sides = itertools.product((0, 1), repeat=len(levers)) if len(levers) <= MOST_TRIED else [(0,) * len(levers)]
    for side in sides:
        angles = ends[np.array(side), np.arange(len(levers))]
        apart = 2.0 * distance * np.abs(np.sin(0.5 * (angles[:, None] - angles)))
        nearest = float((apart + 4.0 * distance * np.eye(len(angles))).min())
        if nearest > best[0]:
            best = (nearest, angles)
    return best[0], directions, best[1]


def _lines(weights: Array, reach: float, random: np.random.Generator) -> tuple[Array, Array]:
    """Return directions (n,), rad, and levers (n,) over L of an isotropic set of lines, no lever beyond `reach`."""
    for _ in range(ATTEMPTS):
        directions = _closed_polygon(weights, random)
        if directions is None:
            continue
        roots = np.sqrt(weights)
        held = np.array([roots * np.cos(directions), roots * np.sin(directions)])
        free = np.linalg.svd(held)[2][2:]  # rows span the null space of the two sums
        mixed = random.normal(size=len(free)) @ free
        levers = mixed / np.linalg.norm(mixed) * np.sqrt(0.5 * weights.sum()) / roots
        if np.abs(levers).max() <= reach * (1.0 + 1e-12):
            return directions, levers
    raise ImpossibleDesignError(
        f'no layout without symmetry found in {ATTEMPTS} tries at distance / characteristic length = {reach:.4g}; '
        'a greater ratio gives the lines more freedom'
    )


def _closed_polygon(weights: Array, random: np.random.Generator) -> Array | None:
    """Return g (n,) with sum w exp(2 i g) = 0, the first n - 2 at random; None if the last two cannot close it."""
    order = random.permutation(len(weights))
    doubled = random.uniform(0.0, 2.0 * np.pi, len(weights))
    gap = -complex(np.sum(weights[order[:-2]] * np.exp(1j * doubled[order[:-2]])))
    a, b, c = weights[order[-2]], weights[order[-1]], abs(gap)
    if len(weights) == 3:  # a triangle of prescribed sides: the exact length of its first side
        c = weights[order[0]]
    if c > a + b or c < abs(a - b) or c == 0.0:
        return None
    corner = np.arccos(np.clip((a * a + c * c - b * b) / (2.0 * a * c), -1.0, 1.0)) * random.choice((-1.0, 1.0))
    doubled[order[-2]] = np.angle(gap) + corner
    doubled[order[-1]] = np.angle(gap - a * np.exp(1j * doubled[order[-2]]))
    return np.asarray(0.5 * doubled + np.pi * random.integers(0, 2, len(weights)))


def together(*layouts: Layout) -> Layout:
    """Return the layouts' wheels on one platform. Raises ImpossibleDesignError if their lengths differ."""
    lengths = np.array([layout.length for layout in layouts])
    if np.ptp(lengths) > 1e-9 * lengths.max():
        raise ImpossibleDesignError(f'expected layouts of one characteristic length, found {lengths.tolist()} m')
    return measured([wheel for layout in layouts for wheel in layout.wheels], float(lengths[0]))


def mirrored(layout: Layout) -> Layout:
    """Return the layout reflected at the x axis; it is isotropic if the layout is."""
    turned = [
        replace(w, roller=_wrap(-w.roller), hub=_wrap(-w.hub), direction=_wrap(-w.direction)) for w in layout.wheels
    ]
    return measured(turned, layout.length)


def condition_map(ratios: Array, angles: Array, count: int = 3) -> Array:
    """Return the condition number (angles, ratios) of stars by singular values.

    Args:
        ratios: (r,) distance over characteristic length.
        angles: (a,) xi = alpha + beta - delta, from the radius of the wheel to its line, rad.
        count: of wheels.
    """
    turns = 2.0 * np.pi / count * np.arange(count)
    xi, zeta = np.meshgrid(angles, ratios, indexing='ij')
    lines = xi[..., None] + turns
    levers = np.broadcast_to((zeta * np.sin(xi))[..., None], lines.shape)
    values = np.linalg.svd(np.stack([levers, np.cos(lines), np.sin(lines)], axis=-1), compute_uv=False)
    with np.errstate(divide='ignore'):
        return np.asarray(values[..., 0] / values[..., -1])


def _wrap(angle: float) -> float:
    """Return an angle between -pi and pi."""
    return float(np.arctan2(np.sin(angle), np.cos(angle)))
