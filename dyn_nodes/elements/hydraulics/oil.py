"""Energy of compressed oil of constant bulk modulus and density rho_0 exp(P / beta).

For a chamber of volume V into which a flow Q enters, V dP/dt = beta (Q - dV/dt), and exactly

    d(V compression_energy)/dt = flow_energy Q - P dV/dt.
"""

from __future__ import annotations

from typing import Any

import casadi as ca

Scalar = Any  # a Python float, a casadi DM or an SX expression


def compression_energy(bulk_modulus: Scalar, pressure: Scalar) -> Scalar:
    """Return the energy stored in a volume of compressed oil, J/m3: beta (exp(x) - 1 - x), x = P / beta."""
    share = pressure / bulk_modulus
    return bulk_modulus * (ca.expm1(share) - share)


def flow_energy(bulk_modulus: Scalar, pressure: Scalar) -> Scalar:
    """Return the energy that a volume of oil carries into a chamber at a pressure, J/m3: P + compression energy."""
    return bulk_modulus * ca.expm1(pressure / bulk_modulus)
