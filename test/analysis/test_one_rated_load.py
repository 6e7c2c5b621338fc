"""One tipping load and one rated load of a machine: check, load chart, certify, and margins of the library."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from load_witness import limits_at_start
from test_one_tipping_load import ABOVE, BELOW, FILES, reaching

from dyn_nodes.analysis.load_chart import HYDRAULICS, LIMIT, TIPPING, ChartSettings, rated_payloads
from dyn_nodes.analysis.load_grip import LoadGrip
from dyn_nodes.analysis.load_rest import rest_limits
from dyn_nodes.analysis.load_statics import LoadChartError, LoadStatics
from dyn_nodes.analysis.standards import CertifyError, CertifySettings, certify
from dyn_nodes.analysis.standards.posed import Posed
from dyn_nodes.commands.machine_summary import machine_summary
from dyn_nodes.library.machine import Machine
from dyn_nodes.model.posture import initial_positions
from dyn_nodes.stability.equilibrium.standing import gives_way

AGREES = 0.005
FAST = ('log_loader', 'telehandler', 'pivot_crane')
LIFTING = ('iso14397_1', 'iso8813', 'en13000', 'en12999')
"""Standards with tipping loads by posture."""


def params():
    return [name if name in FAST else pytest.param(name, marks=pytest.mark.slow) for name in sorted(FILES)]


@pytest.fixture(scope='module', params=params())
def machine(request):
    machine = reaching(request.param)
    if machine is None:
        pytest.skip('a base that does not stand on springs')
    return machine


def chart_limits(machine):
    """Return the tipping loads of the load chart in the initial posture, rigid and yielding, kg; None without chart."""
    try:
        limits = limits_at_start(machine)
    except LoadChartError:
        return None
    hanging = set(machine.idle_joints) - set(gives_way(machine))
    hanging -= {name for linkage in limits.statics.linkages for name in (linkage.coordinate, *linkage.joints)}
    if hanging or machine.base.attachment == 'planar':
        return None  # something hangs from the arm, or a machine in a plane
    grip = LoadGrip(limits.statics)
    return {rigid: rated_payloads(limits, grip, ChartSettings(rigid=rigid), 0.0) for rigid in (True, False)}


def test_check_chart_certify_and_margins_have_the_same_tipping_load(machine):
    checked = machine_summary(machine)['static']['tipping']['load']
    posed = {rigid: Posed(machine, {}, rigid).payload().value for rigid in (True, False)}
    chart = chart_limits(machine)
    if checked is None:
        assert np.isinf(posed[False]) or posed[False] <= posed[True]
        pytest.skip('no payload tips it in this posture')
    assert posed[False] == pytest.approx(min(checked, posed[True]), rel=AGREES)
    if chart is not None:
        for rigid, (payloads, rated) in chart.items():
            tipping = float(payloads['tipping'][0, 0])
            assert posed[rigid] == pytest.approx(min(tipping, posed[True]), rel=AGREES)
            share = min(0.75 * tipping, 0.87 * float(payloads['lifting'][0, 0]), machine.payload.limit)
            assert float(rated[[TIPPING, HYDRAULICS, LIMIT], 0, 0].min()) == pytest.approx(share, rel=AGREES)
    if gives_way(machine) or machine.base.attachment == 'planar' or posed[False] < (1.0 - AGREES) * checked:
        return  # beyond the tipping load it stands on a stop
    library = Machine(machine)
    margin = library.margins(library.posture(payload=BELOW * checked), measures=('static',), payload=BELOW * checked)
    assert margin['static'].value > 0.0
    try:
        beyond = library.margins(measures=('static',), payload=ABOVE * checked)['static']
    except ValueError:
        return  # it does not rest there
    hangs = any(name in machine.idle_joints for name in library.joints)
    assert hangs or not beyond.valid or beyond.value <= 0.0


@pytest.mark.parametrize('standard', ['iso10567', *LIFTING])
def test_certify_has_the_limits_of_the_chart_in_its_postures(machine, standard):
    """The postures of the certificate, on rigid supports and level ground, with the kernels of the load chart."""
    try:
        certificate = certify(machine, standard, CertifySettings(step=6.0, rigid=True, vary=False))
    except (CertifyError, LoadChartError):
        pytest.skip('not a machine of this standard')
    if standard != 'iso10567' and not machine.constraints and set(machine.idle_joints) - set(gives_way(machine)):
        pytest.skip('something hangs from the arm: the chart holds its joints')
    compared = 0
    for record in certificate.records[:: max(1, len(certificate.records) // 6)]:
        if record.get('unit', 'kg') != 'kg' or record.get('locked'):
            continue
        swing = {} if 'swing' not in record else {'swing': record['swing']}
        at = {**initial_positions(machine), **record['joints']}
        # a record of iso10567 has the joints of the arm alone, so the file's posture closes the loops
        posed = machine.initial if standard == 'iso10567' else replace(machine.initial, joint_positions=at)
        statics = LoadStatics(replace(machine, initial=posed))
        arm = np.array([[at[joint.name] for joint in statics.arm]])
        angle = swing.get('swing', at[statics.swing.name] if statics.swing is not None else 0.0)
        limits = rest_limits(statics, arm, np.array([angle]), rigid=True)
        tipping = record['tipping'] if standard == 'iso10567' else record['limit']
        if np.isfinite(tipping):
            assert tipping == pytest.approx(float(limits.tipping[0, 0]), rel=AGREES), record
            compared += 1
    assert compared or not any(np.isfinite(each.get('limit', 0.0)) for each in certificate.records)
