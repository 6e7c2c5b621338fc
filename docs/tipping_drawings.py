"""Draw the tipping axes of every kind of running gear, and how a machine with an oscillating axle tips.

python docs/tipping_drawings.py docs/images

Axes and positions are computed (`dyn_nodes.stability.equilibrium`); the machines are those of this file, 4 t each.
"""

from __future__ import annotations

import html
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import yaml

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'test' / 'stability' / 'equilibrium'))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from random_gear import Maker

from dyn_nodes.model import load_machine
from dyn_nodes.stability.equilibrium.axes import bodies_at, carrying_supports, support_points, tipping_axes
from dyn_nodes.stability.equilibrium.gear import RunningGear, running_gear
from dyn_nodes.stability.equilibrium.tipping import settle, tipping_load
from dyn_nodes.stability.polygon import support_order

LEVEL = np.array([0.0, 0.0, -9.81])
SCALE, PANEL, HEAD, COLUMNS = 54.0, (256, 236), 40, 4  # pixels of a metre and of a panel
GREY, DARK, RED, GREEN, BLUE = '#c3c9cf', '#333a40', '#c8321f', '#dcecdc', '#2463a8'
SIDES = {'left': 1.0, 'right': -1.0}
X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
RADIUS, HEIGHT = 0.5, 0.5


class Drawn(Maker):
    """A machine of fixed sizes: 4 t, supports of its base at places in the plan."""

    def __init__(self) -> None:
        super().__init__(np.random.default_rng(0))
        self.mass, self.stiffness = 4000.0, 8e5
        self.payload: dict[str, Any] | None = None

    def stand(self, link: str, origin: tuple[float, float], **places: tuple[float, float]) -> None:
        """Add wheels of a link whose frame is at `origin`, `HEIGHT` above the ground unless it is the base."""
        height = RADIUS if link == 'base_link' else RADIUS - HEIGHT
        for name, (x, y) in places.items():
            self.wheel(name, link, (x - origin[0], y - origin[1], height), RADIUS)

    def pivot(self, name: str, parent: str, at: tuple[float, float, float], axis: tuple[float, float, float]) -> None:
        """Add a link of 100 kg on a free joint."""
        self.link(name, 100.0, (0.2, 0.2, 0.2))
        self.free(f'{name}_pivot', 'revolute', parent, name, at, axis, 0.15)

    def running(self, positions: dict[str, float] | None = None) -> RunningGear:
        """Return the running gear of the machine that was collected."""
        links = sorted(self.links, key=lambda text: '"base_link"' not in text)
        file = {'base': {'attachment': 'free'}, 'payload': self.payload, 'wheels': self.wheels}
        file |= {'joints': self.classes, 'constraints': self.constraints}
        with tempfile.TemporaryDirectory() as folder:
            urdf, config = Path(folder) / 'drawn.urdf', Path(folder) / 'drawn.yaml'
            urdf.write_text('<robot name="drawn">\n' + '\n'.join(links + self.joints) + '\n</robot>\n')
            config.write_text(yaml.safe_dump({key: value for key, value in file.items() if value}))
            return running_gear(load_machine(urdf, config), positions)


def axles(*names: str) -> dict[str, tuple[float, float]]:
    """Return places of wheels 1 m ahead or behind and 0.8 m beside the middle."""
    ends = {'front': 1.0, 'rear': -1.0}
    return {f'{end}_{side}': (ends[end], 0.8 * sign) for end in names for side, sign in SIDES.items()}


def chassis(center: tuple[float, float] = (0.0, 0.0)) -> Drawn:
    """Return a machine with its base alone, its centre of mass 0.9 m above the ground."""
    maker = Drawn()
    maker.link('base_link', maker.mass, (2.4, 1.2, 0.8), (*center, 0.9))
    return maker


def four() -> RunningGear:
    """Four wheels on one body."""
    maker = chassis()
    maker.stand('base_link', (0.0, 0.0), **axles('front', 'rear'))
    return maker.running()


