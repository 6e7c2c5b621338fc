"""Pinocchio's model of a machine (`test/multibody/pinocchio_witness.py`), with its payload and its rotors."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'multibody'))

from pinocchio_witness import Pinocchio


def reference_of(urdf, model, mount, payload):
    reference = Pinocchio(urdf, model)
    if mount is not None:
        reference.with_payload(mount.link, mount.position, payload)
    reference.set_gravity((0.0, 0.0, -9.81))
    reference.model.armature = reference.v(model.tree.armatures)
    return reference
