"""Ground reactions along planned motions: closed forms of sliding and tipping, and sufficient conditions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dyn_nodes.analysis.contact_check import ContactCheck, ContactCheckError
from dyn_nodes.analysis.motion_plan import MotionPlan, load_motion_plan
from dyn_nodes.cli import main
from dyn_nodes.common.share import find_resource
from dyn_nodes.model import load_machine
from dyn_nodes.model.problems import MachineError
from dyn_nodes.nodes.machines import machine_of

GRAVITY, FRICTION, AWAY, TIME = 9.81, 0.3, 1.0, 1.0
ENDS = 6.0 * AWAY / TIME**2
"""Greatest acceleration of a clamped cubic spline through two points, at both ends, m/s2."""
TUCKED, OUT = {'boom_joint': 0.5, 'stick_joint': -1.8}, {'boom_joint': 0.0, 'stick_joint': 0.0}


@pytest.fixture(scope='module')
def machine():
    return load_machine(find_resource('urdf/log_loader.urdf'), find_resource('config/log_loader.yaml'))


@pytest.fixture(scope='module')
def check(machine):
    return ContactCheck(machine, 0.0, FRICTION)


def straight(machine, heading=0.0, joints=TUCKED, payload=0.0):
    """Return the check of a drive of a metre in a second towards a heading, from rest to rest."""
    away = AWAY * np.array([np.cos(heading), np.sin(heading), 0.0])
    posture = np.array([joints.get(joint.name, 0.0) for joint in machine.movable_joints])
    return MotionPlan('', machine, payload, np.array([0.0, TIME]), np.array([0 * away, away]), np.array([posture] * 2))


@pytest.mark.parametrize('heading', [0.0, 1.0, np.pi / 2])
def test_driving_off_slides_beyond_the_acceleration_of_friction(machine, check, heading):
    """All wheels have one coefficient: the vehicle slides if |a| > mu g, which determines the pace."""
    report = check.report(straight(machine, heading))
    assert len(report.breaches) == 2
    first, last = report.breaches
    assert (first.start, last.end) == (0.0, TIME)
    slides = 0.5 * TIME * (1.0 - FRICTION * GRAVITY / ENDS)  # the acceleration falls linearly to 0 in the middle
    assert first.end == pytest.approx(slides, abs=0.011)
    assert not first.lifts
    assert first.wheel in report.wheels
    assert first.friction_use > 1.0
    assert report.pace == pytest.approx(np.sqrt(FRICTION * GRAVITY / ENDS), rel=1e-6)
    assert report.posture is None
    slower = check.reactions(report.plan, report.reactions.times, 0.999 * report.pace)
    assert slower.possible.all()
    assert slower.mismatch.max() < 1e-3


def test_a_motion_that_holds_has_nothing_to_report_and_its_reactions_carry_the_weight(machine, check):
    plan = straight(machine)._replace(times=np.array([0.0, 3.0]))
    report = check.report(plan)
    assert report.breaches == ()
    assert report.pace == 1.0
    assert report.posture is None
    weight = machine.total_mass * GRAVITY
    assert report.reactions.result.best[..., 2].sum(axis=1) == pytest.approx(weight, rel=1e-9)
    margin = float(report.reactions.result.margin.min())
    wanted = check.report(plan, wanted=1.1 * margin)
    assert wanted.breaches
    assert wanted.pace < 1.0
    again = check.reactions(plan, report.reactions.times, wanted.pace)
    assert again.margin.min() == pytest.approx(1.1 * margin, rel=1e-6)


def test_wheels_that_no_friction_would_hold_lift(machine):
    report = ContactCheck(machine, 0.0, 2.0).report(straight(machine)._replace(times=np.array([0.0, 0.5])))
    assert report.breaches[0].lifts
    assert report.pace < 1.0


def test_a_load_that_tips_the_machine_at_rest_requires_another_posture(machine):
    plan = straight(machine, joints=OUT, payload=5500.0)._replace(base=np.zeros((2, 3)))
    check = ContactCheck(machine, 5500.0)
    report = check.report(plan)
    assert report.breaches[0].lifts
    assert report.pace is None
    joints = [joint.name for joint in machine.movable_joints]
    moved = plan.joints.copy()
    moved[:, joints.index(report.posture.joint)] += report.posture.change
    corrected = check.report(plan._replace(joints=moved))
    assert corrected.breaches == ()
    assert corrected.reactions.result.margin[0] == pytest.approx(report.posture.margin, rel=1e-6)
    less = plan.joints.copy()
    less[:, joints.index(report.posture.joint)] += 0.9 * report.posture.change
    assert check.report(plan._replace(joints=less)).breaches


@pytest.mark.parametrize('yaw', [0.0, np.pi / 2])
def test_on_a_slope_a_vehicle_holds_up_to_the_angle_of_friction_in_every_heading(machine, yaw):
    for factor, expected in ((0.999, True), (1.001, False)):
        inclined = replace(machine, slope=(0.0, factor * np.arctan(FRICTION)))
        plan = straight(inclined)._replace(base=np.array([[0.0, 0.0, yaw]] * 2))
        assert (ContactCheck(inclined, 0.0, FRICTION).report(plan).breaches == ()) == expected


def test_machines_without_single_contact_points_are_rejected():
    excavator = load_machine(find_resource('urdf/excavator.urdf'), find_resource('config/excavator.yaml'))
    with pytest.raises(ContactCheckError, match='needs contacts in one point'):
        ContactCheck(excavator, 0.0)
    arm = load_machine(find_resource('urdf/arm_a6.urdf'), find_resource('config/arm_a6.yaml'))
    with pytest.raises(ContactCheckError, match='expected a free base'):
        ContactCheck(arm, 0.0)


PLAN = """name: lift
machine: log_loader
payload: 500.0
points:
  start: {time: 0.0, joints: {boom_joint: 0.5, stick_joint: -1.8}}
  ahead: {time: 1.0, base: [1.0, 0.0, 0.0]}