def three() -> RunningGear:
    """Three wheels on one body."""
    maker = chassis((0.2, 0.0))
    maker.stand('base_link', (0.0, 0.0), **axles('front'), rear=(-1.0, 0.0))
    return maker.running()


def swinging() -> Drawn:
    """Return a machine whose rear axle swings."""
    maker = chassis()
    maker.stand('base_link', (0.0, 0.0), **axles('front'))
    maker.pivot('axle', 'base_link', (-1.0, 0.0, HEIGHT), X)
    maker.stand('axle', (-1.0, 0.0), **axles('rear'))
    return maker


def tandem() -> RunningGear:
    """Walking beams behind, a rigid axle ahead."""
    maker = chassis()
    maker.stand('base_link', (0.0, 0.0), front_left=(1.1, 0.8), front_right=(1.1, -0.8))
    for side, sign in SIDES.items():
        maker.pivot(side, 'base_link', (-0.7, 0.8 * sign, HEIGHT), Y)
        fore, aft = (-0.2, 0.8 * sign), (-1.2, 0.8 * sign)
        maker.stand(side, (-0.7, 0.8 * sign), **{f'{side}_fore': fore, f'{side}_aft': aft})
    return maker.running()


def rocker_bogie() -> RunningGear:
    """Six wheels on rockers and bogies, with a differential."""
    maker = chassis()
    for side, sign in SIDES.items():
        maker.pivot(side, 'base_link', (0.0, 0.8 * sign, HEIGHT), Y)
        maker.stand(side, (0.0, 0.8 * sign), **{f'{side}_rear': (-1.2, 0.8 * sign)})
        maker.pivot(f'{side}_bogie', side, (0.55, 0.0, 0.0), Y)
        fore, aft = (1.1, 0.8 * sign), (0.0, 0.8 * sign)
        maker.stand(f'{side}_bogie', (0.55, 0.8 * sign), **{f'{side}_fore': fore, f'{side}_middle': aft})
    pivots = {'left_pivot': 1.0, 'right_pivot': 1.0}
    maker.constraints['differential'] = {'kind': 'coupling', 'coefficients': pivots}
    return maker.running()


def articulated() -> RunningGear:
    """Two frames with a steering joint at 0.4 rad and a free roll between them."""
    maker = chassis((-0.4, 0.0))
    maker.stand('base_link', (0.0, 0.0), **axles('rear'))
    maker.link('knuckle', 50.0, (0.2, 0.2, 0.2))
    maker.joint('steer', 'revolute', 'base_link', 'knuckle', (0.0, 0.0, HEIGHT), Z, (-0.8, 0.8))
    maker.link('front', 1500.0, (1.2, 1.0, 0.5), (0.8, 0.0, 0.3))
    maker.free('roll', 'revolute', 'knuckle', 'front', (0.0, 0.0, 0.0), X, 0.15)
    maker.stand('front', (0.0, 0.0), **axles('front'))
    return maker.running({'steer': 0.4})


def outriggers(**gaps: float) -> Callable[[], RunningGear]:
    """Return a machine on wheels with legs on each side, whose pads are so far above the ground, m."""

    def made() -> RunningGear:
        maker = chassis()
        maker.stand('base_link', (0.0, 0.0), **axles('front', 'rear'))
        for side, gap in gaps.items():
            for end, x in (('fore', 0.45), ('aft', -0.45)):
                place = (x, 1.45 * SIDES[side], 0.1 + gap)
                maker.wheel(f'pad_{end}_{side}', 'base_link', place, 0.1, 5.0 * maker.stiffness)
        return maker.running()

    return made


