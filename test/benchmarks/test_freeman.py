"""The benchmark of the machines of freeman-1985 raises an error if our results and Pinocchio's differ."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

pytest.importorskip('pinocchio')

from benchmarks import freeman
from dyn_nodes.multibody import Tree, TreeBuilder
from dyn_nodes.studies.freeman_1985.compiled_influence import CompiledCoefficients


def arm() -> Tree:
    """Return an arm of three joints: the arm of the benchmark takes longer to compile."""
    builder, body = TreeBuilder(), -1
    for k, kind in enumerate(('revolute', 'prismatic', 'revolute')):
        turn = np.array([[1.0, 0.0, 0.0], [0.0, 0.6, -0.8], [0.0, 0.8, 0.6]])
        body = builder.add_joint(f'joint_{k}', body, kind, (0.0, 0.0, 1.0), turn, np.array([0.3, 0.1 * k, 0.2]), 1.0)
    builder.add_frame('tool', body, p=(0.1, -0.2, 0.3))
    return builder.build()


def test_influence_coefficients_agree_with_the_derivatives_of_pinocchio():
    tree, q = arm(), np.array([[0.3, 0.2, -0.7], [0.5, -0.1, 0.9]])
    coefficients = CompiledCoefficients(tree, tree.frame('tool')).batch(q)
    peer = freeman.PeerArm(tree, q)
    peer.check(coefficients)
    for part in range(3):
        wrong = coefficients._replace(**{'GHD'[part]: coefficients[part] + 1e-6})
        with pytest.raises(ValueError, match='nothing to compare'):
            peer.check(wrong)


@pytest.mark.slow
def test_forces_of_the_legs_agree_with_pinocchio():
    assert set(freeman.platform(1)) == {'ours', 'pinocchio', 'mujoco_step'}


def test_mujoco_has_the_same_platform():
    """It is closed at the start, and its forces at rest equal the transfer of coordinates."""
    pytest.importorskip('mujoco')
    mechanism = freeman.stewart()
    wanted = freeman.ACCELERATIONS
    soft = freeman.soft_platform(mechanism, mechanism.parallel().actuated(mechanism.actuated).inertia @ wanted)
    assert soft.accelerations() == pytest.approx(wanted, abs=freeman.SOFT)
    assert np.abs(soft.data.efc_pos).max() < 1e-12
    soft.steps()
    assert soft.data.qvel[soft.driven] == pytest.approx(wanted * freeman.STEPS * 1e-3, rel=0.02)
