"""docs/contributing: the file of every page makes a new kind work, with nothing else changed."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dyn_nodes as dn
from dyn_nodes.elements import actuators as elements
from dyn_nodes.model.actuators import actuator_kinds, oil_actuators
from dyn_nodes.model.constraint_kinds import constraint_keys, constraint_kinds
from dyn_nodes.model.discovery import kinds_of
from dyn_nodes.model.schema import keys_of
from dyn_nodes.multibody.actuators import ActuatorElement

pytestmark = pytest.mark.timeout(900)  # kernels are compiled
PAGES = Path(__file__).resolve().parents[2] / 'docs' / 'contributing'
BLOCK = re.compile(r'^```(?:python|yaml)\n(?:# (\S+)\n)?(.*?)^```', re.DOTALL | re.MULTILINE)
CACHES = (constraint_kinds, constraint_keys, actuator_kinds, keys_of)
Follow = Callable[[str], dict[str, Any]]


@pytest.fixture
def follow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Follow]:
    """Write the files of a page, a new kind beside those of its package, and run its other lines."""
    made: list[str] = []

    def run(page: str) -> dict[str, Any]:
        names: dict[str, Any] = {}
        for path, text in BLOCK.findall((PAGES / page).read_text(encoding='utf-8')):
            if not path:
                exec(text, names)
            elif path.startswith('dyn_nodes/'):
                package, _, module = path.removesuffix('.py').replace('/', '.').rpartition('.')
                folder = tmp_path / package
                folder.mkdir()
                (folder / f'{module}.py').write_text(text, encoding='utf-8')
                whole = import_module(package)
                monkeypatch.setattr(whole, '__path__', [*whole.__path__, str(folder)])
                made.append(f'{package}.{module}')
                _forget()
                for kind, element in kinds_of(elements, ActuatorElement).items():  # type: ignore[type-abstract]
                    monkeypatch.setitem(elements.KINDS, kind, element)  # type: ignore[arg-type]
            else:
                (tmp_path / path).write_text(text, encoding='utf-8')
        return names

    monkeypatch.chdir(tmp_path)
    yield run
    for name in made:
        sys.modules.pop(name, None)
    _forget()


def _forget() -> None:
    for cached in CACHES:
        cached.cache_clear()


def test_a_constraint_of_one_file_is_read_checked_and_simulated(follow, tmp_path):
    names = follow('constraint.md')
    text = (tmp_path / 'held.yaml').read_text()
    point = 'kind: plane, first: {link: rod, position: [0.5, 0, 0]}, second: {link: world}, axis: [0, 0, 1]'
    (tmp_path / 'plane.yaml').write_text(re.sub(r'kind: height.*height: 0', point, text))
    same = dn.load('slider_crank', 'plane.yaml').simulate(0.3, torque={'crank_joint': 4.0})
    assert names['run'].status == same.status == 'done'
    np.testing.assert_allclose(names['run'].last, same.last, atol=1e-9)
    assert abs(names['run'].last[0] - 0.6) > 0.01
    (tmp_path / 'held.yaml').write_text(text.replace('height: 0', 'length: 1'))
    with pytest.raises(
        ValueError, match=r'held\.yaml:4: constraints\.pin\.height: expected a value, which kind height'
    ):
        dn.load('slider_crank', 'held.yaml')


BOX = """<robot name="box"><link name="body"><inertial><origin xyz="0 0 0"/><mass value="100"/>
<inertia ixx="5" iyy="5" izz="8" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>
"""


def test_a_friction_law_of_one_file_is_read_and_simulated(follow, tmp_path):
    (tmp_path / 'box.urdf').write_text(BOX)
    names = follow('friction_law.md')
    same = 'model: lugre, bristle_damping: 0, viscous: 0'  # with one coefficient the bristles are those of Dahl
    text = (tmp_path / 'dahl.yaml').read_text()
    (tmp_path / 'lugre.yaml').write_text(text.replace('model: dahl', same))
    reference = dn.load('box.urdf', 'lugre.yaml').simulate(0.5)
    assert names['run'].status == reference.status == 'done'
    np.testing.assert_allclose(names['run'].last, reference.last, rtol=1e-9, atol=1e-9)


def test_an_actuator_of_one_file_is_read_simulated_and_controlled(follow):
    names = follow('actuator.md')
    run, start = names['run'], names['start']
    assert run.status == 'done'
    assert [own.kind for own in names['arm'].data.actuators] == ['winch'] * 4
    np.testing.assert_allclose(run.last[:4], start[:4], atol=0.02)  # held against gravity by the controller of motors
    free = names['arm'].simulate(1.0, voltage=...)
    assert np.abs(free.last[:4] - start[:4]).max() > 0.05
    assert oil_actuators(names['arm'].data.actuators) == []
