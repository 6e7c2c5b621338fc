"""The tip-over governor between an operator's levers and the valves, in a simulation loop of the library."""

import numpy as np

import dyn_nodes as dn
from dyn_nodes.governor.predictor import StopPredictor
from dyn_nodes.governor.settings import GovernorSettings
from dyn_nodes.governor.tip_over_governor import TipOverGovernor
from dyn_nodes.monitor.stability_monitor import StabilityMonitor

PAYLOAD, LEVERS = 5100.0, np.array([-5.0, -5.5, 0.0])  # kg; volts of boom, stick and swing: reach out


def main(duration: float = 5.0, period: float = 0.02) -> tuple[float, float]:
    """Pull the levers with and without the governor; return the greatest tilts, rad."""
    machine, settings = dn.load('log_loader'), GovernorSettings()
    monitor = StabilityMonitor(machine.data, ('zmp',))
    stops = StopPredictor(machine.data, range(len(machine.actuators)), monitor, settings)
    governor = TipOverGovernor(machine.actuators, stops, settings)
    monitor.payload = PAYLOAD
    nq, base = len(machine.position_names), 7

    def governed(t: float, x: np.ndarray) -> np.ndarray:
        monitor.joints(t, x[base:nq].copy(), x[nq + 6 : nq + 9].copy())
        return governor.govern(LEVERS, period).volts

    tilts = []
    for name, voltage in (('with', governed), ('without', lambda t, x: LEVERS)):
        run = machine.simulate(duration, voltage=voltage, payload=PAYLOAD, period=period)
        tilts.append(float(np.abs(run.tilt - run.tilt[0]).max()))
        lifted = sum(event.kind == 'lift_off' for event in run.events)
        print(f'{name} the governor: {lifted} wheels lift, the base tilts by {np.degrees(tilts[-1]):.2f} degrees')
    return tilts[0], tilts[1]


if __name__ == '__main__':
    main()
