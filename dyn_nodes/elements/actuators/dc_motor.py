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
    (`Body.armature`), and so is its kinetic energy. The amplifier applies the voltage closest to the command at which
    the current tends to at most its limit, within the voltage of the source:

        |V - n k w| <= R i_max, then |V| <= V_max

    so a current within the limit stays within it, unless the back-emf of the joint exceeds the source voltage.

    Args:
        record: parameters.
    """

    kind = 'dc_motor'
    topic = 'motors'

    def __init__(self, record: ElectricRecord) -> None:
        self.record = record

    @property
    def states(self) -> tuple[ElementState, ...]:
        """Return the current."""
        return (ElementState(f'{self.name}/current'),)

    @property
    def inputs(self) -> tuple[Command, ...]:
        """Return the commanded voltage."""
        return (Command(f'{self.name}/voltage'),)

    @property
    def reported(self) -> tuple[Quantity, ...]:
        """Return current, terminal voltage, heat of the winding and effort."""
        electric = (Quantity('current', 'A'), Quantity('terminal_voltage', 'V'))
        return (*electric, Quantity('winding_power', 'W'), Quantity('effort', ''))

    def terms(self, position: Expression, rate: Expression, symbols: Symbols, feed: Any = None) -> ActuatorTerms:
        """Evaluate the motor; `feed` is not used: every amplifier holds its voltage."""
        record, current = self.record, symbols[f'{self.name}/current']
        emf = record.effort_per_current * rate
        volts, excess = self._terminal_voltage(symbols[f'{self.name}/voltage'], emf)
        effort = record.effort_per_current * current - record.viscous * rate
        heat = record.resistance * current**2
        outputs = {'effort': effort, 'terminal_voltage': volts, 'winding_power': heat}
        subject: Mapping[str, str] = {'actuator': self.name, 'joint': self.joint}
        limited = Watch('current_limited', 'current_free', 'current', subject)
        return ActuatorTerms(
            effort=effort,
            rates=((volts - record.resistance * current - emf) / record.inductance,),
            outputs={f'{self.name}/{name}': value for name, value in outputs.items()},
            surfaces=(Surface(limited, excess, current),),
            supplied_power=volts * current,
            stored_energy=0.5 * record.inductance * current**2,
            dissipated_power=heat + record.viscous * rate**2,
        )

    def _terminal_voltage(self, command: Expression, emf: Expression) -> tuple[Expression, Expression]:
        """Return the amplifier's voltage, and the commanded voltage in excess of the current limit, V."""
        record = self.record
        window = record.resistance * record.current_limit
        commanded = _clipped(command, record.voltage_limit)
        held = emf + _clipped(commanded - emf, window)
        return _clipped(held, record.voltage_limit), ca.fabs(commanded - emf) - window

    def at_rest(self, position: float, effort: float) -> tuple[float, ...]:
        """Return the current that holds an effort, A; the amplifier must maintain it.

        Raises ValueError if the current exceeds its limit.
        """
        record = self.record
        current = effort / record.effort_per_current
        if abs(current) > record.current_limit:
            raise ValueError(
                f'actuator {self.name!r}: {effort:.4g} at joint {self.joint} takes {abs(current):.4g} A, '
                f'expected at most the limit of {record.current_limit:.4g} A'
            )
        return (current,)

    def locked_stiffness(self, position: Any) -> float:
        """Return 0: at 0 V a motor brakes but does not hold."""
        return 0.0

    def capacity(self, position: Any, source: float, holding: bool) -> tuple[float, float]:
        """Return the stall efforts at the limit of current or voltage."""
        record = self.record
        effort = record.effort_per_current * min(record.current_limit, source / record.resistance)
        return -effort, effort

    def summary(self, lower: float, upper: float, start: float) -> dict[str, Any]:
        """Return effort per current, stall effort, no-load speed and reflected inertia."""
        record = self.record
        return {
            'travel': f'{record.effort_per_current:.4g} {record.current_unit}',
            'stall_effort': self.capacity(start, record.voltage_limit, True)[1],
            'no_load_speed': record.voltage_limit / record.effort_per_current,
            'reflected_inertia': record.reflected_inertia,
        }


def _clipped(value: Expression, limit: float) -> Expression:
    return ca.fmax(ca.fmin(value, limit), -limit)
