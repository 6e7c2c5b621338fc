"""Maps, boundaries, swings and Sobol indices against functions with analytical values."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from small_sweep import written

from dyn_nodes.analysis.sweeps.design import Design, Levels, Span
from dyn_nodes.analysis.sweeps.maps import CELLS, boundary, limit_of, map_of
from dyn_nodes.analysis.sweeps.pictures import draw_indices, draw_map, draw_tornado
from dyn_nodes.analysis.sweeps.report import Results
from dyn_nodes.analysis.sweeps.sensitivity import NoIndicesError, indices, swings
from dyn_nodes.analysis.sweeps.sweep_file import load_sweep
from dyn_nodes.model.problems import MachineError

CIRCLE = Span(-np.pi, np.pi)


def results_of(design, distributions, outcome, kind='number'):
    """Return the results of a sweep whose outcome is a function of its factors x, y, ..."""
    values = design.values(distributions)
    names = list('xyz'[: len(distributions)])
    peak = outcome(*values.T)
    columns = dict(zip(names, values.T), run=np.arange(len(values)), status=['done'] * len(values), peak=peak)
    kinds = {**dict.fromkeys(names, 'number'), 'run': 'count', 'status': 'text', 'peak': kind}
    note = {'name': 'analytical', 'factors': names, 'columns': kinds, 'design': design.kind, 'runs': len(values)}
    return Results(note, pa.table(columns))


def ishigami(x, y, z):
    return np.sin(x) + 7.0 * np.sin(y) ** 2 + 0.1 * z**4 * np.sin(x)


def ishigami_indices():
    """Return first-order and total indices of x, y, z in closed form (Ishigami and Homma, 1990)."""
    shares = np.array([0.5 * (1.0 + 0.1 * np.pi**4 / 5.0) ** 2, 49.0 / 8.0, 0.0])
    shared = 0.01 * np.pi**8 * (1.0 / 18.0 - 1.0 / 50.0)
    variance = shares.sum() + shared
    return shares / variance, (shares + shared * np.array([1.0, 0.0, 1.0])) / variance


def test_a_design_for_indices_changes_one_factor_at_a_time():
    values = Design('saltelli', 5 * 8, 3).values((CIRCLE, CIRCLE, CIRCLE)).reshape(8, 5, 3)
    a, b = values[:, 0], values[:, -1]
    assert (a != b).all()
    for k in range(3):
        others = [column for column in range(3) if column != k]
        assert (values[:, 1 + k, k] == b[:, k]).all()
        assert (values[:, 1 + k, others] == a[:, others]).all()


def test_indices_of_ishigamis_function_are_within_their_intervals():
    pytest.importorskip('SALib')
    result = indices(results_of(Design('saltelli', 5 * 1024, 1), (CIRCLE,) * 3, ishigami), 'peak')
    first, total = ishigami_indices()
    assert list(result) == ['x', 'y', 'z']
    for k, name in enumerate('xyz'):
        assert abs(result[name].first - first[k]) < result[name].first_error < 0.1
        assert abs(result[name].total - total[k]) < result[name].total_error < 0.1


def test_a_base_point_without_a_value_is_omitted():
    pytest.importorskip('SALib')
    whole = results_of(Design('saltelli', 5 * 64, 1), (CIRCLE,) * 3, ishigami)
    values = whole.column('peak').copy()
    values[7] = np.nan
    index = whole.table.schema.get_field_index('peak')
    damaged = whole._replace(table=whole.table.set_column(index, 'peak', pa.array(values)))
    less = whole._replace(table=pa.concat_tables([whole.table.slice(0, 5), whole.table.slice(10)]))
    assert indices(damaged, 'peak') == indices(less, 'peak')


def test_independent_runs_of_a_design_for_indices_are_its_base_points():
    design = Design('saltelli', 5 * 8, 3)
    apart = results_of(design, (CIRCLE,) * 3, ishigami).independent()
    values = design.values((CIRCLE,) * 3).reshape(8, 5, 3)[:, [0, 4]].reshape(16, 3)
    np.testing.assert_array_equal(np.column_stack([apart.column(name) for name in 'xyz']), values)
    other = results_of(Design('sobol', 40, 3), (CIRCLE,) * 3, ishigami)
    assert other.independent() is other


def test_other_designs_and_constant_outcomes_have_no_indices():
    pytest.importorskip('SALib')
    with pytest.raises(NoIndicesError, match='expected a design of kind saltelli, found sobol'):
        indices(results_of(Design('sobol', 40, 1), (CIRCLE,) * 3, ishigami), 'peak')
    with pytest.raises(NoIndicesError, match='found peak the same in all runs'):
        indices(results_of(Design('saltelli', 40, 1), (CIRCLE,) * 3, lambda x, y, z: 0.0 * x), 'peak')


@pytest.mark.parametrize('runs', [7, 50, 6 * 3])
def test_a_number_of_runs_without_whole_base_points_is_a_fault(tmp_path, runs):
    with pytest.raises(MachineError, match=rf'design.runs.*6 \(factors and 2 more\) times a power of two.*{runs}'):
        load_sweep(written(tmp_path, design=f'design: {{kind: saltelli, runs: {runs}, seed: 1}}'))


def test_a_swing_is_the_difference_of_the_means_at_both_ends():
    levels, even = Levels((-1.0, 0.0, 1.0)), Span(0.0, 1.0)
    result = swings(results_of(Design('sobol', 3000, 1), (levels, even), lambda x, y: 3.0 * x + y), 'peak')
    assert list(result) == ['x', 'y']
    assert result['x'].high - result['x'].low == pytest.approx(6.0, abs=0.01)
    assert result['y'].high - result['y'].low == pytest.approx(0.8, abs=0.3)  # means of fifths
    assert result['x'].low_interval[0] < -2.5 < result['x'].low_interval[1]
    assert np.ptp(result['x'].low_interval) == pytest.approx(2 * 1.96 * np.sqrt(1.0 / 12.0 / 1000.0), rel=0.02)


def test_the_interval_of_a_share_is_within_0_and_1():
    """Wilson's interval for 20 out of 20 and for 5 out of 20 (see the tables of Newcombe, 1998)."""
    levels = Levels(tuple(np.arange(20.0)))
    drawn = results_of(Design('grid', 40), (Levels((0.0, 1.0)), levels), lambda x, y: (x > 0) | (y < 5), 'flag')
    swing = swings(drawn, 'peak')['x']
    assert (swing.low, swing.high) == (0.25, 1.0)
    np.testing.assert_allclose(swing.low_interval, (0.1119, 0.4687), atol=1e-4)
    np.testing.assert_allclose(swing.high_interval, (0.8389, 1.0), atol=1e-4)


