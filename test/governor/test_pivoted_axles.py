"""The governor of machines on pivoted axles and bogies: loads at rest and stops against the simulated machine."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from pivoted_machines import FRONT, REAR, effort_machine, on_axles
from test_braking import EXACT, OUT, SWINGING, Bench

from dyn_nodes.common.share import find_resource
from dyn_nodes.governor.campaign.campaign import random_cases
from dyn_nodes.governor.campaign.cases import Case, attack_cases, box_of
from dyn_nodes.governor.campaign.governed_run import Rig
from dyn_nodes.governor.settings import JERK, GovernorSettings
from dyn_nodes.model import load_machine
from dyn_nodes.model.constraint import JointClass
from dyn_nodes.monitor.measured_samples import sample_of
from dyn_nodes.stability.equilibrium.gear import GearError
from dyn_nodes.stability.equilibrium.standing import on_standing_wheels

EXACT_EFFORTS = GovernorSettings(rate=JERK, delay=0.0, lateness=0.0, mass_error=0.0, payload_error=0.0)
RIGID = 'expected supports that are rigid with the base or on free pivots'


@cache
def loader():
    return load_machine(find_resource('urdf/log_loader.urdf'), find_resource('config/log_loader.yaml'))


@cache
def rig_of(name):
    if name == 'log_loader':
        return Rig(on_axles(loader(), REAR), EXACT)
    return Rig(on_standing_wheels(effort_machine(name)), EXACT_EFFORTS)


@cache
def bench_of(limit):
    return Bench(on_axles(loader(), REAR, limit=limit))


@pytest.mark.parametrize(
    ('name', 'start', 'payload', 'slope'),
    [
        ('telehandler', (0.15, 0.05, -0.15), 0.0, (0.0, 0.0)),
        ('telehandler', (1.0, 1.5, -0.3), 1000.0, (5.0, 0.0)),
        ('telehandler', (0.3, 0.5, -0.3), 2000.0, (-4.0, 3.0)),
        ('telehandler', (0.9, 0.4, -0.3), 500.0, (0.0, 6.0)),
        ('log_loader', (0.96, -1.83, 0.0), 1000.0, (0.0, 0.0)),
        ('log_loader', (0.5, -1.2, 0.7), 1000.0, (3.0, 2.0)),
        ('log_loader', (0.3, -0.8, -1.2), 500.0, (4.0, -3.0)),
        ('forwarder', (3.1, 1.0, -2.3, 0.05), 500.0, (0.0, 0.0)),
        ('forwarder', (-1.5, 0.6, -1.5, 0.5), 500.0, (-3.0, -4.0)),
        ('forwarder', (0.5, 0.6, -1.5, 1.5), 300.0, (2.0, -4.0)),
    ],
)
def test_wheel_loads_at_rest_equal_those_of_the_plant(name, start, payload, slope):
    """All wheels, also on the pivoted axle, on slopes ahead, aside and diagonal, to 1e-3 of the mean load."""
    rig = rig_of(name)
    roll, pitch = np.radians(slope)
    levers = (0.0,) * len(rig.effects.names)
    case = Case(((1.0, levers),), payload, payload, roll=roll, pitch=pitch, start=start)
    trial, partner = rig.trial(case, governed=False), rig.partner(True)
    partner.restart(payload)
    partner.measure(sample_of(trial.plant, True))
    stops = partner.stops
    stops.see()
    loads = trial.watch.rest / stops.support.mean_push[0, 0]
    assert loads.min() > 0.0
    assert stops._at_rest(0)[: len(loads)] == pytest.approx(loads, abs=1e-3)
    assert stops.degree == pytest.approx(loads.min(), abs=1e-3)
    assert stops.stop(np.zeros(len(levers))).least == pytest.approx(loads.min(), abs=2e-3)


@pytest.mark.parametrize(
    ('limit', 'levers', 'payload', 'seconds', 'slope'),
    [
        (0.2, OUT, 1000.0, 1.0, (0.0, 0.0)),
        (0.2, OUT, 1500.0, 0.7, (0.05, 0.0)),
        (0.2, SWINGING, 1000.0, 1.5, (0.05, 0.0)),
        (0.2, SWINGING, 1000.0, 1.0, (0.0, -0.05)),
        (0.01, SWINGING, 1000.0, 1.5, (0.0, 0.0)),
    ],
)
def test_a_stop_on_a_pivoted_axle_is_predicted_with_no_more_load_than_the_plant_keeps(
    limit, levers, payload, seconds, slope
):
    """Also when the axle meets its stops: the wheels of the plant creep on the ground, which damps the rolling."""
    bench = bench_of(limit)
    bench.restart(payload, slope)
    bench.drive(np.zeros(3), 0.5)
    before = bench.share
    bench.drive(levers, seconds)
    stop = bench.stops.stop(bench.volts)
    least, _ = bench.least_of_stop()
    assert least < before - 0.05, 'the stop has an effect'
    assert least - 0.15 <= stop.least <= least + 0.02


@pytest.mark.parametrize('criterion', ['lift_off', 'tipping'])
def test_no_machine_on_a_pivoted_axle_lifts_a_wheel(criterion):
    machine = on_axles(loader(), REAR)
    box, rig = box_of(machine, any_start=True, duration=5.0), Rig(machine, GovernorSettings(criterion=criterion))
    cases = [rig.placed(case) for case in (*random_cases(box, 2, seed=5), *attack_cases(box, 2, seed=5))]
    outcomes = [rig.run(case) for case in cases if not rig.rejects(case)]
    assert outcomes, 'a start is certified'
    assert not any(outcome.lifted or outcome.overturned or outcome.diverged for outcome in outcomes)
    assert max(outcome.let_through for outcome in outcomes) > 0.1


def test_the_telehandler_is_governed_by_efforts():
    machine = effort_machine('telehandler')
    with pytest.raises(
        ValueError, match=r'expected a delay of 0\.03 s at most, with which efforts bring its arm to rest, found 0\.1 s'
    ):
        box_of(machine, efforts=True)
    box = box_of(machine, efforts=True, any_start=True, delay=0.03, duration=4.0)
    rig = Rig(machine, GovernorSettings(rate=JERK, delay=0.03))
    outcomes = [rig.run(case) for case in attack_cases(box, 3, seed=1)]
    assert not any(outcome.lifted or outcome.overturned or outcome.diverged for outcome in outcomes)
    assert max(outcome.let_through for outcome in outcomes) > 0.1


def test_two_pivoted_axles_leave_the_base_free_and_are_rejected_by_name():
    expected = "expected a base held by its supports, found it free on 'front_left_axle_joint', 'rear_left_axle_joint'"
    with pytest.raises(GearError, match=expected):
        box_of(on_axles(loader(), FRONT, REAR))


@pytest.mark.parametrize(
    ('changes', 'found'), [({'friction': 500.0}, 'dry friction'), ({'type': 'prismatic'}, 'class free, prismatic')]
)
def test_pivots_with_friction_and_suspensions_are_rejected_by_name(changes, found):
    machine = on_axles(loader(), REAR)
    *joints, axle = machine.joints
    with pytest.raises(GearError, match=f"{RIGID}, found 'rear_left_axle_joint' with .*{found}"):
        box_of(replace(machine, joints=(*joints, replace(axle, **changes))))


def test_a_sprung_axle_is_rejected_by_name():
    machine = on_axles(loader(), REAR)
    sprung = JointClass('rear_left_axle_joint', 'flexible', stiffness=1e5)
    with pytest.raises(GearError, match=f"{RIGID}, found 'rear_left_axle_joint' with the class flexible"):
        box_of(replace(machine, joint_classes=(sprung,)))
