"""Selection of the predicted motion that brings a lifted wheel down."""

from __future__ import annotations

import numpy as np
import pytest

from dyn_nodes.governor.bringing_down import HIGHER, LOWER, PARTS, SOONER, best, ways_of
from dyn_nodes.governor.records import results


def predictions(*rows):
    """Return predictions of (least share, time until a wheel is on the ground)."""
    stops = results(len(rows))
    stops.least[:], stops.off[:] = np.array(rows).T
    return stops


@pytest.mark.parametrize(
    ('rows', 'index'),
    [
        (((-0.5, 1.0), (-0.5, 0.4), (-0.5, 0.6)), 1),  # the soonest
        (((-0.5, 1.0), (-0.5 - 2.0 * HIGHER, 0.4), (-0.5, 0.6)), 2),  # that lifts no wheel higher
        (((-0.5, 1.0), (-0.5, 1.0 - 0.5 * SOONER), (-0.5, 1.2)), 0),  # the gain is too small
        (((-0.5, np.inf), (-0.5, 3.0), (-0.4, np.inf)), 1),
        (((-9.0, np.inf), (-9.0 + 2.0 * LOWER, np.inf), (-5.0, np.inf)), 2),  # the lowest one, if none comes down
        (((-9.0, np.inf), (-9.0 + 0.5 * LOWER, np.inf), (-9.5, np.inf)), 0),
        (((-9.0, np.inf), (-20.0, 3.0), (-12.0, np.inf)), 0),
        (((-np.inf, np.inf), (-np.inf, np.inf)), 0),  # no prediction
    ],
)
def test_a_motion_is_selected_if_the_wheel_is_down_sooner_and_no_higher(rows, index):
    assert best(predictions(*rows)) == index


def test_each_function_is_tried_alone_and_all_at_once_after_a_plain_stop():
    before = np.array([1.0, -2.0, 0.0])
    ways = ways_of(np.array([8.0, 0.0, -6.0]), before)
    assert len(ways.volts) == len(ways.toward) == 1 + 3 * len(PARTS)
    assert not ways.toward[0].any()
    assert {tuple(target) for target in ways.toward[1:]} == {
        tuple(part * np.array(way)) for part in PARTS for way in ((8.0, 0.0, 0.0), (0.0, 0.0, -6.0), (8.0, 0.0, -6.0))
    }
    np.testing.assert_array_equal(ways.volts, np.tile(before, (7, 1)))
    assert set(ways.leads) == {1.0}
    assert set(ways.enough) == {-np.inf}
    assert len(ways_of(np.array([0.0, 4.0, 0.0]), before).leads) == 1 + len(PARTS)
    assert len(ways_of(np.zeros(3), before).leads) == 1
