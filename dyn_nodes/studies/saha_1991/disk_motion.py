"""Pose and contact point of the rolling disk from the variables of any of its twelve schemes (saha-1991, 6.3).

Frame D, which is fixed in the disk, includes the spin and is used for drawing (2.29 of the specification). The schemes
of frame F do not keep the spin; it is the integral of eq. 6.26 over the samples.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.integrate import cumulative_simpson
from scipy.spatial.transform import Rotation

from dyn_nodes.common.arrays import Array
from dyn_nodes.studies.saha_1991._disk_kernels import EULER, QUATERNION
from dyn_nodes.studies.saha_1991.rolling_disk import SCHEMES, DiskRun, RollingDisk, frame_matrix, spin_matrix


@dataclass(frozen=True)
class DiskMotion:
    """Poses of the disk at n times, until a run fails.

    Attributes:
        times: (n,) s.
        centre, contact: (n, 3) m, in the fixed frame.
        rotations: (n, 3, 3) axes of the frame D in the fixed frame; the third one is the axis of the disk.
        energy: (n,) J.
        tilt: (n,) from upright, rad.
    """

    times: Array
    centre: Array
    contact: Array
    rotations: Array
    energy: Array
    tilt: Array


def disk_motion(disk: RollingDisk, scheme: str, run: DiskRun, spin: float = 0.0) -> DiskMotion:
    """Return the poses of a run.

    Args:
        disk: the disk.
        scheme: of the run.
        run: of `disk.run`.
        spin: psi at the start, rad, for the schemes that do not keep it.
    """
    whole = np.asarray(np.isfinite(run.states).all(axis=1))
    count = len(run.times) if whole.all() else max(int(np.argmin(whole)), 1)
    states, times = run.states[:count], run.times[:count]
    frame, kind, _ = SCHEMES[scheme]
    if kind == EULER:
        rotations = np.array([frame_matrix(*row[:2]) @ spin_matrix(row[2]).T for row in states])
    else:
        rotations = _attitudes(kind, states)
        if frame == 0:
            turned = _spin(states, rotations, times, spin)
            rotations = np.array([F @ spin_matrix(psi).T for F, psi in zip(rotations, turned)])
    axis = rotations[:, :, 2]
    up = np.array([0.0, 0.0, 1.0]) - axis[:, 2:] * axis
    outward = up / np.maximum(np.linalg.norm(up, axis=1, keepdims=True), 1e-12)  # from contact to centre
    centre = np.column_stack([states[:, -2:], disk.radius * outward[:, 2]])
    contact = centre - disk.radius * outward
    return DiskMotion(times, centre, contact, rotations, run.energy[:count], run.tilt[:count])


def _attitudes(kind: int, states: Array) -> Array:
    """Return rotation matrices (n, 3, 3) without the drift of the schemes."""
    if kind == QUATERNION:
        return np.asarray(Rotation.from_quat(states[:, 3:7]).as_matrix())
    left, _, right = np.linalg.svd(states[:, 3:12].reshape(-1, 3, 3))
    return np.asarray(left @ right)


def _spin(states: Array, F: Array, times: Array, start: float) -> Array:
    """Return psi (n,): its rate is (v - f2 tan theta) . omega (eq. 6.26), tan theta = F33 / F32."""
    rate = states[:, 2] - states[:, 1] * F[:, 2, 2] / F[:, 2, 1]
    return start + np.asarray(cumulative_simpson(rate, x=times, initial=0.0)) if len(times) > 2 else start + 0.0 * rate
