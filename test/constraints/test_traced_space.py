"""Operational-space dynamics in the speeds of drives against Kane's equations in other speeds."""

from __future__ import annotations

import numpy as np
import pytest

from dyn_nodes.constraints.errors import MethodError
from dyn_nodes.constraints.operational_space import operational_space
from dyn_nodes.constraints.traced_space import TracedSpace
from dyn_nodes.studies.reference import tabulated
from dyn_nodes.studies.tanner_1998.kane import reference
from dyn_nodes.studies.tanner_1998.vehicle import S0, rm_1

DRIVES = ('q2', 'left', 'right', 'q1', 'q3')
"""Drives in another order than the tree's."""


@pytest.fixture(scope='module')
def both():
    here, tau = reference()
    robot = rm_1()
    indices = [robot.blocks.tree.velocity_index(name) for name in DRIVES]
    space, position = TracedSpace(robot.blocks, robot.hand, DRIVES, [robot.position(S0)]).at(here.q, here.v[indices])
    return here, tau, indices, space, position


def test_dynamics_at_the_hand_do_not_depend_on_the_speeds(both):
    here, tau, indices, space, position = both
    kane = operational_space(here, rm_1().hand)
    assert space.inertia == pytest.approx(kane.inertia, rel=1e-12)
    mu, nu = tabulated('tanner-1998/6.3/mu')
    assert space.velocity_term == pytest.approx(mu, rel=1e-8)
    assert space.gravity_term == pytest.approx(nu, rel=1e-9)
    assert position == pytest.approx(tabulated('tanner-1998/6.2/energy')[1] + np.array([0.0, 0.0, 0.3]), abs=1e-9)
    assert space.jacobian @ here.v[indices] == pytest.approx(kane.jacobian @ here.u, abs=1e-12)
    assert space.acceleration(tau[indices]) == pytest.approx(kane.acceleration(here.efforts(tau)), rel=1e-11)


def test_efforts_of_the_drives_cause_the_wanted_motion_of_hand_and_null_space(both):
    here, _, indices, space, _ = both
    wanted, spare = np.array([0.3, -0.5, 0.2]), np.array([1.0, -2.0, 0.5, 3.0, -1.0])
    efforts = space.efforts_along(wanted, spare)
    tau = np.zeros(len(here.v))
    tau[indices] = efforts
    accelerations = here.accelerations(tau)[indices]
    assert space.jacobian @ accelerations + space.bias == pytest.approx(wanted, abs=1e-9)
    expected = spare + space.inverse @ (wanted - space.bias - space.jacobian @ spare)
    assert accelerations == pytest.approx(expected, abs=1e-9)
    assert space.null_speeds(accelerations - spare) == pytest.approx(0.0, abs=1e-9)
    assert space.efforts_for(wanted) + space.null_efforts(efforts) == pytest.approx(efforts, abs=1e-9)


def test_drives_that_do_not_determine_the_motion_are_rejected():
    robot = rm_1()
    with pytest.raises(MethodError, match='expected drives that determine the motion, found none for'):
        TracedSpace(robot.blocks, robot.hand, ('left', 'q1', 'q2', 'q3'), [robot.position(S0)])
