"""Random states of a `RigidBodyModel`."""

from __future__ import annotations

from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
LOG_LOADER = ROOT / 'urdf' / 'log_loader.urdf'


def random_state(model, rng):
    """Return positions (unit quaternion), velocities and efforts, of order one (efforts: of order of the weight)."""
    q, v = rng.normal(size=model.nq), rng.normal(size=model.nv)
    if model.tree.free:
        q[3:7] /= np.linalg.norm(q[3:7])
    return q, v, rng.normal(size=model.nv) * effort_scale(model)


def effort_scale(model):
    return 9.81 * max(sum(body.mass for body in model.tree.bodies), 1.0)


def assert_close(actual, expected, tolerance):
    """Assert equality relative to the largest entry."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.shape == expected.shape
    error = np.abs(actual - expected).max()
    assert error <= tolerance * np.abs(expected).max(), (
        f'off by {error:.3e}, {error / np.abs(expected).max():.3e} of {np.abs(expected).max():.3e}'
    )


def moved(model, q, v, time):
    """Return positions after a short time at velocity v, to first order."""
    return q + time * model.position_rate(q, v)