def crawler(*loose: str) -> Callable[[], RunningGear]:
    """Return a machine on two rows of five road rollers, some of them on beams that pitch."""

    def made() -> RunningGear:
        maker = chassis((0.1, 0.0))
        for side, sign in SIDES.items():
            link, origin = ('base_link', (0.0, 0.0)) if side not in loose else (side, (-0.6, 0.8 * sign))
            if side in loose:
                maker.pivot(side, 'base_link', (-0.6, 0.8 * sign, HEIGHT), Y)
            maker.stand(link, origin, **{f'{side}_{k}': (0.55 * (k - 2), 0.8 * sign) for k in range(5)})
        return maker.running()

    return made


def sprung() -> RunningGear:
    """Four wheels on sprung slides."""
    maker = chassis()
    for name, (x, y) in axles('front', 'rear').items():
        maker.link(name, 40.0, (0.2, 0.2, 0.4))
        maker.joint(f'{name}_strut', 'prismatic', 'base_link', name, (x, y, RADIUS), Z, (-0.2, 0.2))
        maker.classes[f'{name}_strut'] = {'class': 'flexible', 'stiffness': 2e5, 'damping': 2e4}
        maker.wheel(name, name, (0.0, 0.0, 0.0), RADIUS)
    return maker.running()


KINDS: tuple[tuple[str, str, Callable[[], RunningGear]], ...] = (
    ('rigid, four wheels', 'contact to contact', four),
    ('rigid, three wheels', 'contact to contact', three),
    ('oscillating axle', 'front contact to the pivot', lambda: swinging().running()),
    ('tandem on walking beams', 'front contact to the beam’s pivot', tandem),
    ('rocker-bogie, differential', 'corners midway between the sides', rocker_bogie),
    ('articulated, free roll', 'rear contact to the roll axis', articulated),
    ('sprung wheels', 'contact to contact, leaning', sprung),
    ('crawler, rigid track frames', 'end rollers', crawler()),
    ('crawler, one beam pitches', 'roller to the pivot of the beam', crawler('left')),
    ('outriggers down and lifting', 'pad to pad', outriggers(left=-0.1, right=-0.1)),
    ('outriggers down on one side', 'pads on this side, wheels on that', outriggers(left=0.0)),
    ('outriggers in the air', 'they do not count', outriggers(left=0.4, right=0.4)),
)


class Sheet:
    """An SVG of panels."""

    def __init__(self, columns: int, rows: int, panel: tuple[int, int]) -> None:
        self.width, self.height, self.panel, self.columns = columns * panel[0], rows * panel[1], panel, columns
        self.parts: list[str] = []

    def line(self, points: Sequence[Sequence[float]], stroke: str, width: float, more: str = '') -> None:
        """Add a polyline; closed and filled where `more` says so."""
        text = ' '.join(f'{x:.1f},{y:.1f}' for x, y in points)
        kind = 'polygon' if 'fill=' in more else 'polyline'
        fill = '' if 'fill=' in more else ' fill="none"'
        self.parts.append(f'<{kind} points="{text}" stroke="{stroke}" stroke-width="{width}"{fill} {more}/>')

    def circle(self, at: Sequence[float], radius: float, fill: str, stroke: str) -> None:
        """Add a circle."""
        self.parts.append(
            f'<circle cx="{at[0]:.1f}" cy="{at[1]:.1f}" r="{radius}" fill="{fill}" '
            f'stroke="{stroke}" stroke-width="1.5"/>'
        )

    def text(self, x: float, y: float, words: str, size: int = 13, colour: str = DARK, more: str = '') -> None:
        """Add a line of text."""
        self.parts.append(
            f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{colour}" {more}>{html.escape(words)}</text>'
        )

    def write(self, path: Path) -> None:
        """Write the file."""
        size = f'viewBox="0 0 {self.width} {self.height}"'
        head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif">'
        back = f'<rect width="{self.width}" height="{self.height}" fill="white"/>'
        path.write_text('\n'.join([head, back, *self.parts, '</svg>\n']))


