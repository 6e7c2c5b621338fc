"""Operation at the border: the arm can be retracted from where the reserve is used up."""

from __future__ import annotations

import numpy as np
import pytest

from dyn_nodes.governor.campaign.cases import Case
from dyn_nodes.governor.campaign.governed_run import Rig
from dyn_nodes.governor.settings import CRITERIA, GovernorSettings

STICK = 1
"""Index among the levers."""


@pytest.fixture(scope='module')
def rigs(machine):
    return {criterion: Rig(machine, GovernorSettings(criterion=criterion)) for criterion in CRITERIA}


@pytest.mark.parametrize(
    ('criterion', 'roll', 'pitch', 'posture'),
    [
        ('lift_off', 0.0, 0.0, (48, -106, 0)),
        ('lift_off', 0.0, 0.0, (45, -98, 0)),
        ('lift_off', 2.0, 0.0, (54, -119, 90)),
        ('lift_off', 3.0, 0.0, (50, -110, 0)),
        ('lift_off', 0.0, 3.0, (46, -102, 0)),
        ('tipping', 0.0, 0.0, (41, -96, 0)),
        ('tipping', 0.0, 3.0, (44, -98, 0)),
    ],
)
def test_a_stick_can_be_retracted_where_no_stop_keeps_the_reserve(rigs, criterion, roll, pitch, posture):
    """Boom, stick and swing in degrees; 5,100 kg, 100 ms of delay, all machines of the box on this ground."""
    rig = rigs[criterion]
    levers, start = (0.0, 6.0, 0.0), tuple(np.radians(posture).tolist())
    slope = {'roll': np.radians(roll), 'pitch': np.radians(pitch)}
    late = {'state_delay': 0.05, 'command_delay': 0.05}
    case = Case(((8.0, levers),), 5100.0, 5100.0, **slope, **late, duration=8.0, start=start)
    assert 0.0 < rig.start_margin(case) < rig.settings.law.reserve
    trial = rig.trial(case)
    outcome = trial.run()
    index = [joint.name for joint in rig.machine.movable_joints].index(rig.machine.actuators[STICK].joint)
    came_in = start[STICK] - trial.plant.positions[index]
    print(f'{outcome.let_through:.2f} of the lever, {np.degrees(came_in):.1f} degrees, least {outcome.share:.3f}')
    assert came_in > np.radians(5.0)
    assert not outcome.lifted
    assert outcome.share > outcome.begin - 0.08
