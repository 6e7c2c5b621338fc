"""A sweep of the log-loader that takes seconds, as text."""

from __future__ import annotations

from pathlib import Path

SMALL = """name: small
machine: log_loader
levers: {boom: -6.0}
duration: 0.2
step: 0.002
sample_period: 0.02
design: {kind: latin_hypercube, runs: 40, seed: 7}
factors:
  payload: {parameter: payload_mass, from: 0.0, to: 6000.0}
  slope: {machine: slope.pitch, from: deg(-6), to: deg(6)}
  swing: {lever: swing, values: [-4.0, 0.0, 4.0]}
  boom: {joint: boom_joint, mean: 0.6, deviation: 0.1, from: 0.3, to: 0.9}
outcomes: [overturned, lift_off, recovered, least_margin, peak_pressure, cycle_time, greatest_tilt]
measures: [zmp, load_share]
expressions:
  head_pressure: 'max("boom/head_pressure") / 1e6'
  swing_angle: last(swing_joint)
"""


def written(directory: Path, text: str = SMALL, **changes: str) -> Path:
    """Write a sweep; `changes` are whole lines by their keys."""
    lines = [changes.pop(line.split(':')[0].strip(), line) for line in text.splitlines()]
    assert not changes, f'no such lines: {changes}'
    path = directory / 'sweep.yaml'
    path.write_text('\n'.join(lines) + '\n')
    return path


def content(directory: Path) -> dict[str, bytes]:
    """Return the bytes of every file of a sweep's results."""
    files = [path for path in directory.rglob('*') if path.is_file()]
    return {str(path.relative_to(directory)): path.read_bytes() for path in files}
