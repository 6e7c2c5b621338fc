"""Machines by name and file, and the import of the package."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from dataclasses import fields, is_dataclass
from functools import cached_property

import numpy as np
import pytest

import dyn_nodes as dn
from dyn_nodes.common.share import find_resource

LIBRARY = [getattr(dn, name) for name in dn.__all__]


def test_importing_the_package_imports_nothing_heavy():
    heavy = 'numpy', 'casadi', 'numba', 'dyn_nodes.library'
    code = f'import sys, dyn_nodes; print([name for name in {heavy} if name in sys.modules])'
    process = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, check=True, timeout=60)
    assert process.stdout.strip() == '[]'


def test_the_names_of_the_library_equal_the_package():
    import dyn_nodes.library

    assert dn.__all__ == dyn_nodes.library.__all__
    assert set(dn.__all__) <= set(dir(dn))
    with pytest.raises(AttributeError, match="has no attribute 'lode'"):
        _ = dn.lode


def test_every_launchable_machine_has_a_name():
    names = dn.machines()
    assert {'log_loader', 'arm_a6', 'agv_axle_rigid', 'agv_omni_motors', 'excavator'} <= set(names)
    assert not {'teleop', 'log_loader_controllers', 'stability_monitor', 'team_bar'} & set(names)
    assert dn.load('agv_axle_rigid').data.rigid_wheels
    assert not dn.load('agv_axle').data.rigid_wheels


def test_files_make_the_same_machine_as_the_name(tmp_path):
    urdf, yaml = find_resource('urdf/log_loader.urdf'), find_resource('config/log_loader.yaml')
    named = dn.load('log_loader')
    assert repr(dn.load(urdf, yaml)) == repr(named) == repr(dn.load(str(urdf), 'log_loader'))
    bare = dn.load(urdf)
    assert bare.data.base.attachment == 'fixed'
    assert not bare.actuators


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        (('log_lodaer',), "unknown machine 'log_lodaer' \\(did you mean 'log_loader'\\?\\)"),
        (('log_loader', 'log_loadr'), "unknown config 'log_loadr' \\(did you mean 'log_loader'\\?\\)"),
        (('nowhere/robot.urdf',), 'machine: no such file: nowhere/robot.urdf'),
        (('log_loader', 'nowhere.yaml'), 'config: no such file: nowhere.yaml'),
    ],
)
def test_a_wrong_name_or_file_is_named(arguments, message):
    with pytest.raises(ValueError, match=f'^{message}$'):
        dn.load(*arguments)


def test_errors_of_the_files_have_their_lines(tmp_path):
    yaml = tmp_path / 'bad.yaml'
    yaml.write_text('gravitty: 9.81\n')
    with pytest.raises(ValueError, match=r'bad\.yaml:1: .*gravitty'):
        dn.load('log_loader', yaml)


def test_names_of_vectors_fit_their_lengths():
    m = dn.load('log_loader')
    x = m.rest_state()
    assert len(x) == len(m.state_names)
    assert m.state_names[: len(m.posture())] == m.position_names
    assert m.joints == m.position_names[-3:] == m.velocity_names[-3:]
    assert m.input_names == tuple(f'{name}/voltage' for name in m.actuators)
    assert x[m.index('boom_joint')] == m.posture()[m.position_names.index('boom_joint')]
    with pytest.raises(KeyError, match="unknown state 'boom_jiont' \\(did you mean 'boom_joint'\\?\\)"):
        m.index('boom_jiont')


def test_a_posture_is_specified_by_name():
    m = dn.load('log_loader')
    q = m.posture(boom_joint=0.5)
    assert q[m.position_names.index('boom_joint')] == 0.5
    np.testing.assert_array_equal(q, m.posture({'boom_joint': 0.5}))
    empty, laden = (m.posture(boom_joint=0.5, payload=mass) for mass in (0.0, 2000.0))
    assert laden[4] > empty[4] + 1e-3, 'the front springs give way: it pitches forward'
    for wrong, message in (
        ({'boom_jiont': 0.5}, "unknown joint 'boom_jiont' \\(did you mean 'boom_joint'\\?\\)"),
        ({'boom_joint': np.nan}, "joints\\['boom_joint'\\]: expected a finite number, found nan"),
        ({'boom_joint': 'high'}, "joints\\['boom_joint'\\]: expected a number, found 'high'"),
        ({'boom_joint': 90.0}, "joints\\['boom_joint'\\]: expected .* found 90"),
        ({'payload': -1.0}, 'payload: expected 0 to .* kg, found -1'),
        ({'slope': (0.1, 0.0, 0.0)}, 'slope: expected shape \\(2,\\)'),
    ):
        with pytest.raises((KeyError, ValueError), match=f'log_loader: {message}'):
            m.posture(**wrong)


def public_names():
    for item in LIBRARY:
        yield item.__name__, item
        if inspect.isclass(item):
            for name, member in vars(item).items():
                if not name.startswith('_'):
                    yield f'{item.__name__}.{name}', member


def test_every_public_name_is_documented():
    kinds = property, cached_property
    has_docstring = {
        name: bool(inspect.getdoc(member))
        for name, member in public_names()
        if isinstance(member, kinds) or callable(member)
    }
    assert len(has_docstring) > 50
    assert [name for name, documented in has_docstring.items() if not documented] == []


def test_every_argument_is_documented_and_typed():
    """Methods with several arguments have a complete list of them."""
    missing = []
    for name, member in public_names():
        if not inspect.isfunction(member):
            continue
        parameters = [p for p in inspect.signature(member).parameters.values() if p.name != 'self']
        missing += [f'{name}({p.name}) has no type' for p in parameters if p.annotation is inspect.Parameter.empty]
        text = inspect.getdoc(member) or ''
        if 'Args:' in text:
            missing += [f'{name}({p.name})' for p in parameters if f'{p.name}:' not in text]
    assert missing == []


def test_every_attribute_of_a_class_is_documented():
    """Public attributes set by a constructor are documented in the class."""
    missing = []
    for item in LIBRARY:
        if not inspect.isclass(item) or '__init__' not in vars(item):
            continue
        text = inspect.getdoc(item) or ''
        if is_dataclass(item):
            names = {field.name for field in fields(item)}
        else:
            names = set(re.findall(r'self\.([a-z]\w*)(?=[^=\n(]* = )', inspect.getsource(item.__init__)))
        missing += [f'{item.__name__}.{name}' for name in names if not re.search(rf'\b{name}\b', text)]
    assert missing == []


def test_a_compilation_is_shown_with_its_part_and_its_time(capsys):
    from dyn_nodes.common import compiling
    from dyn_nodes.library.notice import shown

    with shown('dynamics'):
        compiling.notice('crane: forward')
        compiling.notice('crane: inverse')
        compiling.notice('stability measures')
    assert capsys.readouterr().err == (
        'dyn_nodes: compiling crane (dynamics), once, stability measures (dynamics), once ... 1 s\n'
    )
    with shown('dynamics'):
        pass
    assert capsys.readouterr().err == ''
