"""A log-loader with an overload: a wheel lifts, and the governor may bring it down automatically."""

from __future__ import annotations

import numpy as np
import pytest

from dyn_nodes.governor.campaign.cases import Case
from dyn_nodes.governor.campaign.governed_run import Rig
from dyn_nodes.governor.campaign.troubles import Troubles
from dyn_nodes.governor.settings import GovernorSettings

GRAB = 0.5
"""Time from the start of the levers to the overload, s."""


@pytest.fixture(scope='module')
def rigs(machine):
    return {
        brings_down: Rig(machine, GovernorSettings(bring_down=brings_down), tests_motion=False)
        for brings_down in (False, True)
    }


def grabbing(mass, volts=(0.0, 0.0, 0.0)):
    """Return a case with 3,500 kg, and a greater mass, kg, from half a second on, with levers kept at volts."""
    troubles = Troubles(grab=GRAB, grabbed=mass - 3500.0)
    return Case(((6.0, volts),), payload=3500.0, known_payload=3500.0, duration=6.0, troubles=troubles)


def run(rig, case):
    """Run a case; return its outcome and the names of the functions that the governor moved automatically."""
    trial, brought = rig.trial(case), set()
    govern = trial.partner.governor.govern

    def watched(*arguments):
        verdict = govern(*arguments)
        brought.update(verdict.brought)
        return verdict

    trial.partner.governor.govern = watched
    try:
        return trial.run(), brought
    finally:
        del trial.partner.governor.govern


def test_retracting_the_arm_saves_an_overloaded_machine(rigs):
    case = grabbing(8500.0)
    left, brought = run(rigs[False], case)
    assert left.overturned
    assert brought == set()
    saved, brought = run(rigs[True], case)
    assert not saved.overturned
    assert saved.tilt < np.radians(15.0)
    assert 'stick' in brought


def test_a_joint_pushed_through_its_reliefs_is_not_moved_if_its_motion_is_checked(machine):
    """The governor cannot distinguish it from a wrong encoder."""
    rig = Rig(machine, GovernorSettings(bring_down=True), tests_motion=True)
    _, brought = run(rig, grabbing(8500.0))
    assert brought == set()
    assert 'stick_joint' in rig.partner(True).monitor.checks.faults()


def test_a_load_above_the_relief_pressure_is_not_a_fault(machine):
    """Its mass is more than twice the reported one."""
    rig = Rig(machine, tests_motion=True)
    run(rig, grabbing(7500.0))
    assert rig.partner(True).monitor.checks.are_sound


def test_a_lifted_wheel_is_down_sooner_and_no_higher(rigs):
    case = grabbing(7500.0)
    (left, _), (brought_down, names) = run(rigs[False], case), run(rigs[True], case)
    assert names
    assert 1.0 < brought_down.off < 0.9 * left.off
    assert brought_down.tilt < left.tilt + np.radians(0.1)


def test_nothing_is_moved_if_the_wheel_comes_down_as_soon_by_itself_or_never_lifted(rigs):
    for mass in (4500.0, 6000.0):
        case = grabbing(mass)
        (left, _), (same, brought) = run(rigs[False], case), run(rigs[True], case)
        assert brought == set()
        assert same == left
    assert left.off > 0.1


def test_a_lever_to_a_more_stable_posture_is_left_to_the_operator(rigs):
    case = grabbing(7500.0, (0.0, 6.0, 0.0))
    (left, _), (same, brought) = run(rigs[False], case), run(rigs[True], case)
    assert brought == set()
    assert same == left
