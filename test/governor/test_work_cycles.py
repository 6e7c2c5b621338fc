"""Working cycles with and without the governor: their file, the operator, the command."""

from __future__ import annotations

import json

import numpy as np
import pytest

from dyn_nodes.cli import build_parser
from dyn_nodes.commands import CommandError, governor
from dyn_nodes.governor.campaign import work_cycles
from dyn_nodes.governor.campaign.cycles_file import Cycle, Phase, by_chart, load_cycles
from dyn_nodes.governor.campaign.governed_run import Rig
from dyn_nodes.governor.campaign.work_cycles import DEFAULT, Compared, Driven, WorkCycles
from dyn_nodes.model.problems import MachineError
from dyn_nodes.stability.load_moment import LoadMomentIndicator

START = {'swing_joint': 0.0, 'boom_joint': 0.873, 'stick_joint': -1.71}


@pytest.fixture(scope='module')
def work(machine):
    return WorkCycles(Rig(machine))


def test_the_cycles_of_the_package_are_read(machine):
    cycles = {cycle.name: cycle for cycle in load_cycles(DEFAULT, machine)}
    assert {'fetch_a_log', 'swing_close', 'dump_beside'} <= cycles.keys()
    fetch = cycles['fetch_a_log']
    assert (fetch.payload, fetch.phases[1].payload, fetch.phases[0].payload) == (0.0, 1000.0, None)
    assert fetch.start == pytest.approx(START, abs=1e-3)
    assert fetch.phases[2].move == pytest.approx({'swing_joint': np.pi / 2}, abs=1e-3)


def test_a_cycle_by_the_chart_carries_a_part_of_its_least_rated_load(machine):
    """Fetched far out and drawn in: the load is rated where it is taken."""
    fetch = next(cycle for cycle in load_cycles(DEFAULT, machine) if cycle.name == 'fetch_a_log')
    carried = by_chart(fetch, machine, 0.8, 0.75)
    indicator, level = LoadMomentIndicator(machine), np.array([0.0, 0.0, -9.81])
    taken = fetch.start | fetch.phases[0].move
    aside = fetch.start | fetch.phases[2].move
    rated = [indicator.evaluate(posture, 0.0, level).rated for posture in (taken, aside)]
    assert carried.phases[1].payload == pytest.approx(0.8 * min(rated))
    assert (carried.payload, carried.phases[0].payload, carried.phases[3].payload) == (0.0, None, 0.0)


@pytest.mark.parametrize(
    ('text', 'problem'),
    [
        ('cycles: {}', 'a cycle at least'),
        ('cycles:\n  a: {start: {boom_joint: 0.5}}', r':2: cycles\.a\.phases'),
        ('cycles:\n  a: {start: {boom_joint: 0.5}, phases: {}}', r':2: cycles\.a\.phases: expected a phase at least'),
        ('cycles:\n  a: {start: {bom: 0.5}, phases: {b: {move: {}}}}', r"a\.start\.bom: expected a joint .*'bom'"),
        (
            'cycles:\n  a:\n    start: {}\n    phases:\n      b: {move: {boom_joint: 9}}',
            r':5: .*boom_joint: expected .*9',
        ),
        ('cycles:\n  a: {payload: 9e3, start: {}, phases: {b: {move: {}}}}', 'payload: expected at most 6000 kg'),
        ('cycles:\n  a: {speed: 2, start: {}, phases: {b: {move: {}}}}', 'speed: expected at most 1, found 2'),
        ('cycles:\n  a: {start: {}, phases: {b: {payload: -1, move: {}}}}', 'payload'),
        ('cycles:\n  a: {start: {}, phases: {b: {move: {}, wait: 3}}}', 'wait'),
    ],
)
def test_a_fault_of_a_file_is_named_with_its_line(machine, tmp_path, text, problem):
    path = tmp_path / 'cycles.yaml'
    path.write_text(text)
    with pytest.raises(MachineError, match=problem):
        load_cycles(path, machine)


def test_an_empty_arm_is_as_fast_with_the_governor(work, monkeypatch):
    monkeypatch.setattr(work_cycles, 'COASTING', (0.9,))
    phases = Phase('out', {'boom_joint': 0.7, 'stick_joint': -1.4}), Phase('swing', {'swing_joint': 0.5})
    compared = work.compare(Cycle('empty', START, phases))
    assert compared.safe
    assert len(compared.free.times) == 2
    assert compared.ratio == pytest.approx(1.0, abs=0.03)
    ends = dict(zip(work.plant.joints, work.plant.positions))
    assert ends['boom_joint'] == pytest.approx(0.7, abs=work_cycles.THERE)
    assert ends['swing_joint'] == pytest.approx(0.5, abs=work_cycles.THERE)


def test_a_wheel_that_lifts_with_the_governor_counts_for_any_operator(work, monkeypatch):
    tries = iter([FREE, LIFTS, SLOWER] * 2)
    monkeypatch.setattr(work_cycles, 'COASTING', (0.6, 0.9, 1.2))
    monkeypatch.setattr(work, '_drive', lambda *_: next(tries))
    free, governed = (work.drive(Cycle('any', START, ()), governed_) for governed_ in (False, True))
    assert (free, governed.lifted, governed.share, governed.times) == (FREE, True, 0.0, FREE.times)


