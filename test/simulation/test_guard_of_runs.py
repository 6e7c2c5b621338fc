"""No run that failed its guard has the status `done`, at any entry point."""

from __future__ import annotations

import sys
from collections import Counter
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

import dyn_nodes as dn
from dyn_nodes.simulation import Settings, System, initial_state
from dyn_nodes.simulation.batches import run_batch
from dyn_nodes.simulation.period import PlantDivergedError
from dyn_nodes.simulation.plant import Plant

sys.path.insert(0, str(Path(__file__).resolve().parent))

from guard_cases import Bench, cases

CASES = cases()
FAST = [
    case
    for case in CASES
    if case.name in ('box', 'crank_rocker', 'kite', 'pendulum') and case.duration / case.step < 3e4
][::3]


@pytest.fixture(scope='module')
def bench(tmp_path_factory):
    return Bench(tmp_path_factory.mktemp('guard'))


def missed(bench, chosen):
    """Return the cases with status `done` whose energy or gap exceeds the limits, and count statuses."""
    counts, wrong = Counter(), []
    for case in chosen:
        run = bench.judged(case)
        counts[run.status] += 1
        if run.status == 'done' and not run.accurate:
            wrong.append((case, run))
        assert (run.status == 'done') == (not run.detail), (case, run)
        assert run.status != 'overturned', (case, run)
    return wrong, counts


def test_no_inaccurate_run_is_done(bench):
    assert {case.kind for case in FAST} == {case.kind for case in CASES}
    wrong, counts = missed(bench, FAST)
    assert not wrong
    assert counts['done'] >= 3
    assert counts['inaccurate'] >= 2


@pytest.mark.slow
def test_none_of_a_hundred_inaccurate_runs_is_done(bench):
    wrong, counts = missed(bench, CASES)
    assert not wrong
    assert counts['done'] >= 30
    assert counts['inaccurate'] >= 20


STANDING = """name: stiff
base: {link: body, attachment: free}
wheels:
"""


@pytest.fixture(scope='module')
def stiff(tmp_path_factory):
    """Return a box of 500 kg on four stiff wheels with friction, loaded by the library."""
    folder = tmp_path_factory.mktemp('stiff')
    wheels = [
        f'  wheel_{k}: {{link: body, position: [{x}, {y}, -0.3], stiffness: 4.0e+8, damping: 2.0e+4, free_length: 0.2}}'
        for k, (x, y) in enumerate([(0.6, 0.4), (0.6, -0.4), (-0.6, 0.4), (-0.6, -0.4)])
    ]
    (folder / 'stiff.urdf').write_text(
        '<robot name="stiff"><link name="body"><inertial><mass value="500"/>'
        '<inertia ixx="40" iyy="70" izz="90" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>'
    )
    (folder / 'stiff.yaml').write_text(STANDING + '\n'.join(wheels) + '\n')
    return dn.load(folder / 'stiff.urdf', folder / 'stiff.yaml')


@pytest.mark.parametrize('step', [1e-3, 2e-3, 1e-2])
def test_a_machine_on_stiff_wheels_stays_at_rest_with_every_step(stiff, step):
    system = System(stiff.data, 'effort')
    start, times = initial_state(system), np.linspace(0.0, 0.5, 6)
    settings = Settings(step=step, watch=True)
    pushed = start.copy()
    pushed[system.index('state', 'base_vz_rate')] = 1e-3
    alone = system.run(pushed, times, settings=settings)
    together = run_batch(system, pushed, times, None, None, settings)[0]
    for run in (alone, together, stiff.simulate(0.5, step=step).raw):
        assert (run.status, run.overturned, run.detail) == ('done', False, '')
        assert run.step < step
        assert run.refined_for
        assert not [event for event in run.events if event.kind == 'overturned']


