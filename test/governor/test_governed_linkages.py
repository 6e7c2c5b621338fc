"""The governor of machines whose cylinders move linkages: the bodies of the linkages move in the prediction."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import casadi as ca
import numpy as np
import pytest
from test_braking import EXACT, OUT, SWINGING, Bench

from dyn_nodes.common.share import find_resource
from dyn_nodes.constraints.kinds.prescribed import PrescribedConstraint
from dyn_nodes.constraints.linkages import Linkages
from dyn_nodes.governor.campaign.campaign import random_cases
from dyn_nodes.governor.campaign.cases import Case, attack_cases, box_of
from dyn_nodes.governor.campaign.governed_run import Rig
from dyn_nodes.governor.campaign.sensor_campaign import run_faulty
from dyn_nodes.governor.campaign.sensor_faults import SensorFault
from dyn_nodes.governor.campaign.troubles import Troubles
from dyn_nodes.governor.prediction import eases_of
from dyn_nodes.governor.settings import GovernorSettings
from dyn_nodes.governor.stop_model import StopModel
from dyn_nodes.model import load_machine
from dyn_nodes.model.constraint import WORLD, JointClass, Profile
from dyn_nodes.model.linkage import piston_position
from dyn_nodes.model.locking import parked, parked_joints
from dyn_nodes.simulation.start import assembled

RODS = ('boom_rod_joint', 'stick_rod_joint', 'swing_joint')


@cache
def vehicle(name: str):
    return parked(load_machine(find_resource(f'urdf/{name}.urdf'), find_resource(f'config/{name}.yaml')))


@pytest.fixture(scope='module', params=['log_loader_linkage', 'excavator'])
def linked(request):
    return vehicle(request.param)


@pytest.fixture(scope='module')
def linked_loader():
    return Rig(vehicle('log_loader_linkage'), EXACT)


@pytest.fixture(scope='module')
def loader(machine):
    return Rig(machine, EXACT)


def traced(machine, driven):
    n = len(machine.movable_joints)
    q, v = ca.SX.sym('q', n), ca.SX.sym('v', n)
    return q, v, Linkages(machine, driven, q, v)


def pieces(linked_loader, loader, boom: float, stick: float, swing: float):
    """Return the positions of the cylinders that belong to angles of boom and stick, for both models."""
    pistons = [
        piston_position(actuator.linkage, angle)
        for actuator, angle in zip(loader.machine.actuators, (boom, stick), strict=False)
    ]
    return (boom, stick, swing), (*pistons, swing)


@pytest.mark.parametrize('posture', [(0.96, -1.83, 0.0), (0.5, -1.2, 0.7), (0.1, -0.5, 1.6)])
@pytest.mark.parametrize('payload', [0.0, 1500.0])
def test_linkages_as_bodies_and_as_levers_of_cylinders_give_the_same_stop(linked_loader, loader, posture, payload):
    """The other machine file has the lengths of the same linkages; 3 % of the mass is in their bodies."""
    angles, pistons = pieces(linked_loader, loader, *posture)
    margins = []
    for rig, start in ((loader, angles), (linked_loader, pistons)):
        margins.append(rig.start_margin(Case(((1.0, (0.0, 0.0, 0.0)),), payload, payload, start=start)))
    assert margins[0] == pytest.approx(margins[1], abs=1e-5 if posture[0] == 0.96 else 6e-3)


def test_a_run_has_the_same_course_with_linkages_as_bodies_and_as_levers(linked_loader, loader):
    case = Case(((3.0, OUT), (2.0, SWINGING)), 2500.0, 2500.0, duration=5.0)
    bodies, levers = linked_loader.run(case), loader.run(case)
    assert levers.let_through < 0.9, 'the governor intervenes'
    assert bodies.let_through == pytest.approx(levers.let_through, abs=0.03)
    assert bodies.share == pytest.approx(levers.share, abs=0.03)


@pytest.mark.parametrize(
    ('name', 'levers', 'payload', 'seconds'),
    [
        ('log_loader_linkage', OUT, 2500.0, 0.7),
        ('log_loader_linkage', SWINGING, 1000.0, 1.5),
        ('excavator', (6.0, -6.0, 0.0, 0.0), 0.0, 0.8),
        ('excavator', (5.0, 0.0, 0.0, 7.0), 0.0, 0.6),
    ],
)
def test_a_stop_of_a_machine_with_linkages_is_foreseen(name, levers, payload, seconds):
    """The least share agrees with the one of the simulated machine to 0.1."""
    bench = bench_of(name)
    bench.restart(payload)
    bench.drive(np.zeros(len(levers)), 0.5)
    before = bench.share
    bench.drive(levers, seconds)
    stop = bench.stops.stop(bench.volts)
    assert np.abs(bench.monitor.v).max() > 0.1, 'it moves'
    least, _ = bench.least_of_stop()
    assert least < before - 0.05, 'the stop has an effect'
    assert max(stop.least, 0.0) == pytest.approx(least, abs=0.1)


@cache
def bench_of(name: str) -> Bench:
    return Bench(vehicle(name))


def test_a_predicted_motion_keeps_the_loops_closed(linked):
    """From noisy measurements, too: positions and speeds of dependent joints follow from the driven ones."""
    model, rig = StopModel(linked), bench_of(linked.name)
    rig.restart(1000.0)
    rig.drive(np.zeros(len(linked.actuators)), 0.3)
    plant, at = rig.plant, model.layout
    state = rig.stops.states.vectors[0].copy()
    noise = np.random.default_rng(1).normal(0.0, 2e-3, at.drives)
    state[: at.drives] += noise
    volts, after, seen = np.full(len(linked.actuators), -4.0), np.empty(at.size), np.empty(2)
    gaps = []
    for _ in range(60):
        model.kernels.stride(state, volts, rig.stops.surroundings.vector[0], rig.stops.support.vector[0], after, seen)
        state[:] = after
        gaps.append(float(np.abs(residual(plant, state[: at.velocities])).max()))
    assert np.abs(state[at.velocities : at.drives]).max() > 0.05, 'it moves'
    assert np.abs(residual(plant, noise[: at.velocities] + plant.positions)).max() > 1e-3, 'the noise opens the loops'
    assert max(gaps) < 1e-4


def residual(plant, q):
    """Return the gaps (m,) of the loops at joint positions (n,), m or rad."""
    blocks = plant.system.blocks
    positions = blocks.tree.neutral
    for joint, value in zip(plant.machine.movable_joints, q):
        positions[blocks.tree.position_names.index(joint.name)] = value
    return blocks.at(positions).residual


def test_the_complement_spans_the_velocities_that_the_loops_allow(linked):
    driven = [actuator.joint for actuator in linked.actuators]
    q, _, linkages = traced(linked, driven)
    names = [joint.name for joint in linked.movable_joints]
    assert {names[k] for k in linkages.independent} == set(driven)
    system = bench_of(linked.name).plant.system
    blocks, at = system.blocks, assembled(system).q
    order = [blocks.tree.velocity_names.index(name) for name in names]
    here = at[[blocks.tree.position_names.index(name) for name in names]]
    complement = np.array(ca.Function('N', [q], [ca.densify(linkages.complement)])(here))
    jacobian = blocks.at(at).J[:, order]
    assert np.abs(jacobian @ complement).max() < 1e-9 * np.abs(jacobian).max()


def test_the_loops_determine_the_joints_within_their_limits_and_not_at_a_dead_centre(linked_loader):
    """The rod of the stick extends until rocker and rod are in line; a stop there is the worst possible."""
    machine = linked_loader.machine
    q, _, linkages = traced(machine, RODS)
    sound, gap = (ca.Function('of', [q], [part]) for part in (linkages.soundness, linkages.gap))
    first = machine.initial.joint_positions
    here = np.array([first[joint.name] for joint in machine.movable_joints])
    rod, values, within = [joint.name for joint in machine.movable_joints].index('stick_rod_joint'), [], []
    limits = np.array([(joint.lower, joint.upper) for joint in machine.movable_joints]).T
    for position in np.arange(here[rod], 1.5, 1e-3):
        here[rod] = position
        for _ in range(4):
            here -= np.array(gap(here)).ravel()
        values.append(float(sound(here)))
        within.append(bool((here >= limits[0]).all() and (here <= limits[1]).all()))
        if values[-1] < 0.0:
            break
    assert sum(within) > 50
    assert min(value for value, inside in zip(values, within, strict=True) if inside) > 10.0
    assert values[-1] < 0.0
    assert not within[-1]


def test_drives_that_a_loop_connects_are_rejected(linked_loader):
    machine = linked_loader.machine
    expected = 'expected drives that move independently of each other, found that linkages move boom_rod_joint'
    with pytest.raises(ValueError, match=expected):
        traced(machine, ('boom_rod_joint', 'boom_joint'))


def test_constraints_to_the_world_over_the_time_and_held_joints_are_rejected_by_name():
    """A link that is pinned to the world holds the base, which the prediction does not know."""
    machine = vehicle('log_loader_linkage')
    first, *others = machine.constraints
    pinned = replace(first, second=replace(first.second, link=WORLD))
    moved = PrescribedConstraint(
        name='driven_pin', joint='boom_joint', profile=Profile('sine', amplitude=0.1, frequency=1.0)
    )
    held = JointClass('rocker_joint', 'locked')
    for changes, found in (
        ({'constraints': (pinned, *others)}, 'boom_pin'),
        ({'constraints': (*machine.constraints, moved)}, 'driven_pin'),
        ({'joint_classes': (held,)}, 'rocker_joint'),
    ):
        with pytest.raises(ValueError, match=f'expected constraints between links of the machine.*found {found}$'):
            traced(replace(machine, **changes), RODS)


def test_the_lever_that_pulls_the_load_in_eases_through_its_linkage(linked_loader):
    margin = linked_loader.start_margin(Case(((1.0, (0.0, 0.0, 0.0)),), 1500.0, 1500.0))
    stops, eases = linked_loader.partner(True).stops, np.empty(3, np.bool_)
    assert margin > 0.0
    eases_of(np.array([1.0, 1.0, 0.0]), stops.situation, eases)
    inwards = eases[:2].copy()
    eases_of(np.array([-1.0, -1.0, 0.0]), stops.situation, eases)
    assert (inwards != eases[:2]).all()


def test_sprockets_of_tracks_are_parked():
    machine = load_machine(find_resource('urdf/excavator.urdf'), find_resource('config/excavator.yaml'))
    assert parked_joints(machine) == ('left_sprocket_joint', 'right_sprocket_joint')
    still = parked(machine)
    assert [actuator.name for actuator in still.actuators] == ['boom', 'arm', 'bucket', 'swing']
    assert len(still.supports) == len(machine.supports)


@pytest.mark.parametrize('criterion', ['lift_off', 'tipping'])
def test_no_machine_with_linkages_lifts_or_tips(linked, criterion):
    box = box_of(linked, any_start=True, duration=5.0)
    rig = Rig(linked, GovernorSettings(criterion=criterion))
    cases = [rig.placed(case) for case in (random_cases(box, 2, seed=5)[1], attack_cases(box, 1, seed=5)[0])]
    outcomes = [rig.run(case) for case in cases if not rig.rejects(case)]
    assert outcomes, 'a start is certified'
    assert not any(outcome.lifted or outcome.overturned or outcome.diverged for outcome in outcomes)
    assert max(outcome.let_through for outcome in outcomes) > 0.1


def test_a_start_at_which_the_linkages_do_not_close_is_moved_towards_the_first_posture():
    rig = Rig(vehicle('excavator'))
    case = replace(random_cases(box_of(rig.machine), 1, seed=1)[0], start=(1.18, 1.49, 1.08, 0.0))
    assert rig.start_margin(case) == -np.inf
    assert rig.start_margin(rig.placed(case)) >= rig.settings.law.least


@pytest.mark.parametrize(
    'fault', [SensorFault('boom_joint', 'offset', 0.04), SensorFault('boom_joint/position', 'frozen', begin=0.1), None]
)
def test_an_encoder_that_does_not_fit_its_linkage_is_detected(linked, fault):
    """Sound encoders with noise raise no alarm."""
    volts = (8.0,) + (4.0,) * (len(linked.actuators) - 1)
    case = Case(((1.5, volts),), 500.0, 500.0, duration=1.5, troubles=Troubles(noise=1.0, seed=1, fault=fault))
    outcome = run_faulty(Rig(linked, GovernorSettings(criterion='tipping')), case)
    assert outcome.share > 0.1
    if fault is None:
        assert (outcome.found, outcome.text) == (None, '')
    else:
        assert outcome.found < 1.0
        assert 'boom_pin: the positions of boom_joint, boom_barrel_joint, boom_rod_joint leave it open' in outcome.text
