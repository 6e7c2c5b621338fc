"""Names that contain Python, HTML, TeX, XML, YAML or paths stay names wherever they are written or shown."""

from __future__ import annotations

import json
from pathlib import Path
from xml.sax.saxutils import quoteattr

import numpy as np
import pytest
import yaml
from attacks import ATTACKS, PYTHON
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

from dyn_nodes.cli import main
from dyn_nodes.compile import cache_directory
from dyn_nodes.model import load_machine
from dyn_nodes.multibody.rigid_body import RigidBodyModel
from dyn_nodes.simulation import System

URDF = """<?xml version='1.0'?>
<robot name={name}>
  <link name={base}><inertial><origin xyz='0 0 0.1'/><mass value='100'/>
    <inertia ixx='5' iyy='6' izz='7' ixy='0' ixz='0' iyz='0'/></inertial>
    <collision><geometry><box size='2 2 0.4'/></geometry></collision></link>
  <link name={arm}><inertial><origin xyz='0.2 0 0'/><mass value='5'/>
    <inertia ixx='0.1' iyy='0.2' izz='0.2' ixy='0' ixz='0' iyz='0'/></inertial></link>
  <joint name={joint} type='revolute'><parent link={base}/><child link={arm}/><axis xyz='0 1 0'/>
    <limit lower='-1' upper='1' effort='100' velocity='1'/></joint>
</robot>
"""


@pytest.fixture(autouse=True)
def working_directory(tmp_path, monkeypatch):
    """Change to an empty directory, in which a successful attack writes a file MARK."""
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    assert not list(tmp_path.rglob('MARK'))


def names(attack: str) -> dict[str, str]:
    return {key: f'{attack}{key}' for key in ('name', 'base', 'arm', 'joint')}


def machine_files(attack: str) -> tuple[str, str]:
    """Write a machine on three feet with the attack as all names; return URDF and YAML."""
    values = names(attack)
    Path('machine.urdf').write_text(URDF.format(**{key: quoteattr(value) for key, value in values.items()}))
    feet = {'a': [0.5, 0.5, -0.1], 'b': [0.5, -0.5, -0.1], 'c': [-0.5, 0.0, -0.1]}
    config = {
        'name': attack,
        'base': {'link': values['base'], 'attachment': 'free'},
        'wheels': {
            foot: {'position': at, 'stiffness': 1e5, 'free_length': 0.05, 'damping': {'value': 1e3, 'assumed': attack}}
            for foot, at in feet.items()
        },
        'initial': {'joint_positions': {values['joint']: 0.1}, 'settle': True},
        'payload': {'link': values['arm'], 'position': [0, 0, 0], 'mass': 0.0, 'limit': 10.0},
    }
    Path('machine.yaml').write_text(yaml.safe_dump(config, allow_unicode=True))
    return 'machine.urdf', 'machine.yaml'


@pytest.mark.parametrize('attack', ATTACKS.values(), ids=ATTACKS)
def test_check_shows_names_as_they_are(attack, capsys):
    urdf, config = machine_files(attack)
    status = main(['check', urdf, '--config', config, '--assumed'])
    output = capsys.readouterr()
    assert status == 0, output.err
    shown = ''.join(output.out.split())
    assert ''.join(attack.split())[:12] in shown
    assert main(['check', urdf, '--config', config, '--json']) == 0
    assert json.loads(capsys.readouterr().out)['machine']['name'] == attack


@pytest.mark.parametrize('attack', ATTACKS.values(), ids=ATTACKS)
def test_init_writes_a_yaml_that_loads_with_the_same_names(attack, capsys):
    urdf, _ = machine_files(attack)
    assert main(['init', urdf, '--out', 'first.yaml']) == 0, capsys.readouterr().err
    machine = load_machine(urdf, 'first.yaml')
    assert machine.name == names(attack)['name']
    assert [joint.name for joint in machine.movable_joints] == [names(attack)['joint']]


def test_no_name_reaches_compiled_modules():
    machine = load_machine(*machine_files(PYTHON))
    system = System(machine, 'torque')
    assert system.module.meta['name'].startswith(PYTHON)
    model = RigidBodyModel(machine)
    assert np.isfinite(model.mass_matrix(model.neutral(), model.parameters())).all()
    for module in (system.module, model.kernels):
        assert 'pathlib' not in (module.directory / 'module.py').read_text().replace('from pathlib import Path', '')
        assert module.directory.parent == cache_directory()


