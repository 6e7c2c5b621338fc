"""Orifices, a constant-flow pump shared between an inlet orifice and a bypass, and port protection."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import casadi as ca

from dyn_nodes.model.machine import Supply

Scalar = Any  # a Python float, a casadi DM or an SX expression

_TINY_FLOW_SQUARED = 1e-24  # m6/s2; below every physical flow, keeps roots and quotients finite

_VOID_ROOT = math.sqrt(1e5)
"""Inverse slope of the filling of voids: an orifice at a pressure drop of a quarter of a bar, Pa^(1/2).

A steeper slope is stiffer: with a log-loader's volumes this one allows explicit steps of half a millisecond.
"""


class SharedFlow(NamedTuple):
    """Shares of the pump's flow.

    Attributes:
        inlet_flow: flow through the inlet orifice and the load check, m3/s, never negative.
        supply_pressure: pressure of the valve gallery, Pa, not below tank pressure.
        bypass_flow: flow through the open centre to tank, m3/s. The rest of the pump's flow passes its relief valve.
    """

    inlet_flow: Scalar
    supply_pressure: Scalar
    bypass_flow: Scalar


def signed_root(difference: Scalar, smoothing: Scalar) -> Scalar:
    """Return d / sqrt(|d| + smoothing), an odd, everywhere differentiable sign(d) sqrt(|d|) (spec G4).

    Args:
        difference: pressure difference d, Pa.
        smoothing: Pa, > 0.
    """
    return difference / ca.sqrt(ca.fabs(difference) + smoothing)


def shared_flow(supply: Supply, inlet_area: Scalar, bypass_area: Scalar, pressure: Scalar) -> SharedFlow:
    r"""Return the shares of the pump's flow to an inlet orifice and the bypass (abo-shanab-2003, eqs 2.7 to 2.9).

    With g = k a for inlet and bypass, D = P - P_tank and the load check open, the gallery pressure
    solves a quadratic whose solution, free of cancellation, is

        sqrt(P_s - P_tank) = (g_i^2 D + Q^2) / (Q g_e + g_i R),    R^2 = Q^2 + (g_i^2 - g_e^2) D,
        Q_i = g_i (Q R - g_i g_e D) / (Q g_e + g_i R).

    The numerator of Q_i is negative exactly if the load check is shut, so clipping it at zero *is*
    the check valve; and as P_s <= P_relief is equivalent to Q_i <= g_i sqrt(P_relief - P), the relief valve
    is a second clip. No branch is needed, and neither g_i = g_e nor g_e = 0 nor g_i = 0 is special.

    Args:
        supply: pump and oil.
        inlet_area: m2, >= 0.
        bypass_area: m2, >= 0.
        pressure: pressure of the fed chamber, Pa.
    """
    flow, coefficient = supply.flow, supply.orifice_coefficient
    inlet, bypass = coefficient * inlet_area, coefficient * bypass_area
    load = pressure - supply.tank_pressure
    inlet_load = inlet * load
    flow_squared = flow * flow
    inlet_squared_load = inlet * inlet_load
    root = ca.sqrt(ca.fmax(flow_squared + inlet_squared_load - bypass * bypass * load, _TINY_FLOW_SQUARED))
    # The tiny area avoids 0/0 for a shut valve without bypass; it is 1e-15 of a bypass of 1 mm2.
    denominator = flow * bypass + inlet * root + _TINY_FLOW_SQUARED
    surplus = flow * root - bypass * inlet_load
    # Both quotients, surplus / denominator and headroom / sqrt(headroom + smoothing), with one division.
    headroom = ca.fmax(supply.relief_pressure - pressure, 0.0)
    headroom_root = ca.sqrt(headroom + supply.smoothing)
    quotient = ca.fmin(surplus * headroom_root, headroom * denominator) / (denominator * headroom_root)
    inlet_flow = ca.fmin(inlet * ca.fmax(quotient, 0.0), flow)

    open_check = (inlet_squared_load + flow_squared) / denominator
    shut_check = flow / (bypass + _TINY_FLOW_SQUARED)
    relief = ca.sqrt(supply.relief_pressure - supply.tank_pressure)
    gallery_root = ca.fmax(ca.fmin(ca.fmin(open_check, shut_check), relief), 0.0)
    return SharedFlow(inlet_flow, supply.tank_pressure + gallery_root * gallery_root, bypass * gallery_root)


def makeup_flow(supply: Supply, pressure: Scalar) -> Scalar:
    """Return the flow from tank into a line below tank pressure, m3/s (anti-cavitation check, spec G4).

    With an orifice alone, a fast piston would pull the line below absolute zero pressure. There an additional flow that
    grows linearly fills the void.
    """
    shortage = ca.fmax(supply.tank_pressure - pressure, 0.0)
    conductance = supply.orifice_coefficient * supply.makeup_area
    return conductance * shortage / ca.sqrt(shortage + supply.smoothing) + _void_flow(supply, conductance, pressure)


def port_protection_flow(supply: Supply, pressure: Scalar) -> Scalar:
    """Return the flow into a line through its make-up check, minus the outflow over its relief, m3/s (spec G4).

    Only one of the two valves is ever open (tank pressure is below relief pressure), so both share one root.
    The make-up follows `makeup_flow`.
    """
    shortage = ca.fmax(supply.tank_pressure - pressure, 0.0)
    excess = ca.fmax(pressure - supply.line_relief_pressure, 0.0)
    makeup = supply.orifice_coefficient * supply.makeup_area
    relief = supply.orifice_coefficient * supply.line_relief_area
    orifices = (makeup * shortage - relief * excess) / ca.sqrt(shortage + excess + supply.smoothing)
    return orifices + _void_flow(supply, makeup, pressure)


def _void_flow(supply: Supply, conductance: Scalar, pressure: Scalar) -> Scalar:
    return ca.fmax((-conductance / _VOID_ROOT) * pressure, 0.0)


def crossover_relief_flow(supply: Supply, first_pressure: Scalar, second_pressure: Scalar) -> Scalar:
    """Return the flow from the first into the second line over the cross-over reliefs, m3/s (spec G6)."""
    difference = first_pressure - second_pressure
    limit = supply.line_relief_pressure
    excess = difference - ca.fmin(ca.fmax(difference, -limit), limit)
    return (supply.orifice_coefficient * supply.line_relief_area) * signed_root(excess, supply.smoothing)
