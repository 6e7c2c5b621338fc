"""A slowly growing load on a machine in MuJoCo: loads at which a support lifts, equilibrium is lost, and it falls.

Supports are one-sided springs: tendons from each attachment to a point far above it, which pull when they are longer
than they were with the support at the ground. Driven joints are welded in the posture; joint stops are stiff tendons
with play.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from xml.sax.saxutils import quoteattr

import mujoco
import numpy as np

from dyn_nodes.model.machine import Machine
from dyn_nodes.model.posture import initial_positions, joint_transform

FAR = 1e4
"""Height of the points from which the tendons hang, m."""
STEP = 2e-3
LEAST = 1e-3
"""Mass of the payload at the start, kg."""
MOST = 4.0
"""Greatest load, relative to the mass of the machine."""
OVER = 0.9
"""Tilt at which the machine has fallen, rad."""
STAIR, FINER, LEVELS = 0.02, 8, 3
"""Step of the load, relative to the mass of the machine; factor of a refinement around an event, and their number."""
CHUNK, QUIET, LONGEST = 50, 2e-5, 900.0
"""Steps between two checks of a settling machine; rate of a settled one, rad/s or m/s; longest time, s."""
CALM = 2e-7
"""Rate, rad/s or m/s, at which also a machine that is soft in one direction has settled."""
STOP, STOP_DAMPING = 1e3, 2e-3
"""Stiffness of a joint's stop, relative to the weight times 1 m, and its damping over its stiffness, s."""
JUMP = 3e-3
"""Displacement in one of the finest steps, rad or m, from which on equilibrium was lost."""
DAMPING = 0.08
"""Damping of the supports over their stiffness, s: the machine creeps from one equilibrium to the next."""


@dataclass(frozen=True)
class Ramp:
    """Loads, kg; inf if the event did not happen.

    Attributes:
        lift_off: at which a support lifts first.
        loss: at which equilibrium is lost first.
        fall: at which it overturns.
    """

    lift_off: float
    loss: float
    fall: float


