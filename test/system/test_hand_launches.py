"""Launch files with cartesian:=true: the hand controller replaces the joint controller, the run ends at its time."""

from __future__ import annotations

import pytest
from harness import launched
from test_electric_contract import URDF, YAML


def led_hand(domain, *words):
    """Return the output of a launch in lockstep until the end of its run."""
    text = launched(domain, *words, 'cartesian:=true', 'mode:=lockstep')
    assert '] controller_node' not in text
    return text


@pytest.fixture
def gate(tmp_path):
    (tmp_path / 'gate.urdf').write_text(URDF)
    (tmp_path / 'gate.yaml').write_text(YAML)
    return f'machine:={tmp_path / "gate.urdf"}', f'config:={tmp_path / "gate.yaml"}'


@pytest.mark.parametrize('beside', ['monolithic:=false', pytest.param('monolithic:=true', marks=pytest.mark.slow)])
def test_a_machine_on_motors(domain, gate, beside):
    text = led_hand(domain, 'machine', *gate, 'motors:=true', 'link:=leaf', 'duration:=0.3', beside)
    assert 'gate: leaf (x, y, z) by hinge' in text
    assert 'the run of 0.3 s is over' in text


@pytest.mark.slow
@pytest.mark.parametrize(
    ('machine', 'hand'),
    [
        ('log_loader', 'payload_link (x, y, z) by swing_joint, boom_joint, stick_joint'),
        ('log_loader_linkage', 'payload_link (x, y, z) by swing_joint, stick_rod_joint, boom_rod_joint'),
    ],
)
def test_hydraulic_machines(domain, machine, hand):
    text = led_hand(domain, machine, 'duration:=0.3')
    assert hand in text
    assert 'the run of 0.3 s is over' in text
