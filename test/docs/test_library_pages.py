"""The pages of the library: their lines run, and the reference has every public name."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import numpy as np
import pytest

import dyn_nodes as dn

pytestmark = pytest.mark.timeout(900)  # the first that needs them compiles the kernels of a machine
DOCS = Path(__file__).resolve().parents[2] / 'docs'
LIBRARY, CHEAT_SHEET = (DOCS / 'reference' / 'library.md').read_text().split('\n## Cheat sheet\n')
PYTHON = re.compile(r'^```python\n(.*?)^```', re.DOTALL | re.MULTILINE)
EIGHT = """\
m = dn.load('log_loader')                 # or (urdf, yaml); any name that launch and nodes know
d = m.dynamics()                          # every method takes (n,) or (t, n)
M, g, a = d.mass_matrix(q), d.gravity(q), d.forward(q, v, tau)
s = m.margins(q, v)                       # by measure and edge; to pandas / xarray
r = m.reactions(q, joint='boom_joint')
run = m.simulate(10, voltage=...)         # or torque=lambda t, x: ..., or a task; run.plot(), run.to_pandas(), run.save_bag()
A, B, C, D = m.linearize(x)
f = m.kernel('forward_dynamics')          # callable from Numba, and as C source
"""  # noqa: E501


@pytest.fixture(scope='module')
def names():
    """What the first two blocks of the page leave behind: vectors, then the eight lines."""
    first, eight = PYTHON.findall(LIBRARY)[:2]
    assert eight == EIGHT
    found: dict = {}
    exec(first, found)
    exec(eight, found)
    return found


def test_the_eight_lines_of_the_library(names):
    assert names['M'].shape == (9, 9)
    assert names['g'].shape == names['a'].shape == (9,)
    np.testing.assert_allclose(names['M'] @ names['a'], -names['g'], atol=1e-6)  # without torques it falls
    assert names['s']['static'].value > 0
    assert np.linalg.norm(names['r'].force) > 1e4
    assert names['run'].status == 'done'
    assert names['run'].times[-1] == 10
    n, m = names['B'].shape
    assert (names['A'].shape, m, names['C'].shape, names['D'].shape) == ((n, n), 3, (3, n), (3, 3))
    out = names['f'].result()
    q = names['m'].posture()
    names['f'](q, np.zeros(9), np.zeros(9), names['f'].parameters, out)
    np.testing.assert_allclose(out, names['d'].forward(q, np.zeros(9), np.zeros(9)), rtol=1e-12)


def test_what_the_eight_lines_name_beside_themselves(names, tmp_path, monkeypatch):
    pytest.importorskip('pandas')
    pytest.importorskip('xarray')
    monkeypatch.chdir(tmp_path)
    machine, margins = names['m'], names['s']
    assert margins.to_pandas().columns.names == ['measure', 'edge']
    assert margins.to_xarray()['static'].attrs['units'] == 'm'
    run = machine.simulate(0.02, torque=lambda t, x: {'boom_joint': 2e5})
    assert run.plot().axes
    assert len(run.to_pandas()) == len(run)
    folder = run.save_bag()
    assert folder.parent == Path()
    assert folder.name.startswith('log_loader_')
    assert (tmp_path / folder / 'metadata.yaml').exists()
    q = np.stack([names['q']] * 3)
    assert names['d'].forward(q, 0 * q, 0 * q).shape == (3, 9)


def test_other_lines_of_the_page(names):
    for block in PYTHON.findall(LIBRARY)[2:]:
        if 'Error:' in block:
            call, error = re.fullmatch(r'(.*)\n# \w+: (.*)\n', block).groups()
            with pytest.raises(ValueError, match=re.escape(error)):
                exec(call, dict(names))
        else:
            exec(block, dict(names))


def test_lines_of_the_cheat_sheet(names, tmp_path, monkeypatch):
    pytest.importorskip('pandas')
    pytest.importorskip('xarray')
    monkeypatch.chdir(tmp_path)
    # the test has no files of the reader's own, and takes whole vectors
    known = {**names, 'out': names['f'].result(), 'tau': np.zeros(9), 'v': np.zeros(9), 'q': names['m'].posture()}
    lines = re.findall(r'^### .*?`(.*?)`$|^\| (`.*?`) \|', CHEAT_SHEET, re.MULTILINE)
    count = 0
    for heading, row in lines:
        for line in [heading] if heading else re.findall(r'`(.*?)`', row):
            if 'my.urdf' in line:
                continue
            exec(line, known)
            count += 1
    assert count > 60


def members(kind: type) -> dict[str, object]:
    """Public methods and properties of a class, as functions."""
    found = {}
    for name, own in vars(kind).items():
        function = own.fget if isinstance(own, property) else getattr(own, 'func', own)
        if not name.startswith('_') and callable(function):
            found[name] = function
    return found


@pytest.mark.parametrize('name', dn.__all__)
def test_public_names_are_documented_and_in_the_reference(name):
    """Docstring, every argument, every attribute; and a line of docs/reference/api.md."""
    own = getattr(dn, name)
    assert re.search(rf'^::: dyn_nodes\.{name}$', (DOCS / 'reference' / 'api.md').read_text(), re.MULTILINE)
    text = inspect.getdoc(own)
    assert text
    if not inspect.isclass(own):
        undocumented = [key for key in inspect.signature(own).parameters if not re.search(rf'^    {key}: ', text, re.M)]
        assert not undocumented
        return
    for key, function in members(own).items():
        about = inspect.getdoc(function)
        assert about, f'{name}.{key}'
        for argument in list(inspect.signature(function).parameters)[1:]:
            assert re.search(rf'\b{argument}\b', f'{about}\n{text}'), f'{name}.{key}: {argument}'


def test_attributes_of_instances_are_documented(names):
    margins = names['s']
    for instance in (names['m'], names['d'], margins, margins['static'], names['r'], names['run'], names['f']):
        text = inspect.getdoc(type(instance))
        for attribute in vars(instance):
            if not attribute.startswith('_') and attribute not in members(type(instance)):
                assert re.search(rf'^    (\w+, )*{attribute}\b', text, re.MULTILINE), f'{type(instance)}: {attribute}'


def test_results_of_the_reference_have_docstrings():
    from importlib import import_module

    for path in re.findall(r'^::: (dyn_nodes\.\w+\..*)$', (DOCS / 'reference' / 'api.md').read_text(), re.MULTILINE):
        module, _, name = path.rpartition('.')
        own = getattr(import_module(module), name)
        assert inspect.getdoc(own)
        assert all(inspect.getdoc(function) for function in members(own).values()), path
