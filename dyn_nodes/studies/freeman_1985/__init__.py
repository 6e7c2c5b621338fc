"""Mechanisms in any coordinates: kinematic influence coefficients and their transfer (Freeman 1985)."""
