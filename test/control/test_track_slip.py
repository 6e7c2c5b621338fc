"""The slip law of tracks in a steady turn: closed forms, symmetry, and its inverse."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq

from dyn_nodes.common.share import find_resource
from dyn_nodes.control.track_slip import SlippingTrack, TrackSlip
from dyn_nodes.control.wheel_base import WheelBase
from dyn_nodes.control.wheel_unit import NoVehicleError
from dyn_nodes.model import load_machine

GAUGE, LENGTH = 2.2, 3.6


def slip(modulus: float, rollers: int = 8, lean: float = 0.0) -> TrackSlip:
    """Return the slip law of two tracks of LENGTH; `lean` moves load from the rear to the front."""
    pitch = LENGTH / rollers
    positions = (np.arange(rollers) - 0.5 * (rollers - 1)) * pitch
    loads = 1e5 / rollers * (1.0 + lean * positions)
    return TrackSlip(
        [SlippingTrack((0.0, y), positions, loads, pitch, modulus, 0.7) for y in (0.5 * GAUGE, -0.5 * GAUGE)]
    )


@pytest.fixture(scope='module')
def usual():
    return slip(0.02, lean=0.1)


def test_on_the_spot_the_tracks_turn_as_if_their_gauge_were_that_of_dry_friction():
    """Gauge factor 1 + 2 a / B, with B F(a) = 2 M(a) if all shoes slide about a point at the distance a."""
    half = 0.5 * LENGTH

    def surplus(a: float) -> float:
        reach, arc = np.hypot(a, half), np.arcsinh(half / a)
        pull, turning = a * arc / half, 0.5 * reach - 0.5 * a**2 * arc / half  # over the friction limit of a track
        return GAUGE * pull - 2.0 * turning

    a = brentq(surplus, 0.01, 10.0)
    assert slip(1e-5, rollers=60).gauge_factor(0.0, 0.3) == pytest.approx(1.0 + 2.0 * a / GAUGE, rel=2e-3)


def test_in_a_wide_turn_the_shear_is_linear_in_the_slip():
    """Shoes far from sliding: the track turns about a point L^2 / (18 B) beside it, L / 6 behind its middle."""
    wide = slip(2.0, rollers=60)
    turn = wide.motion(wide.rolling(np.array([1.0, 0.0, 1e-5])))
    assert wide.gauge_factor(1.0, 1e-5) == pytest.approx(1.0 + LENGTH**2 / (9.0 * GAUGE**2), rel=0.03)
    assert turn[1] == pytest.approx(-LENGTH / 6.0 * 1e-5, rel=0.05)


def test_the_twist_of_the_law_balances_the_shear_of_all_tracks(usual):
    for rolling in ([0.5, 0.0, 0.2], [-0.3, 0.0, 0.4], [0.0, 0.0, -0.6]):
        forces = usual.forces(rolling, usual.motion(np.array(rolling)))
        assert np.abs(forces[:, 0]).min() > 2e4
        total = np.abs(forces.sum(axis=0))
        assert total[:2].max() < 0.01 * 7e4  # interpolation error of the table
        assert total[2] < 0.01 * 7e4 * GAUGE


@pytest.mark.parametrize('twist', [(0.5, 0.2), (0.5, -0.2), (-0.5, 0.2), (0.0, 0.3), (1.0, 1e-3), (1.0, 0.0)])
def test_belt_speeds_for_a_motion_give_that_motion(usual, twist):
    speed, rate = twist
    result = usual.motion(usual.rolling(np.array([speed, 0.0, rate])))
    assert result[[0, 2]] == pytest.approx([speed, rate], rel=1e-3, abs=5e-4)
    assert usual.motion(3.0 * usual.rolling(np.array([speed, 0.0, rate]))) == pytest.approx(3.0 * result)


def test_left_and_right_turns_mirror_each_other(usual):
    left, right = (usual.motion(np.array([0.5, 0.0, rate])) for rate in (0.3, -0.3))
    assert right == pytest.approx(left * [1.0, -1.0, -1.0], rel=1e-6)


def test_a_direction_without_a_solution_lies_between_its_neighbours(usual, monkeypatch):
    solutions = {angle: usual._balance((np.cos(angle), 0.0, np.sin(angle) / usual.half)) for angle in usual._angles}
    lost = usual._angles[40]

    def search(self, rolling):
        angle = np.arctan2(rolling[2] * self.half, rolling[0]) % (2.0 * np.pi)
        nearest = min(solutions, key=lambda direction: abs(direction - angle))
        return np.full(3, np.nan) if nearest == lost else solutions[nearest]

    monkeypatch.setattr(TrackSlip, '_balance', search)
    result = TrackSlip(usual.tracks)
    assert result._motions[40] == pytest.approx(usual._motions[40], abs=1e-3)
    monkeypatch.setattr(TrackSlip, '_balance', lambda self, rolling: np.full(3, np.nan))
    with pytest.raises(ValueError, match='expected steady turns at belts of all directions'):
        TrackSlip(usual.tracks)


def test_at_rest_nothing_turns_and_nothing_is_held(usual):
    assert not usual.motion(np.zeros(3)).any()
    assert not usual.rolling(np.zeros(3)).any()
    assert not usual.pulls(np.zeros(3)).any()


def test_the_excavator_is_a_vehicle_with_two_driven_tracks():
    machine = load_machine(find_resource('urdf/excavator.urdf'), find_resource('config/excavator.yaml'))
    base = WheelBase.of(machine)
    assert base.names == ('left_track', 'right_track')
    assert base.driven.all()
    assert not base.drags
    assert base.height == pytest.approx(0.0, abs=1e-3)
    assert base.wheel_speeds(np.array([0.36, 0.0, 0.1]), np.zeros(2), np.zeros(2)) == pytest.approx(
        1.0 + np.array([-1.1, 1.1]) * 0.1 / 0.36
    )
    assert 1.4 < base.slip.gauge_factor(0.0, 0.3) < 1.8


def test_a_machine_without_wheels_and_tracks_is_no_vehicle():
    machine = load_machine(find_resource('urdf/four_bar.urdf'), find_resource('config/four_bar.yaml'))
    with pytest.raises(NoVehicleError, match='or tracks under `contacts`'):
        WheelBase.of(machine)