def inside(lines: np.ndarray) -> np.ndarray:
    """Return the corners (n, 2) of what is on the left of all lines (e, 2, 3), within 2.3 m."""
    corners = [np.array(corner) for corner in ((-2.3, -1.9), (2.3, -1.9), (2.3, 1.9), (-2.3, 1.9))]
    for line in lines:
        start, along = line[0, :2], line[1, :2] - line[0, :2]
        side = [float(along[0] * (c - start)[1] - along[1] * (c - start)[0]) for c in corners]
        kept: list[np.ndarray] = []
        for k, corner in enumerate(corners):
            after, other = (k + 1) % len(corners), side[(k + 1) % len(corners)]
            if side[k] >= 0.0:
                kept.append(corner)
            if side[k] * other < 0.0:
                kept.append(corner + side[k] / (side[k] - other) * (corners[after] - corner))
        corners = kept
    return np.array(corners)


def plan(sheet: Sheet, number: int, running: RunningGear, title: str, caption: str) -> None:
    """Draw a machine from above, its front at the right: what carries, pivots, tipping axes."""
    left, top = number % sheet.columns * sheet.panel[0], number // sheet.columns * sheet.panel[1]
    middle = np.array([left + 0.5 * sheet.panel[0], top + HEAD + 0.5 * (sheet.panel[1] - HEAD)])

    def at(point: np.ndarray) -> np.ndarray:
        return middle + SCALE * np.array([point[0], -point[1]])

    found = settle(running, 0.0, LEVEL)
    assert found is not None
    carrying = carrying_supports(found.compression)
    bodies = bodies_at(running, found.q, 0.0)
    points, supports = support_points(running, bodies), running.gear.supports
    lines = tipping_axes(running, found.q, 0.0, LEVEL, carrying).lines
    sheet.text(left + 12, top + 20, title, 14, DARK, 'font-weight="bold"')
    sheet.text(left + 12, top + 37, caption, 12, '#556')
    region = inside(lines)
    sheet.line([at(point) for point in region], RED, 2.5, f'fill="{GREEN}" stroke-linejoin="round"')
    standing = points[carrying]
    hull = standing[support_order(standing)]
    sheet.line([at(point) for point in hull], '#7a8288', 1.2, 'fill="none" stroke-dasharray="4 4"')
    base, joints = running.gear.base, running.gear.joints
    for point, body in zip(points, supports['body']):
        sheet.line([at(bodies.origin[body]), at(point)], GREY, 6, 'stroke-linecap="round" stroke-opacity="0.8"')
    for j in range(base + 1, len(joints)):
        parent = int(joints['parent'][j])
        sheet.line([at(bodies.origin[parent]), at(bodies.origin[j])], GREY, 6, 'stroke-opacity="0.8"')
    for point, body, stiff, carries in zip(points, supports['body'], supports['stiffness'], carrying):
        half = np.array([0.22, 0.09]) if stiff < 1e6 else np.array([0.11, 0.11])
        if len(points) > 8:
            half = np.array([0.12, 0.1])
        turn = bodies.rotation[body][:2, :2]
        corners = [point[:2] + turn @ (half * sign) for sign in ((1, 1), (-1, 1), (-1, -1), (1, -1))]
        look = f'fill="{DARK}"' if carries else 'fill="white" stroke-dasharray="3 2"'
        sheet.line([at(corner) for corner in corners], DARK, 1.2, look)
    for j in range(base + 1, len(joints)):
        if joints['sliding'][j]:
            continue
        along = 0.42 * bodies.axis[j]
        ends = [at(bodies.origin[j] - along), at(bodies.origin[j] + along)]
        sheet.line(ends, BLUE, 1.6, 'stroke-dasharray="9 3 2 3"')
        sheet.circle(at(bodies.origin[j]), 4.5, 'white', BLUE)
    weight = at(bodies.center[base])
    sheet.circle(weight, 3, RED, RED)


