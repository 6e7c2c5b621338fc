"""Inverse of the steady valve flow: the spool displacement that moves an actuator at a wanted speed."""

from __future__ import annotations

from dyn_nodes.model.hydraulic import HydraulicRecord

_STEPS = 30  # of the bisection: 1 cm of spool to 1e-11 m


def spool_for_speed(actuator: HydraulicRecord, speed: float, load: float = 0.0) -> float:
    """Return the spool displacement that holds a steady speed against a load, m.

    Steady flow through an open-centre valve: the outlet sets the back pressure, which with the load sets the pressure
    of the fed side; the bypass must throttle the rest of the pump's flow up to the inlet pressure (abo-shanab-2003, eqs
    2.7 to 2.11 at rest). Both sides are monotonic in the spool.

    Args:
        actuator: plain numbers only.
        speed: of the piston, m/s, or of the motor's joint, rad/s; 0 gives the neutral spool.
        load: of the actuator, N (positive extends) or N m, its viscous friction excluded.

    Returns:
        Between minus and plus the reach of the spool; the reach if pump or relief cannot give the speed.
    """
    if speed == 0.0:
        return 0.0
    valve, supply = actuator.valve, actuator.supply
    inlet_area, outlet_area = actuator.areas if speed > 0.0 else actuator.areas[::-1]
    sign = 1.0 if speed > 0.0 else -1.0
    opposing = sign * load + actuator.viscous * abs(speed)
    flow, outlet_flow = inlet_area * abs(speed), outlet_area * abs(speed)
    k, tank = supply.orifice_coefficient, supply.tank_pressure
    reach = min(valve.gain * valve.voltage_limit, valve.spool_limit)
    if flow >= supply.flow:
        return sign * reach

    def fast_enough(spool: float) -> bool:
        opening = spool - valve.dead_zone
        if opening <= 0.0:
            return False
        back = tank + (outlet_flow / (k * valve.outlet_gain * opening)) ** 2
        fed = (opposing + back * outlet_area) / inlet_area
        if fed <= tank:
            return True  # overrunning load: with the outlet alone it moves at least as fast
        needed = fed + (flow / (k * valve.inlet_gain * opening)) ** 2
        bypass = valve.bypass_area * (1.0 - spool / valve.bypass_stroke)
        if bypass <= 0.0:
            return needed <= supply.relief_pressure
        return needed <= min(tank + ((supply.flow - flow) / (k * bypass)) ** 2, supply.relief_pressure)

    low, high = valve.dead_zone, reach
    if not fast_enough(high):
        return sign * reach
    for _ in range(_STEPS):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if fast_enough(middle) else (middle, high)
    return sign * high
