"""The page has the sums of the adversary's reports, and the present law reproduces their worst runs."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest

from dyn_nodes.governor.campaign.cases import Case
from dyn_nodes.governor.campaign.governed_run import Rig
from dyn_nodes.governor.campaign.pieces import sum_up
from dyn_nodes.governor.settings import GovernorSettings

DOCS = Path(__file__).parents[2] / 'docs'
REPORTS = sorted((DOCS / 'campaigns' / 'log_loader').glob('*.json'))
ROWS = {
    'search': 'with it: searches',
    'random': 'with it: random runs',
    'without governor': 'without governor: random runs',
}
TRIED = 5
"""Number of reports whose three worst runs are repeated."""
SAME = 0.01
"""Greatest difference of two least loads of a run: processors round differently, and decisions accumulate this."""


def reports():
    return [(path.name, json.loads(path.read_text())) for path in REPORTS]


@pytest.mark.parametrize('kind', ROWS)
def test_the_page_has_the_sums_of_the_reports(kind):
    total = sum_up(reports()).get(kind)
    lines = [line for line in (DOCS / 'reference' / 'governor.md').read_text().splitlines() if ROWS[kind] in line]
    if total is None:
        assert not lines
        return
    (line,) = lines
    numbers = [float(text.replace(',', '')) for text in re.findall(r'\| *([\d.,]+)', line)]
    assert int(re.search(r'([\d,]+) accepted', line)[1].replace(',', '')) == total['runs']
    expected = [total['overturned'], total['lifted'], round(total['share'], 3), round(math.degrees(total['tilt']), 1)]
    assert numbers == [*expected, round(100.0 * total['let_through'])]


def test_random_runs_are_those_of_seed_1_without_a_gap_with_the_number_of_the_page():
    random_runs = [report for _, report in reports() if not report['search']]
    ends = {
        report['first']: report['first'] + report['runs'] + report['refused_starts']['runs'] for report in random_runs
    }
    (stated,) = re.findall(r'random runs, ([\d,]+) of seed 1', (DOCS / 'reference' / 'governor.md').read_text())
    assert {report['seed'] for report in random_runs} == {1}
    assert sorted(ends) == [0, *sorted(ends.values())[:-1]]
    assert max(ends.values()) == int(stated.replace(',', ''))


def test_no_wheel_has_lifted_and_the_box_is_that_of_the_governor():
    settings = GovernorSettings()
    sums = sum_up(reports())
    assert all(sums[kind]['lifted'] == sums[kind]['diverged'] == 0 for kind in ('random', 'search'))
    for _, report in reports():
        box = report['box']
        allowed = settings.mass_error, settings.payload_error, settings.delay
        assert (box['mass_error'], box['payload_error'], box['delay']) == allowed
        assert report['reserve'] == settings.reserve


def test_the_worst_runs_are_those_of_the_present_law(machine):
    rig, differences = Rig(machine), []
    for _, report in reports()[:: max(len(REPORTS) // TRIED, 1)]:
        for worst in report['worst'][:3]:
            outcome = rig.run(Case.from_dict(worst['case']))
            differences.append(abs(outcome.share - worst['share']))
            assert not outcome.lifted
    assert np.median(differences) < SAME, differences
