"""Stops of joints that are commanded by efforts: neutral, passed commands, and predictions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dyn_nodes.common.share import find_resource
from dyn_nodes.governor.campaign.governed_run import heavier
from dyn_nodes.governor.drives import BRAKING_TIME, SLIGHT, EffortDrives
from dyn_nodes.governor.effort_predictor import LEARNING_TIME, EffortPredictor
from dyn_nodes.governor.settings import JERK, GovernorSettings
from dyn_nodes.governor.tip_over_governor import TipOverGovernor
from dyn_nodes.model import load_machine
from dyn_nodes.monitor.measured_samples import sample_of
from dyn_nodes.monitor.stability_monitor import StabilityMonitor
from dyn_nodes.simulation.plant import Plant

PERIOD = 0.01
EXACT = GovernorSettings(rate=JERK, delay=0.0, mass_error=0.0, payload_error=0.0, lateness=0.0)
DISTURBANCES = slice(6, 9)
"""Slice of the disturbances in a state."""


class Bench:
    """A machine without oil, with monitor and governor; its links have `mass` times their nominal masses."""

    def __init__(self, machine, settings=EXACT, mass=1.0):
        arm = replace(machine, actuators=())
        self.plant = Plant(heavier(arm, mass), 'effort', PERIOD, 5e-4, ())
        self.monitor = StabilityMonitor(arm, ('zmp',))
        self.stops = EffortPredictor(arm, range(3), self.monitor, settings)
        self.governor = TipOverGovernor(self.stops.drives.joints, self.stops, settings)
        index = self.plant.system.index
        self.loads = [index('output', f'{contact.name}/normal_force') for contact in machine.ground_contacts]

    def restart(self, payload, nominal=None, speeds=(0.0, 0.0, 0.0), stick=-1.2):
        """Start at rest, or with joint speeds, with the stick at a position."""
        plant = self.plant
        plant.p[:] = plant.system.parameters({'payload_mass': payload, 'joint_stop_scale': 1.0})
        plant.start = {'boom_joint': 0.4, 'stick_joint': stick}
        plant.reset()
        self.mean = plant.outputs()[self.loads].mean()
        plant.x[plant._joint_v] = speeds
        self.monitor.clear()
        self.monitor.payload = payload if nominal is None else nominal
        self.governor.reset()

    def see(self):
        sample = sample_of(self.plant, True)
        orientation, turn, force = sample.imu
        self.monitor.imu(sample.time, turn, force, orientation)
        self.monitor.joints(sample.time, sample.q, sample.v)

    def go(self, seconds, command=None):
        """Advance with commanded efforts, at neutral without them; return the least load share."""
        least = np.inf
        for _ in range(round(seconds / PERIOD)):
            self.see()
            if command is None:
                self.stops.see()
                self.governor.neutral(PERIOD)
            else:
                self.governor.govern(command(), PERIOD)
            self.plant.set_efforts(self.stops.output_efforts)
            self.plant.advance()
            least = min(least, float(self.plant.outputs()[self.loads].min() / self.mean))
        return least

    @property
    def weight(self):
        """Efforts without acceleration of the joints, from an exact model."""
        neutral = self.stops.efforts_of(np.zeros(3))
        return neutral + self.stops.inertia @ (self.stops.state_at_outputs[1] / BRAKING_TIME)


@pytest.fixture(scope='module')
def bench(machine):
    return Bench(machine)


def test_at_neutral_the_joints_come_to_rest_in_the_braking_time(bench):
    speeds = np.array([0.3, -0.2, 0.3])
    bench.restart(2000.0, speeds=speeds)
    bench.go(BRAKING_TIME)
    left = bench.plant.velocities / speeds
    assert (left > 0.25).all()
    assert (left < 0.6).all()  # the base rocks: exp(-1) on a base at rest
    bench.go(3.0)
    assert np.abs(bench.plant.velocities).max() < 3e-3


@pytest.fixture(scope='module')
def doubtful(machine):
    """A governor with a payload error of a fifth."""
    return Bench(machine, replace(EXACT, payload_error=0.2))


@pytest.mark.parametrize('true', [2400.0, 2150.0, 1600.0])
def test_a_wrong_payload_is_estimated_and_held(doubtful, true):
    doubtful.restart(true, nominal=2000.0)
    doubtful.go(6.0)
    q = doubtful.plant.positions.copy()
    doubtful.go(2.0)
    assert np.abs(doubtful.plant.positions - q).max() < 2e-3
    assert doubtful.stops.payload == pytest.approx(true, abs=0.02 * abs(true - 2000.0) + 4.0)
    boom = doubtful.stops.states.vectors[0, DISTURBANCES][1]
    assert abs(boom) < 0.05 * abs(true - 2000.0) * 9.81 * 5.0  # N m, of the difference 5 m ahead of the boom's joint


def test_the_estimated_payload_stays_within_its_error(doubtful):
    doubtful.restart(3000.0, nominal=2000.0)
    doubtful.go(5.0)
    assert 2390.0 < doubtful.stops.payload <= 2400.0
    assert doubtful.stops.support.bounds[0, 2:] == pytest.approx((1600.0, 2400.0), abs=0.2)


def test_without_ground_contact_the_payload_is_not_estimated(doubtful, monkeypatch):
    doubtful.restart(2400.0, nominal=2000.0)
    doubtful.go(0.3)
    weighed, disturbances = doubtful.stops.payload, doubtful.stops.disturbances.copy()
    assert 2000.0 < weighed < 2300.0
    monkeypatch.setattr(doubtful.stops.ground, 'present_degree', lambda *_: np.nan)
    doubtful.go(0.5)
    assert doubtful.stops.payload == weighed
    assert np.array_equal(doubtful.stops.disturbances, disturbances)


def test_a_newly_reported_load_is_adopted(doubtful):
    doubtful.restart(2400.0, nominal=2000.0)
    doubtful.go(2.0)
    doubtful.monitor.payload = 500.0
    doubtful.go(PERIOD)
    assert doubtful.stops.payload == pytest.approx(500.0, abs=10.0)


def test_a_load_beyond_the_limit_sinks_ever_less(bench):
    bench.restart(2400.0, nominal=2000.0)
    moved = []
    for _ in range(3):
        q = bench.plant.positions.copy()
        bench.go(2.0 * LEARNING_TIME)
        moved.append(np.abs(bench.plant.positions - q).max())
    assert moved[1] < 0.4 * moved[0]
    assert moved[2] < 0.4 * moved[1]
    sags = bench.stops.states.vectors[0, DISTURBANCES]
    assert sags[1] < -0.9 * 400.0 * 9.81 * 2.0  # N m, for 400 kg more than 2 m ahead of the boom's joint


def test_efforts_pass_unchanged_within_the_reserve(bench):
    bench.restart(0.0)
    bench.go(0.3)

    def command():
        """Return efforts of accelerations that change by less than `JERK`."""
        return bench.weight + bench.stops.inertia @ (np.array([0.1, -0.2, 0.3]) * np.sin(4.0 * bench.plant.time))

    off = []
    for _ in range(80):
        wanted = command()
        bench.go(PERIOD, lambda wanted=wanted: wanted)
        off.append(np.abs(bench.stops.output_efforts - wanted) / bench.stops.drives.greatest)
    assert np.max(off[20:]) < 1e-9


@pytest.mark.parametrize('mass', [0.9, 1.05])
def test_wrong_link_masses_are_estimated_and_held(machine, mass):
    bench = Bench(machine, replace(EXACT, mass_error=0.1), mass)
    bench.restart(0.0)
    bench.go(5.0)
    q = bench.plant.positions.copy()
    bench.go(2.0)
    assert bench.stops.heft == pytest.approx(mass, abs=0.05 * abs(mass - 1.0))
    assert np.abs(bench.plant.positions - q).max() < 2e-3
    assert bench.stops.payload == 0.0


def test_errors_of_links_and_payload_are_distinguished(machine):
    bench = Bench(machine, replace(EXACT, mass_error=0.1, payload_error=0.2), 0.92)
    bench.restart(2300.0, nominal=2000.0)
    bench.go(10.0)
    q = bench.plant.positions.copy()
    bench.go(1.0)
    assert np.abs(bench.plant.positions - q).max() < 2e-3
    assert bench.stops.heft == pytest.approx(0.92, abs=0.003)
    assert bench.stops.payload == pytest.approx(2300.0, abs=5.0)
    bench.stops.see()
    # margins keep the specified errors
    assert bench.stops.support.bounds[0] == pytest.approx((0.9, 1.1, 1600.0, 2400.0), abs=0.1)


def foreseen_states(stops, seconds):
    """Return the states of a stop at neutral, step by step, without delayed outputs."""
    x, states = stops.states.vectors[0].copy(), []
    ground = stops.surroundings.vector[0], stops.support.vector[0]
    for _ in range(round(seconds / PERIOD)):
        after = np.empty_like(x)
        stops.model.kernels.stride(x, np.zeros(3), *ground, after, np.empty(2))
        x = after
        states.append(x)
    return np.array(states)


def test_a_joint_is_predicted_to_stay_at_the_end_of_its_range(bench):
    """Neutral brakes from speeds that the governor integrates: these must end with the speed of the joint."""
    bench.restart(0.0, stick=-0.1)
    bench.go(0.3)
    bench.plant.x[bench.plant._joint_v] = [0.0, 0.0, 1.5]
    bench.monitor.clear()
    bench.governor.reset()
    bench.go(PERIOD)
    bench.see()
    bench.stops.see()
    states = foreseen_states(bench.stops, 1.0)
    stick, speeds = states[:, 2], states[:, 9:12]
    assert stick.max() > -1e-3
    bench.go(1.0)
    assert bench.plant.positions[2] == pytest.approx(stick[-1], abs=0.05)
    assert np.abs(speeds - states[:, 3:6])[stick.argmax() + 3 :].max() < 2.0 * SLIGHT


@pytest.mark.parametrize('beyond', [(0.3, 0.0, 0.0), (0.0, -0.6, 0.6), (0.0, 0.0, 1.0), (0.4, -0.4, 0.8)])
def test_a_stop_out_of_motion_is_foreseen(bench, beyond):
    """The least share of the stop, compared with the plant that performs it."""
    bench.restart(1500.0)
    bench.go(0.3)
    for _ in range(40):
        bench.see()
        bench.stops.pass_by(PERIOD)
        bench.stops.see()
        bench.governor._issue(np.array(beyond))
        bench.plant.set_efforts(bench.stops.output_efforts)
        bench.plant.advance()
    bench.see()
    bench.stops.see()
    foreseen = bench.stops.stop(np.array(beyond)).least
    assert bench.go(2.0) == pytest.approx(foreseen, abs=0.06)


def test_after_a_timeout_efforts_carry_the_weight_only_and_end_when_the_joints_rest(bench):
    """Old braking speeds would reverse the arm, and without measurements the model's weight would fall."""
    bench.restart(1000.0, speeds=(0.0, -0.3, 0.3))
    bench.see()
    bench.governor.govern(np.zeros(3), PERIOD)
    periods = 0
    while not np.isnan(bench.stops.output_efforts).any():
        efforts = bench.stops.output_efforts.copy()
        bench.governor.neutral(PERIOD)
        periods += 1
        assert periods < 150
    assert periods * PERIOD > 0.5
    np.testing.assert_allclose(efforts, bench.weight, rtol=0.05, atol=500.0)
    assert efforts[1] > 5e4
    bench.see()
    bench.stops.see()
    bench.governor.neutral(PERIOD)
    assert bench.stops.output_efforts[1] > 5e4


