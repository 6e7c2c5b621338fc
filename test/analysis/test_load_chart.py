"""Load charts: the source's tipping loads, independent statics, hydraulics at relief pressure, and the command."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from gear_cases import machine_of_case
from load_witness import greatest_untipped

from dyn_nodes.analysis.load_chart import (
    REASONS,
    ChartSettings,
    LoadChartError,
    load_chart,
    slope_gravity,
)
from dyn_nodes.analysis.load_chart_output import (
    SIDES,
    as_json,
    as_text,
    assumptions,
    draw,
    joints_heading,
    sides,
    table_rows,
    write_csv,
)
from dyn_nodes.analysis.load_statics import LoadStatics
from dyn_nodes.cli import build_parser
from dyn_nodes.commands import CommandError, loadchart
from dyn_nodes.model import load_machine
from dyn_nodes.model.posture import center_of_mass, link_poses
from dyn_nodes.stability.equilibrium.standing import at_rest

ROOT = Path(__file__).resolve().parents[2]
LEVEL = np.array([0.0, 0.0, -9.81])


def machine_files(name):
    return str(ROOT / 'urdf' / f'{name}.urdf'), str(ROOT / 'config' / f'{name}.yaml')


@pytest.fixture(scope='module')
def log_loader():
    return load_machine(*machine_files('log_loader'))


@pytest.fixture(scope='module')
def planar():
    return load_machine(*machine_files('log_loader_planar'))


@pytest.fixture(scope='module')
def statics(log_loader):
    return LoadStatics(log_loader)


@pytest.fixture(scope='module')
def chart(log_loader):
    slopes = tuple(np.radians([0.0, 5.0, 10.0]))
    return load_chart(log_loader, ChartSettings(slopes=slopes, reach_step=0.5, swing_step=np.radians(15)))


def test_tipping_load_of_the_planar_machine_at_full_reach(planar):
    """The source has rigid wheels; on tyres the machine leans, and tips at a lower load."""
    result = load_chart(planar, ChartSettings(rigid=True))
    assert result.reaches[-1] == pytest.approx(7.0, abs=1e-6)
    assert result.tipping[0, -1, 0] == pytest.approx(5018.7, abs=0.05)
    assert result.static[0, -1, 0] == pytest.approx(0.75 * 5018.7, abs=0.05)
    assert 0.98 * 5018.7 < load_chart(planar).tipping[0, -1, 0] < 5018.7


def test_5100_kg_reach_the_tipping_line_at_6_5_m_from_the_boom_foot(statics):
    boom = np.radians(np.linspace(0.0, 60.0, 241))
    q = statics.arm_positions(np.column_stack([boom, 0.0 * boom]))
    tipping = greatest_untipped(statics.demand(q, LEVEL))
    foot_distance = statics.mount(q)[:, 0] - 0.35
    order = np.argsort(tipping)
    assert np.interp(5100.0, tipping[order], foot_distance[order]) == pytest.approx(6.5, abs=0.1)


@pytest.mark.parametrize('heading', [0.0, 1.0, np.pi, -2.0])
@pytest.mark.parametrize('slope', [0.0, 0.15])
def test_tipping_load_is_that_of_the_projected_centre_of_mass(log_loader, statics, slope, heading):
    """Independent check: with the tipping load on the mount, project the centre of mass along gravity to the ground."""
    rng = np.random.default_rng(3)
    pull = slope_gravity(9.81, slope, heading)
    for _ in range(10):
        boom, stick, swing = rng.uniform(-0.3, 1.0), rng.uniform(-2.2, 0.0), rng.uniform(-np.pi, np.pi)
        q = statics.arm_positions(np.array([[boom, stick]]), np.array([swing]))
        payload = float(greatest_untipped(statics.demand(q, pull))[0])
        if not 0.0 < payload < 1e6:
            continue
        poses = link_poses(
            log_loader.links, log_loader.joints, {'swing_joint': swing, 'boom_joint': boom, 'stick_joint': stick}
        )
        _, com = center_of_mass(log_loader.links, poses, replace(log_loader.payload, mass=payload))
        below = com[:2] - (com[2] - statics.ground) * pull[:2] / pull[2]
        inside = np.array([1.55, 1.10]) - np.abs(below)
        assert inside.min() == pytest.approx(0.0, abs=1e-9)


def test_the_machine_is_stable_below_the_tipping_load_and_not_above_it(planar):
    stiff = replace(planar, wheels=tuple(replace(wheel, stiffness=1e9) for wheel in planar.wheels))
    extended = replace(stiff.initial, joint_positions={'boom_joint': 0.0, 'stick_joint': 0.0})
    for mass, stable in ((5018.0, True), (5019.4, False)):
        case = replace(stiff, initial=extended, payload=replace(planar.payload, mass=mass))
        assert (at_rest(case) is not None) == stable


def test_lift_capacity_is_where_a_cylinder_reaches_relief_pressure(log_loader):
    result = load_chart(log_loader, ChartSettings(reach_step=0.5, swing_step=np.pi / 2))
    statics = LoadStatics(log_loader)
    for r in range(len(result.reaches)):
        q = statics.arm_positions(result.postures[r : r + 1])
        demand = statics.demand(q, LEVEL)
        effort = demand.effort + result.lifting[0, r, 0] * demand.effort_per_kg
        pressures = []
        for column, name in ((1, 'boom'), (2, 'stick')):
            actuator = log_loader.actuator(name)
            t, angle = actuator.linkage, actuator.linkage.direction * q[0, column] + actuator.linkage.angle
            length = np.sqrt(t.a**2 + t.b**2 - 2 * t.a * t.b * np.cos(angle))
            force = effort[0, column] / (t.direction * t.a * t.b * np.sin(angle) / length)
            tank = actuator.supply.tank_pressure
            pushed = (force + tank * actuator.rod_area) / actuator.head_area
            pulled = (tank * actuator.head_area - force) / actuator.rod_area
            pressures += [pushed, pulled]
        assert max(pressures) == pytest.approx(32.0e6, rel=1e-9)


def test_without_stops_the_dynamic_limit_is_the_tipping_load_itself(log_loader):
    still = ChartSettings(
        arm_deceleration=0.0, slew_deceleration=0.0, slew_speed=0.0, reach_step=0.5, swing_step=np.pi / 2
    )
    result = load_chart(log_loader, still)
    tips = np.minimum(result.tipping, result.dynamic) < result.lifting
    assert tips.any()
    np.testing.assert_allclose(result.dynamic[tips], result.tipping[tips], rtol=1e-9)


def test_slewing_adds_centrifugal_force(statics):
    """Static forces on a turntable: the payload's share is its centrifugal force, m w^2 r, at its height."""
    q = statics.arm_positions(np.radians([[10.0, -40.0]]))
    spin = np.zeros_like(q)
    spin[:, 0] = 0.5
    still, turning = statics.demand(q, LEVEL), statics.demand(q, LEVEL, rate=spin)
    front = int(np.argmin(still.pressing_per_kg))
    mount = statics.mount(q)[0]
    thrown = 0.5**2 * mount[0] * (mount[2] - statics.ground)
    assert still.pressing_per_kg[0, front] - turning.pressing_per_kg[0, front] == pytest.approx(thrown, rel=1e-9)


