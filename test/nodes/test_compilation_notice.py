"""The first start of a machine is shown as a compilation, the second is not."""

from __future__ import annotations

ARM = """<robot name="arm">
  <link name="base"/>
  <link name="tool">
    <inertial><mass value="2"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
  <joint name="wrist" type="continuous">
    <parent link="base"/><child link="tool"/><axis xyz="0 0 1"/><limit effort="20" velocity="3"/>
  </joint>
</robot>
"""


def start_and_end(start_node, name: str, **parameters: object) -> str:
    """Run a node to its end; return all that it printed."""
    process = start_node(name, **parameters)
    printed, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    return printed + errors


def test_a_node_shows_its_first_start_as_a_compilation_and_the_second_not(start_node, tmp_path, monkeypatch):
    monkeypatch.setenv('DYN_NODES_CACHE', str(tmp_path / 'cache'))
    urdf, config = tmp_path / 'arm.urdf', tmp_path / 'arm.yaml'
    urdf.write_text(ARM)
    config.write_text('name: arm\nbase: {link: base, attachment: fixed}\n')
    machine = {'machine': str(urdf), 'config': str(config)}
    options = {**machine, 'mode': 'lockstep', 'partner': 'external', 'duration': 0.01}
    first = start_and_end(start_node, 'dynamics_node', **options)
    assert first.count(': compiling arm, once, about ') == 1
    assert first.count(': compiled in ') == 1
    assert first.index('compiling arm') < first.index('compiled in ')
    second = start_and_end(start_node, 'dynamics_node', **options)
    assert 'compiling' not in second
    assert 'compiled' not in second
