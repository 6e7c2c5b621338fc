"""`friction.model` and `friction_point` of a machine YAML."""

from __future__ import annotations

import pytest

from dyn_nodes.common.share import find_resource
from dyn_nodes.model import MachineError, load_machine
from dyn_nodes.model.fingerprint import machine_fingerprint
from dyn_nodes.model.machine import Karnopp, LuGre

URDF = find_resource('urdf/log_loader_planar.urdf')
TEXT = find_resource('config/log_loader_planar.yaml').read_text(encoding='utf-8')
FRICTION_KEY = '    friction:\n'


@pytest.fixture
def load(tmp_path):
    def loaded(text: str):
        path = tmp_path / 'machine.yaml'
        path.write_text(text, encoding='utf-8')
        return load_machine(URDF, path)

    return loaded


def test_lugre_is_the_default_and_acts_at_the_attachment_here(load):
    for wheel in load(TEXT).wheels:
        assert isinstance(wheel.friction, LuGre)
        assert wheel.friction_point == 'attachment'


def test_karnopp_takes_spring_and_damper_of_the_wheel_if_it_has_none(load):
    for wheel in load(TEXT.replace(FRICTION_KEY, f'{FRICTION_KEY}      model: karnopp\n')).wheels:
        assert wheel.friction == Karnopp(0.05, 0.03, 3.5e6, 1.5e5, 1e-3)


def test_karnopp_takes_its_specified_numbers(load):
    friction = (
        f'{FRICTION_KEY}      model: karnopp\n      stiffness: 1.0e6\n      damping: 2.0e4\n      stick_speed: 0.002\n'
    )
    for wheel in load(TEXT.replace(FRICTION_KEY, friction)).wheels:
        assert wheel.friction == Karnopp(0.05, 0.03, 1e6, 2e4, 2e-3)


def test_every_choice_makes_other_machine_code(load):
    variants = [
        TEXT,
        TEXT.replace(FRICTION_KEY, f'{FRICTION_KEY}      model: karnopp\n'),
        TEXT.replace('friction_point: attachment', 'friction_point: ground'),
    ]
    assert len({machine_fingerprint(load(text)) for text in variants}) == 3


@pytest.mark.parametrize(
    ('old', 'new', 'message'),
    [
        (FRICTION_KEY, f'{FRICTION_KEY}      model: coulomb\n', r"friction\.model: expected one of .*'coulomb'"),
        ('friction_point: attachment', 'friction_point: axle', r"friction_point: expected one of .*'axle'"),
    ],
)
def test_an_unknown_choice_is_named_with_its_line(load, old, new, message):
    with pytest.raises(MachineError, match=rf'machine\.yaml:4\d: defaults\.wheel\.{message}'):
        load(TEXT.replace(old, new))
