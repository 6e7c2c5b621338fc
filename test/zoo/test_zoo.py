"""Machines of the zoo pass `init`, `check` and seconds as a node; the page is made from what came of them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks import zoo, zoo_trial

MACHINES = {entry['name']: entry for entry in zoo.machines()}
FAST = ('Excavator of 12 t',)


def test_every_machine_is_listed_once_and_is_where_the_list_says():
    assert len(MACHINES) == len(zoo.machines())
    assert sum(entry['maker'] != 'dyn_nodes' for entry in MACHINES.values()) >= 35
    assert all(zoo.find(entry).exists() for entry in MACHINES.values() if 'package' not in entry)


@pytest.mark.parametrize(
    'name', [pytest.param(name, marks=[] if name in FAST else [pytest.mark.slow]) for name in MACHINES]
)
def test_a_machine_passes_init_check_and_seconds_as_a_node(name):
    urdf = zoo.find(MACHINES[name])
    if urdf is None:
        pytest.skip(f'needs the package {MACHINES[name]["package"]}')
    found = zoo.try_one(urdf, seconds=2.0 if name in FAST else zoo_trial.SECONDS)
    assert found['refused'] == MACHINES[name].get('refused', '')


def test_the_page_tells_what_passed_and_why_others_did_not():
    names = {'maker': 'somewhere', 'kind': 'robot'}
    facts = {'mass': 12.3456, 'freedoms': 18, 'contacts': 4, 'base': 'free', 'warnings': 2}
    moved = {'base_motion': 1e-12, 'joint_motion': 2e-5, 'refused': ''}
    results = [
        {**names, 'name': 'A', **facts, **moved},
        {**names, 'name': 'B', **facts, 'base': 'fixed', **moved},
        {**names, 'name': 'C', 'refused': 'init: link x, mass: expected a mass >= 0 kg, found -1'},
    ]
    text = zoo.page(results, ['D'])
    assert '2 of 3 pass, 2 of them machines of others. Not tried: D.' in text
    assert '| A | somewhere | robot | 12.35 | 18 | 4 | 2 | < 1e-9 | 2.0e-05 | passes |' in text
    assert '| B | somewhere | robot | 12.35 | 18 | fixed base | 2 | < 1e-9 | 2.0e-05 | passes |' in text
    assert '| init: link x, mass: expected a mass >= 0 kg, found -1 |' in text