def mujoco_model(machine: Machine) -> mujoco.MjModel:
    """Return the model of a machine in its initial posture."""
    positions = initial_positions(machine)
    idle = machine.idle_joints
    classes = {entry.joint: entry for entry in machine.joint_classes}
    stops: list[str] = []
    weight = machine.total_mass * machine.gravity
    by_parent: dict[str, list] = {}
    for joint in machine.joints:
        by_parent.setdefault(joint.parent, []).append(joint)
    sites = {link.name: '' for link in machine.links}
    for k, support in enumerate(machine.supports):
        sites[support.link] += f'<site name="s{k}" pos="{_text(support.position)}"/>'
    payload = machine.payload
    assert payload is not None
    sites[payload.link] += (
        f'<body name="payload" pos="{_text(payload.position)}"><inertial pos="0 0 0" mass="{LEAST}" '
        f'diaginertia="{LEAST} {LEAST} {LEAST}"/></body>'
    )

    def body(name: str, pose: np.ndarray, joints: str) -> str:
        link = machine.link(name)
        tensor = link.inertia
        inertial = ''
        if link.mass > 0.0:
            full = (tensor[0, 0], tensor[1, 1], tensor[2, 2], tensor[0, 1], tensor[0, 2], tensor[1, 2])
            inertial = f'<inertial pos="{_text(link.com)}" mass="{link.mass!r}" fullinertia="{_text(full)}"/>'
        inside = ''.join(child(joint) for joint in by_parent.get(name, ()))
        quat = np.empty(4)
        mujoco.mju_mat2Quat(quat, np.ascontiguousarray(pose[:3, :3]).ravel())
        attributes = f'pos="{_text(pose[:3, 3])}" quat="{_text(quat)}"'
        return f'<body name={quoteattr(name)} {attributes}>{joints}{inertial}{sites[name]}{inside}</body>'

    def child(joint) -> str:
        kind = idle.get(joint.name, '') if joint.movable else ''
        vertical = abs(joint.axis[2]) > 0.99 and joint.type in ('continuous', 'revolute')
        if kind not in ('free', 'flexible', 'passive') or (vertical and kind == 'free'):
            return body(joint.child, joint_transform(joint, positions.get(joint.name, 0.0)), '')
        text = 'slide' if joint.type == 'prismatic' else 'hinge'
        spring = ''
        if kind == 'flexible':
            entry = classes[joint.name]
            rest = positions.get(joint.name, 0.0) if entry.rest is None else entry.rest
            spring = f'stiffness="{entry.stiffness!r}" springref="{rest!r}" damping="{entry.damping!r}"'
        if np.isfinite([joint.lower, joint.upper]).all():
            stops.append(
                f'<fixed stiffness="{STOP * weight!r}" damping="{STOP_DAMPING * STOP * weight!r}" '
                f'springlength="{joint.lower!r} {joint.upper!r}">'
                f'<joint joint={quoteattr(joint.name)} coef="1"/></fixed>'
            )
        element = f'<joint name={quoteattr(joint.name)} type="{text}" axis="{_text(joint.axis)}" {spring}/>'
        return body(joint.child, joint.origin, element)

    root = body(machine.links[0].name, np.eye(4), '<freejoint/>')
    equality = ''
    for entry in machine.constraints:
        assert entry.kind == 'coupling'
        assert len(entry.coefficients) == 2
        (one, a), (two, b) = entry.coefficients
        equality += (
            f'<joint joint1={quoteattr(one)} joint2={quoteattr(two)} polycoef="{entry.offset / a!r} {-b / a!r} 0 0 0" '
            'solref="0.008 1" solimp="0.999 0.9999 0.0001"/>'
        )
    text = (
        '<mujoco><compiler angle="radian" balanceinertia="true" inertiafromgeom="false"/>'
        f'<option timestep="{STEP}" integrator="implicitfast" gravity="0 0 -{machine.gravity!r}"/>'
        f'<worldbody>{{anchors}}{root}</worldbody><equality>{equality}</equality><tendon>{{tendons}}</tendon></mujoco>'
    )
    bare = _model_of(text)
    data = mujoco.MjData(bare)
    _place_joints(bare, data, positions)
    mujoco.mj_forward(bare, data)
    anchors, tendons = '', ''.join(stops)
    for k, support in enumerate(machine.supports):
        x, y = (float(value) for value in data.site(f's{k}').xpos[:2])
        anchors += f'<site name="a{k}" pos="{x!r} {y!r} {FAR!r}"/>'
        tendons += (
            f'<spatial stiffness="{support.stiffness!r}" damping="{DAMPING * support.stiffness!r}" '
            f'springlength="0 {FAR - support.free_length!r}"><site site="a{k}"/><site site="s{k}"/></spatial>'
        )
    return _model_of(text, anchors, tendons)


def _model_of(text: str, anchors: str = '', tendons: str = '') -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_string(text.format(anchors=anchors, tendons=tendons))


def _place_joints(model: mujoco.MjModel, data: mujoco.MjData, positions: dict[str, float]) -> None:
    for k in range(model.njnt):
        name = model.joint(k).name
        if name in positions:
            data.qpos[model.jnt_qposadr[k]] = positions[name]


def _text(values) -> str:
    return ' '.join(repr(float(value)) for value in values)


class Staircase:
    """The machine under a payload that grows step by step, at rest after each step."""

    def __init__(self, machine: Machine) -> None:
        self.machine, self.model = machine, mujoco_model(machine)
        self.data = mujoco.MjData(self.model)
        self.payload = self.model.body('payload').id
        self.free_length = np.array([support.free_length for support in machine.supports])
        self.sites = np.array([self.model.site(f's{k}').id for k in range(len(machine.supports))])
        _place_joints(self.model, self.data, initial_positions(machine))
        mujoco.mj_forward(self.model, self.data)
        self.data.qpos[2] += float((self.free_length - self.data.site_xpos[self.sites, 2]).max())
        self.start = self.state_after(self.state_after(self.data.qpos.copy(), LEAST), LEAST)
        self.carrying = self.compression > 0.0

    def state_after(self, q: np.ndarray, load: float, quiet: float = QUIET) -> np.ndarray:
        """Return the position at which the machine comes to rest with a load, or overturned, from one at rest."""
        mujoco.mj_resetData(self.model, self.data)
        self.data.qpos[:] = q
        self.model.body_mass[self.payload] = load
        for k in range(round(LONGEST / STEP / CHUNK)):
            mujoco.mj_step(self.model, self.data, CHUNK)
            speed = float(np.abs(np.r_[self.data.qvel[2:5], self.data.qvel[6:]]).max())
            if self.tilt > OVER or (k > 5 and speed < quiet):
                break
        mujoco.mj_forward(self.model, self.data)
        return self.data.qpos.copy()

    @property
    def tilt(self) -> float:
        """Angle of the base, rad."""
        return float(np.arccos(np.clip(self.data.xmat[1].reshape(3, 3)[2, 2], -1.0, 1.0)))

    @property
    def compression(self) -> np.ndarray:
        """(c,) compression of the supports, m."""
        return self.free_length - self.data.site_xpos[self.sites, 2]


