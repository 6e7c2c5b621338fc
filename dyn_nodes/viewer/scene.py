"""Three-dimensional scene: machine, ground, forces, support polygon. Only changes are sent."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from dyn_nodes.common.arrays import Array
from dyn_nodes.measures import BANDS, DANGER, measure_of
from dyn_nodes.viewer.colours import AMBER, BAND, BLUE, GREEN, GREY, RED, WHITE, Rgb
from dyn_nodes.viewer.companions import Ghost
from dyn_nodes.viewer.drawing import ANGLE_STEP, GROUND, POSITION_STEP, Drawing, add_shape
from dyn_nodes.viewer.geometry import ground_rotation, rotation_of, wxyz, yaw_of
from dyn_nodes.viewer.robot import JointFrame, Robot
from dyn_nodes.viewer.snapshot import Margin, Snapshot

MACHINE = f'{GROUND}/machine'
TRACE_POINTS = 600
FORCE_STEP = 0.004
"""Minimum change of a force that is sent, over the mean force."""
ARROWS_BESIDE, LABELS_BESIDE = 0.7, 1.05
"""Distances of an arrow and of the end of its label from its wheel, for a machine with a reach of 8 m, m."""
DRAWINGS = ('Tipping axis', 'Reach', 'Load to axis', 'Stop', 'Wheel loads', 'Support area', 'Centre of mass', 'Trace')
"""Drawings that a user can switch off."""
REACH_STEP = 0.03
"""Minimum change of the reach that is sent, for a machine with a reach of 8 m, m."""
STOP_STEP = 0.02
"""Least distance of a joint from its position after the stop that is drawn, rad or m."""
SKY_TOP, SKY_BOTTOM = (154, 186, 212), (236, 241, 244)


def sky() -> NDArray[np.uint8]:
    """Return a background (64, 8, 3): blue above, pale towards the horizon."""
    blend = np.linspace(0.0, 1.0, 64)[:, None, None] ** 0.7
    image = (1.0 - blend) * np.array(SKY_TOP) + blend * np.array(SKY_BOTTOM)
    return np.broadcast_to(image, (64, 8, 3)).astype(np.uint8)


def edge_measure(margins: Mapping[str, Margin], corners: int) -> dict[str, Margin]:
    """Return the margin with the edges of the polygon, by its measure: net moment, else the first suitable one."""
    order = sorted(margins, key=lambda name: name != 'net_moment')
    by_edge = {name: margins[name] for name in order if measure_of(name).per == 'edge'}
    fitting = (name for name, margin in by_edge.items() if len(margin.edges) == corners and margin.critical is not None)
    return {name: margins[name] for name in itertools.islice(fitting, 1)}


def colour_of(margins: Mapping[str, Margin]) -> Rgb:
    """Return the colour of the worst band of the known margins; grey if all are unknown."""
    bands = [margin.band(name) for name, margin in margins.items() if not np.isnan(margin.value)]
    return BAND[max(bands, key=BANDS.index)] if bands else GREY


def critical_edge(margins: Mapping[str, Margin]) -> tuple[int, Rgb] | None:
    """Return the critical edge of the margin from `edge_measure` and its colour; None: no critical edge."""
    for name, margin in margins.items():
        if margin.critical is not None:
            return margin.critical, RED if margin.band(name) == DANGER else AMBER
    return None


class Scene(Drawing):
    """Scene of the page.

    Args:
        server: viser's server.

    Attributes:
        payload_materials: names of materials of the load, hidden when it is dropped.
        margin_points: end points (n, 3) of the labels beside the wheels, in the ground's frame, m.
    """

    def __init__(self, server: Any, payload_materials: tuple[str, ...] = ('bark', 'wood')) -> None:
        super().__init__(server)
        self.payload_materials = payload_materials
        self.robot: Robot | None = None
        self.trace: list[Array] = []
        self.implement: tuple[str, Array] | None = None
        self._load: list[Any] = []
        self._newton_to_metre = 0.0
        self.margin_points: Array = np.zeros((0, 3))
        self.hidden: set[str] = set()
        self._stop: Ghost | None = None
        self._set_up()

    # -- set-up ------------------------------------------------------------------------------------------------------

    def _set_up(self) -> None:
        scene = self.scene
        self.set_shadows(True)
        self.set_mist(False)
        scene.set_up_direction('+z')
        scene.set_background_image(sky(), format='png')
        scene.configure_environment_map('park', background=False, environment_intensity=0.55)
        self._add('ground', scene.add_frame(GROUND, show_axes=False))
        scene.add_grid(
            f'{GROUND}/grid',
            infinite_grid=True,
            cell_size=1.0,
            section_size=5.0,
            cell_color=(176, 180, 176),
            section_color=(140, 146, 142),
            plane_color=(206, 209, 202),
            plane_opacity=1.0,
            shadow_opacity=0.35,
            fade_distance=90.0,
        )

    def set_robot(self, robot: Robot, implement: tuple[str, Array] | None = None) -> None:
        """Replace the displayed machine.

        Args:
            robot: shape of the machine.
            implement: link, and point (3,) in its frame, whose trace is drawn; None: the end of the longest chain.
        """
        if self.robot is not None:
            self.handles[f'link/{self.robot.root}'].remove()
            self.handles = {key: value for key, value in self.handles.items() if not key.startswith('link/')}
        self._drop_stop()
        self.robot, self.trace, self._load = robot, [], []
        self._sent = {key: value for key, value in self._sent.items() if not key.startswith('link/')}
        self.unit = robot.size() / 8.0
        link, point = implement or (robot.tip, np.zeros(3))
        self.implement = link, np.array(point, dtype=np.float64)
        path = {robot.root: MACHINE}
        self._add(f'link/{robot.root}', self.scene.add_frame(MACHINE, show_axes=False))
        for joint in robot.joints:
            path[joint.child] = f'{path[joint.parent]}/{joint.child}'
            position, rotation = joint.pose({})
            handle = self.scene.add_frame(path[joint.child], show_axes=False, position=position, wxyz=wxyz(rotation))
            self._add(f'link/{joint.child}', handle)
        for link, shapes in robot.shapes.items():
            for number, shape in enumerate(shapes):
                mesh = add_shape(self.scene, f'{path[link]}/visual_{number}', shape)
                if link == self.implement[0] and shape.material in self.payload_materials:
                    self._load.append(mesh)

    # -- one instant -------------------------------------------------------------------------------------------------

    def update(self, snapshot: Snapshot) -> None:
        """Show an instant."""
        with self.server.atomic():
            self._show_ground(snapshot)
            self._show_machine(snapshot)
            self._show_forces(snapshot)
            self._show_polygon(snapshot)
            self._show_axis(snapshot)
            self._show_reach(snapshot)
            self._show_stop(snapshot)
            self._show_points(snapshot)
            self._show_load(snapshot)

    def link_pose(self, link: str) -> tuple[Array, Rotation]:
        """Return the displayed position (3,) and rotation of a link in the ground's frame.

        Raises:
            KeyError: no such link in the scene.
        """
        if self.robot is None or f'link/{link}' not in self.handles:
            raise KeyError(f'no link {link!r} is shown')
        parents = {joint.child: joint.parent for joint in self.robot.joints}
        chain = [link]
        while chain[-1] in parents:
            chain.append(parents[chain[-1]])
        position, rotation = np.zeros(3), Rotation.identity()
        for name in reversed(chain):
            handle = self.handles[f'link/{name}']
            position = position + rotation.apply(handle.position)
            w, x, y, z = handle.wxyz
            rotation = rotation * Rotation.from_quat((x, y, z, w))
        return position, rotation

    def show_name(self, key: str, text: str, position: Array) -> None:
        """Show a text at a position (3,) in the ground's frame, m."""
        self._label(f'name/{key}', text, position)

    def clear_trace(self) -> None:
        """Clear the trace of the implement."""
        self.trace = []
        self._drop('trace')

    def set_drawing(self, name: str, is_shown: bool) -> None:
        """Show or hide a drawing, one of `DRAWINGS`, from the next instant on."""
        self.hidden = self.hidden - {name} if is_shown else self.hidden | {name}

    def set_shadows(self, cast: bool) -> None:
        """Turn shadows on or off; they are slow without a graphics processor."""
        if self._changed('shadows', cast):
            self.scene.configure_default_lights(enabled=True, cast_shadow=cast)

    def set_mist(self, misty: bool) -> None:
        """Cover the scene with fog, which marks it as out of date."""
        if self._changed('mist', misty):
            # fog is moved away instead of switched off: switching makes the browser recompile its shaders
            near, far = (1.0 * self.unit, 24.0 * self.unit) if misty else (1e5, 1e6)
            self.scene.configure_fog(near, far, color=(190, 190, 194))

    def _show_ground(self, snapshot: Snapshot) -> None:
        if self._changed('slope', snapshot.slope):
            self.handles['ground'].wxyz = wxyz(ground_rotation(*snapshot.slope))
            roll, pitch = np.degrees(snapshot.slope)
            if roll or pitch or 'label/slope' in self.handles:
                text = f'slope: pitch {pitch:.1f}°, roll {roll:.1f}°'
                self._label('slope', text, np.array((0.0, -3.2 * self.unit, 0.1 * self.unit)))

    def _show_machine(self, snapshot: Snapshot) -> None:
        robot = self.robot
        if robot is None:
            return
        base = rotation_of(snapshot.base_quaternion)
        self._set_pose(f'link/{robot.root}', np.asarray(snapshot.base_position), base)
        for joint in robot.joints:
            value = joint.value(snapshot.joints)
            if joint.movable and self._moved(f'link/{joint.child}/value', np.array([value]), ANGLE_STEP):
                self._set_pose(f'link/{joint.child}', *joint.pose(snapshot.joints))
        link, point = self.implement or (robot.tip, np.zeros(3))
        position, turn = self.link_pose(link)
        self._extend_trace(position + turn.apply(point))

    def _extend_trace(self, point: Array) -> None:
        if self.trace and np.linalg.norm(point - self.trace[-1]) < 0.02 * self.unit:
            return
        self.trace = [*self.trace[-TRACE_POINTS:], point]
        if 'Trace' in self.hidden:
            self._drop('trace')
        elif len(self.trace) > 1:
            points = np.array(self.trace)
            self._segments('trace', np.stack([points[:-1], points[1:]], axis=1), BLUE, 0.025)

    def _show_forces(self, snapshot: Snapshot) -> None:
        wheels = [name for name in snapshot.forces if name in snapshot.contacts]
        labels = {f'label/load/{name}' for name in wheels}
        self._drop(*(key for key in self.handles if key.startswith('label/load/') and key not in labels))
        if not wheels or 'Wheel loads' in self.hidden:
            self.margin_points = np.zeros((0, 3))
            self._drop('reactions', *labels)
            return
        loads = np.array([snapshot.forces[name][2] for name in wheels])
        feet = np.array([snapshot.contacts[name] for name in wheels])
        mean = float(np.abs(loads).mean())
        if self._newton_to_metre == 0.0 and mean > 0.0:
            self._newton_to_metre = 1.2 * self.unit / mean
        outward = feet - feet.mean(axis=0)
        outward[:, 2] = 0.0
        size = np.linalg.norm(outward, axis=1, keepdims=True)
        away = self.unit * np.divide(outward, size, out=np.zeros_like(outward), where=size > 0)
        feet, self.margin_points = feet + ARROWS_BESIDE * away, feet + LABELS_BESIDE * away
        lengths = np.maximum(loads * self._newton_to_metre, 0.12 * self.unit)
        tips = feet + lengths[:, None] * np.array((0.0, 0.0, 1.0))
        colours = np.array([RED if load <= 0.0 else GREEN for load in loads], dtype=np.uint8)
        self._show_arrows(np.stack([feet, tips], axis=1), colours)
        for name, load, tip in zip(wheels, loads, tips):
            text = 'lifted' if load <= 0.0 else _kilonewtons(load)
            self._label(f'load/{name}', text, tip + self._up(0.12))

    def _show_arrows(self, points: Array, colours: NDArray[np.uint8]) -> None:
        if self._changed('reactions/colours', (colours.tobytes(), len(points))):
            self._sent.pop('reactions', None)
            self._sent['reactions'] = points
            self.messages += 1
            self._add(
                'reactions',
                self.scene.add_arrows(
                    f'{GROUND}/reactions',
                    points,
                    colours,
                    shaft_radius=0.05 * self.unit,
                    head_radius=0.13 * self.unit,
                    head_length=0.28 * self.unit,
                ),
            )
        elif self._moved('reactions', points, FORCE_STEP * 1.2 * self.unit):
            self.handles['reactions'].points = points.astype(np.float32)

    def _show_polygon(self, snapshot: Snapshot) -> None:
        corners = snapshot.polygon
        if corners is None or len(corners) < 3 or 'Support area' in self.hidden:
            self._drop('polygon', 'fill')
            return
        corners = corners + self._up(0.03)
        edges = np.stack([corners, np.roll(corners, -1, axis=0)], axis=1)
        self._segments('polygon', edges, WHITE, 0.06)
        self._fill(corners - self._up(0.02), colour_of(edge_measure(snapshot.margins, len(corners))))

    def _show_axis(self, snapshot: Snapshot) -> None:
        """Draw the axis over which the machine would tip next with its margin, and the way from the load to it."""
        corners = snapshot.polygon
        if corners is None or len(corners) < 3:
            self._drop('critical', 'label/critical', 'load_line', 'label/load_line')
            return
        measure = edge_measure(snapshot.margins, len(corners))
        critical = critical_edge(measure)
        if critical is None:
            self._drop('critical', 'label/critical', 'load_line', 'label/load_line')
            return
        index, colour = critical
        start, end = corners[index] + self._up(0.04), corners[(index + 1) % len(corners)] + self._up(0.04)
        along = (end - start) / max(float(np.linalg.norm(end - start)), 1e-9)
        if 'Tipping axis' in self.hidden:
            self._drop('critical', 'label/critical')
        else:
            beyond = 0.8 * self.unit * along
            self._segments('critical', np.array([[start - beyond, end + beyond]]), colour, 0.13)
            name, margin = next(iter(measure.items()))
            edge = margin.critical_name.replace('_', ' ')
            text = f'{measure_of(name).label} {measure_of(name).display(margin.edges[index])}'
            self._label('critical', f'{edge}: {text}' if edge else text, start - 1.9 * beyond)
        self._show_load_line(snapshot, start, along, colour)

    def _show_load_line(self, snapshot: Snapshot, start: Array, along: Array, colour: Rgb) -> None:
        """Draw the line from the load down to the ground, and from there to an axis through a point along a vector."""
        if not snapshot.payload or self.implement is None or self.robot is None or 'Load to axis' in self.hidden:
            self._drop('load_line', 'label/load_line')
            return
        link_position, turn = self.link_pose(self.implement[0])
        load = link_position + turn.apply(self.implement[1])
        down = ground_rotation(*snapshot.slope).inv().apply((0.0, 0.0, -1.0))
        below = load + down * max(load[2] - start[2], 0.0) / max(-down[2], 0.05)
        foot = start + along * float((below - start) @ along)
        self._segments('load_line', np.array([[load, below], [below, foot]]), colour, 0.05)
        outwards = np.cross(along, (0.0, 0.0, 1.0))  # corners are in counter-clockwise order
        lever = float((below - foot) @ outwards)
        text = f'{abs(lever):.1f} m {"beyond" if lever > 0.0 else "within"} the axis'
        self._label('load_line', text, 0.5 * (below + foot) + self._up(0.1))

    def _show_reach(self, snapshot: Snapshot) -> None:
        """Draw the reach that is left as a band on the ground: green outwards, red where the load is too far out."""
        reach = snapshot.reach
        if reach is None or 'Reach' in self.hidden:
            self._drop('reach/left', 'reach/over', 'reach/limit')
            return
        yaw = yaw_of(snapshot.base_quaternion)
        cosine, sine = np.cos(yaw), np.sin(yaw)
        centre = np.asarray(snapshot.base_position)[:2] + np.array(
            (cosine * reach.centre[0] - sine * reach.centre[1], sine * reach.centre[0] + cosine * reach.centre[1])
        )
        angles = reach.angles + yaw
        ways = np.column_stack([np.cos(angles), np.sin(angles)])

        def ring(radius: Array, height: float) -> Array:
            points = centre + radius[:, None] * ways
            return np.column_stack([points, np.full(len(points), height * self.unit)])

        here = np.full(len(angles), reach.present)
        self._band('reach/left', ring(here, 0.012), ring(np.maximum(reach.limits, here), 0.012), reach.is_closed, GREEN)
        self._band('reach/over', ring(np.minimum(reach.limits, here), 0.014), ring(here, 0.014), reach.is_closed, RED)
        limit = ring(reach.limits, 0.02)
        ends = np.roll(limit, -1, axis=0)
        segments = np.stack([limit, ends], axis=1)[: None if reach.is_closed else -1]
        self._segments('reach/limit', segments, GREY, 0.04, REACH_STEP * self.unit)

    def _show_stop(self, snapshot: Snapshot) -> None:
        """Draw the links that still move in the posture after the certified stop, without a body that swings."""
        moved = set[str]()
        if self.robot is not None and snapshot.stop and 'Stop' not in self.hidden:
            at_rest = {**snapshot.joints, **snapshot.stop}
            for joint in self.robot.joints:
                way = abs(joint.value(at_rest) - joint.value(snapshot.joints))
                if joint.parent in moved or (joint.movable and way > STOP_STEP):
                    moved.add(joint.child)
        if not moved:
            self.handles.pop('stop', None)
            if self._stop is not None:
                self._stop.show(moved)
            return
        assert self.robot is not None
        if self._stop is None:
            self._stop = Ghost(self.server, 'stop', self.robot, self.payload_materials)
        self._stop.show(moved - {joint.child for joint in self.robot.joints if _is_swing(joint)})
        self._stop.update(snapshot.base_position, snapshot.base_quaternion, at_rest)
        self.handles['stop'] = self._stop.handles[self.robot.root]

    def _drop_stop(self) -> None:
        if self._stop is not None:
            self._stop.remove()
            self._stop = None
            self.handles.pop('stop', None)

    def _show_points(self, snapshot: Snapshot) -> None:
        centre = snapshot.center_of_mass
        is_hidden = 'Centre of mass' in self.hidden
        if centre is None or is_hidden:
            self._drop('center_of_mass', 'gravity')
        else:
            self._ball('center_of_mass', np.asarray(centre), BLUE, 0.13)
            self._show_gravity(np.asarray(centre), snapshot.slope)
        if snapshot.zmp is None or is_hidden:
            self._drop('zmp')
        else:
            self._disc('zmp', np.asarray(snapshot.zmp) + self._up(0.05), colour_of(snapshot.margins))

    def _show_gravity(self, centre: Array, slope: tuple[float, float]) -> None:
        """Draw an arrow from the centre of mass along gravity to the ground; its tip is the static projection."""
        down = ground_rotation(*slope).inv().apply((0.0, 0.0, -1.0))
        length = centre[2] / -down[2] if down[2] < -0.05 else 2.0 * self.unit
        points = np.array([[centre, centre + down * max(length, 0.3 * self.unit)]])
        if 'gravity' not in self.handles:
            self._sent['gravity'] = points
            self._add(
                'gravity',
                self.scene.add_arrows(
                    f'{GROUND}/gravity',
                    points,
                    BLUE,
                    shaft_radius=0.025 * self.unit,
                    head_radius=0.09 * self.unit,
                    head_length=0.25 * self.unit,
                ),
            )
        elif self._moved('gravity', points, 10 * POSITION_STEP):
            self.handles['gravity'].points = points.astype(np.float32)

    def _show_load(self, snapshot: Snapshot) -> None:
        if snapshot.payload is None or self.robot is None or self.implement is None:
            return
        carried = snapshot.payload > 0.0
        if self._changed('load', carried):
            for handle in self._load:
                handle.visible = carried
        link_position, turn = self.link_pose(self.implement[0])
        position = link_position + turn.apply(self.implement[1]) + self._up(0.35)
        text = f'{snapshot.payload:,.0f} kg' if carried else 'no load'
        self._label('payload', f'{text}{_weighed(snapshot.weighed)}', position)


def _weighed(interval: tuple[float, float] | None) -> str:
    """Return the text of an estimated payload with half of its 95 % interval, or ''."""
    if interval is None:
        return ''
    lower, upper = interval
    return f', weighed {max(0.5 * (lower + upper), 0.0):,.0f} ± {0.5 * (upper - lower):,.0f} kg'


def _kilonewtons(force: float) -> str:
    return f'{force / 1e3:.0f} kN' if force >= 1e4 else f'{force / 1e3:.1f} kN' if force >= 1e3 else f'{force:.0f} N'


def _is_swing(joint: JointFrame) -> bool:
    """Return whether a joint turns about the z axis of its parent, as the upper body of a machine."""
    return joint.kind in ('revolute', 'continuous') and abs(float((joint.origin[:3, :3] @ joint.axis)[2])) > 0.99