def test_safe_payload_falls_with_the_slope_and_is_the_least_of_its_limits(chart):
    all_round = np.array([chart.all_round(k) for k in range(3)])
    assert (np.diff(all_round, axis=0) < 0.0).all()
    assert (chart.safe <= np.minimum(chart.static, chart.dynamic) + 1e-9).all()
    assert (chart.static <= 0.75 * chart.tipping + 1e-9).all()
    assert (chart.static <= 0.87 * chart.lifting + 1e-9).all()
    assert chart.safe.max() <= 6000.0
    by_limit = {
        'tipping': 0.75 * chart.tipping,
        'hydraulics': 0.87 * chart.lifting,
        'payload limit': np.full_like(chart.safe, 6000.0),
    }
    for name, values in by_limit.items():
        chosen = chart.reason == REASONS.index(name)
        np.testing.assert_allclose(chart.safe[chosen], values[chosen])


def slippery(machine, friction):
    """Return the machine on wheels with another static friction."""
    return replace(
        machine,
        wheels=tuple(replace(wheel, friction=replace(wheel.friction, static=friction)) for wheel in machine.wheels),
    )


def test_on_a_slope_beyond_the_angle_of_friction_no_payload_is_safe(log_loader):
    """One coefficient on all wheels: at rest the machine slides if tan(slope) > mu, with any payload."""
    still = {'arm_deceleration': 0.0, 'slew_deceleration': 0.0, 'slew_speed': 0.0, 'downhill': 0.0}
    angle = np.arctan(0.1)
    settings = ChartSettings((0.999 * angle, 1.001 * angle), reach_step=2.0, swing_step=np.pi / 2, **still)
    slippery_chart, firm = load_chart(slippery(log_loader, 0.1), settings), load_chart(log_loader, settings)
    np.testing.assert_allclose(slippery_chart.safe[0], firm.safe[0])
    assert np.isinf(slippery_chart.sliding[0]).all()
    assert not slippery_chart.safe[1].any()
    assert (slippery_chart.reason[1] == REASONS.index('sliding')).all()
    assert (firm.reason[1] != REASONS.index('sliding')).all()
    assert 'S' in table_rows(slippery_chart, 1)[0][-1]


