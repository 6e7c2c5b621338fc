"""Data sheets: published loads of real machines against the fit of their unknowns, predictions, written machines."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from scipy.optimize import linprog

import dyn_nodes as dn
from dyn_nodes.analysis.sheets.cases import SheetError
from dyn_nodes.analysis.sheets.expressions import FormulaError, evaluate
from dyn_nodes.analysis.sheets.fit import Charts, cells_of, fit_sheet
from dyn_nodes.analysis.sheets.residuals import folds, undetermined
from dyn_nodes.analysis.sheets.sheet import read_sheet
from dyn_nodes.analysis.sheets.statics import NEVER, Statics, tipping_loads
from dyn_nodes.cli import main

SHEETS = Path(__file__).resolve().parents[2] / 'config' / 'sheets'


@cache
def sheet(name):
    return dn.read_sheet(name)


# root mean square and worst relative error of the cells that stability limits, and greatest number of unknowns that
# the cells determine; the sources of the loads are in the sheets
PUBLISHED = {
    'cat_m318d': (0.005, 0.020, 303, 26),
    'cat_312c': (0.005, 0.020, 93, 16),
    'gehl_603': (0.001, 0.001, 11, 8),
    'komatsu_pw160': (0.005, 0.010, 40, 11),
    'terex_rt665': (0.002, 0.004, 7, 5),
    'terex_rt230': (0.002, 0.004, 5, 5),
    'cat_966h': (0.002, 0.004, 27, 13),
    'cat_966l': (0.002, 0.006, 42, 12),
    'hyster_forklifts': (0.001, 0.001, 12, 4),
}


@pytest.mark.parametrize('name', PUBLISHED)
def test_fitted_machines_have_the_published_loads(name):
    rms, worst, targets, unknowns = PUBLISHED[name]
    total = sheet(name).residuals()[-1]
    assert total.targets == targets
    assert total.rms < rms
    assert total.worst < worst
    assert sheet(name).fitted.effective_number < unknowns
    assert total.broken <= (1 if name == 'komatsu_pw160' else 0), 'bounds by hydraulics or structure'


@pytest.mark.parametrize(
    ('name', 'targets', 'worst'), [('liebherr_ltm1100', 30, 0.02), ('liebherr_ltm1060', 35, 0.025)]
)
def test_an_unmarked_chart_is_the_lesser_of_stability_and_structure(name, targets, worst):
    """Loads rounded to 100 kg of 1 to 20 t; the telescoping programs are not published."""
    total = sheet(name).residuals()[-1]
    assert total.targets >= targets
    assert total.worst < worst
    assert total.rms < 1.5 * total.rounding
    assert total.broken == 0


def test_counterweights_of_a_crane_change_its_loads_as_published():
    """LTM 1060: the loads of 5.5 and 4.9 t of counterweight are predicted by a sheet without them."""
    content = read_sheet(SHEETS / 'liebherr_ltm1060.yaml')
    chart = content.charts['page_17_upper']
    weights = np.array([row['counterweight_t'] for row in chart.rows])
    for weight in (5.5, 4.9):
        rest = content.with_charts({chart.name: chart.part(weights != weight)})
        (cells,) = cells_of(content.with_charts({chart.name: chart.part(weights == weight)}), fit_sheet(rest).values)
        assert cells.targets.sum() >= 5
        assert np.median(np.abs(cells.errors[cells.targets])) < 0.02


def test_one_skid_steer_loader_of_five_is_predicted_by_the_others():
    """The rated capacities follow from one share of the wheelbase and one lever, within a 3 cm shift of each model."""
    validation = sheet('cat_skid_steer_b3').validate(5)
    assert validation.targets == 5
    assert validation.rms < 0.04
    assert sheet('cat_skid_steer_b3').residuals()[-1].worst < 0.001


def test_masses_alone_leave_the_tipping_load_uncertain(tmp_path):
    """ZX200: masses and joints are published, no load: the centre of mass of the upper structure is to be measured."""
    data_sheet = sheet('hitachi_zx200')
    assert data_sheet.residuals()[-1].worst < 1e-6
    assert set(undetermined(data_sheet.fitted)) >= {'upper_x', 'boom_along', 'roller_half_length'}
    (prediction,) = data_sheet.predict([data_sheet.content.charts['operating_mass'].rows[0]])
    assert prediction.value == pytest.approx(7434 + 9086 + 2130 + 1010 + 660)
    urdf = tmp_path / 'zx200.urdf'
    data_sheet.write(urdf, tmp_path / 'zx200.yaml')
    masses = [float(mass.get('value')) for mass in ElementTree.parse(urdf).iter('mass')]
    assert sum(masses) == pytest.approx(20320, rel=1e-6)
    assert 2130 in [round(mass) for mass in masses]


def test_a_chart_by_structure_alone_determines_no_mass():
    fitted = sheet('terex_rt335').fitted
    assert sheet('terex_rt335').residuals()[-1].targets == 0
    assert {'boom_mass', 'carrier_mass', 'com_rate'} <= set(undetermined(fitted))


def test_each_half_of_a_chart_predicts_the_other():
    """312C: all undercarriages, front and side."""
    validation = sheet('cat_312c').validate(2)
    assert validation.targets > 80
    assert np.sqrt(validation.rms**2 - validation.rounding**2) < 0.006
    assert validation.broken <= 1, 'of 69 bounds by hydraulics'


@pytest.mark.slow
def test_each_tenth_of_a_chart_is_predicted_by_the_rest():
    """M318D: all undercarriages, rear, side and front. Rounding to 50 kg alone gives 0.44 %."""
    validation = sheet('cat_m318d').validate(10)
    assert validation.targets == 303
    assert validation.rounding == pytest.approx(0.0044, abs=1e-4)
    assert validation.rms < 0.005
    assert validation.worst < 0.02
    assert validation.broken <= 1, 'of 150 bounds by hydraulics'


@pytest.mark.parametrize('count', [2, 3])
def test_folds_have_whole_points_and_together_all_cells(count):
    content = read_sheet(SHEETS / 'gehl_603.yaml')
    chart, parts = content.charts['lift'], folds(content, count)
    assert len(parts) == count
    for rest, part in parts:
        assert len(rest.charts['lift'].rows) + len(part.charts['lift'].rows) == len(chart.rows)
    points = [{(row['radius_m'], row['height_m']) for row in part.charts['lift'].rows} for _, part in parts]
    assert len(set.union(*points)) == sum(len(group) for group in points)
    assert sum(len(part.charts['lift'].rows) for _, part in parts) == len(chart.rows)


def test_tyres_that_deflect_lower_the_tipping_load_as_published():
    cells = sheet('cat_966l').fitted.cells()[0]
    loads = dict(zip([tuple(row.values())[:-1] for row in cells.chart.rows], cells.loads))
    published = dict(zip([tuple(row.values())[:-1] for row in cells.chart.rows], cells.chart.load))
    pairs = [
        (key, (*key[:-1], key[-1].replace('tyres_deflect', 'rigid_tyres'))) for key in loads if 'deflect' in key[-1]
    ]
    assert len(pairs) == 11
    for soft, rigid in pairs:
        assert loads[soft] / loads[rigid] == pytest.approx(published[soft] / published[rigid], rel=0.003)


def test_added_tyre_masses_change_the_tipping_load_as_published():
    cells = sheet('cat_966l').fitted.cells()[1]
    rounding = 0.5 / np.abs(cells.chart.load)
    assert np.all(np.abs(cells.errors) < np.maximum(0.005, rounding))


def test_axle_loads_of_forklifts_are_within_one_kilogram():
    for cells in sheet('hyster_forklifts').fitted.cells():
        np.testing.assert_allclose(cells.loads, cells.chart.load, atol=1.0)


# independent statics


def test_the_tipping_load_is_the_greatest_load_with_pushing_reactions():
    """Reactions at the contact points exist up to the tipping load, by linear programming."""
    random = np.random.default_rng(7)
    for _ in range(20):
        supports = random.uniform(-1.5, 1.5, (6, 2))
        center = supports.mean(axis=0)
        load_point = center + 4.0 * np.array([np.cos(angle := random.uniform(0, 6.28)), np.sin(angle)])
        mass = random.uniform(1e3, 2e4)
        load = tipping_loads(Statics(np.array([mass]), mass * center[None], load_point[None]), supports)[0]
        balance = np.vstack((np.ones(6), supports.T))
        weight = np.concatenate(([1.0], load_point))
        result = linprog(
            [*np.zeros(6), -1.0],
            A_eq=np.column_stack((balance, -weight)),
            b_eq=np.concatenate(([mass], mass * center)),
            bounds=[(0, None)] * 7,
        )
        assert load == pytest.approx(-result.fun, rel=1e-6)


def test_a_load_between_the_supports_never_tips():
    square = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    statics = Statics(np.array([1000.0]), np.zeros((1, 2)), np.array([[0.5, 0.2]]))
    assert tipping_loads(statics, square)[0] == NEVER


@pytest.mark.parametrize('name', ['cat_312c', 'komatsu_pw160', 'terex_rt665', 'cat_966l'])
def test_loads_of_many_values_of_the_quantities_equal_single_evaluations(name):
    content = read_sheet(SHEETS / f'{name}.yaml')
    free = [quantity for quantity in content.quantities.values() if quantity.spread > 0.0]
    names = tuple(quantity.name for quantity in free)
    exact = {quantity.name: quantity.start for quantity in content.quantities.values() if quantity.spread == 0.0}
    draws = np.random.default_rng(3).uniform(-0.5, 0.5, (3, len(free)))
    vectors = np.array([quantity.start for quantity in free]) + draws * [quantity.spread for quantity in free]
    together = Charts(content).cells(exact, names, vectors)
    for row, vector in enumerate(vectors):
        for many, one in zip(together, cells_of(content, {**exact, **dict(zip(names, vector))})):
            np.testing.assert_allclose(many.loads[row], one.loads, rtol=1e-12)


# predictions


def test_a_prediction_has_load_limit_and_uncertainty():
    cell = {'chart': 'va_stick_2500', 'height_m': 6.0, 'radius_m': 4.5, 'kind': 'grid'}
    side, rear = sheet('cat_m318d').predict(
        [
            {**cell, 'direction': 'side', 'undercarriage': 'blade_up'},
            {**cell, 'direction': 'rear', 'undercarriage': 'two_stabilizer_sets_down'},
        ]
    )
    assert side.limit == 'stability'
    assert side.value == pytest.approx(5100.0, rel=0.01)
    assert side.value == pytest.approx(0.75 * side.tipping_load)
    assert side.load == side.value
    assert 1.0 < side.deviation < 50.0
    # hydraulics limit this point of this arm to 6250 kg on any undercarriage
    assert (rear.limit, rear.load, rear.bound) == ('hydraulics', 6250.0, 6250.0)
    assert rear.value > 6250.0


def test_a_column_without_a_unit_has_the_unit_of_the_chart():
    cell = {'chart': 'rt665_outriggers', 'direction': '360'}
    feet, metres = sheet('terex_rt665').predict(
        [
            {**cell, 'boom_length': 66, 'radius': 50},
            {**cell, 'boom_length_m': 66 * 0.3048, 'radius_m': 50 * 0.3048},
        ]
    )
    assert feet.value == pytest.approx(metres.value, rel=1e-9)
    assert feet.value == pytest.approx(18300 * 0.45359237, rel=0.01)


@pytest.mark.parametrize(
    ('cell', 'message'),
    [
        ({'chart': 'lifts'}, "cell 1: chart: expected one of lift, found 'lifts'"),
        ({'direction': 'across', 'height_m': 1}, "cell 1 of lift: expected a number 'radius', found"),
        (
            {'direction': 'west', 'height_m': 1, 'radius_m': 3},
            "expected one of front, side, rear, all, .*, found 'west'",
        ),
    ],
)
def test_a_cell_that_cannot_be_predicted_is_reported(cell, message):
    with pytest.raises(SheetError, match=message):
        sheet('gehl_603').predict([cell])


def test_measurements_to_take_next_are_named():
    first = sheet('gehl_603').next_measurements()[0]
    assert (first.name, first.unit) == ('blade_x', 'm'), 'no published load along the tracks is limited by stability'
    assert first.share > 0.9


# written machines and the tipping solver


@pytest.mark.parametrize(
    ('name', 'cell', 'swings'),
    [
        ('gehl_603', {'radius_m': 3.0, 'height_m': 1.0, 'direction': 'across'}, [90]),
        ('gehl_603', {'radius_m': 4.0, 'height_m': -1.0, 'direction': 'drive_direction'}, [0]),
        ('terex_rt665', {'boom_length_ft': 66, 'radius_ft': 50, 'direction': 'over_front'}, [0]),
        ('terex_rt665', {'boom_length_ft': 66, 'radius_ft': 50, 'direction': '360'}, range(0, 181, 5)),
        ('cat_966l', {'chart': 'buckets', 'quantity': 'tipping_straight_rigid_tyres_kg'}, []),
        ('cat_966l', {'chart': 'buckets', 'quantity': 'tipping_straight_tyres_deflect_kg'}, []),
    ],
)
def test_the_tipping_solver_agrees_with_the_sheet(tmp_path, name, cell, swings):
    urdf, config = tmp_path / 'machine.urdf', tmp_path / 'machine.yaml'
    data_sheet = sheet(name)
    chart = data_sheet.content.charts[cell.get('chart', next(iter(data_sheet.content.charts)))]
    full = {**chart.rows[0], **cell}
    data_sheet.write(urdf, config, full)
    (prediction,) = data_sheet.predict([full])
    machine = dn.load(urdf, config)
    loads = [machine.tipping({'swing_joint': np.radians(swing)}).load for swing in swings] or [machine.tipping({}).load]
    assert min(loads) == pytest.approx(prediction.tipping_load, rel=1e-3)


def test_init_writes_a_machine_that_check_accepts_and_reports_the_fit(tmp_path, capsys):
    config = tmp_path / 'loader.yaml'
    assert main(['init', '--from-sheet', 'hyster_forklifts', '-o', str(config)]) == 0
    text = capsys.readouterr().out
    assert 'Measure next:' in text
    assert '12 cells determine 3.1 of them' in text
    assert main(['check', str(tmp_path / 'loader.urdf'), '--config', str(config)]) == 0
    assert main(['init', '--from-sheet', 'hyster_forklifts', '-o', str(config)]) == 1
    assert f'{tmp_path / "loader.urdf"} exists; --force overwrites it' in capsys.readouterr().err


def test_init_predicts_the_cells_of_a_file(tmp_path, capsys):
    cells = tmp_path / 'cells.yaml'
    cells.write_text(
        'charts:\n- chart: lift\n  columns: [radius_m, height_m, direction]\n'
        '  cells: [[3, 1.0, across], [max, 4.0, across], [5, 0.0, drive_direction]]\n'
    )
    assert main(['init', '--from-sheet', 'gehl_603', '--predict', str(cells), '--json']) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [round(row['value']) for row in rows[:2]] == pytest.approx([1795, 1175], rel=0.002)
    assert rows[2]['limit'] == 'hydraulics'
    assert rows[2]['load'] == 1495.0


def test_init_needs_a_machine_or_a_sheet(capsys):
    assert main(['init']) == 2
    assert 'expected either MACHINE or --from-sheet SHEET' in capsys.readouterr().err
    assert main(['init', '--from-sheet', 'gehl_602']) == 1
    assert 'gehl_603' in capsys.readouterr().err


# faults


@pytest.mark.parametrize(
    ('change', 'message'),
    [
        (('kind: excavator', 'kind: digger'), ':4: kind: expected one of excavator, crane, loader, forklift, found'),
        (('spread: 0.07', 'spread: 0'), r'quantities.half_gauge: expected a `spread` above 0'),
        (('- [max, 4.0, across, 1175, s]', '- [max, 4.0, across, 1175]'), r'cells\[0\]: expected 5 values, found 4'),
        (('- [max, 4.0, across, 1175, s]', '- [max, 4.0, across, 1175, x]'), r"expected a limit of .*, found 'x'"),
        (('rounding: 5', 'roundings: 5'), 'expected one of the keys .*, found roundings'),
    ],
)
def test_faults_of_a_sheet_have_file_line_and_key(tmp_path, change, message):
    text = (SHEETS / 'gehl_603.yaml').read_text()
    assert change[0] in text
    path = tmp_path / 'sheet.yaml'
    path.write_text(text.replace(*change, 1))
    with pytest.raises(SheetError, match=r'sheet.yaml:\d+.*' + message.removeprefix(':4')):
        dn.read_sheet(path)


def test_an_unknown_name_in_an_expression_is_reported(tmp_path):
    path = tmp_path / 'sheet.yaml'
    path.write_text((SHEETS / 'gehl_603.yaml').read_text().replace('mass: boom_mass', 'mass: boom_mas'))
    with pytest.raises(SheetError, match="unknown name 'boom_mas'"):
        dn.read_sheet(path).residuals()


@pytest.mark.parametrize(
    'text', ['__import__("os")', 'a.b', '[1]', 'a if b else c', 'lambda: 1', '1 +', 'a' * 400, '2 ** 9']
)
def test_expressions_are_arithmetic_only(text):
    with pytest.raises(FormulaError):
        evaluate(text, {'a': 1.0, 'b': 2.0, 'c': 3.0})


def test_expressions_compute_numbers_and_arrays():
    assert evaluate('-a + 2 * (b - 1) / 4', {'a': 1.0, 'b': 3.0}) == 0.0
    np.testing.assert_allclose(
        evaluate('hypot(a, b) + max(a, 4)', {'a': np.array([3.0, 5.0]), 'b': 4.0}), [9.0, 11.403124]
    )


@pytest.mark.slow
def test_the_certificate_of_a_written_excavator_has_the_published_loads(tmp_path):
    """312C over the side: ISO 10567 by the tipping solver against the maker's table, lift point at the stick pin."""
    urdf, config = tmp_path / 'c312.urdf', tmp_path / 'c312.yaml'
    chart = 'stick25_standard_600_blade_raised'
    cell = {'chart': chart, 'height_m': 1.5, 'radius_m': 4.5, 'direction': 'side'}
    sheet('cat_312c').write(urdf, config, cell)
    certificate = dn.certify(dn.load(urdf, config), 'iso10567', vary=False)
    (side,) = [table for table in certificate.tables if 'over side' in table.title]
    loads = {(float(row[0]), 6.0): row[4] for row in side.rows}
    rows = [
        row
        for row in sheet('cat_312c').content.charts[chart].rows
        if row['direction'] == 'side' and row['limit'] == 's'
    ]
    compared = [row for row in rows if (row['height_m'], row['radius_m']) in loads]
    assert len(compared) >= 4
    for row in compared:
        load, letter = loads[row['height_m'], row['radius_m']].split()
        assert letter.startswith('T')
        assert float(load) == pytest.approx(row['load_kg'], rel=0.025)