"""


def test_a_plan_file_completes_missing_values_of_a_point(tmp_path):
    path = tmp_path / 'plan.yaml'
    path.write_text(PLAN, encoding='utf-8')
    plan = load_motion_plan(path, machine_of)
    assert (plan.name, plan.payload, plan.times.tolist()) == ('lift', 500.0, [0.0, 1.0])
    assert plan.base[1].tolist() == [1.0, 0.0, 0.0]
    assert plan.joints[0].tolist() == plan.joints[1].tolist()
    positions, rates, _ = plan.sampled(np.array([0.0, 0.5, 1.0]))[0]
    assert positions[:, 0] == pytest.approx([0.0, 0.5, 1.0])
    assert rates[[0, -1]] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(
    ('old', 'new', 'line', 'message'),
    [
        ('boom_joint: 0.5', 'bom_joint: 0.5', 5, 'points.start.joints.bom_joint: expected a joint of log_loader'),
        ('boom_joint: 0.5', 'boom_joint: 9.5', 5, 'points.start.joints.boom_joint: expected '),
        ('time: 1.0', 'time: 0.0', 6, 'points.ahead.time: expected a time at least 0.001 s after 0 s, found 0'),
        ('time: 0.0', 'time: 0.5', 5, 'points.start.time: expected 0 at the first point, found 0.5'),
        ('payload: 500.0', 'payload: 1.0e+5', 3, 'payload: expected at most 6000 kg, found 100000'),
        ('machine: log_loader', 'machine: nothing', 2, 'machine: expected a machine that can be loaded'),
        ('ahead: {', '#', 0, 'points: expected at least two points, found 1'),
    ],
)
def test_faults_of_a_plan_are_named_with_file_and_line(tmp_path, old, new, line, message):
    path = tmp_path / 'plan.yaml'
    path.write_text(PLAN.replace(old, new, 1), encoding='utf-8')
    with pytest.raises(MachineError) as error:
        load_motion_plan(path, machine_of)
    assert message in str(error.value)
    assert f'plan.yaml:{line}' in str(error.value) or not line


def test_the_command_prints_where_the_wheels_slide_and_a_sufficient_friction(tmp_path, capsys):
    path = tmp_path / 'plan.yaml'
    path.write_text(PLAN, encoding='utf-8')
    assert main(['contact', 'plan', str(path), '--friction', '0.3', '--plot', str(tmp_path / 'contact.png')]) == 1
    shown = capsys.readouterr().out
    assert 'lift: log_loader with 500 kg, 1 s, 101 instants' in shown
    assert 'slides' in shown
    assert f'slower: at {np.sqrt(FRICTION * GRAVITY / ENDS):.3f} of the speed' in shown
    assert 'another posture: no joint alone' in shown
    assert (tmp_path / 'contact.png').read_bytes().startswith(b'\x89PNG')
    path.write_text(PLAN.replace('time: 1.0', 'time: 4.0'), encoding='utf-8')
    assert main(['contact', 'plan', str(path), '--json']) == 0
    assert '"admissible": true' in capsys.readouterr().out


@pytest.mark.parametrize(
    ('options', 'message'),
    [
        (['--step', '0'], '--step: expected 0.0001 or more, found 0'),
        (['--friction', '-1'], '--friction: expected 0.001 or more, found -1'),
        (['--plot', 'x.txt'], '--plot: expected a .png, .svg or .pdf, found x.txt'),
        (['--payload', '1e6'], 'payload: expected 0 to 6000 kg, found 1e+06'),
    ],
)
def test_invalid_options_are_rejected(tmp_path, capsys, options, message):
    path = tmp_path / 'plan.yaml'
    path.write_text(PLAN, encoding='utf-8')
    assert main(['contact', 'plan', str(path), *options]) != 0
    assert message in capsys.readouterr().err


def test_a_motion_of_too_many_instants_is_rejected(tmp_path, capsys):
    path = tmp_path / 'plan.yaml'
    path.write_text(PLAN.replace('time: 1.0', 'time: 900.0'), encoding='utf-8')
    assert main(['contact', 'plan', str(path), '--step', '0.0001']) == 1
    expected = 'points: expected at most 200000 instants, 0.0001 s apart, found 9000000 in 900 s\n'
    assert capsys.readouterr().err.endswith(expected)


def test_a_missing_plan_is_named(capsys):
    assert main(['contact', 'plan', '/no/plan.yaml']) == 1
    assert '/no/plan.yaml' in capsys.readouterr().err
