"""Identification of valve areas, bulk modulus and friction from recordings of a simulated machine."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import yaml
from excited_run import PRESSURE_EVERY, excited_run
from recorded_run import HEADER, BagOfRun, log_loader, stamp

from dyn_nodes.analysis.bag_reading import BagReadingError
from dyn_nodes.analysis.hydraulic_fit import FitError, Signal, fit_actuator
from dyn_nodes.analysis.oil_shooting import Shooting
from dyn_nodes.analysis.signal_smoothing import noise_level, smooth
from dyn_nodes.cli import build_parser
from dyn_nodes.commands import CommandError, fit
from dyn_nodes.common.share import find_resource

NAMES = ('boom', 'stick', 'swing')
GAINS = ('inlet_gain', 'outlet_gain', 'bypass_area')


@pytest.fixture(scope='module')
def run():
    return excited_run(log_loader(), duration=60.0, seed=4)


def truth(actuator):
    valve = actuator.valve
    gains = {'inlet_gain': valve.inlet_gain, 'outlet_gain': valve.outlet_gain, 'bypass_area': valve.bypass_area}
    return {**gains, 'bulk_modulus': actuator.supply.bulk_modulus, 'viscous': actuator.viscous}


def wrong_guess(actuator):
    """Return a wrong first guess, like a machine file from catalogues."""
    valve = actuator.valve
    return replace(
        actuator,
        valve=replace(
            valve,
            inlet_gain=1.3 * valve.inlet_gain,
            outlet_gain=0.75 * valve.outlet_gain,
            bypass_area=1.2 * valve.bypass_area,
        ),
        supply=replace(actuator.supply, bulk_modulus=0.7 * actuator.supply.bulk_modulus),
        viscous=0.0,
    )


@pytest.fixture(scope='module')
def fits(run):
    return {
        name: fit_actuator(run.machine, wrong_guess(run.machine.actuator(name)), run.record(name, noise=0.01, seed=0))
        for name in NAMES
    }


@pytest.mark.slow
@pytest.mark.parametrize('name', NAMES)
def test_parameters_are_recovered_at_one_percent_noise(run, fits, name):
    actuator, result = run.machine.actuator(name), fits[name]
    true = truth(actuator)
    for key in GAINS:
        assert result.estimates[key].value == pytest.approx(true[key], rel=0.03), key
    assert result.estimates['bulk_modulus'].value == pytest.approx(true['bulk_modulus'], rel=0.05)
    assert result.estimates['viscous'].value == pytest.approx(true['viscous'], rel=0.15)
    for key, estimate in result.estimates.items():
        assert estimate.identified, key
        assert abs(estimate.value - true[key]) < 4.0 * estimate.error, key
    assert (result.misfit < 3.0).all()
    assert result.warnings == ()


def test_without_noise_the_parameters_are_exact(run):
    actuator = run.machine.actuator('boom')
    result = fit_actuator(run.machine, wrong_guess(actuator), run.record('boom', noise=0.0, seed=0))
    for key, value in truth(actuator).items():
        assert result.estimates[key].value == pytest.approx(value, rel=3e-3), key


def test_the_simulated_oil_is_that_of_the_plant(run):
    shooting = Shooting(run.machine, run.machine.actuator('stick'), run.record('stick', noise=0.0, seed=0))
    exact = np.concatenate([np.zeros(4), shooting.first_pressures() / shooting.pressure_scale])
    settled = exact.copy()
    for _ in range(3):  # the first guesses of the pressures are time averages
        matrix, left = shooting.jacobian(settled), shooting.residuals(settled)
        settled[4:] -= np.linalg.lstsq(matrix[:, 4:], left, rcond=None)[0]
    assert (shooting.left_over(settled) < 1e5).all()


@pytest.mark.slow
def test_a_wrong_machine_file_is_detected(run):
    actuator = run.machine.actuator('boom')
    wrong = replace(actuator, head_area=0.8 * actuator.head_area)
    result = fit_actuator(run.machine, wrong, run.record('boom', noise=0.01, seed=0))
    assert any('may be wrong' in warning for warning in result.warnings)


def test_a_valve_that_never_opens_gives_no_parameters(run):
    record = run.record('boom', noise=0.01, seed=0)
    still = replace(record, spool=Signal(record.spool.times, 1e-5 * np.sin(record.spool.times)))
    with pytest.raises(FitError, match=r'boom: the spool leaves its dead zone of 0.5 mm in 0.0 % of the time'):
        fit_actuator(run.machine, run.machine.actuator('boom'), still)


def test_an_actuator_that_never_moves_is_rejected_by_name(run):
    record = run.record('boom', noise=0.0, seed=0)
    still = replace(record, spool=Signal(record.spool.times, np.zeros_like(record.spool.times)))
    with pytest.raises(FitError, match=r'boom: the spool leaves its dead zone of 0.5 mm in 0.0 % of the time'):
        fit_actuator(run.machine, run.machine.actuator('boom'), still)


@pytest.mark.parametrize('value', [0.0, 0.3, -2.0e5])
def test_smoothing_leaves_a_signal_that_never_changes_alone(value):
    t = np.linspace(0.0, 4.0, 801)
    for rates in (None, np.zeros_like(t)):
        result = smooth(0.0, 4.0, 5e-3, t, np.full_like(t, value), rates)
        np.testing.assert_allclose(result.values, value, rtol=1e-6, atol=1e-15)
        np.testing.assert_allclose(result.rates, 0.0, atol=1e-4 * max(1.0, abs(value)))


def test_a_short_recording_is_rejected(run):
    record = run.record('boom', noise=0.01, seed=0)
    few = slice(0, 800)
    short = replace(record, spool=Signal(record.spool.times[few], record.spool.values[few]))
    with pytest.raises(FitError, match=r'expected 4 s or more with all topics, found 3.20 s'):
        fit_actuator(run.machine, run.machine.actuator('boom'), short)


def test_without_efforts_friction_is_not_estimated(run):
    record = replace(run.record('swing', noise=0.01, seed=0), effort=None)
    result = fit_actuator(run.machine, run.machine.actuator('swing'), record)
    assert np.isnan(result.estimates['viscous'].value)
    assert result.warnings == ('the recorded motion does not determine viscous',)


# ---------------------------------------------------------------------------------------------- from a bag


@pytest.fixture(scope='module')
def bag(run, tmp_path_factory):
    path = tmp_path_factory.mktemp('excited') / 'bag'
    record = run.record('swing', noise=0.01, seed=1)
    pressures = {'pressure_a': record.first, 'pressure_b': record.second, 'supply_pressure': record.supply}
    with BagOfRun(path) as writer:
        joint = zip(record.position.times, record.position.values, record.velocity.values, record.effort.values)
        for k, (time, q, qd, effort) in enumerate(joint):
            if time > 30.0:
                break
            header = HEADER(stamp=stamp(time), frame_id='')
            arrays = (np.array([value]) for value in (q, qd, effort))
            fields = dict(zip(('position', 'velocity', 'effort'), arrays))
            writer.write(
                'joint_states', 'sensor_msgs/msg/JointState', time, header=header, name=['swing_joint'], **fields
            )
            if k % PRESSURE_EVERY:
                continue
            at = k // PRESSURE_EVERY
            for topic, signal in pressures.items():
                value = {'fluid_pressure': float(signal.values[at]), 'variance': 0.0}
                writer.write(f'hydraulics/swing/{topic}', 'sensor_msgs/msg/FluidPressure', time, header=header, **value)
            writer.write('hydraulics/swing/spool', 'std_msgs/msg/Float64', time, data=float(record.spool.values[at]))
    return path


def command(*arguments):
    return fit.run(build_parser(['fit']).parse_args(['fit', 'hydraulics', *map(str, arguments)]))


FILES = (
    '--machine',
    find_resource('urdf/log_loader.urdf'),
    '--config',
    find_resource('config/log_loader.yaml'),
)


def test_the_command_fits_a_bag_of_actuators(bag, capsys):
    assert command(bag, *FILES, '--json') == 0
    facts = json.loads(capsys.readouterr().out)
    assert [entry['actuator'] for entry in facts['fits']] == ['swing']
    estimates = facts['fits'][0]['estimates']
    true = truth(log_loader().actuator('swing'))
    for key in GAINS:
        assert estimates[key]['value'] == pytest.approx(true[key], rel=0.06), key
    assert estimates['bulk_modulus']['value'] == pytest.approx(true['bulk_modulus'], rel=0.05)


@pytest.mark.slow
def test_the_table_and_the_lines_for_the_machine_file(fits, capsys):
    fit._print(list(fits.values()))
    shown = capsys.readouterr().out
    assert 'standard error' in shown
    lines = yaml.safe_load(shown[shown.index('actuators:') :])['actuators']
    assert list(lines) == list(NAMES)
    assert lines['swing']['supply']['bulk_modulus'] == pytest.approx(827.37e6, rel=0.05)
    assert set(lines['swing']['valve']) == set(GAINS)
    assert lines['boom']['viscous'] == pytest.approx(4e4, rel=0.15)


def test_missing_topics_of_a_bag_are_named(bag, capsys):
    assert command(bag, *FILES, '--actuator', 'boom') == 1
    assert 'boom: not in the bag: /hydraulics/boom/spool, /hydraulics/boom/head_pressure' in capsys.readouterr().err
    with pytest.raises(CommandError, match="unknown actuator 'arm'; known: boom, stick, swing"):
        command(bag, *FILES, '--actuator', 'arm')
    with pytest.raises(BagReadingError, match='found nothing'):
        command(bag.parent / 'none', *FILES)


# ---------------------------------------------------------------------------------------------- smoothing


def test_noise_is_read_off_the_samples():
    rng = np.random.default_rng(0)
    t = np.linspace(0.0, 10.0, 2001)
    signal = np.sin(3.0 * t) + np.where(t > 5.0, 0.5, 0.0)  # a jump has little effect
    assert noise_level(signal + 0.02 * rng.normal(size=len(t))) == pytest.approx(0.02, rel=0.08)
    assert noise_level(np.sin(3.0 * t)) < 1e-9


@pytest.mark.parametrize('uneven', [False, True])
def test_smoothing_finds_a_motion_and_its_rate(uneven):
    rng = np.random.default_rng(1)
    t = np.sort(rng.uniform(0.0, 8.0, 1600)) if uneven else np.linspace(0.0, 8.0, 1601)
    q, qd = np.sin(2.0 * t), 2.0 * np.cos(2.0 * t)
    noisy = q + 0.05 * rng.normal(size=len(t)), qd + 0.05 * rng.normal(size=len(t))
    alone, both = smooth(0.0, 8.0, 5e-3, t, noisy[0]), smooth(0.0, 8.0, 5e-3, t, *noisy)
    inner = (t > 0.2) & (t < 7.8)
    errors = [np.sqrt(np.mean((part.at(t)[0] - q)[inner] ** 2)) for part in (alone, both)]
    assert errors[0] < 0.015
    assert errors[1] < errors[0]
    assert np.sqrt(np.mean((both.at(t)[1] - qd)[inner] ** 2)) < 0.02


def test_smoothing_leaves_exact_samples_alone():
    t = np.linspace(0.0, 4.0, 801)
    result = smooth(0.0, 4.0, 5e-3, t, np.sin(2.0 * t), 2.0 * np.cos(2.0 * t))
    assert np.abs(result.at(t)[0] - np.sin(2.0 * t)).max() < 2e-5


def test_too_few_samples_are_rejected():
    with pytest.raises(ValueError, match='expected ten samples or more'):
        smooth(0.0, 1.0, 0.01, np.linspace(0.0, 1.0, 5), np.zeros(5))
