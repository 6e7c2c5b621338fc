"""The part of a valve's travel in which an actuator does not move."""

from __future__ import annotations

from dyn_nodes.control.valve_inverse import spool_for_speed
from dyn_nodes.model.hydraulic import HydraulicRecord

SLOW = 0.005
"""Least speed that counts as a motion, relative to the speed at the pump's whole flow."""
GREATEST_EDGE = 0.6
"""Greatest voltage at which the travel of a lever starts, relative to the limit."""


def dead_part(actuator: HydraulicRecord, load: float = 0.0) -> tuple[float, float]:
    """Return the voltages between which an actuator at rest does not move, V, the lower one negative or 0.

    Within the dead zone of the spool no port is open. Beyond it, against the load, the oil flows through the open
    centre to the tank until the spool has closed it far enough for the pump to reach the pressure of the load; a check
    valve holds the load meanwhile.

    Args:
        actuator: plain numbers only.
        load: on the actuator, N (positive extends) or N m; `resting_load` computes it from the line pressures.
    """
    valve, supply = actuator.valve, actuator.supply
    first, second = actuator.areas
    low = spool_for_speed(actuator, -SLOW * supply.flow / second, load)
    high = spool_for_speed(actuator, SLOW * supply.flow / first, load)
    return min(low / valve.gain, 0.0), max(high / valve.gain, 0.0)


def resting_load(actuator: HydraulicRecord, first: float, second: float) -> float | None:
    """Return the load of an actuator at rest, N (positive extends) or N m, from the pressures of its two lines, Pa.

    None if a sensor must be wrong: a pressure is not finite, or the load is beyond the relief pressure of the pump.
    """
    areas = actuator.areas
    load = first * areas[0] - second * areas[1]
    pushed = areas[0] if load > 0.0 else areas[1]
    return load if abs(load) < actuator.supply.relief_pressure * pushed else None


def beyond(volts: float, dead: tuple[float, float], limit: float) -> float:
    """Return the voltage of a lever without the dead part: 0 stays 0, the limit stays the limit.

    The travel starts at `GREATEST_EDGE` of the limit at most.

    Args:
        volts: of the lever.
        dead: of `dead_part`, V.
        limit: greatest voltage, V.
    """
    if volts == 0.0 or limit <= 0.0:
        return 0.0
    greatest = GREATEST_EDGE * limit
    edge = min(dead[1], greatest) if volts > 0.0 else max(dead[0], -greatest)
    return edge + volts * (limit - abs(edge)) / limit
