from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from recorded_run import BagOfRun, write_run
from scipy.spatial.transform import Rotation

from dyn_nodes.analysis.run_record import MarginHistory, attitude_of, read_run
from dyn_nodes.analysis.summary import contact_times, least_margin, summarize, verdict

KEYS = {
    'recovered',
    'overturned',
    'max_base_rotation_deg',
    'max_base_rotation_time_s',
    'lift_off_time_s',
    'touch_down_time_s',
    'final_wheel_loads_n',
    'final_wheel_load_sum_n',
    'weight_n',
    'final_wheel_load_sum_error',
    'min_margins',
    'max_friction_use',
    'duration_s',
    'wall_time_s',
    'speed',
    'messages',
    'bag',
    'machine',
    'payload_kg',
}


def test_the_recovered_run_gives_the_reference_numbers(recovered):
    """abo-shanab-2003, experiment E10 with profile P3D: lift-off 8.38 to 8.44 s, 8.55 degrees at 10.68 s, +-3 %."""
    summary = summarize(recovered)
    assert summary['recovered'] is True
    assert summary['overturned'] is False
    assert summary['max_base_rotation_deg'] == pytest.approx(8.55, rel=0.03)
    assert summary['max_base_rotation_time_s'] == pytest.approx(10.68, rel=0.03)
    assert summary['lift_off_time_s'] == pytest.approx(8.41, rel=0.03)
    assert summary['touch_down_time_s'] > 11.8


def test_at_the_end_the_wheels_carry_the_weight(recovered):
    summary = summarize(recovered)
    assert summary['weight_n'] == pytest.approx((17481 + 5100) * 9.81)
    assert summary['weight_source'] == 'machine'
    assert all(load > 0.0 for load in summary['final_wheel_loads_n'].values())
    assert abs(summary['final_wheel_load_sum_error']) < 1e-4


def test_the_overturned_run_is_not_recovered(overturned):
    summary = summarize(overturned)
    assert summary['overturned'] is True
    assert summary['recovered'] is False
    assert summary['touch_down_time_s'] is None
    assert verdict(summary) == 'Overturned at 13.00 s'


def test_the_verdict_is_one_line(recovered):
    assert verdict(summarize(recovered)) == 'Recovered: peak base rotation 8.55 deg at 10.68 s'


def test_a_run_cut_while_it_tips_is_neither_recovered_nor_overturned(machine, tmp_path):
    from recorded_run import simulate

    with BagOfRun(tmp_path / 'bag') as bag:
        write_run(bag, *simulate(machine, recovery=True, duration=10.0))
    summary = summarize(read_run(tmp_path / 'bag'))
    assert (summary['recovered'], summary['overturned']) == (False, False)
    assert verdict(summary).startswith('Tipping at the end of the run: peak base rotation 7.2')


def test_a_run_without_lift_off_is_stable_not_recovered(machine, tmp_path):
    from recorded_run import simulate

    with BagOfRun(tmp_path / 'bag') as bag:
        write_run(bag, *simulate(machine, recovery=True, duration=4.0))
    summary = summarize(read_run(tmp_path / 'bag'))
    assert summary['lift_off_time_s'] is None
    assert summary['recovered'] is False
    assert verdict(summary).startswith('Stable: no wheel lifted')


def test_the_summary_has_every_key_and_is_strict_json(recovered, overturned):
    for record in (recovered, overturned):
        summary = summarize(record)
        assert set(summary) >= KEYS
        assert json.loads(json.dumps(summary, allow_nan=False)) == summary


def test_wall_time_gives_the_speed(recovered):
    assert summarize(recovered, wall_time=6.0)['speed'] == pytest.approx(4.0)
    assert summarize(recovered)['speed'] == pytest.approx(5.0)


def test_least_margins_name_the_front_edge_and_the_time_of_tipping(recovered):
    margins = summarize(recovered)['min_margins']
    assert margins['static']['edge'] == 'front'
    assert 0.0 < margins['static']['value'] < 0.1
    for name in ('zmp_degree', 'force_angle', 'extended_energy', 'net_moment'):
        assert margins[name]['value'] == 0.0
        assert margins[name]['edge'] == 'front'
        assert margins[name]['time_s'] == pytest.approx(8.4, abs=0.05)
    assert margins['load_share']['edge'].startswith('rear')