def test_a_stop_of_the_slew_slides_where_the_yaw_moment_is_beyond_the_friction(log_loader):
    settings = ChartSettings(reach_step=2.0, swing_step=np.pi / 2, slew_deceleration=1.0)
    slippery_chart, firm = load_chart(slippery(log_loader, 0.05), settings), load_chart(log_loader, settings)
    sliding = slippery_chart.reason == REASONS.index('dynamic sliding')
    assert sliding.any()
    assert (slippery_chart.safe[sliding] < firm.safe[sliding]).all()
    assert (slippery_chart.safe <= firm.safe + 1e-6).all()


def test_far_over_the_side_the_machine_holds_least(chart):
    columns = sides(chart, 0)
    front, side = columns['over front'][0], columns['over side'][0]
    assert side[-1] < 0.7 * front[-1]
    assert columns['all round'][0][-1] <= side[-1]


def test_a_smaller_share_of_the_tipping_load(log_loader, chart):
    settings = replace(chart.settings, tipping_share=0.66)
    strict = load_chart(log_loader, settings)
    np.testing.assert_allclose(strict.static[0, -1], 0.66 / 0.75 * chart.static[0, -1], rtol=1e-6)


def test_a_chart_at_a_height_keeps_it(log_loader):
    settings = ChartSettings(height=1.0, reach_step=0.5, swing_step=np.pi / 2)
    result = load_chart(log_loader, settings)
    assert np.nanmax(np.abs(result.heights - 1.0)) < 1e-4
    q = LoadStatics(log_loader).arm_positions(result.postures)
    np.testing.assert_allclose(LoadStatics(log_loader).reach(q), result.reaches, atol=1e-4)
    with pytest.raises(LoadChartError, match=r'the mount can reach .* not to 20 m'):
        load_chart(log_loader, ChartSettings(height=20.0))


def test_machines_without_a_chart_are_rejected_with_a_reason(log_loader):
    with pytest.raises(LoadChartError, match='needs a payload'):
        load_chart(replace(log_loader, payload=None))
    with pytest.raises(LoadChartError, match='needs supports such as wheels, found 0'):
        load_chart(replace(log_loader, wheels=()))


def test_joints_that_move_supports_are_held_and_named(log_loader):
    carried = (*log_loader.wheels[:3], replace(log_loader.wheels[3], link='boom_link'))
    chart = load_chart(replace(log_loader, wheels=carried), ChartSettings(reach_step=3.0, rigid=True))
    assert chart.joints == ('stick_joint',)
    assert 'swing_joint, boom_joint fixed at the initial positions' in ' '.join(assumptions(chart))


def test_positions_of_prismatic_joints_are_metres(tmp_path):
    machine = machine_of_case('pivot_crane')
    chart = load_chart(machine, ChartSettings(reach_step=0.5, swing_step=np.pi / 2, rigid=True))
    assert joints_heading(chart) == 'luff (deg), extend (m)'
    write_csv(chart, tmp_path / 'chart.csv')
    with (tmp_path / 'chart.csv').open(newline='') as file:
        rows = list(csv.DictReader(file))
    farthest = [row for row in rows if row['reach_m'] == f'{chart.reaches[-1]:.4f}']
    assert float(farthest[0]['extend_m']) == pytest.approx(1.4, abs=1e-3)
    assert table_rows(chart, 0)[-1][2] == '0 1.40'


def test_the_table_rounds_down_and_names_the_limit(chart):
    rows = table_rows(chart, 0)
    assert len(rows) == len(chart.reaches)
    values, reasons = sides(chart, 0)['all round']
    number, mark = rows[-1][3 + SIDES.index('all round')].split()
    assert 0.0 <= values[-1] - float(number) < 10.0
    assert mark == 'T'
    assert reasons[-1] == 'tipping'
    text = as_text(chart)
    assert 'slope 10°, any heading of the machine' in text
    assert '75 % of the tipping load' in text


