"""Machines of the zoo pass `init`, `check` and seconds as a node; the page is made from what came of them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks import zoo, zoo_trial

MACHINES = {entry['name']: entry for entry in zoo.machines()}
INERTIA = '<inertia ixx="{0}" iyy="{0}" izz="{0}" ixy="0" ixz="0" iyz="0"/>'
SLIDER = f"""<robot name="box_with_a_slider">
  <link name="base"><inertial><mass value="100"/>{INERTIA.format(9)}</inertial></link>
  <link name="table"><inertial><mass value="8"/>{INERTIA.format(1)}</inertial></link>
  <joint name="slide" type="prismatic">
    <parent link="base"/><child link="table"/><origin xyz="0 0 0.2"/><axis xyz="1 0 0"/>
    <limit lower="-0.3" upper="0.3" effort="200" velocity="1"/>
  </joint>
"""
FOOT = """
  <link name="foot_{k}"><collision><geometry><sphere radius="0.05"/></geometry></collision></link>
  <joint name="to_foot_{k}" type="fixed">
    <parent link="base"/><child link="foot_{k}"/><origin xyz="{x} {y} -0.3"/>
  </joint>
"""


def test_every_machine_is_listed_once_and_is_where_the_list_says():
    assert len(MACHINES) == len(zoo.machines())
    assert sum(entry['maker'] != 'dyn_nodes' for entry in MACHINES.values()) >= 35
    assert all(zoo.find(entry).exists() for entry in MACHINES.values() if 'package' not in entry)


def test_a_box_with_a_slider_passes_init_check_and_a_second_as_a_node(tmp_path):
    urdf = tmp_path / 'box.urdf'
    corners = enumerate([(0.4, 0.3), (0.4, -0.3), (-0.4, 0.3), (-0.4, -0.3)])
    feet = ''.join(FOOT.format(k=k, x=x, y=y) for k, (x, y) in corners)
    urdf.write_text(f'{SLIDER}{feet}</robot>')
    found = zoo_trial.trial(urdf, seconds=1.0)
    assert found['refused'] == ''
    assert (found['mass'], found['freedoms'], found['contacts'], found['base']) == (108.0, 7, 4, 'free')


@pytest.mark.slow
@pytest.mark.parametrize('name', MACHINES)
def test_a_machine_passes_init_check_and_seconds_as_a_node(name):
    urdf = zoo.find(MACHINES[name])
    if urdf is None:
        pytest.skip(f'needs the package {MACHINES[name]["package"]}')
    assert zoo.try_one(urdf)['refused'] == MACHINES[name].get('refused', '')


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