def test_a_stiff_pad_that_lands_in_the_run_of_a_plant_makes_its_steps_shorter(stiff, tmp_path):
    """A payload compresses soft wheels until pads 1 mm above the ground carry the remaining weight."""
    wheels = Path(stiff.data.sources[1]).read_text().split('wheels:')[1]
    pads = wheels.replace('wheel', 'pad').replace('-0.3]', '-0.2745]')
    wheels = wheels.replace('4.0e+8', '5.0e+4').replace('2.0e+4', '2.0e+3')
    payload = 'payload: {link: body, position: [0.0, 0.0, 0.0], mass: 0.0, limit: 1000.0}\n'
    text = payload + STANDING + wheels.strip('\n') + pads
    (tmp_path / 'pads.yaml').write_text(text)
    plant = Plant(dn.load(stiff.data.sources[0], tmp_path / 'pads.yaml').data, 'effort', 1e-2, 5e-3)
    assert (plant.substeps, plant.refined_for) == (2, '')
    plant.set_payload(200.0)
    for _ in range(100):
        plant.advance()
    assert 'touch_down' in [event.kind for event in plant.take_events()]
    assert plant.guard.failed == ''
    assert plant.substeps > 2
    assert plant.refined_for == 'base_wy_rate'
    assert plant.x[2] == pytest.approx(0.4745, abs=1e-5)
    plant.reset()
    assert plant.substeps == 2


def test_a_diverged_run_is_not_overturned(bench):
    case = next(case for case in CASES if case.name == 'box' and case.scale > 1e4 and case.step >= 5e-3)
    run = bench.run(case)
    assert run.status == 'inaccurate'
    assert not run.overturned
    assert 'the base has tilted' in run.detail


def test_a_flat_four_bar_ends_with_its_reason():
    run = dn.load('four_bar').simulate(60, torque={'crank_joint': 0.0})
    assert run.status == 'rank changed'
    for part in ('at t = ', 'condition number', 'pin'):
        assert part in run.detail
    assert [check.failed for check in run.checks] == [False, False]


def test_a_run_with_inputs_from_a_function_is_judged():
    four_bar = dn.load('four_bar')
    table = four_bar.simulate(0.2, torque={'crank_joint': 14.0}, period=0.01, step=1e-3)
    function = four_bar.simulate(0.2, torque=lambda time, state: {'crank_joint': 14.0}, period=0.01)
    assert (table.status, function.status) == ('done', 'done')
    assert [check.name for check in function.checks] == ['energy', 'gap']
    assert all(check.judged and not check.failed for check in (*table.checks, *function.checks))
    assert function.raw.energy_balance == pytest.approx(table.raw.energy_balance, abs=1e-9)


def test_parameter_changes_of_a_plant_are_no_error():
    plant = Plant(dn.load('log_loader').data, 'hydraulic', 1e-2, 1e-3)
    for change in (
        lambda: plant.set_payload(800.0),
        lambda: plant.set_slope(0.05, 0.02),
        lambda: plant.set_payload(0.0),
    ):
        for _ in range(10):
            plant.advance()
        change()
    plant.advance()
    energy, gap = plant.guard.checks
    assert energy.judged
    assert energy.measured < 0.1 * energy.allowed
    assert not plant.guard.failed
    assert gap.measured == 0.0


def test_an_inaccurate_plant_reports_failed_checks(bench):
    plant = Plant(bench.system('kite').machine, 'effort', 4e-2, 2e-2)
    plant.set_inputs({'crank_joint/effort': 20.0})
    with suppress(PlantDivergedError):
        for _ in range(200):
            plant.advance()
    assert 'energy error' in plant.guard.failed
    assert 'gap error' in plant.guard.failed
    assert 'constraint_drift' in [event.kind for event in plant.take_events()]


def test_round_off_of_a_machine_without_gravity_is_no_error():
    run = dn.load('planar_arms').simulate(0.5)
    assert (run.status, run.detail) == ('done', '')
    assert run.checks[0].allowed < 1e-9