def test_the_boundary_of_a_grid_is_linear_between_its_levels():
    levels = Levels(tuple(np.linspace(0.0, 1.0, 6)))
    surface = map_of(results_of(Design('grid', 36), (levels, levels), lambda x, y: x + 2.0 * y), 'peak', 'x', 'y')
    (curve,) = boundary(surface, 1.3)
    np.testing.assert_allclose(curve @ [1.0, 2.0], 1.3, atol=1e-12)
    assert np.ptp(curve[:, 0]) == pytest.approx(1.0)


def test_the_boundary_of_a_flag_at_random_points_is_at_its_change():
    def outside(x, y):
        return np.hypot(x, y) > 0.7

    drawn = results_of(Design('sobol', 4096, 1), (Span(0.0, 1.0), Span(0.0, 1.0)), outside, 'flag')
    assert limit_of(drawn, 'peak') == 0.5
    curves = boundary(map_of(drawn, 'peak', 'x', 'y'), 0.5)
    points = max(curves, key=len)
    inner = points[(points > 0.1).all(axis=1)]
    assert len(inner) > 10
    np.testing.assert_allclose(np.hypot(*inner.T), 0.7, atol=0.02)


def at_points(*points, outcome=lambda x, y: x):
    """Return results of a sweep at the points (x, y)."""
    values = np.array(points, dtype=float)
    columns = {'x': values[:, 0], 'y': values[:, 1], 'peak': outcome(*values.T)}
    return Results({'factors': ['x', 'y'], 'columns': {'peak': 'number'}}, pa.table(columns))


