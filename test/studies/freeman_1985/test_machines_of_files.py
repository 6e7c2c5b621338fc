"""The mechanisms of the studies and of the machine files have the same accelerations for the same efforts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from dyn_nodes.constraints import assemble, constrained_dynamics
from dyn_nodes.constraints.linear import Subspaces
from dyn_nodes.model import load_machine
from dyn_nodes.model.load import load_machine_report
from dyn_nodes.simulation.constrained_machine import constrained_machine
from dyn_nodes.studies.freeman_1985.machines import MECHANISMS

ROOT = Path(__file__).resolve().parents[3]
INCH_POUND = 0.0254 * 4.4482216152605
"""N m."""


@dataclass(frozen=True)
class Pair:
    """A machine file and its mechanism; joint names of both, coordinates first, among these drives first.

    Attributes:
        study: name of the mechanism.
        joints: of the file by joint of the mechanism, one per freedom.
        others: further driven joints.
        down: direction of the file's gravity in the axes of the mechanism.
        effort: unit of the mechanism's efforts, N m.
        tolerance: relative.
    """

    study: str
    joints: dict[str, str]
    others: tuple[tuple[str, str], ...] = ()
    down: tuple[float, float, float] = (0.0, 0.0, -1.0)
    effort: float = 1.0
    tolerance: float = 1e-9


def legs(joints, count=3, leg='leg'):
    return {f'leg_{r}_{k}': f'{leg}_{r}_joint_{k}' for k in joints for r in range(1, count + 1)}


VERTICAL = (0.0, -1.0, 0.0)
PAIRS = {
    'five_bar': Pair('five-bar', {'joint_1': 'joint_1', 'joint_2': 'joint_2'}, effort=INCH_POUND),
    'three_leg_device': Pair('three-leg', legs([1])),
    'redundant_device': Pair('redundant device', legs([1, 2])),
    'two_finger_hand': Pair(
        'two-finger hand',
        {'leg_1_1': 'finger_1_joint_1', 'leg_1_2': 'finger_1_joint_2', 'leg_2_1': 'finger_2_joint_1'},
        (('leg_2_2', 'finger_2_joint_2'),),
        VERTICAL,
    ),
    'walker': Pair('walker', legs([2]), tuple(legs([3]).items()), VERTICAL),
    'hybrid_device': Pair('hybrid device', legs([1]) | {f'leg_1_{k}': f'wrist_joint_{k - 3}' for k in (4, 5, 6)}),
    # its links are rods of zero thickness in the study and 0.8 mm thick in the file
    'bricard': Pair('Bricard', {'joint_6': 'joint_6'}, tolerance=1e-6),
    'spatial_slider_crank': Pair('slider-crank', {'joint_1': 'joint_1', 'joint_5': 'joint_5'}),
    'stewart_platform': Pair('Stewart platform', {f'leg_{r}_3': f'leg_{r}_length_joint' for r in range(1, 7)}),
}


def accelerations(blocks, q, coordinates, rates, efforts):
    """Return the accelerations of the coordinates at a position, from their rates and efforts by joint name."""
    N = Subspaces(blocks.at(q).J).motions
    indices = [blocks.tree.velocity_index(name) for name in coordinates]
    v, tau = N @ np.linalg.solve(N[indices], rates), np.zeros(blocks.tree.nv)
    for name, effort in efforts.items():
        tau[blocks.tree.velocity_index(name)] = effort
    return constrained_dynamics(blocks, q, v, tau, method='saddle').acceleration[indices]


@pytest.mark.parametrize('name', PAIRS)
def test_the_machine_of_a_file_is_the_mechanism_of_the_study(name):
    pair, rng = PAIRS[name], np.random.default_rng(7)
    mechanism = MECHANISMS[pair.study]()
    machine = load_machine(ROOT / 'urdf' / f'{name}.urdf', ROOT / 'config' / f'{name}.yaml')
    driven = {study for study, _ in (*pair.joints.items(), *pair.others)}
    assert driven >= set(mechanism.actuated)
    assert {joint.name for joint in machine.actuated_joints} <= {*pair.joints.values(), *dict(pair.others).values()}
    blocks = mechanism.blocks(machine.gravity * np.array(pair.down))
    q = assemble(blocks, mechanism.q)
    at = {pair.joints[joint]: q[mechanism.tree.velocity_index(joint)] for joint in pair.joints}
    start = constrained_machine(replace(machine, actuators=()), at)  # the mechanisms of the studies have no rotors
    rates = rng.uniform(-0.5, 0.5, len(pair.joints))
    efforts = {joint: rng.uniform(-2.0, 2.0) for joint in (*pair.joints.items(), *pair.others)}
    expected = accelerations(
        blocks, q, tuple(pair.joints), rates, {study: effort / pair.effort for (study, _), effort in efforts.items()}
    )
    computed = accelerations(
        start.system.blocks, start.q, tuple(pair.joints.values()), rates,
        {file: effort for (_, file), effort in efforts.items()},
    )  # fmt: skip
    assert computed == pytest.approx(expected, rel=pair.tolerance, abs=pair.tolerance * np.abs(expected).max())


@pytest.mark.parametrize('name', PAIRS)
def test_check_warns_of_links_without_mass_only_where_the_source_has_none(name):
    report = load_machine_report(ROOT / 'urdf' / f'{name}.urdf', ROOT / 'config' / f'{name}.yaml')
    assert report.problems == ()
    warned = sorted(str(warning).split(': ')[1] for warning in report.warnings)
    massless = {
        'five_bar': ['link crank', 'link output_crank', 'link rod'],
        'three_leg_device': ['link leg_1_link_2', 'link leg_1_link_3', 'link leg_2_link_2', 'link leg_3_link_2'],
        'walker': ['link leg_2_link_3', 'link leg_3_link_3'],
    }
    assert warned == massless.get(name, [])
