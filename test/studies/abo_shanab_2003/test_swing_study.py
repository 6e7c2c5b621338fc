"""Assumptions of the specification's swing table (6.8): the pieces of its reference, and its reliefs."""

from __future__ import annotations

import numpy as np
import pytest

from dyn_nodes.simulation import initial_state
from dyn_nodes.studies.abo_shanab_2003.spatial import (
    ACCELERATIONS,
    REACHED,
    SPEEDS,
    SWING_PEAKS,
    SWING_POSTURES,
    SwingCase,
    swing_case,
    swing_reference,
)
from dyn_nodes.studies.abo_shanab_2003.spatial_runs import Led, led_run, system
from dyn_nodes.studies.abo_shanab_2003.valve_law import ValvePositionLaw


def test_the_reference_turns_once_and_lies_on_the_smooth_one_at_its_knots():
    times, angles = swing_reference(SwingCase(0.8, 0.4))
    assert len(times) == 1 + 5 + 5
    assert angles[0] == angles[1] == 0.0
    assert angles[-1] == pytest.approx(2 * np.pi)
    np.testing.assert_allclose(angles[1:6], 0.2 * (times[1:6] - 1.0) ** 2, atol=1e-12)
    cruise = (angles[6] - angles[5]) / (times[6] - times[5])
    assert cruise == pytest.approx(0.8)


@pytest.mark.pins(
    'abo-shanab-2003/6.8/swing_slow',
    'abo-shanab-2003/6.8/swing_order',
    'abo-shanab-2003/6.8/swing_fast',
    'abo-shanab-2003/6.8/swing_other_posture',
)
def test_faster_swings_tilt_the_machine_more_until_it_overturns():
    """Some speeds of the table; all of them in the study."""
    runs = {k: swing_case(SwingCase(SPEEDS[k], ACCELERATIONS[k])) for k in (0, 1, 5, 8)}
    peaks = [run.peak for run in runs.values()]
    assert peaks[:3] == pytest.approx([SWING_PEAKS[0][k] for k in (0, 1, 5)], rel=0.01)
    assert sorted(peaks) == peaks
    assert runs[8].overturned
    assert [runs[k].least_load for k in (0, 1)] == pytest.approx([14_065, 7_712], rel=2e-3)
    assert runs[5].least_load == 0.0
    reached = [run.rates['swing_joint'].max() for run in runs.values()]
    assert reached == pytest.approx([REACHED[k] for k in runs], abs=0.006)
    assert runs[0].joints['swing_joint'][-1] == pytest.approx(360.0, abs=1.0)
    other = swing_case(SwingCase(SPEEDS[5], ACCELERATIONS[5], SWING_POSTURES[1]))
    assert other.peak == pytest.approx(SWING_PEAKS[1][5], rel=0.01)


@pytest.mark.slow
def test_a_smooth_reference_gives_other_numbers_than_the_table():
    """At 0.6 rad/s the table has 1.00 deg and 7712 N; four pieces a ramp give them, three and five do not."""
    loads = {pieces: swing_case(SwingCase(0.6, 0.4, pieces=pieces)).least_load for pieces in (3, 4, 5, 200)}
    assert loads[4] == pytest.approx(7712, rel=2e-3)
    assert [loads[pieces] for pieces in (3, 5, 200)] == pytest.approx([8469, 7298, 6507], rel=2e-3)


@pytest.mark.slow
def test_cross_over_reliefs_give_other_numbers_where_a_line_passes_their_pressure():
    """Table: 1.61, 2.20, 4.53, 4.88 deg at 1.0, 1.1, 1.2, 1.3 rad/s."""
    cases = [SwingCase(*pair) for pair in ((1.0, 0.4), (1.1, 0.4), (1.2, 0.4), (1.3, 0.45))]
    line_relief = [swing_case(case).peak for case in cases]
    crossover = [swing_case(case._replace(variant='fast_swing_crossover')).peak for case in cases]
    assert line_relief == pytest.approx([1.61, 2.20, 4.53, 4.88], rel=5e-3)
    assert crossover[0] == pytest.approx(line_relief[0], rel=1e-3)
    assert crossover[1:] == pytest.approx([2.17, 4.80, 6.43], rel=5e-3)


@pytest.mark.slow
def test_both_reliefs_are_one_while_no_line_passes_their_pressure():
    law = ValvePositionLaw(gain=25.0, dead_band=0.002)
    led = [Led('swing_joint', 'swing', law, (0.0, 0.5, 1.5), (0.0, 0.0, 0.2))]
    posture = {'swing_joint': 0.0, 'boom_joint': np.radians(45.0), 'stick_joint': np.radians(-45.0)}
    runs = [led_run(variant, posture, 2000.0, led, 2.0) for variant in ('fast_swing', 'fast_swing_crossover')]
    np.testing.assert_allclose(runs[0].joints['swing_joint'], runs[1].joints['swing_joint'], rtol=0, atol=1e-9)


def test_each_line_is_relieved_at_its_pressure():
    """Both lines far above 22 MPa: the cross-over relief stays closed, the line reliefs pass the difference."""
    rates = []
    for variant in ('fast_swing', 'fast_swing_crossover'):
        plant = system(variant)
        p = plant.parameters({'payload_mass': 2000.0})
        x = initial_state(plant, p)
        x[plant.index('state', 'swing/pressure_a')], x[plant.index('state', 'swing/pressure_b')] = 30e6, 24e6
        rate = plant.rhs(x, np.zeros(len(plant.input_names)), p)
        rates.append([rate[plant.index('state', f'swing/pressure_{line}')] for line in 'ab'])
    line_relief, crossover = rates
    assert crossover == pytest.approx([0.0, 0.0], abs=1.0)
    flow = 2.910428e-2 * 1e-4 * (np.sqrt(8e6) - np.sqrt(2e6))
    assert line_relief == pytest.approx([-flow * 827.37084e6 / 3e-3, flow * 827.37084e6 / 3e-3], rel=1e-3)