@pytest.mark.parametrize('character', ['\n', '\x1b[2J', '\u202e', '\ud800', '\u2028'])
def test_unprintable_names_of_a_yaml_are_rejected(character, capsys):
    urdf, _ = machine_files('plain_')
    bad = json.dumps(f'a{character}b')
    for text in (f'name: {bad}', f'{bad}: 1', f'base: {{link: {bad}}}'):
        Path('bad.yaml').write_text(text)
        assert main(['check', urdf, '--config', 'bad.yaml']) == 1
        lines = capsys.readouterr().err.splitlines()
        assert any(line.startswith('bad.yaml:1') and 'printable characters' in line for line in lines)
        assert all(line.isprintable() for line in lines)


@pytest.mark.parametrize('element', ['name', 'base', 'joint'])
@pytest.mark.parametrize('character', ['&#10;', '\u202e', '\u2028'])
def test_unprintable_names_of_a_urdf_are_rejected(character, element, capsys):
    values = {key: f'"a{character}b"' if key == element else f'"{key}"' for key in names('')}
    Path('machine.urdf').write_text(URDF.format(**values))
    assert main(['check', 'machine.urdf']) == 1
    lines = capsys.readouterr().err.splitlines()
    assert any('printable characters' in line for line in lines)
    assert all(line.isprintable() for line in lines)


def attacked_bag() -> Path:
    """Write a bag with attacks in every text of its messages and in topic names."""
    attack = ''.join(ATTACKS.values())
    store = get_typestore(Stores.ROS2_JAZZY)
    kinds = {name.rpartition('/')[2]: kind for name, kind in store.types.items() if '/msg/' in name}
    urdf, _ = machine_files(attack)
    with Writer('bag', version=9, storage_plugin=StoragePlugin.MCAP) as writer:

        def write(topic, kind, message, at):
            if (topic, kind) not in connections:
                connections[topic, kind] = writer.add_connection(topic, kind, typestore=store)
            writer.write(connections[topic, kind], at, store.serialize_cdr(message, kind))

        connections: dict = {}
        vector = kinds['Vector3']
        write('/robot_description', 'std_msgs/msg/String', kinds['String'](Path(urdf).read_text()), 0)
        for at in range(0, 10**9, 10**8):
            header = kinds['Header'](kinds['Time'](*divmod(at, 10**9)), attack)
            wrench = kinds['Wrench'](vector(0.0, 0.0, 5e3), vector(0.0, 0.0, 0.0))
            for wheel in ('left', *ATTACKS.values()):
                stamped = kinds['WrenchStamped'](header, wrench)
                write(f'/ground_reactions/{wheel}', 'geometry_msgs/msg/WrenchStamped', stamped, at)
            ones = np.ones(1)
            state = kinds['JointState'](header, [names(attack)['joint']], ones, ones, ones)
            write('/joint_states', 'sensor_msgs/msg/JointState', state, at)
            pair = kinds['KeyValue'](attack, attack)
            status = kinds['DiagnosticStatus'](1, attack, attack, attack, [pair])
            array = kinds['DiagnosticArray'](header, [status])
            write('/diagnostics', 'diagnostic_msgs/msg/DiagnosticArray', array, at)
            write('/events', 'std_msgs/msg/String', kinds['String'](attack), at)
            margin = kinds['Float64'](0.5)
            write('/stability/zmp_degree', 'std_msgs/msg/Float64', margin, at)
    return Path('bag')


def test_a_report_of_a_bag_holds_no_markup_of_it(capsys):
    bag = attacked_bag()
    config = machine_files(''.join(ATTACKS.values()))[1]
    assert main(['report', str(bag), '--out', 'report', '--config', config]) == 0, capsys.readouterr().err
    page = Path('report/report.html').read_text(encoding='utf-8')
    assert '<script>alert' not in page
    assert 'onerror=alert' not in page.replace('onerror=alert(1)&gt;', '')
    assert {path.suffix for path in Path('report').iterdir()} <= {'.html', '.png', '.json'}
    assert main(['bag', 'info', str(bag)]) == 0


@pytest.mark.parametrize(
    'expression',
    ["__import__('os').system('touch MARK')", "().__class__.__base__.__subclasses__()", 'round(1, -1000000000)',
     '9**9**9', "'a' * 10**9", "[x for x in (1,)]", "(lambda: 1)()", "open('MARK', 'w')"],
)  # fmt: skip
def test_a_launch_expression_runs_nothing(expression, capsys):
    text = f'<launch><let name="a" value="$(eval {quoteattr(expression)[1:-1]!r})"/></launch>'
    text = text.replace("'", '&apos;') if "'" in expression else text
    Path('bad.launch.xml').write_text(text)
    assert main(['launch', 'bad.launch.xml']) == 1
    assert 'Traceback' not in capsys.readouterr().err


def test_a_launch_file_runs_no_command_while_it_is_read(capsys):
    Path('bad.launch.xml').write_text('<launch><let name="a" value="$(command \'touch MARK\')"/></launch>')
    assert main(['launch', 'bad.launch.xml']) == 1
    assert 'may not run commands' in capsys.readouterr().err
