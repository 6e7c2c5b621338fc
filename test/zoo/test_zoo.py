"""Machines of the zoo pass `init`, `check` and seconds as a node; the page is made from the results."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks import mechanism_trial, zoo, zoo_trial
from benchmarks.mechanism_urdf import urdf_of
from dyn_nodes.model import load_machine_report
from dyn_nodes.model.posture import link_poses

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


def test_every_machine_is_listed_once_and_its_file_exists():
    assert len(MACHINES) == len(zoo.machines())
    assert sum(entry['maker'] != 'dyn_nodes' for entry in MACHINES.values()) >= 35
    assert all(zoo.find(entry).exists() for entry in MACHINES.values() if 'package' not in entry)


def test_every_mechanism_is_listed_once():
    names = [entry['name'] for entry in zoo.machines(zoo.MECHANISMS)]
    assert len(set(names)) == len(names) >= 30


GRIPPERS = ['robotiq_2f_85/urdf/robotiq_2f_85.urdf', 'hands/dexs_gripper/dexs_gripper.urdf']


@pytest.mark.parametrize('file', [*GRIPPERS, 'cassie_description/robots/cassie_v2.sdf'])
def test_a_mechanism_moves_for_seconds_without_gaps(file):
    entry = next(entry for entry in zoo.machines(zoo.MECHANISMS) if entry['file'] == file)
    urdf = zoo.find(entry)
    if urdf is None:
        pytest.skip(f'needs the package {entry["package"]}')
    result = mechanism_trial.trial(urdf, seconds=2.0)
    assert result['refused'] == ''
    assert result['constraints'] > 0
    assert result['gap'] < mechanism_trial.GREATEST_GAP
    assert result['moved'] > 1e-3


CRANK = """<mujoco><worldbody><body name="frame">
  <geom type="box" size="1 1 1"/>
  <body name="crank" pos="1 0 2" quat="1 1 0 0">
    <joint name="turn" axis="0 0 1" pos="0 0.5 0" range="-90 90"/>
    <geom type="box" size="0.3 0.2 0.1" pos="0.1 0.2 0.3" quat="1 0 2 0"/>
    <body name="rod" pos="0 0 0.5">
      <joint name="way" type="slide" axis="1 0 0"/><joint name="roll" axis="0 1 0" pos="0.1 0 0"/>
      <geom type="capsule" size="0.1 0.3"/>
    </body>
  </body>
</body></worldbody></mujoco>"""


def test_the_tree_of_an_mjcf_file_equals_mujoco(tmp_path):
    """Links, masses and moments of inertia in a random posture, with joints off the origins of their bodies."""
    mujoco = pytest.importorskip('mujoco')
    source, urdf, positions = tmp_path / 'crank.xml', tmp_path / 'crank.urdf', {'turn': 0.7, 'way': 0.2, 'roll': -0.4}
    source.write_text(CRANK)
    urdf.write_text(urdf_of(source))
    machine = load_machine_report(urdf).machine
    poses = link_poses(machine.links, machine.joints, positions)
    model = mujoco.MjModel.from_xml_path(str(source))
    data = mujoco.MjData(model)
    data.qpos[:] = list(positions.values())
    mujoco.mj_forward(model, data)
    base = data.body('frame').xpos
    for link in (link for link in machine.links if link.mass):
        body = data.body(link.name)
        np.testing.assert_allclose(poses[link.name][:3, 3], body.xpos - base, atol=1e-12)
        np.testing.assert_allclose(poses[link.name][:3, :3], body.xmat.reshape(3, 3), atol=1e-12)
        inertia = body.ximat.reshape(3, 3) @ np.diag(model.body(link.name).inertia) @ body.ximat.reshape(3, 3).T
        np.testing.assert_allclose(poses[link.name] @ np.append(link.com, 1.0), np.append(body.xipos - base, 1.0))
        turned = poses[link.name][:3, :3] @ link.inertia @ poses[link.name][:3, :3].T
        np.testing.assert_allclose(turned, inertia, atol=1e-9)


def test_the_page_of_mechanisms_has_gaps_and_reasons():
    names = {'maker': 'somewhere', 'kind': 'gripper'}
    facts = {'mass': 0.36384, 'joints': 6, 'constraints': 5, 'kinds': 'coupling', 'gap': 2.6e-16, 'moved': 0.16}
    results = [
        {'name': 'A', **names, **facts, 'refused': ''},
        {'name': 'B', **names, 'refused': 'init: no mass'},
    ]
    text = zoo.mechanisms_page(results, ['C'])
    assert '1 of 2 pass. Not tried: C.' in text
    assert '| A | somewhere | gripper | 0.3638 | 6 | 5 (coupling) | 3e-16 | 0.16 | passes |' in text
    assert '| B | somewhere | gripper |  |  |  |  |  | init: no mass |' in text


@pytest.mark.slow
@pytest.mark.parametrize('name', [entry['name'] for entry in zoo.machines(zoo.MECHANISMS)])
def test_a_mechanism_runs_for_a_minute_without_gaps(name):
    entry = next(entry for entry in zoo.machines(zoo.MECHANISMS) if entry['name'] == name)
    urdf = zoo.find(entry)
    if urdf is None:
        pytest.skip(f'needs the package {entry["package"]}')
    assert zoo.try_one(urdf, zoo.MECHANISMS)['refused'] == entry.get('refused', '')


def test_a_box_with_a_slider_passes_init_check_and_a_second_as_a_node(tmp_path):
    urdf = tmp_path / 'box.urdf'
    corners = enumerate([(0.4, 0.3), (0.4, -0.3), (-0.4, 0.3), (-0.4, -0.3)])
    feet = ''.join(FOOT.format(k=k, x=x, y=y) for k, (x, y) in corners)
    urdf.write_text(f'{SLIDER}{feet}</robot>')
    result = zoo_trial.trial(urdf, seconds=1.0)
    assert result['refused'] == ''
    assert (result['mass'], result['freedoms'], result['contacts'], result['base']) == (108.0, 7, 4, 'free')


@pytest.mark.slow
@pytest.mark.parametrize('name', MACHINES)
def test_a_machine_passes_init_check_and_seconds_as_a_node(name):
    urdf = zoo.find(MACHINES[name])
    if urdf is None:
        pytest.skip(f'needs the package {MACHINES[name]["package"]}')
    assert zoo.try_one(urdf)['refused'] == MACHINES[name].get('refused', '')


def test_the_page_lists_passes_and_reasons_of_failures():
    names = {'maker': 'somewhere', 'kind': 'robot'}
    facts = {'mass': 12.3456, 'freedoms': 18, 'contacts': 4, 'base': 'free', 'warnings': 2}
    moved = {'base_motion': 1e-12, 'joint_motion': 2e-5, 'refused': ''}
    results = [
        {**names, 'name': 'A', **facts, **moved},
        {**names, 'name': 'B', **facts, 'base': 'fixed', **moved},
        {**names, 'name': 'C', 'refused': 'init: link x, mass: expected a mass >= 0 kg, found -1'},
    ]
    text = zoo.page(results, ['D'])
    assert '2 of 3 pass, 2 of them third-party machines. Not tried: D.' in text
    assert '| A | somewhere | robot | 12.35 | 18 | 4 | 2 | < 1e-9 | 2.0e-05 | passes |' in text
    assert '| B | somewhere | robot | 12.35 | 18 | fixed base | 2 | < 1e-9 | 2.0e-05 | passes |' in text
    assert '| init: link x, mass: expected a mass >= 0 kg, found -1 |' in text
