from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from matplotlib.image import imread

from dyn_nodes.analysis.plots import LINES, MOST_POINTS, style
from dyn_nodes.analysis.report import write_report
from dyn_nodes.analysis.run_outcome import make_outcome
from dyn_nodes.analysis.run_plots import PLOTS, make_plots
from dyn_nodes.analysis.run_record import read_run
from dyn_nodes.analysis.summary import summarize
from dyn_nodes.measures import measure_of
from dyn_nodes.nodes.bag_snapshots import read_replay

VOID = {'meta', 'img', 'br', 'link', 'hr'}


class Page(HTMLParser):
    """Checks that tags close in order, and collects the resources that a browser would load."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.links: list[str] = []
        self.tags: list[str] = []
        self.text = ''

    def handle_starttag(self, tag, attributes) -> None:
        self.tags.append(tag)
        self.links += [value for name, value in attributes if name in ('src', 'href', 'srcset', 'data')]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data) -> None:
        self.text += data


def parsed(path) -> Page:
    page = Page()
    page.feed(path.read_text(encoding='utf-8'))
    assert page.open == []
    return page


@pytest.fixture(scope='module')
def outcome(recovered_bag, tmp_path_factory):
    shares = []
    out = tmp_path_factory.mktemp('outcome')
    made = make_outcome(recovered_bag, out, command='dyn-nodes demo', progress=lambda text, share: shares.append(share))
    return made, shares


def test_the_page_has_the_states_of_the_cockpit_and_the_words_of_its_gauges(outcome, recovered_bag):
    made, _ = outcome
    replay, text = read_replay(recovered_bag, read_run(recovered_bag).machine), parsed(made.report_file).text
    words = [snapshot.situation.words for snapshot in replay.snapshots]
    changes = [word for k, word in enumerate(words) if not k or word != words[k - 1]]
    assert [entry['words'] for entry in made.summary['states']] == changes
    assert len(changes) > 1
    assert all(word in text for word in changes)
    zero = [name for name, least in made.summary['min_margins'].items() if measure_of(name).is_zero(least['value'])]
    assert zero
    for measure in map(measure_of, zero):
        assert measure.at_zero in ('tipping', 'lifted')
        assert f'{measure.label}{measure.display(0.0)}{measure.at_zero}' in text


def test_everything_is_written(outcome):
    made, _ = outcome
    folder = made.report_file.parent
    names = {'summary.json', 'report.html', *(f'{plot}.png' for plot in PLOTS)}
    assert {path.name for path in folder.iterdir()} == names
    assert json.loads(made.summary_file.read_text()) == made.summary


def test_progress_rises_to_the_end(outcome):
    _, shares = outcome
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_plots_are_pictures_of_a_readable_size(outcome):
    made, _ = outcome
    for path in made.plots.values():
        height, width = imread(path).shape[:2]
        assert width == 1350
        assert height > 400


def test_the_page_needs_nothing_else(outcome):
    page = parsed(outcome[0].report_file)
    assert page.links
    assert all(link.startswith('data:image/svg+xml;base64,') for link in page.links)
    assert not {'script', 'link', 'iframe', 'object'} & set(page.tags)
    text = outcome[0].report_file.read_text(encoding='utf-8')
    style_sheet = re.search(r'<style>(.*?)</style>', text, re.DOTALL).group(1)
    assert 'url(' not in style_sheet
    assert '@import' not in style_sheet


def test_the_page_starts_with_the_main_results(outcome):
    page = parsed(outcome[0].report_file)
    for words in (
        'Recovered: peak base rotation 8.55° at 10.68 s',
        'The first wheel lifts at 8.36 s.',
        'From 8.8 to 11.8 s the arm is pulled back to recover.',
        '17,481 kg',
        '/ground_reactions/front_left',
        'dyn-nodes demo',
        'casadi',
    ):
        assert words in page.text


def test_an_overturned_run_is_reported_in_red(overturned, tmp_path):
    write_report(overturned, summarize(overturned), tmp_path / 'report.html', {})
    text = (tmp_path / 'report.html').read_text(encoding='utf-8')
    assert '<header class="bad">' in text
    assert 'Overturned at 13.00 s' in parsed(tmp_path / 'report.html').text


def test_text_from_a_bag_cannot_become_markup(recovered, tmp_path):
    event = replace(recovered.events[0], text='<script>alert(1)</script>', name='$headline')
    record = replace(recovered, events=(event,))
    write_report(record, summarize(record), tmp_path / 'report.html', {})
    page = parsed(tmp_path / 'report.html')
    assert 'script' not in page.tags
    assert '<script>alert(1)</script>' in page.text
    assert '$headline' in page.text


def test_an_incomplete_run_still_gives_a_page(recovered, tmp_path):
    bare = replace(recovered, machine=None, margins={}, pressures={}, joints={}, phases=(), events=(), friction_use={})
    bare = replace(bare, weighed=None, utilisation=None)
    plots = make_plots(bare, tmp_path)
    assert set(plots) == {'base_rotation', 'wheel_loads'}
    write_report(bare, summarize(bare), tmp_path / 'report.html', plots)
    page = parsed(tmp_path / 'report.html')
    assert page.text.count('The bag has no data for this plot.') == 3
    assert 'The machine is unknown' in page.text
    assert 'Friction use' not in page.text, 'it is published on request only'


def slipping(record):
    """Return a record with friction uses: the rear left one is greatest, at 6 s; the front right one is never valid."""
    time = np.linspace(0.0, 10.0, 11)
    rear = np.where(time == 6.0, 1.25, 0.4)
    rear[-1] = np.nan
    uses = {'front_left': 0.03 * time, 'rear_left': rear, 'front_right': np.full(11, np.nan)}
    return replace(record, friction_use={wheel: (time, use) for wheel, use in uses.items()})


def test_the_tightest_wheel_and_its_instant_are_in_the_report(recovered, tmp_path):
    record = slipping(recovered)
    summary = summarize(record)
    assert summary['max_friction_use']['rear_left'] == {
        'value': 1.25,
        'time_s': 6.0,
        'end': None,
        'unknown_share': pytest.approx(1 / 11),
    }
    assert summary['max_friction_use']['front_right']['value'] is None
    write_report(record, summary, tmp_path / 'report.html', {})
    text = parsed(tmp_path / 'report.html').text
    assert 'Tightest wheel: rear left, 1.25 at 6.00 s, more than static friction can hold.' in text
    rows = text[text.index('Friction use of the wheels') :]
    assert rows.index('rear left1.256.00 s—9.1%0.9') < rows.index('front left0.3010.00 s0.300.0%0.9')
    assert 'front right———100.0%0.9' in rows


def test_friction_use_is_drawn_for_every_wheel_with_the_greatest_marked(recovered):
    with style():
        (axes,) = PLOTS['friction_use'](slipping(recovered)).axes
    labels = {line.get_label() for line in axes.lines}
    assert {'front left', 'rear left', 'front right'} <= labels
    assert 'rear left: 1.25 at 6.00 s' in {text.get_text() for text in axes.texts}


def test_an_estimated_payload_is_drawn_and_reported(recovered, tmp_path):
    assert [signal[-1] for signal in recovered.weighed[1:]] == [5010.0, 5190.0]
    time = np.linspace(0.0, 10.0, 101)
    lower, upper = np.full(101, 2910.0), np.full(101, 3090.0)
    lower[50], upper[50] = -9000.0, 15000.0  # a step of the load
    record = replace(recovered, weighed=(time, lower, upper))
    with style():
        (axes,) = PLOTS['payload'](record).axes
    assert axes.lines[0].get_ydata()[0] == pytest.approx(3000.0)
    assert axes.get_ylim()[1] < 7000.0
    summary = summarize(record)
    assert summary['payload_interval_kg'] == [2910.0, 3090.0]
    write_report(record, summary, tmp_path / 'report.html', make_plots(record, tmp_path))
    text = parsed(tmp_path / 'report.html').text
    assert 'payload weighed at the end2,910 to 3,090 kg (95 %)' in text
    assert 'Payload, estimated' in text
    without = replace(recovered, weighed=None)
    bare = summarize(without)
    assert bare['payload_interval_kg'] is None
    write_report(without, bare, tmp_path / 'bare.html', {})
    assert 'weighed' not in parsed(tmp_path / 'bare.html').text


def test_friction_use_of_a_bag_is_that_of_the_forces_in_it(recovered):
    wheel, (_, use) = next(iter(recovered.friction_use.items()))
    forces = recovered.data.tables[f'ground_reactions/{wheel}']
    pressed = forces['fz'] > 0.0
    sliding = np.hypot(forces['fx'], forces['fy'])
    assert use[pressed] == pytest.approx((sliding / (0.9 * forces['fz']))[pressed])


@pytest.mark.parametrize('name', PLOTS)
def test_every_axis_has_a_unit_and_time_below(recovered, name):
    with style():
        figure = PLOTS[name](recovered)
    shown = [axes for axes in figure.axes if axes.get_visible()]
    for axes in shown:
        assert re.search(r'°|kN|kg|MPa|kJ|%|ratio|^m$', axes.get_ylabel()), axes.get_ylabel()
        assert axes.get_xlim() == (0.0, 24.0)
    assert 'simulated time, s' in {axes.get_xlabel() for axes in shown}


def test_phases_are_shaded_where_they_are(recovered):
    with style():
        (axes,) = PLOTS['base_rotation'](recovered).axes
    assert {'reach', 'recover', 'settle'} <= {text.get_text() for text in axes.texts}
    spans = sorted((patch.get_x(), patch.get_x() + patch.get_width()) for patch in axes.patches)
    assert [(round(a, 3), round(b, 3)) for a, b in spans] == [(5.0, 8.8), (8.8, 11.8), (11.8, 24.0)]


def test_the_peak_is_written_on_the_plot(recovered):
    with style():
        (axes,) = PLOTS['base_rotation'](recovered).axes
    assert '8.55° at 10.68 s' in {text.get_text() for text in axes.texts}


def test_long_lines_keep_their_extremes(recovered):
    time = np.linspace(0.0, 24.0, 50_001)
    load = np.ones_like(time)
    load[31_337] = 9e5
    record = replace(recovered, wheel_loads={'front_left': (time, load)})
    with style():
        (axes,) = PLOTS['wheel_loads'](record).axes
    line = axes.lines[0]
    assert len(line.get_xdata()) <= MOST_POINTS
    assert line.get_ydata().max() == pytest.approx(900.0)


def test_neighbouring_lines_differ_in_lightness_too():
    """Without colour vision the first lines can still be distinguished."""

    def lightness(colour: str) -> float:
        red, green, blue = (int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5))
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    values = [lightness(colour) for colour in LINES[:4]]
    assert min(abs(a - b) for k, a in enumerate(values) for b in values[:k]) > 0.02


def test_the_load_moment_of_a_run_is_plotted_and_the_assumed_values_are_listed(recovered, tmp_path):
    times = np.linspace(0.0, recovered.duration, 50)
    record = replace(recovered, utilisation=(times, 0.8 + 0.4 * times / times[-1]))
    summary = summarize(record)
    assert summary['max_utilisation'] == {'value': pytest.approx(1.2), 'time_s': times[-1], 'stage': 'limit'}
    plots = make_plots(record, tmp_path)
    assert 'load_moment' in plots
    write_report(record, summary, tmp_path / 'report.html', plots)
    page = parsed(tmp_path / 'report.html')
    assert 'Greatest load of the rated load (limit)' in page.text
    assert f'{len(record.machine.assumed)} assumed values of the machine file' in page.text
    for key in record.machine.assumed:
        assert key in page.text
    without = summarize(replace(record, utilisation=None))
    assert without['max_utilisation'] is None
    assert summarize(replace(record, utilisation=(times, np.full(50, np.inf))))['max_utilisation']['value'] is None
