"""Electric motor with gear train."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import casadi as ca

from dyn_nodes.model.electric import ElectricRecord
from dyn_nodes.multibody.actuators import ActuatorElement, ActuatorTerms, Quantity
from dyn_nodes.multibody.elements import Command, ElementState, Surface, Symbols, Watch
from dyn_nodes.multibody.spatial import Expression


class DcMotor(ActuatorElement):
    """A d-c motor with constant field (freeman-1985, 2-228, 2-235, 2-236). State: current (A); input: voltage (V).

        L di/dt = V - R i - n k w,  effort = n k i - n^2 B w

    with the rate w of the joint, gear ratio n and constant k. The inertia of the rotor, n^2 I, is part of the tree
    (`Body.armature`), and so is its kinetic energy. The amplifier chooses the V next to the command at which the
    current tends to at most its limit, within the voltage of the source:

        |V - n k w| <= R i_max, then |V| <= V_max

    so a current within the limit stays there, unless the joint is driven so fast that its back-emf exceeds the source.

    Args:
        record: its numbers.
    """

    kind = 'dc_motor'
    topic = 'motors'

    def __init__(self, record: ElectricRecord) -> None:
        self.record = record

    @property
    def states(self) -> tuple[ElementState, ...]:
        """The current."""
        return (ElementState(f'{self.name}/current'),)

    @property
    def inputs(self) -> tuple[Command, ...]:
        """Voltage asked of the amplifier."""
        return (Command(f'{self.name}/voltage'),)

    @property
    def reported(self) -> tuple[Quantity, ...]:
        """Current, voltage at the terminals, heat of the winding, effort."""
        electric = (Quantity('current', 'A'), Quantity('terminal_voltage', 'V'))
        return (*electric, Quantity('winding_power', 'W'), Quantity('effort', ''))

    def terms(self, position: Expression, rate: Expression, symbols: Symbols, feed: Any = None) -> ActuatorTerms:
        """Evaluate the motor; `feed` is not used: every amplifier holds its voltage."""
        own, current = self.record, symbols[f'{self.name}/current']
        emf = own.effort_per_current * rate
        volts, excess = self._terminal_voltage(symbols[f'{self.name}/voltage'], emf)
        effort = own.effort_per_current * current - own.viscous * rate
        heat = own.resistance * current**2
        outputs = {'effort': effort, 'terminal_voltage': volts, 'winding_power': heat}
        subject: Mapping[str, str] = {'actuator': self.name, 'joint': self.joint}
        limited = Watch('current_limited', 'current_free', 'current', subject)
        return ActuatorTerms(
            effort=effort,
            rates=((volts - own.resistance * current - emf) / own.inductance,),
            outputs={f'{self.name}/{name}': value for name, value in outputs.items()},
            surfaces=(Surface(limited, excess, current),),
            supplied_power=volts * current,
            stored_energy=0.5 * own.inductance * current**2,
            dissipated_power=heat + own.viscous * rate**2,
        )

    def _terminal_voltage(self, command: Expression, emf: Expression) -> tuple[Expression, Expression]:
        """Return the voltage of the amplifier, and what the command asks beyond the limit of current, V."""
        own = self.record
        window = own.resistance * own.current_limit
        asked = _clipped(command, own.voltage_limit)
        held = emf + _clipped(asked - emf, window)
        return _clipped(held, own.voltage_limit), ca.fabs(asked - emf) - window

    def at_rest(self, position: float, effort: float) -> tuple[float, ...]:
        """Return the current that holds an effort; the amplifier has to keep it.

        Raises ValueError where it exceeds the limit of current.
        """
        own = self.record
        current = effort / own.effort_per_current
        if abs(current) > own.current_limit:
            raise ValueError(
                f'actuator {self.name!r}: {effort:.4g} at joint {self.joint} takes {abs(current):.4g} A, '
                f'expected at most the limit of {own.current_limit:.4g} A'
            )
        return (current,)

    def locked_stiffness(self, position: Any) -> float:
        """Return 0: at 0 V a motor brakes, but holds nothing."""
        return 0.0

    def capacity(self, position: Any, source: float, holding: bool) -> tuple[float, float]:
        """Return the efforts at stall, at the limit of current or of voltage."""
        own = self.record
        effort = own.effort_per_current * min(own.current_limit, source / own.resistance)
        return -effort, effort

    def summary(self, lower: float, upper: float, start: float) -> dict[str, Any]:
        """Effort per current and at stall, speed without load, reflected inertia."""
        own = self.record
        return {
            'travel': f'{own.effort_per_current:.4g} {own.current_unit}',
            'stall_effort': self.capacity(start, own.voltage_limit, True)[1],
            'no_load_speed': own.voltage_limit / own.effort_per_current,
            'reflected_inertia': own.reflected_inertia,
        }


def _clipped(value: Expression, limit: float) -> Expression:
    return ca.fmax(ca.fmin(value, limit), -limit)
