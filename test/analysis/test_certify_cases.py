"""Calculations of standards with load cases, compared with statics by hand."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from standard_machines import loader, pivoted_payload, pivoted_slope

from dyn_nodes.analysis.standards import CertifyError, CertifySettings, certify
from dyn_nodes.analysis.standards.posed import Posed
from dyn_nodes.model import load_machine

ROOT = Path(__file__).resolve().parents[2]
AGREES = 0.005
LOADERS = ({}, {'mass': 12000.0, 'wheelbase': 3.0}, {'mass': 7000.0, 'track': 1.6})


@cache
def machine_of(name):
    return load_machine(ROOT / 'urdf' / f'{name}.urdf', ROOT / 'config' / f'{name}.yaml')


def by_case(machine, standard, values=None, **settings):
    """Return the records by case, and the certificate, on rigid supports without effects."""
    settings = CertifySettings(**{'rigid': True, 'vary': False, 'values': values or {}, **settings})
    certificate = certify(machine, standard, settings)
    return {record['case']: record for record in certificate.records}, certificate


@pytest.mark.parametrize('options', LOADERS)
def test_tipping_loads_of_loaders_are_those_of_the_lever_law(tmp_path, options):
    sketch = loader(**options)
    records, certificate = by_case(sketch.load(tmp_path), 'iso14397_1')
    assert list(records) == ['straight', 'articulated fully left', 'articulated fully right']
    for name, record in records.items():
        joints = record['joints']
        reach = [sketch.mount({**joints, 'arm_joint': q, 'front_joint': 0.0})[0] for q in np.linspace(-0.8, 0.8, 2001)]
        straight = {**joints, 'front_joint': 0.0}
        assert sketch.mount(straight)[0] == pytest.approx(max(reach), abs=1e-4)
        expected = pivoted_payload(sketch, joints)
        assert record['limit'] == pytest.approx(expected, rel=AGREES), name
        assert record['rated'] == 0.5 * record['limit']
    assert records['articulated fully left']['limit'] < 0.95 * records['straight']['limit']
    assert f'{min(record["rated"] for record in records.values()):,.0f}' == certificate.tables[-1].rows[-1][1]


@pytest.mark.parametrize('options', LOADERS)
def test_slopes_on_rigid_supports_are_those_of_the_weight_over_the_axes(tmp_path, options):
    """All headings, laden and empty, straight and articulated: pivoted axes pass through the pivot, above the ground."""
    sketch = loader(**options)
    machine = sketch.load(tmp_path)
    for joints in ({}, {'front_joint': 0.5, 'arm_joint': 0.4}):
        posed = Posed(machine, joints, rigid=True)
        for heading in np.radians([0.0, 60.0, 90.0, -120.0, 180.0]):
            for payload in (0.0, 2000.0):
                tips = posed.slope(payload, heading)
                expected = pivoted_slope(sketch, joints, heading, payload)
                assert np.tan(tips.value) == pytest.approx(np.tan(expected), rel=AGREES), (joints, heading, payload)
