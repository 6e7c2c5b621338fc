"""Readings of Karnopp friction on the ground line, for the table of the specification (6.7); not in the product.

The force acts on the ground line; the foot's spring, its damper and the choice between sticking and slipping can each
use the speed of the edge or of the body-fixed point on the ground. Energy is conserved only if all use the ground.
"""

from __future__ import annotations

import inspect
from functools import cache
from typing import NamedTuple

import casadi as ca

from dyn_nodes.compile import build_module
from dyn_nodes.elements.wheel import StandingWheel, sprung_wheels
from dyn_nodes.simulation import System
from dyn_nodes.simulation.assembly import Assembly
from dyn_nodes.simulation.tree_dynamics import TreeDynamics
from dyn_nodes.studies.abo_shanab_2003.planar import planar_machine, with_friction


class Reading(NamedTuple):
    """Source of the speed of each part of the law: `edge` or `ground`."""

    spring: str
    damper: str
    flag: str


class ReadingWheel(StandingWheel):
    """A wheel with a reading of Karnopp's law; the machine's friction point is the attachment."""

    reading: Reading

    def _evaluate(self, state, symbols):
        contact = super()._evaluate(state, symbols)
        law, normal = self.scaled(symbols).friction, contact.normal_force
        turning = state.angular_velocity(state.tree.frame(self.wheel.link).body)[1]
        speeds = {'edge': contact.slip[0], 'ground': contact.slip[0] - contact.height * turning}
        deflection, flag = symbols[self.deflections[0]], symbols[self.flags[0]]
        standing = law.stiffness * deflection + law.damping * speeds[self.reading.damper]
        judged = ca.fabs(law.stiffness * deflection + law.damping * speeds[self.reading.flag])
        loaded, greatest = normal > 0.0, law.kinetic * normal
        sliding = ca.fmin(ca.fmax(standing, -greatest), greatest)
        force = loaded * ca.if_else(flag > 0.5, standing, sliding)
        rate = speeds[self.reading.spring] - (standing - force) / law.damping
        catches = judged - greatest < law.stick_speed * law.damping
        after = loaded * ca.if_else(flag > 0.5, judged <= law.static * normal, catches)
        return contact._replace(
            friction=ca.vertcat(-force, 0),
            force=ca.vertcat(-force, 0, normal),
            application_point=contact.ground_point,
            bristle_rate=ca.vertcat(rate, 0),
            stick=ca.vertcat(after, 1.0),
        )


class ReadingAssembly(Assembly):
    """The planar plant on such wheels."""

    def _sprung_wheels(self):
        return sprung_wheels(self.machine, standing=ReadingWheel)


class ReadingDynamics(TreeDynamics):
    """The dynamics of a machine with a reading of Karnopp's law."""

    def __init__(self, machine, reading):
        self.reading = reading
        super().__init__(machine)

    def assembly(self):
        plant = ReadingAssembly(self.machine, self.actuation, self.base, self.audit, books=True)
        for wheel in plant.wheels:
            wheel.reading = self.reading
        return plant

    def _build(self, kind, make):
        key = [*self._key, *self.reading, inspect.getsource(ReadingWheel)]
        return build_module(f'{self.machine.name}_{kind}_foot_reading', key, make)


@cache
def reading_system(reading: Reading) -> System:
    """Return the compiled machine with Karnopp friction in a reading."""
    return System.of(ReadingDynamics(with_friction(planar_machine(), 'karnopp', 'edge'), reading))
