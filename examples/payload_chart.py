"""How much may the machine hold at which reach, on level ground and on a slope? The library behind `loadchart`."""

import numpy as np

import dyn_nodes as dn
from dyn_nodes.analysis.load_chart import REASONS, ChartSettings, load_chart


def main(reach_step: float = 1.0, swing_step: float = 30.0) -> np.ndarray:
    """Print the payload that is safe at every swing angle; return it in kg (slopes, reaches)."""
    machine = dn.load('log_loader')
    slopes = np.radians([0.0, 5.0])
    settings = ChartSettings(slopes=tuple(slopes), reach_step=reach_step, swing_step=np.radians(swing_step))
    chart = load_chart(machine.data, settings)
    safe = np.array([chart.all_round(k) for k in range(len(slopes))])
    print('reach, m   level, kg   slope of 5 degrees, kg   limited by')
    for k, reach in enumerate(chart.reaches):
        reason = REASONS[chart.reason[0, k, int(chart.safe[0, k].argmin())]]
        print(f'{reach:8.2f} {safe[0, k]:11.0f} {safe[1, k]:24.0f}   {reason}')
    return safe


if __name__ == '__main__':
    main()
