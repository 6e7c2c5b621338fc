"""A linear model of the log-loader with an open valve: poles, modes, and a frequency response."""

import numpy as np

import dyn_nodes as dn


def main() -> dn.LinearModel:
    """Print the slow modes and the bandwidth of the boom valve; return the model."""
    machine = dn.load('log_loader')
    opened = machine.simulate(0.5, voltage={'boom': 4.0}, payload=2000.0)  # closed valves pass no oil
    model = machine.linearize(opened.last, u={'boom': 4.0}, payload=2000.0)
    print(f'{len(model.state_names)} states, inputs {", ".join(model.input_names)}')

    for mode in model.modes():
        if mode.oscillates and mode.frequency < 20.0:
            states = ', '.join(name for name, _ in mode.main_states()[:2])
            print(f'{mode.frequency:6.2f} Hz, damping ratio {mode.damping_ratio:.3f}: {states}')

    hertz = np.array([0.1, 0.5, 1.0, 2.0, 5.0])
    bode = model.bode('boom/voltage', 'boom_joint', hertz)
    for frequency, decibels in zip(hertz, bode.decibels):
        print(f'{frequency:4.1f} Hz: {decibels:7.1f} dB from volts to the boom angle')
    return model


if __name__ == '__main__':
    main()