def test_the_model_moves_no_joint_beyond_its_end(bench):
    bench.restart(1000.0, speeds=(0.0, 0.0, 1.0), stick=-0.2)
    bench.go(PERIOD)
    for _ in range(100):
        bench.governor.neutral(PERIOD)
        assert bench.stops.state_at_outputs[0][2] <= 0.0
    assert bench.stops.state_at_outputs[0][2] == 0.0
    assert bench.stops.speeds[-1][2] == 0.0


def test_an_arm_in_contact_does_not_continue_to_push_at_neutral(bench):
    """Its joints do not move at any effort, like with an error of the model."""
    bench.restart(0.0)
    bench.see()
    bench.stops.see()
    weight, limits = bench.weight, bench.stops.drives.greatest
    for _ in range(300):
        bench.plant.ticks += 1  # time advances, the machine does not move
        bench.see()
        bench.governor.govern(np.add(weight, [0.0, -0.5 * limits[1], 0.0]), PERIOD)
    for _ in range(100):
        bench.plant.ticks += 1
        bench.see()
        bench.governor.govern(weight, PERIOD)
    for _ in range(100):
        bench.plant.ticks += 1
        bench.see()
        bench.stops.see()
        bench.governor.neutral(PERIOD)
    assert np.abs(bench.stops.output_efforts - weight)[1] < 0.5 * weight[1] + 0.06 * limits[1]


@pytest.mark.parametrize('name', ['agv_mecanum_arm', 'platform_4x4x4_arm'])
def test_a_vehicle_with_wheels_driven_by_efforts_is_rejected_by_name(name):
    machine = load_machine(find_resource(f'urdf/{name}.urdf'), find_resource(f'config/{name}.yaml'))
    with pytest.raises(ValueError, match=r'expected efforts of arm joints only, found front_left_'):
        EffortDrives(machine)


def test_before_the_first_measurement_there_is_no_effort(bench):
    bench.restart(0.0)
    bench.governor.neutral(PERIOD)
    assert np.isnan(bench.stops.output_efforts).all()
