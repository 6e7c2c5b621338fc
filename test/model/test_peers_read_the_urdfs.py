"""MuJoCo reads every published URDF whose moving bodies have a mass, with the masses and inertias that we read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dyn_nodes.model import load_machine_report

mujoco = pytest.importorskip('mujoco')
URDFS = sorted((Path(__file__).resolve().parents[2] / 'urdf').glob('*.urdf'))


def moving_without_mass(machine):
    """Links that MuJoCo cannot read: a movable joint carries them, and they and what is fixed to them have no mass."""
    carrier = {machine.links[0].name: machine.links[0].name}
    mass = {}
    for joint in machine.joints:
        carrier[joint.child] = joint.child if joint.movable else carrier[joint.parent]
    for link in machine.links:
        mass[carrier[link.name]] = mass.get(carrier[link.name], 0.0) + link.mass
    moving = {joint.child for joint in machine.joints if joint.movable}
    return [name for name, total in mass.items() if name in moving and total == 0.0]


@pytest.mark.parametrize('path', URDFS, ids=lambda path: path.stem)
def test_mujoco_reads_the_published_urdf(path):
    machine = load_machine_report(path, None, massless_joints=True)[0]
    if moving_without_mass(machine):
        with pytest.raises(ValueError, match='mass and inertia of moving bodies'):
            mujoco.MjModel.from_xml_string(path.read_text())
        return
    spec = mujoco.MjSpec.from_string(path.read_text())
    spec.compiler.fusestatic = False
    model = spec.compile()
    for link in machine.links:
        number = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, link.name)
        if number <= 0 or link.mass == 0.0:
            continue
        assert model.body_mass[number] == pytest.approx(link.mass, rel=1e-12)
        principal = np.sort(np.linalg.eigvalsh(link.inertia))
        np.testing.assert_allclose(np.sort(model.body_inertia[number]), principal, rtol=1e-9, atol=1e-9)
