"""Stability of neutral efforts: they brake by speeds that were measured a delay ago, on a base that rocks.

While the base rocks, or a hanging load swings, joints move as on a base that gives way: an effort accelerates them more
than on a base and with a load at rest, for which the efforts are computed. If the load is heavy for the base, or hangs,
the loop with the delay is unstable, and neutral efforts shake the machine until a wheel lifts.
"""

from __future__ import annotations

import math

import casadi as ca
import numpy as np
from scipy.linalg import expm

from dyn_nodes.common.arrays import Array
from dyn_nodes.governor.drives import BRAKING_TIME, EffortDrives
from dyn_nodes.governor.stop_model import STEP_TIME
from dyn_nodes.model.machine import Machine
from dyn_nodes.model.posture import attachment_points, hanging_joints, initial_positions, link_poses
from dyn_nodes.monitor.in_space import in_space
from dyn_nodes.multibody import TreeState, build_tree
from dyn_nodes.multibody.dynamics import mass_matrix
from dyn_nodes.stability.equilibrium.standing import gives_way

LONGEST_ON_PIVOTS = 0.03
"""Longest delay with which machines on pivots are governed by efforts, s: with 0.1 s wheels of a telehandler lift."""
GROWTH = 0.1
"""Growth of an oscillation that still counts as none, 1/s."""
ROCKING = [0, 1, 5]
"""Indices of the base's angular velocity about x and y, and of its velocity along z."""


def check_delay(machine: Machine, delay: float) -> None:
    """Raise ValueError if neutral efforts behind a delay, s, are unstable with the rated payload in the first posture.

    Machines on pivots were tested with short delays only; a longer one is an error.
    """
    longest, matrices = min(delay, LONGEST_ON_PIVOTS) if gives_way(machine) else delay, _matrices(in_space(machine))
    while longest > 0.0 and growth_of(*matrices, longest) > GROWTH:
        longest = (math.ceil(longest / STEP_TIME - 1e-6) - 1) * STEP_TIME
    if delay > longest:
        expected = f'a delay of {longest:.2g} s at most, with which efforts bring its arm to rest'
        raise ValueError(f'machine {machine.name!r}: expected {expected}, found {delay:g} s')


def growth(machine: Machine, delay: float) -> float:
    """Return the growth of the fastest growing motion under neutral efforts, 1/s; negative if all motions decay.

    In the first posture with the rated payload. Driven and hanging joints, and height, roll and pitch of the base move;
    the weight is carried, and joints and ground have no friction.

    Args:
        machine: on springs, its driven joints moved by efforts; without a payload mount it has no load.
        delay: between the measurement of speeds and the efforts, s; rounded up to steps of the prediction.
    """
    return growth_of(*_matrices(in_space(machine)), delay)


def growth_of(inertia: Array, stiffness: Array, damping: Array, delay: float) -> float:
    """Return the growth of `growth`, 1/s, from matrices.

    Args:
        inertia: (f + m, f + m) of the base's three motions, of hanging joints, and of driven joints.
        stiffness: (f, f) of the base on its springs, and of hanging joints.
        damping: (f, f) of the same.
        delay: s.
    """
    free, joints = len(stiffness), len(inertia) - len(stiffness)
    size = free + len(inertia)
    rates = np.zeros((size + joints, size + joints))  # of base positions, all speeds and efforts
    inverse = np.linalg.inv(inertia)
    rates[:free, free : 2 * free] = np.eye(free)
    rates[free:size, :free] = -inverse[:, :free] @ stiffness
    rates[free:size, free : 2 * free] = -inverse[:, :free] @ damping
    rates[free:size, size:] = inverse[:, free:]
    step = expm(rates * STEP_TIME)
    steps = math.ceil(delay / STEP_TIME - 1e-6)
    whole = np.zeros((size + joints * max(steps, 1),) * 2)  # after the state the efforts on their way, the latest first
    whole[:size, :size], whole[:size, -joints:] = step[:size, :size], step[:size, size:]
    braking = np.zeros((joints, size))
    braking[:, 2 * free :] = -inertia[free:, free:] / BRAKING_TIME
    if steps == 0:
        whole = step[:size, :size] + step[:size, size:] @ braking
    else:
        whole[size : size + joints, :size] = braking
        whole[size + joints :, size:-joints] = np.eye(joints * (steps - 1))
    return float(np.log(np.abs(np.linalg.eigvals(whole)).max()) / STEP_TIME)


def _matrices(machine: Machine) -> tuple[Array, Array, Array]:
    """Return the inertia (f + m, f + m) of base, hanging and driven joints, and stiffness and damping (f, f)."""
    tree, positions = build_tree(machine), initial_positions(machine)
    names = [joint.name for joint in machine.movable_joints]
    position = ca.vertcat(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, *(positions[name] for name in names))
    mount = machine.payload
    payload = 0.0 if mount is None else mount.limit if math.isfinite(mount.limit) else mount.mass
    state = TreeState(tree, ca.SX(position), ca.SX(tree.nv, 1), ca.SX(payload))
    hanging = [names.index(name) for name in hanging_joints(machine)]
    moving = [*ROCKING, *(6 + index for index in (*hanging, *EffortDrives(machine).indices.tolist()))]
    inertia = np.array(ca.evalf(mass_matrix(state)))[np.ix_(moving, moving)]
    poses = link_poses(machine.links, machine.joints, positions)
    rows = np.array([(point[1], -point[0], 1.0) for point in attachment_points(machine.supports, poses)])
    springs = np.array([(spring.stiffness, spring.damping) for spring in machine.supports])
    free = 3 + len(hanging)
    stiffness = np.zeros((free, free))
    damping = np.diag([0.0, 0.0, 0.0, *(machine.movable_joints[k].damping for k in hanging)])
    stiffness[:3, :3], damping[:3, :3] = rows.T @ (springs[:, :1] * rows), rows.T @ (springs[:, 1:] * rows)
    return inertia, stiffness, damping
