"""A MuJoCo machine that repeats steps from one state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np


class MujocoPeer:
    """A MuJoCo model at rest under constant efforts of some joints of one degree of freedom.

    Args:
        text: MJCF.
        positions: of joints at the start, rad or m; joints missing in the model are ignored, the others start at
            its defaults.
        driven: names of the joints with efforts.
        efforts: of these, N m or N.
        count: steps that `steps` takes.
    """

    def __init__(
        self, text: str, positions: Mapping[str, float], driven: Sequence[str], efforts: Sequence[float], count: int
    ) -> None:
        import mujoco

        self.mujoco, self.model, self.count = mujoco, mujoco.MjModel.from_xml_string(text), count
        self.data = mujoco.MjData(self.model)
        self.start = np.array(self.data.qpos)
        addresses = {self.model.joint(k).name: self.model.joint(k).qposadr[0] for k in range(self.model.njnt)}
        for name in addresses.keys() & positions.keys():
            self.start[addresses[name]] = positions[name]
        self.driven = [int(self.model.joint(name).dofadr[0]) for name in driven]
        self.data.qfrc_applied[self.driven] = efforts
        self.reset()

    def reset(self) -> None:
        """Reset to the start, at rest."""
        self.data.qpos[:], self.data.qvel[:] = self.start, 0.0

    def accelerations(self) -> np.ndarray:
        """Return the accelerations of the driven joints, rad/s2 or m/s2."""
        self.reset()
        self.mujoco.mj_forward(self.model, self.data)
        return np.array(self.data.qacc[self.driven])

    def steps(self) -> None:
        """Take some steps from the start."""
        self.reset()
        self.mujoco.mj_step(self.model, self.data, self.count)