def test_without_a_machine_the_weight_is_that_at_the_start(recovered):
    bare = replace(recovered, machine=None)
    summary = summarize(bare)
    assert summary['machine'] is None
    assert summary['weight_source'] == 'wheel loads at the start'
    assert summary['weight_n'] == pytest.approx(221519.61, rel=1e-6)
    assert summary['payload_kg'] is None


@pytest.mark.parametrize(
    'skip',
    [
        ('robot_description', 'task_phase', 'events'),
        ('odom',),
        tuple(f'ground_reactions/{w}' for w in ('front_left', 'front_right', 'rear_left', 'rear_right')),
        ('joint_states',),
    ],
)
def test_a_bag_without_some_topics_gives_a_partial_summary(recovered_run, tmp_path, skip):
    with BagOfRun(tmp_path / 'bag', skip=skip) as bag:
        write_run(bag, *recovered_run)
    summary = summarize(read_run(tmp_path / 'bag'))
    assert (summary['max_base_rotation_deg'] is None) == ('odom' in skip)
    assert (summary['final_wheel_load_sum_n'] is None) == ('ground_reactions/front_left' in skip)
    assert (summary['machine'] is None) == ('robot_description' in skip)
    assert summary['recovered'] is (not any(topic in ('odom', 'ground_reactions/front_left') for topic in skip))


def loads(**wheels) -> SimpleNamespace:
    count = len(next(iter(wheels.values())))
    return SimpleNamespace(wheel_loads={name: (np.arange(count) * 1.0, np.array(v)) for name, v in wheels.items()})


def test_contact_is_lost_with_the_first_wheel_and_back_with_the_last():
    record = loads(a=[1.0, 1.0, 0.0, 1.0, 0.0, 1.0, 1.0], b=[1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0])
    assert contact_times(record) == (2.0, 6.0)


def test_a_wheel_in_the_air_at_the_end_is_not_back():
    assert contact_times(loads(a=[1.0, 0.0, 1.0], b=[1.0, 1.0, 0.0])) == (1.0, None)


def test_no_wheel_ever_lost_gives_no_times():
    assert contact_times(loads(a=[1.0, 2.0])) == (None, None)


def test_a_plateau_of_round_off_counts_from_its_beginning():
    value = np.array([5.0, 1.0, 1e-16, -1e-17, -2e-16, 3.0])
    history = MarginHistory(np.arange(6.0), value, {'front': value, 'rear': value + 1.0})
    assert least_margin(history) == {'value': 0.0, 'time_s': 2.0, 'edge': 'front', 'band': 'danger'}


def test_a_margin_that_is_never_defined_is_null():
    value = np.full(3, np.nan)
    assert least_margin(MarginHistory(np.arange(3.0), value, {})) == {
        'value': None,
        'time_s': None,
        'edge': None,
        'band': None,
    }


def test_a_margin_of_minus_infinity_is_null_with_its_time():
    value = np.array([1.0, -np.inf, 2.0])
    assert least_margin(MarginHistory(np.arange(3.0), value, {})) == {
        'value': None,
        'time_s': 1.0,
        'edge': None,
        'band': 'danger',
    }


angle = st.floats(-1.5, 1.5)


@given(yaw=st.floats(-3.0, 3.0), pitch=angle, roll=angle, size=st.floats(0.5, 2.0))
def test_attitude_recovers_the_angles_of_any_quaternion(yaw, pitch, roll, size):
    rotation = Rotation.from_euler('ZYX', [yaw, pitch, roll])
    tilt, roll_angle, pitch_angle = attitude_of(size * rotation.as_quat()[None])
    assert roll_angle[0] == pytest.approx(roll, abs=1e-9)
    assert pitch_angle[0] == pytest.approx(pitch, abs=1e-9)
    up = rotation.apply([0.0, 0.0, 1.0])
    assert tilt[0] == pytest.approx(np.arctan2(np.hypot(up[0], up[1]), up[2]), abs=1e-9)
