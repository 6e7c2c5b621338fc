"""Karnopp's law in one direction: stick, slip and catch of the foot, and its force."""

from __future__ import annotations

import casadi as ca
import pytest
from draws import reached, reaches
from hypothesis import given
from hypothesis import strategies as st

from dyn_nodes.elements.forces.contact import wheel_contact
from dyn_nodes.model.friction.karnopp import karnopp
from dyn_nodes.model.machine import Karnopp, LuGre, Wheel

LAW = Karnopp(static=0.9, kinetic=0.5, stiffness=1000.0, damping=50.0, stick_speed=0.01)
LOAD = 10.0  # breaks loose at 9 N, slides with 5 N


def law(speed, deflection, stick, normal=LOAD):
    return tuple(float(value) for value in karnopp(LAW, speed, deflection, stick, normal))


def test_a_sticking_foot_has_spring_and_damper_force_up_to_the_static_force():
    assert law(0.02, 0.004, 1) == pytest.approx((-5.0, 0.02, 1.0))
    assert law(-0.02, -0.0079, 1) == pytest.approx((8.9, -0.02, 1.0))
    assert law(0.0, 0.009, 1) == pytest.approx((-9.0, 0.0, 1.0)), 'at the static force it sticks'
    assert law(0.0, 0.0091, 1) == pytest.approx((-9.1, 0.0, 0.0)), 'beyond, it slips after this instant'
    assert law(0.0, -0.0091, 1)[2] == 0.0


def test_a_slipping_foot_has_the_kinetic_force_and_the_remaining_speed():
    force, rate, stick = law(0.2, 0.006, 0)  # standing: 16 N
    assert force == -5.0
    assert rate == pytest.approx(0.2 - (16.0 - 5.0) / 50.0)
    assert stick == 0.0
    assert law(-0.2, -0.006, 0) == pytest.approx((5.0, -rate, 0.0))


def test_a_foot_sticks_below_the_stick_speed():
    deflection = 0.005  # the kinetic force
    for speed, catches in ((0.009, 1.0), (0.011, 0.0), (-0.1, 1.0)):
        assert law(speed, deflection, 0)[2] == catches
    assert law(0.02, 0.003, 0) == pytest.approx((-4.0, 0.02, 1.0)), 'below the kinetic force: the foot sticks'


@given(speed=st.floats(-1, 1), deflection=st.floats(-0.02, 0.02), stick=st.sampled_from([0, 1]))
def test_in_the_air_the_force_is_zero_and_the_foot_follows(speed, deflection, stick):
    force, rate, flag = law(speed, deflection, stick, normal=0.0)
    assert (force, flag) == (0.0, 0.0)
    assert rate == pytest.approx(speed - (LAW.stiffness * deflection + LAW.damping * speed) / LAW.damping, abs=1e-12)


@reaches(slips=8, sticks=4)
@given(speed=st.floats(-1, 1), deflection=st.floats(-0.02, 0.02), normal=st.floats(0.1, 50))
def test_a_slipping_foot_never_slips_against_the_force_on_the_body(speed, deflection, normal):
    force, rate, _ = law(speed, deflection, 0, normal)
    reached('slips', abs(speed - rate) > 1e-9)
    reached('sticks', abs(speed - rate) <= 1e-9)
    assert abs(force) <= LAW.kinetic * normal + 1e-12
    assert force * (speed - rate) <= 1e-12, 'sliding dissipates energy'


def wheel(friction, point='ground'):
    return Wheel('w', 'base', (0.0, 0.0, 0.0), 1e4, 10.0, 0.5, friction, friction_point=point)


def contact_of(made, stick=(1.0, 0.0)):
    return wheel_contact(
        made, (0.0, 0.0, 1.0), (1.0, 0.0, 0.0), (0.0, 0.0, 0.499), (0.2, -0.02, 0.0), (0.0, 0.0, 0.0), (0.001, -0.006),
        stick=stick,
    )  # fmt: skip


def test_a_wheel_sticks_and_slips_by_direction_and_keeps_the_flags():
    contact = contact_of(wheel(LAW))
    assert float(contact.normal_force) == pytest.approx(LOAD)
    along, across = karnopp(LAW, 0.2, 0.001, 1.0, LOAD), karnopp(LAW, -0.02, -0.006, 0.0, LOAD)
    assert [float(value) for value in contact.friction.elements()] == pytest.approx([float(along[0]), float(across[0])])
    assert [float(value) for value in contact.bristle_rate.elements()] == pytest.approx(
        [float(along[1]), float(across[1])]
    )
    assert [float(value) for value in contact.stick.elements()] == [float(along[2]), float(across[2])]


def test_a_very_small_load_has_friction():
    assert law(0.2, 0.006, 0, normal=0.25)[0] == pytest.approx(-0.125)
    assert law(0.0, 1e-4, 1, normal=0.25) == pytest.approx((-0.1, 0.0, 1.0))


def test_both_directions_stick_by_default():
    position, velocity = (0.0, 0.0, 0.499), (0.2, -0.2, 0.0)
    spin, deflections = (0.0, 0.0, 0.0), (0.0059, -0.0059)
    arguments = (0.0, 0.0, 1.0), (1.0, 0.0, 0.0), position, velocity, spin, deflections
    contact = wheel_contact(wheel(LAW), *arguments)
    assert ca.DM(contact.friction).elements() == pytest.approx([-15.9, 15.9])
    assert ca.DM(wheel_contact(wheel(LAW), *arguments, stick=(0.0, 0.0)).friction).elements() == pytest.approx(
        [-5.0, 5.0]
    )


def test_friction_at_the_attachment_is_applied_there():
    position = (1.0, 2.0, 0.499)
    arguments = (0.0, 0.0, 1.0), (1.0, 0.0, 0.0), position, (0.2, 0.1, 0.0), (0.3, 0.4, 0.5), (0.0, 0.0)
    contact = wheel_contact(wheel(LuGre(), 'attachment'), *arguments)
    assert ca.DM(contact.application_point).elements() == pytest.approx(list(position))
    assert ca.DM(contact.slip).elements() == pytest.approx([0.2, 0.1])
    assert ca.DM(wheel_contact(wheel(LuGre()), *arguments).application_point).elements() == pytest.approx(
        [1.0, 2.0, 0.0]
    )


@pytest.mark.parametrize('friction', [None, LuGre()])
def test_a_law_without_modes_always_sticks(friction):
    assert [float(value) for value in ca.DM(contact_of(wheel(friction), stick=(0.0, 0.0)).stick).elements()] == [1, 1]