def test_a_payload_taken_on_the_way_is_set_in_machine_and_governor(work, monkeypatch):
    monkeypatch.setattr(work_cycles, 'COASTING', (0.9,))
    work.drive(Cycle('take', START, (Phase('take', {'swing_joint': 0.05}, 700.0),)), True)
    assert work.plant.p[work.plant.system.index('parameter', 'payload_mass')] == 700.0
    assert work.rig.partner(True).monitor.payload == 700.0
    assert work.plant.start == {}
    assert work.plant.time > work_cycles.SETTLING + work_cycles.TAKING - 1e-6


def test_a_phase_that_is_not_reached_ends_the_cycle(work, monkeypatch):
    monkeypatch.setattr(work_cycles, 'LONGEST', 0.1)
    cycle = Cycle('long', START, (Phase('one', {'swing_joint': 1.0}), Phase('two', {'swing_joint': 0.0})))
    driven = work.drive(cycle, False)
    assert (len(driven.times), driven.finished) == (1, False)
    assert Compared('long', driven, driven).ratio == np.inf
    assert not Compared('long', driven, driven).safe


def command(*words):
    return governor.run(build_parser(['governor']).parse_args(['governor', 'cycles', *words]))


FREE, SLOWER = Driven((2.0, 8.0), True, False, 0.3), Driven((2.0, 8.7), True, False, 0.4)
TOO_SLOW = Driven((2.0, 8.9), True, False, 0.4)
LIFTS, STUCK = Driven((1.0,), True, True, 0.0), Driven((1.0, 30.0), False, False, 0.2)


@pytest.mark.parametrize(
    ('driven', 'status', 'ratio'),
    [
        ([(FREE, SLOWER), (FREE, FREE)], 0, 1.035),
        ([(FREE, SLOWER), (LIFTS, STUCK)], 0, 1.07),
        ([(FREE, TOO_SLOW)], 1, 1.09),
        ([(FREE, STUCK)], 1, 3.1),
        ([(FREE, LIFTS)], 1, 0.1),
        ([(LIFTS, FREE)], 1, None),
    ],
)
def test_the_command_evaluates_all_cycles_that_are_safe_without_governor(monkeypatch, capsys, driven, status, ratio):
    names = iter(range(99))
    pairs = [Compared(f'cycle {next(names)}', *cycle) for cycle in driven]
    monkeypatch.setattr('dyn_nodes.commands.governor_cycles._compared', lambda args: pairs)
    assert command('log_loader', '--json') == status
    report = json.loads(capsys.readouterr().out)
    assert report['ratio'] == (None if ratio is None else pytest.approx(ratio))
    assert [cycle['counts'] for cycle in report['cycles']] == [cycle.safe for cycle in pairs]
    assert command('log_loader') == status
    text = capsys.readouterr().out
    assert ('passed' if status == 0 else 'MISSED') in text


@pytest.mark.parametrize(
    ('words', 'kind', 'message'),
    [
        (['no_such_machine'], CommandError, r'no_such_machine\.urdf was not found'),
        (['log_loader', '--delay', 'nan'], CommandError, '--delay: expected 0 to 500, found nan'),
        (['agv_mecanum_arm'], CommandError, 'expected actuators that levers move, found none'),
        (['log_loader', '--cycles', 'nowhere.yaml'], MachineError, 'nowhere.yaml'),
        (['excavator'], CommandError, '--cycles: expected a file of working cycles of excavator, found none'),
        (['log_loader_planar', '--criterion', 'tipping'], CommandError, 'tipping: expected a machine in space'),
    ],
)
def test_a_mistake_is_one_line(words, kind, message):
    with pytest.raises(kind, match=message) as caught:
        command(*words)
    assert '\n' not in str(caught.value)


def test_a_machine_is_driven_parked_as_it_is_governed(monkeypatch):
    machines = []
    monkeypatch.setattr(work_cycles, 'WorkCycles', lambda rig: machines.append(rig.machine))
    monkeypatch.setattr('dyn_nodes.governor.campaign.cycles_file.load_cycles', lambda path, machine: ())
    command('excavator', '--cycles', 'any.yaml')
    assert [actuator.name for actuator in machines[0].actuators] == ['boom', 'arm', 'bucket', 'swing']


@pytest.mark.slow
def test_the_governor_costs_little_in_ordinary_work(machine, work):
    """The cycles of the package, all together; each keeps its wheels on the ground without the governor."""
    compared = [work.compare(cycle) for cycle in load_cycles(DEFAULT, machine)]
    assert all(cycle.safe and cycle.governed.finished and not cycle.governed.lifted for cycle in compared)
    free = sum(cycle.free.time for cycle in compared)
    assert sum(cycle.governed.time for cycle in compared) <= work_cycles.ALLOWED * free