def test_a_payload_above_the_tipping_load_of_the_worst_direction_is_marked(chart, tmp_path):
    """Over front the far log-loader may carry more than tips it over the side: table, CSV, JSON and picture mark it."""
    tips = chart.tips_when_slewed(0)
    front = int(np.argmin(np.abs(chart.swings)))
    assert tips[-1, front]
    assert chart.safe[0, -1, front] > chart.tipping[0, -1].min()
    assert not tips[:, int(np.argmin(chart.tipping[0, -1]))].any()
    cells = {name: table_rows(chart, 0)[-1][3 + SIDES.index(name)] for name in SIDES}
    assert cells['over front'].endswith('*')
    assert not cells['all round'].endswith('*')
    text = as_text(chart)
    assert 'above the tipping load of the worst slew angle at this reach' in text
    write_csv(chart, tmp_path / 'chart.csv')
    with (tmp_path / 'chart.csv').open(newline='') as file:
        rows = [row for row in csv.DictReader(file) if row['slope_deg'] == '0.0000']
    marked = np.array([row['tips_when_slewed'] == 'yes' for row in rows]).reshape(tips.shape)
    np.testing.assert_array_equal(marked, tips)
    assert as_json(chart)['tips_when_slewed'][0] == tips.tolist()
    figure = draw(chart)
    labels = [text.get_text() for text in figure.axes[1].get_legend().get_texts()]
    assert 'over front, above the tipping load of the worst slew angle' in labels
    assert any('if it slews' in text.get_text() for text in figure.texts)


def test_the_number_of_assumed_values_is_on_text_json_and_picture(log_loader, chart):
    count = len(log_loader.assumed)
    assert count > 20
    stated = f'{count} values of the machine file are assumed'
    assert stated in as_text(chart)
    assert any(stated in text.get_text() for text in draw(chart).texts)
    assert len(as_json(chart)['assumed_values']) == count
    measured = replace(chart, assumed=())
    assert 'of the machine file are assumed' not in as_text(measured)


def command(*arguments):
    return loadchart.run(build_parser(['loadchart']).parse_args(['loadchart', *arguments]))


def test_the_command_writes_picture_csv_and_table(tmp_path, capsys):
    urdf, config = machine_files('log_loader')
    coarse = ('--reach-step', '1', '--swing-step', '30')
    assert command(urdf, '--config', config, '--slope', '0', '8', *coarse, '--out', str(tmp_path / 'a'), '--json') == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts['machine'] == 'log_loader'
    assert len(facts['safe']) == 2
    assert facts['reaches'][-1] == pytest.approx(7.351, abs=1e-3)
    with (tmp_path / 'a' / 'load_chart.csv').open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2 * len(facts['reaches']) * 12
    farthest = [row for row in rows if row['slope_deg'] == '0.0000' and row['reach_m'] == '7.3510']
    assert min(float(row['safe_kg']) for row in farthest) == pytest.approx(min(facts['safe'][0][-1]), abs=0.06)
    assert (tmp_path / 'a' / 'load_chart.png').stat().st_size > 20_000
    assert 'safe payload' in (tmp_path / 'a' / 'load_chart.txt').read_text()


def test_the_command_prints_a_table_for_a_machine_that_does_not_swing(capsys, tmp_path):
    urdf, config = machine_files('log_loader_planar')
    for options, farthest in (((), '3730 T'), (('--rigid',), '3760 T')):
        assert command(urdf, '--config', config, '--reach-step', '1', '--out', str(tmp_path), *options) == 0
        shown = capsys.readouterr().out
        assert 'over front' in shown
        assert farthest in shown


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        (('--slope', '60'), '--slope: expected 0 to 45 degrees, found 60'),
        (('--tipping-share', '0'), '--tipping-share: expected more than 0 and at most 1, found 0'),
        (('--reach-step', '0'), '--reach-step: expected 0.01 to 100 m, found 0'),
        (('--arm-deceleration', '-1'), '--arm-deceleration: expected 0 or more, found -1'),
        (('--map', '1'), '--map: expected 2 to 1000, found 1'),
        (('--map', '5'), '--map: expected --out DIR with it, found none'),
    ],
)
def test_mistakes_on_the_command_line_are_named(arguments, message):
    urdf, config = machine_files('log_loader')
    with pytest.raises(CommandError) as error:
        command(urdf, '--config', config, *arguments)
    assert str(error.value) == message


def test_a_faulty_machine_is_rejected_with_its_faults(tmp_path, capsys):
    urdf, _ = machine_files('log_loader')
    config = tmp_path / 'bad.yaml'
    config.write_text('name: x\nwheel: 3\n')
    assert command(urdf, '--config', str(config)) == 1
    assert 'bad.yaml' in capsys.readouterr().err
