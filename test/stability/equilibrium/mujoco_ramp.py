"""A load that grows slowly on a machine in MuJoCo: when a support lifts, when the machine moves on by itself, when it falls.

Supports are one-sided springs: tendons from each attachment to a point far above it, which pull when they are longer
than they were with the support at the ground. Driven joints are welded in the posture; joint stops are MuJoCo's limits.
"""

from __future__ import annotations

from dataclasses import dataclass
from xml.sax.saxutils import quoteattr

import mujoco
import numpy as np

from dyn_nodes.model.machine import Machine
from dyn_nodes.model.posture import initial_positions

FAR = 1e4
"""Height of the points from which the tendons hang, m."""
STEP = 2e-3
OVER = 0.9
"""Tilt at which the machine has fallen, rad."""


@dataclass(frozen=True)
class Ramp:
    """Loads, kg; inf where something did not happen.

    Attributes:
        lift_off: at which a support lifts first.
        loss: at which the machine moves on by itself first.
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
    by_parent: dict[str, list] = {}
    for joint in machine.joints:
        by_parent.setdefault(joint.parent, []).append(joint)
    sites = {link.name: '' for link in machine.links}
    for k, support in enumerate(machine.supports):
        sites[support.link] += f'<site name="s{k}" pos="{_text(support.position)}"/>'
    payload = machine.payload
    if payload is not None:
        sites[payload.link] += f'<site name="payload" pos="{_text(payload.position)}"/>'

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
        place = f'pos="{_text(pose[:3, 3])}" quat="{_text(quat)}"'
        return f'<body name={quoteattr(name)} {place}>{joints}{inertial}{sites[name]}{inside}</body>'

    def child(joint) -> str:
        from dyn_nodes.model.posture import joint_transform

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
        limits = ''
        if np.isfinite([joint.lower, joint.upper]).all():
            limits = (
                f'limited="true" range="{joint.lower!r} {joint.upper!r}" '
                'solreflimit="0.008 1" solimplimit="0.999 0.9999 0.0001"'
            )
        element = f'<joint name={quoteattr(joint.name)} type="{text}" axis="{_text(joint.axis)}" {limits} {spring}/>'
        return body(joint.child, joint.origin, element)

    root = body(machine.links[0].name, np.eye(4), '<freejoint/>')
    equality = ''
    for entry in machine.constraints:
        assert entry.kind == 'coupling' and len(entry.coefficients) == 2
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
    data = mujoco.MjData(mujoco.MjModel.from_xml_string(text.format(anchors='', tendons='')))
    mujoco.mj_forward(data.model if hasattr(data, 'model') else _model_of(text), data) if False else None
    bare = _model_of(text)
    data = mujoco.MjData(bare)
    _place_joints(bare, data, positions)
    mujoco.mj_forward(bare, data)
    anchors = tendons = ''
    for k, support in enumerate(machine.supports):
        x, y, _ = data.site(f's{k}').xpos
        anchors += f'<site name="a{k}" pos="{x!r} {y!r} {FAR!r}"/>'
        tendons += (
            f'<spatial stiffness="{support.stiffness!r}" damping="{support.damping!r}" '
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


class SlowRamp:
    """The machine under a payload that is a force at its mount."""

    def __init__(self, machine: Machine) -> None:
        self.machine, self.model = machine, mujoco_model(machine)
        self.data = mujoco.MjData(self.model)
        self.site = self.model.site('payload').id
        self.body = int(self.model.site_bodyid[self.site])
        self.free_length = np.array([support.free_length for support in machine.supports])
        self.sites = np.array([self.model.site(f's{k}').id for k in range(len(machine.supports))])
        _place_joints(self.model, self.data, initial_positions(machine))
        mujoco.mj_forward(self.model, self.data)
        self.data.qpos[2] += float((self.free_length - self.data.site_xpos[self.sites, 2]).max())
        self.run(0.0, 0.0, 3.0)

    def run(self, first: float, last: float, duration: float, watch=None) -> float | None:
        """Let the load go from a first to a last value; return the load at which `watch` was true first."""
        data, model = self.data, self.model
        steps = max(1, round(duration / STEP))
        force = np.zeros(3)
        for k in range(steps):
            load = first + (last - first) * (k + 1) / steps
            force[2] = -load * self.machine.gravity
            data.qfrc_applied[:] = 0.0
            mujoco.mj_applyFT(model, data, force, np.zeros(3), data.site_xpos[self.site], self.body, data.qfrc_applied)
            mujoco.mj_step(model, data)
            if watch is not None and k % 5 == 0 and watch():
                return load
        return None

    @property
    def tilt(self) -> float:
        """Angle of the base, rad."""
        return float(np.arccos(np.clip(self.data.xmat[1].reshape(3, 3)[2, 2], -1.0, 1.0)))

    @property
    def compression(self) -> np.ndarray:
        """(c,) of the supports, m."""
        return self.free_length - self.data.site_xpos[self.sites, 2]

    @property
    def speed(self) -> float:
        """Greatest rate of a displacement, rad/s or m/s."""
        return float(np.abs(self.data.qvel[2:]).max())

    def save(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the state."""
        return self.data.qpos.copy(), self.data.qvel.copy()

    def restore(self, state: tuple[np.ndarray, np.ndarray]) -> None:
        """Go back to a state."""
        mujoco.mj_resetData(self.model, self.data)
        self.data.qpos[:], self.data.qvel[:] = state
        mujoco.mj_forward(self.model, self.data)
