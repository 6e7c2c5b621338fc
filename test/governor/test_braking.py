"""Predicted stops against stops of the simulated machine."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dyn_nodes.governor.campaign.governed_run import heavier, off_center
from dyn_nodes.governor.prediction import eases_of, predict_stops
from dyn_nodes.governor.predictor import FOLLOWED, STEP_TIME, StopPredictor
from dyn_nodes.governor.present import draw
from dyn_nodes.governor.records import requests, results
from dyn_nodes.governor.settings import GovernorSettings
from dyn_nodes.monitor.stability_monitor import StabilityMonitor
from dyn_nodes.multibody.inertial_sensor import read_imu
from dyn_nodes.simulation.plant import Plant

PERIOD, RATE = 0.01, 15.0
EXACT = GovernorSettings(delay=0.0, mass_error=0.0, payload_error=0.0)
OUT, SWINGING, IN = (-5.0, -5.5, 0.0), (-3.0, 0.0, 6.0), (7.0, 4.0, -5.0)


class Bench:
    """A machine with its monitor and predictor."""

    def __init__(self, machine, settings=EXACT):
        self.plant = Plant(machine, 'hydraulic', PERIOD, 5e-4, ())
        self.monitor = StabilityMonitor(machine, ())
        self.stops = StopPredictor(machine, range(len(machine.actuators)), self.monitor, settings)
        index = self.plant.system.index
        self.inputs = [index('input', f'{actuator.name}/voltage') for actuator in machine.actuators]
        self.loads = [index('output', f'{contact.name}/normal_force') for contact in machine.supports]

    def restart(self, payload, slope=(0.0, 0.0)):
        self.plant.p[:] = self.plant.system.parameters({'payload_mass': payload, 'joint_stop_scale': 1.0}, slope)
        self.plant.reset()
        self.monitor.clear()
        self.monitor.payload = payload
        self.stops.reset()
        self.volts = np.zeros(len(self.inputs))
        self.mean = self.plant.outputs()[self.loads].mean()

    @property
    def share(self):
        return float(self.plant.outputs()[self.loads].min() / self.mean)

    def see(self):
        orientation, turn, force = read_imu(self.plant)
        self.monitor.imu(self.plant.time, turn, force, orientation)
        self.monitor.joints(self.plant.time, self.plant.positions.copy(), self.plant.velocities.copy())
        self.stops.see()

    def give(self, target):
        self.volts = self.volts + np.clip(np.asarray(target) - self.volts, -RATE * PERIOD, RATE * PERIOD)
        self.plant.u[self.inputs] = self.volts
        self.stops.issued(self.volts)
        self.stops.pass_by(PERIOD)
        self.plant.advance()

    def drive(self, levers, seconds):
        for _ in range(round(seconds / PERIOD)):
            self.see()
            self.give(levers)
        self.see()

    def least_of_stop(self, seconds=2.0):
        """Brake the plant; return its least share and its final share."""
        shares = [self.share]
        for _ in range(round(seconds / PERIOD)):
            self.give(np.zeros(len(self.inputs)))
            shares.append(self.share)
        return min(shares), shares[-1]


@pytest.fixture(scope='module')
def bench(machine):
    return Bench(machine)


@pytest.mark.parametrize('payload', [0.0, 2500.0, 5100.0])
@pytest.mark.parametrize('slope', [(0.0, 0.0), (0.05, -0.07)])
def test_wheel_loads_at_rest_equal_those_of_the_simulated_machine(bench, payload, slope):
    bench.restart(payload, slope)
    bench.drive((0.0, 0.0, 0.0), 0.6)
    stop = bench.stops.stop(np.zeros(3))
    assert stop.least == pytest.approx(bench.share, abs=5e-3)
    assert stop.standing == pytest.approx(bench.share, abs=5e-3)


@pytest.mark.parametrize(
    ('levers', 'payload', 'seconds'),
    [
        (OUT, 1000.0, 0.9),
        (OUT, 2500.0, 0.7),
        (SWINGING, 1000.0, 1.5),
        (SWINGING, 2500.0, 1.0),
        (IN, 4000.0, 0.8),
        ((0.0, 0.0, 8.0), 4000.0, 1.5),
        ((0.0, -7.0, 0.0), 1000.0, 1.0),
    ],
)
def test_a_stop_out_of_motion_is_foreseen(bench, levers, payload, seconds):
    """The least share is that of the simulated machine to 0.1; a share below 0 is a lifted wheel."""
    bench.restart(payload)
    bench.drive((0.0, 0.0, 0.0), 0.5)
    before = bench.share
    bench.drive(levers, seconds)
    stop = bench.stops.stop(bench.volts)
    assert np.abs(bench.monitor.v).max() > 0.1, 'it moves'
    least, _ = bench.least_of_stop()
    assert least < before - 0.05, 'the stop has an effect'
    assert max(stop.least, 0.0) == pytest.approx(least, abs=0.1)


def test_the_posture_after_a_stop_is_the_one_in_which_the_simulated_machine_stands(bench):
    for levers, payload, seconds in ((OUT, 2000.0, 1.0), (SWINGING, 3000.0, 1.5), ((0.0, 0.0, 0.0), 2000.0, 0.3)):
        bench.restart(payload)
        bench.drive(levers, seconds)
        bench.stops.stop(bench.volts)
        before, posture = bench.plant.positions.copy(), bench.stops.rest_after()
        bench.least_of_stop()
        travel = np.abs(bench.plant.positions - before)
        assert (np.abs(posture - bench.plant.positions) <= 0.01 + 0.1 * travel).all()
        assert (travel.max() > 0.03) == any(levers)


@pytest.mark.parametrize('payload', [1000.0, 5100.0])
@pytest.mark.parametrize('levers', [OUT, SWINGING, IN, (0.0, 0.0, 8.0), (-8.0, 0.0, 0.0)])
def test_longer_steps_after_the_valves_have_closed_give_the_same_stop(bench, levers, payload):
    bench.restart(payload)
    bench.drive((0.0, 0.0, 0.0), 0.5)
    for _ in range(4):
        bench.drive(levers, 0.25)
        stop = bench.stops.stop(bench.volts)
        usual = bench.stops.times
        bench.stops.times = usual._replace(calm=usual.longest)
        fine = bench.stops.stop(bench.volts)
        bench.stops.times = usual
        assert fine != stop, 'there are longer steps'
        assert stop.least == pytest.approx(fine.least, abs=0.015)
        assert stop.standing == pytest.approx(fine.standing, abs=0.01)


def test_a_base_that_rocks_fast_on_its_springs_has_no_longer_steps(machine):
    hard = replace(machine, wheels=tuple(replace(one, stiffness=10.0 * one.stiffness) for one in machine.wheels))
    counts = []
    for one in (machine, hard):
        bench = Bench(one)
        bench.restart(1000.0)
        bench.drive((0.0, 0.0, 0.0), 0.5)
        assert np.isfinite(bench.stops.stop(bench.volts).least)
        counts.append(bench.stops.times.calm)
    assert counts == [10, bench.stops.times.longest]


def shown_now(bench):
    """Return pressures (6,) for the present motion of the joints, and the inertia (36,) of the whole machine."""
    monitor, stops = bench.monitor, bench.stops
    shown, inertia = np.empty(6), np.empty(36)
    shaking = np.concatenate([monitor.alpha, monitor.specific_force])
    joints, vector, turn = (monitor.q, monitor.v, monitor.a), stops.surroundings.vector[0], stops.states.turn[0]
    here = vector, stops.support.vector[0], np.ascontiguousarray(turn), shaking
    stops.model.kernels.start(*joints, *here, shown, inertia, np.empty(3), np.empty(6))
    return shown, inertia


@pytest.mark.parametrize(
    ('payload', 'posture', 'period'),
    [
        (0.0, (0.0, 0.96, -1.83), 0.61),
        (5100.0, (0.0, 0.96, -1.83), 0.91),
        (5100.0, (np.pi / 2, 0.4, -1.0), 1.34),
    ],
)
def test_stops_are_followed_for_periods_of_the_present_rocking(bench, payload, posture, period):
    """An arm at the side and a later load make it longer; the frequencies are those of NumPy."""
    bench.restart(0.0)
    bench.drive((0.0, 0.0, 0.0), 0.1)
    monitor, stops = bench.monitor, bench.stops
    monitor.payload = payload
    for k in range(30):
        monitor.imu(100.0 + 0.01 * k, np.zeros(3), np.array([0.0, 0.0, 9.81]), np.array([0.0, 0.0, 0.0, 1.0]))
        monitor.joints(100.0 + 0.01 * k, np.array(posture), np.zeros(3))
    stops.see()
    (left_of, back, stiffness), (ahead, left, normal) = stops.support[1:4], stops.surroundings.axes[0]
    foot, w = stops.surroundings.origin[0], len(stops.contacts)
    motions = np.zeros((6, 3))
    motions[:3, 1:] = np.array([ahead, left]).T
    motions[3:] = np.array([normal, np.cross(foot, ahead), np.cross(foot, left)]).T
    _, inertia = shown_now(bench)
    mass = motions.T @ inertia.reshape(6, 6) @ motions
    rows = np.stack([np.ones(w), left_of[0], back[0]])
    squares = np.linalg.eigvals(np.linalg.solve(mass, rows * stiffness[0] @ rows.T)).real
    assert stops.rocking == pytest.approx([np.sqrt(squares.sum()), np.sqrt(squares.min())], rel=1e-9)
    assert 2.0 * np.pi / stops.rocking[1] == pytest.approx(period, abs=0.02)
    assert stops.times.rocking == np.ceil(FOLLOWED * 200.0 * np.pi / stops.rocking[1])


def test_delayed_outputs_are_those_sent_at_uneven_times(machine):
    """After a pause the valves have the outputs from before it, and the present outputs have not arrived yet."""
    late = Bench(machine, replace(EXACT, delay=0.1))
    late.restart(1000.0)
    late.drive((0.0, 0.0, 0.0), 0.5)
    stops = late.stops
    stops.issued(np.array([-3.0, 0.0, 0.0]))
    stops.pass_by(0.15)
    stops.issued(np.array([-1.0, 0.0, 0.0]))
    assert stops.sent.queue[:, 0] == pytest.approx(-3.0)
    gain = machine.actuators[0].valve.gain
    assert stops.spools[-1, 0] / gain < -1.0, 'the spool has followed for a part of the pause'
    stops.pass_by(0.02)
    queue = stops.sent.queue[:, 0]
    assert queue == pytest.approx([-3.0] * (len(queue) - 2) + [-1.0] * 2)


def test_a_diverged_model_restarts_with_the_next_measurements(machine):
    fresh = Bench(machine, EXACT)
    fresh.restart(1000.0)
    fresh.drive((0.0, 0.0, 0.0), 0.5)
    before = fresh.stops.stop(np.zeros(3)).least
    fresh.stops.states.vectors[:] = np.nan
    fresh.drive((0.0, 0.0, 0.0), 0.02)
    assert fresh.stops.stop(np.zeros(3)).least == pytest.approx(before, abs=1e-3)


def test_an_output_that_lasts_longer_is_certified_for_longer(bench, machine):
    bench.restart(5100.0)
    bench.drive((0.0, 0.0, 0.0), 0.5)
    bench.drive(OUT, 0.3)
    leasts, stops = [], bench.stops
    for step in (0.01, 0.02, 0.1):
        since = np.full(3, np.inf)
        stops.decide(bench.volts, bench.volts, step, since, step)
        leasts.append(stops.stop(bench.volts).least)
    assert leasts[0] > leasts[1] > leasts[2]
    assert leasts[2] < leasts[0] - 0.02


@pytest.mark.parametrize('changes', [{'rate': 0.2}, {'longest': 0.1}, {'horizon': 5.0}, {'hold': 3.0, 'longest': 2.0}])
def test_no_stop_ends_while_valves_are_open_at_any_time_limit(machine, changes):
    stops = []
    for longest in (changes.get('longest', 4.0), 60.0):
        bench = Bench(machine, replace(EXACT, **{**changes, 'longest': longest}))
        bench.restart(4000.0)
        bench.drive((0.0, 0.0, 0.0), 0.3)
        stop = bench.stops.stop(np.array([-2.0, 0.0, 2.0]))
        stops.append(stop)
    assert stops[0].least == pytest.approx(stops[1].least, abs=0.02)


def test_each_end_of_the_delay_has_the_dead_times_of_valves_that_answer_first_and_last(machine):
    quick, slow = (
        replace(actuator, valve=replace(actuator.valve, dead_time=dead))
        for actuator, dead in zip(machine.actuators, (0.0, 0.05), strict=False)
    )
    other = replace(machine, actuators=(quick, slow, *machine.actuators[2:]))
    stops = StopPredictor(other, range(3), StabilityMonitor(other, ('zmp',)), replace(EXACT, delay=0.104))
    assert stops.sent.waits.tolist() == [0, 0, 16, 16], 'in steps of 10 ms, the longest rounded up, two machines each'


def test_a_stop_that_would_lift_a_wheel_is_foreseen(bench):
    bench.restart(5100.0)
    bench.drive((0.0, 0.0, 0.0), 0.5)
    bench.drive(OUT, 0.8)
    stop = bench.stops.stop(bench.volts)
    assert stop.least < 0.0
    assert stop.ahead > 0.1
    assert bench.least_of_stop()[0] == 0.0


def test_a_stop_below_the_threshold_is_not_predicted_to_its_end(bench):
    bench.restart(5100.0)
    bench.drive((0.0, 0.0, 0.0), 0.5)
    bench.drive(OUT, 0.8)
    whole, part = bench.stops.stop(bench.volts), bench.stops.stop(bench.volts, 0.2)
    assert whole.least < part.least < 0.2
    assert part.ahead <= whole.ahead


def test_errors_of_mass_and_payload_reduce_the_share_by_their_effect(machine):
    """Machines at the corners of the box have at least the predicted share of the nominal machine."""
    nominal = Bench(machine, GovernorSettings(delay=0.0))
    nominal.restart(4000.0)
    nominal.drive((0.0, 0.0, 0.0), 0.6)
    sure, share = nominal.stops.stop(np.zeros(3)), nominal.share
    assert sure.least < share - 0.1
    shares = []
    for mass in (0.9, 1.1):
        plant = Bench(heavier(machine, mass))
        for payload in (3200.0, 4800.0):
            plant.restart(payload)
            shares.append(plant.share * plant.mean / nominal.mean)
    assert min(shares) >= sure.least - 5e-3
    assert min(shares) < share - 0.1


def test_an_error_of_the_centre_of_mass_reduces_the_share_by_its_effect(machine):
    """At every side all wheels keep the predicted share, and one keeps hardly more."""
    nominal = Bench(machine, replace(EXACT, center_error=0.05))
    nominal.restart(4000.0)
    nominal.drive((0.0, 0.0, 0.0), 0.6)
    sure, share = nominal.stops.stop(np.zeros(3)), nominal.share
    assert sure.standing == pytest.approx(sure.least, abs=5e-3)
    shares = []
    for heading in 0.25 * np.pi * np.array([1.0, 3.0, 5.0, 7.0]):
        plant = Bench(off_center(machine, (0.05 * np.cos(heading), 0.05 * np.sin(heading))))
        plant.restart(4000.0)
        shares.append(plant.share * plant.mean / nominal.mean)
    assert min(shares) >= sure.least - 5e-3
    assert min(shares) < share - 0.02
    assert min(shares) < sure.least + 0.01


def test_outputs_sent_within_the_delay_act_first(bench, machine):
    """Outputs that have not reached the valves yet still act: a stop then starts later."""
    late = Bench(machine, replace(EXACT, delay=0.1))
    ends = []
    for one in (bench, late):
        one.restart(1000.0)
        one.drive((0.0, 0.0, 0.0), 0.5)
        for _ in range(10):
            one.stops.issued(np.array([-8.0, 0.0, 0.0]))
            one.stops.pass_by(STEP_TIME)
        ends.append(one.stops.stop(np.zeros(3)).standing)
    assert ends[1] < ends[0] - 1e-4


def test_the_worse_of_the_shortest_and_the_longest_delay_counts(machine):
    """Each with its spools and pressures, like two predictors with the exact delay."""
    both, soon, late = (
        Bench(machine, replace(EXACT, delay=most, least_delay=least)) for least, most in ((0, 0.1), (0, 0), (0.1, 0.1))
    )
    worse = set()
    for number, levers in enumerate((OUT, SWINGING, IN, OUT, SWINGING)):
        predicted = []
        for one in (both, soon, late):
            if number == 0:
                one.restart(4000.0)
            one.drive(levers, 0.7)
            one.see()
            predicted.append(one.stops.stop(one.volts))
        assert predicted[0].least == pytest.approx(min(predicted[1].least, predicted[2].least), abs=1e-9)
        assert predicted[0].standing == pytest.approx(min(predicted[1].standing, predicted[2].standing), abs=1e-9)
        worse.add(predicted[1].least < predicted[2].least)
    assert worse == {True, False}


def test_a_stop_is_predicted_to_its_end_only_if_it_is_for_every_delay(machine):
    """If the stop of one delay ends early below the threshold, its rest may be worse than that of the other delay."""
    bench = Bench(machine, replace(EXACT, delay=0.1))
    bench.restart(4000.0)
    bench.drive(OUT, 0.8)
    bench.drive(SWINGING, 0.5)
    bench.see()
    situation = bench.stops.situation
    random, wholes = np.random.default_rng(3), set()
    for _ in range(40):
        asked, complete, early = requests(1, 3), results(1), results(1)
        asked.volts[:], asked.toward[:] = random.uniform(-8.0, 8.0, (2, 1, 3))
        predict_stops(asked, complete, 0, 1, situation)
        assert complete.followed[0]
        asked.enough[0] = complete.least[0] + random.choice([-0.05, 1e-6, 0.05, 0.2])
        predict_stops(asked, early, 0, 1, situation)
        assert (early.least[0] >= asked.enough[0]) == (complete.least[0] >= asked.enough[0])
        if early.followed[0]:
            np.testing.assert_allclose(np.ravel(early), np.ravel(complete), atol=1e-9)
        wholes.add(bool(early.followed[0]))
    assert wholes == {True, False}


@pytest.mark.parametrize(
    ('oil', 'shown', 'drawn'),
    [((9.0, 4.0), (3.0, 1.0), 0.1), ((5.0, 0.3), (9.0, 0.2), 0.5), ((31.0, 2.0), (33.0, 0.2), 0.9)],
)
def test_motion_corrects_the_force_of_two_pressures_by_the_least_change(oil, shown, drawn):
    first, second, least, most = 0.02, 0.012, 0.2e6, 33e6
    before, wanted = 1e6 * np.array(oil), 1e6 * np.array(shown)
    after, areas = before.copy(), np.array([first, -second])
    draw(after, wanted, first, second, least, most, drawn)
    assert areas @ (after - before) == pytest.approx(drawn * areas @ (wanted - before), rel=1e-9)
    assert after.min() >= least
    assert after.max() <= most
    if least < after.min() and after.max() < most:
        assert abs((after - before) @ [second, first]) < 1e-6 * np.abs(after - before).max()  # along the areas


def test_the_common_part_of_two_pressures_is_kept(machine):
    """A boom that leaves its stop under an open valve has pressure on both sides; its motion shows one force."""
    bench = Bench(machine)
    bench.restart(300.0)
    bench.drive((8.0, 0.0, 0.0), 4.0)
    bench.drive((-6.0, 0.0, 0.0), 0.95)
    bench.see()
    index = bench.plant.system.index
    true = np.array([bench.plant.x[index('state', f'boom/{line}_pressure')] for line in ('head', 'rod')])
    pressures = bench.stops.states.drives[0, 1:3]
    assert true.min() > 15e6
    np.testing.assert_allclose(pressures, true, rtol=0.12)


@pytest.mark.parametrize('levers', [(0.0, 6.0, 6.0), (7.0, 4.0, -5.0)])
def test_a_chamber_that_empties_holds_no_tension(bench, levers):
    """An arm that rocks on shut valves and a swing that is braked empty chambers; the tank refills them."""
    bench.restart(1500.0)
    bench.drive((0.0, 0.0, 0.0), 0.5)
    bench.drive(levers, 1.0)
    names = [f'{drive}_pressure' for drive in ('boom/head', 'boom/rod', 'stick/head', 'stick/rod')]
    index, emptied, wrong = bench.plant.system.index, 0, []
    for _ in range(60):
        bench.see()
        bench.give((0.0, 0.0, 0.0))
        pressures = bench.stops.states.drives[0, [1, 2, 4, 5]]
        assert pressures.min() >= 0.99 * bench.stops.drives.chambers.least.min()
        true = bench.plant.x[[index('state', name) for name in names]]
        emptied += int((true < 0.25e6).any())
        wrong.append(np.abs(pressures - true).max())
    assert emptied > 5
    assert np.median(wrong) < 1e6


def test_a_stop_of_a_machine_at_a_corner_of_the_box_is_foreseen(machine):
    """Light links and a heavy payload swing and rock further than those of the model, and lower."""
    nominal = Bench(machine, GovernorSettings(delay=0.0))
    light = Bench(heavier(machine, 0.9), EXACT)
    shares = []
    for levers, seconds in ((OUT, 0.7), (SWINGING, 1.2), ((0.0, -7.0, 0.0), 1.0), ((0.0, 0.0, 8.0), 1.5)):
        light.restart(1800.0)
        nominal.plant, nominal.inputs, nominal.loads = light.plant, light.inputs, light.loads
        nominal.monitor.clear()
        nominal.monitor.payload = 1500.0
        nominal.stops.reset()
        nominal.volts = np.zeros(3)
        nominal.drive((0.0, 0.0, 0.0), 0.5)
        nominal.mean = nominal.stops.support.mean_push[0, 0]
        nominal.drive(levers, seconds)
        stop = nominal.stops.stop(nominal.volts)
        shares.append((stop.least, nominal.least_of_stop()[0]))
    predicted, true = np.array(shares).T
    assert true.min() < 0.3
    assert (predicted < true + 0.03).all(), shares


def test_a_lasting_command_leads_further(bench):
    bench.restart(2500.0)
    bench.drive((0.0, 0.0, 0.0), 0.5)
    volts = np.array([0.0, 0.15, 0.0])
    short, on = bench.stops.stop(volts), bench.stops.stop(volts, toward=np.array([0.0, 8.0, 0.0]))
    assert short.standing == pytest.approx(bench.share, abs=2e-3)
    assert on.standing > short.standing + 0.02


def test_a_stop_is_predicted_until_all_valves_are_at_neutral_at_any_rate(machine):
    slow = StopPredictor(machine, range(3), StabilityMonitor(machine, ('zmp',)), replace(EXACT, rate=2.0))
    assert slow.times.horizon * STEP_TIME >= machine.actuators[0].command_limit / 2.0
    usual = StopPredictor(machine, range(3), StabilityMonitor(machine, ('zmp',)), EXACT)
    assert usual.times.horizon * STEP_TIME == pytest.approx(EXACT.horizon)


def test_without_a_footing_there_is_no_prediction(machine):
    stops = StopPredictor(machine, range(3), StabilityMonitor(machine, ('zmp',)), EXACT)
    stops.see()
    assert np.isnan(stops.degree)


def test_commands_are_in_the_order_of_the_levers(machine, bench):
    turned = StopPredictor(machine, (2, 0, 1), bench.monitor, EXACT)
    bench.restart(2500.0)
    bench.drive((0.0, 0.0, 0.0), 0.5)
    turned.see()
    toward = np.array([0.0, 5.0, 0.0])
    expected = bench.stops.stop(np.zeros(3), toward=toward)
    assert turned.stop(np.zeros(3), toward=toward[[2, 0, 1]]) == pytest.approx(expected)


@pytest.mark.parametrize('swing', [0.0, 0.6, -1.2])
@pytest.mark.parametrize('function', range(3))
def test_easing_functions_increase_the_stability_of_the_simulated_machine(bench, function, swing):
    """Each lever in both directions until the joint has moved a few degrees; then the loads at rest in that posture."""

    def restart(posture):
        bench.plant.start = posture
        try:
            bench.restart(4000.0)
        finally:
            bench.plant.start = {}
        return bench.share

    outcomes = set()
    for sign in (-1.0, 1.0):
        before = restart({'swing_joint': swing})
        bench.drive((0.0, 0.0, 0.0), 0.6)
        command, eases = np.zeros(3), np.empty(3, dtype=bool)
        command[function] = sign * 6.0
        eases_of(command, bench.stops.situation, eases)
        bench.drive(command, 0.5)
        change = restart(dict(zip(bench.plant.joints, bench.plant.positions.tolist()))) - before
        assert abs(change) > 1e-3
        assert eases[function] == (change > 0.0)
        outcomes.add(bool(eases[function]))
    assert outcomes == {False, True}


@pytest.mark.parametrize('seconds', [1.0, 1.15, 1.25, 1.3, 1.35, 1.4, 1.45])
def test_the_prediction_is_conservative_for_a_boom_that_reaches_its_joint_stop(bench, seconds):
    """Braked 0.07 rad before it, some milliradians before it, and too late."""
    bench.plant.start = {'boom_joint': bench.plant.machine.joint('boom_joint').upper - 0.25}
    try:
        bench.restart(1000.0)
    finally:
        bench.plant.start = {}
    bench.drive((0.0, 0.0, 0.0), 0.5)
    bench.drive((8.0, 0.0, 0.0), seconds)
    foreseen = bench.stops.stop(bench.volts).least
    least, _ = bench.least_of_stop()
    assert foreseen < least + 0.03


def test_the_force_of_a_cylinder_is_estimated_while_the_base_rocks(bench):
    """Extend and retract 4,000 kg, and stop; with a base assumed at rest a third of the load is missed."""
    system, chambers = bench.plant.system, bench.stops.drives.chambers
    first, second = chambers.first[0], chambers.second[0]
    indices = [system.index('state', f'boom/{line}_pressure') for line in ('head', 'rod')]
    bench.restart(4000.0)
    bench.drive((0.0, 0.0, 0.0), 0.5)
    carried, missed = [], []
    for levers in [(-6.0, 0.0, 0.0)] * 50 + [(6.0, 0.0, 0.0)] * 50 + [(0.0, 0.0, 0.0)] * 120:
        bench.see()
        head, rod = bench.plant.x[indices]
        pressures, _ = shown_now(bench)
        carried.append(first * head - second * rod)
        missed.append(first * pressures[0] - second * pressures[1] - carried[-1])
        bench.give(levers)
    assert np.sqrt(np.mean(np.square(missed))) < 0.1 * np.mean(carried)


def test_twice_as_many_wheels_of_half_the_stiffness_give_the_same_stop(machine):
    """Eight wheels: each force is half, and its share of the mean is the same; their friction is greater."""
    half = [replace(one, stiffness=one.stiffness / 2.0, damping=one.damping / 2.0) for one in machine.wheels]
    other = [replace(one, name=f'{one.name}_twin') for one in half]
    doubled = replace(machine, wheels=tuple(one for pair in zip(half, other) for one in pair))
    assert len(doubled.supports) == 8
    benches = [Bench(one) for one in (machine, doubled)]
    predicted = []
    for bench in benches:
        bench.restart(4000.0)
        bench.drive(OUT, 0.8)
        bench.drive(SWINGING, 0.4)
        bench.see()
        predicted.append([bench.stops.stop(np.array(volts)) for volts in (bench.volts, OUT, SWINGING, (0.0, 0.0, 0.0))])
    for one, twice in zip(*predicted):
        assert twice.least == pytest.approx(one.least, abs=2e-3)
        assert twice.ahead == pytest.approx(one.ahead, abs=0.021)
        assert twice.standing == pytest.approx(one.standing, abs=2e-3)
        assert twice.contact // 2 == one.contact