def test_a_cell_far_from_all_runs_has_no_mean_and_one_among_them_has():
    """Runs in two opposite corners of a square give no information elsewhere."""
    rng = np.random.default_rng(2)
    corners = np.concatenate([rng.uniform(0.0, 0.25, (400, 2)), rng.uniform(0.75, 1.0, (400, 2))])
    surface = map_of(at_points(*corners), 'peak', 'x', 'y')
    assert surface.means.shape == (CELLS, CELLS)
    x, y = np.meshgrid(surface.x, surface.y)
    inside = (np.maximum(x, y) < 0.25) | (np.minimum(x, y) > 0.75)
    nearest = np.min(np.hypot(x[..., None] - corners[:, 0], y[..., None] - corners[:, 1]), axis=-1)
    assert np.isfinite(surface.means[inside]).all()
    assert np.isnan(surface.means[nearest > 0.3]).all()
    assert (nearest > 0.3).sum() > 1000
    np.testing.assert_allclose(surface.means[inside], x[inside], atol=0.1)


def test_a_cell_has_a_mean_from_two_percent_of_the_mean_weight_on():
    """With levels the weight of a cell is the number of its runs: one is too few for a mean of 51, not of 49."""
    for mean, has in ((51, False), (49, True)):
        points = [(0.0, 0.0)] + [(1.0, 0.0), (0.0, 1.0)] * 66 + [(1.0, 1.0)] * (4 * mean - 133)
        means = map_of(at_points(*points, outcome=lambda x, y: 5.0 + x + 2.0 * y), 'peak', 'x', 'y').means
        assert np.isfinite(means[0, 0]) == has
        np.testing.assert_allclose(np.delete(means.ravel(), 0), [6.0, 7.0, 8.0])


def test_levels_without_a_run_and_runs_without_a_value_have_no_mean():
    points = [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (2.0, 1.0), (2.0, 1.0)]
    results = at_points(*points, outcome=lambda x, y: np.array([1.0, 2.0, np.nan, 4.0, 6.0]))
    np.testing.assert_equal(map_of(results, 'peak', 'x', 'y').means, [[1.0, 2.0, np.nan], [np.nan, np.nan, 5.0]])


def test_a_map_without_the_limit_has_no_boundary():
    levels = Levels((0.0, 1.0))
    surface = map_of(results_of(Design('grid', 4), (levels, levels), lambda x, y: x + y), 'peak', 'x', 'y')
    assert boundary(surface, 5.0) == []
    assert boundary(surface._replace(means=np.full((2, 2), np.nan)), 0.0) == []


def test_pictures_of_outcomes_without_values_are_drawn(tmp_path):
    pytest.importorskip('SALib')
    even = (CIRCLE,) * 3
    for outcome in (lambda x, y, z: np.nan * x, lambda x, y, z: 0.0 * x, ishigami):
        made = results_of(Design('saltelli', 80, 1), even, outcome)
        draw_map(made, map_of(made, 'peak', 'x', 'y'), [], None, tmp_path / 'map.png')
        draw_tornado(made, 'peak', swings(made, 'peak'), tmp_path / 'tornado.png')
    draw_indices(made, 'peak', indices(made, 'peak'), tmp_path / 'indices.png')
    for name in ('map', 'tornado', 'indices'):
        assert (tmp_path / f'{name}.png').read_bytes().startswith(b'\x89PNG')