@dataclass
class _Stair:
    load: float
    q: np.ndarray
    moved: float
    lifted: bool
    over: bool


def _distance(one: np.ndarray, two: np.ndarray) -> float:
    """Return the greatest difference of two positions of MuJoCo: height, direction of up, and joints."""
    (w, x, y, z), (a, b, c, d) = one[3:7], two[3:7]
    up = 2.0 * np.array([x * z - w * y, y * z + w * x]) - 2.0 * np.array([b * d - a * c, c * d + a * b])
    return float(np.abs(np.r_[one[2] - two[2], up, one[7:] - two[7:]]).max())


class _Climb:
    """Search of events on a staircase, refined around them."""

    def __init__(self, machine: Machine, most: float) -> None:
        self.stairs = Staircase(machine)
        self.step = STAIR * machine.total_mass
        first = _Stair(LEAST, self.stairs.start, 0.0, False, False)
        self.coarse = self.path(first, self.step, most * machine.total_mass)

    def path(self, first: _Stair, step: float, last: float, quiet: float = QUIET) -> list[_Stair]:
        """Return the stairs up to a load, or up to the fall."""
        path = [first]
        while path[-1].load < last - 0.5 * step and not path[-1].over:
            path.append(self._next(path[-1], path[-1].load + step, quiet))
        return path

    def _next(self, stair: _Stair, load: float, quiet: float) -> _Stair:
        q = self.stairs.state_after(stair.q, load, quiet)
        lifted = bool((self.stairs.compression < 0.0)[self.stairs.carrying].any())
        return _Stair(load, q, _distance(q, stair.q), lifted, self.stairs.tilt > OVER)

    def _finer(self, first: _Stair, step: float, level: int) -> list[_Stair]:
        """Return finer stairs over a step; the finest start with the machine at rest."""
        if level < LEVELS:
            return self.path(first, step / FINER, first.load + step)
        still = self._next(first, first.load, CALM)
        return [first, *self.path(still, step / FINER, first.load + step, CALM)]

    def first(self, event: Callable[[_Stair], bool], path: list[_Stair] | None = None, level: int = 0) -> float:
        """Return the load of the first event that is confirmed on the finest stairs; inf without one."""
        path = self.coarse if path is None else path
        step = self.step / FINER**level
        for before, after in pairwise(path):
            if event(after):
                if level == LEVELS:
                    return after.load
                finer = self._finer(before, step, level + 1)
                result = self.first(event, finer, level + 1)
                if not np.isfinite(result) and _distance(finer[-1].q, after.q) > JUMP:
                    result = after.load  # it leaves its position under this load, with a delay
                if np.isfinite(result) or after.over:
                    return min(result, after.load)
        return np.inf


def slow_ramp(machine: Machine, most: float = MOST) -> Ramp:
    """Return the loads of a machine by coarse steps and then finer ones around the events.

    Args:
        machine: in its initial posture.
        most: greatest load, relative to the mass of the machine.
    """
    climb = _Climb(machine, most)
    fall = climb.first(lambda stair: stair.over)
    loss = min(climb.first(lambda stair: stair.moved > JUMP), fall)
    return Ramp(min(climb.first(lambda stair: stair.lifted), loss), loss, fall)
