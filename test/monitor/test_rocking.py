"""The rocking of a machine on its suspension, predicted from its joints, compared with the full simulation."""

from __future__ import annotations

import numpy as np
import pytest

from dyn_nodes.analysis.measured_run import simulate, work_cycle
from dyn_nodes.common.share import find_resource
from dyn_nodes.model import load_machine
from dyn_nodes.monitor.load_model import LoadModel
from dyn_nodes.monitor.rocking import RockingModel

RATE, PAYLOAD = 200.0, 3000.0


@pytest.fixture(scope='module')
def machine():
    return load_machine(find_resource('urdf/log_loader.urdf'), find_resource('config/log_loader.yaml'))


def test_wheel_loads_and_load_from_the_joints_only_follow_the_simulation(machine):
    """Five seconds of extending. The simulated ground is compliant along its plane, that of the prediction is not."""
    run = simulate(machine, work_cycle(machine), PAYLOAD, RATE, (0.0, 0.0))
    n = len(machine.movable_joints)
    nq, nv = run.system.nq, run.system.nv
    q, v = run.states[:, nq - n : nq], run.states[:, nq + 6 : nq + nv]
    a = np.gradient(v, run.times, axis=0)
    truth = np.column_stack([run.output(f'{wheel.name}/normal_force') for wheel in machine.wheels])
    model = RockingModel(machine, LoadModel(machine))
    attachments = model.model.evaluate(q[0], 0 * q[0], 0 * q[0], *np.zeros((2, 3)), np.array([0, 0, 9.81]), PAYLOAD)
    model.start(settled_plane(machine, model, attachments.attachments, truth[0]))
    up, worst = np.array([0.0, 0.0, 1.0]), 0.0
    for k in range(1, int(5.0 * RATE)):
        load, footing = model.advance(q[k], v[k], a[k], PAYLOAD, up, 1.0 / RATE)
        # balance: the ground carries force and moments of the load
        assert footing.normal.sum() == pytest.approx(-load.force @ footing.plane[:3], rel=1e-3)
        worst = max(worst, np.abs(footing.normal - truth[k]).max() / truth[k].sum())
    assert np.ptp(truth[:1000], axis=0).max() > 0.1 * truth[0].sum()  # it rocks
    assert worst < 0.02


def settled_plane(machine, model, attachments, normal):
    """Return the plane under wheels with specified loads at rest."""
    height = model.free_length - normal / model.stiffness
    solution = np.linalg.lstsq(np.c_[attachments[:, :2], -np.ones(4)], height - attachments[:, 2], rcond=None)[0]
    plane = np.array([solution[0], solution[1], 1.0, solution[2]])
    return plane / np.linalg.norm(plane[:3])


def test_a_machine_at_rest_stays_at_rest(machine):
    model = RockingModel(machine, LoadModel(machine))
    q = np.array([machine.initial.joint_positions[joint] for joint in model.model.joints])
    model.start(np.array([0.0, 0.0, 1.0, -1.45]))
    still = 0.0 * q
    for _ in range(2000):
        model.advance(q, still, still, 0.0, np.array([0.0, 0.0, 1.0]), 0.005)
    before = model.plane.copy()
    load, footing = model.advance(q, still, still, 0.0, np.array([0.0, 0.0, 1.0]), 0.005)
    assert model.plane == pytest.approx(before, abs=1e-9)
    assert footing.normal.sum() == pytest.approx(9.81 * load.mass, rel=1e-4)
    assert model.upright


def test_a_rocking_machine_does_not_spin_about_the_normal_of_the_ground(machine):
    """Three coordinates remain, the height and two angles: friction holds the base about the normal."""
    model = RockingModel(machine, LoadModel(machine))
    q = np.array([machine.initial.joint_positions[joint] for joint in model.model.joints])
    normal = np.array([0.10, -0.08, 1.0])
    model.start(np.append(normal / np.linalg.norm(normal), -1.45))
    still, fastest = 0.0 * q, 0.0
    for _ in range(200):
        model.advance(q, still, still, 1000.0, np.array([0.0, 0.0, 1.0]), 0.005)
        assert abs(model.rate @ model.plane[:3]) < 1e-15 + 1e-12 * np.linalg.norm(model.rate)
        assert np.linalg.norm(model.plane[:3]) == pytest.approx(1.0, abs=1e-12)
        fastest = max(fastest, np.linalg.norm(model.rate))
    assert model.upright
    assert fastest > 0.1
