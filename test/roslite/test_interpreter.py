"""Launch files: results of the evaluation, and errors of wrong files."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from roslite.launching import LaunchError, declared_arguments, find_launch_file, interpret, parse_launch_arguments
from roslite.launching.description import LogMessage, Stop
from roslite.launching.packages import PythonPackage, register

NODE = '<node pkg="garden" exec="recorder_node"'


@pytest.fixture(autouse=True)
def garden(tmp_path, monkeypatch) -> Path:
    """Register a package with one node and one command; return its share."""
    monkeypatch.setattr('roslite.launching.packages._registered', {})
    share = tmp_path / 'share' / 'garden'
    nodes = {'recorder_node': 'garden.nodes.recorder_node'}
    register(PythonPackage('garden', lambda: share, lambda: nodes, {'garden-tool': 'garden.cli'}))
    return share


@pytest.fixture
def write(tmp_path):
    def write(body: str, name: str = 'a.launch.xml', root: str = '<launch>{}</launch>') -> Path:
        path = tmp_path / name
        path.write_text(root.format(body))
        return path

    return write


def ros_arguments(child) -> list[str]:
    command = list(child.command)
    return command[command.index('--ros-args') + 1 :]


def test_a_node_gets_the_same_command_line_as_from_ros2_launch(write, tmp_path):
    parameters = tmp_path / 'p.yaml'
    parameters.write_text('/**:\n  ros__parameters:\n    a: 1\n')
    path = write(
        f'<arg name="rate" default="50.0"/>{NODE} name="recorder" namespace="loader" args="-v $(var rate)" '
        'ros_args="--log-level debug" output="screen">'
        f'<param name="rate" value="$(var rate)"/><param from="{parameters}"/>'
        '<param name="label" value="5" type="str"/>'
        '<param name="pid"><param name="kp" value="1"/><param name="on" value="true"/></param>'
        '<param name="names" value="[a, b]"/><param name="split" value="1;2;3" value-sep=";"/>'
        '<remap from="joint_states" to="/measured"/><env name="EXTRA" value="1"/></node>'
    )
    (child,) = interpret(path).children
    command = list(child.command)
    assert command[:5] == [sys.executable, '-m', 'garden.nodes.recorder_node', '-v', '50.0']
    assert ros_arguments(child) == [
        *('--log-level', 'debug', '-r', '__node:=recorder', '-r', '__ns:=/loader', '-p', 'rate:=50.0'),
        *('--params-file', str(parameters), '-p', "label:='5'", '-p', 'pid.kp:=1', '-p', 'pid.on:=true'),
        *('-p', 'names:=[a, b]', '-p', 'split:=[1, 2, 3]', '-r', 'joint_states:=/measured'),
    ]
    assert child.name == 'recorder_node'
    assert child.node == '/loader/recorder'
    assert child.to_screen
    assert child.environment['EXTRA'] == '1'


def test_group_scopes_namespace_variables_environment_parameters_and_remappings(write):
    node = f'{NODE} name="$(var n)"/>'
    path = write(
        '<let name="n" value="one"/><group><let name="n" value="two"/><push_ros_namespace namespace="a"/>'
        '<push-ros-namespace namespace="b"/><set_env name="E" value="x"/><set_parameter name="p" value="3"/>'
        f'<set_use_sim_time value="true"/><set_remap from="c" to="d"/>{node}</group>{node}'
        f'<group scoped="false"><let name="n" value="three"/></group>{node}'
        f'<group forwarding="false"><keep name="n" value="four"/>{node}</group>'
    )
    two, one, three, four = interpret(path, environment={'PATH': '/bin'}).children
    assert two.node == '/a/b/two'
    assert two.environment['E'] == 'x'
    assert ros_arguments(two)[4:] == ['-p', 'p:=3', '-p', 'use_sim_time:=true', '-r', 'c:=d']
    assert one.node == '/one'
    assert 'E' not in one.environment
    assert ros_arguments(one) == ['-r', '__node:=one']
    assert three.node == '/three'
    assert four.node == '/four'


def test_conditions_and_arguments(write):
    path = write(
        '<arg name="a" default="true"/><arg name="b" default="$(not $(var a))"/>'
        '<log message="1" if="$(var a)"/><log message="2" unless="$(var a)"/><log message="3" if="$(var b)"/>'
        '<group if="$(var b)"><log message="4"/></group><shutdown reason="over" if="0"/>'
    )
    assert interpret(path).steps == [LogMessage('1')]
    assert interpret(path, {'a': 'false'}).steps == [LogMessage('2'), LogMessage('3'), LogMessage('4')]
    assert interpret(path, {'a': '1', 'b': 'TRUE'}).steps == [LogMessage('1'), LogMessage('3'), LogMessage('4')]


def test_include_gets_arguments_and_its_dirname(write, tmp_path):
    (tmp_path / 'sub').mkdir()
    write('<arg name="n"/><log message="$(dirname) $(var n)"/>', 'sub/inner.launch.xml')
    path = write(
        '<include file="$(dirname)/sub/inner.launch.xml"><arg name="n" value="7"/></include><log message="$(dirname)"/>'
    )
    assert interpret(path).steps == [LogMessage(f'{tmp_path}/sub 7'), LogMessage(str(tmp_path))]
    assert [argument.name for argument in declared_arguments(path)] == []


def test_shown_arguments_have_defaults_descriptions_and_choices(write):
    path = write(
        '<arg name="mode" default="fast" description="How to run."><choice value="fast"/><choice value="slow"/></arg>'
        '<arg name="out" default="$(var mode)/x"/><arg name="bag"/><arg name="late" default="$(var bag)"/>'
    )
    mode, out, bag, late = declared_arguments(path)
    assert (mode.default, mode.description, mode.choices) == ('fast', 'How to run.', ('fast', 'slow'))
    assert out.default == 'fast/x'
    assert bag.default is None
    assert late.default == '$(var bag)'


def test_a_node_of_a_missing_package_is_an_error_unless_it_is_optional(write):
    with pytest.raises(LaunchError, match='rviz2/rviz2 needs a ROS 2 installation'):
        interpret(write('<node pkg="rviz2" exec="rviz2"/>'))
    steps = interpret(write('<group if="true"><node pkg="rviz2" exec="rviz2"/></group>')).steps
    assert steps[0].level == 'WARN'
    assert 'rviz2/rviz2 is skipped' in steps[0].text


def test_a_node_of_another_package_runs_from_its_ament_prefix(write, tmp_path, monkeypatch):
    index = tmp_path / 'share' / 'ament_index' / 'resource_index' / 'packages'
    index.mkdir(parents=True)
    (index / 'other').touch()
    program = tmp_path / 'lib' / 'other' / 'talker'
    program.parent.mkdir(parents=True)
    program.write_text('#!/bin/sh\n')
    program.chmod(0o755)
    monkeypatch.setenv('AMENT_PREFIX_PATH', str(tmp_path))
    (child,) = interpret(write('<node pkg="other" exec="talker"/>')).children
    assert child.command == (str(program),)


def test_parameter_file_with_substitutions_is_rewritten(write, tmp_path):
    (tmp_path / 'p.yaml').write_text('/**:\n  ros__parameters:\n    bag: $(var bag)\n')
    path = write(f'<arg name="bag"/>{NODE}><param from="$(dirname)/p.yaml" allow_substs="true"/></node>')
    logs = tmp_path / 'log'
    logs.mkdir()
    (child,) = interpret(path, {'bag': '/tmp/x'}, log_directory=logs).children
    written = Path(ros_arguments(child)[-1])
    assert written.parent == logs
    assert 'bag: /tmp/x' in written.read_text()


def test_timeouts_respawn_and_on_exit_are_read(write):
    path = write(
        f'{NODE} respawn="true" respawn_delay="1.5" respawn_max_retries="3" on_exit="shutdown" sigterm_timeout="2"/>'
        '<executable cmd="sleep 1" shell="true" name="s" output="both" cwd="/"/>'
    )
    node, executable = interpret(path).children
    assert (node.respawn, node.respawn_delay, node.respawn_max_retries) == (True, 1.5, 3)
    assert node.shutdown_on_exit
    assert (node.sigterm_timeout, node.sigkill_timeout) == (2.0, 5.0)
    assert executable.command == ('sleep 1',)
    assert executable.shell
    assert executable.cwd == '/'


BOMB = '<!DOCTYPE launch [<!ENTITY a "aaaaa"><!ENTITY b "&a;&a;&a;&a;&a;">]><launch><log message="&b;"/></launch>'
EXTERNAL = '<!DOCTYPE launch [<!ENTITY x SYSTEM "file:///etc/passwd">]><launch><log message="&x;"/></launch>'
PARAMETER_ENTITY = '<!DOCTYPE launch [<!ENTITY % x SYSTEM "http://127.0.0.1/x">%x;]><launch/>'
EXTERNAL_DTD = '<!DOCTYPE launch SYSTEM "file:///etc/passwd"><launch/>'

# Text of the file (in <launch> unless it has a root), and the required part of the error. `:N:` is the line.
WRONG_FILES = {
    'bomb': (BOMB, ["entity 'a' is rejected", ':1:']),
    'external entity': (EXTERNAL, ["entity 'x' is rejected"]),
    'parameter entity': (PARAMETER_ENTITY, ["entity 'x' is rejected"]),
    'external document type': (EXTERNAL_DTD, ['external document type is rejected']),
    'undefined entity': ('<log message="&nbsp;"/>', ['not well-formed', ':1:']),
    'not closed': ('<launch>\n<group>\n</launch>', ['not well-formed', 'mismatched tag', ':3:']),
    'empty': ('<!-- nothing -->', ['no element found']),
    'other root': ('<robot/>', ['expected <launch>', '<robot>']),
    'root attribute': ('<launch verison="1"/>', ["found 'verison'"]),
    'binary': ('\0\1', ['not well-formed']),
    'text': ('\n\nhello', ["found the text 'hello'", ':3:']),
    'unknown element': ('\n<nod pkg="a"/>', [':2:', '<nod>', 'did you mean <node>']),
    'needs ros': ('<timer period="1"/>', ['<timer>', 'use ros2 launch']),
    'unknown attribute': (NODE + ' nmae="x"/>', ["attribute 'nmae'", "did you mean 'name'"]),
    'ROS 1 type': ('<node pkg="garden" type="recorder_node"/>', ["found 'type'"]),
    'no exec': ('<node pkg="garden"/>', ["expected the attribute 'exec'"]),
    'unknown node': ('<node pkg="garden" exec="reocrder"/>', ['recorder_node', "found 'reocrder'", "'exec'"]),
    'unknown package': ('<node pkg="turtlesim" exec="turtle"/>', ['needs a ROS 2 installation', "attribute 'pkg'"]),
    'unknown program': ('<node exec="no-such-program"/>', ['expected a program on PATH']),
    'bad name': (NODE + ' name="a b"/>', ['expected a node name', "'a b'"]),
    'bad namespace': (NODE + ' namespace="a//1"/>', ["attribute 'namespace'", "'a//1'"]),
    'bad output': (NODE + ' output="scren"/>', ['screen', "'scren'"]),
    'bad respawn': (NODE + ' respawn="maybe"/>', ["attribute 'respawn'", "'maybe'"]),
    'bad delay': (NODE + ' respawn_delay="-1"/>', ['non-negative number of seconds']),
    'nan delay': (NODE + ' respawn_delay="nan"/>', ['non-negative number of seconds']),
    'bad retries': (NODE + ' respawn_max_retries="x"/>', ['expected an integer']),
    'bad on_exit': (NODE + ' on_exit="restart"/>', ["expected 'shutdown'"]),
    'bad cwd': (NODE + ' cwd="/no/such"/>', ['expected a directory']),
    'child': (NODE + '><arg name="a"/></node>', ['in <node>, found <arg>']),
    'param empty': (NODE + '><param/></node>', ["'name' or 'from', found neither"]),
    'param both': (NODE + '><param name="a" from="b"/></node>', ['found both']),
    'param no value': (NODE + '><param name="a"/></node>', ["expected the attribute 'value'"]),
    'param nested': (NODE + '><param name="a" value="1"><param name="b" value="1"/></param></node>', ['found both']),
    'param type': (NODE + '><param name="a" value="1" type="double"/></node>', ["found 'double'"]),
    'param mistyped': (NODE + '><param name="a" value="x" type="int"/></node>', ['expected a value of type int']),
    'param file': (NODE + '><param from="/no/such.yaml"/></node>', ['expected a parameter file']),
    'param attribute': (NODE + '><param nam="a"/></node>', ["found 'nam'"]),
    'remap': (NODE + '><remap from="a"/></node>', ["expected the attribute 'to'"]),
    'condition': ('<log message="a" if="maybe"/>', ["attribute 'if'", "found 'maybe'"]),
    'empty condition': ('<log message="a" if=""/>', ["attribute 'if'"]),
    'two conditions': ('<log message="a" if="1" unless="1"/>', ['found both']),
    'required argument': ('<arg name="bag" description="where to"/>', ["'bag' (where to) is required", 'bag:=value']),
    'argument without name': ('<arg default="1"/>', ["expected the attribute 'name'"]),
    'choice': ('<arg name="m" default="c"><choice value="a"/><choice value="b"/></arg>', ['one of a, b', "found 'c'"]),
    'choice without value': ('<arg name="m" default="c"><choice/></arg>', ["expected the attribute 'value'"]),
    'variable': ('<log message="$(var nothing)"/>', ["attribute 'message'", "'nothing' does not exist"]),
    'environment': ('<log message="$(env NO_SUCH_VARIABLE)"/>', ['not set']),
    'evaluation': ("""<log message="$(eval '__import__(\\'os\\')')"/>""", ['not allowed']),
    'command': ('<log message="$(command ls)"/>', ['rejected']),
    'let': ('<let name="a"/>', ["expected the attribute 'value'"]),
    'include missing': ('<include file="/no/such.launch.xml"/>', ['found no file', "attribute 'file'"]),
    'include python': ('<include file="a.launch.py"/>', ['expected an XML launch file']),
    'include itself': ('<include file="$(filename)"/>', ['nested includes']),
    'executable': ('<executable cmd="/no/such/program"/>', ['expected a program']),
    'executable empty': ('<executable cmd=" "/>', ['expected a command']),
    'executable quote': ('<executable cmd="echo \'a"/>', ['expected \'']),
    'set_env': ('<set_env name="a"/>', ["expected the attribute 'value'"]),
    'nested in log': ('<log message="a"><log message="b"/></log>', ['in <log>, found <log>']),
    'deep': ('<group>' * 200 + '</group>' * 200, ['nested elements']),
}  # fmt: skip


@pytest.mark.parametrize('case', WRONG_FILES)
def test_a_wrong_file_is_rejected_with_location_expected_and_found(case, tmp_path):
    text, parts = WRONG_FILES[case]
    path = tmp_path / 'wrong.launch.xml'
    path.write_text(text if text.lstrip().startswith(('<launch', '<!', '<robot', '\0')) else f'<launch>{text}</launch>')
    with pytest.raises(LaunchError) as caught:
        interpret(path)
    message = str(caught.value)
    assert message.startswith(str(path))
    assert '\n' not in message
    for part in parts:
        assert part in message


def test_a_file_that_is_too_large_or_missing_is_rejected(tmp_path):
    path = tmp_path / 'big.launch.xml'
    path.write_text(f'<launch><!--{"x" * 5_000_000}--></launch>')
    with pytest.raises(LaunchError, match='at most'):
        interpret(path)
    with pytest.raises(LaunchError, match='cannot be read'):
        interpret(tmp_path / 'none.launch.xml')


def test_an_unknown_argument_is_rejected_with_the_closest_known(write):
    path = write('<arg name="recovery" default="true"/>')
    with pytest.raises(LaunchError, match=r"unknown argument 'recovry' \(did you mean recovery:=\?\)"):
        interpret(path, {'recovry': 'false'})


def test_arguments_are_name_value_words():
    assert parse_launch_arguments(['a:=1', 'b:=', 'c:=x:=y', 'a:=2']) == {'a': '2', 'b': '', 'c': 'x:=y'}
    with pytest.raises(LaunchError, match='name:=value'):
        parse_launch_arguments(['a=1'])


def test_a_launch_file_is_found_by_its_name_in_a_package(garden):
    folder = garden / 'launch'
    folder.mkdir(parents=True)
    file = folder / 'plants.launch.xml'
    file.write_text('<launch/>')
    (folder / 'plants.launch.py').write_text('')
    assert find_launch_file('plants', 'garden') == find_launch_file('plants.launch.xml', 'garden') == file
    with pytest.raises(LaunchError, match=r"no launch file 'plnats' \(did you mean 'plants'\?\)"):
        find_launch_file('plnats', 'garden')
    with pytest.raises(LaunchError, match='no such file'):
        find_launch_file('some/where.launch.xml', 'garden')
    with pytest.raises(LaunchError, match='expected an XML launch file'):
        find_launch_file('plants.launch.py', 'garden')
    with pytest.raises(LaunchError, match="package 'forest' was not found"):
        find_launch_file('plants', 'forest')


def test_a_command_of_a_package_is_a_program_and_not_a_node(write, garden):
    node, tool = interpret(
        write(f'{NODE}/><node pkg="garden" exec="garden-tool" args="$(find-pkg-share garden)"/>')
    ).children
    assert (node.executable, tool.executable) == ('recorder_node', '')
    assert tool.command == (sys.executable, '-m', 'garden.cli', str(garden))


def test_shutdown_is_a_step(write):
    assert interpret(write('<shutdown reason="over"/>')).steps == [Stop('over')]
