"""More inputs than motions: redundant motion, and loads shared among inputs (freeman-1985, pp. 134 to 144).

With kinematically independent inputs (more freedoms than the task) a right inverse selects the motion. With
kinematically dependent inputs (over-actuation) weights select the loads.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.common.arrays import Array
from dyn_nodes.multibody.influence import Coefficients, TransferredModel
from dyn_nodes.multibody.influence.algebra import dot_product, quadratic, sandwich


def minimum_energy_inverse(inertia: ArrayLike, G: ArrayLike) -> Array:
    """Return I^-1 G^T (G I^-1 G^T)^-1 (M, N): the motion of least kinetic energy with G v = u (4-70).

    Args:
        inertia: (M, M) I*_qq; the unit matrix gives the rates of least norm.
        G: (N, M) of the task.
    """
    task = np.asarray(G, float)
    spread = np.linalg.solve(np.asarray(inertia, float), task.T)
    return np.asarray(np.linalg.solve((task @ spread).T, spread.T).T)


@dataclass(frozen=True, eq=False)
class RedundantMotion:
    """A machine in q (M) that performs a task u (N < M).

    Attributes:
        task: u by q.
        model: in q.
        right_inverse: (M, N) any right inverse of the task's G (4-68).
    """

    task: Coefficients
    model: TransferredModel
    right_inverse: Array

    @classmethod
    def of_least_energy(cls, task: Coefficients, model: TransferredModel) -> RedundantMotion:
        """Return the motion of least kinetic energy (4-70)."""
        return cls(task, model, minimum_energy_inverse(model.inertia, task.G))

    @cached_property
    def motion(self) -> Coefficients:
        """Q by u: right inverse and H^q_uu (4-72)."""
        return Coefficients(
            self.task.coordinates,
            self.task.parameters,
            self.right_inverse,
            -dot_product(self.right_inverse, sandwich(self.right_inverse, self.task.H)),
        )

    @cached_property
    def inertia(self) -> Array:
        """(M, N) I*_qu (4-74)."""
        return np.asarray(self.model.inertia @ self.right_inverse)

    @cached_property
    def power(self) -> Array:
        """(M, N, N) P*_quu (4-75)."""
        return sandwich(self.right_inverse, self.model.power - dot_product(self.inertia, self.task.H))

    def rates(self, v: ArrayLike) -> Array:
        """Return the rates (M,) for rates v (N,) of the task (4-68)."""
        return self.motion.velocity(v)

    def accelerations(self, v: ArrayLike, a: ArrayLike, drift: ArrayLike | None = None) -> Array:
        """Return accelerations (M,) of the inputs (4-71).

        They produce the task's accelerations, but equal the derivative of `rates` only with the drift of the inverse.

        Args:
            v: (N,) rates of the task.
            a: (N,) accelerations of the task.
            drift: (M, N) rate of the right inverse along the motion, see `inverse_rate`; None: the source's choice.
        """
        if drift is None:
            return self.motion.acceleration(v, a)
        return np.asarray(self.right_inverse @ np.asarray(a, float) + np.asarray(drift, float) @ np.asarray(v, float))

    def inverse_rate(self, v: ArrayLike) -> Array:
        """Return d/dt (M, N) of the inverse of least energy at rates v (N,) of the task, analytically.

        From X = I^-1 G^T, R = X (G X)^-1; dI/dt = v P + (v P)^T along the motion, which holds for true coordinates.

        Raises:
            ValueError: the right inverse is not the inverse of least energy.
        """
        G, R, inertia = self.task.G, self.right_inverse, self.model.inertia
        least = minimum_energy_inverse(inertia, G)
        if not np.allclose(R, least, rtol=1e-9, atol=1e-12):
            raise ValueError('expected the right inverse of least energy; no other rate is implemented')
        rates = self.rates(v)
        G_rate = np.einsum('m,pmn->pn', rates, self.task.H)
        # dI_km/dt = [km, n] + [mk, n] of Christoffel symbols, the symmetric parts of the planes of P
        plane = np.einsum('n,kmn->km', rates, 0.5 * (self.model.power + np.swapaxes(self.model.power, 1, 2)))
        I_rate = plane + plane.T
        Lambda = np.linalg.inv(G @ np.linalg.solve(inertia, G.T))
        # I R = G^T Lambda and G R = 1, both differentiated
        turned = np.linalg.solve(inertia, G_rate.T @ Lambda - I_rate @ R)
        Lambda_rate = -Lambda @ (G_rate @ R + G @ turned)
        return np.asarray(turned + np.linalg.solve(inertia, G.T @ Lambda_rate))

    def effort(self, v: ArrayLike, a: ArrayLike) -> Array:
        """Return the efforts (M,) of the inputs for the task's motion (4-73, its load term as -T^L_q)."""
        return np.asarray(self.inertia @ np.asarray(a, float) + quadratic(v, self.power) - self.model.load)


@dataclass(frozen=True, eq=False)
class LoadDistribution:
    """A machine in u (N) with more inputs q (n > N) than motions: loads of least weighted square (4-80 to 4-90).

    Attributes:
        inputs: q by u.
        model: in u.
        weights: (n,) W: T^T W T is least; None: 1.
    """

    inputs: Coefficients
    model: TransferredModel
    weights: Array | None = None

    @cached_property
    def share(self) -> Array:
        """(n, N) of a load at u that each input takes (4-86), weighted."""
        G = self.inputs.G
        weighted = G if self.weights is None else G / np.asarray(self.weights, float)[:, None]
        return np.asarray(np.linalg.solve(weighted.T @ G, weighted.T).T)

    @cached_property
    def inertia(self) -> Array:
        """(n, N) I*_qu (4-87)."""
        return np.asarray(self.share @ self.model.inertia)

    @cached_property
    def power(self) -> Array:
        """(n, N, N) P*_quu (4-88)."""
        return dot_product(self.share, self.model.power)

    @cached_property
    def internal(self) -> Array:
        """(n, n - N) orthonormal internal loads of the inputs (squeeze), which cause no motion."""
        return np.asarray(np.linalg.svd(self.inputs.G)[0][:, self.inputs.G.shape[1] :])

    def distributed(self, load: ArrayLike) -> Array:
        """Return the loads (n,) of the inputs for a load (N,) at u (4-85)."""
        return np.asarray(self.share @ np.asarray(load, float))

    def effort(self, v: ArrayLike, a: ArrayLike) -> Array:
        """Return the loads (n,) of the inputs for rates and accelerations (N,) of u (4-90)."""
        inertia = self.inertia @ np.asarray(a, float)
        return np.asarray(inertia + quadratic(v, self.power) - self.distributed(self.model.load))