def rear_view(
    sheet: Sheet, number: int, running: RunningGear, aside: float, payload: float, title: str, caption: str
) -> None:
    """Draw a machine with a swinging rear axle from behind, as it stands with a load at its left."""
    left, ground = number * sheet.panel[0], sheet.panel[1] - 20.0

    def at(point: np.ndarray) -> np.ndarray:
        return np.array([left + 0.62 * sheet.panel[0] - 1.2 * SCALE * point[1], ground - 1.2 * SCALE * point[2]])

    found = settle(running, payload, LEVEL)
    assert found is not None
    bodies = bodies_at(running, found.q, payload)
    points, body_of, base = support_points(running, bodies), running.gear.supports['body'], running.gear.base
    sheet.text(left + 12, 20, title, 14, DARK, 'font-weight="bold"')
    sheet.text(left + 12, 37, caption, 12, '#556')
    sheet.line([(left + 8, ground), (left + sheet.panel[0] - 8, ground)], '#7a8288', 2)

    def on_base(y: float, z: float) -> np.ndarray:
        return at(bodies.origin[base] + bodies.rotation[base] @ np.array([0.0, y, z]))

    for ahead in (True, False):
        if not ahead:
            box = [on_base(y, z) for y, z in ((0.55, 0.62), (-0.55, 0.62), (-0.55, 1.35), (0.55, 1.35))]
            sheet.line(box, DARK, 1.2, f'fill="{GREY}"')
            sheet.line([on_base(0.0, 1.35), on_base(0.0, 1.55), on_base(aside, 1.55)], DARK, 4)
            ends = points[body_of != base]
            sheet.line([at(point) for point in ends], BLUE, 4)
            sheet.circle(at(bodies.origin[int(body_of.max())]), 5, 'white', BLUE)
        for k in np.flatnonzero((body_of == base) == ahead):
            turn, low = bodies.rotation[body_of[k]], RADIUS - max(found.compression[k], 0.0)
            corners = ((0.11, RADIUS), (-0.11, RADIUS), (-0.11, -low), (0.11, -low))
            look = ('fill="white"' if ahead else f'fill="{DARK}"') + (
                ' stroke-dasharray="3 2"' if found.loads[k] <= 0.0 else ''
            )
            sheet.line([at(points[k] + turn @ np.array([0.0, y, z])) for y, z in corners], DARK, 1.4, look)
    if payload > 0.0:
        x, y = on_base(aside, 1.55)
        sheet.line([(x, y), (x, y + 46)], RED, 2.5)
        sheet.line([(x - 5, y + 36), (x, y + 46), (x + 5, y + 36)], RED, 2.5)


def stages(folder: Path) -> None:
    """Draw how a machine with an oscillating axle tips over its side."""
    maker, aside = swinging(), 1.9
    maker.payload = {'link': 'base_link', 'position': [0.0, aside, 1.55], 'mass': 0.0, 'limit': 5000.0}
    running = maker.running()
    tips = tipping_load(running, LEVEL)
    sheet = Sheet(4, 1, (256, 236))
    for number, (payload, title, caption) in enumerate(
        (
            (0.0, 'no load', 'both axles stand on two wheels'),
            (0.999 * tips.load, f'below {tips.load:.0f} kg', 'a front wheel is about to lift'),
            (1.001 * tips.load, f'above {tips.load:.0f} kg', 'it has turned until the axle is at its stop'),
            (0.999 * tips.fall, f'below {tips.fall:.0f} kg', 'it is about to fall over both left wheels'),
        )
    ):
        rear_view(sheet, number, running, aside, payload, title, caption)
    sheet.write(folder / 'tipping_stages.svg')


def main() -> None:
    """Write the drawings."""
    folder = Path(sys.argv[1])
    rows = -(-len(KINDS) // COLUMNS)
    sheet = Sheet(COLUMNS, rows, PANEL)
    for number, (title, caption, made) in enumerate(KINDS):
        plan(sheet, number, made(), title, caption)
    sheet.write(folder / 'tipping_axes.svg')
    stages(folder)


if __name__ == '__main__':
    main()
