from __future__ import annotations

import ast
import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from dyn_nodes import middleware
from dyn_nodes.middleware import select
from roslite.runtime import api


def test_the_environment_selects_a_runtime(monkeypatch):
    monkeypatch.setenv('DYN_NODES_MIDDLEWARE', 'embedded')
    assert select.choose_runtime() == 'embedded'
    monkeypatch.setenv('DYN_NODES_MIDDLEWARE', 'rclpy')
    assert select.choose_runtime() == 'rclpy'
    monkeypatch.setenv('DYN_NODES_MIDDLEWARE', 'other')
    with pytest.raises(ValueError, match="expected 'embedded' or 'rclpy', found 'other'"):
        select.choose_runtime()


def test_rclpy_is_chosen_if_it_can_be_imported(monkeypatch, tmp_path):
    monkeypatch.delenv('DYN_NODES_MIDDLEWARE', raising=False)
    (tmp_path / 'rclpy.py').write_text('', encoding='utf-8')
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    assert select.choose_runtime() == 'rclpy'


def test_both_runtimes_export_the_same_names():
    source = Path(select.__file__).with_name('real.py').read_text(encoding='utf-8')
    tree = ast.parse(source)
    names = next(
        ast.literal_eval(item.value)
        for item in tree.body
        if isinstance(item, ast.Assign) and item.targets[0].id == '__all__'
    )
    assert sorted(names) == sorted(api.__all__)
    bound = {
        alias.asname or alias.name
        for item in ast.walk(tree)
        if isinstance(item, ast.ImportFrom)
        for alias in item.names
    }
    bound |= {item.name for item in tree.body if isinstance(item, (ast.FunctionDef, ast.ClassDef))}
    bound |= {item.targets[0].id for item in tree.body if isinstance(item, ast.Assign)}
    assert set(names) <= bound
    assert all(hasattr(api, name) for name in names)


@pytest.mark.parametrize('module', ['', '.middleware', '.middleware.bags'])
def test_nothing_of_dds_is_loaded_before_it_is_needed(module):
    code = f'import sys, dyn_nodes{module}; sys.exit("cyclonedds" in sys.modules or "rosbags" in sys.modules)'
    assert subprocess.run([sys.executable, '-c', code], check=False).returncode == 0


def test_the_package_exports_the_names_of_the_chosen_runtime():
    code = 'from dyn_nodes.middleware import *; from dyn_nodes import middleware as m; print(RUNTIME, Node is m.Node)'
    environment = {**os.environ, 'DYN_NODES_MIDDLEWARE': 'embedded'}
    done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, env=environment, check=True)
    assert done.stdout.split() == ['embedded', 'True']
    with pytest.raises(AttributeError, match=r"'dyn_nodes\.middleware' has no attribute 'Nod'"):
        _ = middleware.Nod
