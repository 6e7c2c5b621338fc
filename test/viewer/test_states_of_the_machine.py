"""The state word of every recorded instant agrees with the recorded events: tipping, recovery, governor."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from time import monotonic, sleep

import numpy as np
import pytest
from chromium import Chromium, find_chromium
from domains import next_domain
from timeouts import scaled_timeout

from dyn_nodes.common.percent import percent_of
from dyn_nodes.measures import BANDS, CAUTION, DANGER, OK, Levels, stage_of
from dyn_nodes.nodes.bag_snapshots import Replay, read_replay
from dyn_nodes.viewer.gauges import Scale, banner, gauges, governor_line, load_bar
from dyn_nodes.viewer.situation import (
    AIRBORNE,
    HELD,
    LIFTED,
    OVERRIDE,
    OVERTURNED,
    RECOVERING,
    TIPPING,
    SituationTracker,
    tilt_of,
)
from dyn_nodes.viewer.snapshot import GovernorState, Load, Margin, Reach, Situation, Snapshot

FRAME = 1.0 / 30.0
SIZES = ((1280, 800), *(pytest.param(size, marks=pytest.mark.slow) for size in ((1600, 900), (820, 1180))))
SEEN = """(() => {
  const head = document.querySelector('[data-situation]');
  const cut = [...document.querySelectorAll('[data-head], [data-head] *, [data-margin] *, [data-load] *')]
    .filter(element => ['hidden', 'auto'].includes(getComputedStyle(element).overflowX)
      && (element.scrollWidth > element.clientWidth + 1 || element.scrollHeight > element.clientHeight + 1));
  const words = [...document.querySelectorAll('[data-head] b')].map(element => element.textContent);
  return [head && head.dataset.situation, words, cut.map(element => element.textContent)];
})()"""
"""Script that returns the state and the greatest words on the page, and the texts of banner and gauges that are cut."""
RUNS = {
    'recovery': {'duration': 16.0},
    'overturned': {'duration': 16.0, 'recovery': 'false'},
    'governed': {'duration': 10.0, 'recovery': 'false', 'governor': 'true'},
}


@pytest.fixture(scope='module')
def bags(tmp_path_factory) -> dict[str, Path]:
    """Return bags of the log-loader: tipping with recovery, overturning, and under the governor."""
    folder, paths = tmp_path_factory.mktemp('states'), {}
    environment = {**os.environ, 'ROS_DOMAIN_ID': str(next_domain())}
    for name, arguments in RUNS.items():
        paths[name] = folder / name
        words = [f'{key}:={value}' for key, value in arguments.items()]
        command = [sys.executable, '-m', 'dyn_nodes.cli', 'launch', 'log_loader', 'mode:=lockstep', 'compose:=true']
        command += ['record:=true', f'bag:={paths[name]}', *words]
        result = subprocess.run(command, capture_output=True, text=True, timeout=900.0, check=False, env=environment)
        assert result.returncode == 0, result.stdout[-2000:]
    return paths


@pytest.fixture(scope='module')
def runs(bags) -> dict[str, Replay]:
    return {name: read_replay(path) for name, path in bags.items()}


def in_the_air(run: Replay, time: float) -> set[str]:
    """Return the wheels in the air by the recorded events."""
    wheels: set[str] = set()
    for when, text in run.events:
        kind, _, rest = text.partition(': ')
        names = {name.replace(' ', '_') for name in rest.partition(' at t')[0].split(', ')}
        if when <= time and kind == 'lift off':
            wheels |= names
        elif when <= time and kind == 'touch down':
            wheels -= names
    return wheels


def is_near_an_event(run: Replay, time: float) -> bool:
    """Return whether an event is within a picture and a report of a time."""
    return any(abs(when - time) < FRAME + 0.025 for when, _ in run.events)


@pytest.mark.parametrize('name', ['recovery', 'overturned', 'governed'])
def test_wheels_in_the_air_and_the_state_of_every_picture_are_those_of_the_events(runs, name):
    run, compared, states = runs[name], 0, set()
    for time, snapshot in zip(run.times, run.snapshots):
        situation, wheels = snapshot.situation, in_the_air(run, time)
        if is_near_an_event(run, time):
            continue
        compared += 1
        states.add(situation.state)
        expected = {0: (*BANDS, HELD), 1: (LIFTED,), 2: (TIPPING, RECOVERING)}[len(wheels)]
        assert situation.state in expected, (time, situation, wheels)
        if wheels:
            assert situation.figures.startswith(f'{len(wheels)} wheel'), (time, situation)
            assert situation.band == DANGER
        if len(wheels) == 2:
            assert situation.words.endswith('over the front')
    assert compared > 0.9 * len(run.times) - 20
    expected = {'recovery': {TIPPING, RECOVERING, LIFTED}, 'overturned': {TIPPING}, 'governed': {HELD}}[name]
    assert expected | {OK} <= states


def test_tipping_turns_into_recovery_at_the_greatest_tilt_and_the_seconds_count_from_the_lift_off(runs):
    run = runs['recovery']
    tilts = np.array([math.degrees(tilt_of(s)) for s in run.snapshots])
    times, start = np.array(run.times), next(when for when, text in run.events if text.startswith('lift off'))
    end = next(when for when, text in run.events if text.startswith('touch down'))
    peak = times[np.argmax(np.where((times > start) & (times < end), tilts, 0.0))]
    for time, tilt, snapshot in zip(times, tilts, run.snapshots):
        if not start + 0.1 < time < end - 0.1 or abs(tilt - tilts.max()) < 0.2:
            continue
        situation = snapshot.situation
        assert situation.state == (TIPPING if time < peak else RECOVERING), (time, situation)
        _, angle, seconds = situation.figures.split(', ')
        assert float(angle.split()[0]) == pytest.approx(tilt, abs=0.051)
        assert float(seconds.split()[0]) == pytest.approx(time - start, abs=0.1)


def test_the_last_picture_of_an_overturned_machine_shows_it_and_no_earlier_one(runs):
    states = [snapshot.situation.state for snapshot in runs['overturned'].snapshots]
    assert states[-1] == OVERTURNED
    assert OVERTURNED not in states[:-1]


def test_a_lever_is_held_exactly_while_the_governor_publishes_that_it_passes_less(runs, bags):
    run = runs['governed']
    held = [snapshot.governor is not None and bool(snapshot.governor.held) for snapshot in run.snapshots]
    assert 10 < sum(held) < len(held) - 10
    for snapshot, is_held in zip(run.snapshots, held):
        assert (snapshot.situation.state == HELD) == is_held
        if is_held:
            assert snapshot.situation.words == f'HELD: {", ".join(snapshot.governor.held)}'
            assert 'would come near to lifting' in snapshot.situation.figures
            assert 0.0 <= snapshot.governor.scale < 1.0


def test_the_load_rises_with_the_reach_and_its_stage_is_on_the_page(runs):
    run = runs['recovery']
    loads = [snapshot.load.utilisation for snapshot in run.snapshots if snapshot.load is not None]
    assert len(loads) > 0.98 * len(run.snapshots)
    assert loads[0] == pytest.approx(0.85, abs=0.005)
    assert 1.1 < max(loads) < 1.3
    assert {snapshot.load.edge for snapshot in run.snapshots if snapshot.load} == {'front'}


@pytest.mark.skipif(find_chromium() is None, reason='no Chromium')
@pytest.mark.parametrize('size', SIZES, ids=lambda size: f'{size[0]}')
def test_every_state_is_on_the_page_in_its_words_and_no_text_is_cut_off(runs, cockpit, size):
    shown = {}
    for run in runs.values():
        for snapshot in run.snapshots:
            shown.setdefault(snapshot.situation.state, snapshot)
    assert {OK, CAUTION, DANGER, LIFTED, TIPPING, RECOVERING, OVERTURNED, HELD} <= shown.keys()
    other = shown[HELD].situation
    second = replace(other, words=f'governed: {other.words}')
    many = ('left track', 'right track', 'boom', 'stick')
    state = GovernorState('holding back boom (12 %): rear_left would come near to lifting', False, many, 0.12)
    shown['many'] = replace(
        shown[HELD], governor=state, situation=SituationTracker().update(corners((1,) * 4, governor=state))
    )
    cockpit.set_shadows(False)
    with Chromium(find_chromium(), *size) as browser:
        browser.open(f'{cockpit.address}&fixedDpr=0.05')

        def see(snapshot: Snapshot, beside: Situation | None) -> None:
            situation = snapshot.situation
            words = [situation.words] if beside is None else [f'recovery: {situation.words}', beside.words]
            deadline, seen = monotonic() + scaled_timeout(40.0), None
            while seen != [situation.state, words, []]:
                assert monotonic() < deadline, (seen, words)
                cockpit._gauged = 0.0
                with cockpit.at_once():
                    cockpit.update(snapshot)
                    cockpit.show_state('replay', 't = 8.40 of 16.0 s', 'lift off: rear left', 'recovery', beside)
                sleep(0.05)
                seen = browser.evaluate(SEEN)

        for snapshot in shown.values():
            for beside in (None, second)[: 1 + (snapshot.situation.state in (TIPPING, HELD))]:
                see(snapshot, beside)
        assert browser.errors == []


@pytest.fixture
def cockpit():
    from dyn_nodes.viewer.cockpit import Cockpit

    made = Cockpit('127.0.0.1', 0, 'states')
    yield made
    made.stop()


# -- words without a run ----------------------------------------------------------------------------------------------


def corners(loads, tilt: float = 0.0, **more) -> Snapshot:
    names = ('front_left', 'front_right', 'rear_left', 'rear_right')
    points = ((1.0, 1.0, 0.0), (1.0, -1.0, 0.0), (-1.0, 1.0, 0.0), (-1.0, -1.0, 0.0))
    forces = {name: (0.0, 0.0, load) for name, load in zip(names, loads)}
    turn = (0.0, math.sin(tilt / 2.0), 0.0, math.cos(tilt / 2.0))
    return Snapshot(forces=forces, contacts=dict(zip(names, points)), base_quaternion=turn, **more)


def test_without_margins_the_edge_is_opposite_the_wheels_in_the_air():
    for loads, edge in (
        ((1, 1, 0, 0), 'front'),
        ((0, 0, 1, 1), 'rear'),
        ((1, 0, 1, 0), 'left'),
        ((0, 1, 0, 1), 'right'),
    ):
        tracker = SituationTracker()
        tracker.update(corners((1, 1, 1, 1)))
        assert tracker.update(corners(loads)).words == f'TIPPING over the {edge}'


def test_a_support_that_never_carried_load_is_not_in_the_air():
    tracker = SituationTracker()
    for _ in range(3):
        assert (
            tracker.update(corners((1, 1, 1, 0), margins={'static': Margin(0.5, levels=Levels(0.1, 0.05, 1.0))})).state
            == OK
        )
    assert tracker.update(corners((1, 1, 0, 0))).state == TIPPING


def test_a_machine_that_carries_no_load_anywhere_is_in_the_air():
    tracker = SituationTracker()
    tracker.update(corners((1, 1, 1, 1)))
    assert tracker.update(corners((0, 0, 0, 0))).state == AIRBORNE


def test_a_step_back_of_time_forgets_the_run():
    tracker = SituationTracker()
    tracker.update(corners((1, 1, 1, 1), time=5.0))
    assert tracker.update(corners((1, 1, 0, 0), time=6.0)).state == TIPPING
    assert tracker.update(corners((1, 1, 0, 0), time=1.0)).state == OK, 'nothing is known of these wheels'


def test_words_are_the_greatest_of_the_banner_and_the_states_at_zero_have_the_same_words_in_gauges():
    tracker = SituationTracker()
    tracker.update(corners((1, 1, 1, 1)))
    margin = Margin(0.0, (0.0, 1.0, 2.0, 3.0), ('front', 'left', 'rear', 'right'), Levels(0.4, 0.2, 1.0))
    still = Margin(0.6, (0.6, 1.0, 2.0, 3.0), ('front', 'left', 'rear', 'right'), Levels(0.4, 0.2, 1.0))
    situation = tracker.update(corners((1, 1, 0, 0), 0.148, margins={'net_moment': margin, 'static': still}))
    page = banner('running', 't = 1 s', situation=situation, band=situation.band)
    assert 'TIPPING over the front</b>' in page
    assert '2 wheels in the air, 8.5 degrees, 0.0 s' in page
    assert page.index('TIPPING') < page.index('t = 1 s')
    rows = gauges({'net_moment': margin, 'static': still}, Scale())
    assert 'tipping &middot; front' in rows
    assert 'front &middot; at rest' in rows, 'a green margin without motion beside TIPPING is explained'


def test_a_small_margin_of_a_small_machine_is_not_tipping():
    margin = Margin(3e-4, (3e-4, 1.0, 2.0, 3.0), ('front', 'left', 'rear', 'right'), Levels(4e-4, 2e-4, 1e-3))
    assert SituationTracker().update(corners((1, 1, 1, 1), margins={'net_moment': margin})).state == CAUTION


def test_a_machine_that_tips_has_no_load_and_reach_left(cockpit):
    margin = Margin(0.0, (0.0, 1.0, 2.0, 3.0), ('front', 'left', 'rear', 'right'), Levels(0.4, 0.2, 1.0))
    reach = Reach(np.zeros(2), np.arange(4) * math.pi / 2, np.full(4, 5.0), True, 4.0)
    stands = corners((1, 1, 1, 1), load=Load(0.98, 5220.0, 5100.0, 'front'), reach=reach, allowance={'reach': 0.4})
    tips = replace(corners((1, 1, 0, 0), 0.1, margins={'net_moment': margin}), load=stands.load, reach=reach)
    for snapshot, rest in ((stands, '120 kg or 0.4 m of reach remain'), (tips, 'for the machine at rest')):
        cockpit._gauged = 0.0
        cockpit.update(snapshot)
        assert f'{rest} · tips over the front' in cockpit.controls._load.content
        assert ('reach/left' in cockpit.scene.handles) == (snapshot is stands)


def test_a_second_machine_has_its_words_with_its_figures():
    first = Situation(TIPPING, DANGER, 'first: TIPPING', '2 wheels in the air', 'net moment 0')
    second = Situation(OK, OK, 'second: STABLE', '', 'static margin 0.6 m')
    page = banner('replay', 't = 1 s', situation=first, second=second)
    order = ('first: TIPPING', '2 wheels in the air', 'net moment 0', 'second: STABLE', 'static margin 0.6 m', 't = 1')
    assert sorted(order, key=page.index) == list(order)


@pytest.mark.parametrize(
    ('utilisation', 'percent'), [(0.8999, '89'), (0.9, '90'), (0.997, '99'), (1.0996, '109'), (1.1, '110')]
)
def test_the_load_in_percent_never_reaches_a_stage_before_the_word(utilisation, percent):
    page = load_bar(Load(utilisation, 1000.0, 1000.0 * utilisation), {})
    assert f'{stage_of(utilisation)} {percent} %' in page
    assert percent_of(1.0996, 1) == '109.9'
    causes = corners((1, 1, 1, 1), load=Load(utilisation, 1000.0, 1000.0 * utilisation, 'front'))
    figures = SituationTracker().update(causes).figures
    assert figures == ('' if utilisation < 0.9 else f'load {percent} % of rated')


def test_load_and_governor_have_their_words_and_stages():
    page = load_bar(Load(0.94, 5426.0, 5100.0, 'front'), {'reach': 0.42})
    assert 'data-load="approach"' in page
    assert 'approach 94 %' in page
    assert '326 kg or 0.4 m of reach remain · tips over the front' in page
    assert '484 kg above the rated load' in load_bar(Load(1.105, 4616.0, 5100.0), {})
    assert 'no rated load' in load_bar(Load(math.inf, 0.0, 0.0), {})
    assert 'limit unknown' in load_bar(Load(math.nan), {})
    assert load_bar(None, {}) == governor_line(None) == ''
    held = GovernorState('holding back boom (12 %): rear_left would come near to lifting', False, ('boom',), 0.12)
    assert 'data-governor="held"' in governor_line(held)
    assert 'rear left' not in governor_line(held), 'the banner has the reason'
    situation = SituationTracker().update(corners((1, 1, 1, 1), governor=held))
    assert situation.words == 'HELD: boom'
    assert situation.figures == '12 % of the lever passes: rear left would come near to lifting'
    override = GovernorState('override: 25 % of the levers without a limit of the load, 7 s left', is_override=True)
    assert 'data-governor="override"' in governor_line(override)
    situation = SituationTracker().update(corners((1, 1, 1, 1), governor=override))
    assert (situation.state, situation.band, situation.words) == (OVERRIDE, DANGER, 'OVERRIDE')
    assert situation.figures == '25 % of the levers without a limit of the load, 7 s left'
    fault = GovernorState('no valve_commands_in for 0.5 s: valves at neutral', True)
    assert 'data-governor="fault"' in governor_line(fault)
